"""A small world around effectd for tests of races, kills and outages.

Provider    performs effects and never deduplicates; its book is a file of its own, which its probe (a shell script) reads.
World       clients in threads. Each does what daemon/protocol.md tells a wrapper to do, now and then dies or gives
            up in between, and writes down what it sent and what it was told. effectd and PostgreSQL may vanish meanwhile.
check()     THE CHECKER. It reads the clients' log and the provider's book, nothing of ours, and says what is wrong.
"""
import json
import os
import random
import re
import socket
import subprocess
import threading
import time
import uuid

from harness import PG_CLIENT_BIN, SLOW, Conn, RpcError, folder, is_, note, ok, wait_until

LEASE_S = 2 * SLOW
SETTLE_S = 1 * SLOW

# No set -e, no PATH: the daemon starts it with a scrubbed environment.
PROBE = '''#!/bin/sh
read -r line
key=$(printf '%s' "$line" | /usr/bin/sed 's/.*"provider_key":"\\([^"]*\\)".*/\\1/')
printf '%s\\n' "$key" >>'{dir}/probes'
if [ -e '{dir}/away' ]; then echo '{{"verdict":"inconclusive"}}'; exit 0; fi
found=$(/usr/bin/grep "^$key " '{dir}/book' | /usr/bin/head -n 1)
if [ -n "$found" ]; then
	printf '{{"verdict":"landed","result":%s}}\\n' "${{found#* }}"
else
	echo '{{"verdict":"absent"}}'
fi
'''


def request_id(source):
    return str(uuid.UUID(int=source.getrandbits(128), version=4))


class Provider:
    """Whoever moves the money. `perform` is the effect; the book has a line for each time it was done."""

    def __init__(self):
        self.dir = folder()
        self.book_path = os.path.join(self.dir, 'book')
        self.probes_path = os.path.join(self.dir, 'probes')
        self.probe_path = os.path.join(self.dir, 'probe')
        self.lock = threading.Lock()
        self.n = 0
        for path in (self.book_path, self.probes_path):
            with open(path, 'wb'):
                pass
        with open(self.probe_path, 'w', encoding='ascii') as out:
            out.write(PROBE.format(dir=self.dir))
        os.chmod(self.probe_path, 0o755)

    def policy(self, name='pay', **more):
        """A tool whose open outcomes this provider's probe settles, quickly."""
        return {'name': name, 'class': 'irreversible', 'probe': {'exec': {'argv': [self.probe_path]}},
                'lease': f'{int(LEASE_S * 1000)}ms', 'settle': f'{int(SETTLE_S * 1000)}ms', 'absent_needed': 2,
                'probe_backoff': ['200ms'], 'escalate_after': '10m', 'max_attempts': 1000, **more}

    def perform(self, provider_key, until=None):
        """Does the effect and returns its receipt, spelt so that nobody who parses and prints it gets it back. None: it was
        not done, because it is later than `until`: a thread may stand still between its own look at the clock and this."""
        with self.lock:
            if until is not None and time.monotonic() > until:
                return None
            self.n += 1
            receipt = f'{{"receipt":{self.n},"b":1.0,"a":1e2,"t":"\\u003c{self.n}"}}'
            with open(self.book_path, 'ab') as book:
                book.write(f'{provider_key} {receipt}\n'.encode())
            return receipt

    def book(self):
        """[(provider key, receipt)] in order."""
        with open(self.book_path, encoding='utf-8') as book:
            return [tuple(line.rstrip('\n').split(' ', 1)) for line in book]

    def n_probes(self, provider_key=None):
        with open(self.probes_path, encoding='ascii') as probes:
            return sum(1 for line in probes if provider_key in (None, line.strip()))

    def away(self, is_away):
        """While it is away its probe is inconclusive."""
        path = os.path.join(self.dir, 'away')
        if is_away:
            with open(path, 'wb'):
                pass
        elif os.path.exists(path):
            os.unlink(path)


