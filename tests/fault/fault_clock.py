#!/usr/bin/python3
"""Wall clocks set forth and back by an hour under what is running, the daemon's (case 131) and the database's (case 129): timers keep
their pace, no lease ends but by the database's clock, what lapsed is never run, and when the clock is right again all goes on. The
machine's own clock is left alone."""
import contextlib
import datetime
import glob
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *  # noqa: E402
from talk import Manager  # noqa: E402
from world import Provider, name_of, state_of  # noqa: E402

FAKETIME = glob.glob('/usr/lib/*/faketime/libfaketime.so.1')
HOUR_S = 3600
WATCHDOG_MS = 200


class Clock:
    """The wall clock of whatever is started with its environment: as far from the machine's as set() says, from that moment on."""

    def __init__(self):
        self.path = os.path.join(folder(), 'offset')
        self.set(0)
        self.env = {'LD_PRELOAD': FAKETIME[0], 'FAKETIME_TIMESTAMP_FILE': self.path, 'FAKETIME_NO_CACHE': '1', 'DONT_FAKE_MONOTONIC': '1',
                    # the sanitizer would rather be loaded first
                    'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'}

    def set(self, offset_s):
        with open(self.path + '.new', 'w', encoding='ascii') as out:
            out.write(f'{offset_s:+d}\n')
        os.rename(self.path + '.new', self.path)


class ClockCluster(Cluster):
    """A PostgreSQL by a clock of its own."""

    def __init__(self):
        self.clock = Clock()
        super().__init__()

    def start(self):
        with contextlib.ExitStack() as stack:
            for name, value in self.clock.env.items():
                stack.callback(put_back, name, os.environ.get(name))
                os.environ[name] = value
            super().start()

    def set_clock(self, offset_s):
        self.clock.set(offset_s)
        now_s = float(self.psql('select extract(epoch from clock_timestamp())'))
        ok(abs(now_s - time.time() - offset_s) < 60, f'the database\'s clock is off by {offset_s} s', now_s - time.time())


def put_back(name, value):
    if value is None:
        del os.environ[name]
    else:
        os.environ[name] = value


def log_offset_s(daemon):
    """How far the clock in its last log line is from ours."""
    said = datetime.datetime.strptime(daemon.log()[-1].split()[0], '%Y-%m-%dT%H:%M:%S.%fZ').replace(tzinfo=datetime.timezone.utc)
    return said.timestamp() - time.time()


def paces(daemon, clock, manager, provider, offset_s):
    """case 131: whatever its wall clock says, sweeper, probes, waiters and watchdog go on."""
    with daemon.connect() as conn:
        held = conn.call('begin', tool='pay', key=f'held {offset_s}', lease_ms=600000)
        lost = conn.call('begin', tool='pay', key=f'lost {offset_s}')
        waiting = conn.send('begin', tool='pay', key=f'held {offset_s}', wait_ms=1000)
        clock.set(offset_s)
        conn.call('unknown', effect=lost['effect'], token=lost['token'], reason='x')
        n, since = manager.n('WATCHDOG=1'), time.monotonic()
        wait_until(lambda: manager.n('WATCHDOG=1') >= n + 10, 20, 'the watchdog is told')
        took_s = time.monotonic() - since
        ok(took_s > 7 * WATCHDOG_MS / 1000, f'{offset_s} s: the watchdog is told at its pace', took_s)
        is_(conn.recv(waiting)['result']['decision'], 'busy', f'{offset_s} s: a waiter ends at its time')
        wait_until(lambda: state_of(conn, lost['effect']) == 'released', 20, 'the lost one is probed')
        ok(provider.n_probes(lost['provider_key']) >= 2, f'{offset_s} s: the sweeper keeps its pace, and probes')
        ok(abs(log_offset_s(daemon) - offset_s) < 60, f'{offset_s} s: by its own wall clock', log_offset_s(daemon))
        seen = conn.call('begin', tool='pay', key=f'held {offset_s}')
        is_((seen['decision'], seen['lease_until']), ('busy', held['lease_until']), f'{offset_s} s: and no lease has moved')
        more = conn.call('extend', effect=held['effect'], token=held['token'], lease_ms=900000)
        is_((more['state'], more['lease_until'] > held['lease_until']), ('pending', True), f'{offset_s} s: an extend lasts longer')
        is_(name_of(conn, 'complete', effect=held['effect'], token=held['token'], result=1), 'done', f'{offset_s} s: its owner completes')
        deadline = conn.send('begin', tool='pay', key=f'deadline {offset_s}', deadline_ms=5000)
        is_(conn.recv(deadline)['result']['decision'], 'run', f'{offset_s} s: a deadline is not over before its time')


def daemon_clock(cluster):
    clock, manager, provider = Clock(), Manager(), Provider()
    env = {**clock.env, 'NOTIFY_SOCKET': manager.path, 'WATCHDOG_USEC': str(2000 * WATCHDOG_MS)}
    with Daemon(cluster, config={'sweep_interval': '200ms'}, tools=policies(provider), env=env) as daemon:
        daemon.ready()
        for offset_s in (-HOUR_S, HOUR_S, 0):
            paces(daemon, clock, manager, provider, offset_s)
        is_(daemon.stop(), 0, 'and it ends in order')


