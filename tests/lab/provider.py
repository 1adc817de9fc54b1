#!/usr/bin/python3
"""The provider of the lab, a process of its own: it does payments, keeps a book of them, and can be asked about them.

    provider.py '{"dir": "/tmp/x", "seed": 1, "lag_s": 0.5, "memory_s": 30, "look_up_faults": 0.0}'

It says {"port": N} when it serves, on two addresses: DIR/provider.sock takes payments, a JSON line each; 127.0.0.1:PORT answers
GET /payments?reference=R, a share of them badly, /truly?reference=R, never badly, and /badly?reference=R, never well. It ends
when its standard input does. DIR/book has a line for each payment that was done, and is what the lab counts by;
DIR/repeats has one for each order that came again. Seconds are the lab's own.

A payment is in the book when its work is over, just before its answer leaves: as late as can be. A look-up sees it some
time after that (lag_s at most, another time for each). With a `key` that is remembered the payment is not done again; what is
still under way is answered `in_progress`. A `reference` is only written down.
"""
import asyncio
import heapq
import json
import os
import random
import signal
import sys
import urllib.parse

FAULTS = ('500', '401', '403', '429', '503', 'page', 'other-404', 'garbage', 'cut', 'pending', 'hang', 'late', 'reset')
LATE_S = 0.5
LATEST_SHARE = 0.2        # of the payments are seen as late as can be


