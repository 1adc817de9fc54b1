#!/usr/bin/python3
"""What the daemon costs: memory with 500 idle connections and under load, descriptors, CPU while idle, and CPU, log lines and service
where descriptors run out (case 120). The figures are those of the build that is shipped, so that one runs here: EFFECTD_PLAIN_BUILD,
or the folder `build` beside the sanitized one."""
import os
import random
import resource
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
import harness  # noqa: E402
from harness import *  # noqa: E402
from proc import cpu_ms, n_fds, rss_kb  # noqa: E402
from talk import Script  # noqa: E402
from world import name_of, state_of  # noqa: E402

IDLE_KB_MAX = 32 * 1024
IDLE_CPU_MS_MAX = 20
IDLE_S = 10
LOAD_S = rounds_of(10, 300)
LOAD_GROWTH_KB_MAX = 2048
FULL_S = rounds_of(3, 25)
FULL_CPU_SHARE_MAX = 0.05
LOG_INTERVAL_S = 10
INFO = b'{"jsonrpc":"2.0","id":%d,"method":"info"}\n'


def plain_build():
    """The build without sanitizers, which are told by what the program is linked with."""
    path = os.environ.get('EFFECTD_PLAIN_BUILD') or harness.BUILD
    if is_sanitized(path) and 'EFFECTD_PLAIN_BUILD' not in os.environ:
        path = os.path.join(os.path.dirname(harness.BUILD), 'build')
    if not os.access(os.path.join(path, 'effectd'), os.X_OK) or is_sanitized(path):
        bail_out(f'{path} is no build without sanitizers: say where one is by EFFECTD_PLAIN_BUILD')
    return path


def is_sanitized(path):
    try:
        with open(os.path.join(path, 'effectd'), 'rb') as program_:
            return b'__asan_init' in program_.read()
    except FileNotFoundError:
        return False


def pass_s(seconds):
    """Lets that time pass."""
    threading.Event().wait(seconds)


def quiet(daemon):
    """Waits until it does nothing but its regular work."""
    def still():
        before = cpu_ms(daemon)
        pass_s(0.5)
        return cpu_ms(daemon) - before < 5
    wait_until(still, 60, 'it is quiet')


# ---- idle ----

def idle(daemon):
    conns = [daemon.connect() for _ in range(500)]
    for i, conn in enumerate(conns):
        conn.send_raw(INFO % i)
    is_([conn.recv()['id'] for conn in conns], list(range(500)), '500 connections are answered')
    quiet(daemon)
    ok(rss_kb(daemon) < IDLE_KB_MAX, '500 idle connections: under 32 MiB', f'{rss_kb(daemon)} KB')
    note(f'500 idle connections: {rss_kb(daemon)} KB')
    took = []
    for _ in range(3):  # what falls into one look, as a checkpoint's worth of statistics, is not what it costs
        before = cpu_ms(daemon)
        pass_s(IDLE_S)
        took.append(cpu_ms(daemon) - before)
        if took[-1] < IDLE_CPU_MS_MAX:
            break
    note(f'{IDLE_S} idle seconds: {", ".join(f"{ms:.1f}" for ms in took)} ms of CPU')
    ok(took[-1] < IDLE_CPU_MS_MAX, f'under {IDLE_CPU_MS_MAX} ms of CPU in {IDLE_S} idle seconds', took)
    for conn in conns:
        conn.close()


# ---- load ----

class Load(threading.Thread):
    """One client at work: begin, complete, replay, now and then release, unknown, waiting, a close in between."""

    def __init__(self, daemon, number, stopping):
        super().__init__(daemon=True)
        self.daemon_, self.number, self.stopping = daemon, number, stopping
        self.random = random.Random(random.getrandbits(32))
        self.n, self.failure = 0, None

    def run(self):
        try:
            while not self.stopping.is_set():
                with self.daemon_.connect() as conn:
                    for _ in range(self.random.randrange(1, 200)):
                        self.one(conn)
        except Exception as e:  # pylint: disable=broad-except
            self.failure = e

    def one(self, conn):
        self.n += 1
        key, fate = f'{self.number} {self.n}', self.random.random()
        run = conn.call('begin', tool='t', key=key, request=request_id(), args={'a': 'x' * self.random.randrange(2000)}, bind=fate < 0.1)
        mine = {'effect': run['effect'], 'token': run['token']}
        if fate < 0.1:
            conn.call('release', mine, reason='nothing was sent')
            return
        if fate < 0.15:
            conn.call('unknown', mine, reason='who knows')
        elif fate < 0.2:
            name_of(conn, 'begin', tool='t', key=key, wait_ms=10)
        conn.call('complete', mine, result='y' * self.random.randrange(4000))
        conn.call('begin', tool='t', key=key)
        conn.call('get', effect=run['effect'])


