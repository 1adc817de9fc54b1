#!/usr/bin/python3
"""effectctl tools import: an MCP server's tools/list becomes policies that nobody can put in force before a person decided what the
server cannot know, and that load and pass lint once it is decided."""
import json
import os
import re
import stat

from harness import *
from peer import terminal

ORDER = {'type': 'object', 'required': ['order_id', 'line', 'amount', 'memo'],
         'properties': {'order_id': {'type': 'integer'}, 'line': {'type': 'integer'}, 'amount': {'type': 'string'}, 'memo': {'type': 'string'},
                        'card_token': {'type': 'string'}, 'idempotency_key': {'type': 'string'}}}
# as servers describe theirs
TOOLS = [
    {'name': 'refund_order', 'title': 'Refund', 'description': 'Refunds a line.', 'inputSchema': ORDER, 'annotations': {'destructiveHint': True, 'openWorldHint': True}},
    {'name': 'search_issues', 'inputSchema': {'type': 'object', 'properties': {'query': {'type': 'string'}}, 'required': ['query']},
     'annotations': {'readOnlyHint': True}},
    {'name': 'create_issue', 'inputSchema': {'type': 'object', 'properties': {'owner': {'type': 'string'}, 'repo': {'type': 'string'}, 'title': {'type': 'string'},
                                                                              'body': {'type': 'string'}}, 'required': ['owner', 'repo', 'title']}},
    {'name': 'add_labels', 'inputSchema': {'type': 'object', 'properties': {'issue_number': {'type': 'number'}}},
     'annotations': {'destructiveHint': False, 'idempotentHint': True}},
    {'name': 'append_row', 'inputSchema': {'type': 'object'}, 'annotations': {'destructiveHint': False}},
]
CLASSES = {'refund_order': 'irreversible', 'search_issues': 'read', 'create_issue': 'irreversible', 'add_labels': 'overwrite', 'append_row': 'accumulate'}


def imported(text, *flags):
    """(exit status, policies by name) of an import to standard output."""
    out = ctl('tools', 'import', *flags, stdin=text if isinstance(text, str) else json.dumps(text))
    return out.returncode, {policy['name']: policy for policy in json.loads(out.stdout or '[]')}


def files_of(where):
    return sorted(os.listdir(where))


def forms():
    page = {'tools': TOOLS}
    whole = imported(TOOLS)
    is_((whole[0], {name: policy['class'] for name, policy in whole[1].items()}), (0, CLASSES), 'a bare array of tools')
    for what, text in {'a result': page, 'an answer': {'jsonrpc': '2.0', 'id': 1, 'result': page}, 'an array of answers': [{'jsonrpc': '2.0', 'id': 1, 'result': page}],
                       'a tool': TOOLS[0]}.items():
        status, found = imported(text)
        is_((status, found), (0, {name: whole[1][name] for name in found}), what)
        is_(len(found), 1 if what == 'a tool' else len(TOOLS), f'{what}: all of it')
    lines = ['{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}',
             '{"jsonrpc":"2.0","method":"notifications/message","params":{}}', '',
             json.dumps({'jsonrpc': '2.0', 'id': 1, 'result': {'tools': TOOLS[:2], 'nextCursor': 'x'}}), json.dumps({'jsonrpc': '2.0', 'id': 2, 'result': {'tools': TOOLS[2:]}})]
    is_(imported('\n'.join(lines) + '\n'), whole, 'what a stdio server wrote: several pages, and other lines between')
    out = ctl('tools', 'import', stdin=lines[3])
    like(out.stderr, 'nextCursor: there are more tools', 'a page that is not the last one says so')
    path = os.path.join(folder(), 'list.json')
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(page, file, indent=2)
    is_(json.loads(ctl('tools', 'import', path).stdout), list(whole[1].values()), 'from a file')
    is_(json.loads(ctl('tools', 'import', '-', '--json', stdin=json.dumps(page)).stdout)['policies'], list(whole[1].values()), 'as JSON')
    for text in ('', '{}', '[]', '{"tools":[]}', 'x', '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}', '{"name":"a","name":"b","inputSchema":{}}', '[' * 9000):
        out = ctl('tools', 'import', stdin=text)
        is_((out.returncode, out.stdout), (65, ''), f'{text[:30]!r} is no such list')
    is_(ctl('tools', 'import', '/nonexistent').returncode, 65, 'nor is a file that is not there')
    is_(ctl('tools', 'import', '--class', 'reed', stdin='[]').returncode, 64, 'a class that is none')
    out = ctl('tools', 'import', stdin=json.dumps([{'name': f't{n}', 'inputSchema': {}} for n in range(10001)]))
    is_((out.returncode, out.stdout), (65, ''), 'more tools than a folder may hold')


