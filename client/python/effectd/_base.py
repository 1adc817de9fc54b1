"""What Ledger and AsyncLedger have in common: their options, and how a function is guarded."""
from __future__ import annotations

import functools
import os
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Type, TypeVar, Union, cast

from . import _paths, _tool, context
from ._grant import Call, Options

F = TypeVar('F', bound=Callable[..., Any])
Path = Union[str, os.PathLike[str]]
Errors = Tuple[Type[BaseException], ...]


class LedgerBase:
    """The options of a ledger. Times in seconds.

    socket: the daemon's path; by default $EFFECTD_SOCKET, else the user's daemon's, else the
    system's. namespace: needed only where this user has several. owner: a label (255 bytes) told to
    others who find an effect busy. lease: how long a claim is held for without a sign of life (1 to
    3600; by default the policy's). wait: how long to wait for an outcome that is on its way (0 to
    60) before Busy or Unknown. begin_timeout: how long on top of that until Unavailable.
    complete_timeout: how long a result is tried to be recorded. report_timeout: the same for
    outcomes that the end of the lease tells as well. max_line: the daemon's, in bytes; a longer
    result is recorded by its size and hash. encode, decode: from a function's value to what JSON
    can hold, and back for replays.

    A child made by os.fork() may use it too: it opens connections of its own. It can be pickled,
    without them.
    """

    def __init__(
        self,
        socket: Optional[Path] = None,
        *,
        namespace: Optional[str] = None,
        owner: Optional[str] = None,
        lease: Optional[float] = None,
        wait: float = 30.0,
        begin_timeout: float = 10.0,
        complete_timeout: float = 60.0,
        report_timeout: float = 5.0,
        max_line: int = 1048576,
        encode: Optional[Callable[[Any], Any]] = None,
        decode: Optional[Callable[[Any], Any]] = None,
    ) -> None:
        self._socket = socket
        self._options = Options(
            namespace,
            owner,
            lease,
            wait,
            begin_timeout,
            complete_timeout,
            report_timeout,
            max_line,
            encode,
            decode,
        )
        self._path = functools.partial(_paths.find_socket, socket)
        self._set_up()

    def __reduce__(self) -> Any:
        return _make, (type(self), self._socket, _tool.as_arguments(self._options))

    def tool(
        self,
        name: str,
        *,
        key: Optional[_tool.Key] = None,
        args: Optional[Callable[[Dict[str, Any]], Optional[Mapping[str, Any]]]] = None,
        errors: Errors = (),
        **options: Any,
    ) -> Callable[[F], F]:
        """Guards a function: `@ledger.tool('refund_order')`.

        The call's arguments by name (defaults included, without self, cls and effect) are the args
        of begin, from which the policy derives the key; they must be JSON values, or `args` makes
        such of them: it is given {name: value} and returns an object. `key`: only where the key
        comes from elsewhere; a string, or a function of the call's arguments. `errors`: kinds of
        the tool's own errors, of which the policy's on_error says what they mean. Further options
        are those of the ledger: wait, lease, owner, namespace, encode, decode, begin_timeout,
        complete_timeout, report_timeout. A parameter of the function that is called `effect` gets
        the Claim.

        The caller gets the function's value, or the recorded one if it was done before, or an
        EffectError; the function's own errors unchanged. An async function is guarded in its event
        loop, also by Ledger; AsyncLedger takes no other. Generators are refused.
        """

        def guard(fn: F) -> F:
            _tool.check(fn)
            return cast(F, self._guard(made(fn)))

        def made(fn: Callable[..., Any]) -> _tool.Tool:
            changed = _tool.options_of(self._options, options)
            return _tool.Tool(fn, name, changed, self._wrap, self._run, key, args, errors)

        return guard

    # ---- for the two kinds

    def _set_up(self) -> None:
        raise NotImplementedError

    def _guard(self, tool: _tool.Tool) -> Callable[..., Any]:
        """The guarded function, or a TypeError."""
        raise NotImplementedError

    def _wrap(self, tool: _tool.Tool) -> Callable[..., Any]:
        raise NotImplementedError

    def _run(
        self, tool: _tool.Tool, call: Call, args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Any:
        """Makes the guarded call, to its Outcome."""
        raise NotImplementedError

    def _asked(
        self,
        tool: str,
        args: Optional[Mapping[str, Any]],
        key: Optional[str],
        again: Optional[str],
        errors: Errors,
        options: Dict[str, Any],
    ) -> Call:
        """What a block asks for, at this place of the run."""
        changed = _tool.options_of(self._options, options)
        place = context.current()
        return Call(tool, changed, key=key, args=args, again=again, errors=errors, **place)


def _make(kind: Type[LedgerBase], socket: Optional[Path], options: Dict[str, Any]) -> LedgerBase:
    return kind(socket, **options)
