#!/usr/bin/python3
"""Named cases of results and replays, and their kinds: the same bytes on every path and from every source, a mismatch before all
else, an error that is not taken for a success, and what no text can hold. Sections K3 and K13, and 93 of K11."""
import hashlib
import json
import os
import time

from harness import *
from talk import *
from world import name_of, tell

PROBE = Script()
TOOLS = [
    {'name': 't', 'escalate_after': '1h', 'max_attempts': 5, 'lease': '5m', 'result_max': 1000000},
    {'name': 'small', 'result_max': 100, 'escalate_after': '1h', 'on_error': 'failed'},
    {'name': 'sure', 'on_error': 'released', 'max_attempts': 3}, {'name': 'final', 'on_error': 'failed', 'max_attempts': 3, 'escalate_after': '1h'},
    {'name': 'open', 'on_error': 'unknown', 'escalate_after': '1h', 'max_attempts': 3}, {'name': 'hand', 'escalate_after': '0s'},
    {'name': 'one', 'max_attempts': 1, 'escalate_after': '1h'}, {'name': 'secret', 'result_secret': ['/card'], 'result_max': 100},
    {'name': 'minute', 'keep_result': '30s', 'keep_key': '60s', 'escalate_after': '1h'},
    PROBE.policy('asks', escalate_after='1h', result_max=100), PROBE.policy('judged', escalate_after='1h', result_max=1000000, max_attempts=5),
]
CONFIG = {'log_calls': False, 'sweep_interval': '50ms'}
# What jsonb, a C string or a parser that prints again would change.
NASTY = [rb'{"b":1.0,"a":1e2,"c":"\u003c"}', rb'{"out":"a\u0000b"}', rb'{"out":"\ud800"}', rb'{"out":"\udc00\ud800"}', rb'{"a":1,"a":2,"\u0061":3}',
         b'[9007199254740993,-0,0.0,1E400,-1e-400,123456789012345678901234567890]', b'{ "a" :\t[ 1 , 2 ] }', b'"\x7f\xc2\x80\xe2\x80\xa8"',
         '["😀","é","e\u0301"]'.encode(), rb'"\/\b\f\n\r\t\"\\"', b'null', b'""', b'[]', b'{"":{"":""}}']


def record(conn, run, result, more=b''):
    """complete with the result's very bytes."""
    return json.loads(exchange(conn, b'{"jsonrpc":"2.0","id":1,"method":"complete","params":{"effect":"' + run['effect'].encode() +
                               b'","token":"' + run['token'].encode() + b'"' + more + b',"result":' + result + b'}}'))


def part(result, state=b'kept'):
    """What stands in a line that tells this result."""
    return b'"result":' + result + b',"result_state":"' + state + b'","result_bytes":' + str(len(result)).encode() + b','


def begin_line(conn, key, tool='t', **more):
    return exchange(conn, Conn.line('begin', {'tool': tool, 'key': key, **more}, 1)[:-1])


# ---- the same bytes on every path -----------------------------------------------------------------------------------

