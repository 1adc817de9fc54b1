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
    like(out.stdout, r'\n2 policies, 2 errors, 1 warnings, 1 pieces of advice\n$', 'the end counts them')
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
hostile_names()
done()
