#!/usr/bin/python3
"""Clients beyond every measure: who never reads, who writes a byte at a time, lines of 100 MiB, 10,000 connects, 4,096 connections at
once, 10,000 waiters. Each ends as documented, the others are served meanwhile, and memory is bounded."""
import collections
import os
import random
import resource
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *  # noqa: E402
from proc import forget_peak, n_fds, peak_kb, rss_kb  # noqa: E402
from world import name_of, tell  # noqa: E402

TOOLS = [{'name': 't', 'result_max': 1000000, 'lease': '10m', 'max_attempts': 1000}]
MAX_OUTPUT = 1 << 20
MAX_INFLIGHT = 256
DATABASE_CONNECTIONS, BATCH_MAX = 4, 256  # what the daemon has by default
MIB = 1 << 20
# the sanitizer keeps what was freed for a while
SPARE_KB = 500000 if 'ASAN_OPTIONS' in os.environ else 0
INFO = b'{"jsonrpc":"2.0","id":%d,"method":"info"}\n'


def served(daemon, what):
    """Somebody else is answered, and soon."""
    with daemon.connect() as other:
        is_(name_of(other, 'begin', {'tool': 't', 'key': f'beside {what}'}, timeout_s=20), 'run', f'{what}: others are served')


def bounded(daemon, before_kb, limit_kb, what):
    grown_kb = peak_kb(daemon) - before_kb
    note(f'{what}: at most {grown_kb} KB')
    ok(grown_kb < limit_kb + SPARE_KB, f'{what}: memory is bounded', f'{grown_kb} KB of {limit_kb} KB')


def measure(daemon):
    forget_peak(daemon)
    return rss_kb(daemon)


# ---- readers and writers ----

