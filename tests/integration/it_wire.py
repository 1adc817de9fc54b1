#!/usr/bin/python3
"""The wire, byte for byte: frames, ids, the members of every answer in their order, every error with its data."""
import json
import random
import re

from harness import *
from talk import *

PROBE = Script()
NO_PROBE = {'name': 'human', 'lease': '1s', 'escalate_after': '0s', 'max_attempts': 2}
TOOLS = {
    'example.json': {'name': 'refund_order', 'namespace': 'default', 'class': 'irreversible',
                     'key': 'refund:{/order_id}:{/line}', 'ignore': ['/memo'], 'secret': ['/card'],
                     'keep': ['/order_id', '/line', '/amount']},
    'more.json': [{'name': 'look', 'class': 'read'}, {'name': 'put', 'class': 'overwrite'}, {'name': 'insert', 'class': 'natural'},
                  {'name': 't', 'max_attempts': 2}, NO_PROBE, PROBE.policy('asks', escalate_after='1h', probe_backoff=['1h'])],
}


def line_of(text):
    return json.loads(text) if text else None


def error_of(conn, text):
    """(id as spelled, error object) of the answer to a raw line."""
    answer = exchange(conn, text)
    spelled = re.match(rb'\{"jsonrpc":"2\.0","id":(.*),"error":\{"code":', answer)
    assert spelled, answer
    return spelled[1].decode(), json.loads(answer)['error']


def ids(daemon):
    with daemon.connect() as conn:
        for spelled in ('1', '-0', '1e2', '1E+2', '12345678901234567890123', '0.10', '-1.5e-7', '"x\\u0041"', '"\\/"', '""', '"é"',
                        '"' + 'a' * 255 + '"', '9' * 255):
            answer = exchange(conn, f'{{"jsonrpc":"2.0","id":{spelled},"method":"key","params":{{"tool":"t","key":"k"}}}}')
            ok(answer.startswith(f'{{"jsonrpc":"2.0","id":{spelled},"result":{{'.encode()) and answer.endswith(b'}}'),
               f'the id {spelled[:30]} comes back as it was spelled', answer)
        for bad in ('null', '{}', '[]', 'true', '"' + 'a' * 256 + '"', '9' * 256, '"\\ud800"'):
            got, error = error_of(conn, f'{{"jsonrpc":"2.0","id":{bad},"method":"info"}}')
            is_((got, error['code'], error['data']['name']), ('null', -32600, 'invalid_request'), f'an id {bad[:20]} is refused')
        for args, message in (('{"k":"\\ud800"}', 'params/args/k: half a surrogate pair is no character'),
                              ('{"a":{"b":1,"b":2}}', 'params/args/a/b: two members have one name')):
            is_(error_of(conn, f'{{"jsonrpc":"2.0","id":1,"method":"key","params":{{"tool":"t","args":{args}}}}}')[1]['message'], message,
                'the message says what is wrong and where')
        conn.send_raw(b'{"jsonrpc":"2.0","id":7,"method":"info"}\n' * 2)
        is_([conn.recv()['id'] for _ in range(2)], [7, 7], 'two equal ids in flight are both answered')
        answer = exchange(conn, '{"method":"info","params":{},"id":3,"jsonrpc":"2.0","extra":[1]}')
        is_(line_of(answer)['id'], 3, 'members of the envelope come in any order, and others are ignored')


