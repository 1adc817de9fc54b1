#!/usr/bin/python3
"""The daemon as its host sees it: a socket that nobody steals, room that runs out, what systemd is told, reload and stop."""
import datetime
import json
import os
import re
import select
import signal
import socket
import subprocess
import time

from harness import *
from prometheus import get, port_of, scrape
from talk import *

POLICIES = [{'name': 't', 'lease': '1h'}]


def refused(config_path, *flags):
    """(exit status, stderr) of a daemon that is to give up at once."""
    run = subprocess.run([program('effectd'), '-c', config_path, *flags], capture_output=True, text=True, timeout=60, check=False)
    return run.returncode, run.stderr


def held_socket(cluster):
    """cases 124 and 125"""
    with Daemon(cluster, tools=POLICIES) as first:
        first.ready()
        other = ('--state-dir', folder())
        inode = os.lstat(first.socket).st_ino
        is_(refused(first.config_path, *other)[0], 73, 'a second daemon on the same path refuses')
        is_(refused(first.config_path, '--socket', first.socket + '2')[0], 73, 'and one on the same state folder')
        first.signal(signal.SIGSTOP)
        is_(refused(first.config_path, *other)[0], 73, 'it refuses while the first one stands still, too')
        os.rename(first.socket + '.lock', first.socket + '.away')
        is_(refused(first.config_path, *other)[0], 73, 'and without the lock file')
        os.rename(first.socket + '.away', first.socket + '.lock')
        first.signal(signal.SIGCONT)
        is_(os.lstat(first.socket).st_ino, inode, 'nothing was unlinked')
        with first.connect() as conn:
            ok(conn.call('info')['ready'], 'the first one is still reachable')
        first.kill()
        ok(os.path.exists(first.socket), 'kill -9 leaves the socket')
        first.start()
        ok(first.grep('removed the stale socket'), 'the next daemon replaces it')
        os.rename(first.socket, first.socket + '.moved')
        with open(first.socket, 'w', encoding='ascii') as out:
            out.write('mine')
        is_(first.stop(), 0, 'a daemon whose path was taken by a file stops in order')
        with open(first.socket, encoding='ascii') as left:
            is_(left.read(), 'mine', 'and leaves the file')
        is_(refused(first.config_path)[0], 73, 'a regular file at the path: refused')
        os.unlink(first.socket)
        os.symlink('/nonexistent', first.socket)
        is_(refused(first.config_path)[0], 73, 'a symbolic link at the path: refused')
        is_(os.readlink(first.socket), '/nonexistent', 'and left alone')
        os.unlink(first.socket)
        first.start()
        is_(first.stop(), 0, 'with the path free it starts and stops')
        ok(not os.path.exists(first.socket), 'and takes its socket with it')


