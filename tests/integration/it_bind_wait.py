#!/usr/bin/python3
"""Claims bound to their connection, and callers that wait for an outcome instead of asking again."""
import json
import os
import select
import signal
import subprocess
import sys
import time

from harness import *
from world import Provider, count, kinds, name_of, state_of, tell, unread

N_WAITERS = 500
N_CONNS = 10
# A wrapper in a process of its own: begins, says so, and stays.
WRAPPER = '''
import json, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "begin",
  "params": {"tool": "pay", "key": sys.argv[2], "bind": True}}).encode() + b"\\n")
print(s.recv(65536).decode(), flush=True)
sys.stdin.read()
'''


def wrapper(daemon, key):
    return subprocess.Popen([sys.executable, '-c', WRAPPER, daemon.socket, key], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def bound(daemon, provider):
    conn = daemon.connect()

    def begun(process):
        return json.loads(process.stdout.readline())['result']

    process = wrapper(daemon, 'killed')
    run = begun(process)
    is_((run['decision'], state_of(conn, run['effect'])), ('run', 'pending'), 'a bound claim is pending while its wrapper lives')
    at = time.monotonic()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: state_of(conn, run['effect']) != 'pending', 10, 'the claim is no longer pending')
    ok(time.monotonic() - at < 2, 'its wrapper is killed, and it is unknown at once')
    is_(kinds(conn, run['effect'])[0], 'closed', 'as its connection was closed')
    wait_until(lambda: provider.n_probes(run['provider_key']) > 0, 10, 'it is probed')
    ok(time.monotonic() - at < 5, 'and it is probed at once')
    is_(state_of(conn, run['effect']), 'unknown', 'though nothing was found, it is not free before its lease would have ended')
    process.stdin.close()
    process.stdout.close()

    a = daemon.connect()
    run = a.call('begin', tool='pay', key='landed', bind=True)
    receipt = provider.perform(run['provider_key'])
    a.close()
    wait_until(lambda: state_of(conn, run['effect']) == 'done', 10, 'the probe found it')
    again = conn.call('begin', tool='pay', key='landed')
    is_((again['decision'], again['by']), ('replay', 'probe'), f'what landed before the close is found by the probe ({receipt[:12]}...)')

    a = daemon.connect()
    run = a.call('begin', tool='pay', key='last words', bind=True)
    a.send('complete', effect=run['effect'], token=run['token'], result=1)
    a.close()
    is_(wait_until(lambda: ended(conn, run['effect']), 10), 'done', 'a record that was sent before the close is kept')
    is_(kinds(conn, run['effect']), [], 'and the close did not overtake it')
    a = daemon.connect()
    run = a.call('begin', tool='pay', key='last extend', bind=True)
    a.send('extend', effect=run['effect'], token=run['token'])
    a.close()
    wait_until(lambda: state_of(conn, run['effect']) == 'unknown', 10, 'the close after an extend')
    is_(kinds(conn, run['effect'])[0], 'closed', 'a close during a word that settles nothing follows it')

    a = daemon.connect()
    run = a.call('begin', tool='pay', key='half', bind=True)
    a.send('info')
    a.half_close()
    unread(a)
    is_(state_of(conn, run['effect']), 'pending', 'a half-close is not a close, answers are still written')
    a.close()
    wait_until(lambda: state_of(conn, run['effect']) == 'unknown', 10)
    is_(kinds(conn, run['effect'])[0], 'closed', 'the close after it is one')

    a = daemon.connect()
    run = a.call('begin', tool='pay', key='half, and said', bind=True)
    a.call('unknown', effect=run['effect'], token=run['token'])
    a.half_close()
    is_(a.recv_line(), b'', 'a half-closed connection whose holder said unknown stands for nothing, and is closed')
    is_(kinds(conn, run['effect']).count('closed'), 0, 'and that is no close of the claim')

    a, b = daemon.connect(), daemon.connect()
    ask = {'tool': 'pay', 'key': 'moved', 'request': request_id(), 'bind': True}
    a.send('begin', ask)
    unread(a)
    a.reset()
    # a daemon that has yet to hear of the close is right to say busy
    run = wait_until(lambda: not_busy(b, ask), 10, 'the close is told')
    ok(run['decision'] in ('run', 'unknown'), 'a bound claim whose run was not read is granted again, or its close was told first', run)


def not_busy(conn, ask):
    told = conn.call('begin', ask)
    return told if told['decision'] != 'busy' else None


def ended(conn, effect):
    state = state_of(conn, effect)
    return state if state in ('done', 'released', 'escalated') else None


def restarts(daemon):
    """The daemon's own end is no close."""
    a = daemon.connect()
    runs = [a.call('begin', tool='pay', key=f'restart {how}', bind=True) for how in ('kill', 'stop')]
    daemon.kill()
    daemon.start().ready()
    a.close()
    with daemon.connect() as b:
        is_([state_of(b, run['effect']) for run in runs], ['pending'] * 2, 'the daemon is killed: that closes no claim')
        a = daemon.connect()
        run = a.call('begin', tool='pay', key='restart again', bind=True)
    is_(daemon.stop(), 0, 'the daemon stops')
    daemon.start().ready()
    a.close()
    with daemon.connect() as b:
        is_(state_of(b, run['effect']), 'pending', 'that closes none either')
        # the owner's record after the restart: case 60
        is_(name_of(b, 'begin', tool='pay', key='restart again'), 'busy', 'the claim is alive: busy')
        is_(name_of(b, 'complete', effect=run['effect'], token=run['token'], result=1), 'done', 'and its record is accepted')


