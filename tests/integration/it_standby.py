#!/usr/bin/python3
"""A synchronous standby that is not there: no commit is durable, so nobody is told run, already or (against himself) busy. When
it is back, or no longer asked for, everything becomes right: the claim is its request's, not lost, one row."""
import select

from harness import *
from world import kinds, name_of, state_of, tell

TOOL = {'name': 'pay', 'class': 'irreversible', 'escalate_after': '1h', 'lease': '5m'}
SHORT_MS = 300


def waiting_backends(cluster):
    return int(cluster.psql("select count(*) from pg_stat_activity where wait_event = 'SyncRep'"))


def unheard(conn, times, method, params):
    return {name_of(conn, method, params) for _ in range(times)}


def absent(cluster, daemon):
    a, b = daemon.connect(), daemon.connect()
    done_ = a.call('begin', tool='pay', key='done')
    a.call('complete', effect=done_['effect'], token=done_['token'], result=1)
    held = a.call('begin', tool='pay', key='held')
    ask = {'tool': 'pay', 'key': 'asked', 'request': request_id(), 'deadline_ms': SHORT_MS}
    plain = {'tool': 'pay', 'key': 'plain', 'deadline_ms': SHORT_MS}
    mine = {'effect': held['effect'], 'token': held['token'], 'result': 7}

    cluster.set('synchronous_standby_names', 'nobody')
    is_(name_of(a, 'begin', ask), 'unavailable', 'begin whose commit waits for the standby is unavailable')
    wait_until(lambda: waiting_backends(cluster) > 0, 10, 'a commit waits for the standby')
    is_(unheard(a, 3, 'begin', ask), {'unavailable'}, 'and again with its request: never busy against itself')
    is_(unheard(b, 3, 'begin', ask), {'unavailable'}, 'on another connection, too')
    is_(name_of(a, 'begin', plain), 'unavailable', 'without a request: unavailable')
    error = a.error('complete', mine)
    is_((error['data']['name'], error['data'].get('kept')), ('unavailable', True), 'complete is kept, not acknowledged')
    error = a.error('complete', mine)
    is_(error['data']['name'], 'unavailable', 'and again: not already')
    is_(name_of(a, 'begin', tool='pay', key='done', deadline_ms=5000), 'replay', 'what is durable is replayed meanwhile')

    # a cancelled wait ends in success and a warning: committed here, and nowhere else
    cancelled = {'tool': 'pay', 'key': 'cancelled', 'request': request_id(), 'deadline_ms': 5 * SHORT_MS}
    id_ = a.send('begin', cancelled)
    answers, n = [], [0]

    def cancel():
        n[0] += int(cluster.psql("select count(pg_cancel_backend(pid)) from pg_stat_activity where wait_event = 'SyncRep'"))
        if select.select([a.sock], [], [], 0)[0]:
            answers.append(tell(a.recv(id_)))
        return answers
    wait_until(cancel, 20, 'the begin whose wait is cancelled is answered')
    is_(answers, ['unavailable'], 'a wait that is cancelled makes nothing durable: not run')
    ok(n[0] > 0, f'{n[0]} waits were cancelled')
    is_(cluster.psql("select count(*) from effect.ledger where key = 'cancelled'"), '1', 'though others see the row')
    is_(unheard(a, 2, 'begin', cancelled), {'unavailable'}, 'nor busy against itself')

    # the connections with their waiting commits are cut: the backends go on waiting, and so do their advisory locks
    n = int(cluster.psql("select count(pg_terminate_backend(pid)) from pg_stat_activity where wait_event = 'SyncRep'"))
    ok(n > 0, f'{n} backends that waited were terminated')
    is_(unheard(a, 3, 'begin', ask) | unheard(b, 3, 'begin', ask), {'unavailable'}, 'still neither run nor busy')
    return a, ask, plain, mine


def back(cluster, daemon, a, ask, plain, mine):
    cluster.set('synchronous_standby_names', None)
    ask = {**ask, 'deadline_ms': 5000}
    run = wait_until(lambda: tell_run(a, ask), 20, 'the claim is granted to its request')
    is_((run['decision'], run['attempt']), ('run', 1), 'with the standby no longer asked for, the claim is granted to its request')
    is_(name_of(a, 'begin', ask), 'busy', 'once')
    is_(cluster.psql("select count(*) from effect.ledger where key = 'asked'"), '1', 'it is one row')
    is_(name_of(a, 'complete', effect=run['effect'], token=run['token'], result=2), 'done', 'and its record is accepted')
    wait_until(lambda: state_of(a, mine['effect']) == 'done', 20, 'the kept record is written')
    answer = a.call('complete', mine)
    is_((answer['state'], answer['already']), ('done', True), 'the kept record is written, and then acknowledged')
    effect = a.call('key', tool='pay', key='plain')['effect']
    wait_until(lambda: name_of(a, 'get', effect=effect) != 'pending', 20, 'the claim nobody was told of ended')
    is_(kinds(a, effect), ['not_told'], 'a claim whose caller had no request, and was told unavailable, is given back')
    is_(a.call('begin', tool='pay', key='plain')['attempt'], 2, 'and the next one runs')
    is_(cluster.invariants(), [], 'no invariant is hurt')


def tell_run(conn, ask):
    """The answer, unless it is `unavailable`; anything but run fails the test by itself."""
    try:
        return conn.call('begin', ask)
    except RpcError as e:
        if e.name != 'unavailable':
            raise
        return None


def restarted(cluster, daemon):
    """The daemon is killed while the commit waits: a new boot tells the request its grant."""
    ask = {'tool': 'pay', 'key': 'boot', 'request': request_id(), 'deadline_ms': SHORT_MS}
    cluster.set('synchronous_standby_names', 'nobody')
    with daemon.connect() as conn:
        is_(name_of(conn, 'begin', ask), 'unavailable', 'a begin waits for the standby')
    wait_until(lambda: waiting_backends(cluster) > 0, 10, 'a commit waits')
    daemon.kill()
    daemon.start()
    with daemon.connect() as conn:
        is_(unheard(conn, 4, 'begin', ask), {'unavailable'}, 'a new boot says unavailable to the same request, too')
        cluster.set('synchronous_standby_names', None)
        run = wait_until(lambda: tell_run(conn, {**ask, 'deadline_ms': 5000}), 30, 'the claim is granted')
        is_((run['decision'], run['attempt']), ('run', 1), 'and grants it once the standby is no longer asked for')
    is_(cluster.psql("select count(*) from effect.ledger where key = 'boot'"), '1', 'it is one row')
    is_(cluster.invariants(), [], 'no invariant is hurt')


seed()
with Cluster() as the_cluster, Daemon(the_cluster, config={'log_calls': False, 'request_timeout': '500ms'}, tools=TOOL) as the_daemon:
    the_daemon.ready()
    back(the_cluster, the_daemon, *absent(the_cluster, the_daemon))
    restarted(the_cluster, the_daemon)
done()