def frames(daemon, cluster):
    """case 140: edge frames, each with its one answer, and a connection that stays usable."""
    rows_before = cluster.psql('select count(*) from effect.ledger')
    with daemon.connect() as conn:
        def usable(after):
            is_(line_of(exchange(conn, '{"jsonrpc":"2.0","id":"u","method":"info"}'))['id'], 'u', f'usable after {after}')

        begin = '{"jsonrpc":"2.0","id":1,"method":"begin","params":{"tool":"t","key":"batched"}}'
        for text, code, what in (('[]', -32600, 'an empty batch'), (f'[{begin},{begin}]', -32600, 'a batch of two'),
                                 ('{', -32700, 'broken JSON'), ('x' * 50, -32700, 'no JSON at all'), ('1', -32600, 'a number'),
                                 ('"begin"', -32600, 'a string'), ('null', -32600, 'null'), (begin + begin, -32700, 'two on a line'),
                                 ('{"jsonrpc":"2.0","id":1,"method":"info",}', -32700, 'a comma too much'),
                                 ('{"jsonrpc":"2.0","id":01,"method":"info"}', -32700, 'a number with a leading zero'),
                                 ('{}', -32600, 'an empty object')):
            got, error = error_of(conn, text)
            is_((got, error['code'], names(error), names(error['data'])), ('null', code, 'code message data', 'name why'),
                f'{what} has one {code} with id null')
            usable(what)
        for text, what in (('{"id":4,"method":"info"}', 'without jsonrpc'), ('{"jsonrpc":"1.0","id":4,"method":"info"}', '1.0'),
                           ('{"jsonrpc":2.0,"id":4,"method":"info"}', 'a number 2.0'), ('{"jsonrpc":"2.0","id":4}', 'no method'),
                           ('{"jsonrpc":"2.0","id":4,"method":1}', 'a method that is a number')):
            got, error = error_of(conn, text)
            is_((got, error['code']), ('4', -32600), f'{what}: -32600 with the id')
        got, error = error_of(conn, '{"jsonrpc":"2.0","id":4,"id":5,"method":"info"}')
        is_(error['code'], -32600, 'a member twice in the envelope: -32600')
        for method in ('begin ', 'BEGIN', '', 'reports', 'rpc.discover'):
            got, error = error_of(conn, f'{{"jsonrpc":"2.0","id":4,"method":"{method}"}}')
            is_((got, error['code'], error['data']), ('4', -32601, {'name': 'unknown_method'}), f'no method {method!r}')
        # a notification does nothing, broken or whole; nor does a blank line
        for text in ('{"jsonrpc":"2.0","method":"begin","params":{"tool":"t","key":"notified"}}',
                     '{"jsonrpc":"2.0","method":"begin","params":{"tool":"t","wrong":1}}', '{"jsonrpc":"2.0","method":"nothing"}',
                     '{"jsonrpc":"2.0","method":"info","params":[]}', '', ' ', '\t \r'):
            conn.send_raw(text.encode() + b'\n')
            usable(f'{text[:60]!r}, which is not answered')
        is_(cluster.psql('select count(*) from effect.ledger'), rows_before, 'none of them claimed anything')
        conn.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"info"}\r\n')
        is_(conn.recv()['id'], 1, 'a CR before the LF is accepted')
        is_(line_of(exchange(conn, ' \t{ "jsonrpc" : "2.0" , "id" : 2 , "method" : "info" } '))['id'], 2, 'white space between tokens')


