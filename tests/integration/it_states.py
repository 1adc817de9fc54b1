#!/usr/bin/python3
"""What every state answers, alone and within a burst; a mismatch before all else; who may not touch whose claim; budgets; and a
person's word in each state. Cases 10, 13, 20, 24, 27, 29, 82, 85, 86 and 87."""
from harness import *
from talk import *

PROBE = Script()
NOBODY = '00000000-0000-4000-8000-000000000000'
TOOLS = [
    {'name': 't', 'escalate_after': '1h', 'max_attempts': 3, 'keep': ['/f']},
    {'name': 'hand', 'lease': '1s', 'escalate_after': '0s', 'max_attempts': 3},
    {'name': 'one', 'max_attempts': 1, 'escalate_after': '1h'},
    {'name': 'sure', 'on_error': 'released', 'max_attempts': 2}, {'name': 'final', 'on_error': 'failed'}, {'name': 'open', 'escalate_after': '1h'},
    PROBE.policy('asks', escalate_after='1h'), PROBE.policy('asks3', escalate_after='1h', max_attempts=3),
]
ARGS = {'f': 1}


def make(conn, key, state, tool='t', **more):
    """An effect in that state; its last run."""
    tool = 'hand' if state == 'escalated' and tool == 't' else 'one' if state == 'exhausted' else tool
    run = claim(conn, key, tool, **{'args': ARGS, **more})
    if state == 'unknown':
        conn.call('unknown', **own_ids(run))
    elif state == 'escalated':
        conn.call('unknown', **own_ids(run))
        wait_state(conn, run['effect'], 'escalated')
    elif state in ('released', 'exhausted'):
        conn.call('release', **own_ids(run))
    elif state == 'done':
        conn.call('complete', **own_ids(run), result={'r': key})
    elif state == 'failed':
        conn.call('complete', **own_ids(run), outcome='failed', result={'r': key})
    elif state == 'lapsed':
        wait_state(conn, run['effect'], 'unknown')
    return {**run, 'tool': tool, 'key': key}


# state: what begin answers
STATES = {'pending': 'busy', 'lapsed': 'unknown', 'unknown': 'unknown', 'escalated': 'escalated', 'released': 'run', 'exhausted': 'exhausted',
          'done': 'replay', 'failed': 'replay'}


def lease_of(state):
    return {'lease_ms': 1000} if state == 'lapsed' else {}


def mismatches(conn):
    """case 20: in every state, before any other answer; case 27's burst, too."""
    made = {state: make(conn, f'mis-{state}', state, **lease_of(state)) for state in STATES}
    for state, run in made.items():
        before = conn.call('get', effect=run['effect'], events=0)
        answer = conn.call('begin', tool=run['tool'], key=run['key'], args={'f': 2})
        is_((answer['decision'], answer['effect'], answer['state']), ('mismatch', run['effect'], before['state']),
            f'case 20: other args on {state} are a mismatch')
        is_(answer.get('differs'), ['/f'] if run['tool'] == 't' else None, f'{state}: it names what differs where that is kept')
        is_(conn.call('begin', tool=run['tool'], key=run['key'])['decision'], 'mismatch', f'{state}: no args are other args')
        after = conn.call('get', effect=run['effect'], events=0)
        is_(after, before, f'{state}: the row stands as it was')
    ids = [conn.send('begin', tool=run['tool'], key=run['key'], args={'f': 3}) for run in made.values() for _ in range(5)]
    is_({conn.recv(id_)['result']['decision'] for id_ in ids}, {'mismatch'}, 'case 20: in a burst, too')
    for state in ('done', 'pending'):
        # what differs is told to two begins of one batch as to any other
        ids = [conn.send('begin', tool='t', key=f'pair-{state}', args={'f': at}) for at in range(2)]
        is_(sorted(conn.recv(id_)['result']['decision'] for id_ in ids), ['mismatch', 'run'], 'two of one key at once: one runs, the other is a mismatch')


