#!/usr/bin/python3
"""Two daemons on one ledger: batches in opposite orders, a request that the other one granted, waiters for the other one's
outcomes, a clock that runs ahead, and one of them dying."""
import glob
import os

from harness import *
from world import Provider, count, name_of, state_of, tell

N_ROUNDS = 60
N_KEYS = 20
INJECT = '''
create function public.inject() returns trigger language plpgsql as $$
begin
  if random() < 0.05 then
    raise exception 'injected' using errcode = '40P01';
  end if;
  return new;
end
$$'''
TRIGGER = 'create trigger inject before insert or update on effect.ledger for each row execute function public.inject()'
FAKETIME = glob.glob('/usr/lib/*/faketime/libfaketime.so.1')


def opposite(a, b, cluster):
    """case 100"""
    conns = [a.connect(), b.connect()]
    cluster.psql(INJECT, TRIGGER)
    wrong = []
    for i in range(N_ROUNDS):
        order = list(range(N_KEYS))
        ids = []
        for conn in conns:
            base = conn.next_id
            conn.next_id += N_KEYS
            ids.append([base + n for n in order])
            conn.send_raw(b''.join(conn.line('begin', {'tool': 'pay', 'key': f'order {i % 20} {n}'}, base + n) for n in order))
            order.reverse()
        told = [conn.recv(id_) for conn, mine in zip(conns, ids) for id_ in mine]
        runs = [t['result'] for t in told if tell(t) == 'run']
        if set(count(told)) - {'run', 'busy'} or len({(r['effect'], r['attempt']) for r in runs}) != len(runs):
            wrong.append(count(told))
        # given back in opposite orders, too
        for conn, half in ((conns[0], runs), (conns[1], runs[::-1])):
            ends = [conn.send('release', effect=r['effect'], token=r['token'], reason='nothing was sent') for r in half]
            answers = [conn.recv(id_) for id_ in ends]
            if set(count(answers)) - {'released'}:
                wrong.append(count(answers))
    cluster.psql('drop trigger inject on effect.ledger')
    is_(wrong, [], f'{N_ROUNDS} rounds of opposite orders, deadlocks injected: nobody is told but run, busy, released')
    is_(cluster.invariants(), [], 'no invariant is hurt')


def requests(a, b):
    with a.connect() as one, b.connect() as other:
        ask = {'tool': 'pay', 'key': 'asked', 'request': request_id()}
        run = one.call('begin', ask)
        is_(name_of(other, 'begin', ask), 'busy', 'a request is not granted by a daemon that did not grant it')
    a.kill()
    with b.connect() as other:
        is_(name_of(other, 'begin', ask), 'busy', 'nor when the other one is dead')
        is_(name_of(other, 'complete', effect=run['effect'], token=run['token'], result=1), 'done', 'its owner completes at the survivor')
    a.start().ready()
    with a.connect() as one:
        is_(name_of(one, 'begin', ask), 'replay', 'and is replayed by the restarted one')


def outcomes(a, b):
    with a.connect() as one, b.connect() as other:
        run = one.call('begin', tool='pay', key='waited')
        id_ = other.send('begin', tool='pay', key='waited', wait_ms=20000)
        one.call('complete', effect=run['effect'], token=run['token'], result=1)
        is_(tell(other.recv(id_)), 'replay', 'a waiter at one daemon learns of a record at the other')
        run = one.call('begin', tool='pay', key='given back')
        ids = [(c, c.send('begin', tool='pay', key='given back', wait_ms=2000)) for c in (one, other) for _ in range(5)]
        other.call('info')
        other.call('release', effect=run['effect'], token=run['token'], reason='nothing was sent')
        is_(count([c.recv(i) for c, i in ids]), {'busy': 9, 'run': 1}, 'of waiters at two daemons one runs after a release')


def ahead(cluster, a, provider):
    """case 129"""
    env = {'LD_PRELOAD': FAKETIME[0], 'FAKETIME': '+30s', 'DONT_FAKE_MONOTONIC': '1',
           # the sanitizer would rather be loaded first
           'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'}
    with Daemon(cluster, config={'log_calls': False}, tools=provider.policy(), env=env) as fast, a.connect() as one:
        fast.ready()
        fast.wait_log('event=ledger')
        run = one.call('begin', tool='pay', key='clock', lease_ms=20000)
        with fast.connect() as other:
            is_(name_of(other, 'begin', tool='pay', key='clock'), 'busy', 'a daemon whose clock is 30 s ahead takes no lease of 20 s')
            seen = other.call('begin', tool='pay', key='clock')
            is_(seen['lease_until'], run['lease_until'], 'and tells its end by the ledger\'s clock')
            mine = other.call('begin', tool='pay', key='mine', lease_ms=20000)
            ok(abs(lease_end(cluster, mine) - 20) < 10, 'its own leases are as long as they should be', lease_end(cluster, mine))
        # its sweeper has had its turn: an unknown row of another key was probed by somebody
        lost = one.call('begin', tool='pay', key='lost')
        one.call('unknown', effect=lost['effect'], token=lost['token'], reason='x')
        wait_until(lambda: state_of(one, lost['effect']) == 'released', 30, 'a sweep passed')
        is_(state_of(one, run['effect']), 'pending', 'its sweeper leaves the lease alone')


def lease_end(cluster, run):
    return float(cluster.psql(f"select extract(epoch from lease_until - clock_timestamp()) from effect.ledger where id = '{run['effect']}'"))


seed()
the_provider = Provider()
TOOL = the_provider.policy(lease='5m', settle='100ms', max_attempts=100000)
with Cluster() as the_cluster, Daemon(the_cluster, config={'log_calls': False}, tools=TOOL) as the_first:
    the_first.ready()
    with Daemon(the_cluster, config={'log_calls': False}, tools=TOOL) as the_second:
        the_second.ready()
        opposite(the_first, the_second, the_cluster)
        requests(the_first, the_second)
        outcomes(the_first, the_second)
    if not FAKETIME:
        bail_out('libfaketime is not installed')
    ahead(the_cluster, the_first, the_provider)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
