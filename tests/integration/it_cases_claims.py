#!/usr/bin/python3
"""Named cases of claims and leases, and their kinds: who races, who was refused, who is late, and what a slow or failing ledger
makes of it. Sections K1 and K2, and 100, 107 and 110 of K12."""
import os
import time

from harness import *
from talk import *
from world import Session, begin_all, count, name_of, tell

PROBE = Script()
TOOLS = [
    {'name': 't', 'escalate_after': '1h', 'lease': '5m', 'max_attempts': 1000}, {'name': 'hand', 'escalate_after': '0s'},
    {'name': 'one', 'max_attempts': 1, 'escalate_after': '1h'}, {'name': 'derived', 'key': 'order:{/id}', 'escalate_after': '1h'},
    PROBE.policy('asks', escalate_after='1h'),
]
CONFIG = {'log_calls': False, 'request_timeout': '10s', 'sweep_interval': '50ms'}
# An application's own transaction goes through the function, which takes the key's lock.
RIVAL = """select answer from effect.begin(array['{effect}'::uuid], array[(select policy from effect.ledger where key = 'template')],
  array['{key}'], array[(select fingerprint from effect.ledger where key = 'template')], array['{token}'::uuid], array[null::uuid],
  array[null::int], array['rival'], array[null::text], array[null::text], array[null::text], array[null::text], array[false],
  array[60000], array[false], clock_timestamp(), gen_random_uuid(), gen_random_uuid())"""
DONE = """select answer from effect.complete(array['{effect}'::uuid], array['{token}'::uuid], array[null::text], array[null::bigint],
  array['succeeded'], array['"by the rival"'], array[null::bigint], array[null::bytea], array[false])"""
INJECT = """create function public.inject() returns trigger language plpgsql as $$
begin
  if random() < {chance} then
    raise exception 'injected' using errcode = '{code}';
  end if;
  return new;
end
$$"""
TRIGGER = 'create trigger inject before insert or update on effect.ledger for each row execute function public.inject()'


def inject(cluster, code, chance):
    cluster.psql(INJECT.format(code=code, chance=chance), TRIGGER)


def heal(cluster):
    cluster.psql('drop trigger inject on effect.ledger', 'drop function public.inject()')


# ---- K1: one begins, however they come ------------------------------------------------------------------------------

def together(daemon, other):
    conns = [daemon.connect() for _ in range(25)] + [other.connect() for _ in range(25)]
    # case 1, two of them
    told = [count(begin_all(conns[:2], tool='t', key=f'two{at}', args={'n': 1})) for at in range(50)]
    is_([t for t in told if t != {'busy': 1, 'run': 1}], [], 'case 1: of two that begin at once one runs, 50 times')
    told = [count(begin_all([conns[0], conns[-1]], tool='t', key=f'both{at}')) for at in range(50)]
    is_([t for t in told if t != {'busy': 1, 'run': 1}], [], 'case 1: so it is where each asks a daemon of its own')
    told = [count(begin_all(conns, tool='t', key=f'fifty{at}', args={'n': 1})) for at in range(5)]
    is_([t for t in told if t != {'busy': 49, 'run': 1}], [], 'case 1: of fifty at two daemons one runs')
    told = [count(begin_all(conns, tool='derived', args={'id': at, 'x': [1, {'y': None}]}, owner=f'o{at}')) for at in range(5)]
    is_([t for t in told if t != {'busy': 49, 'run': 1}], [], 'case 1: and of fifty whose key is derived')
    # each with a payload of its own: whoever came first has the key
    for at in range(5):
        ids = [conn.send('begin', tool='t', key=f'other{at}', args={'n': n}) for n, conn in enumerate(conns)]
        told = count([conn.recv(id_) for conn, id_ in zip(conns, ids)])
        ok(told.get('run') == 1 and told['run'] + told.get('mismatch', 0) + told.get('busy', 0) == 50, 'case 1: fifty payloads, one runs', told)
    answers = begin_all(conns, tool='t', key='leases')
    run = next(a['result'] for a in answers if tell(a) == 'run')
    seen = {conns[0].call('begin', tool='t', key='leases')['lease_until'], conns[-1].call('begin', tool='t', key='leases')['lease_until']}
    is_(seen, {run['lease_until']}, 'case 1: the busy are told the end of the lease')
    return conns