def nobody_decides_by_accident():
    """Whatever is imported does not load before `decide` was taken out, by the loader of lint and by the daemon's."""
    where = os.path.join(folder(), 'tools.d')
    out = ctl('tools', 'import', '--out', where, stdin=json.dumps(TOOLS))
    is_((out.returncode, files_of(where)), (0, sorted(name + '.json' for name in CLASSES)), 'a file for each tool')
    like(out.stdout, rf'5 written, 0 kept, 0 refused; .*: effectctl tools lint {re.escape(where)}\n$', 'and what to type next')
    out = ctl('tools', 'lint', where)
    is_(out.returncode, 78, 'lint does not let them pass')
    for name in CLASSES:
        like(out.stdout, rf'/{name}\.json:3:5: error: {name}: /decide/0: to be decided: class: .* \[undecided\]', f'{name}: a line for what is to be decided')
    for name in CLASSES:
        with open(os.path.join(where, name + '.json'), encoding='utf-8') as file:
            policy = json.load(file)
        with Daemon('host=/nowhere', tools={'one.json': policy}, start=False) as daemon:
            daemon.start(wait=False)
            is_(daemon.wait(), 78, f'{name}: the daemon does not start with it')
            like('\n'.join(daemon.log()), r"one\.json: '\w+': /decide/0: to be decided", f'{name}: and says why')
    return where


def decided(where):
    """A person decides: the round trip ends in a folder that loads, passes lint and is in force."""
    for name in CLASSES:
        path = os.path.join(where, name + '.json')
        with open(path, encoding='utf-8') as file:
            policy = json.load(file)
        assert policy.pop('decide')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(policy, file)
    out = ctl('--json', 'tools', 'lint', where)
    told = json.loads(out.stdout)
    is_((out.returncode, told['policies']), (1, 5), 'without it they load as they are')
    is_({f['code'] for f in told['findings'] if f['level'] != 'advice'}, {'irreversible_without_probe', 'no_key', 'class_unlikely'}, 'and lint says what is missing')
    probe = {'exec': {'argv': ['/usr/local/libexec/probe']}}
    more = {'refund_order': {'probe': probe, 'turn_budget': 3}, 'create_issue': {'probe': probe, 'turn_budget': 3, 'key': '{run}/{step}'},
            'add_labels': {'class': 'natural'}, 'append_row': {'key': '{run}/{step}', 'turn_budget': 9}}
    policies = []
    for name in CLASSES:
        with open(os.path.join(where, name + '.json'), encoding='utf-8') as file:
            policies.append({**json.load(file), **more.get(name, {})})
        with open(os.path.join(where, name + '.json'), 'w', encoding='utf-8') as file:
            json.dump(policies[-1], file)
    out = ctl('tools', 'lint', '--strict', where)
    is_((out.returncode, out.stdout), (0, '5 policies, 0 errors, 0 warnings, 0 pieces of advice\n'), 'decided, they pass strictly')
    with Cluster() as cluster, Daemon(cluster, tools=policies) as daemon, daemon.ready().connect() as conn:
        args = {'order_id': 1042, 'line': 3, 'amount': '12.50', 'memo': 'late', 'card_token': 'tok_1'}
        first = conn.call('begin', tool='refund_order', args=args)
        is_((first['decision'], first['key']), ('run', 'refund_order:1042:3'), 'and guard: the guessed key')
        is_(conn.call('begin', tool='refund_order', args={**args, 'card_token': 'tok_2', 'idempotency_key': 'x'})['decision'], 'busy',
            'another credential and another key of the model are the same call')
        is_(conn.call('begin', tool='search_issues', args={'query': 'x'})['decision'], 'pass', 'what only reads is let pass')