def every_path(daemon, other, cluster):
    """case 25: alone, in a burst, to those who wait here and at another daemon, by get, after a restart, by effectctl."""
    with daemon.connect() as conn, daemon.connect() as burst, daemon.connect() as waiter, other.connect() as far:
        faults, runs = [], []
        for at, result in enumerate(NASTY):
            run = claim(conn, f'path {at}')
            for who in (waiter, far):
                who.send_raw(Conn.line('begin', {'tool': 't', 'key': f'path {at}', 'wait_ms': 30000}, 7))
                exchange(who, Conn.line('info', {}, 8)[:-1])
            assert record(conn, run, result)['result'] == {'state': 'done', 'outcome': 'succeeded', 'already': False}
            runs.append(run)
            paths = {'who waited': waiter.recv_line(), 'who waited at another daemon': far.recv_line(), 'alone': begin_line(conn, f'path {at}'),
                     'get': exchange(conn, Conn.line('get', {'effect': run['effect']}, 1)[:-1])}
            lines = [Conn.line('begin', {'tool': 't', 'key': f'path {at}' if n % 10 == 5 else f'beside {at} {n}'}, n) for n in range(30)]
            burst.send_raw(b''.join(lines))
            told = {json.loads(line)['id']: line for line in (burst.recv_line() for _ in range(30))}
            paths.update({f'in a burst, {n}': told[n] for n in (5, 15, 25)})
            paths['with a request'] = begin_line(conn, f'path {at}', request=request_id(), wait_ms=1000, bind=True)
            faults += [f'{what}: {line[:400]}' for what, line in paths.items() if part(result) not in line]
        is_(faults, [], f'case 25: {len(NASTY)} results come back as the same bytes on every path')
    daemon.kill()
    daemon.start().ready()
    with daemon.connect() as conn:
        faults = [line[:400] for at, result in enumerate(NASTY) if part(result) not in (line := begin_line(conn, f'path {at}'))]
        is_(faults, [], 'case 25: after a kill and a start, too')
        faults = []
        for at, result in enumerate(NASTY):
            again = record(conn, runs[at], result)
            if again.get('result') != {'state': 'done', 'outcome': 'succeeded', 'already': True}:
                faults.append((result, again))
        is_(faults, [], 'case 25: and the same record once more is already there')
    # cases 25 and 26: by the business key from the command line
    for at in (0, 1, 3, 5, 6, 9):
        out = daemon.ctl('get', '--tool', 't', '--key', f'path {at}', '--print', 'result')
        is_((out.returncode, out.stdout.encode().rstrip(b'\n')), (0, NASTY[at]), f'cases 25 and 26: effectctl get prints {NASTY[at][:20]!r}')
        ok(NASTY[at] in daemon.ctl('begin', '--tool', 't', '--key', f'path {at}', '--json').stdout.encode(), 'as begin does in its JSON')


def every_source(conn):
    """cases 22, 25, 111: whoever gave it, a result and its outcome are told as what they are."""
    for at, result in enumerate(NASTY[:8]):
        text = result.decode()
        # by an operator
        run = claim(conn, f'operator {at}', 'open')
        conn.call('unknown', **own_ids(run))
        answer = json.loads(exchange(conn, '{"jsonrpc":"2.0","id":1,"method":"resolve","params":{"effect":"%s","verdict":"%s","reason":"r","attempt":1,'
                                     '"state":"unknown","result":%s}}' % (run['effect'], 'failed' if at % 2 else 'landed', text)))
        is_(answer.get('result'), {'state': 'done'}, f'case 111: an operator\'s {text[:20]} is recorded')
        line = begin_line(conn, f'operator {at}', 'open')
        ok(part(result) in line and b'"by":"operator"' in line and (b'"failed"' if at % 2 else b'"succeeded"') in line, 'case 25: and replayed', line)
        # by the tool's own error that is final
        run = claim(conn, f'error {at}', 'final')
        is_(record(conn, run, result, b',"outcome":"error"').get('result'), {'state': 'done', 'outcome': 'failed', 'already': False},
            f'case 111: an error of {text[:20]} is recorded')
        line = begin_line(conn, f'error {at}', 'final')
        ok(part(result) in line and b'"outcome":"failed"' in line and b'"by":"caller"' in line, 'case 22: and replayed as a failure', line)
    # by a probe; a probe's line is read as strictly as a request's, but for its result
    for at, result in enumerate(NASTY[:8]):
        verdict = 'failed' if at % 2 else 'landed'
        PROBE.play(f"cat <<'EOF'\n{{\"verdict\":\"{verdict}\",\"result\":{result.decode()}}}\nEOF")
        run = claim(conn, f'probe {at}', 'judged')
        conn.call('unknown', **own_ids(run))
        row = wait_state(conn, run['effect'], 'done')
        line = begin_line(conn, f'probe {at}', 'judged')
        ok(part(result) in line and b'"by":"probe"' in line and row['outcome'] == ('failed' if at % 2 else 'succeeded'),
           f'cases 22, 25, 111: a probe\'s {verdict} with {result[:20]!r}', line)
    PROBE.says('inconclusive')
    # case 22: of the second attempt, by its number and its own time
    first = claim(conn, 'second', 'open')
    conn.call('release', **own_ids(first))
    second = claim(conn, 'second', 'open')
    conn.call('complete', **own_ids(second), outcome='failed', result='no')
    replays = [conn.call('begin', tool='open', key='second') for _ in range(3)]
    is_({(r['decision'], r['outcome'], r['attempt'], r['by'], r['result'], r['next']) for r in replays}, {('replay', 'failed', 2, 'caller', 'no', 'use_result')},
        'case 22: a failure of attempt 2 is replayed as that')
    is_({r['done_at'] for r in replays}, {conn.call('get', effect=second['effect'])['done_at']}, 'case 22: with its original time')
    ok(all('refused' in r['advice'] and 'do not run' in r['advice'] for r in replays), 'case 22: and a sentence that says so', replays[0]['advice'])


