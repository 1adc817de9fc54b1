#!/usr/bin/python3
"""The ledger is away, hangs, becomes read-only, changes under us, or loses single backends: nobody is told what may not be true,
nothing hangs, and all of it is over by itself."""
import os
import random
import signal
import time

from harness import *
from world import Provider, World, check, count, name_of, state_of, tell

TOOL = {'name': 'pay', 'class': 'irreversible', 'escalate_after': '1h', 'lease': '5m'}
READ = {'name': 'lookup', 'class': 'read'}
TIMEOUT_S = 1
LIST_S = 5.5
BACK_S = 2
BACKENDS = "from pg_stat_activity where application_name like 'effectd%' and pid <> pg_backend_pid()"


def needs_ledger(run):
    """One call of each method that needs the ledger."""
    mine = {'effect': run['effect'], 'token': run['token']}
    return {'begin': {'tool': 'pay', 'key': 'away', 'request': request_id()}, 'complete': {**mine, 'result': 'kept'},
            'release': {**mine, 'reason': 'x'}, 'unknown': {**mine, 'reason': 'x'}, 'extend': mine,
            'get': {'effect': run['effect']}, 'list': {},
            'resolve': {'effect': run['effect'], 'verdict': 'landed', 'reason': 'x', 'attempt': 1, 'state': 'pending'}}


def answers_in_time(daemon, calls, what):
    """All at once, each on its own connection: unavailable, and when."""
    at = time.monotonic()
    conns = {method: daemon.connect() for method in calls}
    ids = {method: conns[method].send(method, calls[method]) for method in calls}
    answers = {method: conns[method].recv(ids[method]) for method in calls if method != 'list'}
    took = time.monotonic() - at
    answers['list'] = conns['list'].recv(ids['list'])  # once it was sent, its statement's own time-out ends it
    ok(time.monotonic() - at < (TIMEOUT_S + LIST_S + 0.5) * SLOW, f'{what}: list, too')
    is_({m: tell(a) for m, a in answers.items()}, {m: 'unavailable' for m in calls}, f'{what}: {", ".join(calls)} are unavailable')
    ok(took < (TIMEOUT_S + 0.5) * SLOW, f'{what}: within their deadline', f'{took:.2f} s')
    return answers


def needs_none(daemon, what):
    with daemon.connect() as conn:
        is_(name_of(conn, 'begin', tool='lookup'), 'pass', f'{what}: a tool that only reads passes')
        is_(conn.call('key', tool='pay', key='x')['key'], 'x', f'{what}: key answers')
        is_(sorted(t['name'] for t in conn.call('tools')['tools']), ['lookup', 'pay'], f'{what}: tools answers')
        return conn.call('info')


def away(daemon, cluster):
    """cases 109 and 128"""
    conn = daemon.connect()
    runs = [conn.call('begin', tool='pay', key=key) for key in ('one', 'two')]
    calls = needs_ledger(runs[0])
    settled = {m: {**calls[m], 'effect': runs[1]['effect'], 'token': runs[1]['token']} for m in ('release', 'unknown', 'extend')}
    calls['resolve']['effect'] = runs[1]['effect']
    calls.update(settled)
    cluster.immediate()
    answers = answers_in_time(daemon, calls, 'PostgreSQL is gone')
    is_(answers['complete']['error']['data'].get('kept'), True, 'a record is kept')
    is_(name_of(conn, 'begin', tool='pay', key='short', deadline_ms=50), 'unavailable', 'a deadline of the caller\'s own')
    needs_none(daemon, 'PostgreSQL is gone')
    info = wait_until(lambda: down_or_none(conn), 10, 'info says that it is down')  # a pooler may have kept it from us
    is_((info['ready'], bool(info['database'].get('since'))), (False, True), 'info says so, and since when')

    ask = calls['begin']
    cluster.start()
    at = time.monotonic()
    run = wait_until(lambda: run_or_none(conn, ask), 30, 'begin runs')
    took = time.monotonic() - at
    ok(took < BACK_S * SLOW, f'it is back within {BACK_S} s of PostgreSQL', f'{took:.2f} s')
    note(f'back after {took:.2f} s')
    is_((run['decision'], run['attempt']), ('run', 1), 'the request that was told unavailable runs')
    wait_until(lambda: state_of(conn, runs[0]['effect']) == 'done', 10, 'the kept record is written')
    is_(conn.call('begin', tool='pay', key='one').get('result'), 'kept', 'the kept record is written without its caller')
    is_(conn.call('complete', calls['complete'])['already'], True, 'who asks again learns that it is there')
    is_(cluster.invariants(), [], 'no invariant is hurt')


