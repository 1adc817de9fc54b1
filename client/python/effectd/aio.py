"""AsyncLedger: guarded calls for tasks of an event loop. As ledger.py, with await.

All calls of a loop share a connection (and few more where many wait at once). Cancelling a task
never loses a report: what is under way is ended by the loop itself. Another loop has connections of
its own.
"""
from __future__ import annotations

import asyncio
import functools
import os
import threading
import weakref
from types import TracebackType
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Type, TypeVar, cast

from . import _grant, _methods, _sockets, _steps, _tool, errors
from ._base import Errors, LedgerBase
from ._claim import ClaimBase
from ._grant import Call, Grant, Options, Outcome
from ._keeper import Keeper
from ._mux import Hub, Late, Runner
from ._steps import Answer, Steps
from .ledger import Ledger

T = TypeVar('T')
F = TypeVar('F', bound=Callable[..., Any])


class AsyncClaim(ClaimBase):
    """`async with ledger.claim(...) as claim:`, or the parameter `effect` of a guarded function.
    See ClaimBase.

    `lost`: an asyncio.Event (once the block is entered), set when the lease is lost: stop if you
    can; what comes of the call is reported all the same.
    """

    def __init__(self, ledger: 'AsyncLedger', call: Call) -> None:
        super().__init__(call)
        self._ledger = ledger
        self._keeper: Optional[Keeper] = None

    async def extend(self, lease: Optional[float] = None) -> float:
        """A lease of so many seconds from now (the policy's by default; 1 to 3600), kept by itself
        from then on. Returns how many are left by this side's clock. NotOwner: the claim is
        lost."""
        grant = self._grant
        if grant is None:
            return 0.0
        sent_at = _steps.now()
        try:
            await self._ledger._drive(
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

    async def done(self, value: Any = None) -> None:
        """Records at once that the call succeeded, with this result. Raises NotRecorded or
        Conflict."""
        self.result = value
        await self._succeeded(value)

    async def __aenter__(self) -> 'AsyncClaim':
        await self._begin()
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        try:
            if self._has_value():
                await self._succeeded(self._value)
            elif error is not None:
                await self._ended(error)
            elif self._owes():
                silent = self._silent()
                await self._ended(silent)
                raise silent
        finally:
            self._leave()

    def __del__(self) -> None:
        self._leave()

    # ---- what the guard does

    async def _begin(self) -> None:
        """Returns when the call is to be made (a fresh claim, or `pass`), or is a replay. Raises
        all else."""
        call = self._call
        self.lost = asyncio.Event()
        answer: Answer = await self._ledger._drive(
            call.begin(), functools.partial(_grant.released_late, call)
        )
        self._answer = answer.result
        found = _grant.understand(call, answer)
        if not isinstance(found, Grant):
            self._outcome = found
            return
        if not found.fresh():
            await self._ledger._report(found.release('it came too late to start'), call.options)
            raise errors.late(call.tool)
        found.on_lost = self.lost.set
        self._keeper = self._ledger._here().keeper
        self._grant = found
        self._keeper.add(found)

    async def _succeeded(self, value: Any) -> None:
        grant = self._grant
        if grant is not None and self._owes():
            self._over()
            await self._ledger._report(_grant.succeeded(grant, value), self._call.options)

    async def _ended(self, error: BaseException) -> None:
        grant = self._grant
        if grant is not None and self._owes():
            self._over()
            steps = _grant.ended(grant, error)()
            if isinstance(error, GeneratorExit):
                self._ledger._here().hub.spawn(steps)  # a coroutine that is closed cannot wait
                return
            await self._ledger._report(steps, self._call.options)

    def _over(self) -> None:
        self._reported = True
        self._leave()

    def _leave(self) -> None:
        """Whatever happened: the lease is kept no longer."""
        grant, keeper = getattr(self, '_grant', None), getattr(self, '_keeper', None)
        if grant is not None and keeper is not None and self._pid == os.getpid():
            keeper.remove(grant)


class _Here:
    """What belongs to one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, path: _sockets.Path) -> None:
        self.loop, self.pid = loop, os.getpid()
        self.hub = Hub(loop, path)
        self.keeper = Keeper(lambda: self.hub)


class AsyncLedger(LedgerBase):
    __doc__ = f"""The local effectd, for tasks. Nothing is opened until it is used, in the event
    loop that uses it; `await ledger.aclose()`, or `async with`, closes what that loop has open.
    {LedgerBase.__doc__}"""

    def _set_up(self) -> None:
        self._lock = threading.Lock()
        self._heres: Dict[int, _Here] = {}
        self._finalizer = weakref.finalize(self, _close_all, self._heres)
        _sockets.after_fork(self)

    def renew(self) -> None:
        """In a forked child: nothing of the parent's goes on."""
        self._lock = threading.Lock()
        self._heres.clear()

    async def aclose(self) -> None:
        """Closes what this event loop has open, after the reports that are under way
        (report_timeout); claims that are still held turn unknown. A later call opens anew."""
        here = self._here()
        until = here.loop.time() + self._options.report_timeout
        while here.hub.running and here.loop.time() < until:
            await asyncio.sleep(0.005)
        with self._lock:
            self._heres.pop(id(here.loop), None)
        here.hub.close()

    async def __aenter__(self) -> 'AsyncLedger':
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.aclose()

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
    ) -> AsyncClaim:
        """Guards a block of code, as Ledger.claim() does: `async with ledger.claim(...) as
        claim:`."""
        return AsyncClaim(self, self._asked(tool, args, key, again, errors, options))

    def _guard(self, tool: _tool.Tool) -> Callable[..., Any]:
        if not _tool.is_async(tool.fn):
            name = getattr(tool.fn, '__qualname__', tool.fn)
            raise TypeError(f'{name} is not async, and would hold up the loop: guard it by Ledger')
        return self._wrap(tool)

    def _wrap(self, tool: _tool.Tool) -> Callable[..., Any]:
        async def guarded(*args: Any, **kwargs: Any) -> Any:
            return (await self._run(tool, tool.call(args, kwargs), args, kwargs)).value

        return _tool.dress(guarded, tool)

    async def _run(
        self, tool: _tool.Tool, call: Call, args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Outcome[Any]:
        claim = AsyncClaim(self, call)
        try:
            await claim._begin()
            if claim._outcome is not None:
                return claim._outcome
            try:
                fn = tool.prepare(claim, args, kwargs)
            except errors.InvalidParams as error:
                await claim._ended(errors.NotSent(str(error)))
                raise
            try:
                value = await fn()
                tool.refuse_unfinished(value)
            except BaseException as error:
                await claim._ended(error)
                raise
            await claim._succeeded(value)
            return Outcome(value, claim.answer)
        finally:
            claim._leave()

    # ---- running steps

    def _here(self) -> _Here:
        loop = asyncio.get_running_loop()
        with self._lock:
            here = self._heres.get(id(loop))
            if here is None or here.loop is not loop:
                for number, other in list(self._heres.items()):
                    if other.loop.is_closed():
                        del self._heres[number]
                        other.hub.close()
                here = self._heres[id(loop)] = _Here(loop, self._path)
            return here

    async def _drive(self, steps: Steps[T], late: Optional[Late] = None) -> T:
        """Runs the steps. Cancelled, it leaves them: an answer that comes after all goes to
        `late`."""
        here = self._here()
        future, runner = self._started(here, steps, late)
        try:
            return await future
        except BaseException:
            if future.done() and not future.cancelled() and future.exception() is None:
                answer = future.result()  # it came together with the cancellation
                if late is not None and isinstance(answer, Answer):
                    here.hub.spawn(late(answer))
            runner.abandon()
            raise

    async def _report(self, steps: Steps[T], options: Options) -> None:
        """Runs the steps to their end whatever becomes of this task; a cancelled one waits
        report_timeout for it."""
        future, _ = self._started(self._here(), steps, None)
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            future.add_done_callback(_seen)
            await asyncio.wait((future,), timeout=options.report_timeout)
            raise

    @staticmethod
    def _started(
        here: _Here, steps: Steps[T], late: Optional[Late]
    ) -> 'Tuple[asyncio.Future[T], Runner[T]]':
        future: 'asyncio.Future[T]' = here.loop.create_future()

        def done(value: Optional[T], error: Optional[BaseException]) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(cast(T, value))

        runner = Runner(here.hub, steps, done, late)
        runner.start()
        return future, runner

    # ---- the wire's methods, as Ledger has them

    async def begin(
        self,
        tool: str,
        key: Optional[str] = None,
        args: Optional[Mapping[str, Any]] = None,
        **params: Any,
    ) -> Dict[str, Any]:
        steps = _methods.begin(self._options, tool, {'key': key, 'args': args, **params})
        late = functools.partial(_grant.released_late, Call(tool, self._options))
        return await self._drive(steps, late)

    async def complete(
        self, effect: str, token: str, result: Any = None, *, outcome: str = 'succeeded'
    ) -> Dict[str, Any]:
        return await self._drive(_methods.complete(self._options, effect, token, result, outcome))

    async def release(self, effect: str, token: str, reason: str) -> Dict[str, Any]:
        return await self._drive(
            _methods.hold(self._options, 'release', effect, token, {'reason': reason})
        )

    async def unknown(self, effect: str, token: str, reason: str) -> Dict[str, Any]:
        return await self._drive(
            _methods.hold(self._options, 'unknown', effect, token, {'reason': reason})
        )

    async def extend(
        self, effect: str, token: str, lease: Optional[float] = None
    ) -> Dict[str, Any]:
        params = {'lease_ms': _grant.milliseconds(lease)}
        return await self._drive(_methods.hold(self._options, 'extend', effect, token, params))

    async def execute(
        self,
        tool: str,
        args: Optional[Mapping[str, Any]] = None,
        *,
        key: Optional[str] = None,
        again: Optional[str] = None,
        **options: Any,
    ) -> Outcome[Any]:
        return await self._drive(
            _methods.execute(_tool.options_of(self._options, options), tool, key, args, again)
        )

    async def key(
        self, tool: str, args: Optional[Mapping[str, Any]] = None, **params: Any
    ) -> Dict[str, Any]:
        return await self._drive(_methods.key(self._options, tool, {'args': args, **params}))

    async def get(self, effect: Optional[str] = None, **params: Any) -> Dict[str, Any]:
        return await self._drive(_methods.get(self._options, effect, params))

    async def list(self, **filters: Any) -> Dict[str, Any]:
        return await self._drive(_methods.list_(self._options, filters))

    async def call(
        self,
        method: str,
        params: Optional[Mapping[str, Any]] = None,
        *,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        return await self._drive(_methods.call(self._options, method, params or {}, timeout))


for _name in (
    'begin',
    'complete',
    'release',
    'unknown',
    'extend',
    'execute',
    'key',
    'get',
    'list',
    'call',
):
    getattr(AsyncLedger, _name).__doc__ = getattr(Ledger, _name).__doc__


def _seen(future: 'asyncio.Future[Any]') -> None:
    """Nobody is there any more to be told its error."""
    if not future.cancelled():
        future.exception()


def _close_all(heres: Dict[int, _Here]) -> None:
    for here in heres.values():
        here.hub.close()
    heres.clear()
