#!/usr/bin/python3
"""effectctl against a peer that plays the daemon badly: lost connections, late grants, hostile words, odd answers. What a
real daemon cannot be made to do at will; everything else about effectctl stands in it_effectctl.py."""
import hashlib
import json
import subprocess
import threading
import time

from harness import *
from peer import *

TOKEN = '9b1e4c1d-5f0a-4a3e-8d55-aa00bb11cc22'
RUN = {'decision': 'run', 'next': 'execute', 'advice': 'Do it now.', 'effect': EFFECT, 'key': 'k', 'attempt': 1, 'token': TOKEN,
       'lease_until': '2026-01-01T00:01:00.000Z', 'lease_ms': 60000, 'provider_key': EFFECT,
       'protected_until': '2026-02-01T00:00:00.000Z', 'on_error': 'unknown'}
UNAVAILABLE = error(-32001, 'unavailable', retry_after_ms=50)


def asking_again():
    peer = Peer(HANG_UP, HANG_UP, RUN)
    out = peer.ctl('begin', '--tool', 't', '--key', 'k')
    is_(out.returncode, 0, 'begin asks again after a lost connection and gets its run')
    is_(len(set(peer.lines)), 1, 'the line that is sent again is the same to the byte')
    is_(len(peer.lines), 3, 'it was sent three times')
    like(peer.requests()[0]['params']['request'], r'^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-', 'with a request id of its own')
    first = peer.requests()[0]['params']['request']
    peer.ctl('begin', '--tool', 't', '--key', 'k')
    isnt(peer.requests()[-1]['params']['request'], first, 'the next call of begin has another one')

    peer = Peer(UNAVAILABLE, UNAVAILABLE, RUN)
    is_(peer.ctl('begin', '--tool', 't').returncode, 0, 'begin asks again after unavailable')
    is_(len(set(peer.lines)), 1, 'with the same request')

    peer = Peer(UNAVAILABLE)
    started = time.monotonic()
    out = peer.ctl('begin', '--tool', 't', '--deadline', '400ms')
    is_(out.returncode, 69, 'past its deadline begin says unavailable')
    ok(0.3 < time.monotonic() - started < 3 * SLOW, 'and that not long after it')
    ok(len(peer.lines) > 2, 'having asked more than twice', len(peer.lines))
    like(out.stderr, 'do not run the call', 'and that the call must not be run')
    is_(out.stdout, '', 'with nothing on standard output')

    peer = Peer(error(-32603, 'internal'))
    is_(peer.ctl('begin', '--tool', 't').returncode, 70, 'a bug of the daemon is 70')
    is_(len(peer.lines), 1, 'and is not asked again')

    peer = Peer(RUN, listen=False)
    started = time.monotonic()
    is_(peer.ctl('begin', '--tool', 't').returncode, 69, 'begin without a daemon is 69')
    ok(time.monotonic() - started < 3 * SLOW, 'at once, as nothing can have been claimed')

    peer = Peer({'state': 'done', 'outcome': 'succeeded', 'already': False}, listen=False)
    box = []
    thread = threading.Thread(target=lambda: box.append(peer.ctl('complete', EFFECT, '--token', TOKEN, '--result', '1')))
    thread.start()
    started = time.monotonic()
    wait_until(lambda: time.monotonic() - started > 0.3, 5, 'effectctl has found nobody a few times')
    peer.listen()
    thread.join()
    is_(box[0].returncode, 0, 'complete waits for a daemon that is only being restarted')

    peer = Peer(HANG_UP)
    is_(peer.ctl('get', EFFECT).returncode, 69, 'a read whose connection is lost is 69')
    is_(len(peer.lines), 1, 'and is left to the user')


def late(lease_ms, after_s, **more):
    def answer(_request):
        started = time.monotonic()
        wait_until(lambda: time.monotonic() - started > after_s, after_s + 5)
        return {**RUN, 'lease_ms': lease_ms, **more}
    return answer


