#!/usr/bin/python3
"""effectctl tools lint, as the gate of a team's tools.d: it needs no daemon, tells all that is wrong at once, where it stands, and how
bad it is."""
import json
import os
import re

from harness import *
from peer import HOSTILE, terminal

PROBE = {'exec': {'argv': ['/usr/local/libexec/probe']}}
SOUND = {'key': 'refund:{/order_id}:{/line}', 'turn_budget': 3, 'probe': PROBE}


def write(files):
    """A folder of policies: {file name: object or text}."""
    where = folder()
    for name, policy in files.items():
        with open(os.path.join(where, name), 'w', encoding='utf-8') as out:
            out.write(policy if isinstance(policy, str) else json.dumps(policy, indent=1))
    return where


def lint(files, *flags):
    """(exit status, {code: finding}) of the folder."""
    out = ctl('--json', 'tools', 'lint', *flags, write(files))
    told = json.loads(out.stdout)
    assert told['schema'] == 'effectctl.tools-lint/1', told
    return out.returncode, {f['code']: f for f in told['findings']}, told


def what_breaks_a_key():
    """Each row of client/README.md, "What breaks a key", that a policy shows."""
    with open(os.path.join(SRC, 'client', 'README.md'), encoding='utf-8') as page:
        table = re.search(r'\n## What breaks a key\n(.*?)\n## ', page.read(), re.S).group(1)
    codes = set(re.findall(r'`((?:no_)?key\w*)`', table))
    keys = {'call_id': 'key_call_id', 'toolCallId': 'key_call_id', 'uuid': 'key_call_id', 'nonce': 'key_call_id', 'memo': 'key_free_text',
            'reason': 'key_free_text', 'prompt': 'key_free_text', 'date': 'key_clock', 'minute': 'key_clock', 'timestamp': 'key_clock',
            'token': 'key_token', 'session': 'key_token'}
    found = set()
    for field, code in keys.items():
        status, findings, _ = lint({'t.json': {'name': 't', **SOUND, 'key': 'k:{/%s}' % field}})
        is_((status, set(findings)), (1, {code}), f'a key of {field}: {code}')
        found |= set(findings)
    for key, code in {'{run}/{args}': 'key_all_args', 'k:{turn}:{/id}': 'key_per_turn', '{step}/{/id}': 'key_step_without_run', '{run}/{tool}': 'key_per_run',
                      'nightly': 'key_constant'}.items():
        status, findings, _ = lint({'t.json': {'name': 't', **SOUND, 'key': key, 'business_key': ['/id']}})
        is_((status, set(findings)), (1, {code}), f'the key {key}: {code}')
        found |= set(findings)
    found |= set(lint({'t.json': {'name': 't', 'turn_budget': 1, 'probe': PROBE}})[1])
    is_(codes - found, set(), 'that is every code which the page names')


def levels():
    sound = {'t.json': {'name': 't', **SOUND}}
    is_(lint(sound)[:2], (0, {}), 'a sound policy passes')
    is_(lint(sound, '--strict')[:2], (0, {}), 'strictly, too')
    advice = {'t.json': {'name': 't', **SOUND, 'absent_needed': 1}}
    status, findings, told = lint(advice)
    is_((status, findings['absent_once']['level'], told['advice']), (0, 'advice', 1), 'advice is told, and passes')
    is_(lint(advice, '--strict')[0], 1, 'but not strictly')
    warning = {'t.json': {'name': 't', **SOUND, 'keep_key': '1h'}}
    is_((lint(warning)[0], lint(warning)[1]['keep_key_short']['level']), (1, 'warning'), 'a warning does not pass')
    status, findings, told = lint(warning, '--ignore', 'keep_key_short')
    is_((status, findings, told['ignored']), (0, {}, 1), 'unless it is meant to be so; it is counted then')
    is_(lint({'t.json': {'name': 't', **SOUND, 'keep_key': '1h', 'settle': '1s'}}, '--ignore', 'keep_key_short')[0], 1, 'which silences no other one')
    both = {'t.json': {'name': 't', **SOUND, 'keep_key': '1h', 'settle': '1s'}}
    is_(lint(both, '--ignore', 'keep_key_short', '--ignore=settle_short')[0], 0, 'again and again')
    for code in ('keep_key_shirt', 'not_loaded', 'undecided', ''):
        out = ctl('tools', 'lint', '--ignore', code, write(warning))
        is_(out.returncode, 64, f'--ignore {code!r} is refused')
    like(ctl('tools', 'lint', '--ignore', 'keep_key_shirt', write(warning)).stderr, 'did you mean "keep_key_short"', 'with the nearest code')


