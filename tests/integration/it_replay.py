#!/usr/bin/python3
"""A recorded result comes back as the bytes that were sent, whatever they are; what may not be kept is found in no table, no log
line and no error."""
import hashlib
import json
import random
import string

from harness import *
from talk import *

PROBE = Script()
SECRET = 'canary-7f3a1c-secret'
TOOLS = [{'name': 't', 'result_max': 1000000}, {'name': 'small', 'result_max': 100}, {'name': 'zero', 'keep_result': '0s'},
         {'name': 'hidden', 'result_secret': ['/card', '/deep/0/pin'], 'secret': ['/card', '/auth/token'], 'ignore': ['/memo'],
          'keep': ['/order', '/auth/user']},
         {'name': 'errs', 'on_error': 'unknown', 'result_secret': ['/card'], 'escalate_after': '1h'},
         PROBE.policy('probed', result_secret=['/card'])]

# (what, the bytes of the result)
VERBATIM = [
    ('member order, number spelling and escapes (case 25)', rb'{"b":1.0,"a":1e2,"c":"\u003c"}'),
    ('white space between tokens', b'{ "a" :\t[ 1 , 2 ] }'),
    ('an escaped NUL (case 111)', rb'{"out":"a\u0000b"}'),
    ('a lone surrogate (case 111)', rb'{"out":"\ud800"}'),
    ('surrogates the wrong way round', rb'["\uDC00\uD800"]'),
    ('a lone surrogate as a name', rb'{"\udc00":1,"\udc00":2}'),
    ('big integers', b'[9007199254740993,123456789012345678901234567890,-0,0.0,1E400,-1e-400]'),
    ('duplicate members', rb'{"a":1,"a":2,"\u0061":3}'),
    ('nesting of 50,000', b'[' * 50000 + b']' * 50000),
    ('text beyond the BMP, raw and escaped', '["😀","\\uD83D\\uDE00","é","e\u0301","\u2028"]'.encode()),
    ('a solidus, escaped and not', rb'["\/","/"]'),
    ('DEL and the like', b'["\x7f\xc2\x80"]'),
    ('a string', b'"x"'), ('a number', b'1.50'), ('null', b'null'), ('true', b'true'), ('nothing in it', b'{}'), ('the empty string', b'""'),
    ('what looks like a line of ours', rb'{"jsonrpc":"2.0","id":1,"result":{"decision":"run"}}'),
]


def complete_raw(conn, run, result, more=b''):
    return exchange(conn, b'{"jsonrpc":"2.0","id":1,"method":"complete","params":{"effect":"' + run['effect'].encode() + b'","token":"' +
                    run['token'].encode() + b'"' + more + b',"result":' + result + b'}}')


def begin_line(conn, key, tool='t'):
    return raw_begin(conn, json.dumps({'tool': tool, 'key': key}))


def get_line(conn, effect):
    return exchange(conn, f'{{"jsonrpc":"2.0","id":1,"method":"get","params":{{"effect":"{effect}"}}}}')


def verbatim(conn):
    for at, (what, result) in enumerate(VERBATIM):
        run = claim(conn, f'v{at}')
        answer = complete_raw(conn, run, result)
        is_(answer, b'{"jsonrpc":"2.0","id":1,"result":{"state":"done","outcome":"succeeded","already":false}}', f'{what}: recorded')
        part = b'"result":' + result + b',"result_state":"kept","result_bytes":' + str(len(result)).encode()
        ok(part in begin_line(conn, f'v{at}'), f'{what}: replayed as the same bytes', begin_line(conn, f'v{at}')[:600])
        ok(part in get_line(conn, run['effect']), f'{what}: the same in get')
        like(complete_raw(conn, run, result).decode(), '"already":true', f'{what}: the same bytes again are already there')
    run = claim(conn, 'other spelling')
    complete_raw(conn, run, b'{"a":1.0}')
    # the comparison is of bytes or of values, but a replay never changes by it
    complete_raw(conn, run, b'{"a":1}')
    ok(b'"result":{"a":1.0},' in begin_line(conn, 'other spelling'), 'what was recorded first stands')


