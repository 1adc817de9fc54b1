#!/usr/bin/python3
"""Named cases of what is sent, and their kinds: payloads that are equal or not (by a canonical form of the test's own), faults of the
text wherever they stand, frames at the edge, lines cut anywhere. Sections K5 and K17, and 32, 38, 117 and 121."""
import decimal
import hashlib
import json
import random

from harness import *
from talk import *
from world import name_of, tell

TOOLS = [
    {'name': 't', 'escalate_after': '1h', 'max_attempts': 5, 'lease': '5m'}, {'name': 'order', 'key': 'order-{/order_id}'},
    {'name': 'deep', 'key': '{/a/b}:{/list/1}'}, {'name': 'turn', 'key': '{run}/{turn}/{step}/{tool}/{/a~1b}/{/c~0d}/{/}'}, {'name': 'num', 'key': 'k:{/n}'},
    {'name': 'ignores', 'key': 'k:{/order}', 'ignore': ['/idempotency_key', '/meta/trace', '/items/0/memo'], 'secret': ['/card/number']},
]
N_DOCUMENTS = rounds_of(2000, 20000)


# ---- RFC 8785 as the page has it, by other hands than ours ----------------------------------------------------------

def number(literal):
    """ECMAScript's spelling of the double, or the exact digits of an integer that no double is."""
    value = float(literal)
    if value == 0:
        return '0'
    _, digits, exponent = decimal.Decimal(repr(abs(value))).as_tuple()
    text = ''.join(map(str, digits)).rstrip('0')
    n, k = len(digits) + exponent, len(text)
    if k <= n <= 21:
        text = text + '0' * (n - k)
    elif 0 < n <= 21:
        text = text[:n] + '.' + text[n:]
    elif -6 < n <= 0:
        text = '0.' + '0' * -n + text
    else:
        text = text[0] + ('.' + text[1:] if k > 1 else '') + f'e{n - 1:+d}'
    text = '-' * (value < 0) + text
    if not set(literal) & set('.eE') and decimal.Decimal(text) != decimal.Decimal(literal):
        return literal
    return text


def string(text):
    short = {'\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r', '"': '\\"', '\\': '\\\\'}
    return '"' + ''.join(short.get(c) or (f'\\u{ord(c):04x}' if c < ' ' else c) for c in text) + '"'


def fingerprint(canonical):
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


def spelled(text):
    """The same string, with escapes where it pleases."""
    def one(c):
        if c < ' ' or c in '"\\' or random.random() < 0.2:
            units = c.encode('utf-16-be')
            return ''.join('\\u' + random.choice((str.lower, str.upper))(units[i:i + 2].hex()) for i in range(0, len(units), 2))
        return c
    return '"' + ''.join(map(one, text)) + '"'


def any_string():
    return ''.join(random.choice(['a', 'Z', '0', ' ', '/', '"', '\\', '\0', '\n', '\x1f', '\x7f', '\x80', 'é', '€', '\u2028', '\ud7ff', '\ue000', '\ufb33',
                                  '\uffff', '\U00010000', '\U0001f600', '\U0010ffff']) for _ in range(random.randrange(6)))


def any_number():
    kind = random.randrange(6)
    if kind == 0:
        return str(random.choice((1, -1)) * random.randrange(10 ** random.randrange(1, 25)))
    if kind == 1:
        return repr(random.choice((1, -1)) * random.random() * 10.0 ** random.randrange(-300, 300))
    if kind == 2:
        return str(random.choice((2 ** 53, 2 ** 63, 10 ** 21, 10 ** 22, 1)) + random.randrange(-3, 4))
    if kind == 3:
        return f'{random.randrange(10)}.{random.randrange(10 ** 6)}000{random.choice("eE")}{random.choice(("", "+", "-"))}{random.randrange(40):03d}'
    if kind == 4:
        return random.choice(['-0', '0.0', '-0.0e9', '5e-324', '2.4703282292062328e-324', '1.7976931348623157e308', '1e-400', '9007199254740993.0', '1e21'])
    return '-' * random.randrange(2) + '0.' + '0' * random.randrange(9) + str(random.randrange(1, 10 ** 17))


