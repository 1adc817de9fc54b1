#!/usr/bin/python3
"""What one client may cost the others: requests in flight, unread answers, connections, descriptors, memory. Case 120."""
import os
import resource
import threading

from harness import *
from talk import *

TOOLS = [{'name': 't', 'result_max': 1000000}, {'name': 'look', 'class': 'read'}]
INFO = b'{"jsonrpc":"2.0","id":%d,"method":"info"}\n'


def rss_kb(daemon):
    with open(f'/proc/{daemon.process.pid}/status', encoding='ascii') as status:
        return next(int(line.split()[1]) for line in status if line.startswith('VmRSS:'))


def fds(daemon):
    return len(os.listdir(f'/proc/{daemon.process.pid}/fd'))


def cpu_s(daemon):
    with open(f'/proc/{daemon.process.pid}/stat', encoding='ascii') as stat:
        fields = stat.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def pipelined(daemon):
    """5,000 begins without waiting: more than may be in flight, and each is answered."""
    with daemon.connect() as conn:
        n = 5000
        lines = b''.join(Conn.line('begin', {'tool': 't', 'key': f'pipe-{at}'}, at) for at in range(n))
        writer = threading.Thread(target=conn.send_raw, args=(lines,))
        writer.start()
        answers = [conn.recv(timeout_s=60) for _ in range(n)]
        writer.join()
        is_((sorted(answer['id'] for answer in answers), {answer['result']['decision'] for answer in answers}), (list(range(n)), {'run'}),
            f'{n} pipelined begins are all told run')
    # the same, but nothing is read until all was written: both sides' buffers must take it, or the writer waits
    with daemon.connect() as conn, daemon.connect() as other:
        writer = threading.Thread(target=conn.send_raw, args=(lines,))
        writer.start()
        is_(other.call('begin', tool='t', key='beside', timeout_s=10)['decision'], 'run', 'others are served meanwhile')
        answers = [conn.recv(timeout_s=60) for _ in range(n)]
        writer.join()
        is_({answer['result']['decision'] for answer in answers}, {'busy'}, 'again: all busy')


def never_reads(daemon):
    """A client that never reads is cut off, and costs the others nothing."""
    with daemon.connect() as setup:
        run = claim(setup, 'large')
        setup.call('complete', **own_ids(run), result='x' * 500000)
    before_kb = rss_kb(daemon)
    mute = daemon.connect()
    at = len(daemon.log())
    stuck = []

    def ask():
        line = Conn.line('begin', {'tool': 't', 'key': 'large'}, 1)
        try:
            for _ in range(2000):
                mute.send_raw(line)
        except OSError as error:
            stuck.append(error)

    writer = threading.Thread(target=ask)
    writer.start()
    with daemon.connect() as other:
        decisions = {other.call('begin', tool='t', key=f'other-{n}', timeout_s=10)['decision'] for n in range(200)}
        is_(decisions, {'run'}, 'others are served')
        line = daemon.wait_log('event=cut_off', 60, at)
        like(line, 'uid 0', 'it is cut off, with a line')
        grown_kb = rss_kb(daemon) - before_kb
        # max_output, and the answers of max_inflight requests: not two thousand times 500 KB
        note(f'it cost {grown_kb} KB')
        ok(grown_kb < (700000 if 'ASAN_OPTIONS' in os.environ else 400000), 'and its answers did not pile up', f'{grown_kb} KB')
        writer.join(30 * SLOW)
        ok(not writer.is_alive(), 'its own side learns that it is over')
        is_(other.call('begin', tool='t', key='after')['decision'], 'run', 'and others go on')
    mute.close()


def slow_peers(daemon):
    """Slow writers and readers are served at their own pace."""
    with daemon.connect() as slow, daemon.connect() as quick:
        line = Conn.line('begin', {'tool': 't', 'key': 'slow', 'args': {'a': 'b' * 2000}}, 1)
        for at in range(0, len(line), 40):
            slow.send_raw(line[at:at + 40])
            if at % 400 == 0:
                quick.call('info', timeout_s=5)
        is_(slow.recv()['result']['decision'], 'run', 'a line in fifty pieces, with others in between')
    with daemon.connect() as reader:
        for at in range(20):
            reader.send_raw(Conn.line('begin', {'tool': 't', 'key': 'large'}, at))
        got = 0
        while got < 20:
            # a little at a time
            data = reader.sock.recv(30000)
            got += data.count(b'\n')
        is_(got, 20, 'ten megabytes of answers, 30 KB at a time')