# ---- a mismatch before all else -------------------------------------------------------------------------------------

def mismatch_first(conn, daemon):
    """case 20: with everything that could lead elsewhere: a wait, a request, a binding, a lapse, a spent budget, an expired result."""
    def states():
        for state in ('pending', 'unknown', 'escalated', 'released', 'exhausted', 'done', 'failed'):
            tool = {'escalated': 'hand', 'exhausted': 'one', 'unknown': 'asks'}.get(state, 't')
            ask = {'tool': tool, 'key': f'first {state}', 'args': {'n': 1}, 'request': request_id()}
            run = conn.call('begin', ask)
            bring(conn, run, state)
            yield state, ask, run

    others = [{}, {'args': {}}, {'args': {'n': 2}}, {'args': {'n': '1'}}, {'args': {'n': 1, 'm': None}}, {'args': {'n': [1]}}, {'args': {'N': 1}}]
    for state, ask, run in states():
        same = {name: ask[name] for name in ('tool', 'key')}
        told = [conn.call('begin', {**same, **args, **more}) for args in others
                for more in ({}, {'wait_ms': 60000}, {'request': ask['request']}, {'bind': True}, {'owner': 'o', 'run': 'r', 'lease_ms': 1000, 'again': 'x'})]
        is_({(t['decision'], t['effect'], t['next']) for t in told}, {('mismatch', run['effect'], 'fix_request')}, f'case 20: {state}: a mismatch, whatever else is asked')
        ok(not any('token' in t or 'result' in t or 'outcome' in t for t in told), f'case 20: {state}: and nothing of the record is told')
        with daemon.connect() as burst:
            burst.send_raw(b''.join(Conn.line('begin', {**same, 'args': {'n': n % 2 + 1}}, n) for n in range(1, 20, 2)))
            is_({tell(burst.recv()) for _ in range(10)}, {'mismatch'}, f'case 20: {state}: in a burst')
    # no args are {}: the same payload
    run = claim(conn, 'no args')
    is_([conn.call('begin', tool='t', key='no args', **more)['decision'] for more in ({}, {'args': {}})], ['busy', 'busy'], 'case 20: no args and {} are one')
    is_(conn.call('complete', **own_ids(run))['state'], 'done', 'and its owner completes')


# ---- what is no success ---------------------------------------------------------------------------------------------

