"""Blocking I/O: a pool of idle connections, and the driver of _steps for a thread that waits.

A guarded call has a connection to itself from its begin to its report, as the claim is bound to it;
afterwards it is kept for the next call. What a thread was interrupted in (a signal's exception), or
has given up, goes on in the background.
"""
from __future__ import annotations

import collections
import select
import time
from typing import Any, Deque, Optional, TypeVar

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
        self.idle: Deque[Wire] = collections.deque()  # which needs no lock

    def take(self) -> Wire:
        """Raises OSError."""
        while True:
            try:
                wire = self.idle.pop()
            except IndexError:
                return Wire(self.path())
            if wire.idle():
                return wire
            wire.close()

    def give(self, wire: Wire) -> None:
        if len(self.idle) < IDLE_MAX:
            self.idle.append(wire)
        else:
            wire.close()

    def close(self) -> None:
        while self.idle:
            self.idle.pop().close()


class Caller:
    """One call's way to the daemon. For one thread at a time."""

    def __init__(self, pool: Pool, background: Background) -> None:
        self.pool, self.background = pool, background
        self.wire: Optional[Wire] = None
        self.step: Optional[Step] = None
        self.sent_at, self.sent = 0.0, False

    def drive(self, steps: Steps[T], late: Optional[Late] = None) -> T:
        """Runs the steps to their end. `late`: what to do about an answer that comes when this has
        given up (rule 3)."""
        reply: Optional[Reply] = None
        self.step = None
        try:
            while True:
                step = steps.send(reply)
                self.sent = False
                self.step = step
                reply = self._do(step, late)
                self.step = None
        except StopIteration as end:
            value: T = end.value
            return value
        except BaseException:
            if late is not None:
                self._leave(self.step, late)
            raise

    def leave(self, steps: Steps[Any]) -> bool:
        """The thread was interrupted in drive(): the steps go on in the background from where they
        are. False if that is not known."""
        step, self.step = self.step, None
        if step is None:
            return False
        wire = self._whole_wire()
        self.background.take_over(steps, step, wire, self.sent_at)
        return True

    def _whole_wire(self) -> Optional[Wire]:
        """The connection, if the line has been sent on it and nothing that came was lost."""
        wire, self.wire = self.wire, None
        if wire is not None and (wire.torn or not self.sent):
            wire.close()
            return None
        return wire

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

    def _leave(self, step: Optional[Step], late: Optional[Late]) -> None:
        """An answer may still come, and nobody waits here for it."""
        wire = self._whole_wire()
        if wire is not None and late is not None and isinstance(step, Send):
            self.background.adopt(wire, step, self.sent_at, late)
        elif wire is not None:
            wire.close()

    def _exchange(self, wire: Wire, step: Send) -> Optional[Message]:
        """None when the time is over. Raises OSError. The answer stays in wire.lines until the next
        line is sent, for whoever takes over."""
        wire.lines.clear()
        sent = wire.send(step.line)
        self.sent = True
        while True:
            left = step.until - _steps.now()
            events = select.POLLIN if sent else select.POLLIN | select.POLLOUT
            if not _sockets.ready(wire.sock, events, left):
                if left <= 0:
                    return None
                continue
            if not sent:
                sent = wire.send()
            wire.receive()
            for line in wire.lines:
                message = _sockets.parse(line) if line else None
                if message is not None and _sockets.is_for(message, step):
                    return message