def alone_and_in_a_burst(conn, daemon):
    """case 27: the same answer both ways for every state."""
    for state, decision in STATES.items():
        first, second = (make(conn, f'{how}-{state}', state, **lease_of(state)) for how in ('alone', 'burst'))
        alone = conn.call('begin', tool=first['tool'], key=first['key'], args=ARGS)
        is_(alone['decision'], decision, f'case 27: {state} alone is {decision}')
        with daemon.connect() as other:
            lines = [Conn.line('begin', {'tool': 't', 'key': f'noise-{state}-{at}'}, f'n{at}') for at in range(60)]
            lines[30] = Conn.line('begin', {'tool': second['tool'], 'key': second['key'], 'args': ARGS}, 'it')
            lines[40] = Conn.line('begin', {'tool': 't', 'key': f'done-{state}-none', 'args': ARGS}, 'n40')
            other.send_raw(b''.join(lines))
            answers = {answer['id']: answer['result'] for answer in (other.recv() for _ in range(60))}
        burst = answers.pop('it')
        is_({answer['decision'] for answer in answers.values()}, {'run'}, f'{state}: its 59 neighbours are all told run')
        vary = ('effect', 'key', 'token', 'provider_key', 'lease_until', 'protected_until', 'claimed_at', 'since', 'next_probe_at', 'done_at',
                'retry_after_ms', 'result')
        is_(({name: burst[name] for name in burst if name not in vary}, list(burst)),
            ({name: alone[name] for name in alone if name not in vary}, list(alone)), f'case 27: {state} in a burst is answered as alone')
    # the same key many times in one burst
    with daemon.connect() as other:
        other.send_raw(b''.join(Conn.line('begin', {'tool': 't', 'key': 'many'}, at) for at in range(100)))
        got = [other.recv()['result']['decision'] for _ in range(100)]
        is_((got.count('run'), got.count('busy')), (1, 99), 'a hundred of one key in one burst: one runs')


def not_the_owner(conn):
    """case 10: who was refused owns nothing."""
    run = make(conn, 'ten', 'pending')
    busy = conn.call('begin', tool='t', key='ten', args=ARGS)
    ok('token' not in busy and busy['decision'] == 'busy', 'case 10: busy tells no token')
    for method in ('release', 'unknown', 'extend', 'complete'):
        error = conn.error(method, effect=run['effect'], token=NOBODY)
        is_(error['data'], {'name': 'not_owner', 'state': 'pending', 'attempt': 1}, f'case 10: {method} by who was refused')
    is_(conn.call('begin', tool='t', key='ten', args=ARGS)['lease_until'], run['lease_until'], 'the claim stands')
    conn.call('complete', **own_ids(run), result=1)
    is_(conn.call('begin', tool='t', key='ten', args={'f': 9})['decision'], 'mismatch', 'case 10: who is told mismatch')
    error = conn.error('release', effect=run['effect'], token=NOBODY)
    is_(error['data'], {'name': 'not_owner', 'state': 'done', 'attempt': 1}, 'releases nothing')
    is_(conn.call('begin', tool='t', key='ten', args=ARGS)['result'], 1, 'the record stands')


def words_of_holders(conn):
    # case 13: time alone gives nobody the claim
    run = claim(conn, 'long', lease_ms=1000)
    row = wait_state(conn, run['effect'], 'unknown')
    is_([event['kind'] for event in row['events']], ['lapsed'], 'a lease that ran out: unknown')
    answer = conn.call('begin', tool='t', key='long')
    is_((answer['decision'], answer['attempt']), ('unknown', 1), 'case 13: nobody runs it on time alone')
    is_(conn.error('extend', **own_ids(run))['data'], {'name': 'not_owner', 'state': 'unknown', 'attempt': 1}, 'an extend does not bring it back')
    is_(conn.call('complete', **own_ids(run), result='true')['state'], 'done', 'case 13: its owner\'s true result is recorded')
    is_(conn.call('begin', tool='t', key='long')['result'], 'true', 'and replayed')
    # released after a lapse
    run = claim(conn, 'lapse-release', lease_ms=1000)
    wait_state(conn, run['effect'], 'unknown')
    is_(conn.call('release', **own_ids(run)), {'state': 'released', 'already': False}, 'who lost the lease may still say that nothing was sent')
    run = make(conn, 'own-word', 'unknown')
    is_(conn.error('release', **own_ids(run))['data']['name'], 'conflict', 'but not who said that he does not know')
    # case 29
    answer = conn.call('begin', tool='t', key='own-word', args=ARGS)
    is_(answer['decision'], 'unknown', 'case 29: a gateway\'s time-out is no result')
    # case 24, by each on_error
    run = claim(conn, 'err', 'sure')
    is_(conn.call('complete', **own_ids(run), outcome='error', result={'status': 403}), {'state': 'released', 'already': False},
        'case 24: an error that means not executed')
    again = conn.call('begin', tool='sure', key='err')
    is_((run['on_error'], again['decision'], again['attempt']), ('released', 'run', 2), 'case 24: runs again')
    conn.call('complete', **own_ids(again), outcome='error')
    is_(conn.call('begin', tool='sure', key='err')['decision'], 'exhausted', 'within its budget')
    run = claim(conn, 'err', 'final')
    is_(conn.call('complete', **own_ids(run), outcome='error', result=403), {'state': 'done', 'outcome': 'failed', 'already': False},
        'case 24: an error that is final')
    is_(conn.call('begin', tool='final', key='err')['outcome'], 'failed', 'is replayed as a failure')
    run = claim(conn, 'err', 'open')
    is_(names(conn.call('complete', **own_ids(run), outcome='error', result=504)), 'state next_probe_at', 'case 24: an error that says nothing')
    is_(conn.call('begin', tool='open', key='err')['decision'], 'unknown', 'is unknown')


