#!/usr/bin/python3
"""effectctl and a real daemon: an effect's whole life from a shell, the exit codes that a script branches on, the ledger
and the daemon going away in between, and the verbs that work on the database itself."""
import json
import os
import subprocess
import threading
import uuid

from harness import *

TOOLS = [
    {'name': 'refund', 'class': 'irreversible', 'key': 'refund:{/order}:{/line}', 'ignore': ['/memo'], 'escalate_after': '1h',
     'max_attempts': 2},
    {'name': 'lookup', 'class': 'read'},
]


def schema(cluster):
    database = ('--database', cluster.conninfo())
    out = ctl('db', 'check', *database)
    is_(out.returncode, 1, 'db check finds a database without the schema')
    like(out.stdout, 'missing', 'and says so')
    is_(ctl('db', 'init', *database).returncode, 0, 'db init installs it')
    is_(ctl('db', 'init', *database).returncode, 84, 'db init refuses a database that has it')
    is_(ctl('db', 'migrate', *database).returncode, 0, 'db migrate finds nothing to do')
    out = ctl('db', 'check', '--json', *database)
    answer = json.loads(out.stdout)
    is_((out.returncode, answer['schema'], answer['schema_state'], answer['broken']), (0, 'effectctl.db-check/1', 'fits', []),
        'db check finds all well')
    cluster.psql('alter table effect.past rename to gone', "update effect.schema_version set functions = ''")
    out = ctl('db', 'migrate', *database)
    is_((out.returncode, 'lacks past' in out.stderr), (78, True), 'db migrate of a schema that lacks a table says so')
    cluster.psql('alter table effect.gone rename to past')
    is_((ctl('db', 'migrate', *database).returncode, ctl('db', 'check', *database).returncode), (0, 0), 'and takes it with that')
    is_(ctl('db', 'check', '--database', 'host=/nowhere').returncode, 69, 'db check of a database that is not there is 69')


def shell(daemon):
    """What a script does: begin, and the call only if that was 0."""
    def begin(*more, order=1, memo='a'):
        args = json.dumps({'order': order, 'line': 1, 'memo': memo})
        return daemon.ctl('begin', '--tool', 'refund', '--args', args, *more)

    out = begin('--json', '--owner', 'shell')
    is_(out.returncode, 0, 'begin of a fresh key is 0')
    run = json.loads(out.stdout)
    is_((run['schema'], run['decision'], run['key']), ('effectctl.begin/1', 'run', 'refund:1:1'), 'and run, with its derived key')
    out = begin(memo='another')
    is_(out.returncode, 75, 'a second begin meanwhile is 75')
    like(out.stdout, '^decision: busy\n(.*\n)*owner: shell\n', 'and busy, naming the owner')
    is_(begin(order=1, memo='x').returncode, 75, 'what the policy ignores makes no difference')
    args = json.dumps({'order': '1', 'line': 1})
    is_(daemon.ctl('begin', '--tool', 'refund', '--args', args).returncode, 79, 'another spelling of the args under the key is 79')
    is_(daemon.ctl('begin', '--tool', 'lookup').returncode, 0, 'a tool that only reads passes: 0')

    mine = (run['effect'], '--token', run['token'])
    is_(daemon.ctl('extend', *mine, '--lease-ms', '120000').returncode, 0, 'extend')
    # case 25: the bytes of a result survive
    result = '{"b":1.0,"a":1e2,"c":"\\u003c","n":12345678901234567890,"a":"\\u0000"}'
    path = os.path.join(daemon.dir, 'result.json')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(result + '\n')
    out = daemon.ctl('complete', *mine, '--result', '@' + path)
    is_((out.returncode, out.stdout), (0, 'state: done\noutcome: succeeded\nalready: false\n'), 'complete')
    like(daemon.ctl('complete', *mine, '--result', '@' + path).stdout, 'already: true', 'complete once more')
    is_(daemon.ctl('complete', *mine, '--result', '2').returncode, 84, 'complete with another result is 84')
    out = begin()
    is_(out.returncode, 10, 'begin after it is 10')
    like(out.stderr, 'this is a replay, nothing was run: attempt 1 succeeded at 20', 'and says that it is a replay')
    is_(begin('--print', 'result').stdout, result + '\n', 'its result is the same to the byte')
    # case 26: by the raw business key, the same row
    is_(daemon.ctl('get', '--tool', 'refund', '--key', 'refund:1:1', '--print', 'effect').stdout.strip(), run['effect'],
        'get by the key finds the same effect')
    is_(daemon.ctl('get', '--tool', 'refund', '--args', '{"order":1,"line":1}', '--print', 'result').stdout, result + '\n',
        'get by what derives the key, too')
    is_(daemon.ctl('key', '--tool', 'refund', '--args', '{"order":1,"line":1}', '--print', 'effect').stdout.strip(), run['effect'],
        'key derives it')
    like(daemon.ctl('explain', run['effect']).stdout, 'Done: attempt 1 succeeded at 20.*decided by its caller', 'explain tells its end')

    # case 22: a replayed failure
    run = json.loads(begin('--json', order=2).stdout)
    is_(daemon.ctl('complete', run['effect'], '--token', run['token'], '--outcome', 'failed', '--result', '"no"').returncode, 0,
        'a failure is recorded')
    out = begin(order=2)
    is_(out.returncode, 11, 'begin after a failure is 11')
    like(out.stderr, 'this is a replay, nothing was run: attempt 1 failed at 20.*, decided by caller', 'and is not taken for a fresh one')
    replay = json.loads(begin('--json', order=2).stdout)
    is_((replay['decision'], replay['outcome'], replay['attempt'], bool(replay['done_at'])), ('replay', 'failed', 1, True),
        'nor as JSON')


