#!/usr/bin/python3
"""A small client that passes wrapper.json, and with a fault by name (or several) one that must not: the table's own test.

usage: bad_driver.py [FAULT...] | bad_driver.py --list

Not for use: it has a connection for each call, looks every few milliseconds, and knows none of a language's comforts.
"""
import hashlib
import json
import os
import random
import select
import socket
import sys
import threading
import time
import uuid

# What a client may get wrong: the fault, and words of the case that must be red for it.
FAULTS = {
    'another-request': 'ends before its LF, anywhere', 'half-line': 'ends before its LF, anywhere', 'asks-once': 'ends before its LF, anywhere',
    'starts-late': 'stopped past its lease', 'fresh-from-the-answer': 'stopped past its lease', 'by-the-wall-clock': 'is made once and its value recorded',
    'no-waited': 'waited for longer than a lease', 'late-keeps-the-claim': 'stopped past its lease',
    'time-out-released': 'a time-out leaves', 'time-out-named': 'a time-out is no answer', 'cancel-named': 'is given up leaves the outcome unknown, though',
    'stop-named': 'told to stop', 'cancel-released': 'given up while fn runs', 'cancel-untold': 'given up while fn runs', 'no-reason': 'nobody foresaw',
    'raise-as-failed': 'nobody foresaw', 'tool-error-as-failed': 'answered with an error', 'tool-error-as-value': 'answered with an error',
    'not-sent-unknown': 'nothing was sent', 'run-kept-after-cancel': 'given up while begin waits', 'completes-once': 'lost at any byte',
    'kept-is-recorded': 'kept is no record', 'calls-again': 'lost at any byte', 'not-recorded-is-fine': 'until its time is over', 'value-lost': 'until its time is over',
    'conflict-is-fine': 'another outcome stands', 'conflict-again': 'another outcome stands', 'long-line': 'longer than a line may be', 'execute-is-run': 'does not know',
    'busy-is-run': 'busy is no run', 'unknown-is-run': 'unknown is no run', 'half-a-run': 'without a token', 'failed-is-value': 'replay of a failure',
    'gone-is-null': 'kept no more', 'omitted-is-null': 'too long to be kept', 'replay-unmarked': 'replay is the recorded value', 'replay-printed-anew': 'verbatim',
    'denied-again': 'denied', 'internal-is-the-end': 'a bug of the daemon', 'overloaded-is-the-end': 'overloaded', 'hammers': 'asks again at growing',
    'any-id': 'nobody asked', 'no-extend': 'longer than its lease', 'extends-after': 'no extend is sent', 'loss-untold': 'lease is lost: fn',
    'loss-unreported': 'lease is lost: fn', 'loss-by-answers-only': 'no extend is answered', 'lost-with-the-connection': 'an extend whose connection', 'pass-reported': 'pass is called',
    'no-bind': 'is made once and its value recorded', 'no-wait': 'unless told otherwise', 'unknown-once': 'the answer to unknown is lost', 'one-read': 'in pieces',
    'garbage-is-fatal': 'a line that is no JSON', 'stale-connection': 'closed between two calls', 'gives-up-early': 'begin_timeout is on top',
    'for-ever': 'nobody answers until', 'advice-hidden': 'mismatch is no run', 'result-of-another': 'comes twice', 'release-once': 'the answer to release is lost',
    'gives-up-slowly': 'is over for its caller', 'key-of-the-model': 'whatever stood there', 'no-place-is-fine': 'cannot be put into the args',
    'refusal-by-itself': 'than the refusal that fn', 'tool-error-by-itself': 'own error cannot be recorded',
    'raw-reason': 'too long for a reason', 'lost-on-cancel': 'result is on its way', 'refused-again': 'refuses is not recorded',
}
on, kept = set(), []
RETRYABLE = ('unavailable', 'internal', 'overloaded')
LINE_MAX = 1048576


class Told(Exception):
    """What the caller gets that is no value."""

    def __init__(self, kind, text='', **more):
        super().__init__(text)
        self.line = {'got': 'error', 'kind': kind, 'text': text, **more}