def earlier_tokens(conn):
    """What a message of a former attempt does."""
    for state in ('pending', 'unknown', 'released', 'done'):
        old = claim(conn, f'old-{state}', 'asks')
        conn.call('release', **own_ids(old))
        new = make(conn, f'old-{state}', state, 'asks', args={})
        for method in ('release', 'unknown', 'extend'):
            is_(conn.error(method, **own_ids(old))['data'], {'name': 'not_owner', 'state': state, 'attempt': 2}, f'{method} of a former attempt, {state}')
        is_(conn.error('complete', **own_ids(old), outcome='failed')['data'], {'name': 'conflict', 'state': state, 'attempt': 2},
            f'a failure of a former attempt, {state}, is kept')
        is_(state_of(conn, new['effect']), state, 'and changes nothing')
        error = conn.error('complete', **own_ids(old), result='late')
        is_((error['data']['name'], error['data']['attempt']), ('conflict', 2), f'a success of a former attempt, {state}: conflict')
        row = conn.call('get', effect=new['effect'])
        is_(row['state'], 'done' if state == 'done' else 'escalated', 'and escalates what is open')
        ok(any(event['kind'] == 'late' for event in row['events']), 'it is kept as evidence', row['events'])
        if state == 'pending':
            is_(conn.call('begin', tool='asks', key=f'old-{state}', args={})['decision'], 'escalated', 'nobody runs it again')
            is_(conn.call('complete', **own_ids(new), result='mine')['state'], 'done', 'the running holder\'s complete is accepted')


def budgets(conn, daemon):
    # cases 85 and 86: a killed client spends an attempt, counted at begin
    PROBE.says('absent')
    for attempt in (1, 2, 3):
        with daemon.connect() as victim:
            run = claim(victim, 'crash', 'asks3', bind=True)
            is_((run['attempt'], conn.call('get', effect=run['effect'])['attempt']), (attempt, attempt), f'case 86: attempt {attempt} counts at begin')
        wait_state(conn, run['effect'], 'released', 30)
    answer = conn.call('begin', tool='asks3', key='crash')
    is_((answer['decision'], answer['budget'], answer['max']), ('exhausted', 'key', 3), 'case 85: three crashes spend a budget of three')
    PROBE.says('inconclusive')
    # an operator's absent grants one more
    row = conn.call('get', effect=answer['effect'])
    resolve = {'effect': answer['effect'], 'verdict': 'absent', 'reason': 'looked', 'attempt': 3, 'state': 'released'}
    is_(conn.call('resolve', resolve), {'state': 'released'}, 'absent on a spent budget')
    more = conn.call('begin', tool='asks3', key='crash')
    is_((row['state'], more['decision'], more['attempt']), ('released', 'run', 4), 'grants one more attempt')
    conn.call('release', **own_ids(more))
    is_(conn.call('begin', tool='asks3', key='crash')['decision'], 'exhausted', 'and only one')
    # case 87
    run = claim(conn, 'patient')
    is_({conn.call('begin', tool='t', key='patient')['decision'] for _ in range(20)}, {'busy'}, 'case 87: twenty ask meanwhile')
    conn.call('complete', **own_ids(run))
    is_({(answer['decision'], answer['attempt']) for answer in (conn.call('begin', tool='t', key='patient') for _ in range(20))}, {('replay', 1)},
        'case 87: and twenty after it: one attempt')