def places():
    text = '[\n {"name": "a",\n  "key": "k:{/memo}",\n  "keep": ["/id", "/api_key"]},\n {"name": "b", "class": "read"}\n]\n'
    out = ctl('tools', 'lint', write({'x.json': text}))
    like(out.stdout, r'/x\.json:3:3: error: a: /0/key: .*\[key_free_text\]\n', 'a finding stands at its member')
    like(out.stdout, r'/x\.json:4:19: warning: a: /0/keep/1: .*\[keep_credential\]\n', 'or at its element')
    like(out.stdout, r'/x\.json:2:2: error: a: /0/probe: .*\[irreversible_without_probe\]\n', 'what is missing at its policy')
    like(out.stdout, r'/x\.json:2:2: note: a: /0/turn_budget: .*\[no_turn_budget\]\n', 'advice is a note')
    like(out.stdout, r'\n2 policies, 2 errors, 1 warning, 1 piece of advice\n$', 'the end counts them')
    lines = [int(line) for line in re.findall(r':(\d+):\d+: ', out.stdout)]
    is_(lines, sorted(lines), 'in the order of the lines')
    table = ctl('tools', 'lint', '--table', write({'x.json': text})).stdout
    like(table, r'^LEVEL +TOOL +CODE +AT +FINDING\n', 'as a table')
    is_(len(re.findall(r'^(?:error|warning|advice) +a ', table, re.M)), 4, 'a row each')


def faults():
    files = {'a.json': [{'name': 'a', 'clas': 'read'}, {'name': 'b', 'lease': 3}, {'name': 'good', **SOUND, 'settle': '1s'}, 7],
             'b.json': '{"name": "x"\n "key": 1}', 'c.json': {'name': 'good'}, 'd.json': {'name': 'e', 'decide': ['class: is it so?', 'key: which?']},
             'e.json': {'name': 'f', 'decide': []}, '.hidden.json': '{', 'readme.txt': '{'}
    where = write(files)
    out = ctl('tools', 'lint', where)
    is_(out.returncode, 78, 'a folder that would not load is 78')
    for pattern in [r"/a\.json:2:2: error: a: /0: unknown member 'clas', the nearest is 'class' \[not_loaded\]", r'/a\.json:8:3: error: b: /1/lease: must be',
                    r'/a\.json:\d+:2: error: /3: must be an object', r'/b\.json:2:2: error: not JSON', r'/c\.json:1:1: error: good: has a policy .* already, in .*/a\.json',
                    r'/d\.json:4:3: error: e: /decide/0: to be decided: class: is it so\? \[undecided\]', r'/d\.json:5:3: error: e: /decide/1: .*which',
                    r'/e\.json:3:2: error: f: /decide: a person has to decide', r'/a\.json:\d+:3: warning: good: /2/settle: ']:
        like(out.stdout, pattern, f'told: {pattern[:60]}')
    ok('hidden' not in out.stdout and 'readme' not in out.stdout, 'other files are none')
    is_(ctl('tools', 'lint', '--ignore', 'settle_short', where).returncode, 78, 'no fault is silenced')
    is_(ctl('tools', 'lint', '/nonexistent').returncode, 78, 'a folder that is not there is 78')
    is_(ctl('tools', 'lint', os.path.join(where, 'a.json')).returncode, 78, 'a file is no folder')
    is_(lint({})[:2], (0, {}), 'an empty folder is fine')
    # the daemon refuses the same, names the first and says how many there are
    with Daemon('host=/nowhere', tools={name: text for name, text in files.items() if name != '.hidden.json'}, start=False) as daemon:
        daemon.start(wait=False)
        is_(daemon.wait(), 78, 'the daemon does not start with them')
        like('\n'.join(daemon.log()), r"a\.json: 'a': /0: unknown member 'clas'.* \(and 7 more: effectctl tools lint\)", 'and says so')
    with Daemon('host=/nowhere', tools={'d.json': files['d.json']}, start=False) as daemon:
        daemon.start(wait=False)
        is_(daemon.wait(), 78, 'nor with a policy that nobody has decided')
        like('\n'.join(daemon.log()), r"d\.json: 'e': /decide/0: to be decided: class: is it so\?", 'naming what is to be decided')


