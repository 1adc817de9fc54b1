#!/usr/bin/python3
"""32 busy clients; effectd is killed -9 under them, then PostgreSQL is stopped immediate under them, five times each (50 in torture).
Whatever the clients were told holds: no effect is run twice, no acknowledged result is missing or different."""
import random

from harness import *
from world import Provider, World, check, judge, name_of

N_ROUNDS = rounds_of(5, 50)
# Each commit takes a while, so that requests are in flight in the daemon and in the database, not only in our own buffers.
SETTINGS = {'fsync': 'on', 'commit_delay': '10000', 'commit_siblings': '0'}


def planted():
    """The checker finds what it is there to find."""
    def told(**result):
        raw = '"outcome":"succeeded","result":1,"result_state":'
        return {'what': 'told', 'client': 0, 'method': 'begin', 'answer': {'result': {'effect': 'e', **result}}, 'raw': raw}

    run = told(decision='run', attempt=1, token='t')
    recorded = {'what': 'recorded', 'effect': 'e', 'outcome': 'succeeded', 'result': '1',
                'answer': {'result': {'state': 'done', 'outcome': 'succeeded'}}}
    replay = told(decision='replay', outcome='succeeded')
    good = [run, recorded, replay]
    book = [('e', '1')]
    is_(check(good, book), [], 'the checker is content with a run, its record and its replay')
    like(str(check(good, book * 2)), 'performed 2 times', 'it finds an effect that was performed twice')
    like(str(check([run] + good, book)), 'told twice', 'it finds two runs of one attempt')
    like(str(check(good[:2], book)), 'not replayed', 'it finds an acknowledged record that is missing')
    like(str(check([run, {**recorded, 'result': '1.0'}, replay], book)), 'was replayed|is replayed as', 'it finds another spelling of it')
    like(str(check(good, [('e', '2')])), 'the book says 2', 'it finds a replay that the book does not know')
    like(str(check(good + [{**run, 'answer': {'result': {**run['answer']['result'], 'attempt': 2, 'token': 'u'}}}, replay], book)),
         'after its record', 'it finds a run after the record')


def rounds(name, world, strike):
    n_least = None
    for number in range(1, N_ROUNDS + 1):
        world.answered_more(random.randrange(150, 350))
        n = world.busy_moment()
        strike()
        note(f'{name}, round {number}: {n} requests in flight')
        n_least = min(n, n_least or n)
    ok(n_least >= 20, f'{name}: at least 20 requests were in flight at each of {N_ROUNDS} blows', n_least)
    world.answered_more(100)


def live_claim(daemon):
    """cases 60 and 62: a claim outlives its daemon, and its lease's end is no leave to run."""
    with daemon.connect() as conn:
        run = conn.call('begin', tool='pay', key='outlives', lease_ms=int(2000 * SLOW))
        live = conn.call('begin', tool='pay', key='live', lease_ms=60000)
    daemon.kill()
    daemon.start().ready()
    words = []
    with daemon.connect() as conn:
        def asked():
            words.append(name_of(conn, 'begin', tool='pay', key='outlives'))
            return words[-1] != 'busy'
        wait_until(asked, 20, 'the lease ran out')
        is_(sorted(set(words)), ['busy', 'unknown'], 'after a kill a claim is busy until its lease ends, then unknown, never run')
        is_(name_of(conn, 'complete', effect=run['effect'], token=run['token'], result=1), 'done', 'its owner\'s record is accepted even then')
        is_(name_of(conn, 'begin', tool='pay', key='live'), 'busy', 'a sweep at the start leaves a live lease alone')
        is_(name_of(conn, 'complete', effect=live['effect'], token=live['token'], result=1), 'done', 'and its owner\'s record is accepted')


def kill_daemon(daemon):
    daemon.kill()
    daemon.start()


def kill_cluster(cluster):
    cluster.immediate()
    cluster.start()


the_seed = seed()
planted()
with Cluster(SETTINGS) as the_cluster:
    provider = Provider()
    with Daemon(the_cluster, config={'log_calls': False, 'request_timeout': '300ms'}, tools=provider.policy()) as the_daemon:
        the_daemon.ready()
        live_claim(the_daemon)
        the_world = World(the_daemon.socket, provider, the_seed)
        the_world.start()
        # case 81, without end
        rounds('effectd killed', the_world, lambda: kill_daemon(the_daemon))
        rounds('PostgreSQL stopped', the_world, lambda: kill_cluster(the_cluster))
        the_world.stop()
        judge(the_world, the_cluster)
done()