def streams(daemon):
    info = b'{"jsonrpc":"2.0","id":%d,"method":"info"}\n'
    # case 117: reads that fit no line
    with daemon.connect() as conn:
        for byte in info % 1:
            conn.send_raw(bytes([byte]))
        glued = info % 2 + info % 3 + info % 4
        conn.send_raw(glued[:-20])
        is_(sorted(conn.recv()['id'] for _ in range(3)), [1, 2, 3], 'byte by byte, then two and a half: answered as far as they go')
        conn.send_raw(glued[-20:])
        is_(conn.recv()['id'], 4, 'and the rest when it comes')
    # case 115: no stack is spent on depth
    for text in ('[' * 100000, '{"a":' * 100000, '{"jsonrpc":"2.0","id":1,"method":"begin","params":{"tool":"t","args":' + '{"a":' * 70 +
                 '1' + '}' * 70 + '}}'):
        with daemon.connect() as conn:
            got, error = error_of(conn, text)
            is_((got, error['code']), ('null', -32700), f'{len(text)} bytes that nest too deep: one -32700')
        with daemon.connect() as conn:
            is_(line_of(exchange(conn, info[:-1] % 2))['id'], 2, 'and a normal line on a new connection is answered')
    with daemon.connect() as conn:
        # params is level 2, args level 3: 61 more
        at_limit = '{"a":' * 61 + '1' + '}' * 61
        is_('result' in line_of(exchange(conn, '{"jsonrpc":"2.0","id":1,"method":"key","params":{"tool":"t","key":"k","args":' + at_limit +
                                         '}}')), True, '64 levels are not too deep')
    # a line over max_line
    with daemon.connect() as conn:
        max_line = conn.call('info')['limits']['max_line']
        head = '{"jsonrpc":"2.0","id":1,"method":"key","params":{"tool":"t","key":"k","args":{"a":"'
        fits = head + 'x' * (max_line - len(head) - 4) + '"}}}'
        is_(('result' in line_of(exchange(conn, fits)), len(fits)), (True, max_line), 'a line of exactly max_line is read')
        got, error = error_of(conn, fits[:-4] + 'x"}}}')
        is_((got, error['code'], error['data']['name']), ('null', -32600, 'invalid_request'), 'one byte more: one -32600 with id null')
        conn.send_raw(b'y' * (3 * max_line) + b'\n' + info % 5)
        is_(conn.recv()['error']['code'], -32600, 'three times as long: again one')
        is_(conn.recv()['id'], 5, 'and the line behind it is answered')
        conn.send_raw(b'z' * (max_line + 10))
        is_(conn.recv()['error']['code'], -32600, 'it is told before the line ends')
        conn.send_raw(b'z' * (max_line + 10) + b'\n' + info % 6)
        is_(conn.recv()['id'], 6, 'and only once')
    with daemon.connect() as conn:
        conn.send_raw(info % 1 + b'{"jsonrpc":"2.0","id":2,"method":"begin","params":{"tool":"t","key":"no-lf"}}')
        conn.half_close()
        is_((conn.recv()['id'], conn.recv_line()), (1, b''), 'a half-close is still answered, bytes without LF are no request')
    with daemon.connect() as conn:
        is_(conn.error('get', tool='t', key='no-lf')['code'], -32004, 'and they claimed nothing')
    with daemon.connect() as conn:
        for i in range(100):
            conn.send_raw(Conn.line('begin', {'tool': 't', 'key': f'half-{i}'}, i))
        conn.half_close()
        is_(sorted(conn.recv()['id'] for _ in range(100)), list(range(100)), 'a hundred begins before a half-close are all answered')
        is_(conn.recv_line(), b'', 'and then the daemon closes, too')


