"""A streaming standby of a Cluster, for tests of failovers."""
import os
import shutil
import signal
import subprocess

from harness import PG_BIN, PG_USER, Cluster, wait_until


class Standby(Cluster):
    """A copy of `primary` that follows it, named `name`; promote() makes it a server of its own right."""

    def __init__(self, primary, name='standby', settings=None, dir=None):
        self.primary, self.name = primary, name
        own = {name_: value for name_, value in primary.settings.items() if name_ != 'unix_socket_directories'}
        super().__init__({**own, **(settings or {})}, start=False, dir=dir)
        self.start()

    def _make(self):
        if not os.path.exists(os.path.join(PG_BIN, 'pg_basebackup')):
            self._copy()
            return
        # the name goes into primary_conninfo, by which the primary knows whom its commits wait for
        self._run('pg_basebackup', '-D', self.data, '-R', '-X', 'stream', '-c', 'fast', '--no-sync',
                  '-d', f'host={self.primary.dir} port=5432 user=postgres application_name={self.name}')

    def _copy(self):
        """A server that comes without pg_basebackup, which must not be older than the server: its files, while it stands still."""
        self.primary.stop()
        shutil.copytree(self.primary.data, self.data, dirs_exist_ok=True)
        with open(os.path.join(self.data, 'standby.signal'), 'wb'), \
                open(os.path.join(self.data, 'postgresql.auto.conf'), 'a', encoding='ascii') as conf:
            conf.write(f"primary_conninfo = 'host={self.primary.dir} port=5432 user=postgres application_name={self.name}'\n")
        if self.as_user:
            subprocess.run(['chown', '-R', f'{PG_USER}:{PG_USER}', self.data], check=True)
        os.chmod(self.data, 0o700)
        self.primary.start()

    def follows(self):
        """Waits until the primary's commits wait for it: from then on nothing that was told can be missing here."""
        state = f"select state || ' ' || sync_state from pg_stat_replication where application_name = '{self.name}'"
        wait_until(lambda: self.primary.psql(state, database='postgres') in ('streaming sync', 'streaming quorum'), 30,
                   f'{self.name} follows synchronously')

    def promote(self):
        """Makes it a primary; returns when it says it is one."""
        with open(os.path.join(self.data, 'promote'), 'wb'):
            pass
        self.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: not os.path.exists(os.path.join(self.data, 'standby.signal')) and self.writable(), 60, 'it is promoted')

    def writable(self):
        try:
            return self.psql('select pg_is_in_recovery()', database='postgres') == 'f'
        except RuntimeError:
            return False
