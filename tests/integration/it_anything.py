#!/usr/bin/python3
"""Anything at all, from many connections at once: every line that asks is answered once, by a result or an error of the page; never is
it a bug of the daemon, nobody is served worse for it, and the books are right afterwards. From a printed seed."""
import collections
import json
import random

from harness import *
from talk import *

N_ROUNDS = rounds_of(120, 3000)
N_CONNS = 8
N_LINES = 12  # of one connection in one round
CODES = {-32700: 'parse_error', -32600: 'invalid_request', -32601: 'unknown_method', -32602: 'invalid_params', -32001: 'unavailable', -32003: 'denied',
         -32004: 'not_found', -32005: 'not_owner', -32006: 'overloaded', -32008: 'conflict'}
PROBE = Script()
NOBODY = '00000000-0000-8000-8000-000000000000'
TOOLS = [{'name': 't', 'max_attempts': 2, 'escalate_after': '1s', 'lease': '1s', 'keep': ['/a'], 'keep_result': '1s', 'keep_key': '2s'},
         {'name': 'key', 'key': 'k:{/a}', 'ignore': ['/b'], 'secret': ['/c'], 'result_secret': ['/c'], 'on_error': 'released', 'escalate_after': '1h'},
         {'name': 'read', 'class': 'read'}, {'name': 'final', 'on_error': 'failed', 'result_max': 20, 'escalate_after': '0s'}, PROBE.policy('asks')]
MEMBERS = {'begin': 'tool key args namespace run step turn call owner request lease_ms wait_ms deadline_ms bind again', 'key': 'tool key args namespace run step turn',
           'complete': 'effect token outcome result omitted', 'release': 'effect token reason', 'unknown': 'effect token reason', 'extend': 'effect token lease_ms',
           'get': 'effect tool key args run step events', 'list': 'state tool namespace key_prefix older_than_ms limit cursor incidents',
           'resolve': 'effect verdict reason attempt state result evidence', 'probe': 'effect tool apply', 'tools': '', 'info': ''}
NEEDED = {'begin': 'tool key', 'key': 'tool key', 'complete': 'effect token', 'release': 'effect token', 'unknown': 'effect token', 'extend': 'effect token',
          'get': 'effect', 'resolve': 'effect verdict reason attempt state', 'probe': 'effect'}
ODD = ['null', 'true', '0', '-0', '1.0', '1e400', '-1', '9007199254740993', '0.5', '1e-400', '""', '"\\u0000"', '"\\ud800"', '"' + 'x' * 300 + '"', '[]', '{}', '[{}]',
       '{"a":1,"a":2}', '{"a":{"b":[1,{"c":null}]}}', '"é\U0001f600"', '"a\\nb"', '18446744073709551616', '[' * 70 + ']' * 70, '"%_\\\\"', '"default"', '{"c":"x"}']
GOOD = {
    'tool': ['"t"', '"key"', '"read"', '"final"', '"asks"', '"nobody"'], 'key': [], 'args': ['{}', '{"a":1}', '{"a":"1","b":2}', '{"c":{"d":1}}'],
    'namespace': ['"default"'], 'run': ['"r"', '1'], 'step': ['"s"', '2'], 'turn': ['3'], 'call': ['"c"'], 'owner': ['"o"'], 'lease_ms': ['1000', '60000', 'null'],
    'wait_ms': ['0', '50', '300'], 'deadline_ms': ['1', '100', '5000'], 'bind': ['true', 'false'], 'again': ['"because"'], 'outcome': ['"succeeded"', '"failed"', '"error"'],
    'result': ['1', '"x"', '{"c":1.50}', '[1e400,"\\ud800","\\u0000"]', '"' + 'y' * 100 + '"', '{"a":1,"a":2}', '[' * 200 + ']' * 200],
    'omitted': ['{"bytes":5,"sha256":"' + 'ab' * 32 + '"}'], 'reason': ['"why"'], 'events': ['0', '5', '1000'], 'state': ['"pending"', '"unknown"', '"escalated"', '"released"', '"done"'],
    'key_prefix': ['"k"'], 'older_than_ms': ['0', '1000'], 'limit': ['1', '1000'], 'cursor': ['"0006617a363bc853-05b65941-e5ba-8ca6-825a-ee292e947c4c"', '"0006617a363bc853-0000000000000007"'],
    'incidents': ['true', 'false'],
    'apply': ['true', 'false'], 'verdict': ['"landed"', '"failed"', '"absent"'], 'attempt': ['1', '2'], 'evidence': ['"seen"'],
}
FRAMES = ['', ' ', '[]', '{}', 'null', '{"jsonrpc":"2.0"', '\ufeff{}', '[{"jsonrpc":"2.0","id":1,"method":"info"}]', '{"jsonrpc":"2.0","method":"begin","params":{"tool":"t","key":"silent"}}']


