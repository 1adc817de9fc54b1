#!/usr/bin/python3
"""Whatever the system refuses, and whenever: memory, a read, a write, a descriptor or a process, at the n-th call of a
begin, a complete, a sweep with its probe, a get, for every n until none fails. The daemon ends as documented (out of
memory: a line and status 71) or not at all; who asks again with the same request gets its run or its replay, nothing is
performed twice, no open outcome stays open, no invariant is hurt."""
import collections
import errno
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *  # noqa: E402
from nth import Nth  # noqa: E402
from world import Counter, Log, Provider, Wire, check, request_id as request_of, tell  # noqa: E402

OUT_OF_MEMORY = 71
# what fails, with which error, and how far apart the n are, which begin at random
FAULTS = [('alloc', errno.ENOMEM, rounds_of(11, 1)), ('recv', errno.ECONNRESET, 1), ('recv', errno.EINTR, 1), ('send', errno.EPIPE, 1),
          ('send', errno.EINTR, 1), ('send', errno.ENOBUFS, 1), ('open', errno.EMFILE, 1),
          ('watch', errno.ENOSPC, 1)]
# of the sweep alone: nothing else has pipes
SWEEP = [('read', errno.EIO, 1), ('read', errno.EINTR, 1), ('write', errno.EPIPE, 1), ('write', errno.EINTR, 1)]
CONNECTING = [('alloc', errno.ENOMEM, rounds_of(67, 1)), ('recv', errno.ECONNRESET, 1), ('send', errno.EPIPE, 1), ('open', errno.EMFILE, 1),
              ('watch', errno.ENOSPC, 1)]
STARTING = ('alloc', errno.ENOMEM, rounds_of(1009, 23))  # thousands, most of them in libcrypto
TERMINATE = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'effectd%' and pid <> pg_backend_pid()"
SICK = r'AddressSanitizer|runtime error|Assertion|SUMMARY'
N_MAX = 50000  # more calls than this in one exchange would be a loop


class Wrapper:
    """A client that obeys the protocol, one exchange at a time, and starts the daemon again when it has ended."""

    def __init__(self, cluster, daemon, provider):
        self.cluster, self.daemon, self.provider, self.log = cluster, daemon, provider, Log()
        self.wire = Wire(daemon.socket, 'wrapper', self.log, Counter())
        self.random = random.Random(random.getrandbits(32))
        self.n_keys = 0
        self.ends = collections.Counter()
        self.wrong = []
        self.open = {}  # effect: was it performed

    def until_told(self, method, params, result=None):
        """Sends it unchanged until there is an answer that says more than `unavailable`."""
        for _ in range(1000):
            answer, _ = self.wire.ask(method, params, result)
            if answer is None:
                self.start_again()
                continue
            error = answer.get('error')
            if error and error['data']['name'] == 'unavailable':
                threading.Event().wait(error['data'].get('retry_after_ms', 20) / 1000)
                continue
            return answer
        raise TimeoutError(f'{method} is never answered')

    def start_again(self):
        """The connection was lost; if that was the daemon's end it must be the documented one."""
        self.wire.close()
        try:
            wait_until(lambda: not self.daemon.running(), 0.02, 'its end')
        except TimeoutError:
            return
        lines = self.daemon.log()
        status = self.daemon.wait()
        self.ends[status] += 1
        if status != OUT_OF_MEMORY or 'out of memory' not in lines[-1]:
            self.wrong.append(f'it ended with status {status}: {lines[-3:]}')
        self.daemon.start()

    def stand(self):
        """Sees to it that the daemon and its ledger are there; it may be about to end."""
        while True:
            try:
                self.daemon.ready()
                return
            except OSError:
                self.start_again()

    def begin(self, key=None, request=None):
        self.n_keys += key is None
        return self.until_told('begin', {'tool': 'pay', 'key': key or f'k{self.n_keys}', 'request': request or request_of(self.random)})

    def run(self, **more):
        """A begin that must be told run."""
        answer = self.begin(**more)
        if tell(answer) != 'run':
            raise AssertionError(f'a fresh key was told {answer}')
        return answer['result']

    def perform(self, run):
        receipt = self.provider.perform(run['provider_key'])
        self.log.add('wrapper', 'performed', effect=run['effect'], attempt=run['attempt'], result=receipt)
        return receipt

    def record(self, run, receipt):
        answer = self.until_told('complete', {'effect': run['effect'], 'token': run['token'], 'outcome': 'succeeded'}, receipt)
        self.log.add('wrapper', 'recorded', effect=run['effect'], outcome='succeeded', result=receipt, answer=answer)
        return answer

    def replayed(self, run, what):
        answer = self.begin(key=run['key'])
        if tell(answer) != 'replay':
            self.wrong.append(f'{what}: a performed effect was told {answer}')


# The exchanges; each begins with a connection of its own.

def in_begin(wrapper, armed):
    with armed:
        run = wrapper.run()
    wrapper.record(run, wrapper.perform(run))
    wrapper.replayed(run, 'begin')


def in_complete(wrapper, armed):
    run = wrapper.run()
    receipt = wrapper.perform(run)
    with armed:
        answer = wrapper.record(run, receipt)
    if tell(answer) != 'done':
        wrapper.wrong.append(f'complete was told {answer}')
    wrapper.replayed(run, 'complete')


