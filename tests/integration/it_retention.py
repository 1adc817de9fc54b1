#!/usr/bin/python3
"""What is forgotten, and when: results, keys, and never an open row. The ledger's clock is moved, as test builds may. Cases 93, 95,
96 and 133."""
import threading
import time

from harness import *
from talk import *

TOOLS = [
    {'name': 'minute', 'keep_result': '30s', 'keep_key': '60s'}, {'name': 'year', 'keep_result': '365d', 'keep_key': '3650d'},
    {'name': 'zero', 'keep_result': '0s', 'keep_key': '0s'}, {'name': 'many', 'keep_result': '1s', 'keep_key': '1s', 'max_attempts': 2},
    {'name': 'open', 'keep_result': '1s', 'keep_key': '1s', 'escalate_after': '3650d'},
    {'name': 'hand', 'keep_result': '1s', 'keep_key': '1s', 'escalate_after': '0s'},
]
CONFIG = 'sweep_interval = "50ms"\n'
N_ROWS = rounds_of(20000, 50000)


def settle(conn, key, tool, result='r'):
    run = claim(conn, key, tool)
    conn.call('complete', **own_ids(run), result=result)
    return run


def forgotten(conn, cluster):
    # case 93
    run = settle(conn, 'k', 'minute')
    first = conn.call('begin', tool='minute', key='k')
    done = ms_of(first['done_at'])
    is_((ms_of(first['protected_until']) >= done + 60000, first['protected_until'] >= run['protected_until']), (True, True),
        'case 93: run and replay told until when it is protected')
    later(cluster, 25)
    is_(conn.call('begin', tool='minute', key='k')['result_state'], 'kept', 'the result is kept before keep_result')
    later(cluster, 32)
    cluster.psql('select * from effect.retain(1000)')  # as the daemon does once a minute
    expired = conn.call('begin', tool='minute', key='k')
    is_((expired['decision'], expired['result_state'], 'result' in expired, expired['result_bytes']), ('replay', 'expired', False, 3),
        'then it is expired, and still a replay')
    ok('run the tool' not in expired['advice'].replace('not run the tool', ''), 'whose advice does not send to run it', expired['advice'])
    is_(conn.call('complete', **own_ids(run), result='r')['already'], True, 'the same complete is still already there')
    later(cluster, 58)
    is_(conn.call('begin', tool='minute', key='k')['decision'], 'replay', 'case 93: a replay just before keep_key')
    is_(conn.call('begin', tool='minute', key='k', args={'x': 1})['decision'], 'mismatch', 'and still a mismatch for other args')
    told_ms = max(ms_of(run['protected_until']), ms_of(first['protected_until']))
    past = (told_ms - time.time() * 1000) / 1000 + 2
    later(cluster, past)
    again = conn.call('begin', tool='minute', key='k', args={'x': 1})
    is_((again['decision'], again['attempt'], again['effect']), ('run', 2, run['effect']), 'case 93: past what was told it runs again, under the next number')
    is_(conn.error('complete', **own_ids(run), result='other')['data']['name'], 'conflict', 'a token of its former life is no owner')
    row = conn.call('get', effect=run['effect'])
    is_((row['state'], 'expired' in event_kinds(row)), ('pending', True), 'and does not escalate this one')
    is_(conn.call('complete', **own_ids(again))['state'], 'done', 'whose holder goes on')
    # keep_key 0: as soon as it is done
    settle(conn, 'z', 'zero')
    answer = conn.call('begin', tool='zero', key='z')
    is_((answer['decision'], answer['attempt']), ('run', 2), 'keep_key 0s: not remembered at all')
    # case 133
    run = settle(conn, 'y', 'year')
    ahead = ms_of(run['protected_until']) - time.time() * 1000
    ok(3640 * 86400000 < ahead - past * 1000 < 3660 * 86400000, 'case 133: ten years are ten years', ahead)
    later(cluster, 364 * 86400)
    is_(conn.call('begin', tool='year', key='y')['result'], 'r', 'case 133: kept for a year')
    later(cluster, 366 * 86400)
    cluster.psql('select * from effect.retain(1000)')
    is_(conn.call('begin', tool='year', key='y')['result_state'], 'expired', 'and no longer')
    later(cluster, 0)