def by_hand(conn):
    def resolve(run, state, verdict, **more):
        return conn.recv(conn.send('resolve', effect=run['effect'], verdict=verdict, reason='seen', attempt=run['attempt'], state=state, **more))

    def error_name(answer):
        return answer['error']['data']['name'] if 'error' in answer else answer['result']['state']

    run = make(conn, 'hand-pending', 'pending')
    for verdict in ('landed', 'failed', 'absent'):
        is_(error_name(resolve(run, 'pending', verdict)), 'conflict', f'{verdict} on a running claim')
    for state in ('unknown', 'escalated'):
        for verdict, then in (('landed', 'done'), ('failed', 'done'), ('absent', 'released')):
            run = make(conn, f'hand-{state}-{verdict}', state)
            for wrong in ({'attempt': 2}, {'state': 'released'}):
                answer = conn.error('resolve', {'effect': run['effect'], 'verdict': verdict, 'reason': 'r', 'attempt': 1, 'state': state, **wrong})
                is_(answer['data'], {'name': 'conflict', 'state': state, 'attempt': 1}, f'{state}: what the operator saw was {wrong}')
            answer = resolve(run, state, verdict, evidence='re_1', **({'result': {'n': 1.5}} if verdict == 'landed' else {}))
            is_(answer.get('result'), {'state': then}, f'{verdict} on {state}')
            is_(resolve(run, state, verdict, evidence='re_1', **({'result': {'n': 1.5}} if verdict == 'landed' else {})).get('result'), {'state': then},
                f'{verdict} on {state}, sent again')
            row = conn.call('get', effect=run['effect'])
            event = [event for event in row['events'] if event['kind'] == 'resolved'][-1]
            is_((event['by'], 'seen' in event['reason']), ('uid:0', True), 'the event says who and why')
            begin = conn.call('begin', tool=run['tool'], key=run['key'], args=ARGS)
            if verdict == 'absent':
                is_((begin['decision'], begin['attempt']), ('run', 2), 'and it may run again')
            else:
                is_((begin['decision'], begin['outcome'], begin['by'], begin.get('result')),
                    ('replay', 'succeeded' if verdict == 'landed' else 'failed', 'operator', {'n': 1.5} if verdict == 'landed' else None), 'and is replayed')
            if verdict == 'landed':
                late = conn.call('complete', **own_ids(run), result={'other': 1})
                is_(late, {'state': 'done', 'outcome': 'succeeded', 'already': True}, 'the holder who agrees later is already right')
    run = make(conn, 'hand-released', 'released')
    is_(error_name(resolve(run, 'released', 'absent')), 'conflict', 'absent on released, with attempts left')
    is_(error_name(resolve(run, 'released', 'failed')), 'conflict', 'failed on released')
    is_(error_name(resolve(run, 'released', 'landed')), 'done', 'landed on released: it was not so')
    run = make(conn, 'hand-done', 'done')
    for verdict in ('landed', 'failed', 'absent'):
        is_(error_name(resolve(run, 'done', verdict)), 'conflict', f'{verdict} on a success')
    run = make(conn, 'hand-failed', 'failed')
    for verdict in ('failed', 'absent'):
        is_(error_name(resolve(run, 'done', verdict)), 'conflict', f'{verdict} on a failure')
    is_(error_name(resolve(run, 'done', 'landed')), 'done', 'landed over a failure')
    row = conn.call('get', effect=run['effect'])
    is_((row['outcome'], row['by']), ('succeeded', 'operator'), 'by an operator')
    # evidence: what has landed once is never absent
    old = claim(conn, 'hand-evidence', 'asks')
    conn.call('release', **own_ids(old))
    new = make(conn, 'hand-evidence', 'unknown', 'asks', args={})
    conn.error('complete', **own_ids(old), result='late')
    is_(error_name(resolve(new, 'escalated', 'absent')), 'conflict', 'absent against evidence')
    is_(error_name(resolve(new, 'escalated', 'landed')), 'done', 'landed agrees with it')


with Cluster() as cluster, Daemon(cluster, config='sweep_interval = "50ms"\n', tools=TOOLS) as daemon, daemon.ready().connect() as conn:
    mismatches(conn)
    alone_and_in_a_burst(conn, daemon)
    not_the_owner(conn)
    words_of_holders(conn)
    earlier_tokens(conn)
    budgets(conn, daemon)
    by_hand(conn)
    is_(cluster.invariants(), [], 'no invariant is broken')
done()