def waits(daemon):
    conns = [daemon.connect() for _ in range(6)]
    holder, waiters = conns[0], conns[1:]

    def wait_for(key, tool='pay', wait_ms=30000):
        run = holder.call('begin', tool=tool, key=key)
        ids = [c.send('begin', tool=tool, key=key, wait_ms=wait_ms) for c in waiters]
        # a begin that was answered on the same connections later: the earlier ones are parked
        for c in waiters:
            c.call('info')
        return {'effect': run['effect'], 'token': run['token']}, ids

    mine, ids = wait_for('released')
    at = time.monotonic()
    wait_until(lambda: time.monotonic() - at > 0.05)  # so that there is a wait to tell of
    holder.call('release', mine, reason='nothing was sent')
    winner = wait_until(lambda: next((c for c in waiters if readable(c)), None), 10, 'a waiter is told')
    run = winner.recv()['result']
    is_((run['decision'], run['attempt']), ('run', 2), 'a claim is released: one of its waiters runs')
    ok(50 <= run['waited_ms'] < 20000, 'and is told how long it waited', run)
    holder.call('complete', effect=run['effect'], token=run['token'], result='x')
    answers = [c.recv(id_) for c, id_ in zip(waiters, ids) if c is not winner]
    is_(count(answers), {'replay': 4}, 'the others wait on, and are replayed its result')

    mine, ids = wait_for('unknown', tool='short')
    holder.call('unknown', mine, reason='no idea')
    is_(count([c.recv(i) for c, i in zip(waiters, ids)]), {'unknown': 5}, 'its owner does not know, and no probe will tell: waiters are told unknown')
    at = time.monotonic()
    mine, ids = wait_for('time', wait_ms=400)
    is_(count([c.recv(i) for c, i in zip(waiters, ids)]), {'busy': 5}, 'its time is over: busy')
    ok(time.monotonic() - at >= 0.4, 'not before its time', time.monotonic() - at)
    mine, ids = wait_for('lapse', tool='short')
    is_(count([c.recv(i) for c, i in zip(waiters, ids)]), {'unknown': 5}, 'its lease runs out: waiters are told unknown')

    mine, ids = wait_for('left')
    for c in waiters:
        c.close()
    holder.call('release', mine, reason='nothing was sent')
    # one whose close comes after its grant was made: that is given back as not told
    wait_until(lambda: name_of(holder, 'begin', tool='pay', key='left') == 'run', 10, 'a waiter that left keeps no claim')
    ok(True, 'a waiter that left keeps no claim, the next caller runs')


def readable(conn):
    return bool(select.select([conn.sock], [], [], 0)[0])


def crowd(daemon):
    conns = [daemon.connect() for _ in range(N_CONNS)]
    holder = daemon.connect()
    run = holder.call('begin', tool='pay', key='crowd')
    ids = [(c, c.send('begin', tool='pay', key='crowd', wait_ms=60000)) for c in conns for _ in range(N_WAITERS // N_CONNS)]
    for c in conns:
        c.call('info')
    holder.call('release', effect=run['effect'], token=run['token'], reason='nothing was sent')
    winner = wait_until(lambda: next((c for c in conns if readable(c)), None), 20, 'one is told')
    told = winner.recv()
    is_(tell(told), 'run', f'{N_WAITERS} wait, one runs')
    holder.call('complete', effect=told['result']['effect'], token=told['result']['token'], result=1)
    rest = [c.recv(id_) for c, id_ in ids if (c, id_) != (winner, told['id'])]
    is_(count(rest), {'replay': N_WAITERS - 1}, 'the others are replayed its result')


def drain(daemon):
    conns = [daemon.connect() for _ in range(20)]
    conns[0].call('begin', tool='pay', key='drain')
    ids = [c.send('begin', tool='pay', key='drain', wait_ms=60000, request=request_id()) for c in conns]
    for c in conns:
        c.call('info')
    daemon.signal(signal.SIGTERM)
    is_(count([c.recv(i) for c, i in zip(conns, ids)]), {'busy': 20}, 'the daemon stops: its waiters are busy, parked or about to be')
    is_(daemon.wait(), 0, 'and it ends with 0')


seed()
the_provider = Provider()
TOOLS = [the_provider.policy(lease='5m'), {'name': 'short', 'class': 'irreversible', 'lease': '1s', 'escalate_after': '1h'}]
with Cluster() as the_cluster, Daemon(the_cluster, config={'log_calls': False}, tools=TOOLS) as the_daemon:
    the_daemon.ready()
    bound(the_daemon, the_provider)
    waits(the_daemon)
    crowd(the_daemon)
    restarts(the_daemon)
    drain(the_daemon)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
