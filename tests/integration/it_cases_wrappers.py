#!/usr/bin/python3
"""Named cases of keys, leases and replays as the caller of a wrapper sees them, in every language: what is called and how often, what
he gets instead, and what a model reads. Sections K4, and the client's half of K2 and K3; the wire's half is in it_cases_claims, it_cases_replay and it_key."""
import json
import os
import subprocess
import sys
import time

from clients import *
from harness import *
from talk import *

PROBE = Script()
LEASE_S = 1 if SLOW == 1 else 2  # a keeper on a busy machine is late by less than this
TOOLS = [
    {'name': 't', 'lease': '5m', 'escalate_after': '1h', 'max_attempts': 3}, {'name': 't2', 'lease': '5m', 'escalate_after': '1h'},
    {'name': 'short', 'lease': f'{LEASE_S}s', 'escalate_after': '1h'}, {'name': 'hand', 'escalate_after': '0s'}, {'name': 'one', 'max_attempts': 1},
    {'name': 'sure', 'on_error': 'released', 'max_attempts': 3}, {'name': 'open', 'on_error': 'unknown', 'escalate_after': '1h'},
    {'name': 'final', 'on_error': 'failed'},
    {'name': 'order', 'key': 'order-{/order_id}', 'ignore': ['/memo', '/payment_token', '/idempotency_key'], 'keep': ['/amount']},
    PROBE.policy('asked', lease=f'{LEASE_S}s', settle='100ms', absent_needed=2),
]
CONFIG = {'log_calls': False, 'sweep_interval': '50ms'}
BYTES = '{"b":1.0,"a":1e2,"c":"\\u003c"}'


def state_by_key(daemon, tool, key):
    with daemon.connect() as conn:
        return conn.call('get', tool=tool, key=key)


# ---- K2: a lease and its holder --------------------------------------------------------------------------------------

def no_lease_given(daemon, language, test):
    """cases 8 and 14"""
    with Client(language, daemon.socket) as first, Client(language, daemon.socket) as second:
        first.ask(tool='t', key=f'8 {language}', hold=True).wait_performed()
        told = second.call(tool='t', key=f'8 {language}')
        test((told['kind'], second.performed), ('Busy', 0), 'case 8: without a lease given the second caller is busy at once')
        test('new key' in told.get('advice', ''), False, 'case 8: and no advice sends it to another key')
        first.go()
        test(kind_of(first.told()), 'value', 'case 8: the first one is undisturbed')
        told = [second.call(tool='t', key=f'14 {language} {at}', lease_ms=lease) for at, lease in enumerate((-1, 999, 3600001))]
        test(([(t.get('kind'), t.get('pointer')) for t in told], second.performed), ([('InvalidParams', '/lease_ms')] * 3, 0),
             'case 14: a lease of -1, or beyond its bounds is told as invalid params, and nothing is called')


def refused_ones_harm_nobody(daemon, language, test):
    """case 10"""
    with Client(language, daemon.socket) as owner, Client(language, daemon.socket) as other:
        owner.ask(tool='t', key=f'10 {language}', hold=True).wait_performed()
        test([other.kind(tool='t', key=f'10 {language}') for _ in range(3)], ['Busy'] * 3, 'case 10: a rival is refused')
        test(state_by_key(daemon, 't', f'10 {language}')['state'], 'pending', 'case 10: and its end does not touch the claim')
        test(kind_of(owner.go().told()), 'value', 'case 10: whose owner records')
        test(other.kind(tool='t', key=f'10 {language}', args={'other': 1}), 'Mismatch', 'case 10: a mismatch is refused')
        test(other.kind(tool='t', key=f'10 {language}'), 'replay', 'case 10: and the record stands')


def long_work(daemon, language, test):
    """case 13: work that outlasts its lease by far, with the wrapper alive and with it standing still."""
    with Client(language, daemon.socket) as owner, Client(language, daemon.socket) as other:
        key = f'13 {language}'
        owner.ask(tool='short', key=key, hold=True).wait_performed()
        began, told = time.monotonic(), set()
        while time.monotonic() - began < 2.2 * LEASE_S:
            told.add(other.kind(tool='short', key=key))
        test((told, other.performed), ({'Busy'}, 0), 'case 13: past two leases the wrapper still holds its claim')
        owner.freeze()
        wait_until(lambda: other.kind(tool='short', key=key) == 'Unknown', 20, 'the lease of a wrapper that stands still is over')
        test((other.kind(tool='short', key=key), other.performed), ('Unknown', 0), 'case 13: that it is over is no leave to run')
        owner.go()
        owner.thaw()
        told = owner.told()
        test((kind_of(told), owner.performed), ('value', 1), 'case 13: the true result is recorded late')
        test(other.call(tool='short', key=key).get('value'), {'by': language}, 'case 13: and replayed')