def document(depth=0):
    """(a text, its canonical form)"""
    kind = random.randrange(8 if depth < 5 else 6)
    blank = random.choice(['', '', ' ', '\t', '\r', '  '])
    if depth and kind == 0:
        return (random.choice(['null', 'true', 'false']),) * 2
    if depth and kind < 3:
        text = any_number()
        return text, number(text)
    if depth and kind < 6:
        text = any_string()
        return spelled(text), string(text)
    items = [document(depth + 1) for _ in range(random.randrange(6))]
    if depth and kind == 6:
        return '[' + blank + (blank + ',' + blank).join(t for t, _ in items) + blank + ']', '[' + ','.join(c for _, c in items) + ']'
    names = {}
    for item in items:
        names[any_string()] = item
    text = ','.join(f'{blank}{spelled(name)}{blank}:{blank}{item[0]}{blank}' for name, item in names.items())
    order = sorted(names, key=lambda name: name.encode('utf-16-be'))
    return '{' + blank + text + '}', '{' + ','.join(string(name) + ':' + names[name][1] for name in order) + '}'


def prints(conn, texts, tool='t'):
    """The fingerprints of args."""
    told = []
    for at in range(0, len(texts), 100):
        some = texts[at:at + 100]
        conn.send_raw(''.join(f'{{"jsonrpc":"2.0","id":{i},"method":"key","params":{{"tool":"{tool}","key":"k","args":{text}}}}}\n'
                              for i, text in enumerate(some)).encode())
        answers = [conn.recv(i) for i in range(len(some))]
        told += [a['result']['fingerprint'] if 'result' in a else a['error']['data'] for a in answers]
    return told


def canonical(conn):
    """cases 41, 42, 47 to 49: by a second implementation, as a client in any language would make it."""
    named = {
        'case 41': [('{"amount":9007199254740992}', '{"amount":9007199254740992}'), ('{"amount":9007199254740993}', '{"amount":9007199254740993}'),
                    ('{"amount":-9007199254740993}', '{"amount":-9007199254740993}'), ('{"amount":9007199254740993.0}', '{"amount":9007199254740992}'),
                    ('{"amount":9.007199254740993e15}', '{"amount":9007199254740992}'), ('{"a":18446744073709551617}', '{"a":18446744073709551617}'),
                    ('{"a":10000000000000000000000}', '{"a":1e+22}'), ('{"a":10000000000000000000001}', '{"a":10000000000000000000001}')],
        'case 42': [('{"\ufb33":1,"\U0001f600":2}', '{"\U0001f600":2,"\ufb33":1}'), ('{"\\ufb33":1,"\\ud83d\\ude00":2}', '{"\U0001f600":2,"\ufb33":1}'),
                    ('{"\\r":1,"1":2,"\u0080":3,"ö":4,"€":5,"":6}', '{"":6,"\\r":1,"1":2,"\u0080":3,"ö":4,"€":5}')],
        'case 47': [('{"v":1e-400}', '{"v":0}'), ('{"v":-1e-400}', '{"v":0}'), ('{"v":null}', '{"v":null}'), ('{"v":1e308}', '{"v":1e+308}')],
        'case 48': [(f'{{"q":{q}}}', '{"q":1}') for q in ('1.0', '1', '1e0', '10e-1', '0.1e1', '1.000', '100E-2', '0.00000000000000000000001e23')] +
                   [(f'{{"q":{q}}}', '{"q":0}') for q in ('-0', '0', '0.0', '-0.0', '0e99', '-0E-99', '0.000e5')],
        'case 49': [(f'{{"n":{a}}}', f'{{"n":{b}}}') for a, b in (
            ('333333333.33333329', '333333333.3333333'), ('4.50', '4.5'), ('2e-3', '0.002'), ('1E30', '1e+30'), ('1e21', '1e+21'),
            ('0.000000000000000000000000001', '1e-27'), ('999999999999999900000', '999999999999999900000'), ('1e-7', '1e-7'), ('5e-324', '5e-324'),
            ('1e-6', '0.000001'), ('1e20', '100000000000000000000'), ('2.2250738585072014e-308', '2.2250738585072014e-308'), ('1e23', '1e+23'))],
    }
    for case, pairs in named.items():
        is_(prints(conn, [text for text, _ in pairs]), [fingerprint(form) for _, form in pairs], f'{case}: {len(pairs)} payloads have the fingerprints of their canonical forms')
    documents = [document() for _ in range(N_DOCUMENTS)]
    got = prints(conn, [text for text, _ in documents])
    faults = [(doc, told) for doc, told in zip(documents, got) if told != fingerprint(doc[1])]
    is_(faults[:3], [], f'cases 41, 42, 48, 49: {N_DOCUMENTS} payloads of any kind, too')
    # what no policy looks at, and what is secret
    left = '{"card":{"name":"n"},"items":[{"a":1},{"memo":"kept"}],"meta":{},"order":7}'
    texts = ['{"order":7,"items":[{"a":1,"memo":%s},{"memo":"kept"}],"meta":{"trace":%s},"card":{"name":"n","number":%s},"idempotency_key":%s}' % (
        a, b, c, d) for a, b, c, d in (('1', '2', '3', '4'), ('null', '{"x":[1]}', '"4111"', '[]'), ('1.0', '9007199254740993', 'true', '""'))]
    is_(set(prints(conn, texts, 'ignores')), {fingerprint(left)}, 'cases 35 and 38: ignored and secret members are no part of it, wherever they stand')
    # to the row
    for case, pairs in (('case 41', [('9007199254740992', '9007199254740993'), ('-9007199254740993', '-9007199254740992'), ('9007199254740993', '9007199254740993.0')]),
                        ('case 48', [('1', '1.0'), ('0', '-0'), ('10e-1', '1')])):
        for at, (a, b) in enumerate(pairs):
            told = [json.loads(raw_begin(conn, f'{{"tool":"t","key":"{case} {at}","args":{{"v":{v}}}}}'))['result'] for v in (a, b)]
            is_([t['decision'] for t in told], ['run', 'mismatch' if case == 'case 41' else 'busy'], f'{case}: {a}, then {b}')
    keys = [json.loads(exchange(conn, f'{{"jsonrpc":"2.0","id":1,"method":"key","params":{{"tool":"num","args":{{"n":{n}}}}}}}'))['result']['key']
            for n in ('9007199254740993', '"9007199254740993"', '9007199254740992', '1.0', '"1"', '1', '-0', '1E21', 'true', '"true"')]
    is_(keys, ['k:9007199254740993', 'k:9007199254740993', 'k:9007199254740992', 'k:1', 'k:1', 'k:1', 'k:0', 'k:1e%2B21', 'k:true', 'k:true'],
        'case 41: nor do keys collapse, and a type makes no other key')


