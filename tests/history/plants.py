"""The planted faults: what was done, at which instants of the history, and which report must find it.

A plant has steps (milliseconds before the history's end, as negatives, and a function of plant.sql) and what is found of it:
{report, code, namespace, tool, key}, within_ms where the report must be asked for that, last_ms where it is about so much of the end.
Without finds it is what no report may speak of, though it resembles a fault.
"""
import random

import habits
from habits import D, H, M, S


def quoted(value):
    return 'null' if value is None else "'" + str(value).replace("'", "''") + "'"


class Plant:
    """One fault, or what looks like one."""

    def __init__(self, name, tool, source):
        self.name, self.source, self.steps, self.finds = name, source, [], []
        self.tool = habits.by_name(tool)
        self.n = habits.number(tool)

    def find(self, report, code, key=None, **more):
        self.finds.append({'report': report, 'code': code, 'namespace': self.tool['namespace'], 'tool': self.tool['name'],
                           **({'key': key} if key else {}), **more})
        return self

    def _step(self, at_ms, function, *args):
        self.steps.append((at_ms, f'{function}({", ".join([str(self.n), *map(quoted, args)])})'))
        return self

    def begin(self, at_ms, key, token='first', args=None, run=None, turn=None, business=None, kept=None, again=None, owner='agent-7'):
        if business is not None:
            business = f'{self.name} {business}'
        return self._step(at_ms, 'begin', key, f'{key} {token}', args or key, run, turn, business, kept, again, owner)

    def complete(self, at_ms, key, token='first', outcome='succeeded', result='{"status":"ok"}'):
        return self._step(at_ms, 'complete', key, f'{key} {token}', outcome, result)

    def release(self, at_ms, key, token='first'):
        return self._step(at_ms, 'release', key, f'{key} {token}', 'no connection')

    def unknown(self, at_ms, key, token='first'):
        return self._step(at_ms, 'unknown', key, f'{key} {token}', 'no answer in time')

    def extend(self, at_ms, key, lease_ms, token='first'):
        return self._step(at_ms, 'extend', key, f'{key} {token}', lease_ms)

    def sweep(self, at_ms, verdict='inconclusive', notify=True):
        self.steps.append((at_ms, f'sweep({quoted(verdict)}, {str(notify).lower()})'))
        return self

    def retain(self, at_ms):
        self.steps.append((at_ms, 'retain()'))
        return self

    def done(self, at_ms, key, **how):
        """Begun, and half a second later completed."""
        outcome = how.pop('outcome', 'succeeded')
        return self.begin(at_ms, key, **how).complete(at_ms + 500, key, token=how.get('token', 'first'), outcome=outcome)


def all_of(seed):
    source = random.Random(seed)
    return [plant for make in (doubles, memory, stuck, escalated, keys, incidents, budgets, habits_of_tools)
            for plant in make(source)]


def some_time(source, first=20 * D, last=2 * D):
    return -source.randrange(last, first)


def doubles(source):
    """Two keys, one business."""
    for n in range(3):
        at, key = some_time(source), f'planted:double:{n}'
        gap = source.randrange(2 * M, 50 * M)
        yield Plant(key, 'send_email', source).done(at, key + ':a', business='b').done(at + gap, key + ':b', business='b')\
            .find('duplicates', 'duplicate', key + ':b')
    at, key = some_time(source), 'planted:double:open'
    yield Plant(key, 'send_email', source).begin(at, key + ':a', business='b').done(at + 10 * S, key + ':b', business='b')\
        .complete(at + 20 * S, key + ':a').find('duplicates', 'duplicate', key + ':b')
    at, key = some_time(source), 'planted:double:forgotten'
    yield Plant(key, 'send_sms', source).done(at, key + ':a', business='b').retain(at + D + 2 * M)\
        .done(at + D + 3 * M, key + ':b', business='b').find('duplicates', 'business_expired', key + ':b')
    at, key = some_time(source), 'planted:meant'
    yield Plant(key, 'send_email', source).done(at, key + ':a', business='b')\
        .done(at + 5 * M, key + ':b', business='b', again='the customer asked for it')
    at, key = some_time(source), 'planted:refused-twin'
    yield Plant(key, 'send_email', source).done(at, key + ':a', business='b', outcome='failed').done(at + 5 * M, key + ':b', business='b')
    at, key = some_time(source), 'planted:released-twin'
    yield Plant(key, 'send_email', source).begin(at, key + ':a', business='b').release(at + S, key + ':a')\
        .done(at + 5 * M, key + ':b', business='b')
    at, key = some_time(source), 'planted:late-twin'
    yield Plant(key, 'send_email', source).done(at, key + ':a', business='b').done(at + 3 * H, key + ':b', business='b')\
        .find('duplicates', 'duplicate', key + ':b', within_ms=4 * H)