class Connection:
    """One connection; ask() returns the answer's object, or None where no whole line of it came."""

    def __init__(self, path):
        self.path, self.sock, self.buffer, self.next_id = path, None, b'', 1
        self.lock = threading.Lock()

    def ask(self, method, params, until_s, stop):
        """Gives up at until_s, or when stop is set. .sent_s: when the line was sent; .raw: the answer's text."""
        self.next_id += 1
        id_, used = self.next_id, self.sock is not None
        try:
            if not self.sock:
                sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                sock.connect(self.path)
                self.sock, self.buffer = sock, b''
            self.sent_s = now_s()
            self.sock.sendall(json.dumps({'jsonrpc': '2.0', 'id': id_, 'method': method, 'params': params}).encode() + b'\n')
            return self.wait(id_, until_s, stop)
        except OSError:
            self.close()
            if used and 'stale-connection' in on:
                raise Told('Broken') from None
            return None

    def wait(self, id_, until_s, stop):
        while now_s() < until_s and not stop.is_set():
            line = self.line()
            if line is None:
                continue
            try:
                answer = json.loads(line)
            except ValueError:
                if 'garbage-is-fatal' in on:
                    raise Told('Garbage') from None
                raise ConnectionError from None
            except RecursionError:
                raise Told('ResultGone', 'deeper than Python can hold') from None
            if isinstance(answer, dict) and (answer.get('id') == id_ or {'any-id', 'result-of-another'} & on):
                self.raw = line.decode()
                return answer
        return None

    def line(self):
        """The next line, or None if it is not there yet."""
        if b'\n' not in self.buffer and select.select([self.sock], [], [], 0.004)[0]:
            data = self.sock.recv(1 << 20)
            if not data:
                if 'half-line' in on and self.buffer:
                    data = b'\n'
                else:
                    raise ConnectionError
            self.buffer += data
            if 'one-read' in on:
                self.buffer += b'\n'
        if b'\n' not in self.buffer:
            return None
        line, self.buffer = self.buffer.split(b'\n', 1)
        return line

    def close(self):
        if self.sock:
            self.sock.close()
        self.sock = None


def now_s():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def tame(text):
    text = text.replace('\0', '?').encode('utf-8', 'replace')[:1000]
    return text.decode('utf-8', 'ignore')


def member(text, name):
    """The very text of a member of an object."""
    decoder, at = json.JSONDecoder(), text.index('{') + 1
    while True:
        found, at = decoder.raw_decode(text, at)
        start = at = at + 1
        while text[start] in ' \t':
            start += 1
        at = decoder.raw_decode(text, start)[1]
        if found == name:
            return text[start:at]
        at = text.index('"', at)


def placed(args, grant):
    """The args with the provider's key where the policy says; ValueError where it has no place."""
    if 'provider_key_to' not in grant or 'key-of-the-model' in on:
        return args
    at = args = json.loads(json.dumps(args))
    names = [name.replace('~1', '/').replace('~0', '~') for name in grant['provider_key_to'].split('/')[1:]]
    for n, name in enumerate(names):
        if isinstance(at, list) and (not name.isdigit() or int(name) >= len(at)) or not isinstance(at, (list, dict)):
            if 'no-place-is-fine' in on:
                return args
            raise ValueError
        name = int(name) if isinstance(at, list) else name
        if n == len(names) - 1:
            at[name] = grant['provider_key']
        elif isinstance(at, dict):
            at.setdefault(name, {})
        at = at[name]
    return args


def error_name(answer):
    return answer.get('error', {}).get('data', {}).get('name') if answer else None