def in_get(wrapper, armed):
    run = wrapper.run()
    with armed:
        answer = wrapper.until_told('get', {'effect': run['effect']})
    if tell(answer) != 'pending':
        wrapper.wrong.append(f'get was told {answer}')
    wrapper.record(run, wrapper.perform(run))
    wrapper.replayed(run, 'get')


def in_connecting(wrapper, armed):
    """The ledger's connections are lost, and had again."""
    with armed:
        wrapper.cluster.psql(TERMINATE)
        run = wrapper.run()
    wrapper.record(run, wrapper.perform(run))
    wrapper.replayed(run, 'connecting')


def in_starting(wrapper, armed):
    """It listens, and has yet to meet the ledger for the first time."""
    wrapper.wire.close()
    wrapper.daemon.kill()
    wrapper.daemon.start()
    with armed:
        run = wrapper.run()
    wrapper.record(run, wrapper.perform(run))
    wrapper.replayed(run, 'starting')


def in_sweep(wrapper, armed):
    """Performed or not, and the wrapper does not know; the probe finds out. If something failed it may take its time."""
    run = wrapper.run()
    landed = wrapper.random.random() < 0.6
    if landed:
        wrapper.perform(run)
    with armed:
        wrapper.until_told('unknown', {'effect': run['effect'], 'token': run['token'], 'reason': 'the answer was lost'})
        wrapper.open[run['effect']] = landed
        wait_until(lambda: armed.nth.so_far()[1] or ended(wrapper, run['effect']), 30, f'{run["effect"]} has ended')


def all_ended(wrapper):
    for effect, landed in wrapper.open.items():
        state = wait_until(lambda: ended(wrapper, effect), 60, f'{effect} has ended')
        if state != ('done' if landed else 'released'):
            wrapper.wrong.append(f'sweep: an effect that was {"" if landed else "not "}performed is {state}')
    wrapper.open.clear()


def ended(wrapper, effect):
    answer = wrapper.until_told('get', {'effect': effect, 'events': 0})
    return tell(answer) if tell(answer) in ('done', 'released', 'escalated') else None


EXCHANGES = [in_begin, in_complete, in_get, in_sweep]


class Armed:
    """The part of an exchange in which something fails, from its connection on."""

    def __init__(self, wrapper, nth, *how):
        self.wrapper, self.nth, self.how = wrapper, nth, how

    def __enter__(self):
        self.wrapper.wire.close()
        self.nth.arm(*self.how)

    def __exit__(self, *_):
        self.n_seen, self.n_failed = self.nth.disarm()


def every_nth(wrapper, nth, exchange, kind, error, stride):
    """One exchange for each n, until n is more than there are calls."""
    name = f'{exchange.__name__[3:]}: {kind} fails with {errno.errorcode[error]}'
    n, n_tried, at, since = random.randint(1, stride), 0, len(wrapper.daemon.log()), time.monotonic()
    wrapper.ends.clear()
    wrapper.wrong.clear()
    while n < N_MAX:
        wrapper.stand()
        armed = Armed(wrapper, nth, kind, n, error)
        exchange(wrapper, armed)
        if not armed.n_failed:
            if n_tried or not armed.n_seen:
                break
            n = random.randint(1, armed.n_seen)  # the very first one was beyond them
            continue
        n_tried += 1
        n += stride
    wrapper.stand()
    all_ended(wrapper)
    wrapper.wrong += wrapper.daemon.grep(SICK, at)[:5]
    if kind == 'alloc':  # what libraries then lose is their own affair: what comes next is held to losing nothing
        wrapper.wire.close()
        wrapper.daemon.kill()
        wrapper.daemon.start()
    note(f'{name}: {n_tried} of {n - 1} calls, {sum(wrapper.ends.values())} ends, {time.monotonic() - since:.1f} s')
    is_(wrapper.wrong, [], f'{name}, {"every" if stride == 1 else f"each {stride}th"} call until none is left: all ends as it must')
    ok(n < N_MAX and n_tried > 0, f'{name}: some did, and they come to an end', (n, n_tried))


seed()
CONFIG = {'log_calls': False, 'request_timeout': '1s', 'sweep_interval': '50ms', 'database_connections': 2}
# what comes back without a word costs a second each time
if not rounds_of(0, 1):
    FAULTS.remove(('send', errno.ENOBUFS, 1))
the_nth, the_provider = Nth(), Provider()
TOOL = the_provider.policy(lease='5m', settle='50ms', probe_backoff=['50ms'], probe_timeout='1s')
with Cluster() as the_cluster, Daemon(the_cluster, config=CONFIG, tools=TOOL, env=the_nth.env) as the_daemon:
    the_daemon.ready()
    the_wrapper = Wrapper(the_cluster, the_daemon, the_provider)
    for the_fault in FAULTS:
        for the_exchange in EXCHANGES:
            every_nth(the_wrapper, the_nth, the_exchange, *the_fault)
    for the_fault in CONNECTING:
        every_nth(the_wrapper, the_nth, in_connecting, *the_fault)
    every_nth(the_wrapper, the_nth, in_starting, *STARTING)
    for the_fault in SWEEP:
        every_nth(the_wrapper, the_nth, in_sweep, *the_fault)
    the_wrapper.wire.close()
    is_(check(the_wrapper.log.entries, the_provider.book()), [], 'the checker finds nothing')
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
    is_(the_daemon.stop(), 0, 'and it still ends in order')
done()
