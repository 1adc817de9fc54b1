#!/usr/bin/python3
"""An orderly stop: what was received is answered or not touched; and a second daemon never takes the first one's socket away."""
import os
import signal
import socket

from harness import *
from world import Session, name_of, tell

TOOL = {'name': 'pay', 'class': 'irreversible', 'escalate_after': '1h', 'lease': '5m'}
N = 50
OWED = request_id()


def completes(daemon, cluster, number, hung):
    """case 139"""
    conns = [daemon.connect() for _ in range(N)]
    runs = [c.call('begin', tool='pay', key=f'{number} {n}') for n, c in enumerate(conns)]
    if hung:
        cluster.freeze()
    ids = [c.send('complete', effect=run['effect'], token=run['token'], result=n) for n, (c, run) in enumerate(zip(conns, runs))]
    n_lines = len(daemon.log())
    daemon.signal(signal.SIGTERM)
    if hung:
        daemon.wait_log('event=stop', after=n_lines)
        cluster.thaw()
    answered = set()
    for n, (c, id_) in enumerate(zip(conns, ids)):
        try:
            answer = c.recv(id_)
            is_done = tell(answer) == 'done'
            ok(is_done, f'complete {n} of round {number} was answered, and not done', answer) if not is_done else None
            answered.add(n)
        except ConnectionError:
            pass
    status = daemon.wait()
    rows = dict(line.split('|') for line in
                cluster.psql(f"select split_part(key, ' ', 2), state from effect.ledger where key like '{number} %'").split('\n'))
    done_ = {int(n) for n, state in rows.items() if state == 'done'}
    note(f'round {number}: {len(answered)} of {N} answered, {len(done_)} done')
    daemon.start().ready()
    return status, answered == done_, len(answered)


def stops(daemon, cluster):
    told = [completes(daemon, cluster, number, number % 2 == 0) for number in range(6)]
    is_([t[0] for t in told], [0] * 6, f'SIGTERM with {N} completes in flight, six times: the daemon ends with 0')
    is_([t[1] for t in told], [True] * 6, 'each is written and answered, or neither')
    is_([t[2] for t in told][::2], [N] * 3, 'those that had reached the ledger are all answered')
    is_(cluster.invariants(), [], 'no invariant is hurt')


def owed(cluster):
    """A kept record whose row somebody holds: it is tried again and again, nobody waits for it, and then comes the stop."""
    holder = Session(cluster)
    with Daemon(cluster, config={'log_calls': False, 'request_timeout': '500ms'}, tools=TOOL) as daemon:
        with daemon.ready().connect() as conn:
            run = wait_until(lambda: run_of(conn), 20)
            holder.do('begin', f"select from effect.ledger where id = '{run['effect']}' for update")
            error = conn.error('complete', effect=run['effect'], token=run['token'], result=1)
            is_((error['data']['name'], error['data']['kept']), ('unavailable', True), 'a record whose row is held is kept')
            n_lines = len(daemon.log())
            daemon.signal(signal.SIGTERM)
            daemon.wait_log('event=stop', after=n_lines)
        holder.do('rollback')
        holder.close()
        is_(daemon.wait(), 0, 'a stop that finds it so ends with 0')
        is_(cluster.psql(f"select state from effect.ledger where id = '{run['effect']}'"), 'done', 'and the record is written')


def run_of(conn):
    try:
        return conn.call('begin', tool='pay', key='owed', request=OWED)
    except RpcError:
        return None


def refused(cluster, first, what):
    """A second daemon on the first one's socket."""
    with Daemon(cluster, config={'socket': first.socket}, tools=TOOL, start=False) as second:
        second.start(wait=False)
        is_(second.wait(), 73, f'{what}: a second daemon refuses')


def second_daemon(cluster, first):
    """cases 124 and 125"""
    refused(cluster, first, 'the first serves')
    with first.connect() as conn:
        is_(name_of(conn, 'begin', tool='pay', key='reachable'), 'run', 'the first stays reachable')
    first.signal(signal.SIGSTOP)
    refused(cluster, first, 'the first stands still')
    first.signal(signal.SIGCONT)
    with first.connect() as conn:
        is_(name_of(conn, 'begin', tool='pay', key='reachable'), 'busy', 'slow is not dead: it goes on')
    first.kill()
    ok(os.path.exists(first.socket), 'a killed daemon leaves its socket')
    first.start().ready()
    with first.connect() as conn:
        is_(name_of(conn, 'begin', tool='pay', key='reachable'), 'busy', 'a stale socket is replaced')
    is_(first.stop(), 0, 'it stops')

    with open(first.socket, 'w', encoding='ascii') as file:
        file.write('precious')
    refused(cluster, first, 'a file stands in its place')
    with open(first.socket, encoding='ascii') as file:
        is_(file.read(), 'precious', 'and is not touched')
    target = os.path.join(first.dir, 'target')
    os.rename(first.socket, target)
    os.symlink(target, first.socket)
    refused(cluster, first, 'a symbolic link stands in its place')
    ok(os.path.islink(first.socket) and os.path.exists(target), 'and is not touched')
    os.unlink(first.socket)
    obstacles(cluster, first)


def obstacles(cluster, first):
    """case 125's kind: whatever else may stand at the path, and whoever else may hold it."""
    def in_the_way(what, make, holder=None):
        make()
        before = os.lstat(first.socket)
        refused(cluster, first, what)
        is_((os.lstat(first.socket).st_ino, os.lstat(first.socket).st_mode), (before.st_ino, before.st_mode), f'{what}: it is not touched')
        if holder:
            holder.close()
        os.rmdir(first.socket) if os.path.isdir(first.socket) else os.unlink(first.socket)

    def held(kind, backlog=None):
        holder = socket.socket(socket.AF_UNIX, kind)

        def make():
            holder.bind(first.socket)
            if backlog is not None:
                holder.listen(backlog)
        return make, holder

    in_the_way('a folder', lambda: os.mkdir(first.socket))
    in_the_way('a pipe', lambda: os.mkfifo(first.socket))
    in_the_way('a link to nothing', lambda: os.symlink(first.socket + '.none', first.socket))
    in_the_way('somebody else who listens', *held(socket.SOCK_STREAM, 5))
    in_the_way('a socket of another kind', *held(socket.SOCK_DGRAM))
    make, busy = held(socket.SOCK_STREAM, 0)
    callers = [socket.socket(socket.AF_UNIX) for _ in range(3)]

    def crowded():
        make()
        for caller in callers:
            caller.setblocking(False)
            try:
                caller.connect(first.socket)
            except BlockingIOError:
                pass
    in_the_way('somebody who has no time to accept', crowded, busy)
    # left by another program that is gone
    gone = socket.socket(socket.AF_UNIX)
    gone.bind(first.socket)
    gone.listen()
    gone.close()
    first.start()
    is_(first.stop(), 0, 'a socket that another program left is replaced, and a stop at once is an orderly one')
    ok(not os.path.exists(first.socket), 'which takes its own socket along')


seed()
with Cluster() as the_cluster, Daemon(the_cluster, config={'log_calls': False}, tools=TOOL) as the_daemon:
    the_daemon.ready()
    stops(the_daemon, the_cluster)
    owed(the_cluster)
    second_daemon(the_cluster, the_daemon)
done()
