"""Blocking I/O: a pool of idle connections, and the driver of _steps for a thread that waits.

A guarded call has a connection to itself from its begin to its report, as the claim is bound to it;
afterwards it is kept for the next call. What a thread was interrupted in (a signal's exception), or
has given up, goes on in the background.
"""
from __future__ import annotations

import select
import threading
import time
from typing import Any, List, Optional, TypeVar

from . import _sockets, _steps
from ._background import Background
from ._json import Message
from ._mux import Late
from ._sockets import Wire
from ._steps import Pause, Reply, Send, Step, Steps

T = TypeVar('T')
IDLE_MAX = 16


class Pool:
    """Connections that no call uses. Thread-safe."""

    def __init__(self, path: _sockets.Path) -> None:
        self.path = path
        self.renew()
        _sockets.after_fork(self)

    def renew(self) -> None:
        self.lock = threading.Lock()
        self.idle: List[Wire] = []

    def take(self) -> Wire:
        """Raises OSError."""
        while True:
            with self.lock:
                wire = self.idle.pop() if self.idle else None
            if wire is None:
                return Wire(self.path())
            if wire.idle():
                return wire
            wire.close()

    def give(self, wire: Wire) -> None:
        with self.lock:
            if len(self.idle) < IDLE_MAX:
                self.idle.append(wire)
                return
        wire.close()

    def close(self) -> None:
        with self.lock:
            idle, self.idle = self.idle, []
        for wire in idle:
            wire.close()


class Caller:
    """One call's way to the daemon. For one thread at a time."""

    def __init__(self, pool: Pool, background: Background) -> None:
        self.pool, self.background = pool, background
        self.wire: Optional[Wire] = None
        self.step: Optional[Step] = None
        self.sent_at = 0.0

    def drive(self, steps: Steps[T], late: Optional[Late] = None) -> T:
        """Runs the steps to their end. `late`: what to do about an answer that comes when this has
        given up (rule 3)."""
        reply: Optional[Reply] = None
        try:
            while True:
                self.step = None
                self.step = steps.send(reply)
                reply = self._do(self.step, late)
        except StopIteration as end:
            value: T = end.value
            return value
        except OSError:
            raise
        except BaseException:
            if late is not None and isinstance(self.step, Send):
                self._leave(self.step, late)
            raise

    def leave(self, steps: Steps[Any]) -> bool:
        """The thread was interrupted in drive(): the steps go on in the background from where they
        are. False if they cannot."""
        wire, self.wire = self.wire, None
        if self.step is None:
            if wire is not None:
                wire.close()
            return False
        self.background.take_over(steps, self.step, wire, self.sent_at)
        return True

    def end(self, clean: bool = True) -> None:
        """The call is over. `clean`: no claim is bound to the connection any more."""
        wire, self.wire = self.wire, None
        if wire is not None and clean:
            self.pool.give(wire)
        elif wire is not None:
            wire.close()

    def _do(self, step: Step, late: Optional[Late]) -> Optional[Reply]:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        self.sent_at = _steps.now()
        try:
            if self.wire is None:
                self.wire = self.pool.take()
            self.sent_at = _steps.now()
            message = self._exchange(self.wire, step)
        except OSError as error:
            self.end(clean=False)
            return Reply(None, self.sent_at, f'{error} (socket "{self.pool.path()}")')
        if message is None:
            self._leave(step, late)
            return Reply(None, self.sent_at, 'the daemon did not answer in time')
        return Reply(message, self.sent_at)

    def _leave(self, step: Send, late: Optional[Late]) -> None:
        """An answer may still come, and nobody waits here for it."""
        wire, self.wire = self.wire, None
        if wire is not None and late is not None:
            self.background.adopt(wire, step, self.sent_at, late)
        elif wire is not None:
            wire.close()

    @staticmethod
    def _exchange(wire: Wire, step: Send) -> Optional[Message]:
        """None when the time is over. Raises OSError."""
        sent = wire.send(step.line)
        while True:
            left = step.until - _steps.now()
            events = select.POLLIN if sent else select.POLLIN | select.POLLOUT
            if not _sockets.ready(wire.sock, events, left):
                if left <= 0:
                    return None
                continue
            if not sent:
                sent = wire.send()
            for line in wire.receive():
                message = _sockets.parse(line) if line else None
                if message is not None and _sockets.is_for(message, step):
                    return message