class Known:
    """What was told, to be used again by anybody."""

    def __init__(self):
        self.ids = [{'effect': f'"{NOBODY}"', 'token': f'"{NOBODY}"'}]
        self.tally = collections.Counter()
        self.requests = [f'"{request_id()}"' for _ in range(4)]

    def learn(self, answer):
        result = answer.get('result')
        if isinstance(result, dict) and 'token' in result:
            self.ids.append({name: f'"{result[name]}"' for name in ('effect', 'token')})
            del self.ids[1:-40]


def a_line(known, id_):
    """(text, how many answers): a request with members of any kind, mostly whole."""
    if random.random() < 0.05:
        text = random.choice(FRAMES)
        return text, 0 if not text.strip() or '"silent"' in text else 1
    method = random.choice(list(MEMBERS)) if random.random() < 0.4 else random.choice(['begin', 'begin', 'complete', 'release', 'unknown', 'resolve'])
    names = NEEDED.get(method, '').split() if random.random() < 0.95 else []
    names += [name for name in MEMBERS[method].split() if name not in names and random.random() < 0.15]
    if random.random() < 0.03:
        names.append(random.choice(['wibble', 'token', 'result', 'Tool', 'args']))
    ids, members = random.choice(known.ids), []
    for name in names:
        value = ids.get(name) or (random.choice(known.requests) if name == 'request' else random.choice(GOOD.get(name, ODD)))
        members.append(f'"{name}":{random.choice(ODD) if random.random() < 0.04 else value}')
    params = '{' + ','.join(members) + '}' if random.random() < 0.99 else random.choice(ODD)
    return f'{{"jsonrpc":"2.0","id":{id_},"method":"{method}","params":{params}}}', 1


def what_is_wrong(answer, ids):
    if answer.get('jsonrpc') != '2.0' or ('result' in answer) == ('error' in answer) or answer['id'] not in ids:
        return True
    error = answer.get('error')
    return error and (CODES.get(error['code']) != error['data'].get('name') or not error['message'] or error['message'] != error['message'].strip())


def one_round(conns, daemon, known, base):
    """Each connection writes its lines at once; each answer is read. Some leave instead."""
    wrong, expected = [], []
    # new keys come all the time, as old ones end
    GOOD['key'] = [f'"k{base // N_LINES // 4 * 6 + n}"' for n in range(12)] + ['"é"']
    for at, conn in enumerate(conns):
        lines = [a_line(known, base + n) for n in range(N_LINES)]
        conn.send_raw('\n'.join(text for text, _ in lines).encode('utf-8', 'surrogatepass') + b'\n')
        if random.random() < 0.03:
            random.choice((conn.close, conn.reset))()
            conns[at], lines = daemon.connect(), []
        expected.append(sum(n for _, n in lines))
    for conn, n in zip(conns, expected):
        for _ in range(n):
            line = conn.recv_line()
            answer = json.loads(line)
            known.learn(answer)
            told = answer.get('result', answer.get('error', {}).get('data'))
            known.tally[told.get('decision') or told.get('name') or told.get('state') or 'other'] += 1
            if what_is_wrong(answer, {None, *range(base, base + N_LINES)}):
                wrong.append(line[:600])
    for conn in conns:
        conn.send_raw(Conn.line('info', {}, 'last')[:-1] + b'\n')
        line = conn.recv_line()
        if json.loads(line)['id'] != 'last':
            wrong.append(b'one answer too many: ' + line[:600])
    return wrong


seed()
PROBE.play('case $(($$ % 4)) in 0) echo \'{"verdict":"landed","result":1}\';; 1) echo \'{"verdict":"absent"}\';; 2) echo \'{"verdict":"failed"}\';; esac')
with Cluster() as cluster, Daemon(cluster, config={'log_calls': False, 'sweep_interval': '50ms'}, tools=TOOLS) as the_daemon:
    the_daemon.ready()
    the_known, the_conns, faults = Known(), [the_daemon.connect() for _ in range(N_CONNS)], []
    for number in range(N_ROUNDS):
        faults += one_round(the_conns, the_daemon, the_known, number * N_LINES)
    is_(faults[:5], [], f'{N_ROUNDS * N_CONNS * N_LINES} lines of any kind are answered once, each by what the page has')
    note(dict(the_known.tally.most_common()))
    for conn_ in the_conns:
        conn_.close()
    is_(the_daemon.grep('internal error| bug'), [], 'and none was a bug')
    much = {'run', 'busy', 'replay', 'mismatch', 'pass', 'done', 'released', 'unknown', 'conflict', 'not_owner', 'not_found', 'invalid_params'}
    is_(much - set(the_known.tally), set(), 'and nearly everything was told')
    with the_daemon.connect() as conn_:
        is_(conn_.call('begin', tool='t', key='after all')['decision'], 'run', 'it serves as before')
    is_(cluster.invariants(), [], 'no invariant is broken')
    is_(the_daemon.stop(), 0, 'and it ends in order')
done()