def raw_result(line):
    """The bytes of `result` inside a replay's line, as text; the member after it is result_state."""
    match = re.search(r'"outcome":"\w+","result":(.*),"result_state":', line)
    return match and match.group(1)


class Log:
    """What the clients sent and were told, in the order in which they wrote it down."""

    def __init__(self):
        self.lock = threading.Lock()
        self.entries = []

    def add(self, client, what, **more):
        with self.lock:
            self.entries.append({'client': client, 'what': what, **more})


class Wire:
    """One client's way to the daemon: connects again by itself, one request at a time, raw lines kept."""

    def __init__(self, path, number, log, counter):
        self.path, self.number, self.log, self.counter = path, number, log, counter
        self.conn = None

    def ask(self, method, params, result=None):
        """(answer, raw line); (None, None) if the connection was lost or could not be had. result: JSON text, sent as it is."""
        raw = b''
        try:
            if not self.conn:
                self.conn = Conn(self.path, timeout_s=60)
            line = Conn.line(method, params, self.conn.next_id)
            self.conn.next_id += 1
            if result is not None:
                line = line[:-3] + b',"result":' + result.encode() + b'}}\n'
            self.log.add(self.number, 'sent', method=method, params=params, result=result)
            self.counter.sent(self.number)
            self.conn.send_raw(line)
            raw = self.conn.recv_line()
        except (ConnectionError, FileNotFoundError):
            pass
        finally:
            self.counter.answered(self.number)
        if not raw:
            self.close()
            return None, None
        raw = raw.decode()
        answer = json.loads(raw)
        self.log.add(self.number, 'told', method=method, params=params, answer=answer, raw=raw)
        return answer, raw

    def close(self):
        if self.conn:
            self.conn.close()
        self.conn = None


class Counter:
    """Requests in flight, seen from the clients: sent, and no answer read."""

    def __init__(self):
        self.lock = threading.Lock()
        self.waiting = set()
        self.n_answered = 0

    def sent(self, number):
        with self.lock:
            self.waiting.add(number)

    def answered(self, number):
        with self.lock:
            self.waiting.discard(number)
            self.n_answered += 1

    def in_flight(self):
        with self.lock:
            return len(self.waiting)


class Client(threading.Thread):
    """A wrapper that obeys the protocol, with a temper of its own."""

    def __init__(self, world, number):
        super().__init__(daemon=True)
        self.world, self.number = world, number
        self.random = random.Random(f'{world.seed} {number}')
        self.wire = Wire(world.socket, number, world.log, world.counter)
        self.failure = None

    def run(self):
        try:
            while not self.world.stopping.is_set():
                self.one()
        except Exception as e:  # pylint: disable=broad-except
            self.failure = e
            self.world.stopping.set()
        self.wire.close()

    def pause(self, ms):
        """As long as we were told to wait before we ask again."""
        threading.Event().wait(ms / 1000)

    def until_told(self, method, params, result=None):
        """Sends it unchanged until there is an answer that says more than `unavailable`."""
        while True:
            sent_at = time.monotonic()
            answer, raw = self.wire.ask(method, params, result)
            if answer is None:
                self.pause(20)
                continue
            error = answer.get('error')
            if error and error['data']['name'] == 'unavailable':
                self.pause(error['data'].get('retry_after_ms', 50))
                continue
            return answer, raw, sent_at

    def one(self):
        key = self.world.next_key(self.random)
        params = {'tool': 'pay', 'key': key, 'request': request_id(self.random), 'owner': f'client {self.number}'}
        if self.random.random() < 0.2:
            params['wait_ms'] = 300
        answer, _, sent_at = self.until_told('begin', params)
        if 'error' in answer:
            raise AssertionError(f'begin was told {answer["error"]}')
        told = answer['result']
        if told['decision'] != 'run':
            return
        claim = {'effect': told['effect'], 'token': told['token']}
        until = sent_at + (told['lease_ms'] + told.get('waited_ms', 0)) / 1000
        fate = self.random.random()
        if fate < 0.05:
            self.until_told('release', {**claim, 'reason': 'nothing was sent'})
        elif fate < 0.10:
            self.world.log.add(self.number, 'died', effect=told['effect'])
        elif fate < 0.15:
            self.record(claim, 'failed', f'"refused {self.number} {self.random.random()}"')
        else:
            receipt = self.world.provider.perform(told['provider_key'], until)
            if receipt is None:
                self.until_told('release', {**claim, 'reason': 'too late, nothing was sent'})
                return
            self.world.log.add(self.number, 'performed', effect=told['effect'], attempt=told['attempt'], result=receipt)
            if fate < 0.20:
                self.world.log.add(self.number, 'died', effect=told['effect'])
            elif fate < 0.25:
                self.until_told('unknown', {**claim, 'reason': 'the answer was lost'})
            else:
                self.record(claim, 'succeeded', receipt)

    def record(self, claim, outcome, text):
        """complete with the result's very bytes."""
        answer, _, _ = self.until_told('complete', {**claim, 'outcome': outcome}, text)
        self.world.log.add(self.number, 'recorded', effect=claim['effect'], outcome=outcome, result=text, answer=answer)