def waiting_together(conns):
    """All of them wait: one runs, the others are told its outcome, and nobody runs beside it."""
    ids = [conn.send('begin', tool='t', key='waited', args={'n': 1}, wait_ms=30000) for conn in conns]
    runner, run = None, None
    while run is None:
        for conn, id_ in zip(conns, ids):
            try:
                conn.answers[id_] = conn.recv(id_, timeout_s=0.01)
            except TimeoutError:
                continue
            if tell(conn.answers[id_]) == 'run':
                runner, run = conn, conn.answers[id_]['result']
    runner.call('complete', **own_ids(run), result='of one')
    answers = [conn.recv(id_) for conn, id_ in zip(conns, ids)]
    is_(count(answers), {'replay': 49, 'run': 1}, 'case 1: fifty that wait at two daemons: one runs, the others are replayed')
    is_({a['result'].get('result') for a in answers if tell(a) == 'replay'}, {'of one'}, 'its very result')


def rivals(daemon, cluster):
    """case 3: how an uncommitted rival may end, and who asks meanwhile."""
    a, b = daemon.connect(), daemon.connect()
    a.call('begin', tool='t', key='template')

    def rival(key, *more):
        ids = {'effect': a.call('key', tool='t', key=key)['effect'], 'token': request_id(), 'key': key}
        session = Session(cluster)
        told = session.do('begin', RIVAL.format(**ids), *[text.format(**ids) for text in more])
        return session, told.split()

    session, told = rival('rolled back')
    is_(told, ['run'], 'case 3: a rival claims in a transaction of its own')
    is_({name_of(conn, 'begin', tool='t', key='rolled back') for conn in (a, b)}, {'busy'}, 'case 3: busy while it is open')
    session.do('rollback')
    session.close()
    is_(name_of(b, 'begin', tool='t', key='rolled back'), 'run', 'case 3: rolled back, it has never been: run')

    session, told = rival('done', DONE)
    is_(told, ['run', 'ok'], 'case 3: a rival claims and completes in one transaction')
    is_(name_of(b, 'begin', tool='t', key='done'), 'busy', 'case 3: busy while it is open, though it is done there')
    id_ = b.send('begin', tool='t', key='done', wait_ms=20000)
    a.call('info')
    session.do('commit')
    session.close()
    answer = b.recv(id_)['result']
    is_((answer['decision'], answer.get('result')), ('replay', 'by the rival'), 'case 3: who waits for it is replayed what it committed')
    is_(name_of(a, 'begin', tool='t', key='done'), 'replay', 'case 3: replay from then on')
    is_(name_of(a, 'begin', tool='t', key='done', args={'x': 1}), 'mismatch', 'case 3: and a mismatch is one')

    # a row that somebody writes by hand, without the function and so without the key's lock
    columns = cluster.psql("select string_agg(attname, ', ' order by attnum) from pg_attribute where attrelid = 'effect.ledger'::regclass "
                           "and attnum > 0 and not attisdropped and attname not in ('id', 'key', 'token')")
    effect = a.call('key', tool='t', key='by hand')['effect']
    session = Session(cluster)
    session.do('begin', f"insert into effect.ledger (id, key, token, {columns}) select '{effect}', 'by hand', gen_random_uuid(), {columns} "
               "from effect.ledger where key = 'template'")
    id_ = b.send('begin', tool='t', key='by hand')
    wait_until(lambda: cluster.psql("select count(*) from pg_stat_activity where wait_event_type = 'Lock'") != '0', 10, 'it waits')
    session.do('commit')
    session.close()
    is_(tell(b.recv(id_)), 'busy', 'case 3: a row written by hand, committed while begin met it: busy')


def losing_is_no_fault(daemon, other, cluster):
    """case 5: the losing path is no error of the database, on fresh keys and on hot ones."""
    conns = [d.connect() for d in (daemon, other) for _ in range(10)]
    lines = len(daemon.log()), len(other.log())
    # what stands between may take one connection more
    backends = "select 'any'" if POOLER else "select string_agg(pid::text, ',' order by pid) from pg_stat_activity where application_name like 'effectd%'"
    rollbacks = "select pg_stat_get_db_xact_rollback(oid) from pg_database where datname = 'effectd'"
    before = cluster.psql(backends), cluster.psql(rollbacks)
    told = {}
    for at in range(100):
        for word, n in count(begin_all(conns, tool='t', key=f'lose{at // 2}')).items():
            told[word] = told.get(word, 0) + n
    is_(told, {'busy': 1950, 'run': 50}, 'case 5: 2,000 begins of 50 keys at two daemons: run and busy')
    is_((cluster.psql(backends), cluster.psql(rollbacks)), before, 'case 5: on the same connections, and nothing was rolled back')
    with open(cluster.log_path, encoding='utf-8', errors='replace') as log:
        is_([line for line in log if 'duplicate key' in line or 'deadlock' in line], [], 'case 5: the server logs neither duplicate nor deadlock')
    is_(daemon.grep(' (warning|error) ', lines[0]) + other.grep(' (warning|error) ', lines[1]), [], 'case 5: nor do the daemons a word')


