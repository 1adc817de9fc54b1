#!/usr/bin/python3
"""effectctl watch: what it shows is true, over restarts and without a daemon, and the terminal that it runs on is its user's again
whichever way it ends."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from harness import *
from peer import HOSTILE, Peer

ENTER, LEAVE = '\x1b[?1049h\x1b[?25l', '\x1b[?25h\x1b[?1049l'
OURS = re.compile(r'\x1b\[\?1049[hl]|\x1b\[\?25[hl]|\x1b\[[HKJ]|\x1b\[2J')
ENV = {'LC_ALL': 'C.UTF-8', 'TERM': 'xterm'}


class Daemons:
    """What a played daemon tells: .begins may be changed at any time."""

    def __init__(self, tool='refund', **more):
        self.uptime_ms, self.runs, self.tool, self.more = 1000000, 0, tool, more
        self.peer = Peer(self.answer)

    def answer(self, request):
        if request['method'] == 'list':
            if 'incidents' in request['params']:
                return {'incidents': [{'at': '2026-01-01T00:00:00.000Z', 'tool': self.tool, 'key': self.tool, 'reason': self.tool}], 'cursor': None}
            return {'effects': [{'since': '2026-01-01T00:00:00.000Z', 'tool': self.tool, 'key': self.tool, 'effect': 'e'}], 'cursor': None}
        assert request['params'] == {'begins': True}, request
        self.uptime_ms += 1000
        return {'version': '1', 'protocol': 1, 'uptime_ms': self.uptime_ms, 'ready': True, 'database': {'state': 'up'},
                'open': {'pending': 1, 'unknown': 2, 'escalated': 3, 'by_age': {s: [1, 2, 3, 4, 5] for s in ('pending', 'unknown', 'escalated')}},
                'begins': {'total': {'run': self.runs, 'replay': 7}, 'n_tools': 1,
                           'tools': [{'namespace': 'default', 'tool': self.tool, 'begins': {'run': self.runs, 'replay': 7}}]}, **self.more}


class Terminal:
    """A terminal with `watch` in it, in a session of its own."""

    def __init__(self, path, *flags, rows=24, columns=80):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.keys = termios.tcgetattr(slave)
        self.seen = ''
        self.slave = slave

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen([program('effectctl'), '-s', path, 'watch', '--interval', '100ms', *flags], stdin=slave, stdout=slave, stderr=slave,
                                        env=dict(os.environ, **ENV), preexec_fn=own_terminal)  # pylint: disable=subprocess-popen-preexec-fn

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def look(self):
        while select.select([self.master], [], [], 0)[0]:
            try:
                more = os.read(self.master, 65536)
            except OSError:
                break
            self.seen += more.decode(errors='replace').replace('\r\r\n', '\r\n')  # the terminal adds one
        return self.seen

    def wait(self, pattern, what):
        wait_until(lambda: re.search(pattern, self.look(), re.S), 20, f'{what}: {pattern}')

    def pictures(self):
        """Each picture as lines, without our own sequences."""
        return [[OURS.sub('', line) for line in picture.split('\r\n')] for picture in self.look().split('\x1b[H')[1:]]

    def end(self):
        """Its exit status, and whether the terminal is what it was."""
        def ended():
            self.look()  # or it hangs in a write
            return self.process.poll() is not None
        wait_until(ended, 20, 'watch ends')
        self.look()
        same = termios.tcgetattr(self.slave) == self.keys
        os.close(self.slave)
        os.close(self.master)
        return self.process.returncode, same and self.seen.rstrip().endswith(LEAVE) and self.seen.count(ENTER) == self.seen.count(LEAVE)


def signals_and_keys():
    for how, send in {'q': lambda t: os.write(t.master, b'q'), 'Ctrl-C': lambda t: os.write(t.master, b'\x03'), 'SIGTERM': lambda t: t.process.send_signal(signal.SIGTERM),
                      'SIGHUP': lambda t: t.process.send_signal(signal.SIGHUP), 'its count': lambda t: None}.items():
        t = Terminal(Daemons().peer.path, *(('--count', '2') if how == 'its count' else ()))
        if how != 'its count':
            t.wait('begins/s 0.0', 'a second picture')
        send(t)
        want = {'q': 0, 'its count': 0, 'Ctrl-C': -signal.SIGINT, 'SIGTERM': -signal.SIGTERM, 'SIGHUP': -signal.SIGHUP}[how]
        is_(t.end(), (want, True), f'{how} ends it, and the terminal is given back')
    t = Terminal(Daemons().peer.path)
    t.wait('begins/s 0.0', 'a picture')
    os.write(t.master, b'xyz\n')
    n = len(t.pictures())
    wait_until(lambda: len(t.pictures()) > n + 2, 10, 'it goes on')
    ok('xyz' not in t.seen, 'keys that mean nothing are not seen')
    t.process.kill()
    t.process.wait()


def job_control():
    t = Terminal(Daemons().peer.path)
    t.wait('begins/s 0.0', 'a picture')
    os.write(t.master, b'\x1a')
    stopped = f'/proc/{t.process.pid}/stat'

    def state():
        t.look()
        with open(stopped, encoding='ascii', errors='replace') as stat:
            return stat.read().rsplit(')', 1)[1].split()[0]
    # an orphaned process group, as of a session's leader, is not stopped by the terminal; by the signal it can be
    t.process.send_signal(signal.SIGTSTP)
    try:
        wait_until(lambda: state() == 'T', 3, 'Ctrl-Z stops it')
        ok(t.seen.rstrip().endswith(LEAVE) and termios.tcgetattr(t.slave) == t.keys, 'stopped, it leaves the terminal as it was')
        t.process.send_signal(signal.SIGCONT)
    except TimeoutError:
        ok(True, 'nobody to stop it for')
    n = t.look().count(ENTER)
    wait_until(lambda: t.look().count(ENTER) >= max(n, 2) and t.seen.rfind('begins/s') > t.seen.rfind(ENTER), 10, 'it comes back')
    ok(True, 'brought back, it takes the screen again and draws it')
    os.write(t.master, b'q')
    is_(t.end(), (0, True), 'and gives it back at its end')


def sizes():
    t = Terminal(Daemons(tool='t' * 300).peer.path, rows=40, columns=200)
    t.wait('incidents.*incidents', 'two pictures')
    for rows, columns in ((10, 40), (3, 20), (1, 1), (50, 132)):
        n = len(t.pictures())
        t.resize(rows, columns)
        wait_until(lambda n=n: len(t.pictures()) > n + 2, 10, 'it is drawn anew')
        last = t.pictures()[-2]
        ok(len(last) <= rows and all(len(line) <= columns for line in last), f'a picture fits {rows} rows of {columns} columns', last)
    ok(any('begins/s' in line for line in last), 'and is whole where there is room')
    os.write(t.master, b'q')
    is_(t.end(), (0, True), 'it ends as ever')


def hostile():
    told = Daemons(tool=HOSTILE, version=HOSTILE, database={'state': HOSTILE, 'error': HOSTILE}, queues={HOSTILE: 1})
    told.peer.answers = [lambda request: (setattr(told, 'runs', told.runs + 5), told.answer(request))[1]]
    t = Terminal(told.peer.path, rows=60, columns=400)
    t.wait('a second.*a second', 'rates by tool')
    os.write(t.master, b'q')
    is_(t.end(), (0, True), 'it ends as ever')
    rest = OURS.sub('', t.seen).replace('\r\n', '\n')
    ok(not re.search('[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u200b]', rest), 'no name reaches the terminal raw', repr(rest[-2000:]))
    ok('\nstate: done' not in rest, 'nor fakes a line')
    like(rest, r'\\x1b\[2J', 'it is seen, escaped')


def rates_of_a_played_daemon():
    told = Daemons()
    told.peer.answers = [lambda request: (setattr(told, 'runs', told.runs + 30) if request['method'] == 'info' else None, told.answer(request))[1]]
    out = told.peer.ctl('watch', '--interval', '100ms', '--count', '3', env=ENV).stdout
    blocks = out.strip().split('\n\n20')
    like(out, r'^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\neffectd  1,', 'where there is no terminal it prints a block each time')
    like(blocks[0], r'\nbegins/s -\n', 'the first has no rates')
    is_(len(re.findall(r'\nbegins/s 30\.0, run 30\.0\n', out)), 2, 'then the difference over the daemon\'s own time')
    like(out, r'a second +run +ran +replay +busy +unknown +mismatch  tool\n +30\.0 +30\.0( +0\.0){5}  refund\n', 'and by tool')
    like(out, r'escalated: a person must decide\n  2026-\S+ refund refund e\n\nincidents\n  2026-', 'what waits for a person')
    is_(sum(request['method'] == 'list' for request in told.peer.requests()), 2, 'for which the ledger is asked once in a while')
    ok('\x1b' not in out, 'no sequences')
    # started anew: the counts begin at 0 again
    again = Daemons()
    again.runs = 500

    def restarts(request):
        if request['method'] == 'info' and len(again.peer.lines) > 2:
            again.uptime_ms = min(again.uptime_ms, 4000)
            again.runs = min(again.runs, 20)
        return again.answer(request)
    again.peer.answers = [restarts]
    out = again.peer.ctl('watch', '--interval', '100ms', '--count', '2', env=ENV).stdout
    like(out, r'\nbegins/s 5\.4, run 4\.0, replay 1\.4; the daemon was started anew\n', 'a daemon that was started anew is told as such')
    for odd in ({'begins': 3}, {'begins': {'total': []}}, {'begins': {'total': {'run': 'x'}, 'tools': [1, {'tool': 1}, {}]}}, {'uptime_ms': 'x'}, {'uptime_ms': 5}):
        out = Daemons(**odd).peer.ctl('watch', '--interval', '100ms', '--count', '2', env=ENV)
        is_((out.returncode, 'ERROR' in out.stderr), (0, False), f'{odd} does not trouble it')


def a_real_daemon():
    with Cluster() as cluster, Daemon(cluster, tools=[{'name': 'refund', 'key': 'k:{/id}'}, {'name': 'look', 'class': 'read'}]) as daemon:
        daemon.ready()
        argv = [program('effectctl'), '-s', daemon.socket, '--json', 'watch', '--interval', '200ms']
        with subprocess.Popen(argv, stdout=subprocess.PIPE, env=dict(os.environ, **ENV), text=True) as watch:
            def until(fact, what):
                deadline = time.monotonic() + 30 * SLOW
                while time.monotonic() < deadline:
                    told = json.loads(watch.stdout.readline())
                    if fact(told):
                        return told
                raise TimeoutError(what)
            with daemon.connect() as conn:
                for n in range(20):
                    conn.call('begin', tool='refund', args={'id': n % 10})
                    conn.call('begin', tool='look', key='k')
                told = until(lambda told: told.get('begins', {}).get('total', {}).get('pass') == 20, 'all are counted')
                is_(told['begins']['total'], {'run': 10, 'busy': 10, 'pass': 20}, 'what was told is counted by decision')
                is_({t['tool']: t['begins'] for t in told['begins']['tools']}, {'refund': {'run': 10, 'busy': 10}, 'look': {'pass': 20}}, 'and by tool')
                ok('begins' not in conn.call('info'), 'who does not ask is not told')
            daemon.kill()
            is_(until(lambda told: 'error' in told, 'it is gone')['schema'], 'effectctl.error/1', 'a daemon that is gone is told')
            daemon.start()
            told = until(lambda told: told.get('ready'), 'it is back')
            is_((watch.poll(), told['begins']['total']), (None, {}), 'and watched again when it is back')
            watch.terminate()
            is_(watch.wait(), -signal.SIGTERM, 'until it is told to end')
        out = ctl('watch', '--interval', '100ms', '--count', '2', socket=daemon.socket, env=ENV)
        is_(out.returncode, 0, 'with a daemon its looks end with 0')
        daemon.stop()
        out = ctl('watch', '--interval', '100ms', '--count', '2', socket=daemon.socket, env=ENV)
        is_(out.returncode, 69, 'without one with 69')
        like(out.stdout, r'\neffectd  no answer for 0 s: ', 'and it says so')
    for flags in (('--interval', '99ms'), ('--interval', '2'), ('--interval', '2h'), ('--count', '0'), ('--count', 'x'), ('now',)):
        is_(ctl('watch', *flags).returncode, 64, f'{" ".join(flags)} is refused')
    with open('/dev/full', 'w', encoding='ascii') as full:
        is_(subprocess.run([program('effectctl'), '-s', Daemons().peer.path, 'watch', '--interval', '100ms'], stdout=full, stderr=subprocess.DEVNULL, check=False).returncode, 70,
            'it ends where nobody can read it')


rates_of_a_played_daemon()
signals_and_keys()
job_control()
sizes()
hostile()
a_real_daemon()
done()
