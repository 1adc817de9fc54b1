#!/usr/bin/python3
"""The primary is lost under 32 busy clients and its synchronous standby takes over, again and again: nothing that a client was
told is missing there, no effect is run twice, and the daemon finds the new primary by itself. Also a server that turns
read-only under its connections, and a daemon that starts while there is nothing but a standby."""
import os
import random
import re
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *  # noqa: E402
from standby import Standby  # noqa: E402
from world import Provider, World, acknowledged, begin_all, count, judge, name_of  # noqa: E402

N_ROUNDS = rounds_of(1, 5)
CONFIG = {'log_calls': False, 'request_timeout': '500ms'}
TOOL = {'name': 'pay', 'class': 'irreversible'}
BACKENDS = "from pg_stat_activity where application_name like 'effectd%' and pid <> pg_backend_pid()"
# Each commit takes a while, so that many are on their way at the blow.
SETTINGS = {'commit_delay': '10000', 'commit_siblings': '0'}


def two_hosts(a, b):
    """Both in one conninfo, as the daemons of a cluster under Patroni have it."""
    return f'host={a.dir},{b.dir} port=5432,5432 user=postgres dbname=effectd target_session_attrs=read-write'


# ---- the primary is lost ------------------------------------------------------------------------------------------

def waits_for_standby(primary):
    return primary.psql("select count(*) from pg_stat_activity where wait_event = 'SyncRep'", database='postgres') != '0'


def killed(primary, standby):
    primary.kill()


def immediate(primary, standby):
    primary.immediate()


def fast(primary, standby):
    """Its commits wait for the standby, and a fast shutdown ends their wait with a warning: committed here, and nowhere else."""
    standby.freeze()
    wait_until(lambda: waits_for_standby(primary), 30, 'a commit waits for the standby')
    primary.process.send_signal(signal.SIGINT)
    wait_until(lambda: not takes(primary), 30, 'nobody is let in any more')
    primary.kill()
    standby.thaw()


def takes(primary):
    try:
        return primary.psql('select 1', database='postgres') == '1'
    except RuntimeError:
        return False


def killed_behind(primary, standby):
    """It dies with commits that the standby has not heard of."""
    standby.freeze()
    wait_until(lambda: waits_for_standby(primary), 30, 'a commit waits for the standby')
    primary.kill()
    standby.thaw()


def hangs(primary, standby):
    """As when its network is gone: no connection is closed, and new ones get no answer."""
    primary.freeze()


WAYS = {'all its processes are killed': killed, 'it is stopped immediate': immediate,
        'it dies with commits of which the standby has not heard': killed_behind,
        'it is stopped fast while its commits wait': fast, 'it hangs, and closes no connection': hangs}


def lost(entries, primary):
    """What clients were told and this server does not know: runs by attempt and token, acknowledged records by their outcome."""
    rows = {row['id']: row for row in primary.rows('select id, attempt, token, state, outcome, result from effect.ledger')}
    tokens = {(row['effect'], row['token']) for row in primary.rows('select effect, token from effect.event where token is not null')}
    missing = []
    for e in entries:
        told = e['answer'].get('result', {}) if e['what'] in ('told', 'recorded') else {}
        if e['what'] == 'told' and told.get('decision') == 'run':
            row = rows.get(told['effect'])
            if not row or (row['token'] != told['token'] and (told['effect'], told['token']) not in tokens):
                missing.append(f'the claim {told["effect"]}, attempt {told["attempt"]}, token {told["token"]}: {row}')
        elif acknowledged(e):
            row = rows.get(e['effect'])
            if not row or (row['state'], row['outcome'], row['result']) != ('done', e['outcome'], e['result']):
                missing.append(f'the record of {e["effect"]}, {e["outcome"]} {e["result"]}: {row}')
    return missing


