#!/usr/bin/python3
"""Many callers, one key: one runs. Rivals that have not committed, injected serialization failures, callers that vanish,
and frameworks that repeat what has already happened."""
import time

from harness import *
from world import Provider, Session, begin_all, count, kinds, name_of, state_of, tell

N_ROUNDS = 50
N_CONNS = 50
INJECT = '''
create function public.inject() returns trigger language plpgsql as $$
begin
  if random() < 0.3 then
    raise exception 'injected' using errcode = (array['40001', '40P01'])[1 + (random() * 1.98)::int / 2];
  end if;
  return new;
end
$$'''
TRIGGER = 'create trigger inject before insert or update on effect.ledger for each row execute function public.inject()'


def one_runs(daemon, cluster):
    """case 1"""
    conns = [daemon.connect() for _ in range(N_CONNS)]
    tallies = [count(begin_all(conns, tool='pay', key=f'one{i}', args={'n': 1})) for i in range(N_ROUNDS)]
    is_([t for t in tallies if t != {'busy': N_CONNS - 1, 'run': 1}], [],
        f'of {N_CONNS} that begin at once one runs, the others are busy, {N_ROUNDS} times')
    is_(cluster.psql("select count(*), sum(attempt) from effect.ledger where key like 'one%'"), f'{N_ROUNDS}|{N_ROUNDS}',
        'each of it is one row and one attempt')
    answer = conns[1].call('begin', tool='pay', key='one0', args={'n': 1})
    ok(answer['lease_until'], 'busy says when the lease ends')
    return conns