FAULTS = {
    'case 44': [rb'{"k":"\uD800"}', rb'{"\uDC00":1}', rb'{"k":"\uDC00\uD800"}', rb'{"k":"\uD800\uD800"}', rb'{"k":"\uD800\n"}', rb'{"k":"\uD800x\uDC00"}',
                rb'{"k":["x",{"y":"\uDBFF"}]}', rb'{"k":"\udfff"}', rb'{"\ud83d\ude00\ud83d":1}'],
    'case 44, not UTF-8': [b'{"k":"\xff"}', b'{"k":"\xc0\x80"}', b'{"k":"\xed\xa0\x80"}', b'{"k":"\xf4\x90\x80\x80"}', b'{"\x80":1}', b'{"k":"\xe2\x82"}'],
    'case 46': [b'{"amount":1,"amount":2}', rb'{"a":1,"\u0061":2}', b'{"x":{"a":1,"a":1}}', b'{"x":[[{"a":1,"b":2,"a":3}]]}', rb'{"\ud83d\ude00":1,"\xf0\x9f\x98\x80":2}'
                .replace(rb'\xf0\x9f\x98\x80', b'\xf0\x9f\x98\x80'), b'{"":1,"":2}', rb'{"\u0000":1,"\u0000":2}', rb'{"a/b":1,"a\/b":1}',
                b'{' + b','.join(b'"m%d":0' % n for n in range(10000)) + b',"m0":0}'],
    'case 47': [b'{"v":1e400}', b'{"v":-1e400}', b'{"v":[1e309]}', b'{"v":1.8e308}', b'{"v":' + b'9' * 400 + b'}', b'{"v":1e99999999999999999999}'],
}


