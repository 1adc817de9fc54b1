#!/usr/bin/python3
"""The database's disk is full: its data, then its log. Nobody is told run, what cannot be written is unavailable or kept, and when
there is room again all goes on, with nothing run twice. The disk is a small tmpfs, so the test must be root, or have sudo."""
import atexit
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *  # noqa: E402
from world import Counter, Log, Provider, Wire, check, name_of, tell  # noqa: E402

DISK_MB = 160
N_REFUSED = rounds_of(5, 50)
SEGMENT = 16 << 20  # of PostgreSQL's log
ROOT = [] if os.getuid() == 0 else ['sudo', '-n']
CONFIG = {'log_calls': False, 'request_timeout': '500ms', 'sweep_interval': '200ms'}


class Disk:
    """A small disk at `path`, which holds what was there before."""

    def __init__(self, path):
        self.path = path
        self.balloon = os.path.join(path, 'balloon')
        before = path + '.before'
        os.rename(path, before)
        os.mkdir(path)
        subprocess.run([*ROOT, 'mount', '-t', 'tmpfs', '-o', f'size={DISK_MB}m,mode=0700', 'tmpfs', path], check=True)
        atexit.register(self.unmount)
        shutil.copystat(before, path)
        subprocess.run([*ROOT, 'cp', '-a', before + '/.', path], check=True)

    def fill(self):
        """No room is left at all."""
        with open(self.balloon, 'wb', buffering=0) as out:
            try:
                while True:
                    out.write(bytes(1 << 16))
            except OSError:
                pass
            try:
                while True:
                    out.write(bytes(512))
            except OSError:
                pass

    def room(self):
        if os.path.exists(self.balloon):
            os.unlink(self.balloon)

    def unmount(self):
        subprocess.run([*ROOT, 'umount', '-l', self.path], check=False)


def cluster_on_disks():
    """A PostgreSQL whose data are on one small disk and whose log is on another."""
    cluster = Cluster({'autovacuum': 'off', 'wal_recycle': 'off', 'min_wal_size': '32MB', 'max_wal_size': '64MB'}, start=False)
    wal, away = os.path.join(cluster.data, 'pg_wal'), os.path.join(cluster.dir, 'wal')
    os.rename(wal, away)
    os.symlink(away, wal)
    disks = {'data': Disk(cluster.data), 'log': Disk(away)}
    cluster.start()
    cluster.psql('create database effectd', database='postgres')
    return cluster, disks


class Wrapper:
    def __init__(self, daemon, provider, part):
        self.provider, self.part, self.log = provider, part, Log()
        self.wire = Wire(daemon.socket, 'wrapper', self.log, Counter())
        self.asks = []  # of begins that were refused

    def begin(self, key, request):
        return self.wire.ask('begin', {'tool': 'pay', 'key': f'{self.part} {key}', 'request': request, 'args': {'order': 'x' * 4000}})[0]

    def record(self, run, receipt):
        answer = self.wire.ask('complete', {'effect': run['effect'], 'token': run['token'], 'outcome': 'succeeded'}, receipt)[0]
        self.log.add('wrapper', 'recorded', effect=run['effect'], outcome='succeeded', result=receipt, answer=answer)
        return answer

    def perform(self, run):
        receipt = self.provider.perform(run['provider_key'])
        self.log.add('wrapper', 'performed', effect=run['effect'], attempt=run['attempt'], result=receipt)
        return receipt


