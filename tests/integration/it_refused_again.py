#!/usr/bin/python3
"""A failure that a later attempt reports may mean "already done": the provider is asked first, and its first word decides. The
whole road: landed, absent, failed, inconclusive, a probe that cannot be started or hangs, the deadline, the wrapper's other words
in between, and a daemon that dies on the way."""
import json
import os

from harness import *
from talk import *

PROBE = Script()
MISSING = os.path.join(folder(), 'probe')
TOOLS = [
    PROBE.policy(probe_backoff=['1h'], settle='1h'), PROBE.policy('hangs', probe_timeout='300ms', probe_backoff=['1h']),
    PROBE.policy('deadline', probe_timeout='1h', escalate_after=f'{int(1000 * SLOW)}ms', probe_backoff=['1h']),
    {'name': 'missing', 'escalate_after': f'{int(1500 * SLOW)}ms', 'probe_backoff': ['50ms'], 'probe': {'exec': {'argv': [MISSING]}}},
    {'name': 'later', 'escalate_after': '1h', 'probe_backoff': ['50ms'], 'probe': {'exec': {'argv': [MISSING + '-2']}}},
    {'name': 'bare', 'escalate_after': '1h'}, PROBE.policy('dies'), PROBE.policy('error', on_error='failed', probe_backoff=['1h']),
]
REFUSAL = {'code': 'already_refunded'}


def second(conn, key, tool='t'):
    """Attempt 2, the first one having been given back."""
    conn.call('release', **own_ids(claim(conn, key, tool)))
    run = claim(conn, key, tool, lease_ms=3600000)
    assert run['attempt'] == 2
    return run


def refuse(conn, run, **how):
    return conn.call('complete', **own_ids(run), **{'outcome': 'failed', 'result': REFUSAL, **how})


def ends(conn, run, outcome, by, result, what):
    row = wait_state(conn, run['effect'], 'done', 60)
    is_((row['outcome'], row['by'], row['result'], row['attempt']), (outcome, by, result, 2), what)
    replay = conn.call('begin', tool=row['tool'], key=row['key'])
    is_((replay['decision'], replay['outcome'], replay['result']), ('replay', outcome, result), 'and that is replayed')
    return row


def first_word(conn):
    for verdict, more, outcome, by, result in (('landed', {'result': 're_1'}, 'succeeded', 'probe', 're_1'), ('absent', {}, 'failed', 'caller', REFUSAL),
                                               ('failed', {'result': 'no'}, 'failed', 'caller', REFUSAL), ('inconclusive', {}, 'failed', 'caller', REFUSAL)):
        PROBE.says(verdict, **more)
        run = second(conn, verdict)
        is_(refuse(conn, run), {'state': 'unknown', 'outcome': 'failed', 'already': False}, f'{verdict}: a refusal on attempt 2 waits for a word of the provider')
        row = ends(conn, run, outcome, by, result, f'{verdict}: the first word decides, {outcome} by {by}')
        is_(len(PROBE.asked(run['effect'])), 1, 'which was asked once')
        is_([kind for kind in event_kinds(row) if kind in ('unknown', 'late')], ['unknown', 'late'], 'and the refusal is in the history')
        is_(refuse(conn, run).get('already') if outcome == 'failed' else conn.error('complete', **own_ids(run), outcome='failed', result=REFUSAL)['data']['name'],
            True if outcome == 'failed' else 'conflict', 'said again: already, or a conflict with what was found')
    for garbage in ('exit 1', 'echo garbage', 'kill -9 $$', 'echo \'{"verdict":"absent"}\'; exit 7'):
        PROBE.play(garbage)
        run = second(conn, garbage)
        refuse(conn, run)
        ends(conn, run, 'failed', 'caller', REFUSAL, f'{garbage}: no word of the provider, the refusal stands')
    PROBE.play('exec sleep 3600')
    run = second(conn, 'time-out', 'hangs')
    refuse(conn, run)
    row = ends(conn, run, 'failed', 'caller', REFUSAL, 'a probe that hangs is no word of the provider either')
    like(json.dumps(row['events']), 'inconclusive: [^"]*time', 'which its event says')


def unstarted(conn):
    """A probe that cannot even be started has asked nobody: it decides nothing."""
    run = second(conn, 'missing', 'missing')
    refuse(conn, run)
    wait_until(lambda: [e for e in conn.call('get', effect=run['effect'])['events'] if e['kind'] == 'probe'], 20, 'the probe was to be started')
    is_(state_of(conn, run['effect']), 'unknown', 'a probe that cannot be started decides nothing')
    row = ends(conn, run, 'failed', 'caller', REFUSAL, 'at its deadline the refusal stands')
    ok('escalated' not in event_kinds(row), 'and no person is called for what was refused', event_kinds(row))
    run = second(conn, 'later', 'later')
    refuse(conn, run)
    wait_until(lambda: [e for e in conn.call('get', effect=run['effect'])['events'] if e['kind'] == 'probe'], 20, 'the probe was to be started')
    with open(MISSING + '-2', 'w', encoding='ascii') as out:
        out.write('#!/bin/sh\necho \'{"verdict":"landed","result":"re_2"}\'\n')
    os.chmod(MISSING + '-2', 0o755)
    ends(conn, run, 'succeeded', 'probe', 're_2', 'one that is there at last is asked, and its word decides')


