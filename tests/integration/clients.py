"""The client of each language as a process that a test can ask, hold, stop and kill: the drivers of tests/vectors/README.md, whose
calls of fn are written to files. A scenario is played with every client."""
import atexit
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback

from harness import *

__all__ = ['BOOK', 'Client', 'LANGUAGES', 'drivers', 'kind_of', 'play', 'vectors', 'with_all']

END_S = 60
ARGS = ('fn that gets them',)  # of a client whose fn is given no args
AT_ONCE = 10  # scenarios under way: nearly all of it is waiting
BOOK = folder()  # what the fn's of all clients write


def vectors(*names):
    return os.path.join(SRC, 'tests', 'vectors', *names)


def drivers():
    """(language, command, words of the cases that are beyond it) of each driver."""
    python = [sys.executable, vectors('driver.py')]
    return [('C', [program('tests/vectors/driver_c')], ARGS), ('Python', [*python, 'sync'], ()), ('asyncio', [*python, 'async'], ()),
            ('Node', ['node', vectors('driver.mjs')], ())]


LANGUAGES = {language: command for language, command, _ in drivers()}


class Client:
    """One process with one client. ask() has it make a guarded call, told() waits for what its caller got, call() is both.

    fn waits for go() if it was asked with hold=True. .performed: how often fn was called so far, by its own files."""

    def __init__(self, language, socket):
        self.language, self.socket, self.dir = language, socket, tempfile.mkdtemp(dir=BOOK)
        self.files, self.n_asked = [], 0
        with idle_lock:
            found = idle.setdefault(language, [])
            self.process = found.pop() if found else None
        if not self.process:
            self.process = subprocess.Popen(LANGUAGES[language], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def _order(self, params, fn, options, hold):
        path = os.path.join(self.dir, str(len(self.files)))
        self.files.append(path)
        return {'params': params, 'options': {'wait_ms': 0, **options}, 'calls': path,
                'fn': {'does': 'return', 'value': {'by': self.language}, **fn, **({'until_file': path + '.go'} if hold else {})}}

    def ask(self, hold=False, fn=(), options=(), twin=None, **params):
        """twin: how many more such calls at the same time, through the same client."""
        orders = [self._order(params, dict(fn), dict(options), hold) for _ in range(1 + (twin or 0))]
        line = {'name': 'a call', 'socket': self.socket, **orders[0]}
        if twin:
            line.update(more=orders[1:], at_once=True)
        self.n_asked += 1
        self.process.stdin.write(json.dumps(line).encode() + b'\n')
        return self

    def told(self):
        line = b''
        while not line.endswith(b'\n'):
            data = self.process.stdout.read(1 << 16)
            if not data:
                raise ConnectionError(f'{self.language}: the driver ended')
            line += data
        self.n_asked -= 1
        return json.loads(line)

    def call(self, **how):
        return self.ask(**how).told()

    def kind(self, **how):
        return kind_of(self.call(**how))

    def lines(self):
        """What fn was told at each of its calls."""
        found = []
        for path in self.files:
            if os.path.exists(path):
                with open(path, encoding='utf-8') as calls:
                    found += [json.loads(line) for line in calls]
        return found

    @property
    def performed(self):
        return len(self.lines())

    def wait_performed(self, n=1):
        wait_until(lambda: self.performed >= n, END_S, f'{self.language}: fn is called {n} times')
        return self

    def go(self):
        for path in self.files:
            with open(path + '.go', 'wb'):
                pass
        return self

    def freeze(self):
        """It stands still, wherever it is."""
        os.kill(self.process.pid, signal.SIGSTOP)

        def stands():
            with open(f'/proc/{self.process.pid}/stat', encoding='utf-8', errors='replace') as stat:
                return stat.read().rsplit(')', 1)[1].split()[0] == 'T'
        wait_until(stands, END_S, f'{self.language} stands still')

    def thaw(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """What has nothing to do is kept for the next client of this language."""
        if self.process and self.n_asked:
            self.kill()
        elif self.process:
            with idle_lock:
                idle[self.language].append(self.process)


idle, idle_lock = {}, threading.Lock()


@atexit.register
def end_idle():
    """Their stdin ends, and so do they."""
    for process in [process for found in idle.values() for process in found]:
        process.stdin.close()
    for process in [process for found in idle.values() for process in found]:
        process.wait(END_S * SLOW)


def kind_of(told):
    """`value`, `replay`, or the error's kind."""
    if told['got'] == 'error':
        return told['kind']
    return 'replay' if told.get('replayed') else 'value'


def play(daemon, scenarios):
    """Plays each scenario(daemon, language, test) with every language, many of them at the same time; test(got, want, name) notes
    down one test, and all are told afterwards, scenario by scenario."""
    def one(scenario, language):
        noted, end = [], None
        try:
            scenario(daemon, language, lambda got, want, name: noted.append((got, want, f'{language}: {name}')))
        except Exception:
            end = traceback.format_exc()
        return noted, end

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        ends = [(scenario, language, pool.submit(one, scenario, language)) for scenario in scenarios for language in LANGUAGES]
    for scenario, language, end in ends:
        noted, problem = end.result()
        for got, want, name in noted:
            is_(got, want, name)
        if problem:
            ok(False, f'{language}: {scenario.__name__} comes to its end', problem)


def with_all(daemon):
    """A client of each language, for what happens to all of them at once."""
    return [Client(language, daemon.socket) for language in LANGUAGES]