def run_and_replay(daemon):
    """The page's own example, with its bytes."""
    with daemon.connect() as conn:
        answer = exchange(conn, '{"jsonrpc":"2.0","id":1,"method":"begin","params":{"tool":"refund_order","args":'
                                '{"order_id":1042,"line":3,"amount":"12.50","memo":"late"}}}')
        run = line_of(answer)['result']
        like(answer.decode(), '^{"jsonrpc":"2.0","id":1,"result":{"decision":"run","next":"execute","advice":"[^"]+","effect":"[0-9a-f-]{36}",'
             '"key":"refund:1042:3","attempt":1,"token":"[0-9a-f-]{36}","lease_until":"[^"]{24}","lease_ms":60000,"provider_key":"[0-9a-f-]{36}",'
             '"protected_until":"[^"]{24}","on_error":"unknown"}}$', 'the example is answered as on the page')
        is_((run['effect'], run['provider_key']), ('a3cd4fef-fce9-857e-b3fd-defbf92538ef',) * 2, 'the effect id is that of its parts')
        for name in ('lease_until', 'protected_until'):
            like(run[name], INSTANT, f'{name} is an instant')
        is_(ms_of(run['protected_until']) - (ms_of(run['lease_until']) - 60000), 30 * 86400 * 1000, 'protected for keep_key at least')
        busy = conn.call('begin', tool='refund_order', args={'order_id': '1042', 'line': 3, 'amount': '12.50'}, key='refund:1042:4')
        is_(busy['decision'], 'run', 'another key is another effect')
        busy = conn.call('begin', tool='refund_order', args={'order_id': 1042, 'line': 3, 'amount': '12.50'}, owner='me')
        is_(names(busy), 'decision next advice effect key attempt owner claimed_at lease_until retry_after_ms', 'busy')
        is_((busy['next'], busy['owner'], busy['lease_until']), ('wait', None, run['lease_until']), 'its owner gave no name: null')
        ok(0 < busy['retry_after_ms'] <= 60000, 'with a time to wait')
        answer = exchange(conn, f'{{"jsonrpc":"2.0","id":2,"method":"complete","params":{{"effect":"{run["effect"].upper()}","token":'
                                f'"{run["token"].upper()}","result":{{"refund":"re_77"}}}}}}')
        is_(answer, b'{"jsonrpc":"2.0","id":2,"result":{"state":"done","outcome":"succeeded","already":false}}', 'complete, ids in any case')
        is_(conn.call('complete', **own_ids(run), result={'refund': 're_77'}), {'state': 'done', 'outcome': 'succeeded', 'already': True},
            'the same again: already')
        replay = conn.call('begin', tool='refund_order', args={'order_id': 1042, 'line': 3, 'amount': '12.50'})
        is_(names(replay), 'decision next advice effect key attempt outcome result result_state result_bytes done_at by protected_until',
            'replay')
        is_((replay['next'], replay['outcome'], replay['result'], replay['result_state'], replay['result_bytes'], replay['by']),
            ('use_result', 'succeeded', {'refund': 're_77'}, 'kept', 18, 'caller'), 'and what it says')
        ok(replay['protected_until'] >= run['protected_until'], 'protected no shorter than told before')
        mismatch = conn.call('begin', tool='refund_order', args={'order_id': 1042, 'line': '3', 'amount': '12.5'})
        is_(names(mismatch), 'decision next advice effect key attempt state claimed_at differs', 'mismatch')
        is_((mismatch['next'], mismatch['state'], sorted(mismatch['differs'])), ('fix_request', 'done', ['/amount', '/line']),
            'names what differs')


