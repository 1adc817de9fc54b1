"""A private PgBouncer in transaction mode between a daemon and a Cluster. The harness starts one for every cluster where
EFFECTD_POOLER is set: "1", or settings of PgBouncer such as "server_lifetime=1 default_pool_size=3"."""
import os
import subprocess

from harness import is_, note, ok, request_id, wait_until
from world import name_of, tell

PROGRAM = '/usr/sbin/pgbouncer'
PORT = 6432
# as packaging recommends for effectd: nothing is kept from the clients for longer than a moment, good news or bad
SETTINGS = {'pool_mode': 'transaction', 'max_client_conn': '500', 'default_pool_size': '20', 'server_login_retry': '0.05',
            'query_wait_timeout': '5', 'server_check_delay': '0'}
CONFIG = '''[databases]
* = host={dir} port=5432

[pgbouncer]
unix_socket_dir = {dir}
listen_port = {port}
auth_type = trust
auth_file = {dir}/pgbouncer.users
auth_user = postgres
logfile = {dir}/pgbouncer.log
pidfile = {dir}/pgbouncer.pid
admin_users = postgres
{settings}
'''
AT_WORK = "backend_type = 'client backend' and state = 'active' and pid <> pg_backend_pid()"


class Pooler:
    """Runs as the server's user, in the cluster's folder; conninfo() of the cluster leads to it."""

    def __init__(self, cluster, settings, psql):
        self.psql = psql
        self.cluster, self.process, self.port = cluster, None, PORT
        self.config_path = os.path.join(cluster.dir, 'pgbouncer.ini')
        self.settings = {**SETTINGS, **dict(word.split('=', 1) for word in settings.split() if '=' in word)}
        with open(os.path.join(cluster.dir, 'pgbouncer.users'), 'w', encoding='ascii') as out:
            out.write('"postgres" ""\n')
        self.configure()

    def configure(self, **more):
        self.settings.update(more)
        text = '\n'.join(f'{name} = {value}' for name, value in self.settings.items())
        with open(self.config_path, 'w', encoding='ascii') as out:
            out.write(CONFIG.format(dir=self.cluster.dir, port=PORT, settings=text))

    def start(self):
        assert not self.process
        self.process = subprocess.Popen([PROGRAM, '-q', self.config_path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, cwd='/', start_new_session=True, **self.cluster.as_user)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
            for name in ('pgbouncer.pid', f'.s.PGSQL.{PORT}'):
                path = os.path.join(self.cluster.dir, name)
                if os.path.lexists(path):
                    os.unlink(path)

    def restart(self, **more):
        """Kills it and starts it, with more settings."""
        self.kill()
        self.configure(**more)
        self.start()

    def tell(self, *commands):
        """Commands of its console, in turn."""
        for command in commands:
            subprocess.run([self.psql, '-h', self.cluster.dir, '-p', str(PORT), '-U', 'postgres',
                            '-d', 'pgbouncer', '-XAtq', '-c', command], check=True, stdin=subprocess.DEVNULL, capture_output=True,
                           cwd='/')


def standby_stays_away(cluster, daemon):
    """The synchronous standby is away for many time-outs: the backends that wait for it do not pile up behind a pooler. The
    daemon's tool is `pay`, its request_timeout 300 ms."""
    conns = [daemon.connect() for _ in range(4)]
    cluster.set('synchronous_standby_names', 'nobody')
    asks = [{'tool': 'pay', 'key': f'stalled {i}', 'request': request_id(), 'deadline_ms': 300} for i in range(60)]
    words, most = set(), 0
    for i in range(0, len(asks), len(conns)):
        ids = [(c, c.send('begin', ask)) for c, ask in zip(conns, asks[i:])]
        words |= {tell(c.recv(id_)) for c, id_ in ids}
        most = max(most, int(cluster.psql(f'select count(*) from pg_stat_activity where {AT_WORK}')))
    is_(words, {'unavailable'}, 'a begin whose commit waits for the standby is unavailable, each time')
    note(f'{most} backends were at work at once')
    # those of its four connections, and of some that were given up meanwhile
    ok(1 <= most <= 6, 'about as many backends wait as the daemon has connections', most)
    cluster.set('synchronous_standby_names', None)
    for ask in asks:
        wait_until(lambda: name_of(conns[0], 'begin', {**ask, 'deadline_ms': 5000}) == 'run', 20, 'the claim is granted')
    ok(True, 'without the standby each is told run, to its request')
    is_(cluster.psql("select count(*) from effect.ledger where key like 'stalled %' and attempt = 1"), str(len(asks)), 'each is one row')
    is_(cluster.invariants(), [], 'no invariant is hurt')
