"""One guarded call: what its begin asks, what the answer means, and what is reported of what came
of it. No I/O.

A Call is what is asked for, an Outcome what the caller gets, a Grant a `run` and its lease. Times
are seconds of _steps.now() but for what ends in _ms, which is the wire's.
"""
from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from typing import Any, Callable, Dict, Generic, Mapping, Optional, Tuple, Type, TypeVar, Union

from . import _json, _steps, errors
from ._steps import Answer, Steps
from .context import Place

T = TypeVar('T')
MARK = '_effectd_told'  # on an error that was accounted for: when, in the order of _numbers
_numbers = itertools.count(1)
# What a time-out, a cancellation or a lost connection calls itself; the words are those of every
# client (rule 6).
NOBODY_KNOWS = re.compile(
    r'time[ _-]?d?[ _-]?out|deadline|abort|cancel|connection|disconnect|socket|network|transport'
    r'|pipe|protocol|incomplete|terminated|EOFError',
    re.IGNORECASE,
)
CAUSES_MAX = 16  # a chain of causes may be a ring


@dataclasses.dataclass(frozen=True)
class Options:
    """What a ledger's calls have in common. Times in seconds."""

    namespace: Optional[str] = None
    owner: Optional[str] = None
    lease: Optional[float] = None
    wait: float = 30.0
    begin_timeout: float = 10.0
    complete_timeout: float = 60.0
    report_timeout: float = 5.0
    max_line: int = 1048576
    encode: Optional[Callable[[Any], Any]] = None
    decode: Optional[Callable[[Any], Any]] = None


@dataclasses.dataclass(frozen=True)
class Call:
    """One call to be guarded: the params of begin, and how its errors and values are read."""

    tool: str
    options: Options
    key: Optional[str] = None
    args: Optional[Mapping[str, Any]] = None
    run: Optional[Place] = None
    step: Optional[Place] = None
    turn: Optional[Place] = None
    call: Optional[str] = None
    again: Optional[str] = None
    errors: Tuple[Type[BaseException], ...] = ()

    def params(self) -> Dict[str, Any]:
        options = self.options
        said = {
            'tool': self.tool,
            'key': self.key,
            'args': self.args,
            'namespace': options.namespace,
            'run': self.run,
            'step': self.step,
            'turn': self.turn,
            'call': self.call,
            'owner': options.owner,
            'request': _steps.make_request_id(),
            'lease_ms': milliseconds(options.lease),
            'again': self.again,
        }
        return {name: value for name, value in said.items() if value is not None}

    def begin(self, method: str = 'begin') -> Steps[Answer]:
        """Asks; raises Unavailable, or Refused for an error that stands."""
        params = self.params()
        wait_ms = milliseconds(self.options.wait)
        if method == 'begin':
            params.update(wait_ms=wait_ms, bind=True)
        elif wait_ms:
            params['wait_ms'] = wait_ms
        request = make_request(method, params, self.tool)
        try:
            answer = yield from _steps.ask(request, self.options.begin_timeout + self.options.wait)
        except errors.Unavailable as error:
            error.tool = self.tool
            raise
        if answer.message.error is not None:
            raise errors.refused(answer.message.error, self.tool)
        return answer


def milliseconds(seconds: Optional[float]) -> Optional[int]:
    return None if seconds is None else round(seconds * 1000)


def make_request(method: str, params: Mapping[str, Any], tool: str) -> _steps.Request:
    """Raises InvalidParams, naming the argument that is no JSON."""
    try:
        return _steps.Request(method, params)
    except _json.NO_JSON as error:
        pointer, why, cause = '', 'is no JSON', error
    args = params.get('args')
    for name, value in args.items() if isinstance(args, Mapping) else ():
        try:
            _json.encode({name: value})
        except _json.NO_JSON as error:
            pointer = '/args/' + str(name).replace('~', '~0').replace('/', '~1')
            why, cause = 'is no JSON value', error
            break
    why = f'{why} ({cause}): say by args= what stands for it'
    raise errors.invalid(pointer, why, tool) from cause


class Outcome(Generic[T]):
    """What a guarded call came to.

    `value`: the function's own, or for a replay what its record is decoded to. `replayed`: it was
    done before. `raw`: a replay's recorded result, the very bytes. `effect`, `key`, `attempt`:
    which effect; None where the policy keeps no record (a read). `answer`: all that effectd said.
    """

    __slots__ = ('value', 'replayed', 'answer', '_message')

    def __init__(
        self,
        value: T,
        answer: Mapping[str, Any],
        replayed: bool = False,
        message: Optional[_json.Message] = None,
    ) -> None:
        self.value, self.answer = value, dict(answer)
        self.replayed, self._message = replayed, message

    @property
    def effect(self) -> Optional[str]:
        return self.answer.get('effect')

    @property
    def key(self) -> Optional[str]:
        return self.answer.get('key')

    @property
    def attempt(self) -> Optional[int]:
        return self.answer.get('attempt')

    @property
    def raw(self) -> Optional[bytes]:
        return self._message.raw() if self._message is not None else None

    def __repr__(self) -> str:
        return f'Outcome({self.value!r}, replayed={self.replayed}, effect={self.effect!r})'