def policies(provider):
    """pay: its provider tells. mute: whom nobody can ask. away: whom nobody can reach. What nobody can tell stays open for long."""
    away = {'exec': {'argv': ['/bin/false']}}
    return [provider.policy(lease='60s', settle='100ms', probe_backoff=['100ms'], escalate_after='7d'),
            {'name': 'mute', 'lease': '60s', 'escalate_after': '7d'},
            {'name': 'away', 'lease': '60s', 'escalate_after': '7d', 'probe_backoff': ['100ms'], 'settle': '100ms', 'probe': away}]


def claims(conn, what):
    """{tool: a claim}, none of them done."""
    return {tool: conn.call('begin', tool=tool, key=f'{tool} {what}', request=request_id()) for tool in ('pay', 'mute', 'away')}


def ask(conn, run, tool, **more):
    return name_of(conn, 'begin', tool=tool, key=run['key'], request=request_id(), **more)


def forth(cluster, conn, provider):
    """Every lease is over at once: what nobody knows is unknown, and only a provider that says so frees it."""
    open_, kept = claims(conn, 'forth'), claims(conn, 'kept')
    receipt = provider.perform(open_['pay']['provider_key'])
    cluster.set_clock(HOUR_S)
    words = {tool: ask(conn, run, tool) for tool, run in open_.items() if tool != 'pay'}
    is_(words, {'mute': 'unknown', 'away': 'unknown'}, 'an hour later at once: what was claimed is unknown, and not run')
    wait_until(lambda: state_of(conn, open_['pay']['effect']) == 'done', 20, 'the performed one is found')
    row = conn.call('get', effect=open_['pay']['effect'])
    is_((row['by'], row['outcome']), ('probe', 'succeeded'), 'the performed one is found by its probe')
    ok(receipt and ask(conn, open_['pay'], 'pay') == 'replay', 'and replayed')
    is_({tool: name_of(conn, 'complete', effect=run['effect'], token=run['token'], result=1) for tool, run in kept.items() if tool != 'pay'},
        {'mute': 'done', 'away': 'done'}, 'a result that comes now is taken')
    is_({tool: conn.call('begin', tool=tool, key=f'{tool} fresh')['decision'] for tool in open_}, {tool: 'run' for tool in open_},
        'fresh keys run, the first one too')
    is_({state_of(conn, open_[tool]['effect']) for tool in ('mute', 'away')}, {'unknown'}, 'and what nobody knows stays so')
    return open_


def back(cluster, conn, open_):
    """The hour is taken back, and another: leases are longer than they were, nobody takes one early."""
    cluster.set_clock(0)
    held = claims(conn, 'back')
    cluster.set_clock(-HOUR_S)
    is_({tool: ask(conn, run, tool) for tool, run in held.items()}, {tool: 'busy' for tool in held}, 'an hour earlier: what is claimed is busy')
    is_({tool: ask(conn, open_[tool], tool) for tool in ('mute', 'away')}, {'mute': 'unknown', 'away': 'unknown'}, 'what is unknown is unknown')
    fresh = claims(conn, 'earlier')
    is_({run['decision'] for run in fresh.values()}, {'run'}, 'fresh keys run')
    is_({tool: ask(conn, run, tool) for tool, run in fresh.items()}, {tool: 'busy' for tool in fresh}, 'once')
    is_(name_of(conn, 'extend', effect=held['mute']['effect'], token=held['mute']['token']), 'pending', 'an extend')
    is_(name_of(conn, 'complete', effect=held['mute']['effect'], token=held['mute']['token'], result=1), 'done', 'a complete')
    is_(name_of(conn, 'release', effect=held['away']['effect'], token=held['away']['token'], reason='nothing was sent'), 'released', 'a release')
    is_(ask(conn, held['mute'], 'mute'), 'replay', 'and a replay work')
    is_(name_of(conn, 'unknown', effect=held['pay']['effect'], token=held['pay']['token'], reason='x'), 'unknown', 'and an unknown')
    is_(cluster.invariants(), [], 'no invariant is hurt an hour earlier')
    cluster.set_clock(0)
    wait_until(lambda: state_of(conn, held['pay']['effect']) == 'released', 30, 'what was unknown meanwhile is probed')
    ok(True, 'the clock is right again: what turned unknown meanwhile is probed')
    is_({tool: ask(conn, run, tool) for tool, run in fresh.items() if tool != 'pay'}, {'mute': 'unknown', 'away': 'unknown'},
        'claims of an hour ago are unknown, not free')


def database_clock():
    provider = Provider()
    with ClockCluster() as cluster, Daemon(cluster, config={'sweep_interval': '200ms'}, tools=policies(provider)) as daemon:
        daemon.ready()
        with daemon.connect() as conn:
            open_ = forth(cluster, conn, provider)
            is_(cluster.invariants(), [], 'no invariant is hurt an hour later')
            back(cluster, conn, open_)
        is_(cluster.invariants(), [], 'no invariant is hurt')
        twice = [effect for effect, _ in provider.book() if [e for e, _ in provider.book()].count(effect) > 1]
        is_(twice, [], 'nothing was performed twice')
        is_(daemon.stop(), 0, 'and it ends in order')


seed()
if not FAKETIME:
    bail_out('libfaketime is not installed')
with Cluster() as the_cluster:
    daemon_clock(the_cluster)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
database_clock()
done()