def errors(conn):
    """case 24: an error in every place, told once and again; never a success."""
    for tool, state, then in (('sure', 'released', 'run'), ('final', 'done', 'replay'), ('open', 'unknown', 'unknown')):
        run = claim(conn, 'told twice', tool)
        answers = [record(conn, run, b'{"status":403,"isError":true}', b',"outcome":"error"')['result'] for _ in range(2)]
        is_([a['state'] for a in answers], [state] * 2, f'case 24: {tool}: an error told twice is what it was')
        if 'already' in answers[0]:
            is_([a['already'] for a in answers], [False, True], 'and the second one is already there')
        again = conn.call('begin', tool=tool, key='told twice')
        is_((again['decision'], again.get('outcome')), (then, 'failed' if then == 'replay' else None), f'case 24: {tool}: {then}, and never a success')
        # after the lease
        run = claim(conn, 'too late', tool, lease_ms=1000)
        wait_state(conn, run['effect'], 'unknown')
        is_(conn.call('complete', **own_ids(run), outcome='error', result=1)['state'], state, f'case 24: {tool}: after its lease, too')
        # with a token of a former attempt, or of nobody
        old = claim(conn, 'former', tool)
        conn.call('release', **own_ids(old))
        new = claim(conn, 'former', tool)
        error = conn.error('complete', **own_ids(old), outcome='error', result=1)
        is_((error['data']['state'], state_of(conn, new['effect'])), ('pending', 'pending'), f'case 24: {tool}: of a former attempt it moves nothing')
        is_(conn.error('complete', effect=new['effect'], token=request_id(), outcome='error')['data']['name'], 'not_owner', 'nor of a stranger')
        # the truth may still come
        if tool != 'final':
            run = claim(conn, 'after all', tool)
            conn.call('complete', **own_ids(run), outcome='error', result='time-out')
            is_(conn.call('complete', **own_ids(run), result='it had landed')['state'], 'done', f'case 24: {tool}: a success that comes later is recorded')
            is_(conn.call('begin', tool=tool, key='after all')['result'], 'it had landed', 'and replayed')
    # within the budget, and no further
    told = []
    for _ in range(4):
        answer = conn.call('begin', tool='sure', key='budget')
        told.append(answer['decision'])
        if answer['decision'] == 'run':
            conn.call('complete', **own_ids(answer), outcome='error', result={'isError': True})
    is_(told, ['run', 'run', 'run', 'exhausted'], 'case 24: an error that means not executed runs again within its budget')


def time_outs(conn):
    """case 29: a gateway's time-out stays open, however often and whatever is asked of it."""
    run = claim(conn, '504', 'open')
    answers = [conn.call('unknown', **own_ids(run), reason=f'504, {n}') for n in range(3)]
    is_([a['state'] for a in answers], ['unknown'] * 3, 'case 29: unknown, told three times')
    told = [conn.call('begin', tool='open', key='504', **more) for more in ({}, {'wait_ms': 100}, {'request': request_id()}, {'bind': True})]
    is_({(t['decision'], t['next'], 'result' in t, 'outcome' in t, t['attempt']) for t in told}, {('unknown', 'wait', False, False, 1)},
        'case 29: no run and no replay, with or without a wait')
    error = conn.error('release', **own_ids(run), reason='it was only a time-out')
    is_((error['data']['name'], error['data']['state']), ('conflict', 'unknown'), 'case 29: its wrapper cannot take that back')
    is_(conn.error('extend', **own_ids(run))['data']['name'], 'not_owner', 'case 29: nor go on')
    is_(conn.call('resolve', effect=run['effect'], verdict='absent', reason='looked', attempt=1, state='unknown')['state'], 'released',
        'case 29: a person settles it')
    is_(conn.call('begin', tool='open', key='504')['decision'], 'run', 'and then it runs')