def failing_for_ever(daemon, cluster):
    """case 7: what never ends well is told as what it is, in time, and claims nothing that nobody knows of."""
    conns = [daemon.connect() for _ in range(32)]
    for code in ('40001', '40P01', '55P03'):
        inject(cluster, code, 2)
        at = time.monotonic()
        asks = [{'tool': 't', 'key': f'never {code}', 'request': request_id()} for _ in conns]
        ids = [conn.send('begin', ask, deadline_ms=1000) for conn, ask in zip(conns, asks)]
        answers = [conn.recv(id_) for conn, id_ in zip(conns, ids)]
        ok({tell(a) for a in answers} <= {'busy', 'unavailable'}, f'case 7: {code} without end: nobody is told more than there is', count(answers))
        errors = [a.get('error') for a in answers]
        took = time.monotonic() - at
        heal(cluster)
        errors = [e for e in errors if e]  # who met a rival's open try was told busy
        faults = [e for e in errors if e['code'] != -32001 or e['data']['name'] != 'unavailable' or not e['data']['retry_after_ms'] > 0
                  or not e['message']]
        ok(errors and not faults, f'case 7: {code} without end: unavailable, and when to ask again', faults)
        ok(took < 2 * SLOW, f'case 7: {code}: by its deadline', took)
        told = [count([{'result': conn.call('begin', ask)}]) for conn, ask in zip(conns, asks)]
        is_((told.count({'run': 1}), told.count({'busy': 1})), (1, 31), f'case 7: {code} is over: asked again, one runs')


# ---- K2: whose claim it is ------------------------------------------------------------------------------------------

def who_was_refused(conn, daemon):
    """case 10: nothing that a refused caller can have seen moves the row, whatever refused it."""
    conn.call('complete', **own_ids(claim(conn, 'elsewhere')))
    stranger = claim(conn, 'another')
    PROBE.says('inconclusive')
    states = {'pending': 't', 'unknown': 'asks', 'escalated': 'hand', 'released': 't', 'exhausted': 'one', 'done': 't', 'failed': 't'}
    for state, tool in states.items():
        request = request_id()
        run = claim(conn, f'ten {state}', tool, args={'f': 1}, request=request)
        bring(conn, run, state, result=1)
        refusals = {name_of(conn, 'begin', tool=tool, key=f'ten {state}', args={'f': 2})}
        if state != 'released':
            refusals.add(name_of(conn, 'begin', tool=tool, key=f'ten {state}', args={'f': 1}))
        before = conn.call('get', effect=run['effect'], events=0)
        moving = ('due_at',) if state in ('unknown', 'escalated') else ()
        # what a refused caller may hold: the effect's id, its own request, a token of another effect, the row's request
        for token in (run['effect'], request_id(), request, stranger['token']):
            for method in ('release', 'unknown', 'extend', 'complete'):
                error = conn.error(method, effect=run['effect'], token=token)
                if error['data'] != {'name': 'not_owner', 'state': before['state'], 'attempt': 1}:
                    ok(False, f'case 10: {method} of {state}', error)
        after = conn.call('get', effect=run['effect'], events=0)
        is_({k: v for k, v in after.items() if k not in moving}, {k: v for k, v in before.items() if k not in moving},
            f'case 10: {state}: who was told {", ".join(sorted(refusals))} moves nothing')
    is_(conn.error('release', tool='t', key='ten pending')['code'], -32602, 'case 10: a release by key is none at all')
    # in one burst with the begin that is refused, on its own connection
    run = claim(conn, 'burst')
    with daemon.connect() as other:
        other.send_raw(b''.join(Conn.line(method, params, at) for at, (method, params) in enumerate(
            (('begin', {'tool': 't', 'key': 'burst'}), ('release', {'effect': run['effect'], 'token': request_id()}),
             ('begin', {'tool': 't', 'key': 'burst'})))))
        is_([tell(other.recv(at)) for at in range(3)], ['busy', 'not_owner', 'busy'], 'case 10: in one burst, too')
    is_(name_of(conn, 'complete', **own_ids(run)), 'done', 'case 10: and the owner is still the owner')


