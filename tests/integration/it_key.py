#!/usr/bin/python3
"""Which calls are the same effect: keys, fingerprints, canonical JSON, templates, namespaces. Named cases of K4 and K5."""
import json
import os

from harness import *
from talk import *

VECTORS = os.path.join(SRC, 'tests', 'vectors')
TOOLS = [
    {'name': 'step'},  # the default key
    {'name': 'order', 'key': 'order-{/order_id}'},
    {'name': 'memo', 'key': 'order:{/order}', 'ignore': ['/memo', '/payment_token', '/idempotency_key'], 'keep': ['/order', '/amount']},
    {'name': 'keyed', 'key': 'order:{/order}', 'provider_key_to': '/payment/idempotency_key', 'max_attempts': 5},
    {'name': 'two', 'key': '{/a}:{/b}'}, {'name': 'turns', 'key': '{turn}/{/a}'}, {'name': 'long', 'key': 'k:{/a}'},
    {'name': 't1'}, {'name': 't2'}, {'name': 'any'},
]
CONFIG = '''
namespace a { wrappers = {"user:0"} }
namespace b { wrappers = {"user:0"} }
'''


def begin(conn, params):
    return json.loads(raw_begin(conn, params))


def decision(conn, params):
    answer = begin(conn, params)
    return answer['result']['decision'] if 'result' in answer else answer['error']['data']['name']


def settle(conn, tool, key, args='{}'):
    run = begin(conn, f'{{"tool":"{tool}","namespace":"a","key":"{key}","args":{args}}}')['result']
    assert run['decision'] == 'run', run
    conn.call('complete', **own_ids(run), result={'of': key})
    return run


def cases_of_keys(conn):
    def ask(**params):
        return conn.call('begin', namespace='a', **params)

    # case 30
    run = ask(tool='step', run='R', step=3, call='c1', args={'x': 1})
    conn.call('complete', **own_ids(run), result='first')
    is_([run['decision']] + [ask(tool='step', run='R', step='3', call=call, args={'x': 1})['decision'] for call in ('c3', 'c5')],
        ['run', 'replay', 'replay'], 'case 30: a new call id is no new effect')
    like(run['key'], r'^R/3/step/[0-9a-f]{32}$', 'the default key is run, step, tool and args')
    # case 32
    for args in ('{}', '{"order_id":null}', '{"order_id":""}', '{"order_id":{"a":1}}', '{"order_id":[]}', '{"order_id":[1]}'):
        error = begin(conn, f'{{"tool":"order","namespace":"a","args":{args}}}')['error']
        is_((error['code'], error['data']['pointer']), (-32602, '/args/order_id'), f'case 32: nothing to derive a key from in {args}')
    error = begin(conn, '{"tool":"order","namespace":"a"}')['error']
    is_(error['code'], -32602, 'case 32: nor without args')
    is_(conn.call('list', namespace='a', tool='order')['effects'], [], 'and never a row')
    # cases 35, 37, 38
    run = ask(tool='memo', args={'order': 7, 'amount': '0.001', 'memo': 'first', 'payment_token': 'p1', 'idempotency_key': 'i1'})
    conn.call('complete', **own_ids(run), result=1)
    is_(ask(tool='memo', args={'order': 7, 'amount': '0.001', 'memo': 'reworded', 'payment_token': 'p2'})['decision'], 'replay',
        'cases 35 and 37: another memo and another token')
    is_(ask(tool='memo', args={'order': 7, 'amount': '0.001', 'idempotency_key': 'i2'})['decision'], 'replay', 'case 38: a fresh idempotency_key')
    other = ask(tool='memo', args={'order': 7, 'amount': '0.0010', 'memo': 'first'})
    is_((other['decision'], other['differs'], other['effect'], other['state']), ('mismatch', ['/amount'], run['effect'], 'done'),
        'case 37: another amount is a mismatch that names it, and the existing effect')
    ok('key' not in other['advice'], 'and proposes no key', other['advice'])
    is_(ask(tool='memo', args={'order': '7', 'amount': '0.001'})['decision'], 'mismatch', 'a number that is quoted is the same key, and a mismatch')
    is_(ask(tool='memo', args={'order': 7})['differs'], ['/amount'], 'a member that is missing differs')
    # case 38, where the policy overrides it: one value on every attempt, whatever the model puts there
    told = []
    for n in range(3):
        run = ask(tool='keyed', args={'order': 7, 'payment': {'amount': 1, 'idempotency_key': f'made up {n}'}})
        told.append((run['decision'], run['provider_key_to'], run['provider_key']))
        conn.call('release', **own_ids(run), reason='nothing was sent')
    is_(told, [('run', '/payment/idempotency_key', run['effect'])] * 3, 'case 38: `run` tells where the key goes, one key on every attempt')
    run = ask(tool='keyed', args={'order': 7, 'payment': {'amount': 1}})
    conn.call('complete', **own_ids(run), result=1)
    is_(ask(tool='keyed', args={'order': 7, 'payment': {'amount': 1, 'idempotency_key': 'the last'}})['decision'], 'replay', 'and a repeat is one with any')
    is_(ask(tool='keyed', args={'order': 7, 'payment': {'amount': 2}})['decision'], 'mismatch', 'what stands beside it counts')
    ok('provider_key_to' not in ask(tool='t1', run='K', step=1), 'a tool without it is told nothing')
    # case 39
    run = {}
    for ns in ('a', 'b'):
        for tool in ('t1', 't2'):
            answer = conn.call('begin', namespace=ns, tool=tool, key='1', args={'of': ns + tool})
            is_(answer['decision'], 'run', f'case 39: key 1 of {tool} in {ns} is an effect of its own')
            run[ns + tool] = answer
            conn.call('complete', **own_ids(answer), result=ns + tool)
    is_([conn.call('begin', namespace=name[0], tool=name[1:], key='1', args={'of': name})['result'] for name in run], list(run), 'and replays its own')
    is_(len({answer['effect'] for answer in run.values()}), 4, 'by four ids')
    # case 40
    first = ask(tool='t1', run='R', step=3, args={'x': 1})
    conn.call('complete', **own_ids(first), result='A')
    is_(ask(tool='t2', run='R', step=3, args={'y': 1})['decision'], 'run', 'case 40: the same step of another tool has its own row')
    is_(ask(tool='t1', run='R', step=3, args={'x': 2})['decision'], 'run', 'and so have other args under the derived key')
    is_(ask(tool='t1', key=first['key'], args={'x': 2})['decision'], 'mismatch', 'but under its explicit key they are a mismatch')