def fail_over(number, way, world, primary, standby):
    """One round; returns the new primary and its standby."""
    name = list(WAYS)[way]
    world.answered_more(random.randrange(100, 300))
    n = world.busy_moment()
    WAYS[name](primary, standby)
    told = list(world.log.entries)
    standby.promote()
    standby.set('synchronous_standby_names', None)
    ok(n >= 20, f'round {number}: {n} requests are in flight when the primary is lost: {name}')
    n_runs = sum(e['what'] == 'told' and e['answer'].get('result', {}).get('decision') == 'run' for e in told)
    n_records = sum(acknowledged(e) for e in told)
    is_(lost(told, standby), [], f'round {number}: {n_runs} claims and {n_records} records that were told are all there')
    at = time.monotonic()
    world.answered_more(1)
    first_s = time.monotonic() - at
    world.answered_more(100)
    note(f'round {number}: the first answer {first_s:.2f} s, the hundredth {time.monotonic() - at:.2f} s after the promotion')
    ok(True, f'round {number}: service is back by itself')
    if number == N_ROUNDS:
        world.stop()
    if primary.process:
        primary.kill()
    shutil.rmtree(primary.data)  # it never comes back as it was
    fresh = Standby(standby, dir=primary.dir)
    standby.set('synchronous_standby_names', '*')
    fresh.follows()
    return standby, fresh


def failovers(the_seed):
    provider = Provider()
    primary = Cluster(SETTINGS)
    standby = Standby(primary)
    with Daemon(two_hosts(primary, standby), config=CONFIG, tools=provider.policy()) as daemon:
        daemon.ready()
        primary.set('synchronous_standby_names', '*')
        standby.follows()
        world = World(daemon.socket, provider, the_seed)
        world.start()
        first = random.randrange(len(WAYS))
        for number in range(1, N_ROUNDS + 1):
            primary, standby = fail_over(number, (first + number) % len(WAYS), world, primary, standby)
        judge(world, primary)
        return primary, standby


# ---- a server that is no longer for writing -------------------------------------------------------------------------

def demoted(primary, other):
    """case 104: a server turns read-only under the pool's connections, while another takes writes."""
    primary.set('synchronous_standby_names', None)
    other.promote()
    with Daemon(two_hosts(primary, other), config=CONFIG, tools=TOOL) as daemon:
        daemon.ready()
        conns = [daemon.connect() for _ in range(8)]
        n_asked = [0]

        def begin():
            n_asked[0] += 1
            return count(begin_all(conns, tool='pay', key=f'asked {n_asked[0]}'))
        is_(begin(), {'busy': 7, 'run': 1}, 'the first host is used while it takes writes')
        n_before = int(primary.psql(f'select count(*) {BACKENDS}'))
        primary.set('default_transaction_read_only', 'on')
        told = [begin() for _ in range(5)]
        is_(told, [{'busy': 7, 'run': 1}] * 5, 'it has become read-only: no client is told of it, the claims go to the other')
        is_([int(server.psql("select count(*) from effect.ledger where key like 'asked %'")) for server in (primary, other)], [1, 5],
            'each claim is on the server that took writes at that time')
        # what an idle one would read there could be of the past
        wait_until(lambda: primary.psql(f'select count(*) {BACKENDS}') == '0', 20, 'every connection has left')
        ok(n_before > 1, f'all {n_before} connections have left it, the idle ones, too')
    return other


def nothing_but_a_standby(primary):
    """A daemon starts while the only server takes nobody (57P03), then only readers: unavailable, and back by itself."""
    with Standby(primary, settings={'hot_standby': 'off'}) as standby:
        primary.kill()
        with Daemon(standby.conninfo(), config=CONFIG, tools=TOOL) as daemon, daemon.connect() as conn:
            ask = {'tool': 'pay', 'key': 'early', 'request': request_id()}
            for what, why in (('a server in recovery', '57P03'), ('a standby that takes readers', 'read-only')):
                wait_until(lambda: re.search(why, conn.call('info')['database'].get('error', '')), 20, f'info says {why}')
                is_(name_of(conn, 'begin', ask), 'unavailable', f'{what}: begin is unavailable, and info says {why}')
                if why == '57P03':
                    standby.stop()
                    standby.settings['hot_standby'] = 'on'
                    standby.start()
            standby.promote()
            wait_until(lambda: name_of(conn, 'begin', ask) == 'run', 30, 'begin runs')
            ok(True, 'it is promoted: the daemon is there by itself')
        is_(standby.invariants(), [], 'no invariant is hurt')


the_seed = seed()
nothing_but_a_standby(demoted(*failovers(the_seed)))
done()