def hot_key(daemon, cluster, conns):
    """case 5"""
    before = len(daemon.log())
    backends = "select string_agg(pid::text, ',' order by pid) from pg_stat_activity where application_name like 'effectd%'"
    pids = cluster.psql(backends)
    told = {}
    for _ in range(1000 // N_CONNS):
        for word, n in count(begin_all(conns, tool='pay', key='hot')).items():
            told[word] = told.get(word, 0) + n
    is_(told, {'busy': 999, 'run': 1}, 'a thousand begins of a hot key: one run, else busy')
    is_(daemon.grep(' (warn|warning|err|error) ', before), [], 'and not a word of it in the log')
    is_(cluster.psql(backends), pids, 'on the same connections to the ledger')
    ok(pids, 'which are known by their name', pids)


def rival(daemon, cluster):
    """case 3"""
    a, b = daemon.connect(), daemon.connect()
    effect = a.call('key', tool='pay', key='rival')['effect']
    a.call('begin', tool='pay', key='template')
    session = Session(cluster)
    # as an application's own transaction would: by the function, which takes the key's lock
    said = session.do('begin', f"select answer from effect.begin(array['{effect}'::uuid], array[(select policy from effect.ledger where "
                      "key = 'template')], array['rival'], array[(select fingerprint from effect.ledger where key = 'template')], "
                      "array[gen_random_uuid()], array[null::uuid], array[null::int], array['rival'], array[null::text], array[null::text], "
                      "array[null::text], array[null::text], array[false], array[60000], array[false], clock_timestamp(), "
                      "gen_random_uuid(), gen_random_uuid())")
    is_(said, 'run', 'a rival claims the key, and has not committed')
    id_ = b.send('begin', tool='pay', key='rival', deadline_ms=2000)
    is_(name_of(a, 'begin', tool='pay', key='neighbour'), 'run', 'a rival that has not committed does not hold up another key')
    is_(tell(b.recv(id_)), 'busy', 'who meets a rival that has not committed is busy')
    session.do('commit')
    session.close()
    is_(name_of(b, 'begin', tool='pay', key='rival'), 'busy', 'and busy once it has')


def injected(daemon, cluster):
    """case 7"""
    cluster.psql(INJECT, TRIGGER)
    conns = [daemon.connect() for _ in range(32)]
    tallies, ends = [], []
    for i in range(15):
        answers = begin_all(conns, tool='pay', key=f'injected{i}')
        tallies.append(count(answers))
        run = [a['result'] for a in answers if tell(a) == 'run'][0]
        ends.append(conns[0].call('complete', effect=run['effect'], token=run['token'], result=i)['state'])
    cluster.psql('drop trigger inject on effect.ledger')
    is_([t for t in tallies if t != {'busy': 31, 'run': 1}], [], 'injected 40001 and 40P01 reach no caller of begin')
    is_(ends, ['done'] * 15, 'nor of complete')


def vanish(daemon, cluster):
    """case 121"""
    for i in range(1000):
        conn = daemon.connect()
        conn.send('begin', tool='pay', key=f'vanish{i % 500}', lease_ms=1000)
        conn.close()
    with daemon.connect() as conn:
        is_(name_of(conn, 'begin', tool='pay', key='after'), 'run', 'a thousand who begin and close at once: the daemon lives')
        open_ = "select count(*) from effect.ledger where key like 'vanish%' and state = 'pending'"
        wait_until(lambda: cluster.psql(open_) == '0', 20, 'their claims ended')
        rows = cluster.psql("select distinct state from effect.ledger where key like 'vanish%' order by 1").split()
        ok(set(rows) <= {'unknown', 'released', 'escalated'}, 'and their claims end: unknown by their lease, or given back', rows)


def leases(daemon):
    a, b = daemon.connect(), daemon.connect()
    # case 8
    run = a.call('begin', tool='pay', key='no lease', lease_ms=None)
    is_((run['decision'], run['lease_ms'] > 1000), ('run', True), 'a lease that is null is the default lease')
    is_(name_of(b, 'begin', tool='pay', key='no lease'), 'busy', 'and lives')
    # case 13: time alone is no proof
    run = a.call('begin', tool='slow', key='nightly', lease_ms=1000)
    words = set()

    def lapsed():
        words.add(name_of(b, 'begin', tool='slow', key='nightly'))
        return 'unknown' in words
    wait_until(lapsed, 20, 'the lease ran out')
    is_(words, {'busy', 'unknown'}, 'who begins while the lease runs out is busy, then told unknown')
    is_(name_of(a, 'complete', effect=run['effect'], token=run['token'], result='late'), 'done', 'the owner records its result late')
    is_(b.call('begin', tool='slow', key='nightly')['result'], 'late', 'and that is replayed')


def late_owner(daemon):
    """case 16"""
    a, b = daemon.connect(), daemon.connect()
    old = a.call('begin', tool='pay', key='lapsed', lease_ms=1000)
    claim = {'effect': old['effect'], 'token': old['token']}
    wait_until(lambda: state_of(b, old['effect']) == 'released', 30, 'the probe found nothing')
    new = b.call('begin', tool='pay', key='lapsed')
    is_((new['decision'], new['attempt'], new['token'] != old['token']), ('run', 2, True), 'after a probe that found nothing a second attempt runs')
    is_(name_of(a, 'extend', **claim), 'not_owner', 'the first owner does not revive its lease')
    error = a.error('complete', **claim, result='old')
    is_((error['data']['name'], state_of(b, old['effect'])), ('conflict', 'escalated'), 'its success is evidence, and a human is asked')
    is_(name_of(b, 'complete', effect=new['effect'], token=new['token'], result='new'), 'done', 'the second owner\'s record is accepted')
    ok('late' in kinds(b, old['effect']), 'and both are in the history', kinds(b, old['effect']))


def frameworks(daemon):
    """What agent frameworks repeat."""
    conn = daemon.connect()

    def step(key, **more):
        return conn.call('begin', tool='slow', key=key, run='R', **more)

    # cases 53 and 57
    first = [step(key) for key in ('mail', 'db', 'notify')]
    for run in first[:2]:
        conn.call('complete', effect=run['effect'], token=run['token'], result=run['key'])
    again = [step(key) for key in ('mail', 'db', 'notify')]
    is_([r['decision'] for r in again], ['replay', 'replay', 'busy'], 'a step that is repeated replays what was done, and the rest is busy')
    is_([r.get('result') for r in again], ['mail', 'db', None], 'to each its own result')
    # case 54
    run = step('fallback')
    conn.call('unknown', effect=run['effect'], token=run['token'], reason='raised after its effect')
    is_(step('fallback')['decision'], 'unknown', 'a fallback inside the attempt is told unknown')
    is_(kinds(conn, run['effect']), ['unknown', 'refused'], 'and the history shows both')
    # case 10
    run = step('owner')
    is_(name_of(conn, 'release', effect=run['effect'], token=request_id()), 'not_owner', 'who was told busy cannot release')
    is_(step('owner')['decision'], 'busy', 'the owner\'s claim stands')


seed()
provider = Provider()
TOOLS = [provider.policy(settle='100ms', lease='30s'), {'name': 'slow', 'class': 'irreversible', 'escalate_after': '1h'}]
with Cluster() as the_cluster, Daemon(the_cluster, config={'log_calls': False}, tools=TOOLS) as the_daemon:
    the_daemon.ready()
    started = time.monotonic()
    the_conns = one_runs(the_daemon, the_cluster)
    note(f'{N_ROUNDS} rounds took {time.monotonic() - started:.1f} s')
    hot_key(the_daemon, the_cluster, the_conns)
    rival(the_daemon, the_cluster)
    injected(the_daemon, the_cluster)
    leases(the_daemon)
    late_owner(the_daemon)
    frameworks(the_daemon)
    vanish(the_daemon, the_cluster)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