class World:
    """Clients, a provider and their log. Starts at start(); stop() ends the clients after what they are about."""

    def __init__(self, socket_path, provider, seed, n_clients=32):
        self.socket, self.provider, self.seed = socket_path, provider, seed
        self.log, self.counter = Log(), Counter()
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.n_keys = 0
        self.clients = [Client(self, number) for number in range(n_clients)]

    def next_key(self, source):
        """About every key is wanted by four clients at about the same time."""
        with self.lock:
            self.n_keys += 1
            return f'k{max(0, self.n_keys // 4 - source.randrange(4))}'

    def start(self):
        for client in self.clients:
            client.start()

    def answered_more(self, n, deadline_s=60):
        """Waits until n more requests were answered."""
        goal = self.counter.n_answered + n
        wait_until(lambda: self.counter.n_answered >= goal or self.stopping.is_set(), deadline_s, f'{n} more answers')

    def busy_moment(self, n=20, deadline_s=60):
        """Waits until at least n requests are in flight; returns how many are."""
        return wait_until(lambda: max(self.counter.in_flight() - n + 1, 0), deadline_s, f'{n} in flight') + n - 1

    def stop(self, deadline_s=60):
        self.stopping.set()
        for client in self.clients:
            client.join(deadline_s * SLOW)
            if client.is_alive():
                raise TimeoutError(f'client {client.number} still waits for an answer')
        failures = [client.failure for client in self.clients if client.failure]
        if failures:
            raise failures[0]

    def settle(self, deadline_s=60):
        """Waits until every effect that a client was told of has ended, by what the daemon answers; returns {state: n}."""
        wire = Wire(self.socket, 'reader', Log(), Counter())
        left, states = {effect_of(e) for e in self.log.entries if effect_of(e)}, {}

        def ended():
            for effect in list(left):
                answer, _ = wire.ask('get', {'effect': effect})
                state = (answer or {}).get('result', {}).get('state')  # None: unavailable, as it is just back
                if state not in ('done', 'released', 'escalated'):
                    return False
                left.discard(effect)
                states[state] = states.get(state, 0) + 1
            return True

        wait_until(ended, deadline_s, 'every effect ended')
        wire.close()
        return states

    def read_back(self):
        """One more client asks for every effect of which a record was acknowledged; what it is told goes to the log."""
        wire = Wire(self.socket, 'reader', self.log, Counter())
        keys = {e['answer']['result']['effect']: e['answer']['result']['key'] for e in list(self.log.entries)
                if e['what'] == 'told' and e['method'] == 'begin' and effect_of(e)}
        for effect in sorted({e['effect'] for e in self.log.entries if acknowledged(e)}):
            wire.ask('begin', {'tool': 'pay', 'key': keys[effect]})
        wire.close()

    def tally(self):
        """{decision or error: n} of all that was told."""
        told = {}
        for e in self.log.entries:
            if e['what'] == 'told':
                answer = e['answer']
                word = e['method'] + ' ' + (answer['error']['data']['name'] if 'error' in answer else
                                            answer['result'].get('decision') or answer['result'].get('state', 'told'))
                told[word] = told.get(word, 0) + 1
        return dict(sorted(told.items()))


