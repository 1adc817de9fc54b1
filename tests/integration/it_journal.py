#!/usr/bin/python3
"""Where stderr is systemd's journal, each log line is an entry with fields to query by: the values as they are, whatever they
hold, and no secret. Where the journal takes none, lines come as they do without it. Its socket here is one of ours, bound
over the machine's in a mount namespace of the daemon's own (and a user namespace where we are not root)."""
import os
import re
import select
import socket
import struct
import threading

from harness import *
from prometheus import Page, get

UNSHARE = ['unshare', '--mount', '--propagation', 'private'] + ([] if os.getuid() == 0 else ['--user', '--map-root-user'])
SECRET = 'sk-canary-4242424242424242'
TOOLS = [{'name': 'refund "x"', 'key': 'refund:{/order}', 'secret': ['/card']}]


class Journal:
    """/run/systemd/journal/socket as the daemon sees it; its entries as journald reads them."""

    def __init__(self):
        self.dir = folder()
        os.chmod(self.dir, 0o755)
        path = os.path.join(self.dir, 'socket')
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(path)
        os.chmod(path, 0o666)
        self.entries = []
        self.reads = threading.Event()  # else it hangs
        self.reads.set()
        threading.Thread(target=self._run, daemon=True).start()
        # where the machine has no such folder, none is made in its own /run
        script = ('[ -d /run/systemd/journal ] || { mount -t tmpfs run /run && mkdir -p /run/systemd/journal; } && '
                  f'mount --bind {self.dir} /run/systemd/journal && exec "$@"')
        self.prefix = [*UNSHARE, '/bin/sh', '-c', script, 'sh']

    def _run(self):
        while self.reads.wait():
            if select.select([self.sock], [], [], 0.1)[0] and self.reads.is_set():
                self.entries.append(self._entry(self.sock.recv(1 << 20)))

    def end(self):
        """Whoever sends to its path is refused from now on."""
        self.reads.clear()
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()

    @staticmethod
    def _entry(data):
        """The native protocol: NAME=value lines, or NAME, a length of eight bytes and the value."""
        fields = {}
        while data:
            line, _, rest = data.partition(b'\n')
            if b'=' in line:
                name, _, value = line.partition(b'=')
            else:
                size, = struct.unpack('<Q', rest[:8])
                name, value, rest = line, rest[8:8 + size], rest[8 + size + 1:]
            assert name.decode() not in fields, f'{name} twice'
            fields[name.decode()] = value
            data = rest
        return fields

    def wait(self, **fields):
        """The first entry that has these fields."""
        want = {name: value.encode() for name, value in fields.items()}
        return wait_until(lambda: [e for e in self.entries if want.items() <= e.items()], 20, f'an entry with {fields}')[0]


def stream_of(path):
    with open(path, 'ab') as log:
        st = os.fstat(log.fileno())
    return f'{st.st_dev}:{st.st_ino}'


def daemon_of(cluster, journal, **how):
    daemon = Daemon(cluster, tools=TOOLS, prefix=journal.prefix, start=False, **how)
    daemon.env['JOURNAL_STREAM'] = stream_of(daemon.log_path)
    return daemon


def lines_are_entries(cluster):
    journal = Journal()
    with daemon_of(cluster, journal) as daemon:
        daemon.start()
        daemon.ready()
        with daemon.connect() as conn:
            claim = conn.call('begin', tool='refund "x"', args={'order': 'a=b', 'card': SECRET}, run='r 1', call='call\u009b1')
            conn.call('complete', effect=claim['effect'], token=claim['token'], result={'card': SECRET})
        entry = journal.wait(EFFECTD_EVENT='begin')
        is_({name: entry.get(name) for name in ['PRIORITY', 'EFFECTD_NAMESPACE', 'EFFECTD_TOOL', 'EFFECTD_EFFECT', 'EFFECTD_KEY', 'EFFECTD_DECISION',
                                                'EFFECTD_ATTEMPT', 'EFFECTD_RUN', 'EFFECTD_CALL', 'SYSLOG_IDENTIFIER']},
            {'PRIORITY': b'6', 'EFFECTD_NAMESPACE': b'default', 'EFFECTD_TOOL': b'refund "x"', 'EFFECTD_EFFECT': claim['effect'].encode(),
             'EFFECTD_KEY': claim['key'].encode(), 'EFFECTD_DECISION': b'run', 'EFFECTD_ATTEMPT': b'1', 'EFFECTD_RUN': b'r 1',
             'EFFECTD_CALL': 'call\u009b1'.encode(), 'SYSLOG_IDENTIFIER': b'effectd'}, 'a line is an entry with fields')
        like(entry['MESSAGE'].decode(), r'^\d{4}-\d\d-\d\dT\S+Z info event=begin .*tool="refund \\"x\\"" .*decision=run', 'its message is the line')
        journal.wait(EFFECTD_EVENT='complete')
        cluster.immediate()
        is_(journal.wait(EFFECTD_EVENT='ledger', PRIORITY='4')['PRIORITY'], b'4', 'a warning is one to the journal')
        cluster.start()
        journal.wait(EFFECTD_EVENT='ledger', PRIORITY='6')
        is_(daemon.log(), [], 'nothing comes to stderr')
        ok(not [e for e in journal.entries for value in e.values() if SECRET.encode() in value], 'no entry holds a secret')


