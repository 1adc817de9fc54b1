"""What every integration test stands on: a private PostgreSQL, a daemon, connections, TAP. Standard library only.

    #!/usr/bin/python3
    from harness import *                       # the test's own folder is on the path

    plan(2)                                     # or done() alone: the plan then comes at the end
    with Cluster() as cluster, Daemon(cluster, tools=REFUND) as daemon:
        conn = daemon.connect()
        answer = conn.call('begin', tool='refund', key='a')
        is_(answer['decision'], 'run', 'a fresh key runs')
        cluster.immediate()                     # pull the plug
        is_(conn.error('begin', tool='refund', key='b')['data']['name'], 'unavailable', 'fails closed')
    done()

Each test starts its own servers in a folder of its own and leaves nothing behind, whichever way it ends (but for
SIGKILL). EFFECTD_KEEP=1 keeps the folder. Deadlines are multiplied by EFFECTD_SLOW (default 1; 3 where the build is
sanitized). Nothing here sleeps for a time: wait_until() waits for a fact.
"""
import atexit
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import uuid

__all__ = ['BUILD', 'POOLER', 'SRC', 'SLOW', 'Cluster', 'Conn', 'Daemon', 'RpcError', 'bail_out', 'ctl', 'diag', 'done', 'folder',
           'is_', 'isnt', 'like', 'note', 'ok', 'plan', 'program', 'request_id', 'rounds_of', 'seed', 'wait_until']

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BUILD = os.path.abspath(os.environ.get('EFFECTD_BUILD', os.path.join(SRC, 'build')))
TORTURE = bool(os.environ.get('EFFECTD_TORTURE'))
SLOW = float(os.environ.get('EFFECTD_SLOW', '3' if 'ASAN_OPTIONS' in os.environ else '1'))
# where the server's programs are, and psql and its like (another folder where the server comes without them)
PG_BIN = os.environ.get('PG_BIN', '/usr/lib/postgresql/15/bin')
PG_CLIENT_BIN = os.environ.get('PG_CLIENT_BIN', PG_BIN if os.path.exists(os.path.join(PG_BIN, 'psql')) else
                               '/usr/lib/postgresql/15/bin')
POOLER = os.environ.get('EFFECTD_POOLER')  # see pooler.py
PG_USER = 'postgres'  # whom the server runs as when we are root; else ourselves
POLL_S = 0.01


# ---- TAP ------------------------------------------------------------------------------------------------------------

_tap = {'n': 0, 'failed': 0, 'planned': None, 'done': False}


def plan(n):
    """Says beforehand how many there will be; done() then checks it."""
    _tap['planned'] = n
    print(f'1..{n}', flush=True)


def ok(good, name, why=None):
    """One test, and whether it is good; `why` is told when it is not."""
    _tap['n'] += 1
    _tap['failed'] += not good
    name = str(name).replace('#', '\\#')
    print(f'{"ok" if good else "not ok"} {_tap["n"]} - {name}', flush=True)
    if not good:
        frame = sys._getframe(1)
        while frame.f_code.co_filename == __file__:
            frame = frame.f_back
        diag(f'{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}' + (f': {why}' if why is not None else ''))
    return bool(good)


def is_(got, want, name):
    return ok(got == want, name, f'\n  got  {got!r}\n  want {want!r}')


def isnt(got, unwanted, name):
    return ok(got != unwanted, name, f'got {got!r}')


def like(got, pattern, name):
    return ok(re.search(pattern, got), name, f'\n  got     {got!r}\n  pattern {pattern!r}')


def note(text):
    """A remark in the test's output that is no result."""
    for line in str(text).splitlines():
        print(f'# {line}', flush=True)


diag = note


def done():
    """Ends the test: prints the plan if none was, exits 0 only if all was good."""
    _tap['done'] = True
    if _tap['planned'] is None:
        print(f'1..{_tap["n"]}', flush=True)
    elif _tap['planned'] != _tap['n']:
        diag(f'planned {_tap["planned"]}, ran {_tap["n"]}')
        sys.exit(1)
    sys.exit(1 if _tap['failed'] else 0)


def bail_out(why):
    _tap['done'] = True
    print(f'Bail out! {why}', flush=True)
    sys.exit(1)