def templates(conn, cluster):
    def key(tool, **params):
        return conn.call('key', namespace='a', tool=tool, **params)['key']

    isnt(key('two', args={'a': 'x:y', 'b': 'z'}), key('two', args={'a': 'x', 'b': 'y:z'}), 'parts cannot run into each other')
    is_(key('two', args={'a': 'x:%é/', 'b': True}), 'x%3A%25é%2F:true', 'what is no letter or digit is escaped below 0x80')
    is_(key('two', args={'a': 1e21, 'b': 1.50}), '1e%2B21:1.5', 'numbers are spelt canonically')
    is_(key('turns', turn=5, args={'a': 'x'}), '5/x', 'turn')
    is_(conn.error('key', namespace='a', tool='turns', args={'a': 'x'})['data']['pointer'], '/turn', 'a turn that is missing')
    long = key('long', args={'a': 'x' * 300})
    is_((len(long), long[:180], long[180]), (245, 'k:' + 'x' * 178, '#'), 'a derived key that is too long keeps its head and a hash')
    isnt(long, key('long', args={'a': 'x' * 301}), 'and stays another for another value')
    # case 113: what an index could not hold is refused, whatever it compresses to
    for text in ('a' * 10240, ''.join(chr(97 + i * 7919 % 26) for i in range(10240))):
        is_(conn.error('begin', namespace='a', tool='any', key=text)['data']['pointer'], '/key', 'case 113: a key of 10 KB is refused')
        is_(conn.call('begin', namespace='a', tool='long', args={'a': text})['decision'], 'run', 'case 113: a derived one is cut and hashed')
    with open(os.path.join(VECTORS, 'ids.json'), encoding='utf-8') as file:
        vectors = json.load(file)
    for vector in vectors['effects']:
        if vector['namespace'] in ('a', 'b'):
            made = conn.call('key', namespace=vector['namespace'], tool=vector['tool'], key=vector['key'])
            is_(made['effect'], vector['effect'], f'the published id of {vector["key"]!r}')
        quoted = ', '.join("'" + vector[name].replace("'", "''") + "'" for name in ('namespace', 'tool', 'key'))
        is_(cluster.psql(f'select effect.id({quoted})'), vector['effect'], f'and in SQL, too: {vector["key"][:40]!r}')



def same(conn, tool, texts, what):
    """All of these args are one call."""
    key = f'same-{what}'
    settle(conn, tool, key, texts[0])
    for text in texts[1:]:
        is_(decision(conn, f'{{"tool":"{tool}","namespace":"a","key":"{key}","args":{text}}}'), 'replay', f'{what}: {text} is {texts[0]}')