def large_values_are_whole(cluster):
    journal = Journal()
    with daemon_of(cluster, journal, config='log_format = "json"\n') as daemon:
        daemon.start()
        daemon.ready()
        owner = 'é' * 120
        with daemon.connect() as conn:
            conn.call('begin', tool='refund "x"', key='k' * 255, run=owner, step=owner, args={'order': 1})
        entry = journal.wait(EFFECTD_EVENT='begin')
        is_((entry['EFFECTD_KEY'], entry['EFFECTD_RUN'].decode()), (b'k' * 255, owner), 'long values are whole')
        like(entry['MESSAGE'].decode(), r'^\{"ts":.*\}$', 'the message is what log_format says')


def without_a_socket_lines_come_as_before(cluster):
    journal = Journal()
    os.unlink(os.path.join(journal.dir, 'socket'))
    with daemon_of(cluster, journal) as daemon:
        daemon.start()
        daemon.ready()
        like(daemon.wait_log('event=start'), r'^<6>\d{4}-', 'where the journal takes no entries, a line has its priority')


def elsewhere_nothing_changes(cluster):
    journal = Journal()
    with daemon_of(cluster, journal) as daemon:
        daemon.env['JOURNAL_STREAM'] = '1:1'
        daemon.start()
        daemon.ready()
        like(daemon.wait_log('event=start'), r'^\d{4}-', 'where stderr is not the journal, lines are as they were')
        is_(journal.entries, [], 'and the journal gets none')


def a_journal_that_ends_costs_no_line(cluster):
    journal = Journal()
    with daemon_of(cluster, journal) as daemon:
        daemon.start()
        daemon.ready()
        journal.wait(EFFECTD_EVENT='start')
        journal.end()
        daemon.hup()
        like(daemon.wait_log('event=reload'), r'^<6>', 'what the journal refuses comes to stderr')


def a_journal_that_hangs_holds_up_nobody(cluster):
    journal = Journal()
    with daemon_of(cluster, journal, config={'metrics_listen': '127.0.0.1:0'}) as daemon:
        daemon.start()
        daemon.ready()
        port = int(re.search(rb':(\d+)/metrics', journal.wait(EFFECTD_EVENT='metrics')['EFFECTD_MSG']).group(1))
        journal.reads.clear()
        with daemon.connect() as conn:
            for n in range(500):  # more than its queue holds
                conn.call('begin', tool='refund "x"', args={'order': n})
        ok(True, 'begins are answered while the journal hangs')
        lost = Page(get(port, '/metrics')[2]).get('effectd_log_lines_lost_total')
        ok(lost > 0, f'and the lines that it did not take are counted ({lost:.0f})')
        is_(daemon.log(), [], 'stderr, which is the same journal, is left alone')
        journal.reads.set()
        # the first lines may still find the queue full
        wait_until(lambda: daemon.hup() or [e for e in journal.entries if e['EFFECTD_EVENT'] == b'reload'], 20, 'a reload is told')
        ok(True, 'when it goes on, so do the entries')


with Cluster() as cluster:
    lines_are_entries(cluster)
    large_values_are_whole(cluster)
    without_a_socket_lines_come_as_before(cluster)
    elsewhere_nothing_changes(cluster)
    a_journal_that_ends_costs_no_line(cluster)
    a_journal_that_hangs_holds_up_nobody(cluster)
done()
