#!/usr/bin/python3
"""Promises 1 to 7 of the daemon, at the edges where a fault was once found."""
import select

from harness import *

POLICY = {'name': 'pay', 'namespace': 'default', 'class': 'irreversible', 'key': '{/order}', 'lease': '60s', 'escalate_after': '15m'}


def begin(order, **more):
    return {'tool': 'pay', 'args': {'order': order}, **more}


def lose_run(daemon, params):
    """A begin whose run is written, never read, and cut off by a close: it may be told again."""
    with daemon.connect() as conn:
        conn.send('begin', params)
        select.select([conn.sock], [], [])
    with daemon.connect() as conn:
        conn.call('info')  # a pass behind the close


def one_request_for_two_effects(daemon):
    """The lost line of one effect's run says nothing about the run of another that was told."""
    request = request_id()
    with daemon.connect() as conn:
        is_(conn.call('begin', begin('a', request=request))['decision'], 'run', 'an effect is told run')
        lose_run(daemon, begin('b', request=request))
        is_(conn.call('begin', begin('a', request=request))['decision'], 'busy',
            'the run of another effect with the same request was lost: the first is not told again')
        is_(conn.call('begin', begin('b', request=request))['decision'], 'run', 'the lost one is')


def lost_run_of_a_bound_claim(daemon):
    """A close ends a bound claim, told or not: a re-grant would race with its unknown."""
    request = request_id()
    lose_run(daemon, begin('c', request=request, bind=True))
    with daemon.connect() as conn:
        answers = [conn.call('begin', begin('c', request=request, bind=True))['decision']]
        wait_until(lambda: conn.call('get', {'tool': 'pay', 'key': 'c'})['state'] == 'unknown', 10, 'its close made it unknown')
        answers.append(conn.call('begin', begin('c', request=request, bind=True))['decision'])
        isnt(answers[0], 'run', 'a bound claim whose run was lost with its connection is not told again')
        is_(answers[1], 'unknown', 'it is unknown')


with Cluster() as cluster, Daemon(cluster, tools=POLICY) as the_daemon:
    the_daemon.ready()
    one_request_for_two_effects(the_daemon)
    lost_run_of_a_bound_claim(the_daemon)
done()