def alike(conn, daemon):
    """case 27: a holder's words alone and in a burst, in every state: the same answers, the same rows."""
    messages = [('complete', {'result': 1}), ('complete', {'outcome': 'failed', 'result': 2}), ('complete', {'outcome': 'error'}), ('release', {}),
                ('unknown', {'reason': 'x'}), ('extend', {'lease_ms': 400000})]
    cases = [(state, n) for state in ('pending', 'unknown', 'released', 'done', 'failed') for n in range(len(messages))]
    made = {}
    for how in ('alone', 'burst'):
        for state, n in cases:
            run = made[how, state, n] = claim(conn, f'{how} {state} {n}', 'open')
            if state == 'unknown':
                conn.call('unknown', **own_ids(run))
            elif state == 'released':
                conn.call('release', **own_ids(run))
            elif state in ('done', 'failed'):
                conn.call('complete', **own_ids(run), outcome='failed' if state == 'failed' else 'succeeded', result=1)

    def line(how, state, n, id_):
        method, more = messages[n]
        return Conn.line(method, {**own_ids(made[how, state, n]), **more}, id_)

    def plain(answer):
        return {name: value for name, value in answer.get('result', answer.get('error')).items() if name != 'lease_until'}

    alone = [plain(json.loads(exchange(conn, line('alone', state, n, 1)[:-1]))) for state, n in cases]
    with daemon.connect() as other:
        other.send_raw(b''.join(line('burst', state, n, at) for at, (state, n) in enumerate(cases)))
        burst = {answer['id']: plain(answer) for answer in (other.recv() for _ in cases)}
    faults = [(case, alone[at], burst[at]) for at, case in enumerate(cases) if alone[at] != burst[at]]
    is_(faults, [], f'case 27: {len(cases)} words of holders are answered in a burst as alone')

    def row(how, case):
        found = conn.call('get', effect=made[(how, *case)]['effect'])
        return found['state'], found.get('outcome'), found.get('result'), [(e['kind'], e.get('incident')) for e in found['events']]

    faults = [(case, row('alone', case), row('burst', case)) for case in cases if row('alone', case) != row('burst', case)]
    is_(faults, [], 'case 27: and leave the same rows and events')


# ---- K13: what cannot be held ---------------------------------------------------------------------------------------

def limits(conn):
    """case 114: at the limit and one byte beyond, for every outcome and source; size and hash are those of what came."""
    def told(key, tool, size, by, outcome='succeeded'):
        answer = conn.call('begin', tool=tool, key=key)
        want = ('replay', outcome, by, 'kept' if size <= 100 else 'omitted', size)
        is_((answer['decision'], answer['outcome'], answer['by'], answer['result_state'], answer['result_bytes']), want,
            f'case 114: {size} bytes of 100, {outcome} by {by}: {want[3]}')
        text = b'"' + b'x' * (size - 2) + b'"'
        is_((answer.get('result'), answer.get('result_sha256')),
            (json.loads(text), None) if size <= 100 else (None, hashlib.sha256(text).hexdigest()), 'with its hash where it is omitted')

    for size in (100, 101):
        value = 'x' * (size - 2)
        for outcome, then in (('succeeded', 'succeeded'), ('failed', 'failed'), ('error', 'failed')):
            run = claim(conn, f'{outcome} {size}', 'small')
            is_(conn.call('complete', **own_ids(run), outcome=outcome, result=value)['state'], 'done', f'case 114: {outcome} of {size} bytes is done')
            told(f'{outcome} {size}', 'small', size, 'caller', then)
            is_(conn.call('complete', **own_ids(run), outcome=outcome, result=value)['already'], True, 'and already there')
            is_(conn.error('complete', **own_ids(run), outcome=outcome, result=value[1:] + 'y')['data']['name'], 'conflict', 'another one is not')
        run = claim(conn, f'person {size}', 'small')
        conn.call('unknown', **own_ids(run))
        conn.call('resolve', effect=run['effect'], verdict='landed', reason='r', attempt=1, state='unknown', result=value)
        told(f'person {size}', 'small', size, 'operator')
        PROBE.says('landed', result=value)
        run = claim(conn, f'probed {size}', 'asks')
        conn.call('unknown', **own_ids(run))
        wait_state(conn, run['effect'], 'done')
        told(f'probed {size}', 'asks', size, 'probe')
    PROBE.says('inconclusive')
    # what is secret counts as it is stored, and is never part of a hash that is told
    run = claim(conn, 'secret', 'secret')
    is_(conn.call('complete', **own_ids(run), result={'card': '4' * 200, 'a': 1})['state'], 'done', 'case 114: a long secret is done')
    answer = conn.call('begin', tool='secret', key='secret')
    ok(answer['result_state'] in ('redacted', 'omitted') and '4' * 20 not in json.dumps(answer), 'case 114: and not told', answer)


