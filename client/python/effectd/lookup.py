"""The read tool for a model: what is recorded of one effect, and the sentence for the model's
instructions.

    tool = effectd.lookup_tool(ledger)
    model.tools.append({'name': tool.name, 'description': tool.description, 'input_schema':
    tool.parameters}) ... tool(**arguments)          # await it where the ledger is an AsyncLedger
"""
from __future__ import annotations

from typing import Any, Dict, Union

from .aio import AsyncLedger
from .errors import EffectError, InvalidParams, NotFound
from .ledger import Ledger

INSTRUCTIONS = (
    'Some of your tools change the world, and are guarded so that no repeat of a call performs it '
    'twice. When a tool says that a call was not made, follow what it says and do not make the '
    'call in another way, with altered arguments or under another key. When you do not know '
    'whether a call took effect, ask effect_lookup before you do anything else.'
)

NAME = 'effect_lookup'
DESCRIPTION = (
    'Looks up what is recorded about one guarded tool call: whether it was done, with which '
    'result, or is still open. It changes nothing. Name the effect by its id, or the tool with '
    'its key, or the tool with the very arguments of the call.'
)
PARAMETERS: Dict[str, Any] = {
    'type': 'object',
    'additionalProperties': False,
    'properties': {
        'effect': {
            'type': 'string',
            'description': 'the id of the effect, as an earlier answer told it',
        },
        'tool': {'type': 'string', 'description': 'the name of the tool'},
        'key': {
            'type': 'string',
            'description': 'the key of the effect, as an earlier answer told it',
        },
        'args': {
            'type': 'object',
            'description': 'the arguments of the call, exactly as they were',
        },
    },
}

_SHOWN = (
    'effect',
    'tool',
    'key',
    'state',
    'attempt',
    'claimed_at',
    'since',
    'done_at',
    'outcome',
    'by',
    'result',
    'result_state',
)
_MEANS = {
    'pending': 'Somebody is making this call. Do not make it; look again later.',
    'unknown': 'It is not known yet whether this call took effect, and is being found out. Do '
    'not make it; look again later.',
    'escalated': 'Nobody could find out whether this call took effect; a person has to decide. '
    'Do not make it.',
    'released': 'This call did not take effect. It may be made again by its tool, with the same '
    'arguments.',
    'done': 'This call was made. Use its result; do not make it again.',
}
_REFUSED = 'This call was refused for good. Do not repeat it as it is.'
_NOT_FOUND = (
    'Nothing is recorded under this name. That is no proof that nothing was done: make sure that '
    'tool, key and arguments are exactly those of the call.'
)


class LookupTool:
    """name, description, parameters (a JSON schema), and a call: tool(effect=... or tool=...,
    key=..., args=...) -> a dict for the model, with a sentence in `advice`. It raises nothing but a
    TypeError for a name that is not among them.
    """

    name, description, parameters = NAME, DESCRIPTION, PARAMETERS

    def __init__(self, ledger: Union[Ledger, AsyncLedger]) -> None:
        self._ledger = ledger

    def __call__(self, **named: Any) -> Any:
        unknown = named.keys() - PARAMETERS['properties'].keys()
        if unknown:
            raise TypeError(f'{NAME} has no parameter "{min(unknown)}"')
        named = {name: value for name, value in named.items() if value not in (None, '')}
        if isinstance(self._ledger, AsyncLedger):
            return self._later(self._ledger, named)
        try:
            return _shown(self._ledger.get(events=0, **named))
        except EffectError as error:
            return _error(error)

    @staticmethod
    async def _later(ledger: AsyncLedger, named: Dict[str, Any]) -> Dict[str, Any]:
        try:
            return _shown(await ledger.get(events=0, **named))
        except EffectError as error:
            return _error(error)


def lookup_tool(ledger: Union[Ledger, AsyncLedger]) -> LookupTool:
    """The read tool of this ledger. run, step and turn come from the context (effectd.run), never
    from the model."""
    return LookupTool(ledger)


def _shown(row: Dict[str, Any]) -> Dict[str, Any]:
    shown = {name: row[name] for name in _SHOWN if row.get(name) is not None}
    advice = _MEANS.get(str(row.get('state')), 'Do not make this call.')
    if row.get('outcome') == 'failed':
        advice = _REFUSED
    return {'found': True, **shown, 'advice': advice}


def _error(error: EffectError) -> Dict[str, Any]:
    if isinstance(error, NotFound):
        return {'found': False, 'advice': _NOT_FOUND}
    why = f' ({error.pointer} {error.why})' if isinstance(error, InvalidParams) else ''
    return {
        'found': False,
        'advice': f'It could not be looked up now{why}. Nothing is known by this answer; do not '
        'make the call because of it.',
    }
