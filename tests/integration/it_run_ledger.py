#!/usr/bin/python3
"""effectctl run when its ledger is away, slow or of another opinion: no command starts on a grant that is none or too old, what
ran is never told as if it had not, and two that want the same do it once."""
import json
import os
import signal
import subprocess
import threading
import time

from harness import *
from peer import *
from talk import *

TOOLS = [{'name': 'deploy', 'class': 'irreversible', 'escalate_after': '1h', 'lease': '60s', 'max_attempts': 100},
         {'name': 'quick', 'class': 'irreversible', 'escalate_after': '1h', 'lease': '1s', 'max_attempts': 100}]
RUN = {'decision': 'run', 'next': 'execute', 'advice': 'Do it now.', 'effect': EFFECT, 'key': 'k', 'attempt': 1,
       'token': '9b1e4c1d-5f0a-4a3e-8d55-aa00bb11cc22', 'lease_until': '2026-01-01T00:01:00.000Z', 'lease_ms': 60000, 'provider_key': EFFECT,
       'protected_until': '2026-02-01T00:00:00.000Z', 'on_error': 'unknown'}
DONE = {'state': 'done', 'outcome': 'succeeded', 'already': False}
RELEASED = {'state': 'released', 'already': False}


class Guarded:
    """effectctl run in the background; its command says in `ready` that it runs, and ends when `end` is there."""

    def __init__(self, socket, key, *flags, tool='deploy', code=0):
        self.base = os.path.join(folder(), 'run')
        text = f'echo ran >>$0.ready; while ! [ -e $0.end ]; do sleep 0.02; done; echo out; exit {code}'
        self.process = subprocess.Popen([program('effectctl'), '-s', socket, 'run', '--tool', tool, '--key', key, *flags, '--', 'sh', '-c', text,
                                         self.base], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def started(self):
        return os.path.exists(self.base + '.ready')

    def ready(self):
        wait_until(self.started, 20, 'the command runs')

    def end(self):
        with open(self.base + '.end', 'wb'):
            pass

    def wait(self):
        out, err = self.process.communicate(timeout=60 * SLOW)
        return self.process.returncode, out, err


def two_at_once(daemon):
    runs = [Guarded(daemon.socket, 'two') for _ in range(5)]
    wait_until(lambda: any(run.started() for run in runs), 20, 'one of them runs')
    holder = next(run for run in runs if run.started())
    holder.end()
    ends = [run.wait() for run in runs]
    is_([end[:2] for end in ends], [(0, 'out\n')] * 5, 'five that want the same have the same end')
    is_(sum(run.started() for run in runs), 1, 'one of them ran it')
    is_(sum('this is a replay' in end[2] for end in ends), 4, 'the others say that theirs is a replay')

    holder = Guarded(daemon.socket, 'busy')
    holder.ready()
    other = Guarded(daemon.socket, 'busy', '--wait', '0s')
    code, out, err = other.wait()
    is_((code, out, other.started()), (75, '', False), 'one that does not wait is 75')
    like(err, '^effectctl: not run: busy, effect [0-9a-f-]{36}: ', 'and says why')
    holder.end()
    holder.wait()


def daemon_restarts(daemon):
    run = Guarded(daemon.socket, 'restart', tool='quick')
    run.ready()
    daemon.kill()
    daemon.start()
    daemon.ready()
    run.end()
    code, out, err = run.wait()
    is_((code, out), (0, 'out\n'), 'a daemon that is killed and restarted meanwhile changes nothing')
    is_(daemon.ctl('get', '--tool', 'quick', '--key', 'restart', '--print', 'state').stdout, 'done\n', 'the end is recorded')

    run = Guarded(daemon.socket, 'stop')
    run.ready()
    other = Guarded(daemon.socket, 'stop')
    wait_until(lambda: connected(other.process.pid), 20, 'another one asks')
    daemon.stop()
    daemon.start()
    daemon.ready()
    run.end()
    is_((run.wait()[:2], other.wait()[:2], other.started()), ((0, 'out\n'), (0, 'out\n'), False), 'nor does one that stops in order, for whoever waits either')

    run = Guarded(daemon.socket, 'late-daemon')
    run.ready()
    daemon.kill()
    run.end()
    wait_until(lambda: open(f'/proc/{run.process.pid}/task/{run.process.pid}/children', encoding='ascii').read() == '', 20, 'the command ended')
    daemon.start()
    is_(run.wait()[:2], (0, 'out\n'), 'nor does one that is away when the command ends')

    run = Guarded(daemon.socket, 'gone', '--record-deadline', '500ms')
    run.ready()
    daemon.kill()
    run.end()
    code, out, err = run.wait()
    is_((code, out), (69, 'out\n'), 'one that does not come back in time is 69')
    like(err, 'the command ran and ended with status 0, but that could not be recorded: .*; do not run it again', 'and nobody may think that nothing ran')

    # case 109: fails closed
    run = Guarded(daemon.socket, 'nobody', '--wait', '0s', '--deadline', '300ms')
    code, out, err = run.wait()
    is_((code, out, run.started()), (69, '', False), 'without a daemon the command is not started')
    like(err, '^effectctl: not run: ', 'and that is said')
    daemon.start()
    daemon.ready()
    run = Guarded(daemon.socket, 'gone', '--wait', '0s')
    code, _, _ = run.wait()
    ok(code in (75, 76) and not run.started(), 'what could not be recorded is not run again', code)


def ledger_away(cluster, daemon):
    run = Guarded(daemon.socket, 'ledger')
    run.ready()
    cluster.immediate()
    run.end()
    wait_until(lambda: open(f'/proc/{run.process.pid}/task/{run.process.pid}/children', encoding='ascii').read() == '', 20, 'the command ended')
    other = Guarded(daemon.socket, 'closed', '--wait', '0s', '--deadline', '300ms')
    code, _, err = other.wait()
    is_((code, other.started()), (69, False), 'without a ledger the command is not started')
    cluster.start()
    is_(run.wait()[:2], (0, 'out\n'), 'a ledger that comes back gets what the command came to')
    daemon.ready()
    again = Guarded(daemon.socket, 'ledger')
    is_((again.wait()[:2], again.started()), ((0, 'out\n'), False), 'and a repeat replays it')

    run = Guarded(daemon.socket, 'kept', '--record-deadline', '500ms', code=0)
    run.ready()
    cluster.immediate()
    run.end()
    is_(run.wait()[0], 69, 'one that does not is 69')
    cluster.start()
    daemon.ready()
    again = Guarded(daemon.socket, 'kept', '--wait', '0s')
    code = again.wait()[0]
    ok(not again.started(), 'and it is not run again', code)


def late():
    """Stands still past its lease, with the grant on its way."""
    box = {}

    def stands_still(_request):
        os.kill(box['run'].process.pid, signal.SIGSTOP)
        started = time.monotonic()
        wait_until(lambda: time.monotonic() - started > 0.4, 10)
        threading.Thread(target=wakes, daemon=True).start()
        return {**RUN, 'lease_ms': 300}

    def wakes():
        wait_until(lambda: daemon.n_told == 1, 10, 'the grant is on its way')
        os.kill(box['run'].process.pid, signal.SIGCONT)

    daemon = Player(begin=stands_still, release=RELEASED)
    box['run'] = Guarded(daemon.path, 'late')
    code, out, err = box['run'].wait()
    is_((code, out, box['run'].started()), (76, '', False), 'a grant older than its lease starts nothing')
    like(err, 'not run: the grant came too late to be used, and was given back', 'and that is said')
    is_([p['token'] for p in daemon.sent('release')], [RUN['token']], 'it is given back')
    is_(daemon.sent('complete') + daemon.sent('unknown'), [], 'and nothing else is said of it')


def interrupted():
    """A signal and the grant come at the same moment."""
    box = {}

    def told(_request):
        wait_until(lambda: 'run' in box, 10)
        os.kill(box['run'].process.pid, signal.SIGTERM)
        return RUN

    for _ in range(rounds_of(5, 100)):
        box.clear()
        daemon = Player(begin=told, release=RELEASED)
        box['run'] = Guarded(daemon.path, 'interrupted')
        code, out, _ = box['run'].wait()
        same = (code, out, box['run'].started(), len(daemon.sent('release'))) == (-signal.SIGTERM, '', False, 1)
        if not same:
            break
    ok(same, 'a signal that comes with the grant starts nothing, and the claim is given back', (code, out, daemon.requests))


def other_opinions():
    ready = {'begin': RUN, 'extend': {'state': 'pending', 'lease_until': '2026-01-01T00:01:00.000Z'}, 'complete': DONE}
    for answer, name in ((error(-32008, 'conflict', state='done'), 'conflict'), (error(-32005, 'not_owner', state='released'), 'not_owner'),
                         (error(-32004, 'not_found'), 'not_found')):
        daemon = Player(**{**ready, 'complete': answer})
        run = Guarded(daemon.path, 'k')
        run.end()
        code, out, err = run.wait()
        is_((code, out), (84, 'out\n'), f'a success that is answered {name} is 84')
        like(err, 'ran and ended with status 0, but .*do not run it again', 'and says that it ran')

    daemon = Player(**{**ready, 'begin': {**RUN, 'lease_ms': 600}, 'extend': error(-32005, 'not_owner', state='unknown')})
    run = Guarded(daemon.path, 'k')
    wait_until(lambda: daemon.sent('extend'), 20, 'the lease is extended')
    run.end()
    code, _, err = run.wait()
    is_(code, 0, 'case 19: what is reported late and taken is the truth')
    like(err, 'the claim was lost while the command runs', 'and yet not passed over in silence')
    is_(daemon.sent('complete')[0]['result'], {'status': 0, 'stdout': 'out\n'}, 'it was reported')

    daemon = Player(**ready)
    run = Guarded(daemon.path, 'k')
    run.end()
    is_(run.wait()[0], 0, 'a command without much to say')
    is_([request['method'] for request in daemon.requests], ['begin', 'complete'], 'costs two round trips')

    busy = {'decision': 'busy', 'next': 'wait', 'advice': 'Wait.', 'effect': EFFECT, 'key': 'k', 'attempt': 1, 'retry_after_ms': 10}
    answers = iter([busy, busy, RUN])
    daemon = Player(**{**ready, 'begin': lambda _request: next(answers)})
    run = Guarded(daemon.path, 'k', '--wait', '2h')
    run.end()
    is_(run.wait()[0], 0, 'a wait of hours')
    asked = daemon.sent('begin')
    is_([p['wait_ms'] for p in asked], [60000] * 3, 'is several begins that wait as long as one may')
    is_(len({p['request'] for p in asked}), 3, 'each of them with a request of its own')

    daemon = Player(**{**ready, 'complete': None})
    run = Guarded(daemon.path, 'k')
    run.end()
    wait_until(lambda: daemon.sent('complete'), 20, 'the end is reported')
    started = time.monotonic()
    run.process.terminate()
    code, _, err = run.wait()
    is_(code, 69, 'a signal ends the waiting for a ledger that does not answer')
    ok(time.monotonic() - started < 20 * SLOW, 'soon')
    like(err, 'ran and ended with status 0, but that could not be recorded', 'and says so')

    for answer, code in (({'decision': 'perhaps', 'next': 'execute', 'advice': 'Go on.'}, 70), ({'decision': 'held', 'next': 'x', 'advice': 'No.'}, 81),
                         ({'decision': 'exhausted', 'next': 'x', 'advice': 'No.'}, 80), ({'decision': 'escalated', 'next': 'x', 'advice': 'No.'}, 76),
                         (error(-32003, 'denied'), 77), (error(-32602, 'invalid_params', pointer='/key', why='too long'), 65)):
        run = Guarded(Player(begin=answer).path, 'k', '--wait', '0s', '--deadline', '200ms')
        is_((run.wait()[0], run.started()), (code, False), f'{answer.get("decision") or answer["error"]["data"]["name"]} is {code}, and starts nothing')

    daemon = Player(**{**ready, 'begin': {**RUN, 'owner': HOSTILE}, 'tools': {'tools': [{'name': 'deploy', 'result_max': 3000}]},
                       'info': {'limits': {'max_line': 4096}}})
    out = subprocess.run([program('effectctl'), '-s', daemon.path, 'run', '--tool', 'deploy', '--', 'seq', '3000'], capture_output=True, check=False,
                         stdin=subprocess.DEVNULL, timeout=60 * SLOW)
    is_(out.returncode, 0, 'a long output')
    ok(2500 < len(json.dumps(daemon.sent('complete')[0]['result'], separators=(',', ':'))) <= 3000, 'is cut to what the daemon says that it keeps')
    is_(len(daemon.sent('begin')) + len(daemon.sent('complete')), 2, 'asked and recorded once')
    is_(daemon.sent('begin')[0]['bind'], True, 'the claim is bound to its connection')

    run = Guarded(Player(begin={'decision': 'busy', 'next': 'wait', 'advice': HOSTILE, 'effect': EFFECT, 'owner': HOSTILE}).path, 'k', '--wait', '0s')
    err = run.wait()[2]
    ok(not any(c in err for c in '\x1b\x07\r\x9b\u202e\u200b') and err.count('\n') == 1, 'no word of a stranger moves the cursor', err)


late()
interrupted()
other_opinions()
with Cluster() as cluster, Daemon(cluster, tools=TOOLS) as daemon:
    daemon.ready()
    two_at_once(daemon)
    daemon_restarts(daemon)
    ledger_away(cluster, daemon)
    is_(cluster.invariants(), [], 'the books are right')
done()
