#!/usr/bin/python3
"""Named cases of agent frameworks, and their kinds: steps that are repeated after a crash, siblings of one that waits, a fallback
within an attempt, one call dispatched twice, daemons that come back while work is under way. Section K6; the proxy's own part of
59 is not here."""
import random
import select
import signal
import time

from harness import *
from talk import *

PROBE = Script()
# the default key: run, step, tool and args; never the model's call id
TOOLS = [{'name': name, 'lease': '5m', 'escalate_after': '1h'} for name in ('mail', 'db', 'notify', 'ask')]
TOOLS += [PROBE.policy('quick', lease='1s', escalate_after='1h'), {'name': 'short', 'lease': '1s', 'escalate_after': '1h'}]
CONFIG = {'log_calls': False, 'sweep_interval': '50ms'}


def call_id():
    return f'call_{random.getrandbits(64):x}'


def step(conn, n, tool, args=None, **more):
    return conn.call('begin', tool=tool, run='R', step=n, args=args or {'to': 'x'}, call=call_id(), **more)


def superstep(daemon):
    """case 53: a crash in the middle of a superstep, resumed from the checkpoint before it."""
    for bound in (False, True):
        with daemon.connect() as worker:
            runs = [step(worker, 1 + 10 * bound, tool, bind=bound) for tool in ('mail', 'db', 'notify')]
            is_([run['decision'] for run in runs], ['run'] * 3, 'a superstep of three calls')
            for run, tool in zip(runs, ('mail', 'db')):
                worker.call('complete', **own_ids(run), result={'by': tool})
        # the worker is gone; another one resumes, with call ids of its own
        with daemon.connect() as other:
            then = 'unknown' if bound else 'busy'
            if bound:
                wait_state(other, runs[2]['effect'], 'unknown')
            for _ in range(3):
                again = [step(other, 1 + 10 * bound, tool) for tool in ('mail', 'db', 'notify')]
                is_([a['decision'] for a in again], ['replay', 'replay', then], f'case 53: what was done is replayed, the third is {then}')
                is_([a.get('result') for a in again], [{'by': 'mail'}, {'by': 'db'}, None], 'to each its own result')
            is_([a['attempt'] for a in again], [1, 1, 1], 'and no attempt is counted')
            # another step of the run, or other args, is another effect
            is_([step(other, 2 + 10 * bound, 'mail')['decision'], step(other, 1 + 10 * bound, 'mail', {'to': 'y'})['decision']], ['run', 'run'],
                'another step and other args are other effects')
    # its lease over, its outcome is asked of the provider, and then replayed
    with daemon.connect() as worker:
        run = step(worker, 20, 'quick')
    with daemon.connect() as other:
        wait_state(other, run['effect'], 'unknown')
        is_(step(other, 20, 'quick')['decision'], 'unknown', 'case 53: the lease over, it is unknown')
        PROBE.says('landed', result='sent')
        wait_state(other, run['effect'], 'done')
        is_(step(other, 20, 'quick')['result'], 'sent', 'and what the provider knows of is replayed')
    PROBE.says('inconclusive')


def siblings(daemon):
    """case 57: one of three siblings waits for a person, and the whole batch is run again, in any order, by several at once."""
    conns = [daemon.connect() for _ in range(4)]
    tools = ['mail', 'db', 'ask']
    runs = {tool: step(conns[0], 30, tool) for tool in tools}
    for tool in ('mail', 'db'):
        conns[0].call('complete', **own_ids(runs[tool]), result=tool)
    for at in range(10):
        random.shuffle(tools)
        sent = [(conn, tool, conn.send('begin', tool=tool, run='R', step=30, args={'to': 'x'}, call=call_id())) for conn in conns for tool in tools]
        told = {(tool, conn.recv(id_)['result']['decision']) for conn, tool, id_ in sent}
        is_(told, {('mail', 'replay'), ('db', 'replay'), ('ask', 'busy')}, f'case 57: batch {at}, four times at once: replay, replay, busy')
    conns[0].call('complete', **own_ids(runs['ask']), result='yes')
    is_(step(conns[1], 30, 'ask')['result'], 'yes', 'the answer of the one that waited is replayed, too')


