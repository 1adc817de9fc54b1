#!/usr/bin/python3
"""Holds a client to wrapper.json: plays the daemon, case by case, to the driver of a client, and says which cases it fails, in TAP.

usage: wrapper.py [--each N] [--case TEXT] [--jobs N] [--seed N] [--cannot TEXT]... -- COMMAND [ARGUMENT...]

    --each N       of the cases that are run for each byte, every N-th (default 1: all of them)
    --case TEXT    only the cases whose sentence holds this
    --jobs N       so many drivers at once (default 4)
    --cannot TEXT  the cases whose sentence holds this are beyond this client, and are not played

README.md has the format of the table and of the lines between the runner and a driver.
"""
import argparse
import json
import os
import queue
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from played import Played

HERE = os.path.dirname(os.path.realpath(__file__))
SLOW = float(os.environ.get('EFFECTD_SLOW', '1'))
DEADLINE_S = 30 * SLOW  # for anything that must come
KEPT = 40  # so many played daemons stay after their case, to hear what should not come

UUID = re.compile(r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', re.I)
CALL = {'params', 'options', 'fn', 'cancel_file'}
CASE = CALL | {'name', 'rule', 'more', 'at_once', 'daemon', 'extends', 'extends_least', 'calls', 'fn_args', 'caller'}
ANSWER = {'answer', 'but', 'result_text', 'result_x', 'result_deep', 'line', 'fault', 'cut_answer', 'pieces', 'before', 'twice', 'delay_ms', 'then'}
REQUEST = ANSWER | {'expect', 'with', 'has', 'lacks', 'reason_has', 'cut_request', 'times', 'not_before_ms', 'as', 'or_gone', 'even_after'}
DOES = {'called': {'n'}, 'extended': {'n'}, 'told': {'within_ms'}, 'touch': {'file'}, 'answer': {'to'}, 'stop': set(), 'start': set(), 'close': set(), 'pause': {'ms'},
        'freeze': set(), 'thaw': set()}
# What needs no case of its own to be expected: a client may ask what the daemon's limits are.
INFO = {'result': {'version': '0', 'protocol': 1, 'ready': True, 'limits': {'max_line': 1048576}}}


class Wrong(Exception):
    """What is wrong with this client, in words."""


# ---- the table ------------------------------------------------------------------------------------------------------

class Table:
    """wrapper.json, each member known and each answer named."""

    def __init__(self, path=os.path.join(HERE, 'wrapper.json')):
        with open(path, encoding='utf-8') as text:
            table = json.load(text)
        self.answers, self.options, self.cases = table['answers'], table['options'], table['cases']
        names = [case['name'] for case in self.cases]
        assert len(set(names)) == len(names), 'two cases of one name'
        for case in self.cases:
            self._check(case)

    def _check(self, case):
        assert set(case) <= CASE and {'name', 'rule', 'daemon', 'calls', 'caller'} <= set(case), (case['name'], set(case) - CASE)
        for call in case.get('more', []):
            assert set(call) <= CALL, (case['name'], call)
        for step in case['daemon']:
            if 'do' in step:
                assert set(step) <= DOES[step['do']] | {'do'}, (case['name'], step)
            for request in step.get('any_order', [step] if 'expect' in step else []):
                self._check_answer(case, request, REQUEST)
        for answer in case.get('extends', []):
            self._check_answer(case, answer, ANSWER)

    def _check_answer(self, case, step, members):
        assert set(step) <= members, (case['name'], set(step) - members)
        assert 'answer' not in step or step['answer'] in self.answers, (case['name'], step['answer'])
        assert {'answer', 'line', 'fault', 'cut_request'} & set(step), (case['name'], step)

    def answer(self, step):
        """The answer's object, without its id, and what members are replaced in: its result, or its error's data."""
        answer = json.loads(json.dumps(self.answers[step['answer']]))
        what = answer.get('result', answer.get('error', {}).get('data'))
        for name, value in step.get('but', {}).items():
            if value is None:
                what.pop(name, None)
            else:
                what[name] = value
        return answer, what

    def result(self, step):
        """The members of what is told, {} of an error and of what stands there as a line."""
        return self.answer(step)[0].get('result', {}) if 'line' not in step else {}

    def line(self, step, id_):
        """The bytes that answer a request of this id."""
        if 'line' in step:
            return (spell(step['line'], id_) + '\n').encode()
        answer, what = self.answer(step)
        result = step.get('result_text', '[' * step.get('result_deep', 0) + ']' * step.get('result_deep', 0))
        if result:
            what['result'] = '$result'
        if 'result_x' in step:
            what['result'] = 'x' * step['result_x']
        text = json.dumps({'jsonrpc': '2.0', 'id': id_, **answer}, separators=(',', ':'), ensure_ascii=False)
        return (text.replace('"$result"', result, 1) + '\n').encode()


def spell(line, id_):
    return line.replace('$id', json.dumps(id_)).replace('$other_id', '987654321')


# ---- a driver -------------------------------------------------------------------------------------------------------

class Driver:
    """A process that makes guarded calls, one line a case."""

    def __init__(self, command):
        self.command, self.process, self.buffer = command, None, b''

    def fd(self):
        return self.process.stdout.fileno()

    def ask(self, line):
        if not self.process:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
            self.buffer = b''
        try:
            self.process.stdin.write(json.dumps(line).encode() + b'\n')
        except OSError:
            raise Wrong('the driver is gone') from None

    def take(self):
        """Its next line as an object, once poll() says that there is something; None while it is not whole."""
        data = os.read(self.fd(), 1 << 20)
        if not data:
            status = self.process.wait()
            self.process = None
            raise Wrong(f'the driver ended, with status {status}')
        self.buffer += data
        if b'\n' not in self.buffer:
            return None
        line, self.buffer = self.buffer.split(b'\n', 1)
        try:
            told = json.loads(line)
        except RecursionError:
            return {'got': 'something deep'}
        except ValueError:
            raise Wrong(f'the driver says {line[:300]!r}') from None
        if not isinstance(told, dict):
            raise Wrong(f'the driver says {line[:300]!r}')
        return told

    def kill(self):
        """After a case that went wrong nothing is known of it."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self._close()

    def end(self):
        """stdin ends, and so does it."""
        if self.process:
            self.process.stdin.close()
            try:
                self.process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                self.kill()
                return 'the driver does not end with its stdin'
            self._close()
        return None

    def _close(self):
        self.process.stdout.close()
        self.process.stdin.close()
        self.process = None

    def freeze(self):
        os.kill(self.process.pid, signal.SIGSTOP)
        until_s = time.monotonic() + DEADLINE_S
        while self._state() != 'T':
            if time.monotonic() > until_s:
                raise Wrong('the driver does not stop')
            select.select([], [], [], 0.001)

    def thaw(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def _state(self):
        with open(f'/proc/{self.process.pid}/stat', encoding='utf-8', errors='replace') as stat:
            return stat.read().rsplit(')', 1)[1].split()[0]


# ---- one case, played -----------------------------------------------------------------------------------------------

class Play:
    """A case, with its `each` at one number. run() raises Wrong or AssertionError; .size is then how far `each` goes."""

    def __init__(self, table, case, at, driver, folder, deadline_s):
        self.table, self.case, self.at, self.driver, self.folder, self.deadline_s = table, case, at, driver, folder, deadline_s
        os.mkdir(folder)
        self.played = Played(os.path.join(folder, 's'))
        self.calls = [case, *case.get('more', [])]
        self.told, self.size = None, None
        self.runs, self.asked, self.held = {}, {}, {}
        self.extends, self.n_extends = list(case.get('extends', [])), 0
        self.timers = []

    def run(self):
        away = self.case['daemon'][:1] == [{'do': 'stop'}]
        if away:
            self.played.stop()
        self.driver.ask(self._line())
        for at, step in enumerate(self.case['daemon']):
            if away and at == 0:
                continue
            if 'do' in step:
                getattr(self, '_do_' + step['do'])(step)
            else:
                self._requests(step, at)
            if self.told and 'cannot' in self.told:
                return self.told['cannot']
        self._do_told({})
        if 'cannot' not in self.told:
            self._judge()
        return self.told.get('cannot')

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _line(self):
        """What the driver is given."""
        def call(n, of):
            fn = dict(of.get('fn', {'does': 'return', 'value': {'refund': 're_77'}}))
            if 'until_file' in fn:
                fn['until_file'] = self._path(fn['until_file'])
            options = {name: ms for name, ms in {**self.table.options, **of.get('options', {})}.items() if ms is not None}
            return {'params': of.get('params', {'tool': 't', 'key': 'k'}), 'options': options, 'fn': fn,
                    'calls': self._path(f'calls{n}'), **({'cancel_file': self._path(of['cancel_file'])} if 'cancel_file' in of else {})}

        lines = [call(n, of) for n, of in enumerate(self.calls)]
        line = {'name': self.case['name'], 'socket': self.played.path, **lines[0]}
        if len(lines) > 1:
            line.update(more=lines[1:], at_once=self.case.get('at_once', False))
        self.line = line
        return line

    # ---- what comes

    def _poll(self, timeout_s):
        """Takes what comes for so long at most; extends and what the daemon says by itself are answered at once."""
        now_s = time.monotonic()
        for timer in [timer for timer in self.timers if timer[0] <= now_s]:
            self.timers.remove(timer)
            timer[1]()
        if self.timers:
            timeout_s = min(timeout_s, max(0, min(timer[0] for timer in self.timers) - time.monotonic()))
        if self.played.poll(timeout_s, self.driver.fd()) and not self.told:
            self.told = self.driver.take()
            self.played.drain()  # what was sent before the driver's line came before it
        for request in [r for r in self.played.requests if r.method in ('extend', 'info')]:
            self.played.requests.remove(request)
            if request.method == 'extend':
                self._extend(request)
            else:
                self.played.write(request.conn, (json.dumps({'jsonrpc': '2.0', 'id': request.id, **INFO}) + '\n').encode())
        if self.played.faults:
            raise Wrong(self.played.faults[0])

    def _wait(self, what, words):
        until_s = time.monotonic() + self.deadline_s
        while not what():
            if time.monotonic() > until_s:
                raise Wrong(f'in vain: {words}; {len(self.played.conns)} connections are open')
            self._poll(until_s - time.monotonic())
        return what()

    def _extend(self, request):
        self._check_own(request)
        if not self.extends:
            raise Wrong('an extend comes, long before a third of the lease, or after fn')
        step = self.extends[min(self.n_extends, len(self.extends) - 1)]
        self.n_extends += 1
        self._answer(step, request)

    def _requests(self, step, at):
        group = list(step.get('any_order', [step]))
        for one in group:
            if 'cut_request' in one:
                self.played.cut = self.at if one['cut_request'] == 'each' else one['cut_request']
            elif one.get('fault') == 'reset':
                self.played.cut = 'whole'
        if 'any_order' in step:
            while group:
                request = self._next(f'one of {group}')
                matched = [one for one in group if not self._differs(one, request)]
                if not matched:
                    raise Wrong(f'{show(request)} comes, none of {group}')
                group.remove(matched[0])
                self._take(matched[0], request)
            return
        least, most = step.get('times', [1, 1])
        n, last = 0, at == len(self.case['daemon']) - 1
        while most is None or n < most:
            if n >= least and self._over(step, last):
                return
            request = self._next(f'{step["expect"]}, as step {at + 1}', step)
            if not request:
                return
            differs = self._differs(step, request)
            if differs and n >= least:
                self.played.requests.appendleft(request)
                return
            if differs:
                raise Wrong(f'step {at + 1}: {differs}')
            self._take(step, request)
            n += 1

    def _over(self, step, last):
        """After the least times: whether the next thing to come is no such request. It waits for whichever it is."""
        self._wait(lambda: self.played.requests or self.told, step)
        return not self.played.requests and (last or self.told)

    def _next(self, words, step=None):
        step = step or {}

        def gone():
            return step.get('or_gone') and not any(conn.open for conn in self.played.conns)

        self._wait(lambda: self.played.requests or self.told and not step.get('even_after') or gone(), words)
        if self.played.requests:
            return self.played.requests.popleft()
        if gone():
            return None
        raise Wrong(f'the caller got {json.dumps(self.told)[:400]} before {words}')

    def _differs(self, step, request):
        """What of a request is not as the step says; None if it is."""
        if request.method is None:
            return None  # cut off before it was whole
        if request.method != step['expect']:
            return f'{show(request)} comes, not {step["expect"]}'
        for name, value in step.get('with', {}).items():
            if not same(request.params.get(name), value):
                return f'{show(request)}: {name} is not {json.dumps(value)[:200]}'
        missing = [name for name in step.get('has', []) if name not in request.params]
        extra = [name for name in step.get('lacks', []) if name in request.params]
        if missing or extra:
            return f'{show(request)}: without {missing}, with {extra}'
        if any(word not in request.params.get('reason', '') for word in step.get('reason_has', [])):
            return f'{show(request)}: the reason has not {step["reason_has"]}'
        return None

    def _take(self, step, request):
        if request.gap_ms < step.get('not_before_ms', 0):
            raise Wrong(f'{show(request)} comes {request.gap_ms:.0f} ms after the last answer, not {step["not_before_ms"]} later')
        if request.method == 'begin':
            self._check_begin(request)
        elif request.method:
            self._check_own(request)
        if step.get('cut_request') == 'each':
            self.size = request.size
        self._answer(step, request)

    def _check_begin(self, request):
        params = dict(request.params)
        id_ = params.pop('request', None)
        if not isinstance(id_, str) or not UUID.fullmatch(id_) or params.get('bind') is not True:
            raise Wrong(f'{show(request)}: no request that is a UUID, or no bind')
        if self.asked.setdefault(id_, request.params) != request.params:
            raise Wrong(f'{show(request)}: sent again with other params than {self.asked[id_]}')
        if len(self.asked) > len(self.calls):
            raise Wrong(f'{show(request)}: a request of its own, not that of the begin before')
        lines = [self.line, *self.line.get('more', [])]
        if not any({**line['params'], 'bind': True, 'wait_ms': line['options'].get('wait_ms', 30000)} == params for line in lines):
            raise Wrong(f'{show(request)}: not what the caller gave, with bind and wait_ms')

    def _check_own(self, request):
        """What only the holder of a claim sends."""
        if self.runs.get(request.params.get('token'), {}).get('effect') != request.params.get('effect'):
            raise Wrong(f'{show(request)}: no effect and token of a run that was told')
        reason = request.params.get('reason')
        if request.method in ('unknown', 'release') and not (isinstance(reason, str) and reason):
            raise Wrong(f'{show(request)}: no reason')
        if reason and ('\0' in reason or any('\ud800' <= c <= '\udfff' for c in reason) or len(reason.encode()) > 1000):
            raise Wrong(f'{show(request)}: no reason that the daemon takes: up to 1000 bytes without NUL and halves of surrogates')

    # ---- what is answered

    def _answer(self, step, request):
        if 'delay_ms' in step:
            later = {name: value for name, value in step.items() if name != 'delay_ms'}
            self.timers.append((time.monotonic() + step['delay_ms'] / 1000, lambda: self._answer(later, request)))
            return
        fault = step.get('fault')
        if fault == 'hold':
            self.held[step.get('as')] = (step, request)
        elif fault == 'close':
            self.played.close(request.conn)
        elif not fault and 'cut_request' not in step:
            self._write(step, request)

    def _write(self, step, request):
        line = self.table.line(step, request.id)
        cut = step.get('cut_answer')
        if cut == 'each':
            cut, self.size = self.at, len(line)
        before = ''.join(spell(text, request.id) + '\n' for text in step.get('before', [])).encode()
        if cut is None:
            told = self.table.result(step)
            if told.get('decision') == 'run' and 'token' in told:
                self.runs[told['token']] = told
        data = before + (line[:cut] if cut is not None else line * (2 if step.get('twice') else 1))
        self.played.write(request.conn, data, step.get('pieces'))
        if cut is not None or step.get('then') == 'close':
            self.played.close(request.conn)

    # ---- what the daemon and the world do

    def _called(self):
        """What fn's files hold: a list of lines for each call."""
        found = []
        for n in range(len(self.calls)):
            try:
                with open(self._path(f'calls{n}'), encoding='utf-8') as lines:
                    found.append(lines.read().splitlines())
            except FileNotFoundError:
                found.append([])
        return found

    def _do_called(self, step):
        until_s = time.monotonic() + self.deadline_s
        while sum(map(len, self._called())) < step.get('n', 1):
            if self.told or time.monotonic() > until_s:
                raise Wrong(f'fn is not called; the caller got {json.dumps(self.told)}')
            self._poll(0.003)

    def _do_extended(self, step):
        self._wait(lambda: self.n_extends >= step['n'] or self.told, 'extends')
        if self.n_extends < step['n']:
            raise Wrong(f'{self.n_extends} extends came, not {step["n"]}')

    def _do_told(self, step):
        began_s = time.monotonic()
        self._wait(lambda: self.told or self.played.requests, 'the driver tells what its caller got')
        if self.played.requests:
            raise Wrong(f'{show(self.played.requests[0])} comes, which nobody expects')
        took_ms = (time.monotonic() - began_s) * 1000
        if took_ms > step.get('within_ms', 1e9) * SLOW:
            raise Wrong(f'the caller got {json.dumps(self.told)[:400]} after {took_ms:.0f} ms')

    def _do_touch(self, step):
        with open(self._path(step['file']), 'wb'):
            pass

    def _do_answer(self, step):
        held, request = self.held.pop(step.get('to'))
        self._write(held, request)

    def _do_stop(self, _):
        self.played.stop()

    def _do_start(self, _):
        self.played.start()

    def _do_close(self, _):
        self.played.close_all()

    def _do_pause(self, step):
        until_s = time.monotonic() + step['ms'] / 1000
        while time.monotonic() < until_s:
            self._poll(until_s - time.monotonic())

    def _do_freeze(self, _):
        self.driver.freeze()

    def _do_thaw(self, _):
        self.driver.thaw()

    # ---- what came of it

    def _judge(self):
        called = self._called()
        if sum(map(len, called)) != self.case['calls']:
            raise Wrong(f'fn was called {sum(map(len, called))} times, not {self.case["calls"]}: {called}')
        known = [{'attempt': run['attempt'], 'provider_key': run['provider_key']} for run in self.runs.values()]
        for line in [line for lines in called for line in lines]:
            told = json.loads(line)
            if 'fn_args' in self.case and not same(told.get('args', self.case['fn_args']), self.case['fn_args']):
                raise Wrong(f'fn got {told["args"]}, not {self.case["fn_args"]}')
            told.pop('args', None)
            if (told or known) and told not in known:
                raise Wrong(f'fn was told {told}, not one of {known}')
        if self.n_extends < self.case.get('extends_least', 0):
            raise Wrong(f'{self.n_extends} extends came, not {self.case["extends_least"]}')
        judge(self.case['caller'], self.told)

    def end(self):
        """What came after all was over."""
        late = self.played.end()
        shutil.rmtree(self.folder, ignore_errors=True)
        return late


def show(request):
    return f'{request.method} {json.dumps(request.params)[:400]}'


def same(got, want):
    """Equal as JSON is: true is not 1, and 1.0 is 1."""
    if isinstance(got, bool) or isinstance(want, bool):
        return got is want
    if isinstance(got, dict) and isinstance(want, dict):
        return got.keys() == want.keys() and all(same(got[name], want[name]) for name in want)
    if isinstance(got, list) and isinstance(want, list):
        return len(got) == len(want) and all(map(same, got, want))
    return got == want


def judge(want, got):
    """Whether the caller got what he should."""
    for name, value in want.items():
        if name == 'more':
            if len(got.get('more', [])) != len(value):
                raise Wrong(f'{len(got.get("more", []))} further lines, not {len(value)}')
            for one, other in zip(value, got['more']):
                judge(one, other)
        elif name == 'value_x':
            if got.get('value') != 'x' * value:
                raise Wrong(f'the caller got {json.dumps(got)[:300]}: value is not {value} times x')
        elif name.endswith('_has'):
            if any(word not in str(got.get(name[:-4])) for word in value):
                raise Wrong(f'the caller got {json.dumps(got)[:600]}: {name[:-4]} has not {value}')
        elif name != 'value' and isinstance(value, list):
            if got.get(name) not in value:
                raise Wrong(f'the caller got {json.dumps(got)[:600]}: {name} is none of {value}')
        elif not same(got.get(name, False if value is False else None), value):
            raise Wrong(f'the caller got {json.dumps(got)[:600]}: {name} is not {json.dumps(value)[:200]}')


# ---- all of them ----------------------------------------------------------------------------------------------------

class Run:
    """All cases to one kind of driver. .problems: by the case's name, what is wrong, in words; .cannot: what is beyond it and not played;
    .n: how many plays there were; .slowest: its seconds and its case."""

    def __init__(self, table, command, jobs=4, every=1, seed=0, text='', cannot=(), deadline_s=DEADLINE_S):
        self.table, self.command, self.every, self.deadline_s, self.random = table, command, every, deadline_s, random.Random(seed)
        self.cases = [case for case in table.cases if text in case['name']]
        self.problems, self.cannot, self.n, self.slowest = {case['name']: [] for case in self.cases}, [], 0, (0, '')
        self.tasks, self.lock = queue.Queue(), threading.Lock()
        self.folder = tempfile.mkdtemp(prefix='wrapper-')
        for case in self.cases:
            if any(words in case['name'] for words in cannot):
                self.cannot.append(case['name'])
            else:
                self.tasks.put((case, 0))
        workers = [threading.Thread(target=self._work) for _ in range(jobs)]
        for worker in workers:
            worker.start()
        self.tasks.join()
        for _ in workers:
            self.tasks.put(None)
        for worker in workers:
            worker.join()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _work(self):
        driver, kept = Driver(self.command), []
        while True:
            task = self.tasks.get()
            if not task:
                break
            try:
                if not self.problems[task[0]['name']]:
                    self._play(driver, kept, *task)
                while len(kept) > KEPT:
                    self._end(kept.pop(0))
            finally:
                self.tasks.task_done()
        trouble = driver.end()
        if trouble and kept:
            self.problems[kept[-1].case['name']].append(trouble)
        for play in kept:
            self._end(play)

    def _play(self, driver, kept, case, at):
        with self.lock:
            self.n += 1
            n = self.n
        play = Play(self.table, case, at, driver, os.path.join(self.folder, str(n)), self.deadline_s)
        kept.append(play)
        try:
            began_s = time.monotonic()
            cannot = play.run()
            self.slowest = max(self.slowest, (time.monotonic() - began_s, case['name']))
            if cannot:
                raise Wrong(f'the driver says that this is beyond it: {cannot}')
        except Exception as e:  # whatever a client brings about is told as what it is: a case that failed
            where = f'byte {at}: ' if play.size else ''
            self.problems[case['name']].append(f'{where}{e}' if isinstance(e, Wrong) else f'{where}{type(e).__name__}: {e}')
            driver.kill()
            self._end(kept.pop())
            return
        if play.size and at == 0:
            bytes_ = set(range(1 + self.random.randrange(self.every), play.size, self.every)) | {play.size - 1}
            for byte in sorted(bytes_):
                self.tasks.put((case, byte))

    def _end(self, play):
        late = play.end()
        if late:
            self.problems[play.case['name']].append(f'comes after all was over: {late[0]}')

    def report(self):
        """(name, words or None) for each case that was played, in the table's order."""
        for case in [case for case in self.cases if case['name'] not in self.cannot]:
            found = self.problems[case['name']]
            yield case['name'], f'rule {case["rule"]}: {found[0]}' if found else None


def main():
    options = argparse.ArgumentParser(usage=__doc__.split('\n\n', 2)[1][7:])
    options.add_argument('--each', type=int, default=1)
    options.add_argument('--case', default='')
    options.add_argument('--jobs', type=int, default=4)
    options.add_argument('--seed', type=int, default=random.randrange(1 << 32))
    options.add_argument('--cannot', action='append', default=[])
    options.add_argument('command', nargs='+')
    given = options.parse_args()
    run = Run(Table(), given.command, given.jobs, given.each, given.seed, given.case, given.cannot)
    print(f'# {run.n} plays, --each {given.each} --seed {given.seed}; the slowest took {run.slowest[0]:.1f} s: {run.slowest[1]}')
    n_failed = 0
    for n, (name, problem) in enumerate(run.report(), 1):
        n_failed += bool(problem)
        print(f'{"not ok" if problem else "ok"} {n} - {name}' + (f'\n# {problem}' if problem else ''))
    print(f'1..{n}')
    for name in run.cannot:
        print(f'# beyond it: {name}')
    return 1 if n_failed or not run.cases else 0


if __name__ == '__main__':
    sys.exit(main())