def owner_ends_before_the_verdict(conn):
    """case 11: the owner's word stands, whatever the sweeper's probe says after it."""
    PROBE.play('while [ ! -e {dir}/go ]; do /bin/sleep 0.02; done\n'
               'for word in absent landed failed; do case "$line" in *"$word"*) echo "{\\"verdict\\":\\"$word\\",\\"result\\":0}";; esac; done')
    runs = {(word, verdict): claim(conn, f'{word} {verdict}', 'asks', lease_ms=1000)
            for word in ('complete', 'refused', 'release') for verdict in ('absent', 'landed', 'failed')}
    for run in runs.values():
        PROBE.wait_asked(1, run['effect'])
    for (word, verdict), run in runs.items():
        if word == 'release':
            conn.call('release', **own_ids(run))
            runs[word, verdict] = claim(conn, f'{word} {verdict}', 'asks', lease_ms=600000)
        else:
            conn.call('complete', **own_ids(run), outcome='failed' if word == 'refused' else 'succeeded', result='of the owner')
    before = {case: conn.call('get', effect=run['effect'], events=0) for case, run in runs.items()}
    with open(os.path.join(PROBE.dir, 'go'), 'wb'):
        pass
    for case, run in runs.items():
        wait_until(lambda: 'verdict' in event_kinds(conn.call('get', effect=run['effect'])), 20, 'its verdict')  # pylint: disable=cell-var-from-loop
        row = conn.call('get', effect=run['effect'], events=0)
        if case == ('release', 'landed'):
            is_((row['state'], row['attempt']), ('escalated', 2), 'case 11: released, run again, and landed after all: a person is asked')
            is_(conn.call('complete', **own_ids(run), result='second')['state'], 'done', 'case 11: the running holder completes')
        else:
            is_(row, before[case], f'case 11: {case[0]}, then a verdict of {case[1]}: the row is as it was')
    PROBE.says('inconclusive')


def slow_ledger(daemon, cluster):
    """case 19: an extend that was sent in time and lands too late is told so, and so is everybody."""
    with daemon.connect() as a, daemon.connect() as b:
        quick = claim(a, 'quick', lease_ms=60000)
        first = a.call('extend', **own_ids(quick), lease_ms=600000)
        late = claim(a, 'late', lease_ms=int(1000 * SLOW))
        cluster.freeze()
        ids = [a.send('extend', **own_ids(run), lease_ms=60000) for run in (late, quick)]
        ids.append(b.send('begin', tool='t', key='late', deadline_ms=int(20000 * SLOW)))
        until = time.monotonic() + 1.2 * SLOW
        wait_until(lambda: time.monotonic() > until, 10, 'the lease is over')
        cluster.thaw()
        told = [tell(a.recv(id_)) for id_ in ids[:2]] + [tell(b.recv(ids[2]))]
        ok(told[0] in ('not_owner', 'unavailable') and told[2] in ('unknown', 'unavailable'),
           'case 19: an extend that lands after its lease is refused, and its claim is unknown', told)
        ok(told[1] in ('pending', 'unavailable'), 'case 19: one whose lease was long enough is not', told)
        wait_until(lambda: name_of(b, 'begin', tool='t', key='late') == 'unknown', 20, 'unknown')
        error = a.error('extend', **own_ids(late))
        is_((error['code'], error['data']['name'], error['data']['state']), (-32005, 'not_owner', 'unknown'), 'case 19: the next extend says the same')
        is_(a.call('complete', **own_ids(late), result='true')['state'], 'done', 'case 19: its result is the truth all the same')
        is_(b.call('begin', tool='t', key='late')['result'], 'true', 'case 19: and replayed')
        ok(a.call('extend', **own_ids(quick))['lease_until'] >= first['lease_until'], 'case 19: the other one holds on')
        # lost for good: another attempt ran meanwhile
        old = claim(a, 'taken', lease_ms=1000)
        wait_state(a, old['effect'], 'unknown')
        a.call('resolve', effect=old['effect'], verdict='absent', reason='looked', attempt=1, state='unknown')
        claim(b, 'taken')
        is_([name_of(a, 'extend', **own_ids(old)), name_of(a, 'complete', **own_ids(old), result=1)], ['not_owner', 'conflict'],
            'case 19: where another attempt runs neither extend nor complete is a plain success')