def memory(source):
    """The same key again, after it was forgotten: its row deleted, or only past its time."""
    for n in range(3):
        at, key = some_time(source, last=3 * D), f'planted:rerun:{n}'
        gap = source.randrange(D + M, 2 * D)
        plant = Plant(key, 'send_sms', source).done(at, key)
        if n:
            plant.retain(at + D + S)
        yield plant.done(at + gap, key, token='second').find('duplicates', 'key_expired', key)
    at, key = some_time(source), 'planted:asked-in-time'
    yield Plant(key, 'create_ticket', source).done(at, key).begin(at + H, key, token='second')
    at, key = some_time(source, last=10 * D), 'planted:refused-then-run'
    yield Plant(key, 'send_sms', source).done(at, key, outcome='failed').retain(at + D + S).done(at + 2 * D, key, token='second')


def stuck(source):
    """Open, and nobody comes. Nobody sweeps in the last hour."""
    key = 'planted:stuck:unknown'
    plant = Plant(key, 'charge_card', source).begin(-26 * H, key).unknown(-26 * H + 5 * S, key)
    for at in (-25 * H, -24 * H, -23 * H):
        plant.sweep(at)
    yield plant.find('stuck', 'unknown_old', key).find('stuck', 'probe_never_answered', key)
    key = 'planted:stuck:claim'
    yield Plant(key, 'refund_order', source).begin(-4 * M, key).find('stuck', 'not_swept', key)
    key = 'planted:stuck:deadline'
    yield Plant(key, 'refund_order', source).begin(-50 * M, key).unknown(-50 * M + S, key).find('stuck', 'not_swept', key)\
        .find('stuck', 'unknown_old', key)
    key = 'planted:stuck:held'
    plant = Plant(key, 'deploy', source).begin(-6 * H, key)
    for at in range(-6 * H + 10 * M, 0, 50 * M):
        plant.extend(at, key, H)
    yield plant.find('stuck', 'held_long', key)
    key = 'planted:holder'
    yield Plant(key, 'deploy', source).begin(-M, key).extend(-30 * S, key, H)


def escalated(source):
    for n in range(2):
        key = f'planted:escalated:{n}'
        at = -source.randrange(5 * H, 40 * H)
        yield Plant(key, 'send_email', source).begin(at, key).unknown(at + 3 * S, key).sweep(at + 4 * S, 'inconclusive')\
            .find('escalated', 'escalated', key)
    at, key = -source.randrange(5 * H, 40 * H), 'planted:proven'
    yield Plant(key, 'refund_order', source).begin(at, key).release(at + S, key).begin(at + 5 * S, key, token='second')\
        .complete(at + 6 * S, key).find('escalated', 'escalated', key)


def keys(source):
    """Too fine: one run, one business, many keys. (Too coarse: post_message, in habits.py.)"""
    at, name = some_time(source), 'planted:churn'
    plant = Plant(name, 'send_email', source)
    for n in range(4):
        plant.done(at + n * M, f'{name}:{n}', run='planted-run', business='b', outcome='succeeded' if n == 3 else 'failed')
    yield plant.find('churn', 'key_churn', f'{name}:3')
    at, name = some_time(source), 'planted:two-keys'
    plant = Plant(name, 'send_email', source)
    for n in range(2):
        plant.done(at + n * M, f'{name}:{n}', run='planted-run', business='b', outcome='succeeded' if n == 1 else 'failed')
    yield plant


def incidents(source):
    at, key = some_time(source), 'planted:conflict'
    yield Plant(key, 'refund_order', source).done(at, key).complete(at + M, key, outcome='failed', result='"no"')\
        .find('incidents', 'incident', key)
    at, key = some_time(source), 'planted:orphan'
    yield Plant(key, 'refund_order', source).complete(at, key).find('incidents', 'incident', key, tool=None)


def budgets(source):
    at, key = some_time(source), 'planted:turn'
    plant = Plant(key, 'charge_card', source)
    for n in range(6):
        plant.begin(at + n * S, f'{key}:{n}', run='planted-turn', turn='1')
        if n < 3:
            plant.complete(at + n * S + 300, f'{key}:{n}')
    yield plant.find('budgets', 'budget_spent')
    at, key = some_time(source), 'planted:attempts'
    plant = Plant(key, 'refund_order', source)
    for n in range(4):
        plant.begin(at + n * S, key, token=str(n))
        if n < 3:
            plant.release(at + n * S + 300, key, token=str(n))
    yield plant.find('budgets', 'attempts_spent', key)


def habits_of_tools(source):
    """What habits.py has planted in the background."""
    yield Plant('lease', 'settle_batch', source).find('timeouts', 'lease_below_p99')
    yield Plant('client', 'deploy', source).find('timeouts', 'client_timeout_below_p99')
    yield Plant('memory', 'send_sms', source).find('retention', 'memory_short')
    yield Plant('result', 'newsletter', source).find('retention', 'result_short')
    yield Plant('long', 'scale_group', source).find('retention', 'memory_long')
    yield Plant('mismatch', 'post_message', source).find('mismatches', 'mismatch_field').find('summary', 'mismatch_high')
    yield Plant('late', 'create_ticket', source).find('summary', 'dedup_rose', last_ms=3 * D)