def many_connections(daemon):
    """1,000 connects, at once and one after the other."""
    with daemon.connect() as watch:
        fds_before, memory = fds(daemon), []
        for _ in range(3):
            conns = [daemon.connect() for _ in range(1000)]
            for at, conn in enumerate(conns):
                conn.send_raw(INFO % at)
            good = sum(conn.recv(timeout_s=60)['id'] == at for at, conn in enumerate(conns))
            is_(good, 1000, '1,000 connections are all answered')
            for conn in conns:
                conn.close()
            wait_until(lambda: fds(daemon) <= fds_before, 20, 'their descriptors are gone')
            memory.append(rss_kb(daemon))
        for at in range(1000):
            with daemon.connect() as conn:
                conn.send_raw(INFO % at)
                if at % 2:
                    conn.reset()
        wait_until(lambda: fds(daemon) <= fds_before, 20, 'and of those who left at once')
        ok(memory[2] - memory[0] < 20000, 'memory does not grow from round to round', memory)
        is_(watch.call('begin', tool='t', key='watch')['decision'], 'run', 'who was there before is served')


def garbage(daemon):
    """Megabytes of nothing useful."""
    before_kb = rss_kb(daemon)
    with daemon.connect() as conn:
        for _ in range(50):
            conn.send_raw(b'\n' * 100000)
        conn.send_raw(b'x' * 20000000 + b'\n')
        is_(conn.recv(timeout_s=60)['error']['code'], -32600, 'a line of 20 MB has one answer')
        for _ in range(2000):
            conn.send_raw(b'{"jsonrpc":"2.0","method":"begin","params":{"tool":"t"}}\n')
        conn.send_raw(INFO % 1)
        is_(conn.recv(timeout_s=60)['id'], 1, 'and blank lines and notifications have none')
    ok(rss_kb(daemon) - before_kb < 20000, 'and leave no memory behind', f'{before_kb} KB before, {rss_kb(daemon)} KB after')


def served(daemon):
    """A connection that is answered; None if it was refused."""
    conn = daemon.connect()
    try:
        conn.send_raw(INFO % 1)
        if conn.recv()['id'] == 1:
            return conn
    except OSError:
        pass
    conn.close()
    return None


def connections_max(cluster):
    with Daemon(cluster, config='max_connections = 10\n', tools=TOOLS) as small:
        # the connection that saw it listen may still be on its way out
        conns = [wait_until(lambda: served(small), 10, 'a place') for _ in range(10)]
        with small.connect() as refused:
            answer = refused.recv()
            is_((answer['id'], answer['error']['code'], answer['error']['data']['name']), (None, -32006, 'overloaded'), 'one too many is told so')
            is_(refused.recv_line(), b'', 'and closed')
        conns.pop().close()
        ok(wait_until(lambda: served(small), 10, 'a place is free again'), 'a place that is given up is taken again')
        for conn in conns:
            conn.call('info')
            conn.close()


def descriptors(cluster):
    """case 120: ulimit -n 64, 100 clients, then 80 close."""
    probe = Script()
    probe.says('landed', result='asked')
    with Daemon(cluster, tools=TOOLS + [probe.policy('asks')], config='sweep_interval = "100ms"\n', prefix=('prlimit', '--nofile=64:64'),
                start=False) as tight:
        tight.start()
        tight.ready()
        with tight.connect() as before:
            at, cpu = len(tight.log()), cpu_s(tight)
            conns = []
            for _ in range(100):
                try:
                    conns.append(tight.connect())
                except OSError:
                    pass
            is_(len(conns) >= 90, True, 'case 120: 100 clients connect')
            run = claim(before, 'probed', 'asks')
            before.call('unknown', **own_ids(run))
            row = wait_state(before, run['effect'], 'done')
            is_(row['by'], 'probe', 'case 120: a probe still gets its descriptors')
            cluster.psql("select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()")
            answer = wait_until(lambda: before.recv(before.send('begin', tool='t', key='reconnected')).get('result'), 20, 'the ledger is there again')
            ok(answer['decision'] in ('run', 'busy'), 'case 120: and so does the ledger\'s connection')
            started = before.call('info')['uptime_ms']
            wait_until(lambda: before.call('info')['uptime_ms'] > started + 1500, 20)
            ok(cpu_s(tight) - cpu < 5 * SLOW, 'case 120: little CPU', f'{cpu_s(tight) - cpu} s')
            lines = tight.grep('connections are taken|cannot accept', at)
            ok(1 <= len(lines) <= 4, 'case 120: one line an interval', lines)
            for conn in conns[:80]:
                conn.close()
            ok(wait_until(lambda: served(tight), 20, 'it serves again'), 'case 120: it serves again by itself')
            for conn in conns[80:]:
                conn.close()


hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
with Cluster() as cluster:
    with Daemon(cluster, tools=TOOLS, config='max_output = 1048576\n') as daemon:
        daemon.ready().settled(cluster)
        pipelined(daemon)
        never_reads(daemon)
        slow_peers(daemon)
        many_connections(daemon)
        garbage(daemon)
        is_(daemon.stop(), 0, 'the daemon ends in order')
    connections_max(cluster)
    descriptors(cluster)
    is_(cluster.invariants(), [], 'no invariant is broken')
done()
