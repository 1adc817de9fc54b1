#!/usr/bin/python3
"""A probe by hand: an operator has the provider asked about one effect and sees what the ledger would decide by its word. Without
--apply nothing is changed, in any state; with it, the word is recorded as any probe's. What is told beforehand is what happens."""
import json
import os
import shlex
import signal

from harness import *
from talk import *

FAR = ['10ms', '1h']  # after two looks of the sweeper the next is an hour away
PROBE = Script()
WAITS = 'touch {dir}/came; while ! [ -e {dir}/go ]; do sleep 0.02; done; cat {dir}/go'
QUICK = {'probe_backoff': FAR, 'escalate_after': '3h', 'lease': '5m', 'settle': '0s'}
TOOLS = [PROBE.policy('t', **QUICK), PROBE.policy('slow', **{**QUICK, 'settle': '1h'}), PROBE.policy('secret', **QUICK, result_secret=['/iban']),
         PROBE.policy('hangs', **QUICK, probe_timeout='300ms'), PROBE.policy('people', **{**QUICK, 'on_unknown': 'human'}),
         {'name': 'none', 'lease': '5m', 'escalate_after': '1h'},
         {'name': 'missing', 'lease': '5m', 'escalate_after': '3h', 'probe_backoff': FAR, 'probe': {'exec': {'argv': ['/nonexistent/probe']}}}]


def asleep(cluster, run):
    """Is its next probe far away, and none under way?"""
    return cluster.psql("select state = 'unknown' and due_at > now() + interval '30 min' and (probed_at is not null or probe_at is null) "
                        f"from effect.ledger where id = '{run['effect']}'") == 't'


def open_up(cluster, conn, key, tool='t'):
    """An effect of which nobody knows, and which no sweep will look at for an hour."""
    run = claim(conn, key, tool)
    PROBE.says('inconclusive')
    conn.call('unknown', **own_ids(run))
    wait_until(lambda: asleep(cluster, run), 20, f'{key} sleeps')
    return run


def books(cluster, run):
    """All that the ledger has of it."""
    return cluster.psql(f"select row_to_json(l) from effect.ledger l where id = '{run['effect']}'",
                        f"select row_to_json(e) from effect.event e where effect = '{run['effect']}' order by id")


def look(cluster, conn, run, **more):
    """A probe without apply, which must change nothing."""
    before = books(cluster, run)
    told = conn.call('probe', effect=run['effect'], **more)
    ok(books(cluster, run) == before and told['applied'] is False, 'a look changes nothing', told)
    return told


def words(cluster, conn):
    """What a look says is what applying it does."""
    run = open_up(cluster, conn, 'words')
    result = '{"b":1.0,"a":1e2,"c":"\\u003c"}'
    PROBE.play(f"cat <<'EOF'\n{{\"verdict\":\"landed\",\"reason\":\"found\",\"result\": {result} }}\nEOF")
    line = exchange(conn, Conn.line('probe', {'effect': run['effect'], 'tool': 't'}, 1)[:-1])
    is_(line, b'{"jsonrpc":"2.0","id":1,"result":{"verdict":"landed","reason":"found","result":' + result.encode() +
        b',"would":{"state":"done","outcome":"succeeded","counts":false,"why":"landed is final"},"applied":false,"state":"unknown","attempt":1}}',
        'the whole answer, the result as the probe spelled it')
    PROBE.play("printf '{\"verdict\":\"landed\",\"result\":{\\n  \"id\": 7,\\r\\n  \"ok\": true\\n}}\\n'")
    line = exchange(conn, Conn.line('probe', {'effect': run['effect']}, 2)[:-1])
    is_(json.loads(line)['result']['result'], {'id': 7, 'ok': True}, 'a result of several lines comes in one')
    PROBE.says('absent', reason='no such refund')
    told = look(cluster, conn, run)
    is_((told['would'], told['state']), ({'state': 'unknown', 'counts': True, 'absents': '1 of 2', 'why': 'absent, and more of it is needed'}, 'unknown'),
        'an absent that would count')
    told = conn.call('probe', effect=run['effect'], apply=True)
    is_((told['would']['absents'], told['applied'], told['state']), ('1 of 2', True, 'unknown'), 'applied, it counts')
    told = look(cluster, conn, run)
    is_(told['would'], {'state': 'released', 'counts': True, 'absents': '2 of 2', 'why': 'absent as often as is needed'}, 'the next one would release')
    told = conn.call('probe', effect=run['effect'], apply=True)
    is_((told['would']['state'], told['state']), ('released', 'released'), 'applied, it does')
    is_(conn.call('begin', tool='t', key='words')['attempt'], 2, 'and the effect may run again')
    run = open_up(cluster, conn, 'early', 'slow')
    PROBE.says('absent')
    told = look(cluster, conn, run)
    is_((told['would']['counts'], told['would']['absents'], told['would']['state']), (False, '0 of 2', 'unknown'), 'an absent before settle would not count')
    like(told['would']['why'], 'too early', 'which is said')
    is_(conn.call('probe', effect=run['effect'], apply=True)['would']['counts'], False, 'applied, it does not')
    PROBE.says('failed', result={'code': 'refused'})
    is_(look(cluster, conn, run)['would'], {'state': 'done', 'outcome': 'failed', 'counts': False, 'why': 'failed is final'}, 'failed would be final')
    told = conn.call('probe', effect=run['effect'], tool='slow', apply=True)
    row = conn.call('get', effect=run['effect'])
    is_((told['state'], row['outcome'], row['by'], row['result']), ('done', 'failed', 'probe', {'code': 'refused'}), 'applied, it is')
    run = open_up(cluster, conn, 'no word')
    for play, pattern in (('exit 3', 'status 3'), ('echo \'{"verdict":"inconclusive","reason":"http 500"}\'', 'http 500')):
        PROBE.play(play)
        told = look(cluster, conn, run)
        is_((told['verdict'], told['would']['state'], told['would']['counts']), ('inconclusive', 'unknown', False), 'what cannot be told decides nothing')
        like(told['reason'], pattern, 'the reason is told')
    PROBE.says('landed', result={'iban': 'DE02', 'id': 7})
    told = look(cluster, conn, open_up_landed(cluster, conn))
    is_(told['result'], {'iban': '[secret]', 'id': 7}, 'what the policy calls secret is taken out')