def other_decisions(daemon):
    with daemon.connect() as conn:
        for tool, kind in (('look', 'read'), ('put', 'overwrite'), ('insert', 'natural')):
            passed = conn.call('begin', tool=tool)
            is_((names(passed), passed['decision'], passed['next'], passed['class']),
                ('decision next advice class', 'pass', 'execute', kind), f'{kind} passes')
        claim(conn, 'b')
        busy = conn.call('begin', tool='t', key='b')
        mismatch = conn.call('begin', tool='t', key='b', args={'a': 1})
        run = claim(conn, 'u', 'asks')
        answer = conn.call('unknown', **own_ids(run), reason='timeout')
        is_((names(answer), answer['state']), ('state next_probe_at', 'unknown'), 'unknown')
        like(answer['next_probe_at'], INSTANT, 'it says when the probe comes')
        unknown = conn.call('begin', tool='asks', key='u')
        is_(names(unknown), 'decision next advice effect key attempt since next_probe_at retry_after_ms', 'decision unknown')
        is_(unknown['next'], 'wait', 'unknown waits')
        run = claim(conn, 'e', 'human')
        answer = conn.call('unknown', **own_ids(run))
        is_(names(answer), 'state next_probe_at', 'unknown without a reason, of a tool without a probe')
        wait_state(conn, run['effect'], 'escalated')
        escalated = conn.call('begin', tool='human', key='e')
        is_((names(escalated), escalated['next']), ('decision next advice effect key attempt since', 'ask_human'), 'escalated')
        like(escalated['since'], INSTANT, 'since when')
        for attempt in (1, 2):
            run = claim(conn, 'x')
            answer = exchange(conn, f'{{"jsonrpc":"2.0","id":3,"method":"release","params":{{"effect":"{run["effect"]}","token":"{run["token"]}"}}}}')
            is_((answer, run['attempt']), (b'{"jsonrpc":"2.0","id":3,"result":{"state":"released","already":false}}', attempt),
                f'release of attempt {attempt}')
        is_(conn.call('release', **own_ids(run)), {'state': 'released', 'already': True}, 'release again: already')
        exhausted = conn.call('begin', tool='t', key='x')
        is_((names(exhausted), exhausted['next'], exhausted['budget'], exhausted['max'], exhausted['attempt']),
            ('decision next advice effect key attempt budget max', 'stop', 'key', 2, 2), 'exhausted')
        run = claim(conn, 'f')
        is_(conn.call('complete', **own_ids(run), outcome='failed', result={'code': 'no'}),
            {'state': 'done', 'outcome': 'failed', 'already': False}, 'complete failed')
        failed = conn.call('begin', tool='t', key='f')
        is_((failed['decision'], failed['outcome'], failed['result'], failed['attempt']), ('replay', 'failed', {'code': 'no'}, 1),
            'case 22: a replayed failure names itself a replay, with its time and attempt')
        like(failed['done_at'], INSTANT, 'done_at is its original time')
        is_(conn.call('begin', tool='t', key='f')['done_at'], failed['done_at'], 'and stays so')
        run = claim(conn, 'ext')
        answer = conn.call('extend', **own_ids(run), lease_ms=120000)
        is_((names(answer), answer['state']), ('state lease_until', 'pending'), 'extend')
        is_(conn.call('extend', **own_ids(run), lease_ms=1000)['lease_until'], answer['lease_until'], 'never shorter')
        conn.call('complete', **own_ids(run))
        is_(conn.call('extend', **own_ids(run)), {'state': 'done'}, 'extend of a row that is done')
        waited = claim(conn, 'w')
        with daemon.connect() as other:
            id_ = other.send('begin', tool='t', key='w', wait_ms=30000)
            before_ms = other.call('info')['uptime_ms']
            wait_until(lambda: other.call('info')['uptime_ms'] > before_ms + 30, 10)
            conn.call('release', **own_ids(waited))
            run = other.recv(id_)['result']
            is_((names(run), run['attempt']), ('decision next advice effect key attempt token lease_until lease_ms provider_key protected_until '
                                               'on_error waited_ms', 2), 'a run after waiting has waited_ms')
        for decision in (unknown, escalated, exhausted, failed, run, passed, busy, mismatch):
            ok(not re.search(r'(new|another|different|other|fresh|unique) key', decision['advice'], re.I) and len(decision['advice']) > 20,
               f'the advice of {decision["decision"]} is a sentence and proposes no key: {decision["advice"]}')