def down_or_none(conn):
    info = conn.call('info')
    return info if info['database']['state'] == 'down' else None


def run_or_none(conn, ask):
    try:
        return conn.call('begin', ask, deadline_ms=200)
    except RpcError as e:
        if e.name != 'unavailable':
            raise
        return None


def hangs(daemon, cluster):
    conn = daemon.connect()
    run = conn.call('begin', tool='pay', key='hang')
    cluster.freeze()
    answers = answers_in_time(daemon, needs_ledger(run), 'PostgreSQL hangs')
    is_(answers['complete']['error']['data'].get('kept'), True, 'PostgreSQL hangs: a record is kept')
    needs_none(daemon, 'PostgreSQL hangs')
    cluster.thaw()
    wait_until(lambda: state_of_or_none(conn, run['effect']) == 'done', 20, 'the kept record is written')
    ok(True, 'it goes on, and whatever else was asked meanwhile the kept record is written')
    is_(cluster.invariants(), [], 'no invariant is hurt')


def state_of_or_none(conn, effect):
    word = name_of(conn, 'get', effect=effect)
    return None if word == 'unavailable' else word


def never_there(cluster):
    """Started without a ledger: it listens, says unavailable, and is ready by itself."""
    cluster.immediate()
    with Daemon(cluster, config={'log_calls': False, 'request_timeout': '300ms'}, tools=[TOOL, READ]) as daemon:
        with daemon.connect() as conn:
            is_(name_of(conn, 'begin', tool='pay', key='early'), 'unavailable', 'started without a ledger it listens, and is unavailable')
        needs_none(daemon, 'no ledger yet')
        cluster.start()
        at = time.monotonic()
        daemon.ready()
        ok(time.monotonic() - at < BACK_S * SLOW, f'ready within {BACK_S} s of PostgreSQL', time.monotonic() - at)


def backends(daemon, cluster):
    """cases 102, 107 and 126"""
    conns = [daemon.connect() for _ in range(8)]
    run = conns[0].call('begin', tool='pay', key='holder')
    told = []
    for i in range(15):
        ids = [(c, c.send('begin', tool='pay', key=f'cut {i} {n}', request=request_id())) for n, c in enumerate(conns)]
        ids += [(c, c.send('begin', tool='pay', key='holder')) for c in conns[:2]]
        victims = cluster.psql(f'select pid {BACKENDS}').split()
        how = random.choice(('terminate', 'kill one', 'stop'))
        if how == 'terminate':
            cluster.psql(f'select pg_terminate_backend(pid) {BACKENDS}')
        elif victims:
            victim = int(random.choice(victims))
            signal_pid(victim, signal.SIGSTOP if how == 'stop' else signal.SIGKILL)
            told.extend(c.recv(id_) for c, id_ in ids)
            signal_pid(victim, signal.SIGCONT)
            ids = []
        told.extend(c.recv(id_) for c, id_ in ids)
        # after a SIGKILL PostgreSQL restarts all of its backends
        wait_until(lambda: name_of(conns[0], 'begin', tool='pay', key='holder', deadline_ms=500) == 'busy', 30, 'the ledger is back')
        wait_until(lambda: takes(cluster), 30, 'PostgreSQL takes connections')
    note(count(told))
    ok(set(count(told)) <= {'run', 'busy', 'unavailable'}, 'backends terminated, killed and stopped: run, busy, or unavailable', count(told))
    rows = int(cluster.psql("select count(*) from effect.ledger where key like 'cut %' and attempt = 1"))
    ok(count(told)['run'] <= rows <= 120, 'each run is a row of one attempt', (count(told), rows))
    ok(not any(tell(a) == 'busy' and a['result']['key'].startswith('cut') for a in told), 'nobody is busy against himself')
    is_(name_of(conns[1], 'begin', tool='pay', key='holder'), 'busy', 'the claim stands')
    is_(name_of(conns[0], 'complete', effect=run['effect'], token=run['token'], result=1), 'done', 'and its record is accepted')

    for i in range(10):
        lines = b''.join(conns[0].line('begin', {'tool': 'pay', 'key': f'pipe {i} {n}', 'request': request_id()}, 5000 + n) for n in range(20))
        conns[0].send_raw(lines)
        cluster.psql(f'select pg_terminate_backend(pid) {BACKENDS}')
        answers = [conns[0].recv(5000 + n) for n in range(20)]
        told.extend(answers)
        keys = [a['result']['key'] for a in answers if 'result' in a]
        if any(tell(a) not in ('run', 'unavailable') for a in answers) or keys != [f'pipe {i} {n}' for n in range(20) if 'result' in answers[n]]:
            ok(False, 'twenty begins in one write: each its own answer', answers)
    ok(True, 'twenty begins in one write under a terminated backend: each its own answer, 10 times')
    is_(cluster.invariants(), [], 'no invariant is hurt')


