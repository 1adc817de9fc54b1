"""effectd: guards calls that change the world, so that no repeat of a call performs it twice.

    import effectd
    ledger = effectd.Ledger()

    @ledger.tool('refund_order')
    def refund(order_id: int, amount: str, *, effect: effectd.Claim = effectd.GIVEN):
        return provider.refund(order_id, amount, idempotency_key=effect.provider_key)

    with effectd.run('run-7', step=3):
        refund(1042, '12.50')        # made once, however often this line is run

The local daemon `effectd` derives the key, decides, and remembers; this package stands between its
answer and the call. Threads use Ledger, tasks AsyncLedger. What is not run is an EffectError whose
text a model may read. README.md has more.
"""
from . import errors
from ._claim import ClaimBase
from ._grant import Outcome
from ._tool import GIVEN, outcome, override
from .aio import AsyncClaim, AsyncLedger
from .context import run
from .errors import *  # noqa: F401,F403  # pylint: disable=wildcard-import,unused-wildcard-import
from .ledger import Claim, Ledger
from .lookup import INSTRUCTIONS, LookupTool, lookup_tool

__version__ = '0.1.0'
__all__ = [
    'AsyncClaim',
    'AsyncLedger',
    'Claim',
    'ClaimBase',
    'GIVEN',
    'INSTRUCTIONS',
    'Ledger',
    'LookupTool',
    'Outcome',
    'lookup_tool',
    'outcome',
    'override',
    'run',
    '__version__',
    *errors.__all__,
]