def late_owner(daemon, language, test):
    """cases 16 and 19: its lease lapsed, the probe found nothing, and somebody else holds the next attempt when it comes back."""
    with Client(language, daemon.socket) as owner, Client(language, daemon.socket) as other:
        key = f'16 {language}'
        owner.ask(tool='asked', key=key, fn={'until': 'lost'}).wait_performed()
        owner.freeze()
        other.ask(tool='asked', key=key, hold=True, options={'wait_ms': 30000}, lease_ms=300000).wait_performed()
        test([line['attempt'] for line in other.lines()], [2], 'case 16: a second attempt runs when the first is known not to have landed')
        owner.thaw()
        told = owner.told()
        test((told['got'], told.get('kind'), told.get('lost'), told.get('value')), ('error', 'Conflict', True, {'by': language}),
             'cases 16 and 19: the late owner learns that its claim was lost, and its result is no plain success')
        row = state_by_key(daemon, 'asked', key)
        test((row['state'], row['attempt']), ('escalated', 2), 'case 16: its success is evidence, for a person to see')
        test((kind_of(other.go().told()), other.performed), ('value', 1), 'case 16: the holder of the second attempt keeps it, and records')


# ---- K3: what the second caller gets ---------------------------------------------------------------------------------

def mismatch_first(daemon, language, test):
    """case 20: whatever the state."""
    with Client(language, daemon.socket) as holder, Client(language, daemon.socket) as other:
        keys = {state: f'20 {state} {language}' for state in ('done', 'failed', 'unknown', 'escalated', 'exhausted', 'pending')}
        holder.call(tool='t', key=keys['done'])
        holder.call(tool='t', key=keys['failed'], fn={'does': 'fail', 'text': 'declined'})
        holder.call(tool='t', key=keys['unknown'], fn={'does': 'raise', 'text': 'boom'})
        holder.call(tool='hand', key=keys['escalated'], fn={'does': 'raise', 'text': 'boom'})
        holder.call(tool='one', key=keys['exhausted'], fn={'does': 'not_sent', 'text': 'refused'})
        holder.ask(tool='t', key=keys['pending'], hold=True).wait_performed(6)
        tools = {'escalated': 'hand', 'exhausted': 'one'}
        told = {state: other.kind(tool=tools.get(state, 't'), key=key, args={'amount': 2}) for state, key in keys.items()}
        test((told, other.performed), ({state: 'Mismatch' for state in keys}, 0), 'case 20: other arguments are a mismatch before anything else, in every state')
        told = {state: other.kind(tool=tools.get(state, 't'), key=key) for state, key in keys.items()}
        test((told, other.performed), ({'done': 'replay', 'failed': 'Failed', 'unknown': 'Unknown', 'escalated': 'Escalated', 'exhausted': 'Exhausted', 'pending': 'Busy'}, 0),
             'and the same arguments are told the state')
        holder.go().told()


def replayed_failure(daemon, language, test):
    """case 22"""
    with Client(language, daemon.socket) as client:
        fn = {'does': 'fail', 'value': {'code': 'declined'}, 'text': 'declined'}
        fresh = client.call(tool='t', key=f'22 {language}', fn=fn)
        told = client.call(tool='t', key=f'22 {language}', fn=fn)
        test((fresh['kind'], bool(fresh.get('replayed'))), ('Failed', False), 'case 22: a failure is fresh the first time')
        row = state_by_key(daemon, 't', f'22 {language}')
        test((told['kind'], told.get('replayed'), told.get('value'), row['done_at'][:10] in told['text'], client.performed), ('Failed', True, {'code': 'declined'}, True, 1),
             'case 22: and names itself a replay, with its time, the second time')


def tool_errors(daemon, language, test):
    """case 24"""
    with Client(language, daemon.socket) as client:
        fn = {'does': 'tool_error', 'value': {'isError': True}, 'text': '403'}
        told = {tool: [client.kind(tool=tool, key=f'24 {language}', fn=fn) for _ in range(4)] for tool in ('sure', 'open', 'final')}
        test(told, {'sure': ['ToolError'] * 3 + ['Exhausted'], 'open': ['ToolError'] + ['Unknown'] * 3, 'final': ['ToolError'] + ['Failed'] * 3},
             'case 24: a tool\'s own error runs again within the budget, stays unknown, or is final, as its policy says, and is never a success')
        test(client.performed, 3 + 1 + 1, 'case 24: and is made as often as that')


