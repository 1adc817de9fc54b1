"""A guarded function: how its call becomes the params of begin. No I/O.

What ledger.tool() returns is a plain function with the same name, doc and signature; what belongs
to the guard hangs on it as __effectd__, a Tool.
"""
from __future__ import annotations

import collections.abc
import dataclasses
import functools
import inspect
import types
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    Mapping,
    Optional,
    Tuple,
    Type,
    TypeVar,
    Union,
    cast,
)

from . import _pointer, context, errors
from ._grant import Call, Options

F = TypeVar('F', bound=Callable[..., Any])
Key = Union[str, Callable[..., str]]
CLAIM = 'effect'  # the parameter that gets the Claim
#: Its default, where a type checker is to know that callers do not give it
GIVEN: Any = None
OPTIONS = (
    'namespace',
    'owner',
    'lease',
    'wait',
    'begin_timeout',
    'complete_timeout',
    'report_timeout',
    'encode',
    'decode',
)


@dataclasses.dataclass(frozen=True)
class Tool:
    """Function, tool name, and how it is asked for."""

    fn: Callable[..., Any]
    name: str
    options: Options
    wrap: Callable[['Tool'], Callable[..., Any]]  # the guarded function of a Tool
    # its guarded call, to an Outcome
    run: Callable[['Tool', Call, Tuple[Any, ...], Dict[str, Any]], Any]
    key: Optional[Key] = None
    args: Optional[Callable[[Dict[str, Any]], Optional[Mapping[str, Any]]]] = None
    errors: Tuple[Type[BaseException], ...] = ()
    place: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # run, step, ..., again

    def wants_claim(self) -> bool:
        parameter = signature_of(self.fn).parameters.get(CLAIM)
        return parameter is not None and parameter.kind in (
            parameter.KEYWORD_ONLY,
            parameter.POSITIONAL_OR_KEYWORD,
        )

    def call(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Call:
        """The Call for these arguments. TypeError where the function would not take them,
        InvalidParams where they are no JSON."""
        key = self.key(*args, **kwargs) if callable(self.key) else self.key
        bound = self.named(self.bind(args, kwargs))
        given = bound if self.args is None else self.args(bound)
        return Call(
            self.name,
            self.options,
            key=key,
            args=given,
            errors=self.errors,
            **{**context.current(), **self.place},
        )

    def bind(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> inspect.BoundArguments:
        """The arguments with their defaults, and None for the claim."""
        if self.wants_claim():
            if CLAIM in kwargs:
                raise TypeError(f'{self.name}: "{CLAIM}" is given by the guard')
            kwargs = {**kwargs, CLAIM: None}
        bound = signature_of(self.fn).bind(*args, **kwargs)
        bound.apply_defaults()
        return bound

    def parameters(self) -> Iterator[inspect.Parameter]:
        """Those that are args of the call: without self or cls, and without the claim."""
        for number, parameter in enumerate(signature_of(self.fn).parameters.values()):
            of_guard = parameter.name == CLAIM and self.wants_claim()
            if not of_guard and (number > 0 or parameter.name not in ('self', 'cls')):
                yield parameter

    def named(self, bound: inspect.BoundArguments) -> Dict[str, Any]:
        """The args: arguments by name. *args come as a list under their name, **kwargs each under
        its own."""
        named: Dict[str, Any] = {}
        for parameter in self.parameters():
            value = bound.arguments[parameter.name]
            if parameter.kind == parameter.VAR_KEYWORD:
                twice = named.keys() & value.keys()
                if twice:
                    raise errors.invalid(f'/args/{min(twice)}', 'is given twice', self.name)
                named.update(value)
            elif parameter.kind == parameter.VAR_POSITIONAL:
                named[parameter.name] = list(value)
            else:
                named[parameter.name] = value
        return named

    def rename(self, named: Dict[str, Any], bound: inspect.BoundArguments) -> None:
        """named() the other way round. Raises ValueError for a name that is no parameter."""
        rest = dict(named)
        for parameter in self.parameters():
            if parameter.kind == parameter.VAR_KEYWORD:
                bound.arguments[parameter.name], rest = rest, {}
            elif parameter.kind == parameter.VAR_POSITIONAL:
                bound.arguments[parameter.name] = tuple(rest.pop(parameter.name))
            else:
                bound.arguments[parameter.name] = rest.pop(parameter.name)
        if rest:
            raise ValueError(f'the function has no parameter "{min(rest)}"')

    def prepare(
        self, claim: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Callable[[], Any]:
        """The call itself, with the claim, and with the provider's key where the policy wants it
        among the args (`provider_key_to`). Raises InvalidParams where it cannot be put there."""
        place = claim.answer.get('provider_key_to')
        if place is None or self.args is not None:
            claims = {CLAIM: claim} if self.wants_claim() else {}
            return functools.partial(self.fn, *args, **kwargs, **claims)
        bound = self.bind(args, kwargs)
        try:
            self.rename(_pointer.put(self.named(bound), place, claim.provider_key), bound)
        except ValueError as error:
            why = f'is where the policy puts the provider\'s key: {error}'
            raise errors.invalid(f'/args{place}', why, self.name) from error
        if self.wants_claim():
            bound.arguments[CLAIM] = claim
        return functools.partial(self.fn, *bound.args, **bound.kwargs)

    def refuse_unfinished(self, value: Any) -> None:
        """Raises TypeError for a value whose work is still to be done."""
        lazy = (collections.abc.Awaitable, collections.abc.Iterator, collections.abc.AsyncIterator)
        if isinstance(value, lazy) or hasattr(value, 'add_done_callback'):
            if inspect.iscoroutine(value):
                value.close()
            raise TypeError(
                f'{self.name}: a guarded function returned a {type(value).__name__}, whose work '
                'is still to be done'
            )


@functools.lru_cache(maxsize=4096)
def signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(fn)


def dress(guarded: Callable[..., Any], tool: Tool) -> Callable[..., Any]:
    """Gives it the face of the function, without the claim: neither callers are to give that, nor
    models, where a framework makes a schema of the signature."""
    functools.update_wrapper(guarded, tool.fn)
    if tool.wants_claim():
        signature = signature_of(tool.fn)
        shown = [each for name, each in signature.parameters.items() if name != CLAIM]
        setattr(guarded, '__signature__', signature.replace(parameters=shown))
        hints = getattr(tool.fn, '__annotations__', {})
        guarded.__annotations__ = {name: hint for name, hint in hints.items() if name != CLAIM}
    setattr(guarded, '__effectd__', tool)
    return guarded


def check(fn: Callable[..., Any]) -> None:
    """Refuses what does its work after it has returned: by then the guard would have recorded a
    result."""
    inner = inspect.unwrap(fn)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise TypeError(
            f'{getattr(fn, "__qualname__", fn)} is a generator: its work is done after it has '
            'returned. Guard the function that makes the call and returns what came of it.'
        )
    if isinstance(fn, (staticmethod, classmethod)):
        raise TypeError('guard the function, and put @staticmethod or @classmethod above the guard')


def tool_of(fn: Callable[..., Any]) -> Tool:
    tool = getattr(fn, '__effectd__', None)
    if not isinstance(tool, Tool):
        raise TypeError(f'{fn!r} is no guarded function')
    return tool


def override(fn: F, **changes: Any) -> F:
    """The guarded function with other options for some calls:

        effectd.override(refund, again='the customer asked for a second one')(1042, 3)

    Options: key, run, step, turn, call, again, errors, and those of the ledger (wait, lease, owner,
    namespace, begin_timeout, complete_timeout, report_timeout, encode, decode).
    """
    if inspect.ismethod(fn):
        return cast(F, types.MethodType(override(fn.__func__, **changes), fn.__self__))
    tool = tool_of(fn)
    options = {name: changes.pop(name) for name in OPTIONS if name in changes}
    place = {
        name: changes.pop(name)
        for name in ('run', 'step', 'turn', 'call', 'again')
        if name in changes
    }
    unknown = changes.keys() - {'key', 'errors'}
    if unknown:
        raise TypeError(f'there is no option "{min(unknown)}"')
    changed = dataclasses.replace(
        tool,
        options=dataclasses.replace(tool.options, **options),
        place={**tool.place, **place},
        **changes,
    )
    return cast(F, tool.wrap(changed))


def outcome(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a guarded function and returns its Outcome, which says whether it is a replay, of which
    effect, and has the recorded bytes. Of an async function: to be awaited."""
    if inspect.ismethod(fn):
        return outcome(fn.__func__, fn.__self__, *args, **kwargs)
    tool = tool_of(fn)
    return tool.run(tool, tool.call(args, kwargs), args, kwargs)


def is_async(fn: Callable[..., Any]) -> bool:
    """By the function itself, or the one that a partial or a decorator stands for."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return inspect.iscoroutinefunction(inspect.unwrap(fn)) or inspect.iscoroutinefunction(
        getattr(fn, '__call__', None)
    )


def options_of(options: Options, changes: Dict[str, Any]) -> Options:
    unknown = changes.keys() - set(OPTIONS)
    if unknown:
        raise TypeError(f'there is no option "{min(unknown)}"')
    return dataclasses.replace(options, **changes)


def as_arguments(options: Options) -> Dict[str, Any]:
    """The keyword arguments of a ledger that has these options."""
    return {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
