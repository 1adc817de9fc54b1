#!/usr/bin/python3
"""The Python package where its caller gives up: interrupted at any line of its code, cancelled at any await, closed half-way. Whatever
the moment, no claim stays held by nobody, what was done is recorded or known to be unknown, and nothing is called twice."""
import asyncio
import collections
import gc
import linecache
import os
import random
import sys
import time

from harness import *
from pyclient import *
import effectd

EVERY = rounds_of(9, 1)  # of the lines
ROUNDS = rounds_of(1, 10)  # of the awaits
HOME = os.path.dirname(effectd.__file__)


class Judge:
    """What may come of a call that was given up, by its key."""

    def __init__(self, daemon):
        self.daemon, self.calls = daemon, collections.Counter()
        self.seen, self.wrong = collections.Counter(), []

    def effect(self, key):
        """The call itself has done what it does."""
        self.calls[key] += 1

    def settled(self, key, where=''):
        try:
            state = ended(self.daemon, key, deadline_s=3)
        except TimeoutError:
            state = 'held by nobody'
        called = self.calls[key]
        fine = {'done', 'unknown'} if called else {None, 'released', 'unknown'}
        if called > 1 or state not in fine:
            self.wrong.append((key, where, state, called))
        self.seen[f'{"called" if called else "not called"}, {state}'] += 1
        return state

    def repeat(self, key, state, got):
        """A repeat's value or error, by the state before. Whether it is final: a begin that was given up may come to the ledger, or
        be given back, only behind that look."""
        if state == 'done' or got == key:
            fine = got == key and self.calls[key] == 1
        elif state == 'unknown' or not self.calls[key]:
            fine = got in (effectd.Unknown, effectd.Busy) and self.calls[key] <= 1
        else:
            fine = False
        if not fine:
            self.wrong.append((key, state, 'the repeat got', got))
        return got is not effectd.Busy

    def verdict(self, what):
        is_(self.wrong, [], what)
        note(dict(sorted(self.seen.items())))


def collecting(frame):
    """The collector is at work: what is raised there reaches nobody."""
    while frame and frame.f_code.co_filename.startswith(HOME):
        if frame.f_code.co_name == '__del__':
            return True
        frame = frame.f_back
    return False


class Interrupt:
    """Raises KeyboardInterrupt at the n-th line of the package that this thread runs."""

    def __init__(self, number):
        self.left, self.where = number, None

    def trace(self, frame, event, _arg):
        if not frame.f_code.co_filename.startswith(HOME) or collecting(frame):
            return None
        # not where a lock is let go: the interpreter looks for signals before and behind that, and a trace function in between
        if event == 'line' and not linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith('with '):
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                self.where = f'{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}'
                raise KeyboardInterrupt
        return self.trace

    def run(self, fn):
        """Whether it came to that."""
        sys.settrace(self.trace)
        try:
            fn()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return self.left <= 0


def interrupted_at_each_line(daemon, guarded_of):
    judge, number = Judge(daemon), random.randrange(1, EVERY + 1)
    with effectd.Ledger(daemon.socket, wait=0) as ledger:
        while True:
            key = f'{guarded_of.__name__} {number}'
            interrupt = Interrupt(number)
            came = interrupt.run(guarded_of(ledger, key, judge))
            gc.collect()
            state = judge.settled(key, interrupt.where)

            def asked_again(key=key, state=state):
                try:
                    got = guarded_of(ledger, key, judge)()
                except effectd.EffectError as error:
                    got = type(error)
                return judge.repeat(key, state, got)
            try:
                wait_until(asked_again, 3)
            except TimeoutError:
                judge.wrong.append((key, state, 'busy for ever'))
            if not came:
                break
            number += EVERY
    judge.verdict(f'{guarded_of.__name__}: interrupted at each of {number} lines: nothing is held, lost or called twice')
    ok(number > 100, 'that were all lines of the call')


def function(ledger, key, judge):
    def fn():
        judge.effect(key)
        return key
    return ledger.tool('t', key=key)(fn)


def block(ledger, key, judge):
    def fn():
        with ledger.claim('t', key=key) as claim:
            if claim.run:
                judge.effect(key)
                claim.result = key
        return claim.result
    return fn


# ---- tasks ----------------------------------------------------------------------------------------------------------

