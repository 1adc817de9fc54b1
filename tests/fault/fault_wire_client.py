#!/usr/bin/python3
"""The wire between client and daemon, cut at every byte of a begin's and a complete's request and answer, in every way (every 7th,
one way each, in tests/run), and silent on either side. The client asks again: a line without its LF was no request, what was
told to nobody is told again, what may have been read is busy, and never is there a second run."""
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *
from proxy import DOWN, UP, Cut, LineProxy, Slow
from wire import PAY, Tally, begin_params, claim_of, until_told, word_of

STEP = rounds_of(7, 1)
CUTS = ('close', 'reset', 'half')
RESULT = {'receipt': 're_1', 'n': 1.0}


class Wire:
    """The daemon, a proxy before it, and what was told for which effect."""

    def __init__(self, daemon):
        self.daemon, self.direct = daemon, daemon.connect()
        self.proxy = LineProxy(folder(), daemon.socket)
        self.runs = {}  # (effect, attempt): the requests that were told run
        self.n = 0

    def key(self):
        self.n += 1
        return f'key {self.n}'

    def note(self, answer, params):
        if word_of(answer) == 'run':
            run = answer['result']
            self.runs.setdefault((run['effect'], run['attempt']), set()).add(params.get('request'))
        return answer

    def ask(self, params):
        told = until_told(self.direct, 'begin', params)
        self.note(told.answer, params)
        return told

    def through(self, rule, method, params):
        """Sends it on a connection of its own that the rule takes; the answer's line, or b'' if it did not come whole."""
        self.proxy.arm(rule)
        conn = Conn(self.proxy.path)
        line = conn.line(method, params, 1)
        try:
            conn.send_raw(line)
            answer = conn.recv_line()
        except (BrokenPipeError, ConnectionResetError):
            answer = b''
        wait_until(rule.fired.is_set, 10, 'the cut')
        conn.close()
        # a client that goes takes its connection with it
        wait_until(lambda: rule.link.closed, 10, 'the connection is gone')
        return answer

    def sizes(self, method, params):
        """How long request and answer are."""
        conn = self.daemon.connect()
        line = conn.line(method, params, 1)
        conn.send_raw(line)
        answer = conn.recv_line()
        conn.close()
        return {UP: len(line), DOWN: len(answer) + 1}, answer


def offsets(size):
    """Each byte in each way, or a part of that with both ends of it."""
    if STEP == 1:
        return [(byte, how) for byte in range(size + 1) for how in CUTS]
    picked = sorted({*range(random.randrange(STEP), size + 1, STEP), 0, size - 1, size})
    return [(byte, CUTS[n % 3]) for n, byte in enumerate(picked)] + [(size, how) for how in CUTS] + [(size - 1, how) for how in CUTS]


def begin_requests(w, size):
    """The request is cut: without its LF it is none."""
    t = Tally('the request of a begin is cut')
    for n, (byte, how) in enumerate(offsets(size)):
        params = begin_params(w.key().ljust(12))
        answer = w.through(Cut(None, UP, byte, how), 'begin', params)
        where = (byte, how)
        t.n += 1
        if answer:
            t.expect(byte == size and how == 'half' and word_of(w.note(decode(answer), params)) == 'run', (*where, answer))
            again = w.ask(params)
            t.expect(again.word == 'busy', (*where, again.answer))
            continue
        if byte < size and n % 2:
            # nobody holds it: whoever comes first is told
            other = {**params, 'request': request_id()}
            first, second = w.ask(other), w.ask(params)
            t.expect((first.word, first.result['attempt'], second.word) == ('run', 1, 'busy'), (*where, first.answer, second.answer))
            continue
        again, rival = w.ask(params), w.ask({**params, 'request': request_id()})
        attempts = (1,) if byte < size else (1, 2)  # what was claimed and told to nobody may have been given back
        t.expect(again.word == 'run' and again.result['attempt'] in attempts, (*where, again.answer))
        t.expect(rival.word == 'busy', (*where, rival.answer))
        t.took(again)
    ok(*t.verdict())


def begin_answers(w, size):
    """The answer is cut: what the daemon knows to be unread is told again, else it is busy for as long as the lease lasts."""
    t = Tally('the answer of a begin is cut')
    for byte, how in offsets(size):
        params = begin_params(w.key().ljust(12))
        answer = w.through(Cut(None, DOWN, byte, how), 'begin', params)
        t.n += 1
        if answer:
            w.note(decode(answer), params)
        t.expect(bool(answer) == (byte == size), (byte, how, answer))
        again, rival = w.ask(params), w.ask({**params, 'request': request_id()})
        want = 'run' if how == 'reset' and byte < size else 'busy'
        t.expect((again.word, again.result['attempt'], rival.word) == (want, 1, 'busy'), (byte, how, again.answer, rival.answer))
        t.took(again)
    ok(*t.verdict())