def freshness():
    peer = Peer(late(150, 0.3), {'state': 'released', 'already': False})
    out = peer.ctl('--json', 'begin', '--tool', 't')
    is_(out.returncode, 76, 'a run that came later than its lease is not told as run')
    is_(json.loads(out.stdout)['decision'], 'unknown', 'but as unknown')
    ok(TOKEN not in out.stdout, 'without its token')
    is_(peer.requests()[-1]['method'], 'release', 'and the claim is given back')
    is_(peer.requests()[-1]['params']['token'], TOKEN, 'by its token')
    peer = Peer(late(150, 0.3, waited_ms=60000))
    is_(peer.ctl('begin', '--tool', 't').returncode, 0, 'what was spent waiting for another does not count')
    peer = Peer({name: value for name, value in RUN.items() if name != 'lease_ms'}, {'state': 'released', 'already': False})
    is_(peer.ctl('begin', '--tool', 't').returncode, 76, 'a run without a lease is not fresh')


def exit_codes():
    replay = {'decision': 'replay', 'next': 'use_result', 'advice': 'Use it.', 'effect': EFFECT, 'key': 'k', 'attempt': 2,
              'outcome': 'succeeded', 'result': {'a': 1}, 'result_state': 'kept', 'done_at': '2026-01-01T00:00:00.000Z', 'by': 'caller'}
    decisions = [({'decision': 'pass', 'next': 'execute', 'advice': '.', 'class': 'read'}, 0), (replay, 10),
                 ({**replay, 'outcome': 'failed'}, 11)]
    decisions += [({'decision': word, 'next': 'x', 'advice': '.'}, code) for word, code in
                  [('busy', 75), ('mismatch', 79), ('unknown', 76), ('escalated', 76), ('exhausted', 80), ('held', 81), ('perhaps', 70)]]
    for answer, code in decisions:
        peer = Peer(answer)
        is_(peer.ctl('begin', '--tool', 't').returncode, code, f'begin: {answer["decision"]} {answer.get("outcome", "")} is {code}')
        is_(peer.ctl('call', 'begin', '{}').returncode, code, f'call begin: so too')
    for wire, name, code in [(-32700, 'parse_error', 65), (-32600, 'invalid_request', 65), (-32601, 'unknown_method', 65),
                             (-32602, 'invalid_params', 65), (-32603, 'internal', 70), (-32003, 'denied', 77),
                             (-32004, 'not_found', 83), (-32005, 'not_owner', 84), (-32006, 'overloaded', 75),
                             (-32008, 'conflict', 84), (-32001, 'unavailable', 69)]:
        peer = Peer(error(wire, name, pointer='/x', why='it must not'))
        out = peer.ctl('get', EFFECT)
        is_(out.returncode, code, f'{name} is {code}')
        if name == 'invalid_params':
            is_(out.stderr, 'effectctl: invalid_params: /x: it must not\n', 'invalid params by member and rule')
        else:
            is_(out.stderr, f'effectctl: {name}: no\npointer: /x\nwhy: it must not\n', f'{name} is told on standard error')
        out = peer.ctl('get', EFFECT, '--json')
        is_((out.returncode, json.loads(out.stdout)['error']['data']['name']), (code, name), f'{name} as JSON')
        is_(json.loads(out.stdout)['schema'], 'effectctl.error/1', f'{name} under its schema')
    # case 22: a replayed failure does not look like a fresh one
    out = Peer({**replay, 'outcome': 'failed'}).ctl('begin', '--tool', 't')
    like(out.stderr, 'this is a replay, nothing was run: attempt 2 failed at 2026-01-01T00:00:00.000Z', 'a replayed failure says what it is')
    like(out.stdout, '^decision: replay\n', 'first of all')
    for garbage in [b'hello\n', b'{}\n', b'{"result":1,"error":2}\n', b'[]\n', b'\n']:
        is_(Peer(garbage).ctl('get', EFFECT).returncode, 70, f'{garbage!r} is no answer of a daemon')
    with open('/dev/full', 'w', encoding='ascii') as full:
        done_ = subprocess.run([program('effectctl'), '-s', Peer(RUN).path, 'begin', '--tool', 't'], stdout=full, stderr=subprocess.DEVNULL,
                               check=False)
    is_(done_.returncode, 70, 'a run that could not be written is no success')