def report(name, columns, rows, findings=()):
    return {'schema': 'effectctl.report/1', 'name': name, 'from': '2026-01-01T00:00:00.000Z', 'to': '2026-01-31T00:00:00.000Z', 'columns': columns.split(),
            'rows': rows, 'n': len(rows), 'findings': list(findings)}


def held_against(policy, *figures):
    """The codes of what is found in the policy when it is held against these figures."""
    where, flags = folder(), []
    for n, figure in enumerate(figures):
        path = os.path.join(where, f'{n}.json')
        with open(path, 'w', encoding='utf-8') as out:
            json.dump(figure, out)
        flags += ['--measured', path]
    return sorted(lint({'t.json': policy}, *flags)[1])


def measured():
    """Yesterday's figures, offline: the policy of the folder is judged, by the least that a figure can mean."""
    def times(n=1000, p99=64000, lapsed=0, late=0, ns='default', tool='t', findings=()):
        return report('timeouts', 'namespace tool n p50_ms p99_ms lease_ms lapsed gave_up gave_up_p50_ms late',
                      [[ns, tool, n, 1000, p99, 60000, lapsed, 0, None, late]], findings)

    def memory(n=1000, oldest=2 ** 30, reruns=0, keep=3600000):
        return report('retention', 'namespace tool keep_key_ms n oldest_ms reruns', [['default', 't', keep, n, oldest, reruns]])

    def policy(**more):
        return {'name': 't', **SOUND, **more}
    is_(held_against(policy(lease='30s'), times()), ['lease_below_p99'], 'a lease below the least that the p99 can be')
    is_(held_against(policy(lease='32s'), times()), ['lease_below_p99'], 'or equal to it')
    is_(held_against(policy(lease='33s'), times()), [], 'between the least and the most nothing is sure')
    is_(held_against(policy(lease='33s'), times(lapsed=5, late=5)), ['lease_below_p99'], 'unless 1 % lapsed or were late')
    is_(held_against(policy(lease='33s'), times(lapsed=9)), [], 'and not fewer')
    is_(held_against(policy(lease='64s'), times(lapsed=500)), [], 'a lease that is the p99 is not below it')
    is_(held_against(policy(lease='10s'), times(n=19)), [], 'fewer than 20 are noise')
    is_(held_against(policy(lease='10s'), times(tool='u')), [], 'another tool is another one')
    is_(held_against(policy(lease='10s'), times(ns='elsewhere')), ['lease_below_p99'], 'a policy for every namespace is held against each')
    is_(held_against(policy(lease='10s', namespace='default'), times(ns='elsewhere')), [], 'one for one is not')
    both = [policy(lease='10s'), policy(lease='2m', namespace='default')]
    is_(held_against(both, times()), [], 'nor is one for every namespace where another one is meant')
    is_(held_against({'name': 't', 'class': 'read'}, times(lapsed=500)), [], 'what is let pass has no lease')
    execute = {'name': 't', 'key': 'k:{/id}', 'turn_budget': 1, 'execute': {'query': 'select $1::jsonb', 'user': 'u', 'timeout': '10s'}}
    is_(held_against(execute, times()), ['timeout_below_p99'], 'a statement has its time-out')
    sentence = {'report': 'timeouts', 'code': 'client_timeout_below_p99', 'level': 'warning', 'namespace': 'default', 'tool': 't', 'text': 'given up after 1 s'}
    is_(held_against(policy(lease='5m'), times(findings=[sentence, {**sentence, 'tool': 'u'}])), ['client_timeout_below_p99'], 'what the report says of callers is told')
    is_(held_against(policy(keep_key='6d'), memory()), ['memory_below_oldest'], 'a memory below the oldest repeat')
    is_(held_against(policy(keep_key='7d'), memory()), [], 'and one above the least that it can be')
    is_(held_against(policy(keep_key='6d'), memory(n=0)), [], 'no repeat, no age')
    is_(held_against(policy(keep_key='1d'), memory(oldest=0, reruns=2, keep=86400000)), ['memory_short'], 'what was forgotten too early')
    is_(held_against(policy(keep_key='2d'), memory(oldest=0, reruns=2, keep=86400000)), [], 'is mended by a longer memory')

    def tools(**probes):
        return {'tools': [{'namespace': 'default', 'name': 't', 'probes': probes, 'probe_state': {'last_error': 'HTTP 503'}}]}
    is_(held_against(policy(), tools(landed=0, failed=0, absent=0, inconclusive=3)), ['probe_silent'], 'a probe that was never answered')
    is_(held_against(policy(), tools(landed=0, failed=0, absent=1, inconclusive=900)), [], 'or once')
    is_(held_against(policy(), tools(landed=0, failed=0, absent=0, inconclusive=2)), [], 'or hardly asked')
    status = {'version': '1', 'database': {}, 'differ': [{'namespace': 'default', 'tool': 't', 'daemons': [{'host': 'a', 'policy': '1'}, {'host': 'b'}]}]}
    is_(held_against(policy(), status), ['policy_differs'], 'policies that differ between daemons')
    is_(held_against(policy(lease='10s', keep_key='1d'), times(), memory(), tools(inconclusive=9), status),
        ['lease_below_p99', 'memory_below_oldest', 'policy_differs', 'probe_silent'], 'several files at once')
    for odd in ('x', '[]', '{}', '{"columns":[]}', '{"name":"summary","columns":[],"rows":[]}', '{"name":"timeouts","columns":["n"],"rows":[[1,2]]}'):
        path = os.path.join(folder(), 'odd.json')
        with open(path, 'w', encoding='utf-8') as out:
            out.write(odd)
        out = ctl('tools', 'lint', '--measured', path, write({'t.json': policy()}))
        is_((out.returncode, 'odd.json' in out.stderr), (65, True), f'{odd} is no such file')
    is_(ctl('tools', 'lint', '--measured', '/nonexistent', write({'t.json': policy()})).returncode, 65, 'nor is one that is not there')
    is_(ctl('tools', 'lint', '--measured', 'daemon', write({'t.json': policy()}), socket='/nonexistent').returncode, 69, 'no daemon, no figures')