def completes(w, sizes):
    for way, name in ((UP, 'request'), (DOWN, 'answer')):
        t = Tally(f'the {name} of a complete is cut')
        for byte, how in offsets(sizes[way]):
            run = w.ask(begin_params(w.key().ljust(12)))
            params = {**claim_of(run), 'result': RESULT}
            answer = w.through(Cut(None, way, byte, how), 'complete', params)
            where = (way, byte, how)
            t.n += 1
            arrived = way == DOWN or byte == sizes[UP]
            t.expect(not answer or (arrived and decode(answer)['result'] == {'state': 'done', 'outcome': 'succeeded', 'already': False}),
                     (*where, answer))
            if not arrived:
                state = w.direct.call('get', effect=run.result['effect'])['state']
                t.expect(state == 'pending', (*where, state))
            again = until_told(w.direct, 'complete', params)
            t.took(again)
            t.expect(again.result and (again.result['state'], again.result['outcome']) == ('done', 'succeeded'), (*where, again.answer))
            t.expect(again.result['already'] == (way == DOWN) or (arrived and way == UP), (*where, again.answer))
            replay = w.ask(begin_params(run.result['key']))
            t.expect((replay.word, replay.result.get('result')) == ('replay', RESULT), (*where, replay.answer))
        ok(*t.verdict())


def bound(w):
    """A bound claim ends with its connection, however that ends: it is unknown, and is not told again."""
    t = Tally('a bound claim loses its wire')
    for byte in (0, 1, 100, None):
        for how in CUTS:
            params = begin_params(w.key(), bind=True)
            if byte is None:
                w.proxy.arm(Cut(None, DOWN, 100000, how))
                conn = Conn(w.proxy.path)
                answer = conn.recv(conn.send('begin', params))
                w.note(answer, params)
                conn.close()
            else:
                w.through(Cut(None, DOWN, byte, how), 'begin', params)
            effect = w.direct.call('key', tool='pay', key=params['key'])['effect']
            wait_until(lambda: w.direct.call('get', effect=effect)['state'] == 'unknown', 10, f'{byte} {how}: it is unknown')
            again = w.ask(params)
            t.n += 1
            t.expect(again.word == 'unknown', (byte, how, again.answer))
    ok(*t.verdict())


def silent(w, sizes):
    """Half-open: the connection stays, and nothing passes."""
    t = Tally('a request falls silent, and goes on when another was told')
    for byte in (0, 1, 60, sizes[UP] - 1):
        params = begin_params(w.key().ljust(12))
        rule = w.proxy.arm(Cut(None, UP, byte, 'mute'))
        conn = Conn(w.proxy.path)
        conn.send('begin', params)
        wait_until(rule.fired.is_set, 10, 'silence')
        again = w.ask(params)
        t.n += 1
        t.expect((again.word, again.result['attempt']) == ('run', 1), (byte, again.answer))
        w.proxy.resume(rule)
        late = w.note(conn.recv(1), params)
        t.expect(word_of(late) == 'busy', (byte, late))
        conn.close()
    ok(*t.verdict())
    t = Tally('an answer falls silent: busy, until it is known to be unread')
    for byte in (0, 1, 100, sizes[DOWN] - 1):
        params = begin_params(w.key().ljust(12))
        rule = w.proxy.arm(Cut(None, DOWN, byte, 'mute'))
        conn = Conn(w.proxy.path)
        conn.send('begin', params)
        wait_until(rule.fired.is_set, 10, 'silence')
        again, rival = w.ask(params), w.ask({**params, 'request': request_id()})
        t.n += 1
        t.expect((again.word, rival.word) == ('busy', 'busy'), (byte, again.answer, rival.answer))
        w.proxy.resume(rule)
        late = w.note(conn.recv(1), params)
        t.expect(word_of(late) == 'run', (byte, late))
        conn.close()
    ok(*t.verdict())
    # a hundred of them disturb nobody, and hold nothing when they go
    rules, conns = [], []
    for n in range(100):
        rules.append(w.proxy.arm(Cut(None, UP, n, 'mute')))
        conns.append(Conn(w.proxy.path))
        conns[-1].send('begin', begin_params(w.key().ljust(12)))
        wait_until(rules[-1].fired.is_set, 10, 'silence')
    words = [w.ask(begin_params(w.key())).word for _ in range(50)]
    is_(set(words), {'run'}, 'a hundred silent connections: others are served')
    w.proxy.cut(*rules)
    for conn in conns:
        conn.close()


def slow(w):
    """case 117: byte by byte, in both halves"""
    for way in (UP, DOWN):
        params = begin_params(w.key(), owner='é' * 20)
        w.proxy.arm(Slow(None, way))
        with Conn(w.proxy.path) as conn:
            run = w.note(conn.recv(conn.send('begin', params)), params)
            done_ = conn.recv(conn.send('complete', {'effect': run['result']['effect'], 'token': run['result']['token'], 'result': RESULT}))
            is_((word_of(run), word_of(done_)), ('run', 'done'), f'a begin and a complete byte by byte, {way}')


def decode(line):
    return json.loads(line)


seed()
with Cluster() as the_cluster, Daemon(the_cluster, tools=[PAY], config={'log_calls': False, 'database_connections': 2}) as the_daemon:
    the_daemon.ready()
    wire = Wire(the_daemon)
    a_begin, begun = wire.sizes('begin', begin_params(wire.key().ljust(12)))
    claim = {name: decode(begun)['result'][name] for name in ('effect', 'token')}
    a_complete, _ = wire.sizes('complete', {**claim, 'result': RESULT})
    note(f'bytes of a begin {a_begin}, of a complete {a_complete}')
    begin_requests(wire, a_begin[UP])
    begin_answers(wire, a_begin[DOWN])
    completes(wire, a_complete)
    bound(wire)
    silent(wire, a_begin)
    slow(wire)
    twice = {at: requests for at, requests in wire.runs.items() if len(requests) > 1}
    is_(twice, {}, f'no attempt of {len(wire.runs)} was told to two requests')
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
    wire.proxy.stop()
done()
