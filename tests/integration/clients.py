"""The client of each language as a process that a test can ask, hold, stop and kill: the drivers of tests/vectors/README.md, whose
calls of fn are written to files. A scenario is played with every client, all at once."""
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import tempfile

from harness import *

__all__ = ['BOOK', 'Client', 'LANGUAGES', 'drivers', 'kind_of', 'vectors', 'with_all', 'with_each']

END_S = 60
BOOK = folder()  # what the fn's of all clients write


def vectors(*names):
    return os.path.join(SRC, 'tests', 'vectors', *names)


def drivers():
    """(language, command, words of the cases that it may say it cannot do) of each driver."""
    return [('the small client', [sys.executable, vectors('bad_driver.py')], ())]


LANGUAGES = {language: command for language, command, _ in drivers()}


class Client:
    """One process with one client. ask() has it make a guarded call, told() waits for what its caller got, call() is both.

    fn waits for go() if it was asked with hold=True. .performed: how often fn was called so far, by its own files."""

    def __init__(self, language, socket):
        self.language, self.socket, self.dir = language, socket, tempfile.mkdtemp(dir=BOOK)
        self.files, self.orders = [], 0
        self.process = subprocess.Popen(LANGUAGES[language], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def _order(self, params, fn, options, hold):
        self.orders += 1
        path = os.path.join(self.dir, str(self.orders))
        self.files.append(path)
        return {'params': params, 'options': {'wait_ms': 0, **options}, 'calls': path,
                'fn': {'does': 'return', 'value': {'by': self.language}, **fn, **({'until_file': path + '.go'} if hold else {})}}

    def ask(self, hold=False, fn=(), options=(), twin=None, **params):
        """twin: how many more such calls at the same time, through the same client."""
        orders = [self._order(params, dict(fn), dict(options), hold) for _ in range(1 + (twin or 0))]
        line = {'name': 'a call', 'socket': self.socket, **orders[0]}
        if twin:
            line.update(more=orders[1:], at_once=True)
        self.process.stdin.write(json.dumps(line).encode() + b'\n')
        return self

    def told(self):
        line = b''
        while not line.endswith(b'\n'):
            data = self.process.stdout.read(1 << 16)
            if not data:
                raise ConnectionError(f'{self.language}: the driver ended')
            line += data
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
        self.close()

    def close(self):
        """Its stdin ends, and then it does."""
        self.process.stdin.close()
        self.process.wait(END_S * SLOW)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.process.stdin.closed:
            self.kill()


def kind_of(told):
    """`value`, `replay`, or the error's kind."""
    if told['got'] == 'error':
        return told['kind']
    return 'replay' if told.get('replayed') else 'value'


def with_each(daemon, scenario, **more):
    """Plays scenario(daemon, language, test, **more) with every language at the same time; test(got, want, name) notes down one test, and all
    are told afterwards, language by language."""
    noted = {language: [] for language in LANGUAGES}

    def one(language):
        scenario(daemon, language, lambda got, want, name: noted[language].append((got, want, name)), **more)

    with concurrent.futures.ThreadPoolExecutor(len(LANGUAGES)) as pool:
        ends = {language: pool.submit(one, language) for language in LANGUAGES}
    for language, end in ends.items():
        for got, want, name in noted[language]:
            is_(got, want, f'{language}: {name}')
        if end.exception():
            ok(False, f'{language}: {scenario.__name__} comes to its end', repr(end.exception()))


def with_all(daemon):
    """A client of each language, for what happens to all of them at once."""
    return [Client(language, daemon.socket) for language in LANGUAGES]
