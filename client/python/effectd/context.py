"""Where in an agent's run the calls of this thread or task stand: run, step, turn and call.

    with effectd.run('run-7'):
        for step in plan:
            with effectd.run(step=step.number):
                step.tool(...)

They are what a policy without a key of its own derives the key from, and what turn budgets count
by: take them from what your framework persists, so that they are the same when the run is resumed.
`call`, the model's id for the call, is only logged. Contextvars: tasks inherit them; a thread does
if it is started with contextvars.copy_context().run (as asyncio.to_thread does).
"""
from __future__ import annotations

import contextlib
import contextvars
from typing import Any, Dict, Iterator, Optional, Union

Place = Union[str, int]

_current: 'contextvars.ContextVar[Dict[str, Any]]' = contextvars.ContextVar('effectd.run')


def current() -> Dict[str, Any]:
    """run, step, turn, call: those that were said."""
    return _current.get({})


@contextlib.contextmanager
def run(
    run: Optional[Place] = None,
    *,  # pylint: disable=redefined-outer-name
    step: Optional[Place] = None,
    turn: Optional[Place] = None,
    call: Optional[str] = None,
) -> Iterator[None]:
    """For the guarded calls inside: run, step, turn (strings of 1 to 255 bytes, or integers) and
    call.

    What is left out is taken from around it; a new run forgets the step, turn and call around it,
    and a new turn or step the call.
    """
    said = {'run': run, 'step': step, 'turn': turn, 'call': call}
    said = {name: value for name, value in said.items() if value is not None}
    around = {} if 'run' in said else dict(current())
    if said.keys() & {'step', 'turn'}:
        around.pop('call', None)
    token = _current.set({**around, **said})
    try:
        yield
    finally:
        _current.reset(token)