def open_up_landed(cluster, conn):
    run = open_up(cluster, conn, 'secret', 'secret')
    PROBE.says('landed', result={'iban': 'DE02', 'id': 7})
    return run


def states(cluster, conn):
    """Any effect may be looked at; only an unknown one is applied to."""
    runs = {'pending': claim(conn, 'state pending')}
    for state in ('released', 'done'):
        runs[state] = claim(conn, f'state {state}')
        bring(conn, runs[state], state)
    runs['escalated'] = claim(conn, 'state escalated', 'people')
    bring(conn, runs['escalated'], 'escalated')
    PROBE.says('landed')
    would = {'pending': ('pending', None), 'released': ('done', 'succeeded'), 'done': ('done', 'succeeded'), 'escalated': ('done', 'succeeded')}
    for state, run in runs.items():
        told = look(cluster, conn, run)
        is_((told['verdict'], told['would']['state'], told['would'].get('outcome'), told['state']), ('landed', *would[state], state), f'{state}: what landed would make of it')
        before = books(cluster, run)
        error = conn.error('probe', effect=run['effect'], apply=True)
        is_((error['code'], error['data']), (-32008, {'name': 'conflict', 'state': state, 'attempt': 1}), f'{state}: not applied to')
        is_(books(cluster, run), before, 'and nothing changed')
    run = claim(conn, 'nobody', 'none')
    conn.call('unknown', **own_ids(run))
    for apply in (False, True):
        told = conn.call('probe', effect=run['effect'], apply=apply)
        is_((told['verdict'], told['applied'], told['would']['why']), ('unstarted', False, 'nobody was asked'), 'a tool without a probe: nobody is asked')
        like(told['reason'], 'no probe', 'which is said')
    run = claim(conn, 'missing', 'missing')
    is_(look(cluster, conn, run)['verdict'], 'unstarted', 'a probe that cannot be started')
    for params, name, pointer in (({'effect': run['effect'], 'tool': 't'}, 'invalid_params', '/tool'), ({'effect': '0' * 8 + '-0000-8000-8000-' + '0' * 12}, 'not_found', None),
                                  ({'effect': '0' * 8 + '-0000-8000-8000-' + '0' * 12, 'apply': True}, 'not_found', None)):
        data = conn.error('probe', params)['data']
        is_((data['name'], data.get('pointer')), (name, pointer), f'{name} {pointer or ""}')


def under_way(cluster, daemon, conn):
    """One probe that is recorded is under way; a look may stand beside it. Who leaves ends a look, and not what was taken."""
    go, came = os.path.join(PROBE.dir, 'go'), os.path.join(PROBE.dir, 'came')

    def waits():
        for path in (go, came):
            if os.path.exists(path):
                os.unlink(path)
        PROBE.play(WAITS)

    def lets(text):
        with open(go + '.new', 'w', encoding='ascii') as out:
            out.write(text)
        os.rename(go + '.new', go)

    run = open_up(cluster, conn, 'under way')
    waits()
    id_ = conn.send('probe', effect=run['effect'], apply=True)
    wait_until(lambda: os.path.exists(came), 20, 'the probe is under way')
    error = conn.error('probe', effect=run['effect'], apply=True)
    is_((error['code'], error['data']['retry_after_ms'] > 0), (-32006, True), 'a second one is not taken while the first is under way')
    with daemon.connect() as other:
        waiter = other.send('begin', tool='t', key='under way', wait_ms=60000)
        other.call('info')
        beside = conn.send('probe', effect=run['effect'])
        PROBE.wait_asked(2 + 2, run['effect'])  # two of the sweeper's before
        lets('{"verdict":"landed","result":"here"}')
        is_((conn.recv(id_)['result']['state'], conn.recv(beside)['result']['verdict']), ('done', 'landed'), 'a look stands beside it')
        is_(other.recv(waiter)['result']['result'], 'here', 'and who waits for the effect is told the word')
    for apply in (False, True):
        run = open_up(cluster, conn, f'left {apply}')
        before = books(cluster, run)
        waits()
        leaver = daemon.connect()
        leaver.send('probe', effect=run['effect'], apply=apply)
        wait_until(lambda: os.path.exists(came), 20, 'the probe is under way')
        leaver.close()
        if apply:
            lets('{"verdict":"landed"}')
            wait_state(conn, run['effect'], 'done')
            ok(True, 'its operator is gone: what was taken is recorded')
        else:
            wait_until(lambda: not pids_of(daemon.process.pid), 20, 'the probe of a look is ended with it')
            is_(books(cluster, run), before, 'his look leaves nothing')
            lets('')
    run = open_up(cluster, conn, 'hangs', 'hangs')
    PROBE.play('sleep 30')
    told = look(cluster, conn, run)
    is_(told['verdict'], 'inconclusive', 'a probe that hangs is ended by its time-out')
    like(told['reason'], 'time', 'as any')