def looks(daemon):
    with daemon.connect() as conn:
        run = claim(conn, 'g', owner='o', run='r', step=7, turn='z', args={'a': 1})
        answer = exchange(conn, f'{{"jsonrpc":"2.0","id":9,"method":"get","params":{{"effect":"{run["effect"]}"}}}}')
        row = line_of(answer)['result']
        is_(names(row), 'effect namespace tool key fingerprint state attempt owner run step claimed_at lease_until due_at protected_until events',
            'get of a pending row')
        is_((row['run'], row['step'], row['owner'], row['namespace'], row['lease_until']), ('r', '7', 'o', 'default', run['lease_until']),
            'and what it says')
        ok(run['token'].encode() not in answer, 'never a token')
        conn.call('complete', **own_ids(run), result=[1])
        row = conn.call('get', tool='t', key='g')
        is_(names(row), 'effect namespace tool key fingerprint state attempt owner run step claimed_at due_at done_at outcome by result '
            'result_state result_bytes protected_until events', 'get of a done row, by tool and key')
        row = conn.call('get', tool='refund_order', args={'order_id': 1042, 'line': 3})
        is_((row['key'], row['kept'], names(row).split()[-3:]), ('refund:1042:3', {'/amount': '12.50', '/line': 3, '/order_id': 1042},
            ['protected_until', 'kept', 'events']), 'get by tool and args, with what is kept')
        row = conn.call('get', tool='asks', key='u')
        is_(names(row), 'effect namespace tool key fingerprint state attempt owner claimed_at since due_at protected_until events',
            'get of an unknown row')
        event = next(event for event in row['events'] if event['kind'] == 'unknown')
        is_((names(event), event['reason']), ('at kind attempt reason', 'timeout'), 'an event')
        is_(conn.call('get', effect=row['effect'], events=0)['events'], [], 'no events if none are wanted')
        is_(len(conn.call('get', tool='t', key='x', events=1)['events']), 1, 'one if one is wanted')
        ok(len(conn.call('get', tool='t', key='x', events=1000)['events']) > 1, 'a thousand at most')
        key = conn.call('key', tool='refund_order', args={'order_id': 1042, 'line': 3, 'amount': '12.50', 'memo': 'x'})
        is_(key, {'effect': 'a3cd4fef-fce9-857e-b3fd-defbf92538ef', 'key': 'refund:1042:3', 'fingerprint': 'ce6070dcce4f5c5256dee8836f6e42ec',
                  'provider_key': 'a3cd4fef-fce9-857e-b3fd-defbf92538ef'}, 'key claims nothing and says what begin would mean')
        is_(names(key), 'effect key fingerprint provider_key', 'in its order')
        info = conn.call('info')
        is_(names(name for name in info if name not in ('daemons', 'differ')), 'version protocol schema_version uptime_ms ready database limits open sweeper queues probes counts peer', 'info')
        since = ' due_since' if info['open']['due'] else ''  # a lease may have ended just before the count
        is_((names(info['database']), names(info['open']), names(info['probes']), names(info['peer'])),
            ('state since server_version', f'pending unknown escalated by_age due{since} at', 'running max open_circuits', 'uid gid pid namespaces'),
            'and its parts')
        is_((info['protocol'], info['ready'], info['peer']['namespaces'][0]['name']), (1, True, 'default'), 'and what they say')
        tools = {tool['name']: tool for tool in conn.call('tools')['tools']}
        is_(sorted(tools), ['asks', 'human', 'insert', 'look', 'put', 'refund_order', 't'], 'tools')
        like(tools['t']['version'], r'^\d+$', 'with a version')
        is_(names(tools['human']['findings'][0]), 'code level pointer text', 'and findings')


def pages(daemon):
    """2,500 rows walked by cursor, none lost, none twice, while others come."""
    with daemon.connect() as conn:
        for at in range(0, 2500, 100):
            conn.send_raw(b''.join(Conn.line('begin', {'tool': 't', 'key': f'page-{i}'}, i) for i in range(at, at + 100)))
            for _ in range(100):
                conn.recv()
        n = random.randrange(1, 900)
        for limit in (1000, 999, 100 + n):
            cursor, seen, last = None, [], None
            while True:
                page = conn.call('list', {'key_prefix': 'page-', 'limit': limit, **({'cursor': cursor} if cursor else {})})
                is_(names(page), 'effects cursor', 'a page') if cursor is None else None
                seen += [row['key'] for row in page['effects']]
                order = [row['claimed_at'] for row in page['effects']]
                if order != sorted(order, reverse=True) or (last and order and order[0] > last):
                    ok(False, 'newest claim first')
                last, cursor = order[-1] if order else last, page['cursor']
                conn.call('begin', tool='t', key=f'page-new-{limit}-{len(seen)}')
                if cursor is None:
                    break
            old = [key for key in seen if not key.startswith('page-new')]
            is_((len(old), len(set(old)), len(seen) - len(set(seen))), (2500, 2500, 0), f'2,500 rows by pages of {limit}')
        row = conn.call('list', key_prefix='g', limit=1)['effects'][0]
        is_(names(row), 'effect namespace tool key fingerprint state attempt owner run step claimed_at due_at done_at outcome by result_state '
            'result_bytes protected_until', 'a row of list has neither result nor kept nor events')
        is_(len(conn.call('list')['effects']), 100, 'a hundred if no limit is named')
        is_([row['key'] for row in conn.call('list', state='escalated')['effects']], ['e'], 'by state')
        is_([row['key'] for row in conn.call('list', tool='asks')['effects']], ['u'], 'by tool')
        is_(conn.call('list', tool='asks', older_than_ms=3600000)['effects'], [], 'by age')
        is_(conn.call('list', key_prefix='%')['effects'], [], 'a prefix is no pattern')
        for cursor in ('', 'x', '0' * 53, 'g' * 16 + '-' + '0' * 8 + '-0000-0000-0000-000000000000'):
            is_(conn.error('list', cursor=cursor)['data'].get('pointer'), '/cursor', f'a cursor {cursor[:20]!r} of nobody is refused')
        far = conn.recv(conn.send('list', cursor='7fffffffffffffff-00000000-0000-0000-0000-000000000000'))
        ok('result' in far or far['error']['code'] == -32602, 'a cursor beyond all time is no bug of the daemon', far)