def generated(conn):
    """Any text that is JSON by its grammar."""
    def value(depth):
        kind = random.randrange(9 if depth < 6 else 7)
        if kind == 0:
            return random.choice(['null', 'true', 'false'])
        if kind in (1, 2):
            return random.choice(['-', '']) + random.choice(['0', str(random.randrange(1, 10 ** random.randrange(1, 30)))]) + random.choice(
                ['', '.' + str(random.randrange(10 ** 6)), '.0', '.000']) + random.choice(['', 'e5', 'E+07', 'e-300', 'e999'])
        if kind < 7:
            return '"' + ''.join(random.choice([random.choice(string.ascii_letters), '\\n', '\\u%04x' % random.randrange(65536), '\\/', 'é', '😀', ' '])
                                 for _ in range(random.randrange(12))) + '"'
        space = random.choice(['', ' ', '\t', ' \r '])
        items = [value(depth + 1) for _ in range(random.randrange(5))]
        if kind == 7:
            return '[' + space + (space + ',').join(items) + space + ']'
        return '{' + space + ','.join(f'"{random.choice("abc")}"{space}:{item}' for item in items) + '}'

    bad = 0
    for at in range(300):
        result = value(0).encode()
        run = claim(conn, f'gen{at}')
        complete_raw(conn, run, result)
        bad += b'"result":' + result + b',"result_state"' not in begin_line(conn, f'gen{at}')
    is_(bad, 0, '300 generated results came back as the same bytes')


def omitted(conn, daemon):
    def check(tool, key, result, what):
        """Done all the same, with size and hash, and the row says so everywhere."""
        replay = conn.call('begin', tool=tool, key=key)
        is_((replay['decision'], replay['outcome'], replay['result_state'], 'result' in replay, replay['result_bytes'], replay['result_sha256']),
            ('replay', 'succeeded', 'omitted', False, len(result), hashlib.sha256(result).hexdigest()), f'{what}: done, omitted, size and hash')
        row = conn.call('get', tool=tool, key=key)
        is_((row['state'], row['result_state'], row['result_bytes']), ('done', 'omitted', len(result)), f'{what}: get says so, too')
        ok('not at hand' in replay['advice'] or 'omitted' in replay['advice'], f'{what}: the advice does not tell to use it', replay['advice'])

    # case 114: one byte over the limit, and exactly at it
    for size in (99, 100, 101, 5000):
        run = claim(conn, f'size{size}', 'small')
        result = b'"' + b'x' * (size - 2) + b'"'
        complete_raw(conn, run, result)
        if size <= 100:
            ok(b'"result":' + result in begin_line(conn, f'size{size}', 'small'), f'{size} bytes of 100 are kept')
        else:
            check('small', f'size{size}', result, f'{size} bytes of 100')
            is_(json.loads(complete_raw(conn, run, result))['result']['already'], True, 'and the same bytes again are already there')
    for at, result in enumerate((b'"\xff"', b'"\xed\xa0\x80"', b'"\xc0\x80"', b'["\xf4\x90\x80\x80"]', b'{"\xfe":1}')):
        run = claim(conn, f'utf{at}')
        is_(json.loads(complete_raw(conn, run, result))['result']['state'], 'done', f'{result!r}, no UTF-8: recorded')
        check('t', f'utf{at}', result, repr(result))
    # beyond max_line the client sends size and hash only
    run = claim(conn, 'huge')
    result = b'x' * 3000000
    sha = hashlib.sha256(result).hexdigest()
    is_(conn.call('complete', **own_ids(run), omitted={'bytes': len(result), 'sha256': sha.upper()}),
        {'state': 'done', 'outcome': 'succeeded', 'already': False}, 'a result over max_line comes as size and hash')
    check('t', 'huge', result, 'over max_line')
    is_(conn.call('complete', **own_ids(run), omitted={'bytes': len(result), 'sha256': sha})['already'], True, 'and the same again is there already')
    run = claim(conn, 'zero', 'zero')
    complete_raw(conn, run, b'{"a":1}')
    check('zero', 'zero', b'{"a":1}', 'keep_result 0s')
    # case 110: 1 MB bodies
    run = claim(conn, 'megabyte')
    result = b'"' + b'y' * 999998 + b'"'
    complete_raw(conn, run, result)
    ok(b'"result":' + result + b',' in begin_line(conn, 'megabyte'), 'case 110: a result of 1 MB is kept')
    is_(json.loads(raw_begin(conn, json.dumps({'tool': 't', 'key': 'big args', 'args': {'a': 'z' * 1000000}})))['result']['decision'], 'run',
        'args of 1 MB')
    # a line of a complete that is grammatically broken inside result is no complete
    run = claim(conn, 'broken')
    for result in (b'{"a":}', b'[1,]', b'"\x01"', b'tru', b'01', b'"\\x"', b'+1', b"'a'"):
        is_(json.loads(complete_raw(conn, run, result))['error']['code'], -32700, f'{result!r} is no JSON')
    is_(state_of(conn, run['effect']), 'pending', 'and changed nothing')
    is_(conn.call('complete', **own_ids(run))['state'], 'done', 'a complete without a result')
    ok(b'"result":null,"result_state":"kept"' in begin_line(conn, 'broken'), 'is null')