def same_bytes(daemon, language, test):
    """case 25"""
    with Client(language, daemon.socket) as client, daemon.connect() as conn:
        run = claim(conn, f'25 {language}')
        exchange(conn, '{"jsonrpc":"2.0","id":1,"method":"complete","params":{"effect":"%s","token":"%s","result":%s}}' % (run['effect'], run['token'], BYTES))
        told = client.call(tool='t', key=f'25 {language}')
        test((told.get('raw'), told.get('value')), (BYTES, {'b': 1, 'a': 100, 'c': '<'}), 'case 25: a replay\'s bytes are those that were recorded')
        # what a client itself records, and each other path reads
        client.call(tool='t', key=f'25 own {language}', fn={'value': {'é': ['a\u0000b', 1.5, 1e300], 'half': '\ud800'}})
        line = exchange(conn, Conn.line('begin', {'tool': 't', 'key': f'25 own {language}'}, 1)[:-1])
        recorded = line[line.index(b'"result":', 40) + 9:line.index(b',"result_state"')].decode()
        raw = client.call(tool='t', key=f'25 own {language}').get('raw')
        # the first `result` of the line is the answer's own
        test(recorded.endswith(raw or '?') and json.loads(raw) == {'é': ['a\u0000b', 1.5, 1e300], 'half': '\ud800'}, True,
             'case 25: and what it records itself is read by all as the same bytes')


def one_row(daemon, language, test):
    """case 26: the socket, effectctl and the wrapper reach one row, by the business key, by what derives it, and by its id."""
    with Client(language, daemon.socket) as client, daemon.connect() as conn:
        args = {'order_id': f'26 {language}'}
        client.call(tool='order', args=args)
        provider_key = client.lines()[0]['provider_key']
        key = conn.call('key', tool='order', args=args)
        ctl_rows = [json.loads(daemon.ctl('--json', 'get', *how).stdout)['effect'] for how in
                    (('--tool', 'order', '--key', key['key']), ('--tool', 'order', '--args', json.dumps(args)), ('--effect', key['effect']))]
        reached = [conn.call('get', tool='order', key=key['key'])['effect'], conn.call('get', tool='order', args=args)['effect'], *ctl_rows,
                   conn.call('begin', tool='order', args=args)['effect']]
        test((set(reached), provider_key), ({key['effect']}, key['effect']), 'case 26: by the socket, effectctl and the wrapper it is the same row')
        test(client.kind(tool='order', key=key['key'], args=args), 'replay', 'case 26: also where the key is given')
        # the other way round
        run = conn.call('begin', tool='order', args={'order_id': f'26b {language}'})
        conn.call('complete', **own_ids(run), result='by the socket')
        test(client.call(tool='order', args={'order_id': f'26b {language}'}).get('value'), 'by the socket', 'case 26: what the socket recorded is the wrapper\'s replay')


def time_outs(daemon, language, test):
    """case 29"""
    with Client(language, daemon.socket) as client:
        fn = {'does': 'time_out', 'text': '504 Gateway Timeout'}
        told = [client.kind(tool='open', key=f'29 {language}', fn=fn), *[client.kind(tool='open', key=f'29 {language}', options={'wait_ms': wait}) for wait in (0, 50, 0)]]
        test((told, client.performed), (['Own', 'Unknown', 'Unknown', 'Unknown'], 1), 'case 29: a time-out is neither success nor failure: it stays unknown')
        row = state_by_key(daemon, 'open', f'29 {language}')
        test(bool(row['events'][0].get('reason')), True, 'case 29: and the reason is kept')


# ---- K4: which calls are the same ------------------------------------------------------------------------------------

def call_ids(daemon, language, test):
    """case 30"""
    with Client(language, daemon.socket) as client:
        told = [client.kind(tool='t', run=f'R {language}', step=3, args={'a': 1}, call=call) for call in ('c1', 'c3', 'c5')]
        test((told, client.performed), (['value', 'replay', 'replay'], 1), 'case 30: three call ids of one call are one effect')


def no_key(daemon, language, test):
    """case 32"""
    with Client(language, daemon.socket) as client, daemon.connect() as conn:
        told = [client.call(tool='order', args=args) for args in ({}, {'order_id': None}, {'order_id': ''}, {'order_id': {'x': 1}}, {'order_id': [1]})]
        test(([(t.get('kind'), t.get('pointer')) for t in told], client.performed), ([('InvalidParams', '/args/order_id')] * 5, 0),
             'case 32: without what makes the key nothing is called, and the member is named')
        test(conn.call('list', tool='order', key_prefix='order-null')['effects'] + conn.call('list', tool='order', key_prefix='order-%')['effects'], [], 'case 32: and there is no row')