def worn_out_connections(daemon, cluster):
    """case 107: claims are rows: what happens to connections does not touch them, bound and waited for ones neither."""
    holder, waiter = daemon.connect(), daemon.connect()
    runs = [claim(holder, f'job {at}', bind=at % 2 == 0) for at in range(10)]
    ids = [waiter.send('begin', tool='t', key=f'job {at}', wait_ms=60000) for at in range(10)]
    waiter.call('info')
    for _ in range(5):
        cluster.psql("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'effectd%' and pid <> pg_backend_pid()")
        told = {name_of(holder, 'begin', tool='t', key=f'job {at}') for at in range(10)}
        ok(told <= {'busy', 'unavailable'}, 'case 107: busy while connections are cut', told)
    wait_until(lambda: name_of(holder, 'begin', tool='t', key='job 0') == 'busy', 20, 'the ledger is back')
    is_([state_of(holder, run['effect']) for run in runs], ['pending'] * 10, 'case 107: every claim stands, bound ones too')
    is_([name_of(holder, 'complete', **own_ids(run), result=at) for at, run in enumerate(runs)], ['done'] * 10, 'case 107: each complete is accepted')
    is_([waiter.recv(id_)['result'].get('result') for id_ in ids], list(range(10)), 'case 107: those who waited are replayed it')


def opposite_orders(daemon, other, cluster):
    """case 100: every message in opposite orders at two daemons, deadlocks injected."""
    conns = [daemon.connect(), other.connect()]
    told = []

    def both(method, runs, **more):
        """Half of the runs at each, in opposite orders, each of them sent twice."""
        sent = []
        for at, conn in enumerate(conns):
            mine = runs if at else runs[::-1]
            ids = list(range(conn.next_id, conn.next_id + len(mine)))
            conn.next_id += len(mine)
            conn.send_raw(b''.join(conn.line(method, {**own_ids(run), **more}, id_) for run, id_ in zip(mine, ids)))
            sent.append((conn, ids))
        return [tell(conn.recv(id_)) for conn, ids in sent for id_ in ids]

    for word, chance in (('40P01', 0.1), ('40001', 0.1)):
        runs = [claim(conns[0], f'order {word} {at}') for at in range(40)]
        inject(cluster, word, chance)
        for _ in range(5):
            told += both('extend', runs, lease_ms=600000)
        told += both('unknown', runs[:20], reason='x') + both('complete', runs, result=1)
        heal(cluster)
    is_(sorted(set(told)), ['done', 'pending', 'unknown'], 'case 100: extend, unknown and complete in opposite orders: no deadlock reaches a caller')


def bodies(daemon, cluster):
    """case 110: large bodies, alone and many at once; who listens is told an id, whatever the size of the row."""
    session = Session(cluster)
    session.do('listen effect_escalated')
    with daemon.connect() as conn:
        for size in (10000, 900000):
            run = claim(conn, f'body {size}', args={'a': 'z' * size}, owner='o' * 255, run='r' * 255)
            is_(conn.call('complete', **own_ids(run), result='y' * size)['state'], 'done', f'case 110: {size} bytes in and out')
        runs = [claim(conn, f'bodies {at}', args={'a': 'z' * 10000}) for at in range(100)]
        conn.send_raw(b''.join(Conn.line('complete', {**own_ids(run), 'result': 'y' * 10000}, at) for at, run in enumerate(runs)))
        is_({tell(conn.recv(at)) for at in range(100)}, {'done'}, 'case 110: a hundred of 10 KB in one burst')
        run = claim(conn, 'k' * 255, 'hand', args={'a': 'z' * 900000}, owner='o' * 255)
        conn.call('unknown', **own_ids(run), reason='r' * 1000)
        wait_state(conn, run['effect'], 'escalated')
    like(session.do('select 1'), f'^1\nAsynchronous notification "effect_escalated" with payload "{run["effect"]}" received', 'case 110: a listener is told its id')
    session.close()


with Cluster() as cluster, Daemon(cluster, config=CONFIG, tools=TOOLS) as daemon:
    daemon.ready()
    with Daemon(cluster, config=CONFIG, tools=TOOLS) as other:
        other.ready()
        started = time.monotonic()
        waiting_together(together(daemon, other))
        losing_is_no_fault(daemon, other, cluster)
        opposite_orders(daemon, other, cluster)
    rivals(daemon, cluster)
    failing_for_ever(daemon, cluster)
    with daemon.connect() as conn:
        who_was_refused(conn, daemon)
        owner_ends_before_the_verdict(conn)
    slow_ledger(daemon, cluster)
    worn_out_connections(daemon, cluster)
    bodies(daemon, cluster)
    is_(cluster.invariants(), [], 'no invariant is broken')
    note(f'{time.monotonic() - started:.1f} s')
done()