def differ(conn, tool, texts, what):
    key = f'differ-{what}'
    settle(conn, tool, key, texts[0])
    for text in texts[1:]:
        is_(decision(conn, f'{{"tool":"{tool}","namespace":"a","key":"{key}","args":{text}}}'), 'mismatch', f'{what}: {text} is not {texts[0]}')


def canonical(conn):
    # case 41
    differ(conn, 'any', ['{"amount":9007199254740992}', '{"amount":9007199254740993}', '{"amount":9007199254740994}'], 'case 41')
    differ(conn, 'any', ['{"n":123456789012345678901234567890}', '{"n":123456789012345678901234567891}'], 'case 41, longer')
    # case 42
    same(conn, 'any', ['{"\\ud83d\\ude00":1,"\\ufb33":2}', '{"\ufb33":2,"\U0001f600":1}'], 'case 42')
    # case 44
    for args in ('{"k":"\\uD800"}', '{"\\uDC00":1}', '{"k":"\\uDC00\\uD800"}'):
        is_(decision(conn, f'{{"tool":"any","namespace":"a","key":"s","args":{args}}}'), 'invalid_params', f'case 44: {args}')
    # case 46
    for args in ('{"amount":1,"amount":2}', '{"a":1,"\\u0061":2}', '{"x":{"a":1,"a":1}}', '{"x":[[{"a":1,"b":2,"a":3}]]}'):
        is_(decision(conn, f'{{"tool":"any","namespace":"a","key":"s","args":{args}}}'), 'invalid_params', f'case 46: {args}')
    # case 47
    for args in ('{"v":1e400}', '{"v":-1e400}'):
        is_(decision(conn, f'{{"tool":"any","namespace":"a","key":"s","args":{args}}}'), 'invalid_params', f'case 47: {args}')
    is_(conn.error('get', namespace='a', tool='any', key='s')['data']['name'], 'not_found', 'none of them made a row')
    is_(decision(conn, '{"tool":"any","namespace":"a","key":"s","args":{"k":"\\uD83D\\uDE00"}}'), 'run', 'case 44: the valid pair is accepted')
    same(conn, 'any', ['{"v":1e-400}', '{"v":0}', '{"v":-1e-400}'], 'case 47, underflow')
    differ(conn, 'any', ['{"v":null}', '{"v":1e-400}', '{"v":0}', '{}', '{"v":false}', '{"v":""}'], 'case 47, null')
    # case 48
    same(conn, 'any', ['{"q":1.0}', '{"q":1}', '{"q":1e0}', '{"q":10e-1}'], 'case 48')
    same(conn, 'any', ['{"q":-0}', '{"q":0}', '{"q":0.0}', '{"q":-0.0e5}'], 'case 48, zero')
    # case 49
    for text, shortest in (('333333333.33333329', '333333333.3333333'), ('4.50', '4.5'), ('2e-3', '0.002'), ('1E30', '1e+30'), ('1e21', '1e+21'),
                           ('999999999999999900000', '999999999999999900000'), ('1e-7', '1e-7'), ('5e-324', '5e-324'), ('1e-6', '0.000001')):
        key = conn.call('key', namespace='a', tool='long', args={'a': 0})
        got = json.loads(exchange(conn, f'{{"jsonrpc":"2.0","id":1,"method":"key","params":{{"namespace":"a","tool":"long","args":{{"a":{text}}}}}}}'))
        is_(got['result']['key'], 'k:' + shortest.replace('+', '%2B'), f'case 49: {text} is spelt {shortest}')
        isnt(got['result']['fingerprint'], key['fingerprint'], 'and is not 0')
        same(conn, 'any', [f'{{"n":{text}}}', f'{{"n":{shortest}}}'], f'case 49, {text}')
    same(conn, 'any', ['{"b":1,"a":{"d":[1,2],"c":"\\u0041"}}', ' { "a" : { "c" : "A" , "d" : [ 1 , 2 ] } , "b" : 1 } '], 'order and white space')
    differ(conn, 'any', ['{"a":"\u00e9"}', '{"a":"e\u0301"}'], 'no Unicode normalisation')
    differ(conn, 'any', ['{"a":[1,2]}', '{"a":[2,1]}'], 'the order of an array')
    differ(conn, 'any', ['{"a":"x\\u0000y"}', '{"a":"x\\u0000z"}', '{"a":"x"}'], 'what stands behind a NUL')


with Cluster() as cluster, Daemon(cluster, config=CONFIG, tools=TOOLS) as daemon, daemon.ready().connect() as conn:
    cases_of_keys(conn)
    templates(conn, cluster)
    canonical(conn)
    is_(cluster.invariants(), [], 'no invariant is broken')
done()
