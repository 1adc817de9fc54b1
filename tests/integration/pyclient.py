"""What the tests of client/python share: the package from the source tree, a relay that writes down what passes, and who may still
be open. Import it before effectd."""
import asyncio
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time

from harness import SLOW, SRC, folder, wait_until

PACKAGE = os.path.join(SRC, 'client', 'python')
sys.path.insert(0, PACKAGE)

import effectd  # noqa: E402

__all__ = ['PACKAGE', 'Relay', 'comes_true', 'ended', 'methods', 'python', 'state_at', 'tool']


def tool(name='t', **more):
    """A policy whose open outcomes stay as they are for a test to see."""
    return {'name': name, 'class': 'irreversible', 'probe': {'exec': {'argv': ['/bin/false']}}, 'probe_backoff': ['10m'],
            'escalate_after': '1h', 'max_attempts': 1000, **more}


class Relay:
    """Stands between client and daemon. .lines: the client's, .answers: the daemon's, in order; .requests: the client's as objects.
    lose = n: the next n requests go nowhere, and their connections are closed. go: cleared, answers are held back."""

    def __init__(self, to):
        self.lose, self.go = 0, threading.Event()
        self.go.set()
        self.to, self.path = to, os.path.join(folder(), 's')
        self.lines, self.answers, self.n_connections = [], [], 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(128)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            near, _ = self.listener.accept()
            self.n_connections += 1
            threading.Thread(target=self._pass, args=(near,), daemon=True).start()

    def _pass(self, near):
        with near, socket.socket(socket.AF_UNIX) as far:
            far.connect(self.to)
            rest = {near: b'', far: b''}
            while True:
                for source in select.select([near, far], [], [])[0]:
                    try:
                        data = source.recv(1 << 16)
                        *lines, rest[source] = (rest[source] + data).split(b'\n')
                        (self.lines if source is near else self.answers).extend(lines)
                        if source is near and data and self.lose:
                            self.lose -= 1
                            return
                        if source is far:
                            self.go.wait()
                        (far if source is near else near).sendall(data)
                    except OSError:
                        return
                    if not data:
                        return

    @property
    def requests(self):
        return [json.loads(line) for line in self.lines]

    def clear(self):
        del self.lines[:], self.answers[:]


def methods(relay):
    return [request['method'] for request in relay.requests]


def state_at(daemon, key, name='t'):
    """The state of an effect, None if there is none."""
    with daemon.connect() as conn:
        answer = conn.recv(conn.send('get', tool=name, key=key, events=0))
    return answer['result']['state'] if 'result' in answer else None


def ended(daemon, key, name='t', deadline_s=10):
    """Waits until nobody holds the effect; its state then."""
    seen = []

    def is_held_no_more():
        seen[:] = [state_at(daemon, key, name)]
        return seen != ['pending']
    wait_until(is_held_no_more, deadline_s, f'{key} is held no more')
    return seen[0]


async def comes_true(fact, what, deadline_s=20):
    """wait_until() for tests whose event loop has to go on meanwhile."""
    until = time.monotonic() + deadline_s * SLOW
    while not fact():
        if time.monotonic() > until:
            raise TimeoutError(f'not within {deadline_s * SLOW:g} s: {what}')
        await asyncio.sleep(0.01)


def python(text, *args, env=None, wait=True, timeout_s=60, flags=('-W', 'error')):
    """Another interpreter with the package: the CompletedProcess, or the Popen with pipes."""
    argv = ['/usr/bin/python3', *flags, '-c', text, *map(str, args)]
    env = {**os.environ, 'PYTHONPATH': PACKAGE, **(env or {})}
    if wait:
        return subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s * SLOW,
                              check=False)
    return subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