def _excepthook(kind, value, trace):
    diag(''.join(traceback.format_exception(kind, value, trace)))
    _tap['failed'] += 1
    for daemon in list(Daemon.alive):
        diag(f'last lines of {daemon.log_path}:')
        for line in daemon.log()[-30:]:
            diag('  ' + line)
    print('Bail out! the test itself failed', flush=True)


sys.excepthook = _excepthook


def seed():
    """Seeds `random` from EFFECTD_SEED or anew, and prints it, so that a failure can be had again."""
    value = int(os.environ.get('EFFECTD_SEED', str(random.SystemRandom().getrandbits(32))))
    random.seed(value)
    note(f'seed {value} (EFFECTD_SEED={value} repeats it)')
    return value


def rounds_of(reduced, full):
    """How many rounds (or seconds, keys, ...) this run does: `reduced` in tests/run, `full` under make torture-PART."""
    return full if TORTURE else reduced


# ---- waiting, folders, programs -------------------------------------------------------------------------------------

def wait_until(fact, deadline_s=10, what=None):
    """Waits until fact() is true and returns its value. Raises TimeoutError past deadline_s (times SLOW)."""
    until = time.monotonic() + deadline_s * SLOW
    while True:
        value = fact()
        if value:
            return value
        if time.monotonic() > until:
            raise TimeoutError(f'not within {deadline_s * SLOW:g} s: {what or getattr(fact, "__name__", fact)}')
        select.select([], [], [], POLL_S)


_folders = []


def folder():
    """A new folder that lives as long as the test; short, as socket paths end at 107 bytes; any user may enter."""
    path = tempfile.mkdtemp(prefix='effectd-it-', dir='/tmp')
    os.chmod(path, 0o755)
    _folders.append(path)
    return path


def _cleanup():
    for daemon in list(Daemon.alive):
        daemon.kill()
    for cluster in list(Cluster.alive):
        cluster.immediate()
    for pooler in list(Cluster.poolers):
        pooler.kill()
    for path in _folders:
        if os.environ.get('EFFECTD_KEEP'):
            note(f'kept {path}')
        else:
            shutil.rmtree(path, ignore_errors=True)


atexit.register(_cleanup)
for _sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(_sig, lambda number, frame: sys.exit(128 + number))


def program(name):
    """The path of one of our programs in the build under test."""
    path = os.path.join(BUILD, name)
    if not os.access(path, os.X_OK):
        bail_out(f'{path} is not there: build it first, or say where by EFFECTD_BUILD')
    return path


def ctl(*args, socket=None, stdin=None, env=None, timeout_s=60):
    """Runs effectctl and returns the CompletedProcess (text)."""
    argv = [program('effectctl')] + (['-s', socket] if socket else []) + [str(a) for a in args]
    return subprocess.run(argv, input=stdin, env=dict(os.environ, **(env or {})), timeout=timeout_s * SLOW,
                          stdin=subprocess.DEVNULL if stdin is None else None, capture_output=True, text=True,
                          check=False)


def request_id():
    return str(uuid.UUID(int=random.getrandbits(128), version=4))


# ---- PostgreSQL -----------------------------------------------------------------------------------------------------