def secrets(conn, daemon, cluster):
    """case 141: what a policy calls secret is nowhere, and everything else is as it came."""
    for at, (sent, kept) in enumerate((
            (b'{"x":1.0,"card":"' + SECRET.encode() + b'","y":[1e2]}', b'{"x":1.0,"card":"[secret]","y":[1e2]}'),
            (b'{ "card" : {"number":"' + SECRET.encode() + b'"} }', b'{ "card" : "[secret]" }'),
            (b'{"deep":[{"pin":"' + SECRET.encode() + b'","a":1}]}', b'{"deep":[{"pin":"[secret]","a":1}]}'),
            (b'{"card":1,"c\\u0061rd":"' + SECRET.encode() + b'"}', None),
            (b'{"card":"' + SECRET.encode() + b'","card":"' + SECRET.encode() + b'2"}', None),
            (b'{"card":"' + SECRET.encode() + b'","deep":' + b'[' * 5000 + b']' * 5000 + b'}', None))):
        run = claim(conn, f's{at}', 'hidden')
        complete_raw(conn, run, sent)
        answer = begin_line(conn, f's{at}', 'hidden')
        ok(b'"result_state":"redacted"' in answer and SECRET.encode() not in answer, f'secret result {at}: replayed as redacted', answer[:400])
        if kept:
            ok(b'"result":' + kept + b',' in answer, f'secret result {at}: its other bytes as they came', answer[:400])
        is_(json.loads(complete_raw(conn, run, sent))['result']['already'], True, f'secret result {at}: the same again is already there')
    run = claim(conn, 'clean', 'hidden')
    complete_raw(conn, run, b'{"x":1}')
    ok(b'"result":{"x":1},"result_state":"kept"' in begin_line(conn, 'clean', 'hidden'), 'nothing secret in it: kept')
    # with events: the tool's own error, a conflict, an orphan, a token of nobody; and after a reload forgot the claim's policy
    run = claim(conn, 'e', 'errs')
    hidden = b'{"card":"' + SECRET.encode() + b'","why":"declined"}'
    answer = json.loads(complete_raw(conn, run, hidden, b',"outcome":"error"'))['result']
    is_(answer['state'], 'unknown', 'case 24: an error that means nothing is unknown')
    is_(conn.call('begin', tool='errs', key='e')['decision'], 'unknown', 'and no replay of a success')
    complete_raw(conn, run, hidden)
    complete_raw(conn, run, b'{"card":"' + SECRET.encode() + b'","other":1}')
    nobody = {'effect': '00000000-0000-8000-8000-000000000000', 'token': '00000000-0000-4000-8000-000000000000'}
    is_(json.loads(complete_raw(conn, nobody, hidden))['error']['data']['name'], 'not_found', 'an orphan')
    is_(json.loads(complete_raw(conn, {**run, 'token': nobody['token']}, hidden))['error']['data']['name'], 'not_owner', 'a stranger')
    # of args
    args = {'order': 7, 'card': SECRET, 'auth': {'token': SECRET, 'user': 'u'}, 'memo': 'm'}
    run = claim(conn, 'a', 'hidden', args=args)
    is_(conn.call('begin', tool='hidden', key='a', args={**args, 'card': 'renewed', 'auth': {'token': 'x', 'user': 'u'}})['decision'], 'busy',
        'case 35: a secret that was renewed makes no difference')
    is_(conn.call('get', effect=run['effect'])['kept'], {'/auth/user': 'u', '/order': 7}, 'what is kept holds no secret')
    is_(conn.call('begin', tool='hidden', key='a', args={**args, 'order': 8})['differs'], ['/order'], 'and a mismatch tells none')
    for bad in ({'card': SECRET, 'x': float('inf')}, {'card': SECRET + '\ud800'}):
        conn.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"begin","params":{"tool":"hidden","key":"a","args":' + json.dumps(bad).encode() + b'}}\n')
        ok(SECRET.encode() not in conn.recv_line(), 'an error does not quote its args')
    conn.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"begin","params":{"tool":"hidden","key":"a","args":{"' + SECRET.encode() * 20 + b'":1e999}}}\n')
    conn.recv_line()
    # of a probe's result
    PROBE.says('landed', result={'card': SECRET, 'id': 're_1'})
    run = claim(conn, 'p', 'probed')
    conn.call('unknown', **own_ids(run))
    row = wait_state(conn, run['effect'], 'done')
    is_((row['result'], row['result_state'], row['by']), ({'card': '[secret]', 'id': 're_1'}, 'redacted', 'probe'), 'a probe\'s result is redacted, too')
    # of an operator's
    PROBE.says('inconclusive', reason='x')
    run = claim(conn, 'o', 'errs')
    conn.call('unknown', **own_ids(run))
    conn.call('resolve', effect=run['effect'], verdict='landed', reason='seen', attempt=1, state='unknown', result={'card': SECRET, 'n': 1})
    is_(conn.call('begin', tool='errs', key='o')['result'], {'card': '[secret]', 'n': 1}, 'and an operator\'s')