def takes(cluster):
    try:
        return cluster.psql('select 1') == '1'
    except RuntimeError:
        return False


def signal_pid(pid, sig):
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        pass


def read_only(daemon, cluster):
    """case 104"""
    cluster.set('default_transaction_read_only', 'on')
    conn = daemon.connect()
    cluster.psql(f'select pg_terminate_backend(pid) {BACKENDS}')
    is_(name_of(conn, 'begin', tool='pay', key='read only', request=request_id(), deadline_ms=500), 'unavailable', 'a read-only server is unavailable')
    cluster.set('default_transaction_read_only', None)
    run = wait_until(lambda: run_or_none(conn, {'tool': 'pay', 'key': 'read only too', 'request': request_id()}), 20, 'begin runs')
    is_(run['decision'], 'run', 'writable again: it runs, without a restart')


def migrated(daemon, cluster):
    """case 105"""
    conn = daemon.connect()
    conn.call('begin', tool='pay', key='before')
    cluster.psql('alter table effect.ledger add column more integer')
    words = [name_of(conn, 'begin', tool='pay', key=f'after {i}') for i in range(20)]
    is_(set(words), {'run'}, 'a column is added under the daemon: begin works')
    run = conn.call('begin', tool='pay', key='after all')
    is_(name_of(conn, 'complete', effect=run['effect'], token=run['token'], result=1), 'done', 'and complete')
    cluster.psql('alter table effect.ledger drop column more')
    is_(name_of(conn, 'begin', tool='pay', key='dropped'), 'run', 'and after it is dropped')


def random_cuts(the_seed):
    """case 102: clients at work while backends are terminated, at random; the checker judges."""
    provider = Provider()
    with Cluster({'fsync': 'on', 'commit_delay': '3000', 'commit_siblings': '0'}) as cluster, \
            Daemon(cluster, config={'log_calls': False, 'request_timeout': '1s'}, tools=provider.policy()) as daemon:
        daemon.ready()
        world = World(daemon.socket, provider, the_seed, n_clients=16)
        world.start()
        n_cut = 0
        for _ in range(40):
            world.answered_more(random.randrange(10, 60))
            n_cut += int(cluster.psql(f'select count(pg_terminate_backend(pid)) {BACKENDS} and state = \'active\''))
        world.stop()
        world.settle()
        world.read_back()
        note(world.tally())
        ok(n_cut > 10, 'backends were cut in the middle of their work', n_cut)
        is_(check(world.log.entries, provider.book()), [], f'{n_cut} backends cut under 16 clients: the checker finds nothing')
        is_(cluster.invariants(), [], 'no invariant is hurt')


the_seed = seed()
with Cluster() as the_cluster:
    with Daemon(the_cluster, config={'log_calls': False, 'request_timeout': f'{TIMEOUT_S}s'}, tools=[TOOL, READ]) as the_daemon:
        the_daemon.ready()
        away(the_daemon, the_cluster)
        hangs(the_daemon, the_cluster)
        backends(the_daemon, the_cluster)
        read_only(the_daemon, the_cluster)
        migrated(the_daemon, the_cluster)
    never_there(the_cluster)
random_cuts(the_seed)
done()
