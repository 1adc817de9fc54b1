"""A private PgBouncer in transaction mode between a daemon and a Cluster. The harness starts one for every cluster where
EFFECTD_POOLER is set: "1", or settings of PgBouncer such as "server_lifetime=1 default_pool_size=3"."""
import os
import subprocess

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