class Steps:
    """An awaitable around another one, which cancels its task at the n-th await: before what is waited for, or together with it."""

    def __init__(self, coroutine, number, together):
        self.coroutine, self.left, self.together = coroutine, number, together

    def __await__(self):
        inner, value, error = self.coroutine.__await__(), None, None
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        while True:
            try:
                future = inner.throw(error) if error else inner.send(value)
            except StopIteration as end:
                return end.value
            self.left -= 1
            if self.left == 0:
                if self.together and future is not None:
                    future.add_done_callback(lambda _: task.cancel())
                else:
                    loop.call_soon(task.cancel)
            value = error = None
            try:
                value = yield future
            except BaseException as caught:
                error = caught


async def cancelled_at_each_await(daemon, together, guarded_of):
    judge, number = Judge(daemon), 1
    loop = asyncio.get_running_loop()
    async with effectd.AsyncLedger(daemon.socket, wait=0) as ledger:
        while True:
            key = f'{guarded_of.__name__} {together} {number} {random.random()}'
            steps = Steps(guarded_of(ledger, key, judge), number, together)

            async def whole(steps=steps):
                return await steps
            cancelled = False
            try:
                await asyncio.ensure_future(whole())
            except asyncio.CancelledError:
                cancelled = True
            state = await loop.run_in_executor(None, judge.settled, key)
            got, until = effectd.Busy, time.monotonic() + 3 * SLOW
            while got is effectd.Busy:
                await asyncio.sleep(0.01)
                if time.monotonic() > until:
                    judge.wrong.append((key, state, 'busy for ever'))
                    break
                try:
                    got = await guarded_of(ledger, key, judge)
                except effectd.EffectError as error:
                    got = type(error)
                judge.repeat(key, state, got)
            if not cancelled and steps.left > 0:
                break
            number += 1
    judge.verdict(f'{guarded_of.__name__}: cancelled at each of {number - 1} awaits{", with what it waits for" * together}')
    ok(number > 3, 'that were all awaits of the call')


async def task(ledger, key, judge):
    async def fn():
        await asyncio.sleep(0)
        judge.effect(key)
        await asyncio.sleep(0)
        return key
    return await ledger.tool('t', key=key)(fn)()


async def task_block(ledger, key, judge):
    async with ledger.claim('t', key=key) as claim:
        if claim.run:
            await asyncio.sleep(0)
            judge.effect(key)
            claim.result = key
    return claim.result


async def closed_half_way(daemon):
    """A coroutine that is closed cannot wait any more, and its claim is reported all the same."""
    async with effectd.AsyncLedger(daemon.socket) as ledger:
        async def fn():
            await asyncio.get_running_loop().create_future()
        coroutine = ledger.tool('t', key='closed')(fn)()
        waits = iter(coroutine.__await__())
        for _ in range(100):
            future = next(waits)
            if state_at(daemon, 'closed') == 'pending':
                break
            while not future.done():
                await asyncio.sleep(0.001)
        coroutine.close()
        is_(await asyncio.get_running_loop().run_in_executor(None, ended, daemon, 'closed'), 'unknown',
            'a coroutine that is closed leaves its call unknown')


async def given_up_while_waiting(daemon):
    """Somebody else holds the key; who waits for it gives up, and is told run only then."""
    loop = asyncio.get_running_loop()
    relay = Relay(daemon.socket)
    async with effectd.AsyncLedger(relay.path, wait=50) as ledger:
        with daemon.connect() as conn:
            run = conn.call('begin', tool='t', key='given up')
            task_ = asyncio.ensure_future(ledger.tool('t', key='given up')(fn_that_must_not_run)())
            await comes_true(lambda: relay.lines, 'he asks')
            task_.cancel()
            await asyncio.wait((task_,))
            ok(task_.cancelled(), 'who waits may give up')
            conn.call('release', effect=run['effect'], token=run['token'], reason='x')

            def given_back():
                row = conn.call('get', tool='t', key='given up')
                return (row['state'], row['attempt']) == ('released', 2)
            ok(await loop.run_in_executor(None, wait_until, given_back), 'what he is told then is given back')


async def fn_that_must_not_run():
    ok(False, 'nobody calls who was told when nobody waited')


def main():
    seed()
    with Cluster() as cluster, Daemon(cluster, tools=[tool()]).ready() as daemon:
        for guarded_of in (function, block):
            interrupted_at_each_line(daemon, guarded_of)
        for _ in range(ROUNDS):
            for guarded_of in (task, task_block):
                for together in (False, True):
                    asyncio.run(cancelled_at_each_await(daemon, together, guarded_of))
        asyncio.run(closed_half_way(daemon))
        asyncio.run(given_up_while_waiting(daemon))
        is_(cluster.invariants(), [], 'no invariant is hurt')
    done()


main()
