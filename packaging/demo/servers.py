"""The processes of the demo: effectd, its embedded PostgreSQL and the provider, in one state folder. They outlive the
program that started them. Who runs is asked of the kernel, by who listens on the sockets: pid files grow stale, and
/proc is not everywhere."""
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import time

from lines import Lines

DEMO = os.path.dirname(os.path.realpath(__file__))
EXAMPLES = os.path.join(DEMO, '../../client/examples/tools.json')  # policies of agents that may come to play here
START_S, STOP_S = 60, 45
SOCKET_BYTES_MAX = 107


class Trouble(Exception):
    """What cannot go on; its text says why and what to do."""


def wait_until(fact, what, within_s):
    """Waits for a fact and returns its value."""
    until = time.monotonic() + within_s
    while not (value := fact()):
        if time.monotonic() > until:
            raise Trouble(f'{what}: not within {within_s} s')
        time.sleep(0.02)
    return value


def listener(path):
    """The process that listens on a Unix socket; None if nobody does."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(5)
        try:
            s.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        except OSError as error:
            raise Trouble(f'cannot see who listens on \'{path}\': {error.strerror or error}') from error
        return struct.unpack('3i', s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


def end(pid, first):
    """Ends a process by the signal `first`, past STOP_S by SIGKILL. Returns when it is gone."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        for sig in (first, signal.SIGKILL):
            signal.pidfd_send_signal(fd, sig)
            if select.select([fd], [], [], STOP_S)[0]:
                return
        raise Trouble(f'process {pid} cannot be ended')
    except ProcessLookupError:
        pass
    finally:
        os.close(fd)


