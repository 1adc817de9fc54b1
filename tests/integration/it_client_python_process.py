#!/usr/bin/python3
"""The Python package and the process it lives in: threads, forks, other programs, workers that are spawned, ends of every kind. A claim ends
with its owner, whoever has inherited from him; only the owner reports; and an interpreter that ends does so at once and in silence."""
import asyncio
import collections
import functools
import os
import random
import signal
import threading
import time

from harness import *
from pyclient import *
import effectd

N_THREADS = 64
N_KEYS = rounds_of(300, 5000)
HEAD = '''
import asyncio, os, signal, subprocess, sys, time
import effectd
def say(*words):
    print(*words, flush=True)
def stand_still():
    say('called', os.getpid())
    while True:
        time.sleep(0.01)
'''


def run(daemon, text, *args, **how):
    """A program that says it is HEAD and text, with the daemon's socket where effectctl would look for it."""
    return python(HEAD + text, *args, env={'EFFECTD_SOCKET': daemon.socket}, **how)


def ends_quietly(daemon, text, name, status=0):
    done_ = run(daemon, text)
    is_((done_.returncode, done_.stderr), (status, ''), name)
    return done_.stdout.split()


def threads(daemon):
    calls, lock = [], threading.Lock()

    def effect(key):
        with lock:
            calls.append(key)
        return key
    with effectd.Ledger(daemon.socket, wait=50) as ledger:
        got = []

        def work(number):
            for key in ('shared', f'own {number}', f'pair {number // 2}'):
                got.append(ledger.tool('t', key=key)(functools.partial(effect, key))() == key)
        guarded = [threading.Thread(target=work, args=(number,)) for number in range(N_THREADS)]
        for each in guarded:
            each.start()
        for each in guarded:
            each.join()
        is_((len(got), all(got)), (3 * N_THREADS, True), f'{N_THREADS} threads on one ledger: all have their values')
        is_(len(calls), 1 + N_THREADS + N_THREADS // 2, 'and each effect was called once')
        names = [each.name for each in threading.enumerate() if each.name == 'effectd']
        is_(len(names), 1, 'one thread keeps all leases')
    ok('effectd' not in [each.name for each in threading.enumerate()], 'and ends with the ledger')


class Storm:
    """Threads and tasks that all want the same effects, while the daemon is killed under them; its book has each call."""

    def __init__(self, path):
        self.path, self.lock, self.stopping = path, threading.Lock(), threading.Event()
        self.book, self.odd, self.n_told = collections.Counter(), [], 0

    def effect(self, key):
        with self.lock:
            self.book[key] += 1
            return {'of': key}

    def note(self, key, value):
        self.n_told += 1
        if value != {'of': key}:
            self.odd.append((key, value))

    def threads(self):
        with effectd.Ledger(self.path, wait=1, begin_timeout=60) as ledger:
            def work(source):
                while not self.stopping.is_set():
                    key = f'storm {source.randrange(N_KEYS)}'
                    try:
                        self.note(key, ledger.tool('t', key=key)(functools.partial(self.effect, key))())
                    except effectd.Busy:
                        pass
                    except Exception as error:  # pylint: disable=broad-except
                        self.odd.append((key, repr(error)))
            workers = [threading.Thread(target=work, args=(random.Random(random.random()),)) for _ in range(16)]
            for each in workers:
                each.start()
            for each in workers:
                each.join()

    async def tasks(self):
        async with effectd.AsyncLedger(self.path, wait=1, begin_timeout=60) as ledger:
            async def work(source):
                while not self.stopping.is_set():
                    key = f'storm {source.randrange(N_KEYS)}'

                    async def fn(key=key):
                        await asyncio.sleep(0)
                        return self.effect(key)
                    try:
                        self.note(key, await ledger.tool('t', key=key, args=lambda _: None)(fn)())
                    except effectd.Busy:
                        pass
                    except Exception as error:  # pylint: disable=broad-except
                        self.odd.append((key, repr(error)))
            await asyncio.gather(*(work(random.Random(random.random())) for _ in range(32)))


def storm(daemon):
    """Threads and tasks, and a daemon that is killed and comes back."""
    it = Storm(daemon.socket)
    both = [threading.Thread(target=it.threads), threading.Thread(target=lambda: asyncio.run(it.tasks()))]
    for each in both:
        each.start()
    for _ in range(rounds_of(3, 30)):
        goal = it.n_told + 300
        wait_until(lambda: it.n_told >= goal or it.odd, 60, 'so many more were told')  # pylint: disable=cell-var-from-loop
        daemon.kill()
        daemon.start().ready()
    it.stopping.set()
    for each in both:
        each.join()
    is_(it.odd, [], f'{it.n_told} calls by threads and tasks under a daemon that is killed: all have the value of their effect')
    is_([key for key, n in it.book.items() if n != 1], [], f'each of {len(it.book)} effects was called once')
    with effectd.Ledger(daemon.socket) as ledger:
        is_({ledger.get(tool='t', key=key)['state'] for key in it.book}, {'done'}, 'and is recorded')


def lease_of_many(daemon):
    """20 calls that take three leases each."""
    with effectd.Ledger(daemon.socket) as ledger:
        lost = []

        def work(number):
            with ledger.claim('short', key=f'long {number}') as claim:
                until = time.monotonic() + 3
                while time.monotonic() < until and not claim.lost.wait(0.05):
                    pass
                lost.append(claim.lost.is_set())
                claim.result = number
        workers = [threading.Thread(target=work, args=(number,)) for number in range(20)]
        for each in workers:
            each.start()
        wait_until(lambda: len(lost) == 20, 20)
        for each in workers:
            each.join()
        is_(lost, [False] * 20, '20 calls that take three leases keep them')
        is_([ledger.get(tool='short', key=f'long {n}', events=50)['state'] for n in range(20)], ['done'] * 20, 'and are done')


def owner_dies(daemon, what, text):
    """Its owner is killed, and what he has started lives on: nobody is told run."""
    child = run(daemon, text, what, wait=False)
    pids = []
    while 'called' not in pids[-2:-1]:
        pids += child.stdout.readline().split()
    others = [int(pid) for pid in pids if pid.isdigit() and int(pid) != child.pid]
    child.kill()
    wait_until(lambda: state_at(daemon, what) == 'unknown', 10, f'{what} is unknown')
    ok(all(os.path.exists(f'/proc/{pid}') for pid in others), f'{what}: the claim ends with its owner, and what he had started lives on')
    with effectd.Ledger(daemon.socket, wait=0) as ledger:
        try:
            ledger.tool('t', key=what)(lambda: ok(False, f'{what}: never a second start'))()
        except effectd.NotRun as error:
            is_(type(error), effectd.Unknown, f'{what}: the next one is told that nobody knows')
    for pid in others:
        os.kill(pid, signal.SIGKILL)
    child.communicate()


def owners_die(daemon):
    owner_dies(daemon, 'killed', "effectd.Ledger().tool('t', key='killed')(stand_still)()")
    owner_dies(daemon, 'killed task', '''
async def fn():
    say('called', os.getpid())
    await asyncio.sleep(60)
asyncio.run(effectd.AsyncLedger().tool('t', key='killed task')(fn)())
''')
    owner_dies(daemon, 'forked', '''
def fn():
    child = os.fork()
    if child == 0:
        time.sleep(60)
    say('child', child)
    stand_still()
effectd.Ledger().tool('t', key='forked')(fn)()
''')
    owner_dies(daemon, 'forked task', '''
async def fn():
    child = os.fork()
    if child == 0:
        time.sleep(60)
    say('child', child)
    stand_still()
asyncio.run(effectd.AsyncLedger().tool('t', key='forked task')(fn)())
''')
    owner_dies(daemon, 'command', '''
def fn():
    say('child', subprocess.Popen(['sleep', '60'], close_fds=False).pid)
    stand_still()
effectd.Ledger().tool('t', key='command')(fn)()
''')


def forks(daemon):
    told = ends_quietly(daemon, '''
ledger = effectd.Ledger()
ledger.tool('t', key='before the fork')(lambda: 1)()
def fn():
    child = os.fork()
    if child == 0:
        return 'of the child'
    os.waitpid(child, 0)
    return 'of the parent'
value = ledger.tool('t', key='fork within')(fn)()
if value == 'of the child':
    say(ledger.tool('t', key='by the child')(lambda: os.getpid() and 'own')())
    os._exit(0)
say(ledger.tool('t', key='fork within')(fn)().split()[-1], ledger.tool('t', key='by the child')(lambda: 'not')())
''', 'a child that is forked within a call')
    is_(told, ['own', 'parent', 'own'], 'has connections of its own, and leaves the report to its parent')
    told = ends_quietly(daemon, '''
ledger = effectd.Ledger()
with ledger.claim('t', key='block') as claim:
    if os.fork() == 0:
        try:
            claim.run
        except RuntimeError:
            os._exit(7)
        os._exit(0)
    say(os.wait()[1] >> 8)
    say(ledger.get(tool='t', key='block')['state'])
    claim = ledger.claim('t', key='in the block')
    claim.__enter__()
    if os.fork() == 0:
        del claim
        sys.exit()
    os.wait()
    say(ledger.get(tool='t', key='in the block')['state'])
    claim.done()
    raise SystemExit
''', 'children that end within a block')
    is_(told, ['7', 'pending', 'pending'], 'may not run the claims of their parent, and do not end them')
    for method in ('fork', 'spawn'):
        told = ends_quietly(daemon, f'''
import multiprocessing
def main():
    ledger = effectd.Ledger()
    ledger.tool('t', key='parent of {method}')(lambda: 1)()
    context = multiprocessing.get_context('{method}')
    jobs = [context.Process(target=ledger.begin, args=('t', '{method}')) for _ in range(4)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    say([job.exitcode for job in jobs], ledger.get(tool='t', key='{method}')['attempt'])
main()
''', f'workers by {method}')
        is_(''.join(told), '[0,0,0,0]1', f'workers by {method} use a ledger that they were given')
    told = ends_quietly(daemon, '''
ledger = effectd.AsyncLedger()
async def fn(): return 1
async def main():
    await ledger.tool('t', key='parent loop')(fn)()
    child = os.fork()
    if child == 0:
        try:
            asyncio._set_running_loop(None)
            say(asyncio.run(ledger.tool('t', key='child loop')(fn)()))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    say(await ledger.tool('t', key='parent loop 2')(fn)())
    await ledger.aclose()
asyncio.run(main())
''', 'a loop that forks')
    is_(told, ['1', '1'], 'goes on, and its child has a loop of its own')


def ends(daemon):
    ends_quietly(daemon, "effectd.Ledger().tool('t', key='end 1')(lambda: 1)()", 'a ledger that nobody closes')
    ends_quietly(daemon, '''
ledger = effectd.AsyncLedger()
async def fn(): return 1
for number in range(3):
    asyncio.run(ledger.tool('t', key=f'end 2 {number}')(fn)())
''', 'three loops and no aclose()')
    ends_quietly(daemon, "claim = effectd.Ledger().claim('t', key='end 3'); claim.__enter__()", 'a claim that nobody ends')
    is_(ended(daemon, 'end 3'), 'unknown', 'and its outcome is unknown')
    ends_quietly(daemon, "import threading\nthreading.Thread(target=effectd.Ledger().tool('t', key='end 4')(stand_still), daemon=True).start()\n"
                         "time.sleep(0.5)", 'a daemon thread in a call does not keep the interpreter')
    is_(ended(daemon, 'end 4'), 'unknown', 'what it was at is unknown')
    ends_quietly(daemon, "effectd.Ledger().tool('t', key='end 5')(lambda: sys.exit(3))()", 'sys.exit() within a call', 3)
    is_(ended(daemon, 'end 5'), 'unknown', 'leaves it unknown')
    ends_quietly(daemon, '''
async def fn(): await asyncio.sleep(60)
async def main():
    ledger = effectd.AsyncLedger()
    task = asyncio.ensure_future(ledger.tool('t', key='end 6')(fn)())
    while (await ledger.list(tool='t', key_prefix='end 6'))['effects'] == []:
        await asyncio.sleep(0.01)
asyncio.run(main())
''', 'a loop that ends with a call under way')
    is_(ended(daemon, 'end 6'), 'unknown', 'leaves it unknown')
    ends_quietly(daemon, '''
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.3)
signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
try:
    effectd.Ledger().tool('t', key='end 7')(stand_still)()
except KeyboardInterrupt:
    pass
''', 'a Ctrl-C within a call')
    is_(ended(daemon, 'end 7'), 'unknown', 'leaves it unknown')
    ends_quietly(daemon, '''
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
ledger = effectd.Ledger()
ledger._pool.give(ledger._pool.take())
for wire in ledger._pool.idle:
    wire.sock.shutdown(2)
ledger.tool('t', key='end 8')(lambda: 1)()
''', 'a lost connection where SIGPIPE kills')


def modules(daemon):
    told = run(daemon, "say('asyncio.base_events' in sys.modules, sorted(n for n in sys.modules if n.split('.')[0] in ('typing_extensions',)))")
    is_(told.stderr, '', 'the package is imported without a warning')
    with effectd.Ledger(os.path.join(folder(), 'nobody'), begin_timeout=0.2, wait=0) as ledger:
        try:
            ledger.tool('t', key='x')(lambda: ok(False, 'a ledger that is not there is no run'))()
        except effectd.Unavailable as error:
            like(str(error), r'not made: .*nobody', 'a daemon that is not there is Unavailable, and named')
    try:
        effectd.Ledger('/' + 'x' * 108).call('info')
    except ValueError as error:
        like(str(error), '107', 'a path that no socket can have is told at once')


def main():
    seed()
    policies = [tool(), tool('short', lease='1s')]
    with Cluster() as cluster, Daemon(cluster, tools=policies).ready() as daemon:
        threads(daemon)
        storm(daemon)
        lease_of_many(daemon)
        owners_die(daemon)
        forks(daemon)
        ends(daemon)
        modules(daemon)
        is_(cluster.invariants(), [], 'no invariant is hurt')
    done()


main()
