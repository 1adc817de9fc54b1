"""The thread beside blocking calls: keeps leases, and ends what its callers were interrupted in.

One daemon thread a ledger, started when the first claim has to be kept or something was left. It is
a loop as _mux.py needs one. It does not keep the interpreter alive; close() lets it end reports
that are under way.
"""
from __future__ import annotations

import heapq
import itertools
import logging
import select
import socket
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _sockets
from ._mux import Hub, Late
from ._sockets import Wire
from ._steps import Send, Step, Steps

DRAIN_S = 5.0


class Timer:
    """A handle of call_later()."""

    __slots__ = ('callback', 'args')

    def __init__(self, callback: Callable[..., Any], args: Tuple[Any, ...]) -> None:
        self.callback: Optional[Callable[..., Any]] = callback
        self.args = args

    def cancel(self) -> None:
        self.callback = None


class Background:
    """call_later(), adopt() and spawn() may be called by any thread, all else is for the loop's
    own."""

    def __init__(self, path: _sockets.Path) -> None:
        self.path = path
        self.renew()
        _sockets.after_fork(self)

    def renew(self) -> None:
        """As at the start: in a forked child nothing of the parent's goes on."""
        for end in getattr(self, 'wake', ()):
            end.close()
        self.lock = threading.RLock()  # the collector may call close() in the midst of it
        self.timers: List[Tuple[float, int, Timer]] = []
        self.numbers = itertools.count()
        self.sleeps_until = 0.0
        self.thread: Optional[threading.Thread] = None
        self.stopping = False
        self.wake: Tuple[socket.socket, ...] = ()
        self.callbacks: Dict[Tuple[int, int], Tuple[Callable[..., Any], Tuple[Any, ...]]] = {}
        self.hub = Hub(self, self.path)

    # ---- by any thread

    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any) -> Timer:
        timer = Timer(callback, args)
        at = time.monotonic() + delay
        with self.lock:
            heapq.heappush(self.timers, (at, next(self.numbers), timer))
            if self.thread is None:
                self._start()
            elif at < self.sleeps_until:
                self.sleeps_until = 0.0
                self.wake[1].send(b'!')
        return timer

    def call_soon(self, callback: Callable[..., Any], *args: Any) -> Timer:
        return self.call_later(0, callback, *args)

    def adopt(self, wire: Wire, step: Send, sent_at: float, late: Late) -> None:
        """Waits for an answer that a caller has given up, for what `late` makes of it."""
        self.call_later(0, self.hub.adopt, wire, step, sent_at, late)

    def take_over(
        self, steps: Steps[Any], step: Step, wire: Optional[Wire], sent_at: float
    ) -> None:
        """Goes on with steps that a caller was interrupted in."""
        self.call_later(0, self.hub.take_over, steps, step, wire, sent_at)

    def spawn(self, steps: Steps[Any]) -> None:
        self.call_later(0, self.hub.spawn, steps)

    def _start(self) -> None:
        if not self.stopping:
            self.wake = socket.socketpair()
            for end in self.wake:
                end.setblocking(False)
            self.thread = threading.Thread(target=self._run, name='effectd', daemon=True)
            self.thread.start()

    def close(self) -> None:
        """Ends the thread, after what is to be reported, at most 5 s later."""
        with self.lock:
            thread, self.stopping = self.thread, True
            self.sleeps_until = 0.0
            if thread is not None:
                self.wake[1].send(b'!')
        if thread is not None and thread is not threading.current_thread():
            thread.join(DRAIN_S + 1)
        if thread is None or not thread.is_alive():
            self.hub.close()
            for end in self.wake:
                end.close()
            self.wake = ()

    # ---- the loop

    def add_reader(self, fd: socket.socket, callback: Callable[..., Any], *args: Any) -> None:
        self.callbacks[fd.fileno(), select.POLLIN] = (callback, args)

    def remove_reader(self, fd: socket.socket) -> None:
        self.callbacks.pop((fd.fileno(), select.POLLIN), None)

    def add_writer(self, fd: socket.socket, callback: Callable[..., Any], *args: Any) -> None:
        self.callbacks[fd.fileno(), select.POLLOUT] = (callback, args)

    def remove_writer(self, fd: socket.socket) -> None:
        self.callbacks.pop((fd.fileno(), select.POLLOUT), None)

    def _run(self) -> None:
        until: Optional[float] = None
        wake = self.wake
        while True:
            for timer in self._due():
                if timer.callback is not None:
                    self._call(timer.callback, timer.args)
            if self.stopping:
                until = until or time.monotonic() + DRAIN_S
                if time.monotonic() >= until or not (self.hub.running or self.timers_now()):
                    return
            self._wait(wake[0])

    def timers_now(self) -> bool:
        with self.lock:
            return bool(self.timers) and self.timers[0][0] <= time.monotonic()

    def _due(self) -> List[Timer]:
        due = []
        with self.lock:
            at = time.monotonic()
            while self.timers and (self.timers[0][0] <= at or self.timers[0][2].callback is None):
                due.append(heapq.heappop(self.timers)[2])
        return due

    def _wait(self, wake: socket.socket) -> None:
        with self.lock:
            at = time.monotonic()
            until = self.timers[0][0] if self.timers else at + 3600
            if self.stopping:
                until = min(until, at + 0.05)
            self.sleeps_until = until
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        events: Dict[int, int] = {}
        for fd, event in self.callbacks:
            events[fd] = events.get(fd, 0) | event
        for fd, event in events.items():
            poll.register(fd, event)
        happened = poll.poll(max(0.0, until - at) * 1000)
        with self.lock:
            self.sleeps_until = 0.0
        for fd, got in happened:
            if fd == wake.fileno():
                try:
                    wake.recv(4096)
                except BlockingIOError:
                    pass
                continue
            for event in (select.POLLIN, select.POLLOUT):
                if (
                    got & (event | select.POLLHUP | select.POLLERR)
                    and (fd, event) in self.callbacks
                ):
                    self._call(*self.callbacks[fd, event])

    @staticmethod
    def _call(callback: Callable[..., Any], args: Tuple[Any, ...]) -> None:
        """A fault in one of them must not end the keeping of all leases."""
        try:
            callback(*args)
        except Exception:  # pylint: disable=broad-except
            logging.getLogger('effectd').exception('in the background, going on')