def faults_anywhere(conn, daemon):
    """cases 44, 46, 47: refused at their place, whichever method they come to, and no row."""
    for case, texts in FAULTS.items():
        for method in ('begin', 'key', 'get'):
            told = [json.loads(exchange(conn, b'{"jsonrpc":"2.0","id":1,"method":"%s","params":{"tool":"t","key":"faulty","args":%s}}' % (method.encode(), text)))
                    for text in texts]
            wrong = [(text[:60], t) for text, t in zip(texts, told) if t['id'] != 1 or 'error' not in t or t['error']['code'] != -32602 or
                     not t['error']['data']['pointer'].startswith('/args/') or not t['error']['data']['why']]
            is_(wrong, [], f'{case}: {method}: {len(texts)} payloads are invalid, each where it is')
    is_(conn.error('get', tool='t', key='faulty')['data']['name'], 'not_found', 'cases 44, 46, 47: and none of them made a row')
    good = [rb'{"k":"\uD83D\uDE00"}', rb'{"k":"\udbff\udfff"}', rb'{"k":"\uFFFF\uFFFE\u0000"}', b'{"k":"\xed\x9f\xbf\xee\x80\x80"}', b'{"a":1,"A":2}',
            b'{"v":1.7976931348623157e308}', b'{"v":1e-99999999999}', b'{' + b','.join(b'"m%d":0' % n for n in range(10000)) + b'}']
    told = [json.loads(exchange(conn, b'{"jsonrpc":"2.0","id":1,"method":"begin","params":{"tool":"t","key":"good %d","args":%s}}' % (n, text)))
            for n, text in enumerate(good)]
    is_([tell(t) for t in told], ['run'] * len(good), 'cases 44, 46, 47: what is whole is taken')
    # outside params, and inside omitted
    ids = {'effect': told[0]['result']['effect'], 'token': told[0]['result']['token']}
    for text in ('{"bytes":1,"bytes":1,"sha256":"' + 'a' * 64 + '"}', '{"bytes":1e400,"sha256":"x"}', '{"bytes":1,"sha256":"\\ud800"}'):
        line = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'complete', 'params': {**ids, 'omitted': 0}}).replace('"omitted": 0', '"omitted":' + text)
        error = json.loads(exchange(conn, line))['error']
        ok(error['code'] == -32602 and error['data']['pointer'].startswith('/omitted/'), 'cases 44, 46, 47: inside omitted, too', error)
    is_(state_of(conn, ids['effect']), 'pending', 'and record nothing')


def keys(conn):
    """cases 32 and 38: nothing to derive from in any shape; one key for the provider on every attempt."""
    bad = {'order': ['{}', '{"order_id":null}', '{"order_id":""}', '{"order_id":{}}', '{"order_id":{"id":1}}', '{"order_id":[]}', '{"order_id":["1"]}',
                     '{"Order_id":1}', '{"order_id ":1}', '{"order":{"order_id":1}}'],
           'deep': ['{"a":{"b":1}}', '{"a":{"b":1},"list":[]}', '{"a":{"b":1},"list":[1]}', '{"a":{"b":1},"list":{"01":1}}', '{"a":[1],"list":[1,2]}',
                    '{"a":"b","list":[1,2]}', '{"a":{"b":null},"list":[1,2]}', '{"a":{"b":1},"list":[1,[]]}', '{"a/b":1,"list":[1,2]}', '{"a":{"b":1},"list":"12"}']}
    for tool, texts in bad.items():
        told = [json.loads(raw_begin(conn, f'{{"tool":"{tool}","args":{text}}}')) for text in texts]
        wrong = [(text, t) for text, t in zip(texts, told) if t.get('error', {}).get('code') != -32602 or not t['error']['data']['pointer'].startswith('/args/')]
        is_(wrong, [], f'case 32: {tool}: nothing to derive a key from in {len(texts)} shapes of args')
        is_(conn.call('list', tool=tool)['effects'], [], 'and never a row')
    is_(conn.call('key', tool='deep', args={'a': {'b': 0}, 'list': {'1': False}})['key'], '0:false', 'case 32: 0 and false are values')
    whole = {'run': 'r', 'turn': 1, 'step': 's', 'args': {'a/b': 'x', 'c~d': 'y', '': 'z'}}
    is_(conn.call('key', {'tool': 'turn', **whole})['key'], 'r/1/s/turn/x/y/z', 'case 32: every part is there')
    for name in ('run', 'turn', 'step'):
        error = conn.error('key', {'tool': 'turn', **{k: v for k, v in whole.items() if k != name}})
        is_((error['code'], error['data']['pointer']), (-32602, f'/{name}'), f'case 32: no {name}, no key')
    for name, pointer in (('a/b', '/args/a~1b'), ('c~d', '/args/c~0d'), ('', '/args/')):
        error = conn.error('key', {'tool': 'turn', **whole, 'args': {k: v for k, v in whole['args'].items() if k != name}})
        is_(error['data']['pointer'], pointer, f'case 32: no member {name!r}, no key')
    for name in ('run', 'step'):
        error = conn.error('begin', {'tool': 'nobody', 'run': 'r', 'step': 's', 'args': {}, name: ''})
        is_(error['data']['pointer'], f'/{name}', f'case 32: nor of the default key with an empty {name}')
    told = []
    for n in range(3):
        run = conn.call('begin', tool='ignores', args={'order': 7, 'idempotency_key': f'fresh {n}', 'card': {'number': n}}, call=f'c{n}')
        told.append((run['decision'], run['attempt'], run['provider_key'], run['effect']))
        conn.call('release', **own_ids(run))
    is_(told, [('run', n, told[0][3], told[0][3]) for n in (1, 2, 3)], 'case 38: each attempt has the same key for the provider, whatever the call brings along')


