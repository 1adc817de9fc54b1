"""Sockets to the daemon: connected without blocking, close-on-exec, and never shared with a forked
child.

A claim is bound to its connection, so that a copy of it in a child would hide the death of its
owner: every open socket is known here and closed in a child (os.register_at_fork), before anything
of the child's runs. What else has to be made anew there registers itself by after_fork().
"""
from __future__ import annotations

import collections
import os
import select
import socket
import weakref
from typing import Any, Callable, Deque, Optional

from . import _json, _steps

RECEIVE_BYTES = 1 << 18
LINE_BYTES_MAX = 1 << 28  # no line of effectd's: a runaway peer must not take the host's memory


class Wire:
    """A connected socket, non-blocking, with what was read and is no whole line yet."""

    def __init__(self, path: str) -> None:
        """Raises OSError. A Unix socket connects at once or not at all (a full queue is EAGAIN)."""
        self.sock = socket.socket(
            socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
        )
        self.input = bytearray()
        self.searched = 0
        self.output = bytearray()
        self.lines: Deque[bytes] = collections.deque()  # whole ones that nobody has taken yet
        self.torn = False  # it was interrupted so that bytes may be lost: no more use
        try:
            self.sock.connect(path)
        except BaseException:
            self.sock.close()
            raise
        _open.add(self)

    def send(self, data: bytes = b'') -> bool:
        """Sends it and what was left before; whether all of it has gone. Raises OSError."""
        self.torn = True
        self.output += data
        gone = False
        try:
            while self.output:
                n = self.sock.send(self.output, socket.MSG_NOSIGNAL)
                del self.output[:n]
            gone = True
        except BlockingIOError:
            pass
        self.torn = False
        return gone

    def receive(self) -> None:
        """Adds the whole lines that have come to `lines`. Raises OSError, ConnectionError at the
        end of the stream."""
        self.torn = True
        try:
            data = self.sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            self.torn = False
            return
        if not data:
            raise ConnectionError('the daemon closed the connection')
        self.input += data
        if len(self.input) > LINE_BYTES_MAX:
            raise ConnectionError('a line of the daemon does not end')
        start, end = 0, self.input.find(b'\n', self.searched)
        while end >= 0:
            self.lines.append(bytes(self.input[start:end]))
            start = end + 1
            end = self.input.find(b'\n', start)
        del self.input[:start]
        self.searched = len(self.input)
        self.torn = False

    def idle(self) -> bool:
        """Nothing to read: neither an answer that nobody waits for, nor the end of the stream."""
        return not self.input and not ready(self.sock, select.POLLIN, 0)

    def close(self) -> None:
        _open.discard(self)
        self.sock.close()

    def __del__(self) -> None:
        sock: Optional[socket.socket] = getattr(self, 'sock', None)
        if sock is not None:
            sock.close()


def ready(sock: socket.socket, events: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(sock, events)
    return bool(poll.poll(max(0, seconds) * 1000))


def parse(line: bytes) -> _json.Message:
    message = _json.parse(line)
    if message is None:
        raise ConnectionError('what answers does not speak effectd\'s protocol')
    return message


def is_for(message: _json.Message, step: _steps.Send) -> bool:
    """Is it the answer to this line? An error without an id is, if the line may have been too long
    for the daemon to read: it has then no other way to say so."""
    if message.id is None and message.error is not None:
        return len(step.line) > _steps.LINE_BYTES_SURE
    return message.id == step.id and message.id is not True


_open: 'weakref.WeakSet[Wire]' = weakref.WeakSet()
_to_renew: 'weakref.WeakSet[Any]' = weakref.WeakSet()


def after_fork(owner: Any) -> None:
    """Has owner.renew() called in a forked child."""
    _to_renew.add(owner)


def _in_child() -> None:
    for wire in list(_open):
        wire.sock.close()
    _open.clear()
    for owner in list(_to_renew):
        owner.renew()


os.register_at_fork(after_in_child=_in_child)
Path = Callable[[], str]