def hostile_words():
    answers = {
        'get': {'effect': EFFECT, 'key': HOSTILE, 'owner': HOSTILE, 'state': 'pending', 'attempt': 1,
                'claimed_at': '2026-01-01T00:00:00.000Z', 'kept': {HOSTILE: HOSTILE},
                'events': [{'at': HOSTILE, 'kind': HOSTILE, 'by': HOSTILE, 'reason': HOSTILE, 'attempt': 1, 'incident': True}]},
        'begin': {**RUN, 'key': HOSTILE, 'advice': HOSTILE},
        'list': {'effects': [{'effect': EFFECT, 'state': HOSTILE, 'tool': HOSTILE, 'key': HOSTILE, 'owner': HOSTILE}],
                 'cursor': HOSTILE},
        'tools': {'tools': [{'name': HOSTILE, 'namespace': HOSTILE, 'findings': [{'code': HOSTILE, 'pointer': HOSTILE, 'text': HOSTILE}]}]},
        'info': {'version': HOSTILE, 'ready': True, 'database': {'state': HOSTILE, 'error': HOSTILE}, 'limits': {HOSTILE: 1},
                 'peer': {'namespaces': [{'name': HOSTILE, 'roles': [HOSTILE]}]}},
        'key': error(-32602, HOSTILE, HOSTILE, why=HOSTILE, pointer=HOSTILE),
    }
    peer = Peer(lambda request: answers[request['method']])
    for words in (['get', EFFECT], ['explain', EFFECT], ['begin', '--tool', 't'], ['list'], ['tools', 'list'], ['status'], ['key']):
        out = peer.ctl(*words, env={'LC_ALL': 'C.UTF-8'})
        printed = out.stdout + out.stderr
        ok(not any(c in printed for c in '\x1b\x07\r\x9b\u202e\u200b'), f'{" ".join(words[:2])}: no hostile character is printed raw', printed)
        ok('\nstate: done' not in printed, f'{" ".join(words[:2])}: no value fakes a line')
        like(printed, r'\\x1b\[2J|\\u001b\[2J', f'{" ".join(words[:2])}: it is seen, escaped')
    out = peer.ctl('get', EFFECT, env={'LC_ALL': 'C'})
    ok(out.stdout.isascii(), 'in a locale without UTF-8 only ASCII is printed')


