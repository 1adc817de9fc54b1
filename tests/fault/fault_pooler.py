#!/usr/bin/python3
"""Something stands between daemon and database that tells of another backend than the one that answers, as a pooler does. The
real one is in the long runs (tests/torture/pgbouncer)."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *  # noqa: E402
from pooler import standby_stays_away  # noqa: E402
from proxy import DOWN, PgLink, PgProxy  # noqa: E402

KEY = b'K\0\0\0\x0c'  # BackendKeyData: pid, secret
TOOL = {'name': 'pay', 'class': 'irreversible', 'escalate_after': '1h', 'lease': '5m'}
BACKENDS = "from pg_stat_activity where application_name = 'effectd' and pid <> pg_backend_pid()"


class Behind(PgLink):
    """Its client is told a process number of its own."""
    told = False

    def came(self, way, data):
        if way == DOWN and not self.told and KEY in data:
            at = data.index(KEY) + len(KEY)
            data = data[:at] + struct.pack('>i', 77) + data[at + 4:]
            self.told = True
        super().came(way, data)


class Pooler(PgProxy):
    link_class = Behind


seed()
with Cluster() as the_cluster, Pooler(folder(), the_cluster.dir) as the_pooler, \
        Daemon(the_pooler.conninfo(), config={'log_calls': False, 'request_timeout': '300ms'}, tools=TOOL) as the_daemon:
    the_daemon.ready()
    with the_daemon.connect() as the_conn:
        is_([the_conn.call('begin', tool='pay', key=f'{i}')['decision'] for i in range(20)], ['run'] * 20, 'begins run behind it')
    marks = the_cluster.psql(f"select distinct substring(query from '^/\\* (effectd [0-9a-f]+) [0-9]+ \\*/') {BACKENDS}")
    like(marks, r'^effectd [0-9a-f]{16,}$', 'what is sent tells whose it is')
    standby_stays_away(the_cluster, the_daemon)
done()