# ---- frames ---------------------------------------------------------------------------------------------------------

def silent(conn, cluster):
    """case 140: what nobody could learn the answer of is not done, whichever method; batches of any shape are one refusal."""
    run, ended = claim(conn, 'silent'), claim(conn, 'silent ended')
    conn.call('unknown', **own_ids(ended))

    def rows():
        return cluster.rows('select * from effect.ledger order by id') + cluster.rows('select * from effect.event order by id')

    before = rows()
    resolve = {'effect': ended['effect'], 'verdict': 'absent', 'reason': 'r', 'attempt': 1, 'state': 'unknown'}
    calls = [('begin', {'tool': 't', 'key': 'notified'}), ('complete', own_ids(run)), ('release', own_ids(run)), ('unknown', own_ids(run)),
             ('extend', {**own_ids(run), 'lease_ms': 3600000}), ('resolve', resolve), ('get', {}), ('nothing', None), ('begin', [])]
    for method, params in calls:
        conn.send_raw(json.dumps({'jsonrpc': '2.0', 'method': method, 'params': params}).encode() + b'\n')
    is_(json.loads(exchange(conn, Conn.line('key', {'tool': 't', 'key': 'k'}, 'after')[:-1]))['id'], 'after', f'case 140: {len(calls)} notifications, no answer')
    request = '{"jsonrpc":"2.0","id":1,"method":"begin","params":{"tool":"t","key":"batched"}}'
    note_ = '{"jsonrpc":"2.0","method":"begin","params":{"tool":"t","key":"batched"}}'
    for batch in ('[]', '[ ]', ' [] ', '[1]', '[{}]', '[[]]', f'[{request}]', f'[{request},{request}]', f'[{note_}]', f'[{note_},{note_}]', f'[[{request}]]',
                  f'[{request},1,null,"x",{{}}]'):
        answer = json.loads(exchange(conn, batch))
        is_((answer['id'], answer['error']['code'], answer['error']['data']['name']), (None, -32600, 'invalid_request'), f'case 140: a batch {batch[:30]}: one refusal')
    for line, id_, code in ((request.replace('"id":1', '"id":null'), None, -32600), (request.replace('"id":1', '"id":[1]'), None, -32600),
                            (request.replace('"id":1', '"id":{}'), None, -32600), (request.replace('"id":1', '"id":false'), None, -32600),
                            (request.replace('"id":1', '"ID":1'), 'none', 0), (request.replace('"jsonrpc":"2.0",', ''), 1, -32600),
                            (request.replace('"2.0"', '"2.00"'), 1, -32600), (request.replace('"2.0"', '2'), 1, -32600), (request.replace('"2.0"', 'null'), 1, -32600),
                            (request.replace('"jsonrpc"', '"JSONRPC"'), 1, -32600), (request.replace('"begin"', '"begin\\u0000"'), 1, -32600),
                            (request.replace('"begin"', '"Begin"'), 1, -32601), (request.replace('"begin"', '["begin"]'), 1, -32600),
                            (request.replace('"params"', '"Params"').replace('"t"', '"t"'), 1, -32602), (request[:-1], None, -32700), (request + '}', None, -32700),
                            (request + ' null', None, -32700), (request.replace('"', "'"), None, -32700), ('\ufeff' + request, None, -32700),
                            (request.replace('"id":1', '"id":1,"id":2'), None, -32600), (request.replace('{"tool"', '[{"tool"')[:-1] + ']}', 1, -32602)):
        if id_ == 'none':
            conn.send_raw(line.encode() + b'\n')
            continue
        answer = json.loads(exchange(conn, line))
        is_((answer['id'], answer['error']['code']), (id_, code), f'case 140: {line[:70]}: {code}')
    is_(rows(), before, 'case 140: and none of it left a trace')
    is_(json.loads(exchange(conn, request.replace('"2.0"', '"2\\u002e0"').replace('"method"', '"m\\u0065thod"').replace('batched', 'escaped')))['result']['decision'],
        'run', 'case 140: escapes in names and words are the same names and words')
    conn.send_raw(b'\n\r\n \t\n' + request.replace('batched', 'blank').encode() + b'\r\n\n\n')
    is_(conn.recv(1)['result']['decision'], 'run', 'case 140: blank lines before and behind are none')