def results():
    # case 25 for the command line: the bytes of a replay go through as they are
    raw = '{"b":1.0,"a":1e2,"c":"\\u003c\\u0000", "a":12345678901234567890,\u200b"u":"\u200b\u009b"}'.replace(',\u200b', ',')
    line = ('{"jsonrpc":"2.0","id":1,"result":{"effect":"%s","key":"k","result":%s,"state":"done"}}\n' % (EFFECT, raw)).encode()
    peer = Peer(line)
    is_(peer.ctl('get', EFFECT, '--print', 'result').stdout, raw + '\n', 'get --print result prints the bytes that were recorded')
    is_(peer.ctl('get', EFFECT, '--print', 'key').stdout, 'k\n', '--print of a text prints it without quotes')
    is_(peer.ctl('get', EFFECT, '--print', 'owner').stdout, '', '--print of what is absent prints nothing')
    ok(('"result":' + raw) in peer.ctl('--json', 'get', EFFECT).stdout, 'and so does --json')
    is_(peer.ctl('--json', 'get', EFFECT).stdout[:40], '{"schema":"effectctl.get/1","effect":"6f', 'spliced in under the schema')
    seen = terminal([program('effectctl'), '-s', peer.path, 'get', EFFECT, '--print', 'result'])
    ok('\u009b' not in seen and '\\u009b' in seen, 'on a terminal it is escaped, and still the same JSON', seen)
    is_(peer.ctl('call', 'get').stdout, line.decode()[len('{"jsonrpc":"2.0","id":1,"result":'):-2] + '\n', 'call prints the result as it came')

    def daemon(request):
        if request['method'] == 'info':
            return {'limits': {'max_line': 10000}}
        return {'state': 'done', 'outcome': 'succeeded', 'already': False}
    peer = Peer(daemon)
    big = '"' + 'x' * 20000 + '"'
    is_(peer.ctl('complete', EFFECT, '--token', TOKEN, '--result', '-', stdin=big).returncode, 0, 'a result longer than a line is recorded')
    sent = peer.requests()[-1]['params']
    is_(sent.get('omitted', {}).get('bytes'), 20002, 'by its size')
    is_(sent['omitted']['sha256'], hashlib.sha256(big.encode()).hexdigest(), 'and its hash')
    ok('result' not in sent, 'without its text')
    peer.ctl('complete', EFFECT, '--token', TOKEN, '--result', '-', stdin='{\n"a": 1e2\n}\n')
    ok(b'"result":{ "a": 1e2 }' in peer.lines[-1], 'a result goes out as it was given, but for line breaks', peer.lines[-1])


def lists():
    def page(request):
        cursor = request['params'].get('cursor')
        return {'effects': [{'effect': EFFECT, 'key': f'key {cursor}', 'state': 'done', 'outcome': 'failed', 'tool': 't', 'attempt': 3}],
                'cursor': {None: 'a', 'a': 'b', 'b': None}[cursor]}
    peer = Peer(page)
    out = peer.ctl('list', '--all', '--state', 'done')
    is_([r['params'].get('cursor') for r in peer.requests()], [None, 'a', 'b'], 'list --all follows the cursors')
    ok(all(r['params']['state'] == 'done' for r in peer.requests()), 'with its filters')
    is_([line.split()[3] for line in out.stdout.splitlines()[1:]], ['None', 'a', 'b'], 'into one table')
    like(out.stdout, r'^STATE +TOOL +KEY +TRY +CLAIMED +OWNER +EFFECT *\nfailed ', 'with an outcome where there is one')
    answer = json.loads(peer.ctl('list', '--all', '--json').stdout)
    is_((len(answer['effects']), answer['cursor']), (3, None), 'and into one JSON object')
    out = peer.ctl('list')
    like(out.stderr, '--cursor a', 'without --all it says how to go on')
    is_(Peer({'effects': [], 'cursor': None}).ctl('list').returncode, 0, 'an empty list is fine')


def status():
    info = {'version': '1', 'protocol': 1, 'schema_version': 1, 'uptime_ms': 3723000, 'ready': False,
            'database': {'state': 'down', 'since': '2026-01-01T00:00:00.000Z', 'error': 'connection refused'},
            'limits': {'max_line': 1048576}, 'open': {'pending': 1, 'unknown': 2, 'escalated': 3},
            'peer': {'uid': 1, 'gid': 2, 'pid': 3, 'namespaces': [{'name': 'default', 'roles': ['wrapper', 'operator']}]}}
    out = Peer(info).ctl('status')
    is_(out.returncode, 69, 'status is 69 while the ledger is down')
    for pattern in ['up 1 h 2 min, not ready', 'ledger +down since 2026', 'error +connection refused', 'pending +1\n', 'unknown +2\n', 'escalated +3\n',
                    'rights +default: wrapper operator', 'max_line 1048576']:
        like(out.stdout, pattern, f'status says {pattern}')
    is_(Peer({**info, 'ready': True}).ctl('status').returncode, 0, 'and 0 when all is well')


asking_again()
freshness()
exit_codes()
hostile_words()
results()
lists()
status()
done()
