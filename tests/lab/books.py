"""The count. Payments are the provider's word alone: its book says who was paid, and how often. The ledger is asked one thing
only: which payments are still open, waiting for a person. And what chance alone would give, to compare with."""
import math

from field import p_unknown

__all__ = ['Count', 'expected', 'memory_table', 'percentile']


def percentile(values, share):
    """The smallest value that `share` of them do not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0


class Count:
    """What the lab comes to. `states`: {order: state} of the ledger, {} without one."""

    def __init__(self, n_actions, tally, book, states, clock):
        self.n_actions, self.tally = n_actions, tally
        self.times = {}
        receipts = {}
        for line in book:
            self.times[line['order']] = self.times.get(line['order'], 0) + 1
            receipts.setdefault(line['order'], set()).add(line['receipt'])
        self.executions = len(book)
        self.duplicates = self.executions - len(self.times)
        self.open = {order for order, state in states.items() if state in ('unknown', 'escalated', 'pending')}
        self.lost = [order for order in self.orders() if order not in self.times and order not in self.open]
        self.escalated = sum(1 for state in states.values() if state == 'escalated')
        # a receipt that somebody was told, and that the provider never wrote for this order
        self.untrue = sorted(order for order, told in tally.receipts.items() if not told <= receipts.get(order, set()))
        self.p95_ms = round(percentile(tally.latencies, 0.95) * 1000 * clock.factor)
        self.p50_ms = round(percentile(tally.latencies, 0.5) * 1000 * clock.factor)

    def orders(self):
        return (f'order-{number}' for number in range(self.n_actions))

    def fate(self, number):
        """of an action: once, twice, open or lost"""
        order = f'order-{number}'
        n = self.times.get(order, 0)
        return 'twice' if n > 1 else 'once' if n else 'open' if order in self.open else 'lost'

    def as_json(self):
        return {'actions': self.n_actions, 'attempts': self.tally.attempts, 'executions': self.executions,
                'duplicates': self.duplicates, 'lost': len(self.lost), 'replays': self.tally.replays,
                'unknown_told': self.tally.unknown_told, 'escalated': self.escalated, 'p95_ms': self.p95_ms}


def expected(mode, setting):
    """(mean, standard deviation) of the duplicates of one action by chance alone, or None where this is not worked out: with
    crashes, double dispatch or lost requests.

    An action ends at the first attempt that is answered. Each attempt of a call is unknown with p; after four of them
    the model calls again in some of the cases. Without a key all attempts but the first are duplicates (p + p^2 + p^3 and
    next to nothing), with a key per call all calls but the first: at least, as a retry that finds the first attempt still under
    way is told so, and leaves its call unknown more often than p says."""
    if setting.crash or setting.dispatch or setting.request_loss:
        return None
    if mode in ('effectd', 'intent'):
        return 0.0, 0.0
    p, n_attempts = p_unknown(setting), 1 + setting.retries
    outcomes = {}
    reached = 1.0
    for call in range(setting.calls_max):
        for attempt in range(n_attempts):
            n = call if mode == 'call' else call * n_attempts + attempt
            outcomes[n] = outcomes.get(n, 0) + reached * p ** attempt * (1 - p)
        unknown = reached * p ** n_attempts
        again = unknown * (setting.replan if call + 1 < setting.calls_max else 0)
        n = call if mode == 'call' else (call + 1) * n_attempts - 1
        outcomes[n] = outcomes.get(n, 0) + unknown - again
        reached = again
    mean = sum(n * share for n, share in outcomes.items())
    return mean, math.sqrt(sum(n * n * share for n, share in outcomes.items()) - mean * mean)


def memory_table(repeats, setting, clock, bytes_a_key):
    """[(minutes, share of the resumed payments that came later than that or None, share by chance, MB)]: how long
    the provider, or a ledger, would have to remember. What came again stands in the provider's own list."""
    ages = [clock.resume_factor * line['age_s'] / 60 for line in repeats if line['resumed']]
    first, last = (ms / 60000 for ms in setting.resume_ms)
    rows = []
    for minutes in (5, 10, 15, 20, 30, 60, 24 * 60):
        missed = sum(age > minutes for age in ages) / len(ages) if len(ages) >= 20 else None
        by_chance = min(1, max(0, (last - minutes) / (last - first)))
        rows.append((minutes, missed, by_chance, setting.calls_s * minutes * 60 * bytes_a_key / 1e6))
    return rows, len(ages)