class Cluster:
    """A private PostgreSQL: Unix socket only, a database `effectd`, superuser postgres without a password.

    settings: {'synchronous_standby_names': 'nobody'} and the like; fsync is off unless settings say otherwise.
    """
    alive = []
    poolers = []

    def __init__(self, settings=None, start=True, dir=None):
        self.dir = dir or folder()
        self.data = os.path.join(self.dir, 'data')
        self.settings = {'fsync': 'off', 'listen_addresses': '', 'unix_socket_directories': self.dir,
                         'max_connections': '100', 'shared_buffers': '32MB', 'log_min_messages': 'warning',
                         **(settings or {})}
        self.log_path = os.path.join(self.dir, 'postgres.log')
        self.process = self.pooler = None
        self.as_user = {'user': PG_USER, 'group': PG_USER, 'extra_groups': []} if os.getuid() == 0 else {}
        if self.as_user:
            shutil.chown(self.dir, PG_USER, PG_USER)
        if POOLER:
            from pooler import Pooler
            self.pooler = Pooler(self, POOLER, os.path.join(PG_CLIENT_BIN, 'psql'))
            Cluster.poolers.append(self.pooler)
            self.pooler.start()
        self._make()
        if start:
            self.start()
            self._fill()

    def _make(self):
        self._run('initdb', '-D', self.data, '-U', 'postgres', '-A', 'trust', '--no-sync', '--no-instructions',
                  '--encoding=UTF8', '--locale=C.UTF-8')

    def _fill(self):
        self.psql('create database effectd', database='postgres')

    def _run(self, name, *args):
        subprocess.run([os.path.join(PG_BIN if os.path.exists(os.path.join(PG_BIN, name)) else PG_CLIENT_BIN, name), *args], check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, cwd='/', **self.as_user)

    def conninfo(self, user='postgres', database='effectd', **more):
        """For the daemon; through the pooler, if there is one."""
        words = {'host': self.dir, 'port': self.pooler.port if self.pooler else 5432, 'user': user, 'dbname': database, **more}
        return ' '.join(f'{name}={value}' for name, value in words.items())

    def start(self):
        """Starts the server and waits until it takes connections."""
        assert not self.process
        argv = [os.path.join(PG_BIN, 'postgres'), '-D', self.data]
        for name, value in self.settings.items():
            argv += ['-c', f'{name}={value}']
        with open(self.log_path, 'ab') as log:
            # a session of its own: a Ctrl-C or the runner's SIGTERM comes to the test, which stops the server in order
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd='/',
                                            start_new_session=True, **self.as_user)
        Cluster.alive.append(self)
        wait_until(self._ready, 60, 'PostgreSQL is ready')

    def _ready(self):
        if self.process.poll() is not None:
            raise RuntimeError(f'PostgreSQL ended: {open(self.log_path, errors="replace").read()[-2000:]}')
        try:
            with open(os.path.join(self.data, 'postmaster.pid'), encoding='ascii') as pid_file:
                lines = pid_file.read().split('\n')
        except FileNotFoundError:
            return False
        return int(lines[0] or 0) == self.process.pid and len(lines) > 7 and lines[7].strip() in ('ready', 'standby')

    def _end(self, sig):
        if self.process:
            self.process.send_signal(sig)
            self.process.wait(60 * SLOW)
            self.process = None
            Cluster.alive.remove(self)

    def stop(self):
        """A fast shutdown: sessions are cut off, the data is whole."""
        self._end(signal.SIGINT)

    def immediate(self):
        """Pulls the plug: no checkpoint, recovery at the next start."""
        self._end(signal.SIGQUIT)

    def kill(self):
        """Every process of it at once and without a word, as when its machine is gone."""
        self.freeze()
        self._signal_all(signal.SIGKILL)
        self._end(signal.SIGKILL)

    def restart(self):
        self.stop()
        self.start()

    def freeze(self):
        """Stops every process of the server where it stands (it neither answers nor closes); thaw() lets them go on."""
        self.process.send_signal(signal.SIGSTOP)  # first, so that it starts no one more meanwhile
        self._signal_all(signal.SIGSTOP)

    def thaw(self):
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, sig):
        for pid in self._pids():
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                pass  # a backend may end at any time

    def _pids(self):
        out = subprocess.run(['ps', '-o', 'pid=', '--ppid', str(self.process.pid)], capture_output=True, text=True,
                             check=False).stdout
        return [self.process.pid] + [int(pid) for pid in out.split()]

    def set(self, name, value):
        """alter system + reload, waited for. None resets."""
        what = f'set {name} = \'{value}\'' if value is not None else f'reset {name}'
        # the command line wins over alter system, so what is to change must not stand there
        assert name not in self.settings, f'{name} stands on the command line'
        self.psql(f'alter system {what}', 'select pg_reload_conf()', database='postgres')
        if value is not None:
            wait_until(lambda: self.psql(f'show {name}', database='postgres') == str(value), 10, f'{name} = {value}')

    def psql(self, *commands, database='effectd', user='postgres'):
        """Each command in turn (own transaction each); the text of what they return, fields by |, no final newline."""
        argv = [os.path.join(PG_CLIENT_BIN, 'psql'), '-h', self.dir, '-U', user, '-d', database, '-XAtq', '-v', 'ON_ERROR_STOP=1']
        for command in commands:
            argv += ['-c', command]
        done_ = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd='/')
        if done_.returncode:
            raise RuntimeError(f'psql: {done_.stderr.strip()}')
        return done_.stdout.rstrip('\n')

    def rows(self, command, **how):
        """[{column: value}] of one select, types as JSON has them."""
        return json.loads(self.psql(f'select coalesce(json_agg(row_to_json(t)), \'[]\') from ({command}) t', **how))

    def invariants(self):
        """What effect.check_invariants() finds: [] where all is well."""
        return self.rows('select * from effect.check_invariants()')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.immediate()
        if self.pooler:
            self.pooler.kill()