def nowhere(conn, daemon, cluster):
    # a restart, so that the claim's policy must be asked of the ledger
    runs = [claim(conn, f'restart{i}', 'hidden') for i in range(3)]
    daemon.stop()
    daemon.start()
    with daemon.ready().connect() as again:
        for run in runs:
            complete_raw(again, run, b'{"card":"' + SECRET.encode() + b'"}')
            ok(SECRET.encode() not in get_line(again, run['effect']), 'after a restart a result is redacted, too')
    text = dump(cluster)
    ok(SECRET not in text and '[secret]' in text, 'no table holds a secret', [line[:300] for line in text.split('\n') if SECRET in line][:5])
    lines = [line[:300] for line in daemon.log() if SECRET in line]
    ok(not lines, 'no log line holds a secret', lines[:5])
    with open(cluster.log_path, encoding='utf-8', errors='replace') as log:
        server = log.read()
    ok(SECRET not in server and '[secret]' in server, 'and none was ever sent to the database')


# the server's log then shows everything that the daemon sent it
with Cluster({'log_min_duration_statement': '0'}) as cluster, Daemon(cluster, tools=TOOLS) as daemon:
    seed()
    with daemon.ready().connect() as conn:
        verbatim(conn)
        generated(conn)
        omitted(conn, daemon)
        secrets(conn, daemon, cluster)
        nowhere(conn, daemon, cluster)
    is_(cluster.invariants(), [], 'no invariant is broken')
done()