def open_rows(daemon, conn, cluster):
    """case 95: only settled rows age out."""
    pending = claim(conn, 'pending', 'open', lease_ms=3600000)
    unknown = claim(conn, 'unknown', 'open')
    conn.call('unknown', **own_ids(unknown))
    escalated = claim(conn, 'escalated', 'hand')
    conn.call('unknown', **own_ids(escalated))
    wait_state(conn, escalated['effect'], 'escalated')
    done = settle(conn, 'done', 'open')
    released = claim(conn, 'released', 'open')
    conn.call('release', **own_ids(released))
    later(cluster, 3500)
    daemon.stop()
    daemon.start()
    daemon.ready()
    with daemon.connect() as conn:
        wait_until(lambda: cluster.psql("select count(*) from effect.ledger where key in ('done', 'released')") == '0', 60, 'settled rows are gone')
        ok(True, 'case 95: the purge takes settled rows')
        is_(cluster.psql("select string_agg(key, ' ' order by key) from effect.ledger where key in ('pending', 'unknown', 'escalated')"),
            'escalated pending unknown', 'case 95: and no open one')
        is_([conn.call('begin', tool=tool, key=key)['decision'] for key, tool in (('pending', 'open'), ('unknown', 'open'), ('escalated', 'hand'))],
            ['busy', 'unknown', 'escalated'], 'case 95: which answer as ever')
        later(cluster, 300 * 86400)
        wait_state(conn, pending['effect'], 'unknown')
        is_(conn.call('begin', tool='open', key='pending')['decision'], 'unknown', 'a lease that is over for a year is unknown, not forgotten')
        is_(conn.error('get', effect=done['effect'])['data']['name'], 'not_found', 'what was forgotten is not found')
        is_(conn.error('complete', **own_ids(done), result='late')['data']['name'], 'not_found', 'and a late complete of it too')
        orphans = cluster.psql(f"select count(*) from effect.event where effect = '{done['effect']}' and kind = 'orphan'")
        is_(orphans, '1', 'it is kept as an orphan all the same')
        again = conn.call('begin', tool='open', key='released')
        is_((again['decision'], released['attempt']), ('run', 1), 'what was forgotten may run anew')
    later(cluster, 0)


def purge(daemon, cluster):
    """case 96: many expired rows go in bounded batches beside begins; a kill in between is harmless."""
    with daemon.connect() as conn:
        for at in range(0, N_ROWS, 250):
            runs = {}
            conn.send_raw(b''.join(Conn.line('begin', {'tool': 'many', 'key': f'm-{i}'}, i) for i in range(at, at + 250)))
            for _ in range(250):
                answer = conn.recv()
                runs[answer['id']] = answer['result']
            conn.send_raw(b''.join(Conn.line('complete', {**own_ids(run), 'result': 1}, i) for i, run in runs.items()))
            for _ in range(250):
                conn.recv()

    def left():
        return int(cluster.psql("select count(*) from effect.ledger where key like 'm-%'"))

    is_(left(), N_ROWS, f'{N_ROWS} rows')
    later(cluster, 3600)
    daemon.kill()
    daemon.start()
    daemon.ready()
    slowest_ms, stop = [0], threading.Event()

    def begins():
        with daemon.connect() as conn:
            n = 0
            while not stop.is_set():
                started = time.monotonic()
                answer = conn.call('begin', tool='year', key=f'beside-{n}')
                slowest_ms[0] = max(slowest_ms[0], (time.monotonic() - started) * 1000)
                n += 1
                if answer['decision'] != 'run':
                    slowest_ms[0] = -1
                    return

    thread = threading.Thread(target=begins)
    thread.start()
    wait_until(lambda: left() < N_ROWS * 3 // 4, 60, 'a quarter is gone')
    stop.set()
    thread.join()
    ok(0 < slowest_ms[0] < 1000 * SLOW, 'case 96: begins beside the purge are answered soon', f'{slowest_ms[0]:.0f} ms')
    note(f'the slowest begin beside it took {slowest_ms[0]:.0f} ms')
    daemon.kill()
    at_kill = left()
    ok(at_kill > 0, 'case 96: killed in the middle', at_kill)
    daemon.start()
    daemon.ready()
    wait_until(lambda: left() == 0, 120, 'all are gone')
    ok(True, 'case 96: and the rest goes after it')
    later(cluster, 0)


with Cluster() as cluster, Daemon(cluster, config=CONFIG, tools=TOOLS) as daemon:
    with daemon.ready().connect() as conn:
        forgotten(conn, cluster)
        open_rows(daemon, conn, cluster)
    purge(daemon, cluster)
    is_(cluster.invariants(), [], 'no invariant is broken')
    is_(daemon.stop(), 0, 'the daemon ends in order')
done()