def cpu_ms(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as stat:
        fields = stat.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 // os.sysconf('SC_CLK_TCK')


def serves(daemon):
    try:
        with daemon.connect() as conn:
            return conn.call('info')['ready']
    except (ConnectionError, KeyError):
        return False  # told that it is overloaded, and closed


def room(cluster):
    """case 120"""
    probe = Script()
    probe.says('landed', result=1)
    with Daemon(cluster, tools=probe.policy('p'), prefix=['/bin/sh', '-c', 'ulimit -n 64; exec "$0" "$@"']) as daemon:
        daemon.ready()
        conns = [daemon.connect() for _ in range(100)]
        told = [conn.recv_line(5) for conn in conns[-30:]]
        ok(all(b'"overloaded"' in line for line in told), 'whoever comes beyond the limit is told so')
        before, asleep = cpu_ms(daemon.process.pid), conns[0].sock
        asleep.settimeout(1)
        try:
            asleep.recv(1)
        except socket.timeout:
            pass
        ok(cpu_ms(daemon.process.pid) - before < 200 * SLOW, 'a full house costs no CPU')
        ok(len(daemon.grep('connections are taken')) <= 2, 'and one line an interval')
        with_room = conns[0]
        run = claim(with_room, 'while-full', tool='p')
        with_room.call('unknown', **own_ids(run))
        wait_state(with_room, run['effect'], 'done')
        ok(True, 'the ledger and probes still get their descriptors')
        for conn in conns[20:]:
            conn.close()
        ok(wait_until(lambda: serves(daemon), 10, 'room for another'), 'it serves again by itself')
        for conn in conns[:20]:
            conn.close()


def service():
    """case 138, and 136 as far as systemd is told"""
    manager = Manager()
    env = {'NOTIFY_SOCKET': manager.path, 'WATCHDOG_USEC': '400000'}
    with Daemon(f'host={folder()} dbname=none', tools=POLICIES, env=env) as daemon:
        manager.wait('READY=1')
        manager.wait('WATCHDOG=1', 5)
        ok(any(re.search('STATUS=.*ledger away since .*No such file', line) for line in manager.look()),
           'ready, alive and saying why while the ledger is away')
        daemon.hup()
        manager.wait('RELOADING=1')
        manager.wait('READY=1', 2)
        ok(True, 'a reload is told')
        daemon.signal(signal.SIGSTOP)
        manager.look()
        manager.told.clear()
        manager.sock.settimeout(1)
        try:
            manager.told.append(manager.sock.recv(4096).decode())
        except socket.timeout:
            pass
        manager.sock.setblocking(False)
        is_(manager.told, [], 'a daemon that hangs says nothing')
        daemon.signal(signal.SIGCONT)
        is_(daemon.stop(), 0, 'stops in order without a ledger')
        manager.wait('STOPPING=1')


def unresolved():
    """case 136: a ledger's host that does not resolve is told wherever one looks, since when and why, and tried again and again."""
    manager = Manager()
    with Daemon('host=ledger.invalid dbname=none', {'metrics_listen': '127.0.0.1:0'}, POLICIES, env={'NOTIFY_SOCKET': manager.path}) as daemon, \
            daemon.connect() as conn:
        down = wait_until(lambda: 'error' in conn.call('info')['database'] and conn.call('info')['database'], 30, 'it was tried')
        is_((down['state'], conn.call('info')['ready']), ('down', False), 'case 136: info: down, not ready')
        like(down['error'], 'ledger.invalid', 'case 136: and why')
        out = daemon.ctl('status')
        is_(out.returncode, 69, 'case 136: status is not 0')
        like(out.stdout, f'not ready\n(.*\n)*ledger +down since {down["since"]}.*\n(.*\n)*error +.*ledger.invalid', 'and says since when')
        ok(wait_until(lambda: any('ledger away since' in line and 'ledger.invalid' in line for line in manager.look()), 10), 'case 136: so does systemd\'s status')
        is_(conn.error('begin', tool='t', key='k', deadline_ms=200)['data']['name'], 'unavailable', 'case 136: nobody is told run')
        is_(conn.call('info')['database']['since'], down['since'], 'case 136: down since then, however often it was tried')
        like(get(port_of(daemon), '/readyz')[2], f'^not ready: the ledger is away since {down["since"]}: .*ledger.invalid', 'case 136: and /readyz')
        page = scrape(daemon)
        is_(page.get('effectd_ledger_up'), 0, 'case 136: a metric says so')
        since = datetime.datetime.fromisoformat(down['since'].replace('Z', '+00:00')).timestamp()
        ok(0 <= page.get('effectd_ledger_state_change_timestamp_seconds') - since < 0.002, 'case 136: and since when')
        tried = page.get('effectd_ledger_connection_failures_total')
        ok(wait_until(lambda: scrape(daemon).get('effectd_ledger_connection_failures_total') > tried, 30), 'case 136: and it goes on trying')
        is_(daemon.stop(), 0, 'it stops in order')


class Unit:
    """A daemon under Type=notify, Restart=always and a watchdog, as systemd keeps it: looked after by tick()."""

    def __init__(self, database, watchdog_s):
        self.watchdog_s, self.manager = watchdog_s, Manager()
        self.daemon = Daemon(database, tools=POLICIES, start=False,
                             env={'NOTIFY_SOCKET': self.manager.path, 'WATCHDOG_USEC': str(int(watchdog_s * 1e6))})
        self.starts, self.bitten = 0, 0
        self._start()

    def _start(self):
        self.starts += 1
        self.manager.look()
        self.manager.told.clear()
        self.daemon.start(wait=False)
        self.heard = time.monotonic()

    def tick(self):
        select.select([self.manager.sock], [], [], 0.05)
        if self.manager.n('WATCHDOG=1') or self.manager.n('READY=1'):
            self.heard = time.monotonic()
            self.manager.told.clear()
        if time.monotonic() - self.heard > self.watchdog_s:
            self.bitten += 1
            self.daemon.kill()
        if not self.daemon.running():
            self._start()

    def run_until(self, fact):
        wait_until(lambda: self.tick() or fact(), 120)


def supervised():
    """case 138: three minutes without a database under a watchdog of ten seconds, in little; then a loop that hangs."""
    cluster = Cluster()
    cluster.stop()
    unit = Unit(cluster, 2 * SLOW)
    over = time.monotonic() + rounds_of(5, 18) * unit.watchdog_s
    unit.run_until(lambda: time.monotonic() > over)
    is_((unit.starts, unit.bitten), (1, 0), 'case 138: while the database is away nothing is started again')
    cluster.start()
    with unit.daemon.connect() as conn:
        unit.run_until(lambda: conn.call('info')['ready'])
        unit.daemon.signal(signal.SIGSTOP)
    unit.run_until(lambda: unit.starts == 2)
    is_(unit.bitten, 1, 'case 138: a loop that hangs is, by the watchdog')
    unit.run_until(lambda: any('is there' in line for line in unit.daemon.log()[-5:]))
    is_((unit.starts, unit.bitten), (2, 1), 'case 138: once, and then all is well')
    unit.daemon.kill()
    cluster.stop()


def reload(cluster):
    with Daemon(cluster, tools=POLICIES) as daemon, daemon.ready().connect() as conn:
        def hup(word):
            seen = len(daemon.log())
            daemon.hup()
            return daemon.wait_log(f'event=reload .*{word}', after=seen)

        daemon.set_tools(POLICIES + [{'name': 'look', 'class': 'read'}])
        hup('in force')
        is_(conn.call('begin', tool='look')['decision'], 'pass', 'a new policy counts for old connections, too')
        daemon.set_tools({'a.json': {'name': 'look', 'class': 'reed'}, 'b.json': {'name': 'look2', 'class': 'read'}})
        like(hup('as before'), '/class', 'one fault: the whole reload is refused, with the pointer')
        is_(conn.call('begin', tool='look')['decision'], 'pass', 'and the old policies stay')
        daemon.set_tools(POLICIES)
        daemon.configure('max_line = 5000\nsocket_mode = 0600\nnamespace else { operators = {"user:0"} }\n')
        like(hup('next start'), 'socket_mode$|socket_mode"', 'what waits for the next start is named')
        wait_until(lambda: conn.call('info')['limits']['max_line'] == 5000, 10, 'the limit changes')
        is_(conn.error('begin', tool='t', key='k')['data']['name'], 'denied', 'rights of old connections are judged anew')
        daemon.configure('max_lime = 5000\n')
        like(hup('as before'), 'max_line', 'an unknown key is refused with the nearest name')


def stop(cluster):
    """case 139"""
    with Daemon(cluster, tools=POLICIES) as daemon:
        daemon.ready()
        for turn in range(5):
            with daemon.connect() as conn, daemon.connect() as waiter:
                runs = [claim(conn, f'stop-{turn}-{i}') for i in range(50)]
                waiter.send('begin', tool='t', key=f'stop-{turn}-0', wait_ms=60000)
                with daemon.connect() as other:
                    other.call('info')  # the waiter's line was read before this one
                for run in runs:
                    conn.send('complete', **own_ids(run), result={'turn': turn})
                daemon.signal(signal.SIGTERM)
                answers = []
                try:
                    while line := conn.recv_line():
                        answers.append(json.loads(line))
                except ConnectionResetError:
                    pass
                busy = waiter.recv()['result']['decision']
            is_(daemon.wait(), 0, 'a stop in the middle ends in order')
            ok(busy in ('busy', 'replay'), 'who waited is told something', busy)
            ok(all('result' in answer for answer in answers), 'what was begun is answered')
            daemon.start().ready()
            with daemon.connect() as conn:
                states = [state_of(conn, run['effect']) for run in runs]
                ok(states.count('done') >= len(answers), f'nothing answered is lost ({len(answers)} of 50 were answered)', states)
        cluster.freeze()
        with daemon.connect() as conn:
            conn.send('begin', tool='t', key='frozen')
            daemon.signal(signal.SIGTERM)
            is_(daemon.wait(30), 0, 'a ledger that hangs does not hold the stop for ever')
        cluster.thaw()


with Cluster() as cluster:
    seed()
    held_socket(cluster)
    room(cluster)
    service()
    unresolved()
    supervised()
    reload(cluster)
    stop(cluster)
    is_(cluster.invariants(), [], 'no invariant is broken')
done()
