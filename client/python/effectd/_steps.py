"""The rules of client/README.md as generators that do no I/O: what to send, how long to wait, what
the answer means.

A driver runs them, blocking (_pool.py) or on an event loop (_mux.py): it sends what a Send holds,
gives back a Reply, and sleeps a Pause. So the rules stand here once for threads and tasks. All
times are seconds of now(), a clock that goes on while the host sleeps.
"""
from __future__ import annotations

import itertools
import random
import time
import uuid
from typing import Any, Callable, Dict, Generator, Mapping, NamedTuple, Optional, TypeVar, Union

from . import _json, errors

# errors after which the same line is sent again
AGAIN = frozenset(('unavailable', 'internal', 'overloaded'))
PAUSE_FIRST, PAUSE_MAX = 0.05, 1.0
REASON_BYTES_MAX = 1000
LINE_BYTES_SURE = 4096  # of a request's line, which every daemon takes

_ids = itertools.count(1)
_jitter = random.SystemRandom()  # the host's own random numbers stay as it seeded them
T = TypeVar('T')


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Send(NamedTuple):
    """A line to send; the answer with this id is waited for until then."""

    line: bytes
    id: int
    until: float


class Pause(NamedTuple):
    """Nothing to do for so long."""

    seconds: float


class Reply(NamedTuple):
    """What came of a Send: an answer, or none and why. `sent_at`: before its first byte was
    sent."""

    message: Optional[_json.Message]
    sent_at: float
    why: str = ''


Step = Union[Send, Pause]
Steps = Generator[Step, Optional[Reply], T]


class Answer:
    """An answer that is not to be asked for again."""

    __slots__ = ('message', 'sent_at')

    def __init__(self, message: _json.Message, sent_at: float) -> None:
        self.message, self.sent_at = message, sent_at

    @property
    def result(self) -> Dict[str, Any]:
        return self.message.result or {}


class Request:
    """A line and its id. It is the same line each time that it is sent."""

    __slots__ = ('id', 'line')

    def __init__(
        self, method: str, params: Mapping[str, Any], result: Optional[bytes] = None
    ) -> None:
        self.id = next(_ids)
        text = _json.encode(params)
        if result is not None:
            text = text[:-1] + b',"result":' + result + b'}'
        self.line = b'{"jsonrpc":"2.0","id":%d,"method":%s,"params":%s}\n' % (
            self.id,
            _json.encode(method),
            text,
        )


def always() -> bool:
    return True


def ask(request: Request, timeout: float, wanted: Callable[[], bool] = always) -> Steps[Answer]:
    """Rule 2: sends the line until there is an answer that stands. Raises Unavailable when the time
    is over, or when it is not wanted any more."""
    until = now() + timeout
    pause = PAUSE_FIRST
    while True:
        reply = yield Send(request.line, request.id, until)
        assert reply is not None
        message = reply.message
        if message is not None and message.error_name not in AGAIN:
            return Answer(message, reply.sent_at)
        told = message.retry_after if message is not None else None
        seconds = (told or pause) * (1 + _jitter.random() / 2)
        pause = min(pause * 2, PAUSE_MAX)
        left = until - now()
        if left > 0:
            yield Pause(min(seconds, left))
        if now() >= until or not wanted():
            said = (message.error or {}).get('message') if message is not None else None
            raise errors.unavailable(str(said or reply.why or 'no answer in time'))


def make_request_id() -> str:
    return str(uuid.uuid4())


def reason_of(text: str) -> str:
    """A reason as the wire takes it: at most 1000 bytes of UTF-8 without U+0000."""
    data = text.replace('\0', ' ').encode('utf-8', 'replace')[:REASON_BYTES_MAX]
    return data.decode('utf-8', 'ignore') or 'no reason was given'


def describe(error: BaseException) -> str:
    """An error as a reason."""
    try:
        text = str(error)
    except Exception:  # pylint: disable=broad-except  # a __str__ of somebody's
        text = ''
    kind = type(error).__qualname__
    return reason_of(f'{kind}: {text}' if text else kind)


def plain(request: Request, timeout: float) -> Steps[Answer]:
    """Any method whose error is the caller's to see. Raises Refused by name."""
    answer = yield from ask(request, timeout)
    if answer.message.error is not None:
        raise errors.refused(answer.message.error)
    return answer


def give_back(own: Mapping[str, str], method: str, reason: str, timeout: float) -> Steps[bool]:
    """release or unknown. Whether the daemon has heard it: an error that stands is heard, too.
    Raises nothing; the end of the lease says the same."""
    request = Request(method, {**own, 'reason': reason_of(reason)})
    try:
        answer = yield from ask(request, timeout)
    except errors.Unavailable:
        return False
    return answer.message.error is None


def complete(
    own: Mapping[str, str],
    outcome: str,
    result: Optional[bytes],
    omitted: Dict[str, Any],
    timeout: float,
    line_max: int,
) -> Steps[Answer]:
    """Rule 7. Raises Unavailable when the time is over, Refused where the daemon answered an error
    that stands."""
    params: Dict[str, Any] = {**own, 'outcome': outcome}
    until = now() + timeout
    if result is not None:
        request = Request('complete', params, result)
        if len(request.line) <= line_max:
            answer = yield from ask(request, timeout)
            # longer than this daemon's own max_line: the result must not be lost for that
            if answer.message.error_name not in ('invalid_request', 'parse_error'):
                return _done(answer)
        omitted = _json.omitted(result)
    answer = yield from ask(Request('complete', {**params, 'omitted': omitted}), until - now())
    return _done(answer)


def _done(answer: Answer) -> Answer:
    if answer.message.error is not None:
        raise errors.refused(answer.message.error)
    return answer
