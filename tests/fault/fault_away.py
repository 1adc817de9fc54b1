#!/usr/bin/python3
"""The ledger is away for long, and nobody asks again: what the daemon has kept is written. The daemon itself stands still for long
under load: nobody runs on an answer that is too old, and nothing is lost. 5 s and 3 s; 60 s each in torture."""
import os
import select
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *  # noqa: E402
from world import Provider, World, check, name_of, raw_result  # noqa: E402

AWAY_S = rounds_of(5, 60)
STOP_S = rounds_of(3, 60)
N_KEPT = 40
CONFIG = {'log_calls': False, 'request_timeout': '300ms'}


def meanwhile(seconds, what=lambda: None):
    """The time is the case itself; what() every 100 ms of it."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        what()
        select.select([], [], [], 0.1)


def kept(cluster):
    provider = Provider()
    with Daemon(cluster, config=CONFIG, tools=provider.policy(lease='1h')) as daemon:
        daemon.ready()
        claims = []
        with daemon.connect() as conn:
            for number in range(N_KEPT):
                # the lease of every second one runs out meanwhile
                more = {'lease_ms': 1000} if number % 2 else {}
                told = conn.call('begin', tool='pay', key=f'kept {number}', **more)
                claims.append((told, provider.perform(told['provider_key'])))
        open_one = daemon.connect()
        fresh = open_one.call('begin', tool='pay', key='not recorded')
        cluster.immediate()
        # each by a caller that is gone when it has its answer
        conns = [daemon.connect() for _ in claims]
        for conn, (told, receipt) in zip(conns, claims):
            line = conn.line('complete', {'effect': told['effect'], 'token': told['token']}, 1)
            conn.send_raw(line[:-3] + b',"result":' + receipt.encode() + b'}}\n')
        answers = []
        for conn in conns:
            answers.append(conn.recv(1))
            conn.close()
        is_([a for a in answers if a.get('error', {}).get('data', {}).get('kept') is not True], [],
            f'{N_KEPT} records that come while the ledger is away are kept')
        told_meanwhile = set()
        meanwhile(AWAY_S, lambda: told_meanwhile.add(name_of(open_one, 'begin', tool='pay', key='another')))
        is_(told_meanwhile, {'unavailable'}, f'for {AWAY_S} s nobody is told to run anything')
        cluster.start()

        def state(effect):
            try:
                return open_one.call('get', effect=effect)['state']
            except RpcError:
                return None
        for told, _ in claims:
            wait_until(lambda: state(told['effect']) == 'done', 30, 'the kept record is written')
        ok(True, 'the ledger is back: each of them is written, and nobody has asked again')
        results = []
        for told, receipt in claims:
            open_one.send_raw(open_one.line('begin', {'tool': 'pay', 'key': told['key']}, 99))
            results.append((raw_result(open_one.recv_line().decode()), receipt))
        is_([r for r in results if r[0] != r[1]], [], 'and replayed as the bytes that were sent')
        is_(name_of(open_one, 'complete', effect=fresh['effect'], token=fresh['token'], result=1), 'done', 'a claim of before is still its holder\'s')
        is_([effect for effect, n in count_of(provider).items() if n > 1], [], 'nothing was performed twice')
        open_one.close()
        is_(daemon.stop(), 0, 'its end is orderly')
    is_(cluster.invariants(), [], 'no invariant is hurt')


def count_of(provider):
    times = {}
    for effect, _ in provider.book():
        times[effect] = times.get(effect, 0) + 1
    return times


def stands_still(cluster, the_seed):
    """case 125's daemon: slow is not dead."""
    provider = Provider()
    with Daemon(cluster, config=CONFIG, tools=provider.policy(lease='1s', settle='200ms', probe_backoff=['100ms'])) as daemon:
        daemon.ready()
        world = World(daemon.socket, provider, the_seed)
        world.start()
        world.answered_more(200)
        n = world.busy_moment()
        daemon.signal(signal.SIGSTOP)
        note(f'the daemon stands still, {n} requests in flight')
        ok(n >= 20, 'at least 20 requests are in flight when the daemon stands still', n)
        n_before = world.counter.n_answered
        meanwhile(STOP_S)
        ok(world.counter.n_answered - n_before <= n, f'for {STOP_S} s nobody is answered but by what was on its way')
        daemon.signal(signal.SIGCONT)
        world.answered_more(300)
        world.stop()
        states = world.settle()
        world.read_back()
        note(world.tally())
        is_(check(world.log.entries, provider.book())[:5], [], f'it goes on: the checker finds nothing in {len(world.log.entries)} entries')
        ok(set(states) <= {'done', 'released'}, 'every effect ended done or released', states)
        is_(daemon.stop(), 0, 'its end is orderly')
    is_(cluster.invariants(), [], 'no invariant is hurt')
    is_(cluster.psql("select count(*) from effect.ledger where state in ('pending', 'unknown')"), '0', 'nothing is open')


base_seed = seed()
with Cluster({'fsync': 'on', 'commit_delay': '10000', 'commit_siblings': '0'}) as the_cluster:
    kept(the_cluster)
    stands_still(the_cluster, base_seed)
done()