def by_hand(daemon):
    """Released, unknown, resolved, exhausted."""
    def begin(key, *more):
        return daemon.ctl('begin', '--json', '--tool', 'refund', '--key', key, *more)

    run = json.loads(begin('r').stdout)
    mine = (run['effect'], '--token', run['token'])
    is_(daemon.ctl('release', *mine, '--reason', 'not sent').returncode, 0, 'release')
    like(daemon.ctl('explain', run['effect']).stdout, 'Released at .*granted attempt 2', 'explain says what comes next')
    run = json.loads(begin('r').stdout)
    is_(run['attempt'], 2, 'the next begin is attempt 2')
    is_(daemon.ctl('release', run['effect'], '--token', run['token']).returncode, 0, 'released again')
    out = begin('r')
    is_((out.returncode, json.loads(out.stdout)['decision']), (80, 'exhausted'), 'a spent key is 80')

    run = json.loads(begin('u').stdout)
    is_(daemon.ctl('release', run['effect'], '--token', str(uuid.uuid4())).returncode, 84, 'a wrong token is 84')
    out = daemon.ctl('unknown', run['effect'], '--token', run['token'], '--reason', 'timeout\x1b[2J')
    is_(out.returncode, 0, 'unknown')
    is_(begin('u').returncode, 76, 'begin of an unknown effect is 76')
    out = daemon.ctl('explain', run['effect'])
    ok('\x1b' not in out.stdout, 'explain prints no escape sequence of a reason', out.stdout)
    wait_until(lambda: daemon.ctl('get', run['effect'], '--print', 'state').stdout.strip() in ('unknown', 'escalated'), 10)
    state = daemon.ctl('get', run['effect'], '--print', 'state').stdout.strip()
    like(out.stdout, f'effectctl resolve {run["effect"]} --attempt 1 --state', 'explain names the command to type')
    is_(daemon.ctl('resolve', run['effect'], '--verdict', 'landed', '--attempt', '7', '--state', state, '--reason', 'x').returncode, 84,
        'resolve of an attempt that is not the one is 84')
    out = daemon.ctl('resolve', run['effect'], '--verdict', 'landed', '--attempt', '1', '--state', state, '--reason', 'seen there',
                     '--result', '{"id": 7}')
    is_((out.returncode, out.stdout), (0, 'state: done\n'), 'resolve settles it')
    is_(begin('u').returncode, 10, 'and begin replays it')
    is_(daemon.ctl('get', str(uuid.uuid4())).returncode, 83, 'an effect that is not there is 83')
    is_(daemon.ctl('get', 'nonsense').returncode, 65, 'what is no effect id is 65')
    is_(daemon.ctl('call', 'begin', '{"tool":"refund","key":"u"}').returncode, 10, 'call begin exits like begin')
    is_(daemon.ctl('call', 'nonsense').returncode, 65, 'an unknown method is 65')


