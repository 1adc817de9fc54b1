"""Ledger: guarded calls for threads. client/README.md has the rules, _steps.py and _grant.py keep
them.

    ledger = effectd.Ledger()

    @ledger.tool('refund_order')
    def refund(order_id: int, line: int, amount: str, *, effect: effectd.Claim) -> dict:
        return provider.refund(order_id, line, amount, idempotency_key=effect.provider_key)
"""
from __future__ import annotations

import dataclasses
import functools
import os
import threading
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, Tuple, Type, TypeVar

from . import _grant, _methods, _steps, _tool, errors
from ._background import Background
from ._base import Errors, LedgerBase
from ._claim import ClaimBase
from ._grant import Call, Grant, Outcome
from ._keeper import Keeper
from ._mux import Late
from ._pool import Caller, Pool
from ._steps import Answer, Steps

if TYPE_CHECKING:
    from .aio import AsyncLedger

T = TypeVar('T')
F = TypeVar('F', bound=Callable[..., Any])


class Claim(ClaimBase):
    """`with ledger.claim(...) as claim:`, or the parameter `effect` of a guarded function. See
    ClaimBase.

    `lost`: a threading.Event, set when the lease is lost: stop if you can; what comes of the call
    is reported all the same.
    """

    def __init__(self, ledger: 'Ledger', call: Call) -> None:
        super().__init__(call)
        self.lost = threading.Event()
        self._ledger = ledger
        self._caller = Caller(ledger._pool, ledger._background)

    def extend(self, lease: Optional[float] = None) -> float:
        """A lease of so many seconds from now (the policy's by default; 1 to 3600), kept by itself
        from then on. Returns how many are left by this side's clock. NotOwner: the claim is
        lost."""
        grant = self._grant
        if grant is None:
            return 0.0
        sent_at = _steps.now()
        try:
            self._ledger._drive(
                _methods.hold(
                    self._call.options,
                    'extend',
                    grant.effect,
                    grant.token,
                    {'lease_ms': _grant.milliseconds(lease or self._call.options.lease)},
                )
            )
        except errors.NotOwner:
            grant.lost = True
            self.lost.set()
            raise
        grant.extended(sent_at, lease)
        return grant.lease_end - _steps.now()

    def done(self, value: Any = None) -> None:
        """Records at once that the call succeeded, with this result. Raises NotRecorded or
        Conflict."""
        self.result = value
        self._succeeded(value)

    def __enter__(self) -> 'Claim':
        self._begin()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        try:
            if self._has_value():
                self._succeeded(self._value)
            elif error is not None:
                self._ended(error)
            elif self._owes():
                silent = self._silent()
                self._ended(silent)
                raise silent
        finally:
            self._leave()

    def __del__(self) -> None:
        self._leave()

    # ---- what the guard does

    def _begin(self) -> None:
        """Returns when the call is to be made (a fresh claim, or `pass`), or is a replay. Raises
        all else."""
        call, clean = self._call, False
        late = functools.partial(_grant.released_late, call)
        answer: Optional[Answer] = None
        try:
            try:
                answer = self._caller.drive(call.begin(), late)
            except errors.EffectError:
                clean = True
                raise
            self._answer = answer.result
            clean = self._answer.get('decision') != 'run'
            found = _grant.understand(call, answer)
            if isinstance(found, Grant):
                if not found.fresh():
                    clean = self._caller.drive(found.release('it came too late to start'))
                    raise errors.late(call.tool)
                found.on_lost = self.lost.set
                self._grant = found
                self._ledger._keeper.add(found)
            else:
                self._outcome = found
        except errors.EffectError:
            raise
        except BaseException:
            steps = late(answer) if answer is not None and self._grant is None else None
            if steps is not None:
                self._ledger._background.spawn(steps)
            raise
        finally:
            if self._grant is None:
                self._caller.end(clean)

    def _succeeded(self, value: Any) -> None:
        grant = self._grant
        if grant is not None and self._owes():
            self._report(functools.partial(_grant.succeeded, grant, value))

    def _ended(self, error: BaseException) -> None:
        grant = self._grant
        if grant is not None and self._owes():
            self._report(_grant.ended(grant, error))

    def _report(self, steps: Callable[[], Steps[Any]]) -> None:
        assert self._grant is not None
        self._reported = True
        self._ledger._keeper.remove(self._grant)
        clean, report = False, steps()
        try:
            clean = self._caller.drive(report) is not False
        except errors.EffectError:
            raise
        except BaseException:
            if not self._caller.leave(report):
                self._ledger._background.spawn(steps())
            raise
        finally:
            self._caller.end(clean)

    def _leave(self) -> None:
        """Whatever happened, an interruption between any two lines included: the lease is kept no
        longer, and a claim that nothing was said about turns unknown, by the end of its
        connection."""
        grant = getattr(self, '_grant', None)
        if grant is not None and self._pid == os.getpid():
            self._ledger._keeper.remove(grant)
            self._caller.end(clean=False)


