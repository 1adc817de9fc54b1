#!/usr/bin/python3
"""What params may hold: every type at its bounds and one step beyond, every member of every method, unknown members, null, arrays.
A refused request claims nothing and names the member and the rule."""
import datetime
import json

from harness import *
from talk import *

ID = '11111111-1111-4111-8111-111111111111'
TOOLS = [{'name': 't', 'lease': '30s'}, {'name': 'look', 'class': 'read'}]
# method: (params that are fine, answered by a result or by not_found; every member it knows)
METHODS = {
    'begin': ({'tool': 't', 'key': 'k'}, 'tool key args namespace run step turn call owner request lease_ms wait_ms deadline_ms bind again'),
    'key': ({'tool': 't', 'key': 'k'}, None),
    'execute': ({'tool': 'x', 'key': 'k'}, None),
    'complete': ({'effect': ID, 'token': ID}, 'effect token outcome result omitted'),
    'release': ({'effect': ID, 'token': ID}, 'effect token reason'),
    'unknown': ({'effect': ID, 'token': ID}, 'effect token reason'),
    'extend': ({'effect': ID, 'token': ID}, 'effect token lease_ms'),
    'get': ({'effect': ID}, 'effect tool key args namespace run step turn events'),
    'list': ({}, 'state tool namespace key_prefix older_than_ms limit cursor incidents'),
    'resolve': ({'effect': ID, 'verdict': 'landed', 'reason': 'r', 'attempt': 1, 'state': 'unknown'},
                'effect verdict reason attempt state result evidence'),
    'probe': ({'effect': ID}, 'effect tool apply'),
    'report': ({'name': 'summary'}, 'name namespace tool from to limit within_ms keys_min'),
    'scan': ({'tool': 't'}, 'tool namespace from to limit cursor kept'),
    'incident': ({'effect': ID, 'reason': 'r'}, 'effect tool namespace reference reason evidence'),
    'tools': ({}, ''),
    'info': ({}, 'begins'),
}
REQUIRED = {'begin': 'tool', 'key': 'tool', 'execute': 'tool', 'complete': 'effect token', 'release': 'effect token', 'unknown': 'effect token',
            'extend': 'effect token', 'resolve': 'effect verdict reason attempt state', 'get': 'effect', 'probe': 'effect',
            'report': 'name', 'scan': 'tool', 'incident': 'effect reason'}
MAX = 10 ** 30
LAST_YEAR = datetime.date.today().year - 1
# type of a member: (what is taken, what is refused)
TEXT_255 = (['', 'a', 'a' * 255, 'é' * 127], ['a' * 256, 'é' * 128, 1, True, [], {}, None, 'a\0b'])
# an integer is what its canonical spelling is: 10 ** 255 is short
LABEL = (['a', 'a' * 255, 0, -7, MAX, 10 ** 255], ['', 'a' * 256, int('7' * 256), 1.5, True, [], {}, None, '\0'])
IDS = ([ID, ID.upper()], ['', 'x', ID[:-1], ID + '0', ID.replace('-', ''), '{' + ID + '}', ID.replace('1', 'g'), 1, None, [], {}])
REASON = (['', 'r', 'r' * 1000, 'é' * 500, 'two\nlines'], ['r' * 1001, 'é' * 501, 1, [], {}, None, 'a\0'])
EVIDENCE = (['r', 'r' * 1000], ['', 'r' * 1001, 1, None, '\0'])
WORDS = (['succeeded', 'failed', 'error'], ['', 'Succeeded', 'done', 1, None, 'failed\0'])


def integers(low, high, null=False):
    wrong = [low - 1, high + 1, low + 0.5, str(low), True, [], {}, 1e300, -MAX, MAX, -1 if low > -1 else low - 1]
    return [low, high] + ([None] if null else []), wrong + ([] if null else [None])


