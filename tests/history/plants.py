"""The planted faults: what was done, at which instants of the history, and which report must find it.

A plant has steps (milliseconds before the history's end, as negatives, and a function of plant.sql) and what is found of it:
{report, code, namespace, tool, key}. Without finds it is what no report may speak of, though it resembles a fault.
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
    return [plant for make in (doubles, memory, stuck, escalated, keys, incidents, budgets, habits_of_tools) for plant in make(source)]


def some_time(source, first=20 * D, last=2 * D):
    return -source.randrange(last, first)


def doubles(source):
    """Two keys, one business."""
    for n in range(3):
        at, key = some_time(source), f'planted:double:{n}'
        gap = source.randrange(2 * M, 50 * M)
        yield Plant(key, 'send_email', source).done(at, key + ':a', business='b').done(at + gap, key + ':b', business='b')\
            .find('duplicates', 'business_duplicate', key + ':b')
    at, key = some_time(source), 'planted:double:forgotten'
    yield Plant(key, 'send_sms', source).done(at, key + ':a', business='b').retain(at + D + 2 * M)\
        .done(at + D + 3 * M, key + ':b', business='b').find('duplicates', 'business_duplicate', key + ':b')
    at, key = some_time(source), 'planted:meant'
    yield Plant(key, 'send_email', source).done(at, key + ':a', business='b')\
        .done(at + 5 * M, key + ':b', business='b', again='the customer asked for it')
    at, key = some_time(source), 'planted:refused-twin'
    yield Plant(key, 'send_email', source).done(at, key + ':a', business='b', outcome='failed').done(at + 5 * M, key + ':b', business='b')
    at, key = some_time(source), 'planted:released-twin'
    yield Plant(key, 'send_email', source).begin(at, key + ':a', business='b').release(at + S, key + ':a')\
        .done(at + 5 * M, key + ':b', business='b')
    at, key = some_time(source), 'planted:late-twin'
    yield Plant(key, 'send_email', source).done(at, key + ':a', business='b').done(at + 3 * H, key + ':b', business='b')


def memory(source):
    """The same key again, after it was forgotten."""
    for n in range(3):
        at, key = some_time(source), f'planted:rerun:{n}'
        gap = source.randrange(D + M, 2 * D)
        plant = Plant(key, 'send_sms', source).done(at, key)
        if n:
            plant.retain(at + D + S)
        yield plant.done(at + gap, key, token='second')
    key = 'planted:asked-in-time'
    at = some_time(source)
    yield Plant(key, 'create_ticket', source).done(at, key).begin(at + H, key, token='second')


def stuck(source):
    """Open, and nobody comes."""
    key = 'planted:stuck:unknown'
    plant = Plant(key, 'charge_card', source).begin(-26 * H, key).unknown(-26 * H + 5 * S, key)
    for at in range(-25 * H, -30 * M, H):
        plant.sweep(at)
    yield plant.sweep(-2 * M).find('stuck', 'unknown_long', key)
    key = 'planted:stuck:unswept'
    yield Plant(key, 'refund_order', source).begin(-110 * S, key).find('stuck', 'lease_over', key)
    key = 'planted:stuck:held'
    yield Plant(key, 'deploy', source).begin(-M, key)


def escalated(source):
    for n in range(2):
        key = f'planted:escalated:{n}'
        at = -source.randrange(5 * H, 40 * H)
        yield Plant(key, 'send_email', source).begin(at, key).unknown(at + 3 * S, key).sweep(at + 4 * S, 'inconclusive')\
            .find('escalated', 'escalated', key)


def keys(source):
    """Too fine: one run, one business, many keys. Too coarse: one key, other calls."""
    at, name = some_time(source), 'planted:churn'
    plant = Plant(name, 'send_email', source)
    for n in range(4):
        plant.done(at + n * M, f'{name}:{n}', run='planted-run', business='b', outcome='succeeded' if n == 3 else 'failed')
    yield plant.find('churn', 'key_too_fine')
    for n in range(40):
        at, key = some_time(source), f'planted:coarse:{n}'
        plant = Plant(key, 'post_message', source).done(at, key, kept='{"/channel":"c","/day":1,"/text":"a"}')
        plant.begin(at + M, key, token='second', args='other', kept='{"/channel":"c","/day":1,"/text":"b"}')
        if n == 0:
            plant.find('mismatches', 'key_too_coarse').find('summary', 'mismatch_high')
        yield plant


def incidents(source):
    at, key = some_time(source), 'planted:conflict'
    yield Plant(key, 'refund_order', source).done(at, key).complete(at + M, key, outcome='failed', result='"no"')\
        .find('incidents', 'incident', key)


def budgets(source):
    at, key = some_time(source), 'planted:turn'
    plant = Plant(key, 'charge_card', source)
    for n in range(6):
        plant.begin(at + n * S, f'{key}:{n}', run='planted-turn', turn='1')
        if n < 3:
            plant.complete(at + n * S + 300, f'{key}:{n}')
    yield plant.find('budgets', 'turn_spent')


def habits_of_tools(source):
    """What habits.py has planted in the background."""
    yield Plant('lease', 'settle_batch', source).find('timeouts', 'lease_below_p99')
    yield Plant('client', 'deploy', source).find('timeouts', 'client_timeout_below_p99')
    yield Plant('memory', 'send_sms', source).find('retention', 'memory_short')
    yield Plant('result', 'newsletter', source).find('retention', 'result_short')
    yield Plant('long', 'scale_group', source).find('retention', 'memory_long')