def command_line(cluster, daemon, conn):
    def probe(run, *more, tool='t'):
        return daemon.ctl('tools', 'probe', tool, '--effect', run['effect'], *more)

    run = open_up(cluster, conn, 'typed')
    PROBE.says('absent', reason='no such \x1b[31mrefund')
    before = books(cluster, run)
    out = probe(run)
    is_((out.returncode, out.stderr), (0, ''), 'tools probe: the provider has said something')
    like(out.stdout, r'^verdict    absent\nreason     no such \?\[31mrefund\nwould be   unknown\nabsents    1 of 2\nbecause    absent, and more of it is needed\n\n# ', 'what it said')
    is_(books(cluster, run), before, 'and nothing changed')
    told = json.loads(probe(run, '--json').stdout)
    is_((told.pop('schema'), told['would']['absents'], told['applied']), ('effectctl.tools-probe/1', '1 of 2', False), '--json')
    PROBE.says('landed', result={'id': 7})
    out = probe(run)
    like(out.stdout, r'result     \{"id": ?7\}\nwould be   done succeeded\n', 'what it found')
    command = out.stdout.rstrip('\n').split('\n')[-1]
    like(command, '^effectctl tools probe t --effect [0-9a-f-]{36} --apply$', 'the next command')
    again = daemon.ctl(*shlex.split(command)[1:])
    is_((again.returncode, state_of(conn, run['effect'])), (0, 'done'), 'which can be pasted')
    like(again.stdout, 'is now     done succeeded\n(.*\n)*effectctl explain', 'and says what is now, and what next')
    out = probe(run, '--apply')
    is_((out.returncode, 'conflict' in out.stderr), (84, True), 'an effect that is not unknown is not applied to')
    run = claim(conn, 'ctl escalated', 'people')
    bring(conn, run, 'escalated')
    like(probe(run, tool='people').stdout, f'effectctl resolve {run["effect"]} --attempt 1 --state escalated --verdict landed --reason\n$', 'escalated: a person decides')
    PROBE.says('inconclusive')
    is_((probe(run, tool='people').returncode, probe(run, '--json', tool='people').returncode), (76, 76), 'a probe that cannot tell is 76')
    is_(probe(run).returncode, 65, 'the wrong tool is bad input')
    for args in ([], ['t'], ['--effect', run['effect']], ['t', 'u', '--effect', run['effect']]):
        is_(daemon.ctl('tools', 'probe', *args).returncode, 64, f'usage: {" ".join(args[:1])}')


def crowded(cluster):
    """No slot is free, and a stop."""
    PROBE.play('sleep 30')
    with Daemon(cluster, tools=TOOLS, config={'sweep_interval': '1h'}, prefix=['prlimit', '--nofile=700:700']) as few:
        few.ready()
        conn = few.connect()
        run = claim(conn, 'crowd')
        ids = [conn.send('probe', effect=run['effect']) for _ in range(4)]  # there are four slots
        wait_until(lambda: len(PROBE.asked(run['effect'])) >= 4, 20, 'four looks are under way')
        before = books(cluster, run)
        for apply in (False, True):
            is_(conn.error('probe', effect=run['effect'], apply=apply)['data']['name'], 'overloaded', 'no slot is free: overloaded')
        is_(books(cluster, run), before, 'and nothing is taken')
        few.signal(signal.SIGTERM)
        is_({conn.recv(id_)['error']['data']['name'] for id_ in ids}, {'unavailable'}, 'the daemon stops: no word came')
        is_(few.wait(), 0, 'and it ends with 0')


seed()
with Cluster() as the_cluster:
    with Daemon(the_cluster, tools=TOOLS) as the_daemon:
        own = the_daemon.ready().connect()
        words(the_cluster, own)
        states(the_cluster, own)
        under_way(the_cluster, the_daemon, own)
        command_line(the_cluster, the_daemon, own)
    crowded(the_cluster)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
