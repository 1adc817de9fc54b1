"""Rule 5: keeps the leases of the claims that are being worked on, from a loop (_mux.py).

Extends every third of a lease. A claim is lost when the daemon says not_owner, or when its lease is
over without an answer; its on_lost() then comes once. Extends of different claims never wait for
each other, and none is started after remove().
"""
from __future__ import annotations

import math
import threading
from typing import Callable, Dict, Optional

from . import _sockets, _steps, errors
from ._grant import Grant
from ._mux import Handle, Hub, Runner
from ._steps import Answer, Steps


class Keeper:
    """add() and remove() may be called by any thread where the loop's call_later() may."""

    def __init__(self, hub: Callable[[], Hub]) -> None:
        self.hub = hub
        self.renew()
        _sockets.after_fork(self)

    def renew(self) -> None:
        """In a forked child: the claims are the parent's."""
        self.lock = threading.RLock()  # a signal's handler may call, too
        self.grants: Dict[int, Grant] = {}
        self.tick_at = math.inf
        self.timer: Optional[Handle] = None

    def add(self, grant: Grant) -> None:
        with self.lock:
            grant.kept = True
            self.grants[grant.number] = grant
        self._wake(min(grant.extend_at, grant.lease_end))

    def remove(self, grant: Grant) -> None:
        """Takes no lock: the collector may call it in the midst of anything, and this thread, or one
        that waits for it, may hold one of ours."""
        grant.kept = False
        self.grants.pop(grant.number, None)

    def _wake(self, at: float) -> None:
        with self.lock:
            if at >= self.tick_at:
                return
            self.tick_at = at
            if self.timer is not None:
                self.timer.cancel()
            self.timer = self.hub().loop.call_later(max(0.0, at - _steps.now()), self._tick)

    def _tick(self) -> None:
        with self.lock:
            self.tick_at = math.inf
            self.timer = None
            grants = list(self.grants.values())
        at, wake_at = _steps.now(), math.inf
        for grant in grants:
            if at >= grant.lease_end:
                self._lose(grant)
                continue
            if at >= grant.extend_at and not grant.extending:
                self._extend(grant, grant.lease_end - at)
            wake_at = min(
                wake_at,
                grant.lease_end if grant.extending else min(grant.extend_at, grant.lease_end),
            )
        if wake_at < math.inf:
            self._wake(wake_at)

    def _extend(self, grant: Grant, left: float) -> None:
        def done(answer: Optional[Answer], _error: Optional[BaseException]) -> None:
            grant.extending = False
            if answer is not None:
                self._told(grant, answer)
            if grant.kept:
                self._wake(min(grant.extend_at, grant.lease_end))

        with self.lock:
            if not grant.kept:
                return
            grant.extending = True
        Runner(self.hub(), self._steps(grant, left), done).start()

    @staticmethod
    def _steps(grant: Grant, left: float) -> Steps[Optional[Answer]]:
        try:
            return (yield from _steps.ask(grant.extend_request(), left, lambda: grant.kept))
        except errors.Unavailable:
            return None

    def _told(self, grant: Grant, answer: Answer) -> None:
        name = answer.message.error_name
        if name in ('not_owner', 'not_found'):
            self._lose(grant)
        elif answer.message.error is not None:
            grant.extend_at = _steps.now() + grant.lease / 3
        elif answer.result.get('state') == 'pending':
            grant.extended(answer.sent_at)
        else:
            self.remove(grant)  # it is done: somebody has found out what came of it

    def _lose(self, grant: Grant) -> None:
        with self.lock:
            if not grant.kept:
                return
            grant.kept, grant.lost = False, True
            self.grants.pop(grant.number, None)
        grant.on_lost()