def deadline(conn):
    """The provider answers after the deadline."""
    PROBE.play('while ! [ -e {dir}/go ]; do sleep 0.05; done; echo \'{"verdict":"landed","result":"re_3"}\'')
    run = second(conn, 'deadline', 'deadline')
    refuse(conn, run)
    PROBE.wait_asked(1, run['effect'])
    ends(conn, run, 'failed', 'caller', REFUSAL, 'while the probe is still under way its deadline comes: the refusal stands')
    with open(os.path.join(PROBE.dir, 'go'), 'w', encoding='ascii'):
        pass
    told = wait_until(lambda: [i for i in conn.call('list', incidents=True)['incidents'] if i['effect'] == run['effect']], 20, 'the late word is an incident')
    is_([(i['kind'], i['by'], i['outcome'], i['result_text'], i['state']) for i in told], [('verdict', 'probe', 'succeeded', '"re_3"', 'done')],
        'a landed that comes then is an incident, with what it found')
    row = conn.call('get', effect=run['effect'])
    is_((row['outcome'], conn.call('resolve', effect=run['effect'], verdict='landed', reason='the probe was right', attempt=2, state='done', result='re_3')),
        ('failed', {'state': 'done'}), 'and a person may put it right')
    is_(conn.call('begin', tool='deadline', key='deadline')['result'], 're_3', 'which is then replayed')


def other_words(conn):
    """What its holder says while the provider is asked."""
    PROBE.play('while ! [ -e {dir}/go-2 ]; do sleep 0.05; done; echo \'{"verdict":"inconclusive"}\'')
    run = second(conn, 'succeeds after all')
    refuse(conn, run)
    is_(conn.call('begin', tool='t', key='succeeds after all')['decision'], 'unknown', 'meanwhile nobody runs')
    is_(conn.error('release', **own_ids(run))['data'], {'name': 'conflict', 'state': 'unknown', 'attempt': 2}, 'nor is it given back')
    is_(refuse(conn, run)['already'], True, 'the same refusal again is already there')
    is_(conn.call('complete', **own_ids(run), result='it did')['state'], 'done', 'a success after all is the truth')
    with open(os.path.join(PROBE.dir, 'go-2'), 'w', encoding='ascii'):
        pass
    is_(conn.call('begin', tool='t', key='succeeds after all')['result'], 'it did', 'and stays it')
    PROBE.says('landed', result='found')
    run = second(conn, 'unknown first')
    conn.call('unknown', **own_ids(run))
    row = wait_state(conn, run['effect'], 'done')
    is_((row['by'], row['result']), ('probe', 'found'), 'unknown first: probed')
    run = second(conn, 'no probe', 'bare')
    is_(refuse(conn, run)['state'], 'done', 'without a probe a refusal is final at once')
    run = second(conn, 'an error', 'error')
    is_(refuse(conn, run, outcome='error')['state'], 'unknown', 'a tool\'s own error that means failed is probed first, too')
    ends(conn, run, 'succeeded', 'probe', 'found', 'and found')
    run = claim(conn, 'first attempt')
    is_(refuse(conn, run)['state'], 'done', 'on the first attempt nobody is asked')


def dies(daemon):
    """kill -9 between the refusal and the word."""
    PROBE.play('exec sleep 3600')
    with daemon.connect() as conn:
        run = second(conn, 'dies', 'dies')
        refuse(conn, run)
        PROBE.wait_asked(1, run['effect'])
    daemon.kill()
    PROBE.says('landed', result='re_4')
    daemon.start()
    with daemon.ready().connect() as conn:
        is_(state_of(conn, run['effect']), 'unknown', 'a daemon that died on the way has decided nothing')
        later(the_cluster, 30)  # a probe whose word never came is due again after its time-out and a step of the back-off
        ends(conn, run, 'succeeded', 'probe', 're_4', 'the next one asks again, and its word decides')


with Cluster() as the_cluster, Daemon(the_cluster, config='sweep_interval = "50ms"\n', tools=TOOLS) as the_daemon:
    with the_daemon.ready().connect() as the_conn:
        first_word(the_conn)
        unstarted(the_conn)
        deadline(the_conn)
        other_words(the_conn)
    dies(the_daemon)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
