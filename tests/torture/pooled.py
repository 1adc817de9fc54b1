#!/usr/bin/python3
"""What only a pooler can do to a daemon: PgBouncer in transaction mode hands each transaction to another backend, is restarted,
recycles its server connections and lets its clients wait. Run by tests/torture/pgbouncer, as PgBouncer is no package of ours."""
import os
import random
import sys

os.environ.setdefault('EFFECTD_POOLER', '1')
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *  # noqa: E402
from pooler import standby_stays_away  # noqa: E402
from world import Provider, World, judge  # noqa: E402

N_BLOWS = rounds_of(10, 50)
TOOL = {'name': 'pay', 'class': 'irreversible', 'escalate_after': '1h', 'lease': '5m'}
QUIET = {'log_calls': False, 'request_timeout': '300ms'}


def silent():
    """Four connections share three backends, so that no statement finds what was prepared before it: nobody is told, nothing
    is logged, and the server is never asked for what it does not have."""
    with Cluster({'log_min_messages': 'error', 'log_statement': 'none'}) as cluster:
        cluster.pooler.restart(default_pool_size='3')
        with Daemon(cluster, config={**QUIET, 'request_timeout': '5s'}, tools=TOOL) as daemon:
            daemon.ready()
            n_lines = len(daemon.log())
            conns = [daemon.connect() for _ in range(16)]
            told = []
            for i in range(100):
                ids = [(c, c.send('begin', tool='pay', key=f'{i} {n}')) for n, c in enumerate(conns)]
                told += [c.recv(id_)['result'] for c, id_ in ids]
            words = {told_['decision'] for told_ in told}
            is_(words, {'run'}, f'{len(told)} begins on three backends in turn are told run')
            backends = cluster.psql("select count(*) from pg_stat_activity where datname = 'effectd' and pid <> pg_backend_pid()")
            ok(int(backends) <= 3, 'no more backends than the pooler may have', backends)
            with open(cluster.log_path, encoding='utf-8', errors='replace') as log:
                errors = [line for line in log if 'prepared statement' in line]
            is_(errors, [], 'the server was never asked for a statement that it does not have')
            is_(daemon.log()[n_lines:], [], 'the daemon has nothing to say')


def stalled():
    with Cluster() as cluster, Daemon(cluster, config=QUIET, tools=TOOL) as daemon:
        daemon.ready()
        standby_stays_away(cluster, daemon)


def blows(the_seed):
    """32 clients; the pooler is killed, its server connections are cut or recycled, its clients wait or are cut off."""
    provider = Provider()
    with Cluster({'fsync': 'on', 'commit_delay': '10000', 'commit_siblings': '0'}) as cluster, \
            Daemon(cluster, config=QUIET, tools=provider.policy()) as daemon:
        pooler = cluster.pooler
        pooler.restart(server_lifetime='1', server_idle_timeout='1', default_pool_size='3')
        ways = {'is killed': pooler.restart, 'closes its server connections': lambda: pooler.tell('reconnect'),
                'cuts off its clients': lambda: pooler.tell('kill effectd', 'resume effectd'),
                'lets its clients wait': lambda: pooler.tell('pause effectd', 'resume effectd'),
                'loses its server': lambda: (cluster.immediate(), cluster.start())}
        daemon.ready()
        world = World(daemon.socket, provider, the_seed)
        world.start()
        n_least = 32
        for number in range(N_BLOWS):
            name = list(ways)[number % len(ways)]
            world.answered_more(random.randrange(50, 200))
            n_least = min(n_least, world.busy_moment())
            ways[name]()
        world.answered_more(200)
        ok(n_least >= 20, f'at least 20 requests were in flight at each of {N_BLOWS} blows', n_least)
        world.stop()
        judge(world, cluster, f'PgBouncer {", ".join(ways)}: ')


seed_of_run = seed()
silent()
stalled()
blows(seed_of_run)
done()