def depth(conn, daemon):
    """case 115: depth costs no stack, wherever it stands, and harms nobody."""
    for at, (open_, close) in enumerate(((b'[', b']'), (b'{"a":', b'}'), (b'[{"":', b'}]'))):
        run = claim(conn, f'deep {at}')
        n = 900000 // len(open_ + close)
        result = open_ * n + b'1' + close * n
        is_(record(conn, run, result).get('result', {}).get('state'), 'done', f'case 115: a result that nests {n} deep is recorded')
        ok(part(result) in begin_line(conn, f'deep {at}'), 'and replayed')
    bad = [b'[' * 1048000, b'{"a":' * 200000, b'{"jsonrpc":"2.0","id":1,"method":"begin","params":' + b'{"args":' * 100000,
           b'{"jsonrpc":"2.0","id":' + b'[' * 100000 + b']' * 100000 + b',"method":"info"}',
           b'{"jsonrpc":"2.0","id":1,"x":' + b'[' * 70 + b']' * 70 + b',"method":"info"}',
           b'{"jsonrpc":"2.0","id":1,"method":"complete","params":{"result":' + b'[' * 500000 + b'}}']
    for text in bad:
        with daemon.connect() as other:
            answer = json.loads(exchange(other, text))
            is_((answer['id'], answer['error']['code']), (None, -32700), f'case 115: {text[:50]!r}..., {len(text)} bytes: -32700')
            is_(json.loads(exchange(other, Conn.line('info', {}, 5)[:-1]))['id'], 5, 'and the connection is of use')
    ok(daemon.running(), 'case 115: the daemon lives')


def texts(conn):
    """cases 111 and 113: what PostgreSQL cannot hold is refused where it names something, and kept where it is the truth."""
    for text in ('a\\u0000b', 'a\\ud800b', '\\udc00', 'a\\ud800\\u0041'):
        for member in ('key', 'tool', 'run', 'step', 'turn', 'owner', 'call'):
            params = {'tool': '"t"', 'key': '"k"', member: f'"{text}"'}
            line = '{"jsonrpc":"2.0","id":1,"method":"begin","params":{' + ','.join(f'"{name}":{value}' for name, value in params.items()) + '}}'
            error = json.loads(exchange(conn, line)).get('error', {})
            if (error.get('code'), error.get('data', {}).get('pointer')) != (-32602, f'/{member}'):
                ok(False, f'case 111: {member} of {text} is refused', error)
        run = claim(conn, f'reason {text}')
        error = json.loads(exchange(conn, '{"jsonrpc":"2.0","id":1,"method":"unknown","params":{"effect":"%s","token":"%s","reason":"%s"}}' %
                                    (run['effect'], run['token'], text)))['error']
        is_((error['code'], error['data']['pointer'], state_of(conn, run['effect'])), (-32602, '/reason', 'pending'), f'case 111: a reason of {text} is refused')
    random = os.urandom(7680).hex()
    for what, text in (('random', random[:10240]), ('of one letter', 'a' * 10240), ('of 256 bytes', 'k' * 256)):
        for method, member in (('begin', 'key'), ('get', 'key'), ('key', 'key'), ('begin', 'run'), ('begin', 'owner')):
            error = conn.error(method, {'tool': 't', 'key': 'k', member: text})
            if (error['code'], error['data']['pointer']) != (-32602, f'/{member}'):
                ok(False, f'case 113: {method}: a {member} {what}', error)
        is_(conn.error('list', key_prefix=text)['code'], -32602, f'case 113: a key {what} is refused everywhere')
    keys = [random[:255], 'a' * 255, 'é' * 127 + 'x', '\U0001f600' * 63 + 'abc']
    is_([name_of(conn, 'begin', tool='t', key=key) for key in keys for _ in range(2)], ['run', 'busy'] * 4, 'case 113: 255 bytes are held, of whatever kind')
    is_([conn.call('list', key_prefix=key)['effects'][0]['key'] for key in keys], keys, 'and found')
    derived = [conn.call('key', tool='nobody', run=text, step='s', args={})['key'] for text in (random[:255], 'a' * 255, random[:255] , 'a' * 254)]
    is_((len(set(derived)), {len(key) <= 255 for key in derived}), (3, {True}), 'case 113: derived keys are cut, and stay apart')