def judge(world, cluster, what=''):
    """The end of a world whose clients have stopped: all of it settles, and whatever they were told holds. Prints four tests."""
    states = world.settle()
    world.read_back()
    note(world.tally())
    note(states)
    book = world.provider.book()
    is_(check(world.log.entries, book), [], f'{what}the checker finds nothing in {len(world.log.entries)} entries and {len(book)} effects')
    ok(set(states) <= {'done', 'released'}, f'{what}every effect ended done or released', states)
    is_(cluster.invariants(), [], f'{what}no invariant is hurt')
    is_(cluster.psql("select count(*) from effect.ledger where state in ('pending', 'unknown')"), '0', f'{what}nothing is open')



# ---- hands for single tests -----------------------------------------------------------------------------------------

class Session:
    """A psql that stays: its transaction is open until it is told otherwise."""

    def __init__(self, cluster):
        argv = [os.path.join(PG_CLIENT_BIN, 'psql'), '-h', cluster.dir, '-U', 'postgres', '-d', 'effectd', '-XAtq']
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd='/')

    def do(self, *commands):
        """Each command in turn; returns what they print, without the last line end."""
        for command in commands:
            self.process.stdin.write(command + ';\n')
        self.process.stdin.write("\\echo 'done\u00a0here'\n")
        self.process.stdin.flush()
        lines = []
        while not lines or lines[-1] != 'done\u00a0here':
            line = self.process.stdout.readline()
            if not line:
                raise ConnectionError('psql ended')
            lines.append(line.rstrip('\n'))
        return '\n'.join(lines[:-1])

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def unread(conn, n_lines=1, deadline_s=10):
    """Waits until that many lines stand unread in the socket, and leaves them there."""
    def stands():
        try:
            return conn.sock.recv(1 << 20, socket.MSG_PEEK | socket.MSG_DONTWAIT).count(b'\n') >= n_lines
        except BlockingIOError:
            return False
    wait_until(stands, deadline_s, f'{n_lines} lines to read')


def begin_all(conns, **params):
    """One begin on each connection at the same instant; the answers in order."""
    ids = [conn.send('begin', **params) for conn in conns]
    return [conn.recv(id_) for conn, id_ in zip(conns, ids)]


def tell(answer):
    """The decision or state of an answer, or the name of its error."""
    if 'error' in answer:
        return answer['error']['data']['name']
    return answer['result'].get('decision') or answer['result']['state']


def count(answers):
    """{word: n} of answers."""
    words = [tell(answer) for answer in answers]
    return {word: words.count(word) for word in sorted(set(words))}


def state_of(conn, effect):
    return conn.call('get', effect=effect)['state']


def kinds(conn, effect):
    """The kinds of its events, oldest first."""
    return [event['kind'] for event in conn.call('get', effect=effect)['events']]


def name_of(conn, method, params=None, **more):
    """What was told: a decision, a state, or an error's name."""
    try:
        return tell({'result': conn.call(method, params, **more)})
    except RpcError as e:
        return e.name


# ---- the checker ----------------------------------------------------------------------------------------------------

def effect_of(entry):
    answer = entry.get('answer') or {}
    return answer.get('result', {}).get('effect') if entry['what'] == 'told' else None