def errors(daemon):
    with daemon.connect() as conn:
        error = conn.error('begin', tool='t', key='k', lease_ms=5)
        is_(error, {'code': -32602, 'message': 'params/lease_ms must be an integer from 1000 to 3600000',
                    'data': {'name': 'invalid_params', 'pointer': '/lease_ms', 'why': 'must be an integer from 1000 to 3600000'}},
            'invalid_params names the member and the rule')
        run = claim(conn, 'err')
        effect = run['effect']
        nobody = '00000000-0000-0000-0000-000000000000'
        for method in ('complete', 'release', 'unknown', 'extend'):
            is_((conn.error(method, effect=nobody, token=nobody)['code'], conn.error(method, effect=nobody, token=nobody)['data']),
                (-32004, {'name': 'not_found'}), f'{method} of no effect: not_found')
            error = conn.error(method, effect=effect, token=nobody)
            is_((error['code'], error['data']), (-32005, {'name': 'not_owner', 'state': 'pending', 'attempt': 1}), f'{method} of a stranger: not_owner')
        is_(conn.error('get', effect=nobody)['data']['name'], 'not_found', 'get of no effect')
        is_(conn.error('resolve', effect=nobody, verdict='landed', reason='x', attempt=1, state='unknown')['data']['name'], 'not_found',
            'resolve of no effect')
        error = conn.error('resolve', effect=effect, verdict='landed', reason='x', attempt=1, state='unknown')
        is_((error['code'], error['data']), (-32008, {'name': 'conflict', 'state': 'pending', 'attempt': 1}), 'resolve of a pending row: conflict')
        conn.call('complete', **own_ids(run), result=1)
        error = conn.error('complete', **own_ids(run), result=2)
        is_((error['code'], error['data']), (-32008, {'name': 'conflict', 'state': 'done', 'attempt': 1}), 'another result: conflict')
        ok(any(event.get('incident') for event in conn.call('get', effect=effect)['events']), 'and an incident')
        is_(conn.error('release', **own_ids(run))['data']['name'], 'conflict', 'release of a done row')
        is_(conn.call('unknown', **own_ids(run)), {'state': 'done', 'next_probe_at': None}, 'unknown of a done row tells its state')
        is_(error['message'], error['message'].lower(), 'messages are lower case')


with Cluster() as cluster, Daemon(cluster, tools=TOOLS) as daemon:
    seed()
    daemon.ready()
    ids(daemon)
    frames(daemon, cluster)
    streams(daemon)
    run_and_replay(daemon)
    other_decisions(daemon)
    looks(daemon)
    pages(daemon)
    errors(daemon)
    is_(cluster.invariants(), [], 'no invariant is broken')
    is_(daemon.stop(), 0, 'the daemon ends in order')
done()