TYPES = {
    ('begin', 'tool'): (['a', 'a' * 128, 'é' * 64, '"\\/ .'], ['', 'a' * 129, 'a\nb', 'a\0', '\x7f', '\u0085', 1, None, [], {}]),
    ('begin', 'key'): (['a', 'k' * 255, 'é' * 127, ' ', '%"\\'], ['', 'k' * 256, 'é' * 128, 'a\nb', '\0', '\x1f', '\x7f', '\u009f', 1, True, None, [], {}]),
    ('begin', 'args'): ([{}, {'a': None}], [[], '', 1, None, True]),
    ('begin', 'namespace'): (['default'], ['', 'A', 'a b', 'a' * 64, 'é', 1, None, [], {}, 'default\0']),
    ('begin', 'run'): LABEL, ('begin', 'step'): LABEL, ('begin', 'turn'): LABEL,
    ('begin', 'owner'): TEXT_255, ('begin', 'call'): TEXT_255,
    ('begin', 'request'): IDS,
    # case 14: no claim that could be reclaimed at its birth; case 133: none that overflows
    ('begin', 'lease_ms'): (integers(1000, 3600000, null=True)[0],
                            integers(1000, 3600000, null=True)[1] + [-1, 0, 0.5, '30', 1e300, 2 ** 31, 31536000000, 2 ** 53, 2 ** 63, 2 ** 64]),
    ('begin', 'wait_ms'): integers(0, 60000), ('begin', 'deadline_ms'): ([120000, 60000], integers(1, 120000)[1]),
    ('begin', 'bind'): ([True, False], [0, 1, 'true', None, [], {}]),
    ('begin', 'again'): (['r', 'r' * 1000], ['', 'r' * 1001, 1, None, True]),
    ('complete', 'effect'): IDS, ('complete', 'token'): IDS, ('complete', 'outcome'): WORDS,
    ('complete', 'result'): ([None, 0, [], {}, 'x', False], []),
    ('complete', 'omitted'): ([{'bytes': 0, 'sha256': 'a' * 64}, {'bytes': 2 ** 63 - 1, 'sha256': 'F' * 64}],
                              [{}, {'bytes': 1}, {'sha256': 'a' * 64}, {'bytes': -1, 'sha256': 'a' * 64}, {'bytes': 1.5, 'sha256': 'a' * 64},
                               {'bytes': 2 ** 63, 'sha256': 'a' * 64}, {'bytes': 1, 'sha256': 'a' * 63}, {'bytes': 1, 'sha256': 'g' * 64},
                               {'bytes': 1, 'sha256': 'a' * 64, 'x': 1}, [], 1, None]),
    ('release', 'reason'): REASON, ('unknown', 'reason'): REASON,
    ('extend', 'lease_ms'): integers(1000, 3600000, null=True),
    ('get', 'events'): integers(0, 1000),
    ('list', 'limit'): integers(1, 1000), ('list', 'state'): (['pending', 'unknown', 'escalated', 'released', 'done'], ['', 'open', 1, None]),
    ('list', 'tool'): (['a', 'nobody'], ['', 'a' * 129, 'a\n', 1, None]), ('list', 'older_than_ms'): integers(0, 3650 * 86400000),
    ('list', 'key_prefix'): (['a', 'k' * 255], ['', 'k' * 256, 1, None, '\0']), ('list', 'incidents'): ([True, False], [0, 1, 'true', None, [], {}]),
    ('resolve', 'verdict'): (['landed', 'failed', 'absent'], ['', 'inconclusive', 'done', 1, None]),
    ('resolve', 'state'): (['pending', 'unknown', 'escalated', 'released', 'done'], ['', 'gone', None, 1]),
    ('resolve', 'attempt'): integers(1, 2 ** 31 - 1), ('resolve', 'reason'): EVIDENCE, ('resolve', 'evidence'): EVIDENCE,
    ('resolve', 'result'): ([None, 1, [1], {}], []),
    ('report', 'name'): (['summary', 'timeouts', 'retention', 'capacity', 'daily'], ['', 'Summary', 'failed', 'summary\0', 1, None]), ('report', 'limit'): integers(1, 1000),
    ('report', 'from'): ([f'{LAST_YEAR}-01-31T23:59:59Z', f'{LAST_YEAR}-02-28T00:00:00.1Z', f'{LAST_YEAR}-12-31T00:00:00.123456789Z'],
                         ['', 'now', '2026-02-29T00:00:00Z', '2026-01-01T24:00:00Z', '2026-01-01T00:00:60Z', '2026-01-01 00:00:00Z', '2026-01-01T00:00:00',
                          '2026-01-01T00:00:00+01:00', '2026-1-1T00:00:00Z', '2026-01-01T00:00:00.Z', '2026-01-01T00:00:00Z\0', ' 2026-01-01T00:00:00Z', 1767225600, None]),
    ('report', 'to'): (['2026-01-31T23:59:59Z', '9999-12-31T23:59:59Z'], ['', 'now', '2026-13-01T00:00:00Z', '2026-00-01T00:00:00Z', '2026-01-00T00:00:00Z', 1, None]),
    ('report', 'within_ms'): ([], integers(1, 3650 * 86400000)[1] + [1000]), ('report', 'keys_min'): ([], integers(2, 1000)[1] + [2]),
    ('report', 'tool'): (['a', 'nobody'], ['', 'a' * 129, 'a\n', 1, None]),
    ('scan', 'limit'): integers(1, 1000), ('scan', 'cursor'): IDS, ('scan', 'kept'): ([True, False], [0, 1, 'true', None, [], {}]),
    ('scan', 'from'): (['2026-01-31T23:59:59Z'], ['', 'now', '2026-01-01', 1, None]), ('scan', 'to'): (['2026-01-31T23:59:59Z'], ['', 'now', 1, None]),
    ('incident', 'effect'): IDS, ('incident', 'reason'): EVIDENCE, ('incident', 'evidence'): EVIDENCE,
    ('probe', 'effect'): IDS, ('probe', 'apply'): ([True, False], [0, 1, 'true', None, [], {}]),
    ('probe', 'tool'): (['a', 'a' * 128], ['', 'a' * 129, 'a\n', 1, None]),
}