def measured_by_a_daemon():
    with Cluster() as cluster, Daemon(cluster, tools=[{'name': 't', **SOUND}]) as daemon:
        daemon.ready()
        cluster.psql("insert into effect.stat (minute, namespace, tool, decision, n, ms_log2) "
                     "select date_trunc('minute', effect.now() - interval '1 hour'), 'default', 't', d, 100, array_fill(0::bigint, array[16]) || '{100}' "
                     "from unnest('{run,completed}'::text[]) d")
        where = write({'t.json': {'name': 't', **SOUND, 'lease': '10s'}})
        out = daemon.ctl('--json', 'tools', 'lint', '--measured', 'daemon', where)
        found = {f['code']: f for f in json.loads(out.stdout)['findings']}
        is_((out.returncode, set(found)), (1, {'lease_below_p99'}), 'a running daemon is asked for its figures')
        like(found.get('lease_below_p99', {}).get('text', ''), r"^10 s is below the p99 of .* that 100 calls in 'default' took", 'which are told')
        saved, flags = folder(), []
        for name, words in {'times': ['report', 'timeouts', '--since', '30d'], 'memory': ['report', 'retention', '--since', '30d'], 'tools': ['tools', 'list'],
                            'status': ['status']}.items():
            path = os.path.join(saved, name)
            with open(path, 'w', encoding='utf-8') as file:
                file.write(daemon.ctl('--json', *words).stdout)
            flags += ['--measured', path]
        is_(ctl('--json', 'tools', 'lint', *flags, where).stdout, out.stdout, 'and what it says is the same when it is saved')


def hostile_names():
    name = 'x\n\x1b[2J.json'
    where = write({name: {'name': 'pay\u202e', 'key': 'k:{/memo}', 'probe': PROBE}, 'y.json': {'name': 'q', '\x1b[2Jkey': 1, 'decide': [HOSTILE]}})
    for flags in ((), ('--table',)):
        seen = terminal([program('effectctl'), 'tools', 'lint', *flags, where])
        ok(not re.search('\x1b\\[2J|[\x07\x9b\u202e\u200b]', seen), f'no name moves the cursor {flags}', repr(seen))
    ok('\x1b' not in ctl('--json', 'tools', 'lint', where).stdout, 'nor as JSON')


what_breaks_a_key()
levels()
places()
faults()
measured()
measured_by_a_daemon()
hostile_names()
done()