# ---- the daemon -----------------------------------------------------------------------------------------------------

class Daemon:
    """effectd with a config and policies of its own.

    database: a Cluster, a conninfo, 'embedded' or None (the config text says). config: text put after what we write;
    a dict is written as `name = value` lines (strings quoted). tools: {'refund.json': object or text}, or one policy
    object or a list of them. auto_migrate is on unless the config names it.
    """
    alive = []

    def __init__(self, database=None, config='', tools=None, flags=(), env=None, prefix=(), start=True, dir=None):
        self.dir = dir or folder()
        self.socket = os.path.join(self.dir, 'effectd.sock')
        self.config_path = os.path.join(self.dir, 'effectd.conf')
        self.tools_dir = os.path.join(self.dir, 'tools.d')
        self.state_dir = os.path.join(self.dir, 'state')
        self.log_path = os.path.join(self.dir, 'effectd.log')
        self.flags, self.env, self.prefix = list(flags), env or {}, list(prefix)
        self.process = None
        self.last_status = None
        os.makedirs(self.tools_dir, exist_ok=True)
        os.makedirs(self.state_dir, mode=0o755, exist_ok=True)
        self.database = database.conninfo() if isinstance(database, Cluster) else database
        self.configure(config)
        self.set_tools(tools or {})
        if start:
            self.start()

    def configure(self, config=''):
        """Writes the config anew (a running daemon reads it at hup())."""
        if isinstance(config, dict):
            config = ''.join(f'{name} = {self._value(value)}\n' for name, value in config.items())
        lines = {'socket': self.socket, 'state_dir': self.state_dir, 'tools_dir': self.tools_dir}
        if self.database:
            lines['database'] = self.database
            lines['auto_migrate'] = True
        text = ''.join(f'{name} = {self._value(value)}\n' for name, value in lines.items()
                       if not re.search(rf'^\s*{name}\s*=', config, re.M))
        with open(self.config_path, 'w', encoding='utf-8') as out:
            out.write(text + config)

    @staticmethod
    def _value(value):
        if isinstance(value, bool):
            return 'true' if value else 'false'
        return str(value) if isinstance(value, int) else '"' + str(value).replace('\\', '\\\\').replace('"', '\\"') + '"'

    def set_tools(self, tools):
        for name in os.listdir(self.tools_dir):
            os.unlink(os.path.join(self.tools_dir, name))
        if isinstance(tools, list) or (isinstance(tools, dict) and isinstance(tools.get('name'), str)):
            tools = {'tools.json': tools}
        for name, policy in tools.items():
            with open(os.path.join(self.tools_dir, name), 'w', encoding='utf-8') as out:
                out.write(policy if isinstance(policy, str) else json.dumps(policy, indent=2))

    def start(self, wait=True):
        """Starts it; waits until the socket answers (the ledger may still be away: see ready())."""
        assert not self.process
        argv = self.prefix + [program('effectd'), '-c', self.config_path] + self.flags
        with open(self.log_path, 'ab') as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=dict(os.environ, **self.env), start_new_session=True)
        Daemon.alive.append(self)
        if wait:
            wait_until(self._listens, 30, 'effectd listens')
        return self

    def _listens(self):
        if self.process.poll() is not None:
            status = self._ended()
            raise RuntimeError(f'effectd ended with status {status}: ' + '\n'.join(self.log()[-20:]))
        try:
            Conn(self.socket).close()
            return True
        except OSError:
            return False

    def ready(self, deadline_s=60):
        """Waits until the ledger is there, too. Returns itself."""
        with self.connect() as conn:
            wait_until(lambda: conn.call('info')['ready'], deadline_s, 'effectd is ready')
        return self

    def settled(self, cluster, connections=4):
        """Waits until all of its connections to the ledger are open, so that its descriptors can be counted. Returns itself."""
        count = "select count(*) from pg_stat_activity where application_name like 'effectd%'"
        wait_until(lambda: POOLER or int(cluster.psql(count)) >= connections, 20, 'all connections are open')
        return self

    def connect(self):
        return Conn(self.socket)

    def running(self):
        return self.process is not None and self.process.poll() is None

    def _ended(self):
        self.last_status = self.process.wait()
        self.process = None
        Daemon.alive.remove(self)
        return self.last_status

    def signal(self, sig):
        self.process.send_signal(sig)

    def kill(self):
        """kill -9, waited for."""
        if self.process:
            self.process.kill()
            self._ended()

    def stop(self, deadline_s=30):
        """SIGTERM; waits for its end and returns its exit status."""
        self.process.terminate()
        return self.wait(deadline_s)

    def wait(self, deadline_s=30):
        wait_until(lambda: self.process.poll() is not None, deadline_s, 'effectd ended')
        return self._ended()

    def hup(self):
        self.process.send_signal(signal.SIGHUP)

    def log(self):
        """The lines it has written to stderr so far, over all its starts."""
        try:
            with open(self.log_path, encoding='utf-8', errors='replace') as log:
                return log.read().splitlines()
        except FileNotFoundError:
            return []

    def grep(self, pattern, after=0):
        return [line for line in self.log()[after:] if re.search(pattern, line)]

    def wait_log(self, pattern, deadline_s=10, after=0):
        """Waits for a line that matches, behind the first `after` ones; returns the first."""
        return wait_until(lambda: self.grep(pattern, after), deadline_s, f'a log line like {pattern}')[0]

    def ctl(self, *args, **how):
        return ctl(*args, socket=self.socket, **how)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.database == 'embedded' and self.running():
            self.stop()  # so that it takes its PostgreSQL with it
        self.kill()


