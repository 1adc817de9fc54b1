"""What the tests of the wire, of the named cases and of the sweeper share: raw lines, claims, a probe that a test plays."""
import contextlib
import datetime
import http.server
import json
import os
import socket

from harness import folder, wait_until

__all__ = ['Manager', 'QuietServer', 'Script', 'UUID', 'INSTANT', 'bring', 'claim', 'connected', 'dump', 'event_kinds', 'exchange', 'later', 'ms_of', 'names', 'own_ids', 'peer', 'pids_of', 'raw_begin',
           'state_of', 'wait_state']

UUID = r'^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
INSTANT = r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$'


def exchange(conn, text):
    """Sends one line as it stands and returns the bytes of the next line that comes."""
    conn.send_raw((text if isinstance(text, bytes) else text.encode()) + b'\n')
    return conn.recv_line()


@contextlib.contextmanager
def peer(daemon, user=None, groups=()):
    """A connection of that user: the kernel keeps the credentials of the moment of connect()."""
    if user is None:
        with daemon.connect() as conn:
            yield conn
        return
    os.setgroups(list(groups))
    os.setegid(user.pw_gid)
    os.seteuid(user.pw_uid)
    try:
        conn = daemon.connect()
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups([])
    try:
        yield conn
    finally:
        conn.close()


def names(answer):
    """The names of an object's members, in the order in which they came."""
    return ' '.join(answer)


def claim(conn, key, tool='t', **more):
    """A begin that must be told run."""
    answer = conn.call('begin', tool=tool, key=key, **more)
    assert answer['decision'] == 'run', answer
    return answer


def own_ids(run):
    return {'effect': run['effect'], 'token': run['token']}


def raw_begin(conn, params):
    """begin with params as text; the line's bytes."""
    return exchange(conn, b'{"jsonrpc":"2.0","id":1,"method":"begin","params":' +
                    (params if isinstance(params, bytes) else params.encode()) + b'}')


def state_of(conn, effect):
    return conn.call('get', effect=effect, events=0)['state']


def wait_state(conn, effect, state, deadline_s=20):
    """Waits until the effect is in this state; returns what get says then."""
    def there():
        row = conn.call('get', effect=effect)
        return row if row['state'] == state else None
    return wait_until(there, deadline_s, f'{effect} is {state}')


def bring(conn, run, state, **record):
    """Brings a fresh claim to a state by its holder's own words. `exhausted` is released, `failed` done by a failure; a policy
    that asks people at once is needed for `escalated`."""
    if state in ('unknown', 'escalated'):
        conn.call('unknown', **own_ids(run))
        wait_state(conn, run['effect'], state)
    elif state in ('released', 'exhausted'):
        conn.call('release', **own_ids(run))
    elif state in ('done', 'failed'):
        conn.call('complete', **own_ids(run), outcome='failed' if state == 'failed' else 'succeeded', **record)
    else:
        assert state == 'pending', state


def event_kinds(row):
    return [event['kind'] for event in row['events']]


def ms_of(instant):
    """An instant of the wire in milliseconds since the epoch."""
    at = datetime.datetime.strptime(instant, '%Y-%m-%dT%H:%M:%S.%fZ').replace(tzinfo=datetime.timezone.utc)
    return round(at.timestamp() * 1000)


def later(cluster, seconds):
    """Every clock of the ledger is now that much ahead, as test builds may have it."""
    cluster.psql("create or replace function effect.now() returns timestamptz language sql volatile parallel safe "
                 f"as $$ select pg_catalog.clock_timestamp() + interval '{seconds} seconds' $$")


def pids_of(parent):
    """The children of a process: {pid: state letter}, all of one moment: those who come and go meanwhile do not add up."""
    try:
        with open(f'/proc/{parent}/task/{parent}/children', encoding='ascii') as children:
            pids = children.read().split()
    except FileNotFoundError:
        return {}
    found = {}
    for pid in pids:
        try:
            with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as stat:
                found[int(pid)] = stat.read().rsplit(')', 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def connected(pid):
    """Has this process a socket open?"""
    try:
        return any(os.readlink(f'/proc/{pid}/fd/{fd}').startswith('socket:') for fd in os.listdir(f'/proc/{pid}/fd'))
    except FileNotFoundError:
        return False  # a descriptor that was closed meanwhile


def dump(cluster):
    """Every row of every table of the database, as text."""
    tables = cluster.psql("select quote_ident(table_schema) || '.' || quote_ident(table_name) from information_schema.tables "
                          "where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')")
    return '\n'.join(cluster.psql(f'select row_to_json(t) from {table} t') for table in tables.split('\n'))


# A program that effectd starts; what it does is said by a shell text that the test may write anew at any time.
BODY = '''#!/bin/sh
PATH=/usr/bin:/bin
export PATH
IFS= read -r line
printf '%s\\n' "$line" >>'{dir}/asked'
. '{dir}/play'
'''


class QuietServer(http.server.ThreadingHTTPServer):
    """Says nothing of peers that hang up on it."""
    daemon_threads = True

    def handle_error(self, *_):
        pass


class Script:
    """An exec probe or a notifier that a test plays. `play` is shell; $line is what came on stdin, {dir} its folder."""

    def __init__(self, play='echo \'{"verdict":"inconclusive"}\''):
        self.dir = folder()
        self.path = os.path.join(self.dir, 'program')
        with open(os.path.join(self.dir, 'asked'), 'wb'):
            pass
        self.play(play)
        with open(self.path, 'w', encoding='ascii') as out:
            out.write(BODY.format(dir=self.dir))
        os.chmod(self.path, 0o755)
        os.chmod(os.path.join(self.dir, 'asked'), 0o666)

    def play(self, text):
        path = os.path.join(self.dir, 'play')
        with open(path + '.new', 'w', encoding='utf-8') as out:
            out.write(text.replace('{dir}', self.dir) + '\n')
        os.rename(path + '.new', path)

    def says(self, verdict, **more):
        self.play(f"cat <<'EOF'\n{json.dumps({'verdict': verdict, **more})}\nEOF")

    def asked(self, effect=None):
        """The objects that came on stdin so far; an empty line is a run whose starter died before it said why."""
        with open(os.path.join(self.dir, 'asked'), encoding='utf-8') as asked:
            lines = [json.loads(line) for line in asked if line.endswith('\n') and line != '\n']
        return [line for line in lines if effect in (None, line['effect'])]

    def wait_asked(self, n, effect=None, deadline_s=20):
        return wait_until(lambda: len(self.asked(effect)) >= n and self.asked(effect), deadline_s, f'{n} calls of {self.path}')

    def policy(self, name='t', **more):
        """A tool with quick clocks whose probe this is."""
        return {'name': name, 'lease': '1s', 'settle': '100ms', 'absent_needed': 2, 'probe_backoff': ['100ms'],
                'escalate_after': '10m', 'max_attempts': 1000, 'probe': {'exec': {'argv': [self.path]}}, **more}


class Manager:
    """What systemd listens on: NOTIFY_SOCKET is its path."""

    def __init__(self):
        self.path = os.path.join(folder(), 'notify')
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(self.path)
        self.sock.setblocking(False)
        self.told = []

    def look(self):
        while True:
            try:
                self.told.append(self.sock.recv(4096).decode())
            except BlockingIOError:
                return self.told

    def n(self, text):
        """How often it was told so."""
        return sum(text in line for line in self.look())

    def wait(self, text, n=1):
        wait_until(lambda: self.n(text) >= n, 20, f'{n} times {text}')