# ---- K11: the memory ends when it was said to ----------------------------------------------------------------------

def forgotten(conn, cluster):
    """case 93: 60 s from the end, whoever brought it about: known just before, run anew just after, and always as was told."""
    def at(instant_ms, seconds):
        """The ledger's clock is now so long after that instant."""
        ahead = instant_ms / 1000 + seconds - time.time()
        cluster.psql("create or replace function effect.now() returns timestamptz language sql volatile parallel safe "
                     f"as $$ select pg_catalog.clock_timestamp() + interval '{ahead:.3f} seconds' $$")

    ends = {'succeeded': lambda run: conn.call('complete', **own_ids(run), result=1),
            'failed': lambda run: conn.call('complete', **own_ids(run), outcome='failed', result=1),
            'landed': lambda run: conn.call('unknown', **own_ids(run)) and conn.call(
                'resolve', effect=run['effect'], verdict='landed', reason='r', attempt=1, state='unknown', result=1),
            'extended': lambda run: conn.call('extend', **own_ids(run), lease_ms=120000) and conn.call('complete', **own_ids(run), result=1),
            'released': lambda run: conn.call('release', **own_ids(run))}
    runs = {how: claim(conn, f'{how} minute', 'minute') for how in ends}
    for how, end in ends.items():
        end(runs[how])
    told = {how: [runs[how]['protected_until'], conn.call('get', effect=runs[how]['effect'])['protected_until']] for how in ends}
    ok(all(later >= first for first, later in told.values()), 'case 93: the protection that is told never shrinks', told)
    end_ms = max(ms_of(later) for _, later in told.values()) - 60000
    at(end_ms, 56)
    answers = {how: conn.call('begin', tool='minute', key=f'{how} minute') for how in ends if how != 'released'}
    is_({how: (a['decision'], a['outcome'], a['protected_until']) for how, a in answers.items()},
        {how: ('replay', 'failed' if how == 'failed' else 'succeeded', told[how][1]) for how in answers}, 'case 93: just before it is over each is replayed')
    is_(conn.call('get', effect=runs['released']['effect'])['state'], 'released', 'case 93: and what was released is remembered as that')
    at(end_ms, 61)
    is_({name_of(conn, 'get', effect=run['effect']) for run in runs.values()}, {'not_found'}, 'case 93: just after it is not found')
    answers = {how: conn.call('begin', tool='minute', key=f'{how} minute', args={'other': how}) for how in ends}
    is_({how: (a['decision'], a['attempt'], a['effect']) for how, a in answers.items()}, {how: ('run', 2, runs[how]['effect']) for how in ends},
        'case 93: and runs anew, with other args too, under the next number')
    is_({conn.error('complete', **own_ids(run), result=2)['data']['name'] for run in runs.values()}, {'conflict'}, 'case 93: a token of before is none of now')
    is_({state_of(conn, run['effect']) for run in runs.values()}, {'pending'}, 'and moves nothing')
    at(time.time() * 1000, 0)


with Cluster() as cluster, Daemon(cluster, config=CONFIG, tools=TOOLS) as daemon:
    daemon.ready()
    with Daemon(cluster, config=CONFIG, tools=TOOLS) as other:
        every_path(daemon, other.ready(), cluster)
    with daemon.connect() as conn:
        every_source(conn)
        mismatch_first(conn, daemon)
        errors(conn)
        time_outs(conn)
        alike(conn, daemon)
        limits(conn)
        depth(conn, daemon)
        texts(conn)
        forgotten(conn, cluster)
    is_(cluster.invariants(), [], 'no invariant is broken')
done()