class Servers:
    """All that runs in the state folder `state`, from the programs in `build`."""

    def __init__(self, build, state):
        self.build, self.state = build, state
        self.socket, self.config, self.log = (self.file(n) for n in ('effectd.sock', 'effectd.conf', 'effectd.log'))
        self.provider, self.book = self.file('provider.sock'), self.file('book.jsonl')
        self.notices = self.file('notices.jsonl')
        self.database = self.file('ledger/pg/run/.s.PGSQL.5432')

    def file(self, name):
        return os.path.join(self.state, name)

    def listeners(self):
        """{name: process} of what runs. The provider ends first, its callers' probes with it, the database last."""
        found = {'provider': listener(self.provider), 'effectd': listener(self.socket), 'database': listener(self.database)}
        return {name: pid for name, pid in found.items() if pid}

    def stop(self):
        """Stops all that runs; returns the names of what did. A database is met alone where its daemon was killed."""
        stopped = list(self.listeners())
        for name, path, sig in (('provider', self.provider, signal.SIGTERM), ('effectd', self.socket, signal.SIGTERM),
                                ('database', self.database, signal.SIGINT)):
            pid = listener(path)
            if pid:
                end(pid, sig)
        for path in (self.socket, self.provider):
            if os.path.lexists(path):
                os.unlink(path)
        if left := self.listeners():
            raise Trouble(f'still running: {left}')
        return stopped

    def is_ours(self):
        return os.path.exists(self.file('runs'))

    def remove(self):
        shutil.rmtree(self.state)

    def count_run(self):
        """The number of this run, from 0: what the ledger remembers of the earlier ones must not be met again."""
        with open(self.file('runs'), encoding='ascii') as f:
            run = int(f.read() or 0)
        self.write('runs', f'{run + 1}\n')
        return run

    def make_folder(self):
        """The folder, which the database's user must be able to pass through. A folder with other things in it is not touched."""
        if len(os.fsencode(self.database)) > SOCKET_BYTES_MAX:
            raise Trouble(f'\'{self.state}\' is too long for sockets: name another folder by QUICKSTART_STATE')
        try:
            os.makedirs(self.state, exist_ok=True)
            if os.listdir(self.state) and not self.is_ours():
                raise Trouble(f'\'{self.state}\' is not empty and not the quickstart\'s: name another folder by QUICKSTART_STATE')
            if os.geteuid() == 0:
                os.chmod(self.state, 0o755)
            if not self.is_ours():
                self.write('runs', '0\n')
        except OSError as error:
            raise Trouble(f'cannot use the folder \'{self.state}\': {error.strerror}; name another one by QUICKSTART_STATE'
                          ) from error

    def settle_in(self):
        """Writes config and policies: the folders of this very state stand in them. The probe and the notifier are copied
        there, as effectd runs nothing that somebody else could change: under sudo, the clone is its owner's."""
        os.makedirs(self.file('tools.d'), exist_ok=True)
        os.makedirs(self.file('programs'), mode=0o755, exist_ok=True)
        for name in ('probe', 'notify', 'lines.py'):
            # as a new file, whoever made the old one
            shutil.copyfile(os.path.join(DEMO, name), self.file(f'programs/{name}.new'))
            os.chmod(self.file(f'programs/{name}.new'), 0o755)
            os.rename(self.file(f'programs/{name}.new'), self.file(f'programs/{name}'))
        with open(os.path.join(DEMO, 'tools.json'), encoding='utf-8') as f:
            tools = f.read()
        for word, value in (('@PROGRAMS@', self.file('programs')), ('@PROVIDER@', self.provider)):
            tools = tools.replace(word, json.dumps(value)[1:-1])
        self.write('tools.d/demo.json', tools)
        shutil.copyfile(EXAMPLES, self.file('tools.d/examples.json'))
        self.write('effectd.conf', ''.join(f'{key} = {self.quoted(value)}\n' for key, value in (
            ('socket', self.socket), ('socket_group', ''), ('state_dir', self.file('ledger')),
            ('tools_dir', self.file('tools.d')), ('database', 'embedded'), ('sweep_interval', '100ms')))
            + f'notify {{\n  exec = {{{self.quoted(self.file("programs/notify"))}, {self.quoted(self.notices)}}}\n}}\n')

    def write(self, name, text):
        with open(self.file(name), 'w', encoding='utf-8') as f:
            f.write(text)

    @staticmethod
    def quoted(text):
        return '"' + text.replace('\\', '\\\\').replace('"', '\\"').replace('${', '\\${') + '"'

    def launch(self, argv, log):
        """Starts a process of its own session, which no Ctrl-C and no hang-up reaches."""
        with open(log, 'w', encoding='utf-8') as out:
            return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd='/', start_new_session=True)

    def start(self):
        """Starts both and waits until they serve. Returns the ledger's line of `info`."""
        provider = self.launch([os.path.join(DEMO, 'provider'), self.provider, self.book], self.file('provider.log'))
        daemon = self.launch([os.path.join(self.build, 'effectd'), '-c', self.config], self.log)
        wait_until(lambda: provider.poll() is not None or listener(self.provider), 'the provider listens', START_S)
        if provider.poll() is not None:
            raise Trouble(f'the provider ended at once, \'{self.file("provider.log")}\' says why')

        def ready():
            if daemon.poll() is not None:
                raise Trouble(f'effectd ended with status {daemon.returncode}')
            try:
                with Lines('effectd', self.socket) as ledger:
                    info = ledger.ask('info')
                return info if info['ready'] else None
            except OSError:
                return None

        return wait_until(ready, 'effectd is ready', START_S)

    def log_tail(self, n=15):
        try:
            with open(self.log, encoding='utf-8', errors='replace') as f:
                return f.read().splitlines()[-n:]
        except OSError:
            return []

    def network(self, how):
        """The provider's network from now on: up, lost or stuck."""
        with Lines('provider', self.provider) as provider:
            provider.send({'network': how})

    def booked(self, order):
        """The provider's book about one order."""
        if not os.path.exists(self.book):
            return []
        with open(self.book, encoding='utf-8') as f:
            return [entry for entry in map(json.loads, f) if entry['order_id'] == order]