class Ledger(LedgerBase):
    __doc__ = f"""The local effectd, for threads. Nothing is opened until it is used; one for a
    process is enough, and any thread may use it. {LedgerBase.__doc__}"""

    def _set_up(self) -> None:
        self._pool = Pool(self._path)
        background = self._background = Background(self._path)
        self._keeper = Keeper(lambda: background.hub)
        self._tasks: Optional['AsyncLedger'] = None
        self._finalizer = weakref.finalize(self, _close, self._pool, background)

    def close(self) -> None:
        """Closes what is open; claims that are still held turn unknown. A later call opens anew."""
        self._pool.close()
        self._background.close()
        self._background.renew()
        self._keeper.renew()

    def __enter__(self) -> 'Ledger':
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    # ---- guards

    def claim(
        self,
        tool: str,
        args: Optional[Mapping[str, Any]] = None,
        *,
        key: Optional[str] = None,
        again: Optional[str] = None,
        errors: Errors = (),  # pylint: disable=redefined-outer-name
        **options: Any,
    ) -> Claim:
        """Guards a block of code:

            with ledger.claim('deploy', key='deploy:v1.2.3') as claim:
                if claim.run:
                    claim.result = deploy('v1.2.3', claim.provider_key)
            print(claim.result)

        The result is recorded at the end of the block, or at once by claim.done(value). A block
        that ends by an error is reported as a function's error is; one that ends without a result
        leaves the outcome unknown, and a RuntimeError says so. Entering it raises NotRun and its
        kin.
        """
        return Claim(self, self._asked(tool, args, key, again, errors, options))

    def _guard(self, tool: _tool.Tool) -> Callable[..., Any]:
        if not _tool.is_async(tool.fn):
            return self._wrap(tool)
        tasks = self._for_tasks()
        return tasks._guard(dataclasses.replace(tool, wrap=tasks._wrap, run=tasks._run))

    def _wrap(self, tool: _tool.Tool) -> Callable[..., Any]:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            return self._run(tool, tool.call(args, kwargs), args, kwargs).value

        return _tool.dress(guarded, tool)

    def _run(
        self, tool: _tool.Tool, call: Call, args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Outcome[Any]:
        claim = Claim(self, call)
        try:
            claim._begin()
            if claim._outcome is not None:
                return claim._outcome
            try:
                fn = tool.prepare(claim, args, kwargs)
            except errors.InvalidParams as error:
                claim._ended(errors.NotSent(str(error)))
                raise
            try:
                value = fn()
                tool.refuse_unfinished(value)
            except BaseException as error:
                claim._ended(error)
                raise
            claim._succeeded(value)
            return Outcome(value, claim.answer)
        finally:
            claim._leave()

    def _for_tasks(self) -> 'AsyncLedger':
        if self._tasks is None:
            # asyncio only where it is used
            from .aio import AsyncLedger  # pylint: disable=import-outside-toplevel

            self._tasks = AsyncLedger(self._socket, **_tool.as_arguments(self._options))
        return self._tasks

    def _drive(self, steps: Steps[T], late: Optional[Late] = None) -> T:
        caller, clean = Caller(self._pool, self._background), False
        try:
            try:
                value = caller.drive(steps, late)
            except errors.EffectError:
                clean = True
                raise
            clean = True
            return value
        finally:
            caller.end(clean)

    # ---- the wire's methods: further keyword arguments are members of their params (protocol.md)

    def begin(
        self,
        tool: str,
        key: Optional[str] = None,
        args: Optional[Mapping[str, Any]] = None,
        **params: Any,
    ) -> Dict[str, Any]:
        """Asks, and returns whatever effectd decided. Only `run` and `pass` mean that the call may
        be made, `run` within lease_ms (plus waited_ms) from now on. Waits only if told so
        (wait_ms). The claim is bound to nothing.
        """
        steps = _methods.begin(self._options, tool, {'key': key, 'args': args, **params})
        late = functools.partial(_grant.released_late, Call(tool, self._options))
        return self._drive(steps, late)

    def complete(
        self, effect: str, token: str, result: Any = None, *, outcome: str = 'succeeded'
    ) -> Dict[str, Any]:
        """Records what came of a claim; outcome: succeeded, failed, error. Tries for
        complete_timeout, then NotRecorded."""
        return self._drive(_methods.complete(self._options, effect, token, result, outcome))

    def release(self, effect: str, token: str, reason: str) -> Dict[str, Any]:
        """Nothing was sent, for certain."""
        return self._drive(
            _methods.hold(self._options, 'release', effect, token, {'reason': reason})
        )

    def unknown(self, effect: str, token: str, reason: str) -> Dict[str, Any]:
        """Nobody knows whether the call landed."""
        return self._drive(
            _methods.hold(self._options, 'unknown', effect, token, {'reason': reason})
        )

    def extend(self, effect: str, token: str, lease: Optional[float] = None) -> Dict[str, Any]:
        """A longer lease, in seconds from now (the policy's by default)."""
        params = {'lease_ms': _grant.milliseconds(lease)}
        return self._drive(_methods.hold(self._options, 'extend', effect, token, params))

    def execute(
        self,
        tool: str,
        args: Optional[Mapping[str, Any]] = None,
        *,
        key: Optional[str] = None,
        again: Optional[str] = None,
        **options: Any,
    ) -> Outcome[Any]:
        """Runs a tool that is SQL (policy member `execute`) in one transaction with its record.
        Raises NotRun and its kin; ToolFailed where its SQL raised."""
        return self._drive(
            _methods.execute(_tool.options_of(self._options, options), tool, key, args, again)
        )

    def key(
        self, tool: str, args: Optional[Mapping[str, Any]] = None, **params: Any
    ) -> Dict[str, Any]:
        """What a begin with these params would mean: {effect, key, fingerprint, provider_key}.
        Claims nothing, needs no ledger. To be persisted in a checkpoint before the call, or handed
        out of band."""
        return self._drive(_methods.key(self._options, tool, {'args': args, **params}))

    def get(self, effect: Optional[str] = None, **params: Any) -> Dict[str, Any]:
        """What is recorded of one effect, by its id, or by tool and key, or by tool and what
        derives the key. NotFound."""
        return self._drive(_methods.get(self._options, effect, params))

    def list(self, **filters: Any) -> Dict[str, Any]:
        """{effects, cursor}: a page of effects, newest claim first."""
        return self._drive(_methods.list_(self._options, filters))

    def call(
        self,
        method: str,
        params: Optional[Mapping[str, Any]] = None,
        *,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Any method. Asked again, as begin is, for `timeout` seconds (begin_timeout)."""
        return self._drive(_methods.call(self._options, method, params or {}, timeout))


def _close(pool: Pool, background: Background) -> None:
    pool.close()
    background.close()