def mute(daemon):
    """Clients that ask for 100 KB again and again and never read."""
    n = rounds_of(8, 20)
    with daemon.connect() as setup:
        run = setup.call('begin', tool='t', key='large')
        setup.call('complete', effect=run['effect'], token=run['token'], result='x' * 100000)
    before_kb, at = measure(daemon), len(daemon.log())
    mutes = [daemon.connect() for _ in range(n)]

    def ask(conn):
        line = Conn.line('begin', {'tool': 't', 'key': 'large'}, 1)
        try:
            while True:
                conn.send_raw(line)
        except OSError:
            pass

    writers = [threading.Thread(target=ask, args=(conn,), daemon=True) for conn in mutes]
    for writer in writers:
        writer.start()
    with daemon.connect() as other:
        # hundreds of megabytes stand before it
        ask_of = {'tool': 't', 'key': 'beside mute readers', 'request': request_id()}
        ok(wait_until(lambda: name_of(other, 'begin', ask_of) == 'run', 30, 'others are served'), 'mute readers: others are served')
    wait_until(lambda: len(daemon.grep('event=cut_off', at)) == n, 120, 'all are cut off')
    ok(True, f'mute readers: {n} of {n} are cut off')
    for writer in writers:
        writer.join(30 * SLOW)
    ok(not any(writer.is_alive() for writer in writers), 'mute readers: and learn that it is over')
    # half of max_output stops the reading; what was begun before may still come, and each of the connections to the
    # database may hold the rows of a whole batch
    answers = n * MAX_INFLIGHT + DATABASE_CONNECTIONS * BATCH_MAX
    bounded(daemon, before_kb, (n * MAX_OUTPUT // 2 + answers * 110000) // 1024, 'mute readers')
    served(daemon, 'after mute readers')
    for conn in mutes:
        conn.close()


def slow_writers(daemon):
    """A byte at a time, and the others do not wait for it."""
    n, pace_s = 50, rounds_of(0.01, 1)
    lines = [INFO % i for i in range(n)]
    conns = [daemon.connect() for _ in range(n)]
    pause, slowest_s = threading.Event(), 0
    with daemon.connect() as quick:
        for at in range(len(lines[0])):
            for conn, line in zip(conns, lines):
                conn.send_raw(line[at:at + 1] if at < len(lines[0]) - 1 else line[at:])
            since = time.monotonic()
            quick.call('begin', tool='t', key=f'quick {at}')
            slowest_s = max(slowest_s, time.monotonic() - since)
            pause.wait(pace_s)
    is_([conn.recv()['id'] for conn in conns], list(range(n)), f'slow writers: {n} lines, a byte at a time, are answered')
    ok(slowest_s < 5 * SLOW, 'slow writers: nobody waited for them', slowest_s)
    for conn in conns:
        conn.close()


def long_lines(daemon):
    """Lines of 100 MiB are discarded up to their LF, while they come."""
    before_kb = measure(daemon)
    conns = [daemon.connect() for _ in range(rounds_of(1, 4))]
    chunk = b'x' * MIB

    def send(conn):
        conn.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"begin","params":{"tool":"')
        for _ in range(100):
            conn.send_raw(chunk)
        conn.send_raw(b'"}}\n' + INFO % 2)

    writers = [threading.Thread(target=send, args=(conn,)) for conn in conns]
    for writer in writers:
        writer.start()
    served(daemon, '100 MiB lines')
    for writer in writers:
        writer.join()
    firsts, seconds = ([conn.recv(timeout_s=60) for conn in conns] for _ in range(2))
    is_({(a['id'], a['error']['code']) for a in firsts}, {(None, -32600)}, f'100 MiB lines: {len(conns)}, each is told once')
    is_({a['id'] for a in seconds}, {2}, '100 MiB lines: and the connection goes on')
    bounded(daemon, before_kb, len(conns) * 4096, '100 MiB lines')
    for conn in conns:
        conn.close()


# ---- connections ----

def connects(daemon):
    """10,000, one after the other; every second one leaves without a word, every fourth asks and does not wait."""
    n, fds, before_kb = 10000, n_fds(daemon), measure(daemon)
    n_good = 0
    for i in range(n):
        conn = daemon.connect()
        if i % 4 == 0:
            conn.send_raw(INFO % i)
            n_good += conn.recv()['id'] == i
        elif i % 4 == 2:
            conn.send_raw(INFO % i)
        conn.close()
    is_(n_good, n // 4, f'{n} connects: who waits is answered')
    wait_until(lambda: n_fds(daemon) <= fds, 30, 'no descriptor is left')
    ok(True, f'{n} connects: no descriptor is left')
    bounded(daemon, before_kb, 20000, f'{n} connects')
    served(daemon, f'{n} connects')


def crowd(daemon):
    """4,096 connections at once, and some more than there may be."""
    room = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)[0] - 128
    places = min(4096, room)
    fds, before_kb = n_fds(daemon), measure(daemon)
    conns = [daemon.connect() for _ in range(places)]
    for i, conn in enumerate(conns):
        conn.send_raw(INFO % i)
    is_([conn.recv(timeout_s=60).get('id') for conn in conns], list(range(places)), f'{places} connections: all are answered')
    more = [daemon.connect() for _ in range(20)]
    told = collections.Counter((tell(conn.recv()), conn.recv_line()) for conn in more)
    is_(told, {('overloaded', b''): 20}, f'{places} connections: 20 more are told so, and closed')
    is_(name_of(conns[0], 'begin', tool='t', key='crowd'), 'run', f'{places} connections: who is in is served')
    bounded(daemon, before_kb, places * 12, f'{places} connections')
    for conn in conns + more:
        conn.close()
    wait_until(lambda: n_fds(daemon) <= fds, 60, 'their descriptors are gone')
    ok(True, f'{places} connections: their descriptors are gone')
    served(daemon, f'after {places} connections')


# ---- waiters ----

def claims(conn, *keys):
    return {key: conn.call('begin', tool='t', key=key) for key in keys}


def waiters(daemon):
    """10,000 over 40 connections: for a record, for a release, for their own time."""
    n_conns, each = 40, {'record': 200, 'given back': 30, 'nothing': 20}
    before_kb = measure(daemon)
    conns = [daemon.connect() for _ in range(n_conns)]
    with daemon.connect() as holder:
        held = claims(holder, *each)
        sent = {}
        for number, conn in enumerate(conns):
            batch = [(key, i) for key, n in each.items() for i in range(n)]
            random.shuffle(batch)
            lines = []
            for id_, (key, _) in enumerate(batch):
                sent[number, id_] = key
                wait_ms = 2000 if key == 'nothing' else 60000
                lines.append(Conn.line('begin', {'tool': 't', 'key': key, 'request': request_id(), 'wait_ms': wait_ms, 'owner': f'{number} {id_}'}, id_))
            lines.append(Conn.line('begin', {'tool': 't', 'key': 'record'}, 9999))
            conn.send_raw(b''.join(lines))
        note(f'{len(sent)} waiters')
        is_({tell(conn.recv(9999, timeout_s=60)) for conn in conns}, {'busy'}, 'waiters: all were begun')
        bounded(daemon, before_kb, len(sent) * 6, f'{len(sent)} waiters')
        words = {key: collections.Counter() for key in each}
        collect(conns, sent, words, 'nothing')
        is_(words['nothing'], {'busy': n_conns * each['nothing']}, 'waiters: whose time is over is told busy')
        served(daemon, 'waiters')
        run = held['given back']
        holder.call('release', effect=run['effect'], token=run['token'], reason='nothing was sent')
        winner = collect(conns, sent, words, 'given back', 1)
        is_(words['given back'], {'run': 1}, 'waiters: after a release one of them runs')
        holder.call('complete', effect=winner['effect'], token=winner['token'], result='second')
        collect(conns, sent, words, 'given back')
        is_(words['given back'], {'run': 1, 'replay': n_conns * each['given back'] - 1}, 'waiters: and the others have its result')
        run = held['record']
        holder.call('complete', effect=run['effect'], token=run['token'], result='first')
        collect(conns, sent, words, 'record')
        is_(words['record'], {'replay': n_conns * each['record']}, 'waiters: a record ends them all')
    is_(sent, {}, 'waiters: each has one answer')
    for conn in conns:
        conn.close()
    served(daemon, 'after waiters')


def collect(conns, sent, words, key, n=None):
    """Reads answers until `n` (all) of those who wait for `key` have theirs; returns the last."""
    n = sum(k == key for k in sent.values()) if n is None else n
    until, last = time.monotonic() + 60 * SLOW, None
    while n > 0:
        if time.monotonic() > until:
            raise TimeoutError(f'{n} waiters for {key} have no answer')
        for number, conn in enumerate(conns):
            while n > 0 and readable(conn):
                answer = conn.recv()
                if sent.pop((number, answer['id'])) != key:
                    raise AssertionError(f'who waits for something else than {key} was told {answer}')
                words[key][tell(answer)] += 1
                last = answer['result']
                n -= 1
    return last


def readable(conn):
    if b'\n' in conn.buffer:
        return True
    conn.sock.settimeout(0.001)
    try:
        conn.buffer += conn.sock.recv(1 << 16)
    except TimeoutError:
        pass
    return b'\n' in conn.buffer


seed()
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
with Cluster() as the_cluster, Daemon(the_cluster, config={'log_calls': False, 'max_output': MAX_OUTPUT, 'max_inflight': MAX_INFLIGHT}, tools=TOOLS) as the_daemon:
    the_daemon.ready()
    for the_part in (slow_writers, long_lines, connects, crowd, waiters, mute):
        the_since = time.monotonic()
        the_part(the_daemon)
        note(f'{the_part.__name__}: {time.monotonic() - the_since:.1f} s')
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
    is_(the_daemon.stop(), 0, 'and it ends in order')
done()