class Provider:
    """The payments, and what is known of them."""

    def __init__(self, options):
        self.dir, self.lag_s, self.memory_s = options['dir'], options['lag_s'], options['memory_s']
        self.chance = random.Random(f'provider {options["seed"]}')
        self.book = os.open(os.path.join(self.dir, 'book'), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.repeats = os.open(os.path.join(self.dir, 'repeats'), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.under_way = []   # heap of (when it is over, n, payment, whom to answer)
        self.memory = {}      # key -> (receipt or None while it is under way, when it came)
        self.first = {}       # order -> when it was done first
        self.seen_at = {}     # reference -> (receipt, when a look-up sees it)
        self.n = self.n_done = 0
        self.stats = {'payments': 0, 'replayed': 0, 'in_progress': 0, 'look_ups': 0, 'late_ms': []}

    def now(self):
        return asyncio.get_running_loop().time()

    def take(self, payment, answer):
        """A payment came; answer() is called with what it is told, if it is told anything."""
        self.settle()
        self.stats['payments'] += 1
        self.note_repeat(payment)
        key, now = payment.get('key'), self.now()
        known = self.memory.get(key) if key else None
        if known and known[0] and known[1] + self.memory_s < now:
            known = None
        if known:
            asyncio.get_running_loop().call_later(payment['work_s'], self.answer_known, payment, answer)
            return
        if key:
            self.memory[key] = (None, now)
        self.n += 1
        heapq.heappush(self.under_way, (now + payment['work_s'], self.n, payment, answer))
        asyncio.get_running_loop().call_later(payment['work_s'], self.settle)

    def note_repeat(self, payment):
        done_at = self.first.get(payment['order'])
        if done_at is not None:
            line = {'order': payment['order'], 'age_s': round(self.now() - done_at, 6), 'resumed': payment.get('resumed', False)}
            os.write(self.repeats, json.dumps(line).encode() + b'\n')

    def answer_known(self, payment, answer):
        receipt = self.memory[payment['key']][0]
        self.stats['replayed' if receipt else 'in_progress'] += 1
        if not payment.get('lose'):
            answer({'receipt': receipt, 'replayed': True} if receipt else {'in_progress': True})

    def settle(self):
        """Does what is due. Also called before every look-up, so that no look-up misses what is late by the host's fault only."""
        now = self.now()
        while self.under_way and self.under_way[0][0] <= now:
            due_at, _, payment, answer = heapq.heappop(self.under_way)
            self.stats['late_ms'].append((now - due_at) * 1000)
            self.do(payment, answer, now)

    def do(self, payment, answer, now):
        self.n_done += 1
        receipt = f'p_{self.n_done}'
        line = {'order': payment['order'], 'receipt': receipt, 'key': payment.get('key'), 'reference': payment.get('reference')}
        os.write(self.book, json.dumps(line).encode() + b'\n')
        self.first.setdefault(payment['order'], now)
        if payment.get('key'):
            self.memory[payment['key']] = (receipt, now)
        if payment.get('reference'):
            lag_s = self.lag_s if self.chance.random() < LATEST_SHARE else self.chance.uniform(0, self.lag_s)
            self.seen_at.setdefault(payment['reference'], (receipt, now + lag_s))
        if not payment.get('lose'):
            answer({'receipt': receipt})

    def look_up(self, reference):
        """The receipt, or None while it is not seen."""
        self.settle()
        self.stats['look_ups'] += 1
        receipt, seen_at = self.seen_at.get(reference, (None, 0))
        return receipt if receipt and seen_at <= self.now() else None


class Counter(asyncio.Protocol):
    """Where payments are taken: {"id", "order", "work_s", "key"?, "reference"?, "lose"?, "resumed"?}, or {"id", "stats": true}."""

    def __init__(self, provider):
        self.provider = provider
        self.transport = None
        self.buffer = b''

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        lines = (self.buffer + data).split(b'\n')
        self.buffer = lines.pop()
        for line in lines:
            request = json.loads(line)
            if request.get('stats'):
                self.answer(request['id'], self.provider.stats)
            else:
                self.provider.take(request, lambda said, id_=request['id']: self.answer(id_, said))

    def answer(self, id_, said):
        if not self.transport.is_closing():
            self.transport.write(json.dumps({'id': id_, **said}).encode() + b'\n')


class LookUp(asyncio.Protocol):
    """The look-up: HTTP/1.1, GET only. A share of the answers is bad, in one of the ways of FAULTS."""

    def __init__(self, provider, share, chance):
        self.provider, self.share, self.chance = provider, share, chance
        self.transport = None
        self.buffer = b''

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.buffer += data
        while b'\r\n\r\n' in self.buffer:
            head, self.buffer = self.buffer.split(b'\r\n\r\n', 1)
            target = head.split(b' ', 2)[1].decode()
            reference = urllib.parse.parse_qs(urllib.parse.urlsplit(target).query).get('reference', [''])[0]
            if target.startswith('/badly'):
                self.answer_badly(self.chance.choice([fault for fault in FAULTS if fault != 'late']), reference)
            elif not target.startswith('/truly') and self.chance.random() < self.share:
                self.answer_badly(self.chance.choice(FAULTS), reference)
            else:
                self.say(*self.truth(reference))

    def truth(self, reference):
        receipt = self.provider.look_up(reference)
        if receipt:
            return 200, {'status': 'succeeded', 'reference': reference, 'receipt': receipt}
        return 404, {'error': 'no_such_payment', 'reference': reference}

    def answer_badly(self, fault, reference):
        """Nothing of this is a word about the payment; `late` tells the truth of the moment at which it was asked."""
        absent = {'error': 'no_such_payment', 'reference': reference}
        if fault in ('500', '401', '403', '429', '503'):
            self.say(int(fault), {'error': 'not now'} if self.chance.random() < 0.5 else absent)
        elif fault == 'page':
            self.say(404, '<html><body>404 Not Found<hr>proxy</body></html>')
        elif fault == 'other-404':
            self.say(404, {'error': 'no_such_route'})
        elif fault == 'garbage':
            self.say(200, '{"status":"succeeded","reference":')
        elif fault == 'pending':
            self.say(202, {'status': 'pending', 'reference': reference})
        elif fault == 'cut':
            self.transport.write(b'HTTP/1.1 404 Not Found\r\nContent-Length: 1000\r\n\r\n' + json.dumps(absent).encode())
            self.transport.close()
        elif fault == 'late':
            asyncio.get_running_loop().call_later(self.chance.uniform(0, LATE_S), self.say, *self.truth(reference))
        elif fault == 'reset':
            self.transport.abort()
        else:
            assert fault == 'hang'  # until whoever asked hangs up

    def say(self, status, body):
        if self.transport.is_closing():
            return
        body = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.transport.write(f'HTTP/1.1 {status} So\r\nContent-Length: {len(body)}\r\n\r\n'.encode() + body)


async def serve(options):
    loop = asyncio.get_running_loop()
    provider = Provider(options)
    chance = random.Random(f'look-up {options["seed"]}')
    await loop.create_unix_server(lambda: Counter(provider), os.path.join(options['dir'], 'provider.sock'), backlog=1024)
    server = await loop.create_server(lambda: LookUp(provider, options['look_up_faults'], chance), '127.0.0.1', 0, backlog=1024)
    print(json.dumps({'port': server.sockets[0].getsockname()[1]}), flush=True)
    over = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), lambda: over.set() if not os.read(sys.stdin.fileno(), 4096) else None)
    await over.wait()


if __name__ == '__main__':
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C ends the lab, whose end is ours
    asyncio.run(serve(json.loads(sys.argv[1])))