def what_is_left_out(daemon, language, test):
    """cases 35, 37 and 38"""
    with Client(language, daemon.socket) as client:
        args = {'order_id': f'35 {language}', 'amount': '0.001', 'memo': 'late', 'payment_token': 'tok_1', 'idempotency_key': 'k1'}
        told = [client.kind(tool='order', args={**args, **other}) for other in ({}, {'payment_token': 'tok_2'}, {'memo': 'a bit late'}, {'idempotency_key': 'k2'})]
        test((told, client.performed), (['value'] + ['replay'] * 3, 1), 'cases 35, 37 and 38: a fresh token, a reworded memo, another idempotency key of the model\'s: replays')
        told = client.call(tool='order', args={**args, 'amount': '0.0010'})
        test((told['kind'], client.performed), ('Mismatch', 1), 'case 37: another amount is a mismatch')
        test([words for words in ('new key', 'fresh key', 'different key') if words in f'{told["advice"]} {told["text"]}'], [],
             'case 37: and nothing in its words sends a model to another key')
        test({line['provider_key'] for line in client.lines()}, {state_by_key(daemon, 'order', f'order-35%20{language.replace(" ", "%20")}')['effect']},
             'case 38: fn has one stable key for the provider')


def tenants(daemon, language, test):
    """case 39"""
    with Client(language, daemon.socket) as client:
        told = [client.kind(tool=tool, key=f'1 {language}', args={'tool': tool}, fn={'value': tool}) for tool in ('t', 't2', 'open')]
        again = [client.call(tool=tool, key=f'1 {language}', args={'tool': tool}).get('value') for tool in ('t', 't2', 'open')]
        test((told, again), (['value'] * 3, ['t', 't2', 'open']), 'case 39: one key of three tools is three rows, to each its own result')


def ordinals(daemon, language, test):
    """case 40"""
    with Client(language, daemon.socket) as client:
        step = {'run': f'R40 {language}', 'step': 3}
        told = [client.call(tool='t', args={'x': 1}, **step), client.call(tool='t2', args={'y': 1}, fn={'value': 'of B'}, **step)]
        test(([kind_of(t) for t in told], told[1].get('value')), (['value', 'value'], 'of B'), 'case 40: another tool at the same step is another effect')
        test([client.kind(tool='t', key=f'40 {language}', args=args) for args in ({'x': 1}, {'x': 2})], ['value', 'Mismatch'],
             'case 40: one tool and key with other arguments is a mismatch')


def look_ups(daemon):
    """case 26: the clients' own look-ups reach the row that the socket made, by the business key and by what derives it."""
    with daemon.connect() as conn:
        run = conn.call('begin', tool='order', args={'order_id': '26 looked up'})
        conn.call('complete', **own_ids(run), result='by the socket')
    hows = [{'tool': 'order', 'key': run['key']}, {'tool': 'order', 'args': {'order_id': '26 looked up'}}]
    texts = {'Python': ([sys.executable, '-c', PYTHON_LOOK_UP], {'PYTHONPATH': os.path.join(SRC, 'client/python')}),
             'Node': (['node', '--input-type=module', '-e', NODE_LOOK_UP, '--'], {'MODULE': os.path.join(SRC, 'client/node/src/index.js')})}
    for language, (command, env) in texts.items():
        out = subprocess.run([*command, daemon.socket, json.dumps(hows)], capture_output=True, text=True, check=False, timeout=60 * SLOW, env={**os.environ, **env})
        is_(out.stdout.split(), [run['effect']] * 2, f'case 26: {language} looks it up by key and by args, and finds that row {out.stderr}')


PYTHON_LOOK_UP = """
import effectd, json, sys
with effectd.Ledger(sys.argv[1]) as ledger:
    for how in json.loads(sys.argv[2]):
        print(ledger.get(**how)['effect'])
"""
NODE_LOOK_UP = """
const { Ledger } = await import(process.env.MODULE);
const [socket, hows] = process.argv.slice(-2);
const ledger = new Ledger({ socket });
for (const how of JSON.parse(hows)) {
  console.log((await ledger.get(how)).effect);
}
await ledger.close();
"""

SCENARIOS = [long_work, late_owner, no_lease_given, refused_ones_harm_nobody, mismatch_first, replayed_failure, tool_errors, same_bytes, one_row, time_outs,
             call_ids, no_key, what_is_left_out, tenants, ordinals]

with Cluster() as cluster, Daemon(cluster, config=CONFIG, tools=TOOLS) as daemon:
    daemon.ready()
    PROBE.says('absent')
    play(daemon, SCENARIOS)
    look_ups(daemon)
    is_(cluster.invariants(), [], 'no invariant is broken')
done()