class Call:
    """One guarded call."""

    def __init__(self, path, order, connection=None):
        self.conn, self.order, self.options = connection or Connection(path), order, order['options']
        self.given_up, self.never, self.over = threading.Event(), threading.Event(), threading.Event()
        self.lost = threading.Event()
        if 'cancel_file' in order:
            threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        while not os.path.exists(self.order['cancel_file']) and not self.over.is_set():
            time.sleep(0.004)
        if not self.over.is_set():
            self.given_up.set()

    def option(self, name, default):
        return self.options.get(name, default) / 1000

    def again(self, method, params, budget_s, stop):
        """Asks until there is an answer that ends it; None if there is none in time."""
        until_s, pause_s = now_s() + (1e6 if 'for-ever' in on else budget_s), 0.05
        while True:
            answer = self.conn.ask(method, params, until_s, stop)
            name = error_name(answer)
            final = {'internal': 'internal-is-the-end', 'overloaded': 'overloaded-is-the-end'}.get(name, '') in on
            if 'kept-is-recorded' in on and (answer or {}).get('error', {}).get('data', {}).get('kept'):
                return {'result': {}}
            again = answer is None or name in RETRYABLE and not final or name == 'denied' and 'denied-again' in on or name == 'conflict' and 'conflict-again' in on or name == 'invalid_params' and method == 'complete' and 'refused-again' in on
            if 'asks-once' in on or method == 'complete' and 'completes-once' in on or method in ('unknown', 'release') and method + '-once' in on:
                again = False
            if answer is not None and not again:
                return answer
            wait_s = (answer or {}).get('error', {}).get('data', {}).get('retry_after_ms', pause_s * 1000) / 1000 * random.uniform(0.75, 1.25)
            pause_s = min(2 * pause_s, 1)
            if not again or now_s() + wait_s >= until_s or stop.wait(0 if 'hammers' in on else wait_s):
                return None
            if method == 'begin' and 'another-request' in on:
                params = {**params, 'request': str(uuid.uuid4())}
            if method == 'complete' and 'calls-again' in on:
                self.fn(self.grant)

    # ---- begin

    def run(self):
        """The line about what the caller got."""
        try:
            line = self.guarded()
        except Told as told:
            line = told.line
        except (ValueError, TypeError, KeyError, AttributeError) as e:
            line = {'got': 'error', 'kind': 'Broken', 'text': repr(e)}
        self.over.set()
        return {**line, **({'lost': True} if self.lost.is_set() else {})}

    def guarded(self):
        wait_ms = self.options.get('wait_ms', 0 if 'no-wait' in on else 30000)
        params = {**self.order['params'], 'request': str(uuid.uuid4()), 'bind': 'no-bind' not in on, 'wait_ms': wait_ms}
        budget_s = (0 if 'gives-up-early' in on else wait_ms / 1000) + self.option('begin_timeout_ms', 10000)
        answer = self.again('begin', params, budget_s, self.given_up)
        if self.given_up.is_set() and answer is None:
            if 'gives-up-slowly' in on:
                self.wait_and_release()
            else:
                threading.Thread(target=self.wait_and_release, daemon=True).start()
            raise Told('Cancelled')
        if answer is None:
            self.conn.close()
            raise Told('Unavailable')
        if 'error' in answer or not isinstance(answer.get('result'), dict):
            error = answer.get('error') or {}
            data = error.get('data') or {}
            raise Told(''.join(part.capitalize() for part in str(data.get('name')).split('_')), str(error.get('message')),
                       **{name: data[name] for name in ('pointer', 'why') if name in data})
        return self.decided(answer['result'])

    def wait_and_release(self):
        """A run that comes now is nobody's."""
        if 'run-kept-after-cancel' in on:
            kept.append(self.conn)
        if kept or not self.conn.sock:
            return
        try:
            answer = self.conn.wait(self.conn.next_id, now_s() + self.option('begin_timeout_ms', 10000), self.never)
        except OSError:
            return
        if answer and answer.get('result', {}).get('decision') == 'run':
            self.report('release', answer['result'], reason='the caller gave up')

    def decided(self, told):
        decision = told.get('decision')
        run = decision == 'run' or decision in ('busy', 'unknown') and f'{decision}-is-run' in on or told.get('next') == 'execute' and 'execute-is-run' in on
        if decision == 'pass':
            line = self.outcome(self.fn(None))
            if 'pass-reported' in on:
                self.conn.ask('complete', {'effect': None, 'token': None, 'result': 1}, now_s() + 0.5, self.never)
            return line
        if run:
            if not (isinstance(told.get('token'), str) and isinstance(told.get('lease_ms'), int)) and not {'half-a-run', 'busy-is-run', 'unknown-is-run'} & on:
                raise Told('Broken')
            return self.granted({'token': None, 'lease_ms': 60000, 'attempt': 1, 'provider_key': '', **told})
        if decision == 'replay':
            return self.replay(told)
        raise Told(decision.capitalize() if decision in ('busy', 'mismatch', 'unknown', 'escalated', 'exhausted', 'held') else 'Odd',
                   told.get('advice', ''), advice='' if 'advice-hidden' in on else told.get('advice'))

    def replay(self, told):
        if told['outcome'] == 'failed' and 'failed-is-value' not in on:
            raise Told('Failed', 'failed at ' + told['done_at'], value=told.get('result'), replayed=True)
        if told['result_state'] in ('omitted', 'expired') and told['outcome'] == 'succeeded':
            if {'omitted': 'omitted-is-null', 'expired': 'gone-is-null'}[told['result_state']] not in on:
                raise Told('ResultGone', 'it was done')
        raw = json.dumps(told.get('result')) if 'replay-printed-anew' in on or 'result' not in told else member(member(self.conn.raw, 'result'), 'result')
        return {'got': 'value', 'value': told.get('result'), 'replayed': 'replay-unmarked' not in on, 'raw': raw}

    # ---- the call

    def granted(self, grant):
        self.grant, sent_s = grant, now_s() if 'fresh-from-the-answer' in on else self.conn.sent_s
        lease_s = (grant['lease_ms'] + (0 if 'no-waited' in on else grant.get('waited_ms', 0))) / 1000
        late = now_s() - sent_s >= lease_s
        if 'by-the-wall-clock' in on:
            late = grant['lease_until'] < time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())
        if late and 'starts-late' not in on:
            if 'late-keeps-the-claim' not in on:
                self.report('release', grant, reason='the lease was over before the call')
            raise Told('Late')
        try:
            self.args = placed(self.order['params'].get('args', {}), grant)
        except ValueError:
            self.report('release', grant, reason='no place for the provider\'s key')
            raise Told('InvalidParams', pointer='/args' + grant['provider_key_to']) from None
        done = threading.Event()
        keeper = threading.Thread(target=self.keep, args=(grant, sent_s + lease_s, done), daemon=True)
        keeper.start()
        came_to = self.fn(grant)
        if 'extends-after' not in on:
            done.set()
            keeper.join()
        return self.recorded(grant, came_to)

    def keep(self, grant, ends_s, done):
        lease_s = grant['lease_ms'] / 1000
        while 'no-extend' not in on and not done.wait(lease_s / 3):
            until_s = 1e12 if 'loss-by-answers-only' in on else ends_s
            answer = None
            while answer is None and now_s() < until_s and not done.is_set():
                answer = self.conn.ask('extend', {'effect': grant['effect'], 'token': grant['token']}, until_s, done)
                if error_name(answer) in RETRYABLE:
                    answer = None
                if answer is None:
                    if 'lost-with-the-connection' in on:
                        self.lost.set()
                    done.wait(0.05)
            if done.is_set():
                return
            if answer is None or 'error' in answer:
                if 'loss-untold' not in on:
                    self.lost.set()
                return
            ends_s = self.conn.sent_s + lease_s

    def fn(self, grant):
        """(what it came to, the value, the text)"""
        fn = self.order['fn']
        line = {'attempt': grant['attempt'], 'provider_key': grant['provider_key'], 'args': self.args} if grant else {}
        with open(self.order['calls'], 'a', encoding='ascii') as calls:
            calls.write(json.dumps(line) + '\n')
        while 'until_file' in fn and not os.path.exists(fn['until_file']) or fn.get('until') == 'lost' and not self.lost.is_set():
            if self.given_up.is_set():
                break
            time.sleep(0.004)
        if fn.get('until') == 'cancelled':
            self.given_up.wait()
        if self.given_up.is_set():
            return 'cancelled', None, 'cancelled'
        value = 'x' * fn['bytes'] if 'bytes' in fn else {1, 2} if 'odd' in fn else fn.get('value')
        return fn['does'], value, fn.get('text', fn['does'])

    def outcome(self, came_to):
        does, value, text = came_to
        kinds = {'fail': 'Failed', 'tool_error': 'ToolError', 'not_sent': 'NotSent', 'cancelled': 'Cancelled'}
        if does == 'return':
            return {'got': 'value', 'value': repr(value) if isinstance(value, set) else value}
        raise Told(kinds.get(does, 'Own'), text, **({'value': value} if does in ('fail', 'tool_error') else {}))

    # ---- the report

    def report(self, method, grant, **more):
        return self.again(method, {'effect': grant['effect'], 'token': grant['token'], **more}, self.option('report_timeout_ms', 5000), self.never)

    def recorded(self, grant, came_to):
        does, value, text = came_to
        if self.order['fn'].get('named') and (does == 'time_out' and 'time-out-named' in on or does == 'cancelled' and 'cancel-named' in on
                                or self.lost.is_set() and 'stop-named' in on):
            does = 'tool_error'
        if does == 'tool_error' and 'tool-error-as-failed' in on or does == 'raise' and 'raise-as-failed' in on:
            does = 'fail'
        if does == 'tool_error' and 'tool-error-as-value' in on:
            does = 'return'
        if does == 'not_sent' and 'not-sent-unknown' not in on or does == 'time_out' and 'time-out-released' in on or does == 'cancelled' and 'cancel-released' in on:
            self.report('release', grant, reason=text)
        elif does in ('return', 'fail', 'tool_error'):
            if not (self.lost.is_set() and 'loss-unreported' in on):
                try:
                    self.complete(grant, {'return': 'succeeded', 'fail': 'failed', 'tool_error': 'error'}[does], value)
                except Told:
                    if not (does == 'fail' and 'refusal-by-itself' in on or does == 'tool_error' and 'tool-error-by-itself' in on):
                        raise
        elif does != 'cancelled' or 'cancel-untold' not in on:
            self.report('unknown', grant, **({} if 'no-reason' in on else {'reason': text if 'raw-reason' in on else tame(text)}))
        return self.outcome(came_to)

    def complete(self, grant, outcome, value):
        params = {'effect': grant['effect'], 'token': grant['token'], 'outcome': outcome}
        try:
            text = json.dumps(value)
            more = {'result': value}
        except TypeError:
            text, more = repr(value), None
        if not more or len(text) > LINE_MAX - 1000 and 'long-line' not in on:
            more = {'omitted': {'bytes': len(text.encode()), 'sha256': hashlib.sha256(text.encode()).hexdigest()}}
        answer = self.again('complete', {**params, **more}, self.option('complete_timeout_ms', 60000),
                            self.given_up if 'lost-on-cancel' in on else self.never)
        carried = {} if 'value-lost' in on else {'value': value}
        if error_name(answer) == 'unavailable' or answer is None:
            if 'not-recorded-is-fine' not in on:
                raise Told('NotRecorded', 'not recorded', **carried)
        elif error_name(answer) in ('conflict', 'not_owner', 'not_found'):
            if 'conflict-is-fine' not in on:
                raise Told('Conflict', 'another outcome stands', **carried)
        elif 'error' in answer:
            raise Told('NotRecorded', 'not recorded', **carried)


def calls_of(order):
    lines = [order, *order.get('more', [])]
    if order.get('at_once'):
        calls = [Call(order['socket'], line) for line in lines]
        told = [None] * len(calls)

        def run(n):
            told[n] = calls[n].run()

        threads = [threading.Thread(target=run, args=(n,)) for n in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        conn = Connection(order['socket'])
        told = [Call(order['socket'], line, conn).run() for line in lines]
    return {'name': order['name'], **told[0], **({'more': told[1:]} if len(told) > 1 else {})}


def main():
    if sys.argv[1:] == ['--list']:
        print('\n'.join(f'{fault}: {words}' for fault, words in FAULTS.items()))
        return
    on.update(sys.argv[1:])
    assert on <= set(FAULTS), on - set(FAULTS)
    for line in sys.stdin:
        print(json.dumps(calls_of(json.loads(line))), flush=True)


if __name__ == '__main__':
    main()