def fallback(daemon):
    """case 54: a fallback within the retry wrapper calls the tool again, attempt after attempt."""
    with daemon.connect() as conn:
        run = step(conn, 40, 'mail')
        conn.call('unknown', **own_ids(run), reason='raised after its effect')
        told = [step(conn, 40, 'mail', request=request_id()) for _ in range(6)]
        is_([(t['decision'], t['attempt'], t['next']) for t in told], [('unknown', 1, 'wait')] * 6, 'case 54: each further begin is unknown')
        row = conn.call('get', effect=run['effect'])
        is_((event_kinds(row), row['attempt']), (['unknown', 'refused'], 1), 'case 54: and the history shows that it was asked for again')
        # the same where the first call of the tool was never reported on
        run = step(conn, 41, 'mail')
        is_([step(conn, 41, 'mail')['decision'] for _ in range(6)], ['busy'] * 6, 'without a word of the first one it is busy')


def dispatched_twice(daemon):
    """case 59, as far as the wire goes: equal calls a few milliseconds apart, with ids of their own."""
    conns = [daemon.connect(), daemon.connect()]
    for at in range(20):
        pair = (conns[0], conns[at % 2])
        sent = []
        for conn in pair:
            sent.append(conn.send('begin', tool='mail', run='R', step=100 + at, args={'n': at}, call=call_id(), request=request_id(), wait_ms=20000))
            started = time.monotonic()
            wait_until(lambda: time.monotonic() - started > random.uniform(0, 0.004), 5)
        # whichever was read first runs, and the other one waits for it
        told = select.select([conn.sock for conn in set(pair)], [], [], 20 * SLOW)[0]
        first = pair.index(next(conn for conn in pair if conn.sock in told)) if pair[0] is not pair[1] else 0
        run = pair[first].recv(sent[first])['result']
        if run['decision'] != 'run':
            ok(False, f'case 59: the first of pair {at} runs', run)
            break
        pair[first].call('complete', **own_ids(run), result={'ticket': at})
        second = pair[1 - first].recv(sent[1 - first])['result']
        if (second['decision'], second.get('result'), second['attempt']) != ('replay', {'ticket': at}, 1):
            ok(False, f'case 59: the second of pair {at} is answered by the first', second)
            break
    else:
        ok(True, 'case 59: of 20 pairs one call runs, and its twin is told its result')
    run = step(conns[0], 150, 'mail')
    busy = step(conns[1], 150, 'mail')
    is_((busy['decision'], busy['next'], 'key' in busy['advice'] and 'new key' in busy['advice']), ('busy', 'wait', False),
        'case 59: without waiting it is a clear busy, which sends nobody to another key')
    conns[0].call('complete', **own_ids(run))


def restarts(daemon):
    """cases 60 and 62: the engine comes back, in order or not, and adopts nothing that is still running."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with daemon.connect() as owner, daemon.connect() as bound:
            live = step(owner, 200 + how, 'mail')
            held = step(bound, 200 + how, 'db', bind=True)
            short = step(owner, 200 + how, 'short')
            before = step(owner, 200 + how, 'short')['decision']
            daemon.signal(how)
            daemon.wait()
        daemon.start().ready()
        with daemon.connect() as other:
            row = wait_state(other, short['effect'], 'unknown')  # the sweep at its start has been
            is_((before, row['attempt'], step(other, 200 + how, 'short')['decision']), ('busy', 1, 'unknown'), f'case 62: {how.name}: busy before its lease ends, then unknown')
            is_([(step(other, 200 + how, tool)['decision'], state_of(other, run['effect'])) for tool, run in (('mail', live), ('db', held))],
                [('busy', 'pending')] * 2, f'case 60: {how.name}: a live lease is left alone')
            is_(other.call('extend', **own_ids(live))['state'], 'pending', 'its owner may extend it')
            is_([other.call('complete', **own_ids(run), result=1)['already'] for run in (live, held)], [False] * 2,
                f'case 60: {how.name}: and its record after the restart is accepted')
            is_(other.call('complete', **own_ids(short), result='late')['state'], 'done', 'as is the late one')
            is_([step(other, 200 + how, tool)['decision'] for tool in ('mail', 'db', 'short')], ['replay'] * 3, 'each is replayed')


seed()
with Cluster() as the_cluster, Daemon(the_cluster, config=CONFIG, tools=TOOLS) as the_daemon:
    the_daemon.ready()
    superstep(the_daemon)
    siblings(the_daemon)
    fallback(the_daemon)
    dispatched_twice(the_daemon)
    restarts(the_daemon)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