def taken(conn, method, params):
    """None if the request was not refused for its params, else the error."""
    answer = conn.recv(conn.send(method, params))
    error = answer.get('error', {})
    if 'error' in answer and error['data']['name'] not in ('not_found', 'not_owner', 'conflict', 'invalid_params'):
        return error
    return error if error.get('code') == -32602 else None


def bounds(conn):
    at = 0
    for (method, member), (good, bad) in TYPES.items():
        faults = []
        for value in good:
            params = {**METHODS[method][0], member: value}
            if method == 'begin' and member not in ('key', 'tool'):
                params.update(tool='t', key=f'bound-{at}')
                at += 1
            error = taken(conn, method, params)
            if error:
                faults.append(f'{str(value)[:50]!r} is refused: {error}')
        for value in bad:
            params = {**METHODS[method][0], member: value}
            if method == 'begin' and member != 'key':
                params['key'] = 'refused'
            error = taken(conn, method, params)
            if not error or error['code'] != -32602 or not error['data'].get('pointer', '').startswith(f'/{member}') or not error['data'].get('why'):
                faults.append(f'{str(value)[:50]!r} is taken, or not told: {error}')
        ok(not faults, f'{method}: {member} is taken within its bounds and refused beyond them', '\n'.join(faults))
    is_(conn.error('get', tool='t', key='refused')['data']['name'], 'not_found', 'none of the refused begins claimed anything')


def members(conn):
    for method, (params, known) in METHODS.items():
        for strange in ('wibble', 'Tool', 'leaseMs', 'lease', 'token ', '', 'tool\0', '__proto__'):
            error = conn.error(method, {**params, strange: 1})
            is_((error['code'], error['data']['name']), (-32602, 'invalid_params'), f'{method}: no member {strange!r}')
        for name in REQUIRED.get(method, '').split():
            error = conn.error(method, {key: value for key, value in params.items() if key != name})
            is_((error['code'], error['data']['pointer']), (-32602, f'/{name}'), f'{method}: {name} is required')
        for bad in ('[]', '[1]', 'null', '1', '"x"', 'true'):
            error = json.loads(exchange(conn, f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{bad}}}'))['error']
            is_((error['code'], error['data']['name']), (-32602, 'invalid_params'), f'{method}: params {bad} are refused')
        for name in (known or '').split():
            if name in ('lease_ms', 'result') or (method, name) not in TYPES:
                continue
            error = conn.error(method, {**params, name: None})
            is_(error['code'], -32602, f'{method}: {name} may not be null')
    is_(conn.error('begin', tool='t', key='k', leasems=5)['data']['why'], "there is no such member, did you mean 'lease_ms'?", 'the nearest is named')
    is_(conn.error('begin', {'tool': 't', 'a~/b': 5})['data']['pointer'], '/a~0~1b', 'pointers are escaped')
    is_(conn.error('complete', effect=ID, token=ID, result=1, omitted={'bytes': 1, 'sha256': 'a' * 64})['data']['pointer'], '/omitted',
        'omitted stands beside no result')
    for beside in ({'tool': 't'}, {'key': 'k'}, {'args': {}}, {'namespace': 'default'}, {'run': 'r'}):
        is_(conn.error('get', effect=ID, **beside)['code'], -32602, f'get: effect stands beside no {list(beside)[0]}')
    for method in ('tools', 'info', 'list'):
        answer = json.loads(exchange(conn, f'{{"jsonrpc":"2.0","id":1,"method":"{method}"}}'))
        ok('result' in answer, f'{method} without params')


