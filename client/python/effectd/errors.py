"""What a guarded call can end by, beside the function's own errors.

Everything raised here is an EffectError. Its text is a sentence that a model may read: what became
of the call, what to do now and what not. The names are those of client/README.md, the same in every
language.

    EffectError
        NotRun          the function was not called
            Busy  Mismatch  Unknown  Escalated  Exhausted  Held     what effectd decided
            Strange     a decision that this version does not know
            Late        told to run too long ago to start; the claim was given back
            Unavailable no answer within the time
            Refused     an error of the daemon, by its name
                Denied  InvalidParams  NotFound  NotOwner  ToolFailed
        ResultGone      it succeeded before, and its result is kept no more
        Failed          the provider refused for good; raised by the function, or a replay of that
        ToolError       the tool answered with an error; raised by the function
        NotSent         nothing was sent; raised by the function
        NotRecorded     the call was made, and its result did not reach the ledger; has the value
        Conflict        the call was made, and another outcome stands; has the value

All of them can be pickled.
"""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Type

__all__ = [
    'Busy',
    'Conflict',
    'Denied',
    'EffectError',
    'Escalated',
    'Exhausted',
    'Failed',
    'Held',
    'InvalidParams',
    'Late',
    'Mismatch',
    'NotFound',
    'NotOwner',
    'NotRecorded',
    'NotRun',
    'NotSent',
    'Refused',
    'ResultGone',
    'Strange',
    'ToolError',
    'ToolFailed',
    'Unavailable',
    'Unknown',
]


class EffectError(Exception):
    """The base of all. `effect` (id), `key`, `attempt`, `tool`: of the call, where they are
    known."""

    effect: Optional[str] = None
    key: Optional[str] = None
    attempt: Optional[int] = None
    tool: Optional[str] = None

    def __init__(self, message: str = '') -> None:
        super().__init__(message)

    @property
    def advice(self) -> str:
        """The sentence that a model may read."""
        return str(self)

    def about(self, answer: Mapping[str, Any], tool: Optional[str] = None) -> None:
        """Says which effect it is about, by the members of an answer."""
        self.effect = answer.get('effect', self.effect)
        self.key = answer.get('key', self.key)
        self.attempt = answer.get('attempt', self.attempt)
        self.tool = tool if tool is not None else self.tool


class NotRun(EffectError):
    """The function was not called. `answer`: what effectd said (protocol.md, begin); {} where it
    said nothing."""

    answer: Dict[str, Any] = {}

    @property
    def retry_after(self) -> Optional[float]:
        """Seconds after which the same call may be asked for again; None where asking again is no
        use by itself."""
        told = self.answer.get('retry_after_ms')
        return told / 1000 if isinstance(told, (int, float)) else None


class Busy(NotRun):
    """Somebody holds the claim (`answer`: owner, claimed_at, lease_until). Ask again later, with
    the same arguments."""


class Mismatch(NotRun):
    """The key stands for other arguments; `differs` are the JSON pointers that effectd may tell."""

    @property
    def differs(self) -> List[str]:
        return list(self.answer.get('differs', ()))


class Unknown(NotRun):
    """Nobody knows yet whether an earlier attempt landed; effectd is finding out."""


class Escalated(NotRun):
    """A person has to decide whether an earlier attempt landed."""


class Exhausted(NotRun):
    """A budget is spent: `answer['budget']` is key, turn or asks."""


class Held(NotRun):
    """Another effect (`answer['twin']`) is the same business. A person's reason in `again` lets it
    run."""


class Strange(NotRun):
    """effectd decided something that this version does not know, which is no `run`."""


class Late(NotRun):
    """The claim was told, but its lease, counted from the asking, is over (the process stood
    still): nothing was called, the claim was given back. The same call may be made again."""


class Unavailable(NotRun):
    """No daemon or ledger answered within the time. Nothing was called. (Of a plain method: it may
    have been done.)"""


class Refused(NotRun):
    """An error of the daemon. `name`, `code`: which (protocol.md, Errors); `pointer`, `why`,
    `data`: more of it."""

    name: str = ''
    code: int = 0
    data: Dict[str, Any] = {}

    @property
    def pointer(self) -> Optional[str]:
        return self.data.get('pointer')

    @property
    def why(self) -> Optional[str]:
        return self.data.get('why')