def lists(daemon):
    answer = json.loads(daemon.ctl('list', '--json', '--tool', 'refund').stdout)
    n = len(answer['effects'])
    ok(n >= 4, 'list has them all', n)
    paged = json.loads(daemon.ctl('list', '--json', '--all', '--limit', '1').stdout)
    is_([e['effect'] for e in paged['effects']], [e['effect'] for e in answer['effects']], 'page by page the same in the same order')
    out = daemon.ctl('list', '--state', 'released')
    is_(len(out.stdout.splitlines()), 2, 'list by state')
    like(out.stdout, 'released +refund +r +2', 'as a table')
    is_(daemon.ctl('list', '--state', 'nonsense').returncode, 65, 'a state that is none is 65')


def daemon_and_policies(daemon):
    out = daemon.ctl('status')
    is_(out.returncode, 0, 'status is 0')
    like(out.stdout, r'ready\nledger +up since 20', 'and tells of the ledger')
    like(out.stdout, r'rights +default: ', 'and of rights')
    out = daemon.ctl('tools', 'list')
    like(out.stdout, 'default +refund +irreversible +refund:\\{/order\\}', 'tools list')
    is_(json.loads(daemon.ctl('tools', 'list', '--json').stdout)['tools'][0]['namespace'], 'default', 'tools list as JSON')
    out = ctl('tools', 'lint', daemon.tools_dir)
    is_(out.returncode, 1, 'tools lint of an irreversible tool without a probe is 1')
    like(out.stdout, r'tools.json:2:3: error: refund: /0/probe: .*\[irreversible_without_probe\]\n', 'and says why')
    is_(ctl('tools', 'lint', '-c', daemon.config_path).returncode, 1, 'the folder may come from the config')
    bad = folder()
    with open(os.path.join(bad, 'a.json'), 'w', encoding='ascii') as file:
        file.write('{"name": "x", "clas": "read"}')
    out = ctl('tools', 'lint', bad)
    is_(out.returncode, 78, 'a policy that would not load is 78')
    like(out.stdout, 'a.json.*clas', 'naming file and member')


def outages(cluster, daemon):
    run = json.loads(daemon.ctl('begin', '--json', '--tool', 'refund', '--key', 'o').stdout)
    cluster.immediate()
    wait_until(lambda: daemon.ctl('status').returncode == 69, 20, 'status says that the ledger is away')
    out = daemon.ctl('begin', '--tool', 'refund', '--key', 'p', '--deadline', '300ms')
    is_((out.returncode, out.stdout), (69, ''), 'begin without a ledger is 69')
    like(out.stderr, 'unavailable', 'and says why')
    box = {}
    words = {'begin': ['begin', '--json', '--tool', 'refund', '--key', 'q', '--deadline', '60s'],
             'complete': ['complete', run['effect'], '--token', run['token'], '--result', '1', '--deadline', '60s']}
    threads = [threading.Thread(target=lambda name=name: box.update({name: daemon.ctl(*words[name])})) for name in words]
    n_lines = len(daemon.log())
    for thread in threads:
        thread.start()
    for name in words:
        daemon.wait_log(f'event={name} .*error=unavailable', 20, n_lines)
    cluster.start()
    for thread in threads:
        thread.join()
    is_(box['complete'].returncode, 0, 'complete outlasts the ledger\'s absence')
    is_(box['begin'].returncode, 0, 'begin does, too')
    is_(json.loads(box['begin'].stdout)['attempt'], 1, 'with one grant')
    run = json.loads(box['begin'].stdout)
    daemon.kill()
    thread = threading.Thread(target=lambda: box.update({'late': daemon.ctl('complete', run['effect'], '--token', run['token'])}))
    thread.start()
    daemon.start()
    thread.join()
    is_(box['late'].returncode, 0, 'complete outlasts the daemon\'s absence')
    daemon.ready()


