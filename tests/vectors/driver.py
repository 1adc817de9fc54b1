#!/usr/bin/python3
"""The Python client's driver for wrapper.json (README.md): reads cases on stdin, makes the guarded calls, says what the caller got.

usage: driver.py sync|async

sync: effectd.Ledger; a caller that gives up is a thread that is interrupted (KeyboardInterrupt), as a signal does it.
async: effectd.AsyncLedger; he is a task that is cancelled.
"""
import asyncio
import json
import os
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '../../client/python'))
import effectd  # noqa: E402

POLL_S = 0.003
PARAMS = {'tool', 'key', 'args', 'run', 'step', 'turn', 'call', 'again'}
LEDGER = {'namespace', 'owner'}
ledgers = []  # all stay open until the end: what a caller has left behind goes on in them


class Own(Exception):
    """An error that nobody foresaw."""


def seconds(options, **names):
    return {name: options[member] / 1000 for name, member in names.items() if member in options}


def ledger_options(case):
    params = case.get('params', {})
    options = {name: params[name] for name in LEDGER & params.keys()}
    options.update(seconds(case.get('options', {}), begin_timeout='begin_timeout_ms', complete_timeout='complete_timeout_ms',
                           report_timeout='report_timeout_ms'))
    return options


class OneCall:
    """One call of a case, and what is known of it."""

    def __init__(self, case):
        self.case, self.fn = case, case['fn']
        self.own, self.lost, self.ended = None, False, False

    def guarded(self, ledger, fn):
        """fn under the guard of this call's params and options."""
        params, options = self.case['params'], self.case.get('options', {})
        unknown = params.keys() - PARAMS - LEDGER - {'lease_ms'}
        assert not unknown, unknown
        args = params.get('args')
        more = {**seconds(options, wait='wait_ms'), **seconds(params, lease='lease_ms')}
        if self.fn.get('named'):
            more['errors'] = (BaseException,)
        if args is None:
            more['args'] = lambda _: None
        fn = ledger.tool(params['tool'], key=params.get('key'), **more)(fn)
        place = {name: params[name] for name in ('run', 'step', 'turn', 'call', 'again') if name in params}
        return effectd.override(fn, **place)

    def args(self):
        return self.case['params'].get('args') or {}

    def note(self, claim, args):
        """The line that says that fn was called."""
        told = {'attempt': claim.attempt, 'provider_key': claim.provider_key, 'args': args}
        line = json.dumps({name: value for name, value in told.items() if value is not None}) + '\n'
        out = os.open(self.case['calls'], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(out, line.encode())
        os.close(out)

    def end(self, claim):
        """What fn does when it has waited."""
        self.lost = claim.lost.is_set()
        does, value, text = self.fn['does'], self.fn.get('value'), self.fn.get('text', '')
        if does == 'return':
            if self.fn.get('odd'):
                return {1, 2, 3}
            return 'x' * self.fn['bytes'] if 'bytes' in self.fn else value
        self.own = {'fail': lambda: effectd.Failed(text, value), 'tool_error': lambda: effectd.ToolError(text, value),
                    'not_sent': lambda: effectd.NotSent(text), 'raise': lambda: Own(text)}[does]()
        raise self.own

    def got(self, outcome):
        line = {'got': 'value', 'value': outcome.value, 'replayed': outcome.replayed}
        if outcome.replayed:
            line['raw'] = outcome.raw.decode('utf-8', 'surrogateescape')
        return self.told(line)

    def error(self, error):
        line = {'got': 'error', 'kind': type(error).__name__, 'text': str(error)}
        if isinstance(error, (KeyboardInterrupt, asyncio.CancelledError)):
            line['kind'] = 'Cancelled'
        elif isinstance(error, effectd.EffectError):
            line['advice'] = error.advice
            if type(error) is effectd.Refused:
                line['kind'] = ''.join(word.capitalize() for word in error.name.split('_'))
            for name in ('value', 'pointer', 'why', 'replayed'):
                if getattr(error, name, None) not in (None, False):
                    line[name] = getattr(error, name)
        elif error is self.own:
            line['kind'] = 'Own'
        return self.told(line)

    def told(self, line):
        if self.lost:
            line['lost'] = True
        return line


# ---- sync -----------------------------------------------------------------------------------------------------------

def call_sync(ledger, one):
    def fn(*, effect, **args):
        one.note(effect, args)
        if 'until_file' in one.fn:
            while not os.path.exists(one.fn['until_file']):
                time.sleep(POLL_S)
        if one.fn.get('until') == 'lost':
            effect.lost.wait()
        while one.fn.get('until') == 'cancelled':
            time.sleep(POLL_S)
        if one.fn['does'] == 'time_out':
            near, far = socket.socketpair()
            with near, far:
                near.settimeout(POLL_S)
                try:
                    near.recv(1)
                except OSError as error:
                    one.own = error
                    raise
        return one.end(effect)

    def cancel():
        while not one.ended:
            if os.path.exists(one.case['cancel_file']):
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                return
            time.sleep(POLL_S)

    guarded = one.guarded(ledger, fn)
    watcher = threading.Thread(target=cancel, daemon=True)
    if 'cancel_file' in one.case:
        watcher.start()
    try:
        line = one.got(effectd.outcome(guarded, **one.args()))
    except (Exception, KeyboardInterrupt) as error:
        line = one.error(error)
    one.ended = True
    return line


def run_sync(case):
    calls = [OneCall(one) for one in (case, *case.get('more', []))]
    if case.get('at_once') and any('cancel_file' in one.case for one in calls[1:]):
        return [{'cannot': 'only the main thread can be interrupted'}]
    ledger = effectd.Ledger(case['socket'], **ledger_options(case))
    ledgers.append(ledger)
    if not case.get('at_once'):
        return [call_sync(ledger, one) for one in calls]
    lines = [None] * len(calls)

    def thread(number):
        lines[number] = call_sync(ledger, calls[number])

    threads = [threading.Thread(target=thread, args=(number,)) for number in range(1, len(calls))]
    for each in threads:
        each.start()
    thread(0)
    for each in threads:
        each.join()
    return lines


# ---- async ----------------------------------------------------------------------------------------------------------

async def call_async(ledger, one):
    async def fn(*, effect, **args):
        one.note(effect, args)
        while 'until_file' in one.fn and not os.path.exists(one.fn['until_file']):
            await asyncio.sleep(POLL_S)
        if one.fn.get('until') == 'lost':
            await effect.lost.wait()
        while one.fn.get('until') == 'cancelled':
            await asyncio.sleep(POLL_S)
        if one.fn['does'] == 'time_out':
            try:
                await asyncio.wait_for(asyncio.sleep(60), POLL_S)
            except asyncio.TimeoutError as error:
                one.own = error
                raise
        return one.end(effect)

    async def cancel(task):
        while not os.path.exists(one.case['cancel_file']):
            await asyncio.sleep(POLL_S)
        task.cancel()

    task = asyncio.ensure_future(effectd.outcome(one.guarded(ledger, fn), **one.args()))
    watcher = asyncio.ensure_future(cancel(task)) if 'cancel_file' in one.case else None
    try:
        line = one.got(await task)
    except (Exception, asyncio.CancelledError) as error:
        line = one.error(error)
    if watcher:
        watcher.cancel()
    return line


async def run_async(case):
    calls = [OneCall(one) for one in (case, *case.get('more', []))]
    ledger = effectd.AsyncLedger(case['socket'], **ledger_options(case))
    ledgers.append(ledger)
    if case.get('at_once'):
        return list(await asyncio.gather(*(call_async(ledger, one) for one in calls)))
    return [await call_async(ledger, one) for one in calls]


# ---- the driver -----------------------------------------------------------------------------------------------------

def tell(case, lines):
    line, *more = lines
    line = {'name': case['name'], **line, **({'more': more} if more else {})}
    print(json.dumps(line, default=repr), flush=True)


def main_sync():
    for text in sys.stdin:
        case = json.loads(text)
        tell(case, run_sync(case))
    for ledger in ledgers:
        ledger.close()


async def main_async():
    """The loop goes on between the cases, as what was left by a caller is ended by it."""
    loop = asyncio.get_running_loop()
    while True:
        text = await loop.run_in_executor(None, sys.stdin.readline)
        if not text:
            break
        case = json.loads(text)
        tell(case, await run_async(case))
    for ledger in ledgers:
        await ledger.aclose()


if sys.argv[1] == 'async':
    asyncio.run(main_async())
else:
    main_sync()