def loaded(daemon):
    """Memory and descriptors at the end of each fifth of the load; the first fifth warms it up."""
    stopping = threading.Event()
    clients = [Load(daemon, number, stopping) for number in range(8)]
    for client in clients:
        client.start()
    memory, fds = [], []
    for _ in range(5):
        pass_s(LOAD_S / 5)
        memory.append(rss_kb(daemon))
        fds.append(n_fds(daemon))
    stopping.set()
    for client in clients:
        client.join(60 * SLOW)
    n = sum(client.n for client in clients)
    is_([client.failure for client in clients if client.failure], [], f'{LOAD_S} s of load: all were answered')
    note(f'{LOAD_S} s of load, {n} effects: {memory} KB, {fds} descriptors')
    ok(memory[-1] - memory[0] < LOAD_GROWTH_KB_MAX, f'{LOAD_S} s of load: memory is flat', memory)
    ok(max(fds) - min(fds) <= len(clients), f'{LOAD_S} s of load: descriptors are flat', fds)


# ---- descriptors ----

def served(daemon):
    conn = daemon.connect()
    try:
        conn.send_raw(INFO % 1)
        if conn.recv(timeout_s=2).get('id') == 1:
            return conn
    except OSError:
        pass
    conn.close()
    return None


def crowded(daemon, what, probe, cluster, lowest, started):
    """case 120: while there is no descriptor for one more client: CPU, log, ledger, probes."""
    pid = daemon.process.pid
    with daemon.connect() as conn:
        conn.call('info')
        if lowest:
            # as many as it has: not one more can be accepted at all
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (n_fds(daemon), 64))
        before, since = cpu_ms(daemon), time.monotonic()
        waiting = []
        for _ in range(100):
            try:
                waiting.append(daemon.connect())
            except OSError:
                pass
        pass_s(FULL_S)
        share = (cpu_ms(daemon) - before) / 1000 / (time.monotonic() - since)
        took_s = time.monotonic() - since
        note(f'{what}: {share:.2%} of a CPU over {took_s:.0f} s with {len(waiting)} clients at the door')
        ok(share < FULL_CPU_SHARE_MAX, f'{what}: little CPU', f'{share:.2%}')
        lines = daemon.grep('connections are taken|cannot accept')
        ok(1 <= len(lines) <= 1 + (time.monotonic() - started) / LOG_INTERVAL_S, f'{what}: one log line an interval', lines)
        is_(name_of(conn, 'begin', tool='t', key=f'{what} inside'), 'run', f'{what}: who is in is served')
        if not lowest:
            run = conn.call('begin', tool='asks', key=f'{what} probed')
            conn.call('unknown', effect=run['effect'], token=run['token'], reason='x')
            wait_until(lambda: state_of(conn, run['effect']) == 'done', 30, 'it is probed')
            ok(probe.asked(run['effect']), f'{what}: a probe still gets its descriptors')
            cluster.psql("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'effectd%'")
            wait_until(lambda: name_of(conn, 'begin', tool='t', key=f'{what} again') in ('run', 'busy'), 20, 'the ledger is back')
            ok(True, f'{what}: and so does the ledger')
        for client in waiting[:80]:
            client.close()
        if lowest:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, 64))
        conn_ = wait_until(lambda: served(daemon), 20, 'one more is served')
        ok(conn_, f'{what}: it serves again by itself')
        for client in waiting[80:] + [conn_]:
            client.close()


def descriptors(cluster):
    probe = Script()
    probe.says('landed', result='asked')
    with Daemon(cluster, config={'log_calls': False, 'sweep_interval': '200ms'}, tools=[{'name': 't'}, probe.policy('asks')],
                prefix=('prlimit', '--nofile=64:64')) as daemon:
        started = time.monotonic()
        daemon.ready()
        crowded(daemon, '64 descriptors', probe, cluster, False, started)
        crowded(daemon, 'no descriptor at all', probe, cluster, True, started)
        is_(daemon.stop(), 0, 'and it ends in order')


seed()
harness.BUILD = plain_build()
note(f'measured: {harness.BUILD}')
with Cluster() as the_cluster:
    with Daemon(the_cluster, config={'log_calls': False}, tools=[{'name': 't', 'lease': '10m'}]) as the_daemon:
        the_daemon.ready()
        idle(the_daemon)
        loaded(the_daemon)
        is_(the_daemon.stop(), 0, 'it ends in order')
    descriptors(the_cluster)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