def cut_anywhere(daemon, conn):
    """case 117: a line is a line, wherever its bytes part, characters and line ends included."""
    args = '{"a":"€\U0001f600\\ud83d\\ude00é","n":1.50}'
    line = f'{{"jsonrpc":"2.0","id":"ü","method":"key","params":{{"tool":"t","key":"k\U0001f600€","args":{args}}}}}\r\n'.encode()
    whole = exchange(conn, line[:-1])
    with daemon.connect() as cut:
        wrong = []
        for at in range(1, len(line)):
            cut.send_raw(line[:at])
            conn.call('info')  # a pass of the daemon behind what it was given
            cut.send_raw(line[at:])
            if cut.recv_line() != whole:
                wrong.append(at)
        is_(wrong, [], f'case 117: {len(line) - 1} cuts, the same answer')
        for at in range(1, len(line)):
            cut.send_raw(line[at - 1:at])
        cut.send_raw(line[-1:] + line + line[:50])
        is_([cut.recv_line(), cut.recv_line()], [whole] * 2, 'case 117: byte by byte, then one and a half')
        conn.call('info')
        cut.send_raw(line[50:] + line * 50)
        is_({cut.recv_line() for _ in range(51)}, {whole}, 'case 117: the other half, and fifty glued')
        begin = Conn.line('begin', {'tool': 't', 'key': 'byte by byte €', 'args': {'é': '\U0001f600'}}, 3)
        for at in range(len(begin)):
            cut.send_raw(begin[at:at + 1])
        is_((cut.recv(3)['result']['decision'], name_of(conn, 'begin', tool='t', key='byte by byte €', args={'é': '\U0001f600'})), ('run', 'busy'),
            'case 117: a begin byte by byte claims once')


def gone(daemon, conn):
    """case 121: who closes after its word was sent has said it, who closes within it has not."""
    runs = [claim(conn, f'gone {at}') for at in range(200)]
    for at, run in enumerate(runs):
        other = daemon.connect()
        line = Conn.line('complete', {**own_ids(run), 'result': at}, 1)
        other.send_raw(line if at % 2 else line[:-1])
        other.close()
    wait_until(lambda: all(state_of(conn, run['effect']) == 'done' for run in runs[1::2]), 20, 'each is done')
    is_([conn.call('begin', tool='t', key=f'gone {at}')['result'] for at in range(1, 200, 2)], list(range(1, 200, 2)), 'case 121: a hundred records of peers that are gone are kept')
    is_({state_of(conn, run['effect']) for run in runs[::2]}, {'pending'}, 'case 121: and a hundred that were not sent whole are none')
    ok(daemon.running(), 'case 121: the daemon lives')


with Cluster() as the_cluster, Daemon(the_cluster, config={'log_calls': False}, tools=TOOLS) as the_daemon, the_daemon.ready().connect() as the_conn:
    seed()
    canonical(the_conn)
    faults_anywhere(the_conn, the_daemon)
    keys(the_conn)
    silent(the_conn, the_cluster)
    cut_anywhere(the_daemon, the_conn)
    gone(the_daemon, the_conn)
    is_(the_cluster.invariants(), [], 'no invariant is broken')
done()