def nothing_is_overwritten():
    where = folder()
    mine = os.path.join(where, 'refund_order.json')
    with open(mine, 'w', encoding='utf-8') as file:
        file.write('mine')
    os.symlink(os.path.join(where, 'elsewhere'), os.path.join(where, 'create_issue.json'))
    out = ctl('tools', 'import', '--out', where, stdin=json.dumps(TOOLS))
    with open(mine, encoding='utf-8') as file:
        is_((out.returncode, file.read()), (0, 'mine'), 'a file that is there stays as it is')
    ok('elsewhere' not in files_of(where), 'nor is anything written through a link')
    like(out.stdout, r'kept .*/refund_order\.json: it is there already\n', 'it says so')
    like(out.stdout, r'\n3 written, 2 kept, 0 refused;', 'and counts them')
    before = {name: os.stat(os.path.join(where, name), follow_symlinks=False).st_mtime_ns for name in files_of(where)}
    told = json.loads(ctl('--json', 'tools', 'import', '--out', where, stdin=json.dumps(TOOLS)).stdout)
    is_(({t['what'] for t in told['tools']}, before), ({'kept'}, {name: os.stat(os.path.join(where, name), follow_symlinks=False).st_mtime_ns for name in files_of(where)}),
        'once more nothing is written')
    twice = [{'name': 'a', 'inputSchema': {}}, {'name': 'a', 'inputSchema': {}, 'annotations': {'readOnlyHint': True}}]
    there = folder()
    like(ctl('tools', 'import', '--out', there, stdin=json.dumps(twice)).stdout, '1 written, 1 kept', 'of two tools of one name the first is taken')
    is_(ctl('tools', 'import', '--out', '/nonexistent/x', stdin='[]').returncode, 78, 'a folder whose parent is not there')
    is_(ctl('tools', 'import', '--out', mine, stdin='[]').returncode, 78, 'a file is no folder')
    is_(stat.S_IMODE(os.stat(os.path.join(there, 'a.json')).st_mode) & 0o022, 0, 'nobody else may write it')


def hostile_names():
    names = ['../../etc/cron.d/x', '.hidden', '..', 'a/b', 'a\\b', 'a b;rm -rf ~', '-rf', '\u202egpj.exe', 'x' * 128, '/' * 128, '%2F', 'nul', '"}],{"name":"b', '{run}', 'é']
    where = os.path.join(folder(), 'in')
    out = ctl('tools', 'import', '--out', where, stdin=json.dumps([{'name': name, 'inputSchema': {}} for name in names]), env={'LC_ALL': 'C.UTF-8'})
    is_(out.returncode, 0, 'odd names are names')
    is_(files_of(os.path.dirname(where)), ['in'], 'nothing is written outside of the folder')
    found = files_of(where)
    is_((len(found), [name for name in found if not re.fullmatch(r'[A-Za-z0-9_%-][A-Za-z0-9._%-]*\.json', name)]), (len(names), []), 'each has a plain file of its own')
    is_(ctl('tools', 'lint', where).returncode, 78, 'and none is skipped by the loader')
    told = json.loads(ctl('--json', 'tools', 'lint', where).stdout)['findings']
    is_({f['tool'] for f in told}, set(names), 'each of which is told')
    is_({f['code'] for f in told}, {'undecided'}, 'as undecided, and as nothing else')
    bad = ['', 'a\x1b[2J', 'a\nb', 'x' * 129, '\x9b31m', None, 7]
    text = json.dumps([{'name': name, 'inputSchema': {}} for name in bad] + [TOOLS[0]])
    out = ctl('tools', 'import', '--out', where, stdin=text)
    is_((out.returncode, len(files_of(where))), (1, len(names) + 1), 'names that no policy can have are refused, the others are written')
    like(out.stdout, r'\n1 written, 0 kept, 7 refused', 'and counted')
    path = os.path.join(folder(), 'l')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(json.dumps([{'name': name, 'inputSchema': {}} for name in bad + names]))
    for flags in ((), ('--out', folder())):
        seen = terminal([program('effectctl'), 'tools', 'import', *flags, path])
        ok(not re.search('\x1b\\[2J|[\x07\x9b]', seen), f'none moves the cursor {flags[:1]}', repr(seen))


forms()
decided(nobody_decides_by_accident())
nothing_is_overwritten()
hostile_names()
done()