# ---- a connection ---------------------------------------------------------------------------------------------------

class RpcError(Exception):
    """An error the daemon answered: .error is the object, .name data.name."""

    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.error = error
        self.code = error['code']
        self.data = error.get('data', {})
        self.name = self.data.get('name')


class Conn:
    """One connection: a JSON line out, a JSON line in, answers in any order."""

    def __init__(self, path, timeout_s=30):
        self.timeout_s = timeout_s
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout_s * SLOW)
        try:
            self.sock.connect(path)
        except OSError:
            self.sock.close()
            raise
        self.buffer = b''
        self.next_id = 1
        self.answers = {}  # by id: came, and nobody asked for it yet

    def send_raw(self, data):
        self.sock.sendall(data)

    def send(self, method, params=None, **more):
        """Sends a request and returns its id; recv(id) waits for the answer."""
        id_ = self.next_id
        self.next_id += 1
        self.send_raw(self.line(method, {**(params or {}), **more}, id_))
        return id_

    @staticmethod
    def line(method, params, id_):
        text = json.dumps({'jsonrpc': '2.0', 'id': id_, 'method': method, 'params': params}, separators=(',', ':'))
        return text.encode() + b'\n'

    def recv_line(self, timeout_s=None):
        """The next line's bytes without LF; b'' at the end of the stream. TimeoutError past the deadline."""
        until = time.monotonic() + (self.timeout_s if timeout_s is None else timeout_s) * SLOW
        while b'\n' not in self.buffer:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError('no line came')
            self.sock.settimeout(left)
            try:
                data = self.sock.recv(1 << 16)
            except socket.timeout:
                raise TimeoutError('no line came') from None
            if not data:
                return b''
            self.buffer += data
        line, self.buffer = self.buffer.split(b'\n', 1)
        return line

    def recv(self, id_=None, timeout_s=None):
        """The whole answer to `id_` (None: the next that comes) as an object."""
        if id_ is None and self.answers:
            return self.answers.pop(next(iter(self.answers)))
        while id_ is None or id_ not in self.answers:
            line = self.recv_line(timeout_s)
            if not line:
                raise ConnectionError('the daemon closed the connection')
            answer = json.loads(line)
            if id_ is None:
                return answer
            self.answers[answer['id']] = answer
        return self.answers.pop(id_)

    def call(self, method, params=None, timeout_s=None, **more):
        """The result; RpcError if the daemon answered an error."""
        answer = self.recv(self.send(method, params, **more), timeout_s)
        if 'error' in answer:
            raise RpcError(answer['error'])
        return answer['result']

    def error(self, method, params=None, timeout_s=None, **more):
        """The error object; raises if it was none."""
        answer = self.recv(self.send(method, params, **more), timeout_s)
        if 'error' not in answer:
            raise AssertionError(f'{method} was to fail, and answered {answer}')
        return answer['error']

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def close(self):
        self.sock.close()

    def reset(self):
        """Closes without reading: what stands unread makes the daemon's next write or read fail."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
