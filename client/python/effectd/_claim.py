"""What a guarded call knows of itself while it runs: the part that threads and tasks share. No
I/O."""
from __future__ import annotations

import os
from typing import Any, Dict, Optional

from . import errors
from ._grant import Call, Grant, Outcome

_NOTHING: Any = object()


class ClaimBase:
    """One guarded call, told `run` (or `pass`, or a replay).

    run: the call is to be made, once; False: it is a replay, and `result` is what was recorded.
    replayed: the opposite.
    id, key, attempt: the effect's id and key; 1 for the first. None for a read (`pass`).
    provider_key: what to hand to the provider as its idempotency key: the same on every attempt.
    result: of a replay the recorded result; set it to what the call came to, and it is recorded at
    the end of the block.
    raw: of a replay, the recorded result's very bytes.
    answer: all that effectd said.
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self._grant: Optional[Grant] = None
        self._outcome: Optional[Outcome[Any]] = None
        self._answer: Dict[str, Any] = {}
        self._value: Any = _NOTHING
        self._reported = False
        self._pid = os.getpid()

    @property
    def run(self) -> bool:
        if self._grant is not None and self._pid != os.getpid():
            raise RuntimeError(
                'this claim is its parent\'s: only the process that asked may run it'
            )
        return self._outcome is None

    @property
    def replayed(self) -> bool:
        return self._outcome is not None

    @property
    def answer(self) -> Dict[str, Any]:
        return self._answer

    @property
    def id(self) -> Optional[str]:
        return self._answer.get('effect')

    @property
    def key(self) -> Optional[str]:
        return self._answer.get('key')

    @property
    def attempt(self) -> Optional[int]:
        return self._answer.get('attempt')

    @property
    def provider_key(self) -> Optional[str]:
        return self._answer.get('provider_key')

    @property
    def raw(self) -> Optional[bytes]:
        return self._outcome.raw if self._outcome is not None else None

    @property
    def result(self) -> Any:
        if self._outcome is not None:
            return self._outcome.value
        return None if self._value is _NOTHING else self._value

    @result.setter
    def result(self, value: Any) -> None:
        if self._outcome is not None:
            raise RuntimeError('this is a replay: its result is recorded already')
        self._value = value

    def failed(self, message: str = '', value: Any = None) -> errors.Failed:
        """The provider refused for good: `raise claim.failed('card declined')`."""
        return errors.Failed(message, value)

    def not_sent(self, message: str = '') -> errors.NotSent:
        """Nothing was sent, for certain: `raise claim.not_sent('no such order here')`."""
        return errors.NotSent(message)

    def __repr__(self) -> str:
        decision = self._answer.get('decision', 'not asked')
        return f'<{type(self).__name__} {self._call.tool} {self.key!r} {decision}>'

    # ---- for the two kinds

    def _owes(self) -> bool:
        """There is a claim to be reported on, by this process."""
        return self._grant is not None and not self._reported and self._pid == os.getpid()

    def _has_value(self) -> bool:
        return self._value is not _NOTHING

    def _silent(self) -> RuntimeError:
        return RuntimeError(
            f'the block for {self._call.tool} ended without a result: set claim.result or call '
            'claim.done(), claim.failed() or claim.not_sent(); its outcome is unknown now'
        )