def faults_of_text(conn):
    """Where a fault of the text stands says what it is answered with."""
    def told(text):
        answer = json.loads(exchange(conn, text))
        return answer['id'], answer['error']['code'], answer['error']['data'].get('pointer')

    head = b'{"jsonrpc":"2.0","id":1,"method":"begin","params":{"tool":"t","key":"faulty","args":'
    for args, pointer in ((b'{"a":1,"a":2}', '/args/a'), (b'{"a":1,"\\u0061":2}', '/args/a'), (b'{"x":[{"b":1,"b":1}]}', '/args/x/0/b'),
                          (b'{"k":"\\uD800"}', '/args/k'), (b'{"k":"\xff"}', '/args/k'), (b'{"v":1e400}', '/args/v'), (b'{"v":[0,-1e400]}', '/args/v/1')):
        id_, code, got = told(head + args + b'}}')
        is_((id_, code, got), (1, -32602, pointer), f'{args!r} is invalid_params where it stands')
    is_(told(b'{"jsonrpc":"2.0","id":1,"method":"begin","params":{"tool":"t","tool":"t","key":"k"}}')[:2], (1, -32602), 'a member of params twice')
    is_(told(b'{"jsonrpc":"2.0","id":1,"method":"begin","x":1e400,"params":{"tool":"t"}}')[1], -32600, 'an overflow in the envelope')
    is_(told(b'{"jsonrpc":"2.0","id":1,"x":"\\udc00","method":"begin"}')[1], -32600, 'a lone surrogate in the envelope')
    is_(told(b'{"jsonrpc":"2.0","id":1,"x":"\xc0\x80","method":"begin"}')[1], -32600, 'invalid UTF-8 in the envelope')
    is_(told(b'{"jsonrpc":"2.0","id":1,"method":"begin","params":{"tool":"t","key":"k","result":[1,1}}')[1], -32700, 'grammar stays grammar')
    error = json.loads(exchange(conn, b'{"jsonrpc":"2.0","id":1,"method":"begin","params":{"tool":"t","key":"k","result":1}}'))['error']
    is_(error['data']['pointer'], '/result', 'begin knows no result')


def leases(conn):
    # case 8: none given or null is the default, never over
    for at, lease in enumerate(({}, {'lease_ms': None})):
        run = claim(conn, f'lease{at}', **lease)
        is_(run['lease_ms'], 30000, f'{lease or "no lease"}: the policy\'s')
        is_(conn.call('begin', tool='t', key=f'lease{at}')['decision'], 'busy', 'and busy at once')
    run = claim(conn, 'lease-named', lease_ms=3600000)
    ok(3599000 < ms_of(run['lease_until']) - (ms_of(run['protected_until']) - 30 * 86400000) <= 3600000, 'the longest lease is as long as said')
    is_((run['lease_ms'], ms_of(conn.call('extend', **own_ids(run), lease_ms=None)['lease_until']) == ms_of(run['lease_until'])), (3600000, True),
        'extend by null is by the policy\'s, and never shorter')
    is_(json.loads(raw_begin(conn, '{"tool":"t","key":"spelled","lease_ms":6e4}'))['error']['data']['pointer'], '/lease_ms',
        'an integer is spelled as one')
    for a, b in ((7, '7'), (-0, '0'), (10 ** 20, '100000000000000000000')):
        first = conn.call('key', tool='none', run=a, step='s', args={})
        is_(first, conn.call('key', tool='none', run=b, step='s', args={}), f'run {a} and {b!r} are the same')


with Cluster() as cluster, Daemon(cluster, tools=TOOLS) as daemon, daemon.ready().connect() as conn:
    bounds(conn)
    members(conn)
    faults_of_text(conn)
    leases(conn)
    is_(conn.error('begin', tool='t')['code'], -32602, 'no key, and nothing to derive it from')
    ok(daemon.running(), 'the daemon lives')
done()