def acknowledged(entry):
    """A record that the daemon said it has."""
    return entry['what'] == 'recorded' and entry['answer'].get('result', {}).get('state') == 'done'


def check(entries, book, retries=False):
    """What is wrong, in sentences; [] if nothing is. entries: a Log's; book: a Provider's. retries: by its policy an attempt may
    be followed by another while it is open, and end while the other's `run` is on its way."""
    return [*check_book(book), *check_runs(entries, retries), *check_acknowledged(entries), *check_replays(entries, book)]


def check_book(book):
    """The provider key is the effect's id."""
    times = {}
    for effect, _ in book:
        times[effect] = times.get(effect, 0) + 1
    return [f'{effect} was performed {n} times' for effect, n in times.items() if n > 1]


def check_runs(entries, retries):
    """One `run` read for one attempt, tokens of their own, none after an acknowledged record."""
    runs, tokens, recorded, asked = {}, {}, {}, {}
    for at, e in enumerate(entries):
        if acknowledged(e):
            recorded.setdefault(e['effect'], at)
        if e['what'] == 'sent' and e['method'] == 'begin':
            asked[e['client']] = at
        if e['what'] != 'told' or e['answer'].get('result', {}).get('decision') != 'run':
            continue
        told = e['answer']['result']
        attempt = (told['effect'], told['attempt'])
        if attempt in runs:
            yield f'run was told twice for {attempt}: to {runs[attempt]} and to {e["client"]}'
        if tokens.setdefault(told['token'], attempt) != attempt:
            yield f'one token for {tokens[told["token"]]} and {attempt}'
        if told['effect'] in recorded and not (retries and asked.get(e['client'], at) < recorded[told['effect']]):
            yield f'run was told for {attempt} after its record was acknowledged'
        runs[attempt] = e['client']


def check_acknowledged(entries):
    """Every acknowledged record is replayed in the end, and who performed an effect is not refused its record."""
    last, seen = {}, {}
    for e in entries:
        if effect_of(e) and e['method'] == 'begin':
            last[effect_of(e)] = e
    for e in entries:
        if e['what'] != 'recorded':
            continue
        if not acknowledged(e):
            if e['outcome'] == 'succeeded':
                yield f'the record of {e["effect"]}, which was performed, was answered {e["answer"]}'
            continue
        word = (e['answer']['result']['outcome'], e['result'])
        if seen.setdefault(e['effect'], word) != word:
            yield f'two records of {e["effect"]} were acknowledged: {seen[e["effect"]]} and {word}'
        end = last.get(e['effect'])
        if not end or end['answer']['result']['decision'] != 'replay':
            yield f'the acknowledged record of {e["effect"]} is not replayed: {end and end["raw"]}'
        elif (end['answer']['result']['outcome'], raw_result(end['raw'])) != word:
            yield f'the acknowledged record of {e["effect"]} was {word} and is replayed as {end["raw"]}'


def check_replays(entries, book):
    """A replayed success is the receipt in the provider's book, a replayed failure is what a client reported."""
    receipts = dict(book)
    reported = {(e['effect'], e['result']) for e in entries if e['what'] == 'recorded' and e['outcome'] == 'failed'}
    reported |= {(e['params']['effect'], e['result']) for e in entries if e['what'] == 'sent' and e.get('result')}
    for e in entries:
        told = e['answer'].get('result', {}) if e['what'] == 'told' else {}
        if told.get('decision') != 'replay':
            continue
        result = raw_result(e['raw'])
        if told['outcome'] == 'succeeded' and receipts.get(told['effect']) != result:
            yield f'{e["client"]} was replayed {result} of {told["effect"]}, the book says {receipts.get(told["effect"])}'
        if told['outcome'] == 'failed' and (told['effect'], result) not in reported:
            yield f'{e["client"]} was replayed a failure of {told["effect"]} that nobody reported: {e["raw"]}'
