"""Many requests at once on few connections, and the driver of _steps for a loop.

A loop is whatever has add_reader(), remove_reader(), add_writer(), remove_writer() and
call_later(): an asyncio loop, or the thread of _background.py. All of this is used in the loop's
own thread only; nothing here blocks.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, Generic, List, Optional, Protocol, TypeVar

from . import _sockets, _steps
from ._json import Message
from ._sockets import Wire
from ._steps import Answer, Pause, Reply, Send, Step, Steps

T = TypeVar('T')
# Requests that may be in flight on a connection before another is opened. A daemon reads no more
# than its max_inflight (256) from one, and begins that wait for an outcome must never keep the
# report from being read that they wait for.
BEGINS_MAX, OTHERS_MAX = 96, 192
LATE_S = 90.0  # an answer that nobody waits for may still be a claim, to be given back

OnReply = Callable[[Reply], None]
Late = Callable[[Answer], Optional[Steps[bool]]]


class Handle(Protocol):
    def cancel(self) -> None:
        ...


class Loop(Protocol):
    # positional by intent: asyncio's names differ from ours
    def add_reader(self, fd: Any, callback: Callable[..., Any], *args: Any) -> Any:
        ...

    def remove_reader(self, fd: Any) -> Any:
        ...

    def add_writer(self, fd: Any, callback: Callable[..., Any], *args: Any) -> Any:
        ...

    def remove_writer(self, fd: Any) -> Any:
        ...

    def call_soon(self, callback: Callable[..., Any], *args: Any) -> Any:
        ...

    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any) -> Handle:
        ...


class _Pending:
    """A request in flight."""

    __slots__ = ('step', 'sent_at', 'on_reply', 'late', 'timer')

    def __init__(
        self, step: Send, sent_at: float, on_reply: Optional[OnReply], late: Optional[Late]
    ) -> None:
        self.step, self.sent_at, self.late = step, sent_at, late
        self.on_reply = on_reply
        self.timer: Optional[Handle] = None


class Link:
    """One connection and the requests in flight on it."""

    def __init__(self, hub: 'Hub', wire: Wire) -> None:
        self.hub, self.wire = hub, wire
        self.pending: Dict[int, _Pending] = {}
        self.writing = self.flushing = False
        self.private = False  # of one request that was begun elsewhere: closed with it
        hub.loop.add_reader(wire.sock, self._readable)

    def send(self, step: Send, on_reply: OnReply, late: Optional[Late]) -> None:
        pending = _Pending(step, _steps.now(), on_reply, late)
        self.pending[step.id] = pending
        pending.timer = self.hub.loop.call_later(
            max(0.0, step.until - pending.sent_at), self._over, pending
        )
        # what is sent within one pass of the loop goes by one system call
        self.wire.output += step.line
        if not self.flushing:
            self.flushing = True
            self.hub.loop.call_soon(self._flush)

    def _flush(self) -> None:
        self.flushing = False
        self._write()

    def adopt(
        self, step: Send, sent_at: float, on_reply: Optional[OnReply], late: Optional[Late]
    ) -> None:
        """A request that was begun elsewhere; without `on_reply` only a late answer counts."""
        pending = _Pending(step, sent_at, on_reply, late)
        self.pending[step.id] = pending
        self.private = True
        left = LATE_S if on_reply is None else max(0.0, step.until - _steps.now())
        pending.timer = self.hub.loop.call_later(left, self._over, pending)
        self._write()
        try:
            self._take_lines()
        except OSError as error:
            self.lost(str(error))

    def _write(self) -> None:
        try:
            sent = self.wire.send()
        except OSError as error:
            self.lost(str(error))
            return
        if sent == self.writing:
            self.writing = not sent
            if sent:
                self.hub.loop.remove_writer(self.wire.sock)
            else:
                self.hub.loop.add_writer(self.wire.sock, self._write)

    def _readable(self) -> None:
        try:
            self.wire.receive()
            self._take_lines()
        except OSError as error:
            self.lost(str(error))

    def _take_lines(self) -> None:
        while self.wire.lines:
            line = self.wire.lines.popleft()
            if line:
                self._told(_sockets.parse(line))

    def _told(self, message: Message) -> None:
        if message.id is None and self.pending:
            # if it is not the longest line that the daemon could not read, that one will be next
            longest = max(self.pending.values(), key=lambda pending: len(pending.step.line))
            if _sockets.is_for(message, longest.step):
                message.id = longest.step.id
        pending = self.pending.pop(message.id, None) if isinstance(message.id, int) else None
        if pending is None:
            return
        if pending.timer is not None:
            pending.timer.cancel()
        if pending.on_reply is not None:
            pending.on_reply(Reply(message, pending.sent_at))
            self._close_private()
        elif pending.late is not None and message.error is None:
            steps = pending.late(Answer(message, pending.sent_at))
            self.hub.spawn(steps, self._close_private)
        else:
            self._close_private()

    def _close_private(self) -> None:
        if self.private and not self.pending:
            self.lost('it is not needed any more')

    def _over(self, pending: _Pending) -> None:
        """Its time is over; what comes later is given back."""
        on_reply, pending.on_reply = pending.on_reply, None
        if on_reply is None or pending.late is None:
            self.pending.pop(pending.step.id, None)
            self._close_private()
        else:
            pending.timer = self.hub.loop.call_later(LATE_S, self._over, pending)
        if on_reply is not None:
            on_reply(Reply(None, pending.sent_at, 'the daemon did not answer in time'))

    def forget(self, id_: int) -> None:
        """Nobody waits for it any more."""
        pending = self.pending.get(id_)
        if pending is not None:
            if pending.timer is not None:
                pending.timer.cancel()
            pending.on_reply = None
            pending.timer = self.hub.loop.call_later(LATE_S, self._over, pending)

    def lost(self, why: str) -> None:
        if self not in self.hub.links:
            return
        self.hub.links.remove(self)
        self.detach()
        pending, self.pending = list(self.pending.values()), {}
        for one in pending:
            if one.timer is not None:
                one.timer.cancel()
            if one.on_reply is not None:
                # later, as whoever sends may be below us
                reply = Reply(None, one.sent_at, f'{why} (socket "{self.hub.path()}")')
                self.hub.loop.call_later(0, one.on_reply, reply)

    def detach(self) -> None:
        try:
            self.hub.loop.remove_reader(self.wire.sock)
            if self.writing:
                self.hub.loop.remove_writer(self.wire.sock)
        except (RuntimeError, ValueError, OSError):
            pass  # the loop is closed
        self.wire.close()


class Hub:
    """The connections of one loop. A claim may be bound to any of them, so that none is closed
    before the end."""

    def __init__(self, loop: Loop, path: _sockets.Path) -> None:
        self.loop, self.path = loop, path
        self.links: List[Link] = []
        self.running: 'set[Runner[Any]]' = set()

    def send(self, step: Send, on_reply: OnReply, late: Optional[Late]) -> Optional[Link]:
        most = BEGINS_MAX if late is not None else OTHERS_MAX
        link = next((n for n in self.links if not n.private and len(n.pending) < most), None)
        if link is None:
            try:
                link = Link(self, Wire(self.path()))
            except OSError as error:
                reply = Reply(None, _steps.now(), f'{error} (socket "{self.path()}")')
                self.loop.call_later(0, on_reply, reply)
                return None
            self.links.append(link)
        link.send(step, on_reply, late)
        return link

    def spawn(self, steps: Optional[Steps[Any]], then: Callable[[], None] = lambda: None) -> None:
        """Runs it; nobody waits for its end but `then`."""
        if steps is None:
            then()
        else:
            Runner(self, steps, lambda value, error: then()).start()

    def adopt(self, wire: Wire, step: Send, sent_at: float, late: Late) -> None:
        """A begin that nobody waits for any more."""
        self._link(wire).adopt(step, sent_at, None, late)

    def take_over(
        self, steps: Steps[Any], step: Step, wire: Optional[Wire], sent_at: float
    ) -> None:
        """Steps that have come to this one elsewhere."""
        runner = Runner(self, steps, lambda value, error: None)
        self.running.add(runner)
        if isinstance(step, Send) and wire is not None:
            self._link(wire).adopt(step, sent_at, runner.resume, None)
        elif isinstance(step, Send):
            self.loop.call_later(0, runner.resume, Reply(None, sent_at, 'it was interrupted'))
        else:
            self.loop.call_later(step.seconds, runner.resume)
            if wire is not None:
                self._link(wire)

    def _link(self, wire: Wire) -> Link:
        link = Link(self, wire)
        self.links.append(link)
        return link

    def close(self) -> None:
        for link in self.links:
            link.detach()
        self.links.clear()


class Runner(Generic[T]):
    """Steps on their way. `done(value, error)` comes once, unless it is abandoned."""

    def __init__(
        self,
        hub: Hub,
        steps: Steps[T],
        done: Callable[[Optional[T], Optional[BaseException]], None],
        late: Optional[Late] = None,
    ) -> None:
        self.hub, self.steps, self.done, self.late = hub, steps, done, late
        self.timer: Optional[Handle] = None
        self.link: Optional[Link] = None
        self.id = 0

    def start(self) -> None:
        self.hub.running.add(self)
        self.resume(None)

    def resume(self, reply: Optional[Reply] = None) -> None:
        self.timer = self.link = None
        try:
            step = self.steps.send(reply)
        except StopIteration as end:
            self.hub.running.discard(self)
            self.done(end.value, None)
            return
        except Exception as error:  # pylint: disable=broad-except  # told to who waits
            self.hub.running.discard(self)
            self.done(None, error)
            return
        if isinstance(step, Pause):
            self.timer = self.hub.loop.call_later(step.seconds, self.resume)
        else:
            self.id = step.id
            self.link = self.hub.send(step, self.resume, self.late)

    def abandon(self) -> None:
        """Nobody waits any more: nothing is sent again, and what is in flight is given back if it
        turns out to be a claim."""
        self.hub.running.discard(self)
        if self.timer is not None:
            self.timer.cancel()
        if self.link is not None:
            self.link.forget(self.id)
        self.done = lambda value, error: None
        self.steps.close()