def full(part, disk, cluster, daemon, provider):
    wrapper = Wrapper(daemon, provider, part)
    held = [wrapper.begin(f'held {i}', request_id())['result'] for i in range(20)]
    done_ = [(run, wrapper.perform(run)) for run in held[:10]]
    for run, receipt in done_:
        wrapper.record(run, receipt)
    if part == 'log':
        use_segment(cluster)
    disk.fill()
    told, words = until_refused(wrapper)
    note(f'{part}: {len(told)} begins until the disk was full, then {words[-1]}')
    is_(words[-N_REFUSED:], ['unavailable'] * N_REFUSED, f'{part}: a full disk is unavailable, {N_REFUSED} times in a row')
    ok(set(words) <= {'run', 'unavailable'}, f'{part}: and nobody was told anything else', set(words))
    ok('retry_after_ms' in wrapper.asks[-1][2]['error']['data'], f'{part}: with when to ask again', wrapper.asks[-1][2])
    rows = rows_of(cluster)
    if rows is not None:
        ok(rows - 20 <= len(told) + len(wrapper.asks), f'{part}: who was refused may have a row, no others', rows)
    # performed, and there is no room for the record
    kept = {run['effect']: wrapper.perform(run) for run in held[10:]}
    answers = [wrapper.wire.ask('complete', {'effect': e, 'token': next(r['token'] for r in held if r['effect'] == e)}, receipt)[0]
               for e, receipt in kept.items()]
    ok(all(tell(a) == 'done' or a['error']['data'].get('kept') for a in answers), f'{part}: a record is written or kept',
       [a.get('error') for a in answers])
    disk.room()
    if cluster.process.poll() is not None:
        note(f'{part}: PostgreSQL had ended')
        cluster.process.wait()
        cluster.process = None
        Cluster.alive.remove(cluster)
        cluster.start()
    again(part, wrapper, daemon, kept)
    wrapper.wire.close()
    is_(check(wrapper.log.entries, provider.book()), [], f'{part}: the checker finds nothing')
    is_(cluster.invariants(), [], f'{part}: no invariant is hurt')


def use_segment(cluster):
    """Uses up the segment at hand, but for some begins' worth: its room is already taken from the disk."""
    left = SEGMENT - int(cluster.psql('select file_offset from pg_walfile_name_offset(pg_current_wal_insert_lsn())'))
    if left > 400000:
        cluster.psql(f"select pg_logical_emit_message(true, 'x', repeat('x', {left - 200000}))")


def until_refused(wrapper):
    """(runs, words) of begins until enough in a row were refused."""
    told, words = [], []
    for i in range(20000):
        request = request_id()
        answer = wrapper.begin(f'k{i}', request)
        words.append(tell(answer))
        if words[-1] == 'run':
            told.append(answer['result'])
        else:
            wrapper.asks.append((f'k{i}', request, answer))
        if len(words) >= N_REFUSED and set(words[-N_REFUSED:]) == {'unavailable'}:
            break
    return told, words


def rows_of(cluster):
    try:
        return int(cluster.psql('select count(*) from effect.ledger'))
    except RuntimeError:
        return None


def again(part, wrapper, daemon, kept):
    """There is room: the same requests run, what was kept is written, and nothing is asked of anybody."""
    def runs(key, request):
        answer = wrapper.begin(key, request)
        return answer if answer and tell(answer) != 'unavailable' else None

    words = [tell(wait_until(lambda k=key, r=request: runs(k, r), 60, f'{key} is answered')) for key, request, _ in wrapper.asks]
    is_(set(words), {'run'}, f'{part}: there is room again: the same requests run')
    with daemon.connect() as conn:
        wait_until(lambda: all(name_of(conn, 'get', effect=e) == 'done' for e in kept), 30, 'what was kept is written')
        ok(True, f'{part}: what was kept is written')
        is_({tell(wrapper.begin(f'held {i}', request_id())) for i in range(20)}, {'replay'}, f'{part}: and all that was performed is replayed')
        is_(name_of(conn, 'begin', tool='pay', key=f'{part} new', args={'order': 'x'}), 'run', f'{part}: and new ones run')


seed()
the_provider = Provider()
POLICY = the_provider.policy(lease='10m', settle='100ms', keep=['/order'])
the_cluster, the_disks = cluster_on_disks()
with the_cluster, Daemon(the_cluster, config=CONFIG, tools=POLICY) as the_daemon:
    the_daemon.ready()
    for the_part, the_disk in the_disks.items():
        full(the_part, the_disk, the_cluster, the_daemon, the_provider)
    is_(the_daemon.stop(), 0, 'and the daemon ends in order')
done()
