"""A guarded function: how its call becomes the params of begin. No I/O.

What ledger.tool() returns is a plain function with the same name, doc and signature; what belongs
to the guard hangs on it as __effectd__, a Tool.
"""
from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Type, TypeVar, Union, cast

from . import _grant, context, errors
from ._grant import Call, Options

F = TypeVar('F', bound=Callable[..., Any])
Key = Union[str, Callable[..., str]]
CLAIM = 'effect'  # the parameter that gets the Claim
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
        key = (
            self.key if self.key is None or isinstance(self.key, str) else self.key(*args, **kwargs)
        )
        bound = self.bind(args, kwargs)
        given = bound if self.args is None else self.args(bound)
        _grant.check_args(given, self.name)
        return Call(
            self.name,
            self.options,
            key=key,
            args=given,
            errors=self.errors,
            **{**context.current(), **self.place},
        )

    def bind(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
        """The arguments by name, defaults included; without self or cls, and without the claim.
        *args come as a list under their name, **kwargs each under its own."""
        signature = signature_of(self.fn)
        wants_claim = self.wants_claim()
        if wants_claim and CLAIM in kwargs:
            raise TypeError(f'{self.name}: "{CLAIM}" is given by the guard')
        bound = signature.bind(*args, **kwargs, **({CLAIM: None} if wants_claim else {}))
        bound.apply_defaults()
        named: Dict[str, Any] = {}
        for number, (name, parameter) in enumerate(signature.parameters.items()):
            value = bound.arguments[name]
            if (number == 0 and name in ('self', 'cls')) or (wants_claim and name == CLAIM):
                continue
            if parameter.kind == parameter.VAR_KEYWORD:
                twice = named.keys() & value.keys()
                if twice:
                    raise errors.invalid(f'/args/{min(twice)}', 'is given twice', self.name)
                named.update(value)
            else:
                named[name] = list(value) if parameter.kind == parameter.VAR_POSITIONAL else value
        return named

    def run_fn(self, claim: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """The call itself."""
        return self.fn(*args, **kwargs, **({CLAIM: claim} if self.wants_claim() else {}))

    def refuse_unfinished(self, value: Any) -> None:
        """Raises TypeError for a value whose work is still to be done."""
        if inspect.isawaitable(value) or inspect.isgenerator(value) or inspect.isasyncgen(value):
            if inspect.iscoroutine(value):
                value.close()
            raise TypeError(
                f'{self.name}: a guarded function returned a {type(value).__name__}, whose work '
                'is still to be done'
            )


@functools.lru_cache(maxsize=4096)
def signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(fn)


def check(fn: Callable[..., Any]) -> None:
    """Refuses what does its work after it has returned: by then the guard would have recorded a
    result."""
    inner = inspect.unwrap(fn)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise TypeError(
            f'{getattr(fn, "__qualname__", fn)} is a generator: its work is done after it has '
            'returned. Guard the '
            'function that makes the call and returns what came of it.'
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