def one_runs(daemon):
    """case 1 from the shell: of ten at once one may run."""
    argv = [program('effectctl'), '-s', daemon.socket, 'begin', '--tool', 'refund', '--key', 'race']
    procs = [subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(10)]
    codes = sorted(p.wait() for p in procs)
    is_(codes, [0] + [75] * 9, 'of ten that begin at once one gets 0')


def strangers(cluster):
    with Daemon(cluster, config='namespace payments { operators = {"user:nobody"} }\n', tools=TOOLS) as daemon:
        daemon.ready()
        is_(daemon.ctl('begin', '--tool', 'refund', '--key', 'x').returncode, 77, 'a peer without rights is denied: 77')
        like(daemon.ctl('status').stdout, 'rights +none', 'and status says so')


def executes(cluster):
    """A tool that is a statement: the daemon does it, and its result is what is printed."""
    cluster.psql('create role clerk login', "select effect.allow('clerk', 'default')", 'create table paid (amount int)',
                 'grant insert, select on paid to clerk')
    tools = [{'name': 'pay', 'key': 'pay:{/order}', 'execute': {
                 'query': "insert into paid select ($1::json ->> 'amount')::int returning json_build_object('paid', amount)", 'user': 'clerk'}},
             {'name': 'refund', 'class': 'irreversible'}]
    with Daemon(cluster, tools=tools) as daemon:
        daemon.ready()

        def execute(order, amount, *more):
            return daemon.ctl('execute', '--tool', 'pay', '--args', json.dumps({'order': order, 'amount': amount}), *more)

        out = execute(1, 5)
        is_((out.returncode, out.stdout), (0, '{"paid" : 5}\n'), 'execute does it and prints its result')
        out = execute(1, 5)
        is_((out.returncode, out.stdout), (10, '{"paid" : 5}\n'), 'a repeat is 10, with the same result')
        like(out.stderr, 'this is a replay, nothing was run', 'and says so')
        is_(cluster.psql('select count(*) from paid'), '1', 'it was done once')
        answer = json.loads(execute(2, 6, '--json').stdout)
        is_((answer['schema'], answer['decision'], answer['result']), ('effectctl.execute/1', 'ran', {'paid': 6}), 'as JSON all that the daemon says')
        is_(execute(3, 7, '--print', 'key').stdout, 'pay:3\n', 'or one member of it')
        is_(execute(1, 6).returncode, 79, 'other args under the key are 79')
        out = execute(4, 'much')
        is_((out.returncode, out.stdout), (70, ''), 'a statement that fails is 70')
        like(out.stderr, 'tool_failed(.*\n)*sqlstate: 22P02', 'with its SQLSTATE')
        is_(execute(4, 8).returncode, 0, 'and may be asked for again')
        is_(daemon.ctl('execute', '--tool', 'refund', '--key', 'x').returncode, 65, 'a tool without a statement is 65')
        is_(daemon.ctl('begin', '--tool', 'pay', '--key', 'x').returncode, 65, 'so is begin of one that has one')


def embedded():
    with Daemon('embedded') as daemon:
        daemon.ready()
        is_(ctl('db', 'check', '-c', daemon.config_path).returncode, 0, 'db check finds the embedded database by the config')
        out = ctl('db', 'check', '--database', 'embedded', '--state-dir', daemon.state_dir)
        is_(out.returncode, 0, 'and by its state folder')


with Cluster() as the_cluster:
    schema(the_cluster)
    with Daemon(the_cluster, tools=TOOLS, config={'auto_migrate': False, 'request_timeout': '1s'}) as the_daemon:
        the_daemon.ready()
        shell(the_daemon)
        by_hand(the_daemon)
        lists(the_daemon)
        daemon_and_policies(the_daemon)
        one_runs(the_daemon)
        outages(the_cluster, the_daemon)
    strangers(the_cluster)
    executes(the_cluster)
    out = ctl('db', 'check', '--database', the_cluster.conninfo())
    is_(out.returncode, 0, 'in the end db check finds the books right')
    note(out.stdout)
embedded()
done()