class Grant:
    """A claim that is ours to run, and its lease as far as this side knows it."""

    def __init__(self, call: Call, answer: Answer) -> None:
        told = answer.result
        self.call, self.told, self.number = call, told, next(_numbers)
        self.effect: str = told['effect']
        self.token: str = told['token']
        lease: float = told['lease_ms'] / 1000
        asked = call.options.lease
        self.lease = lease if asked is None else asked
        # waited_ms counts from when the daemon read the line, which is no earlier than when it was
        # sent
        self.lease_end: float = answer.sent_at + lease + told.get('waited_ms', 0) / 1000
        self.extend_at = self.lease_end - lease * 2 / 3
        self.kept = self.lost = False
        self.extending = False
        self.on_lost: Callable[[], None] = _nothing

    @property
    def own(self) -> Dict[str, str]:
        return {'effect': self.effect, 'token': self.token}

    def fresh(self) -> bool:
        """Rule 4."""
        return _steps.now() < self.lease_end

    def extend_request(self) -> _steps.Request:
        lease_ms = milliseconds(self.call.options.lease)
        params: Dict[str, Any] = {**self.own, 'lease_ms': lease_ms}
        return _steps.Request('extend', self.own if lease_ms is None else params)

    def extended(self, sent_at: float, lease: Optional[float] = None) -> None:
        lease = self.lease if lease is None else lease
        self.lease_end = max(self.lease_end, sent_at + lease)
        self.extend_at = sent_at + min(lease, self.lease) / 3

    def release(self, reason: str) -> Steps[bool]:
        return _steps.give_back(self.own, 'release', reason, self.call.options.report_timeout)


def _nothing() -> None:
    pass


def understand(call: Call, answer: Answer) -> Union[Grant, Outcome[Any], None]:
    """Rule 8: a Grant to run, the Outcome of a replay, None for `pass`. Raises what everything else
    comes to."""
    told = answer.result
    decision = told.get('decision')
    if (
        decision == 'run'
        and isinstance(told.get('lease_ms'), (int, float))
        and isinstance(told.get('waited_ms', 0), (int, float))
        and isinstance(told.get('effect'), str)
        and isinstance(told.get('token'), str)
    ):
        return Grant(call, answer)
    if decision == 'pass':
        return None
    if decision == 'ran':
        return Outcome(_recorded(call, answer), told, False, answer.message)
    if decision == 'replay' and told.get('outcome') == 'succeeded':
        return Outcome(_recorded(call, answer), told, True, answer.message)
    if decision == 'replay' and told.get('outcome') == 'failed':
        at = told.get('done_at')
        failed = errors.Failed(
            f'{told.get("advice", "It was refused for good.")} (This is the record of an earlier '
            f'attempt{f", from {at}" if at else ""}; nothing was called now.)',
            told.get('result'),
        )
        failed.replayed, failed.at = True, at
        failed.about(told, call.tool)
        setattr(failed, MARK, next(_numbers))
        raise failed
    kind = errors.DECISIONS.get(decision) if isinstance(decision, str) else None
    if kind is None:
        raised: errors.NotRun = errors.Strange(
            f'{errors.NOT_CALLED}: effectd decided {decision!r}, which this version of '
            'its client does not know.'
        )
    else:
        raised = kind(str(told.get('advice', '')))
    raised.answer = told
    raised.about(told, call.tool)
    raise raised


def released_late(call: Call, answer: Answer) -> Optional[Steps[bool]]:
    """Rule 3: the answer came when nobody waited for it any more. What gives its claim back, if it
    has one."""
    try:
        grant = understand(call, answer)
    except errors.EffectError:
        return None
    if not isinstance(grant, Grant):
        return None
    return grant.release('nobody waited for the answer any more')


def _recorded(call: Call, answer: Answer) -> Any:
    """The recorded result's value. Raises ResultGone."""
    told, decoder = answer.result, call.options.decode
    cause: Optional[BaseException] = None
    # of what ran just now the result is there, whatever will be kept of it
    if told.get('decision') != 'ran' and told.get('result_state') in ('omitted', 'expired'):
        why = (
            'its result is kept no more'
            if told['result_state'] == 'expired'
            else 'its result could not be kept: it was too large, or no JSON'
        )
    elif answer.message.undecoded:
        why = 'its recorded result is beyond what Python decodes'
    else:
        try:
            return told.get('result') if decoder is None else decoder(told.get('result'))
        except Exception as error:  # pylint: disable=broad-except  # it is the caller's decoder
            cause = error
            why = f'its recorded result could not be decoded ({_steps.describe(error)})'
    gone = errors.ResultGone(
        f'This was done before, and {why}. Do not do it again; look up what came of it.'
    )
    gone.answer, gone.raw = told, answer.message.raw()
    gone.about(told, call.tool)
    raise gone from cause