class Denied(Refused):
    """This process may not do this."""


class InvalidParams(Refused):
    """A member breaks a rule: `pointer` names it, `why` says the rule. Of arguments that are no
    JSON, too."""


class NotFound(Refused):
    """No such effect, for this process."""


class NotOwner(Refused):
    """The token does not hold this claim."""


class ToolFailed(Refused):
    """execute: the tool's SQL raised (`sqlstate`); nothing was recorded."""

    @property
    def sqlstate(self) -> Optional[str]:
        return self.data.get('sqlstate')


class ResultGone(EffectError):
    """It was done, and is not done again; but its result is kept no more, was too large to keep, or
    cannot be read. `raw`: the bytes of it, if there are any."""

    answer: Dict[str, Any] = {}
    raw: Optional[bytes] = None


class Failed(EffectError):
    """The provider refused for good: `raise Failed('card declined', {'code': 'do_not_honor'})`.

    It is recorded with `value` (JSON; the message where it is None), and every repeat gets a Failed
    with `replayed` true and `at` (RFC 3339) instead of another call.
    """

    replayed: bool = False
    at: Optional[str] = None

    def __init__(self, message: str = '', value: Any = None) -> None:
        super().__init__(message)
        self.value = value


class ToolError(EffectError):
    """The tool answered with an error, and the policy's `on_error` says what that means. `value` as
    in Failed."""

    def __init__(self, message: str = '', value: Any = None) -> None:
        super().__init__(message)
        self.value = value


class NotSent(EffectError):
    """Nothing was sent, for certain: the claim is given back, and the same call may run again at
    once. Never raise it for a time-out or a lost connection."""


class NotRecorded(EffectError):
    """The call was made and came to `value`, but the ledger did not take the record within
    complete_timeout."""

    def __init__(self, message: str = '', value: Any = None) -> None:
        super().__init__(message)
        self.value = value


class Conflict(EffectError):
    """The call was made and came to `value`, but another outcome stands, or the claim was not held
    any more. What came was kept as evidence, and a person will look."""

    def __init__(self, message: str = '', value: Any = None) -> None:
        super().__init__(message)
        self.value = value


#: decision -> what is raised
DECISIONS: Dict[str, Type[NotRun]] = {
    'busy': Busy,
    'mismatch': Mismatch,
    'unknown': Unknown,
    'escalated': Escalated,
    'exhausted': Exhausted,
    'held': Held,
}

#: data.name of an error -> what is raised
NAMES: Dict[str, Type[Refused]] = {
    'denied': Denied,
    'invalid_params': InvalidParams,
    'not_found': NotFound,
    'not_owner': NotOwner,
    'tool_failed': ToolFailed,
}

NOT_CALLED = 'The call was not made'


def unavailable(why: str, tool: Optional[str] = None) -> Unavailable:
    error = Unavailable(
        f'{NOT_CALLED}: the ledger of effects could not be asked ({why}). Do not make it in '
        'another way; the same call, with the same arguments, may be tried again later.'
    )
    error.tool = tool
    return error


def late(tool: Optional[str] = None) -> Late:
    error = Late(
        f'{NOT_CALLED}: the permission for it came too late and was given back. The same call, '
        'with the same arguments, may be tried again.'
    )
    error.tool = tool
    return error


def refused(error: Mapping[str, Any], tool: Optional[str] = None) -> Refused:
    """The exception for an error object of the wire."""
    data = error.get('data')
    data = dict(data) if isinstance(data, dict) else {}
    name = data.get('name')
    name = name if isinstance(name, str) else 'error'
    raised = NAMES.get(name, Refused)(
        f'{NOT_CALLED}: effectd refused it, {error.get("message", name)}.'
    )
    raised.name, raised.data, raised.answer, raised.tool = name, data, data, tool
    code = error.get('code')
    raised.code = code if isinstance(code, int) else 0
    return raised


def invalid(pointer: str, why: str, tool: Optional[str] = None) -> InvalidParams:
    """What the client itself finds wrong with params, in the daemon's words."""
    raised = refused(
        {
            'code': -32602,
            'message': f'params{pointer} {why}',
            'data': {'name': 'invalid_params', 'pointer': pointer, 'why': why},
        },
        tool,
    )
    assert isinstance(raised, InvalidParams)
    return raised