# ---- what fn came to


def succeeded(grant: Grant, value: Any) -> Steps[None]:
    """Rule 7. Raises NotRecorded or Conflict, with the value."""
    options = grant.call.options
    result, omitted = _json.recordable(value, options.encode)
    try:
        yield from _steps.complete(
            grant.own, 'succeeded', result, omitted, options.complete_timeout, options.max_line
        )
    except errors.NotRun as error:
        raise not_recorded(grant.told, grant.call.tool, value, error) from None


def not_recorded(
    told: Mapping[str, Any], tool: Optional[str], value: Any, error: errors.NotRun
) -> errors.EffectError:
    name = error.name if isinstance(error, errors.Refused) else ''
    raised: errors.EffectError
    if name in ('conflict', 'not_owner', 'not_found'):
        raised = errors.Conflict(
            'The call was made and came to an end, but the ledger holds another outcome for it '
            f'({name}). Do not make it again: a person has to look.',
            value,
        )
    else:
        raised = errors.NotRecorded(
            'The call was made and came to an end, but that could not be recorded '
            f'({error}). Do not make it again.',
            value,
        )
    raised.about(told, tool)
    return raised


def ended(grant: Grant, error: BaseException) -> Callable[[], Steps[bool]]:
    """Rule 6, where fn ended by an error: what reports it. The steps tell whether the daemon has
    heard it. They raise NotRecorded or Conflict for an outcome that does not stand in the ledger;
    else the caller gets the error itself."""
    options, reason = grant.call.options, _steps.describe(error)
    # an error that came out of another guarded call, made by this one, says something about that
    # and nothing about this
    foreign = getattr(error, MARK, 0) > grant.number
    try:
        setattr(error, MARK, next(_numbers))
    except (AttributeError, TypeError):
        pass
    if isinstance(error, errors.EffectError) and not foreign:
        error.about(grant.told, grant.call.tool)
    # one that was told of its loss may end by having stopped, whatever it calls that
    foreseen = () if grant.lost else grant.call.errors
    outcome = None if foreign else outcome_of(error, foreseen)
    if outcome == 'released':
        return lambda: grant.release(reason)
    if outcome is None:
        return lambda: _steps.give_back(grant.own, 'unknown', reason, options.report_timeout)
    value, encoder = None, None
    if isinstance(error, (errors.Failed, errors.ToolError)):
        value = error.value
    if value is None:
        value = {'error': reason}
    else:
        encoder = options.encode
    result, omitted = _json.recordable(value, encoder)
    refusal = functools.partial(_refusal, grant, error, value)
    return lambda: refusal(str(outcome), result, omitted)


def _refusal(
    grant: Grant,
    error: BaseException,
    value: Any,
    outcome: str,
    result: Optional[bytes],
    omitted: Dict[str, Any],
) -> Steps[bool]:
    options = grant.call.options
    try:
        yield from _steps.complete(
            grant.own, outcome, result, omitted, options.complete_timeout, options.max_line
        )
    except errors.NotRun as refused:
        raise not_recorded(grant.told, grant.call.tool, value, refused) from error
    return True


def outcome_of(error: BaseException, foreseen: Tuple[Type[BaseException], ...]) -> Optional[str]:
    """failed, error or released; None: nobody knows. A time-out, a cancellation or a lost
    connection never says anything else, whatever was foreseen; neither does what another guarded
    call was refused by."""
    if isinstance(error, errors.Failed):
        return 'failed'
    if isinstance(error, errors.ToolError):
        return 'error'
    if isinstance(error, errors.NotSent):
        return 'released'
    if isinstance(error, errors.EffectError) or is_open(error):
        return None
    return 'error' if isinstance(error, foreseen) else None


def is_open(error: BaseException) -> bool:
    """By the names of its kinds, as every HTTP client has some of its own, and of those that a
    traceback shows it to come from; one that has no kind of its own, by what it says."""
    at: Optional[BaseException] = error
    for _ in range(CAUSES_MAX):
        if at is None:
            break
        if not isinstance(at, Exception):
            return True
        words = [kind.__name__ for kind in type(at).__mro__]
        if type(at) in (Exception, RuntimeError, OSError):
            words.append(_steps.describe(at))
        if any(NOBODY_KNOWS.search(word) for word in words):
            return True
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    return False
