#!/usr/bin/python3
"""The numbers of `report summary` are those that the clients counted from what they were told: over two daemons on one ledger, each of
them restarted under load; and after kill -9 they are short by no more than one flush, and say so.

A stop answers what it received, or does not touch it (it_stop): so a client that reads to the end has read all that was decided for
it, and what it then sends again was never counted. Only a kill -9 loses answers that were counted, or counts of what was told."""
import collections
import json
import random
import threading

from harness import *
from talk import Script, own_ids
from world import request_id

PROBE = Script()
N_CLIENTS = 8
N_ROUNDS = rounds_of(25, 400)  # calls of each client between two restarts
N_RESTARTS = rounds_of(2, 10)
OPEN = {'lease': '10m', 'escalate_after': '10m'}
TOOLS = [PROBE.policy('pay', lease='10m', settle='1ms', absent_needed=1, on_error='failed'),
         {'name': 'people', 'escalate_after': '0s', 'lease': '10m'},
         {'name': 'turns', 'turn_budget': 2, 'turn_asks': 6, **OPEN},
         {'name': 'twins', 'key': 'twin:{/n}:{/memo}', 'business_key': ['/n'], 'on_business_duplicate': 'hold', **OPEN},
         {'name': 'again', 'on_unknown': 'retry', 'retry_window': '1h', 'max_attempts': 100, 'probe_backoff': ['1h'], **OPEN},
         {'name': 'look', 'class': 'read'}]
# the report's column of what begin tells
COLUMN = {'run': 'runs', 'replay': 'replays', 'busy': 'busy', 'mismatch': 'mismatch', 'unknown': 'unknown', 'escalated': 'escalated',
          'exhausted': 'exhausted', 'held': 'held', 'pass': 'passed'}
COUNTED = [*COLUMN.values(), 'retried', 'completed', 'failed', 'errors', 'late', 'gave_up', 'released', 'resolved', 'escalated_effects']


class Client(threading.Thread):
    """Makes calls of every kind, one at a time, and counts what it is told, by (tool, column of the report)."""

    def __init__(self, number, the_seed, sockets):
        super().__init__(daemon=True)
        self.number, self.sockets, self.conn = number, sockets, None
        self.random = random.Random(f'{the_seed} {number}')
        self.told = collections.Counter()
        self.go, self.rested, self.n, self.failure = threading.Semaphore(0), threading.Semaphore(0), 0, None

    def run(self):
        try:
            while True:
                self.go.acquire()
                for _ in range(N_ROUNDS):
                    self.n += 1
                    self.one(f'{self.number}-{self.n}')
                self.rested.release()
        except BaseException as e:  # pylint: disable=broad-except
            self.failure = e
            self.rested.release()

    def ask(self, method, **params):
        """Until it is answered: a connection that ended meanwhile answered nothing, and nothing was done."""
        while True:
            try:
                if not self.conn:
                    self.conn = Conn(self.random.choice(self.sockets))
                answer = self.conn.recv(self.conn.send(method, params))
            except OSError:
                self.conn = None
                continue
            if answer.get('error', {}).get('data', {}).get('name') in ('unavailable', 'overloaded'):
                threading.Event().wait(0.02)
                continue
            if 'error' in answer:
                raise AssertionError(f'{method} {params} was told {answer["error"]}')
            return answer['result']

    def begin(self, tool, key=None, **more):
        told = self.ask('begin', tool=tool, request=request_id(self.random), **({'key': key} if key else {}), **more)
        self.told[tool, COLUMN[told['decision']]] += 1
        return told

    def complete(self, tool, claim, outcome='succeeded', late=False):
        told = self.ask('complete', **own_ids(claim), outcome=outcome, result={'n': self.n})
        assert not told['already'], told
        self.told[tool, {'succeeded': 'completed', 'failed': 'failed', 'error': 'errors'}[outcome]] += 1
        self.told[tool, 'late'] += late

    def unknown(self, tool, claim):
        told = self.ask('unknown', **own_ids(claim), reason='no answer in time')
        self.told[tool, 'gave_up'] += 1
        return told['state']

    def one(self, key):
        kind = self.random.choice(['shared'] * 3 + ['own', 'refused', 'error', 'given back', 'landed', 'absent', 'late', 'people', 'turn',
                                                    'twin', 'again', 'look'])
        getattr(self, kind.replace(' ', '_'))(key)

    def shared(self, _):
        """A key that others want, too, with the same arguments or not."""
        told = self.begin('pay', f'shared {self.random.randrange(12)} {self.n // 8}', args={'a': self.random.choice([1, 1, 1, 2])},
                          wait_ms=self.random.choice([1, 50]))
        if told['decision'] == 'run':
            self.complete('pay', told, self.random.choice(['succeeded', 'failed']))

    def own(self, key):
        self.complete('pay', self.begin('pay', key))
        self.begin('pay', key)

    def refused(self, key):
        self.complete('pay', self.begin('pay', key), 'failed')

    def error(self, key):
        self.complete('pay', self.begin('pay', key), 'error')

    def given_back(self, key):
        for _ in range(2):
            self.ask('release', **own_ids(self.begin('pay', key)), reason='nothing was sent')
            self.told['pay', 'released'] += 1

    def landed(self, key):
        self._probed(f'landed {key}')

    def absent(self, key):
        self._probed(f'absent {key}')

    def _probed(self, key):
        claim = self.begin('pay', key)
        self.unknown('pay', claim)
        told = self.begin('pay', key)
        if told['decision'] == 'run':
            self.complete('pay', told)
        wait_until(lambda: self.ask('get', effect=claim['effect'])['state'] in ('done', 'released'), 60, f'{key} is settled')
        self.told['pay', 'resolved'] += 1

    def late(self, key):
        claim = self.begin('again', key)
        self.unknown('again', claim)
        self.complete('again', claim, late=True)
        self.told['again', 'resolved'] += 1

    def people(self, key):
        claim = self.begin('people', key)
        self.unknown('people', claim)
        wait_until(lambda: self.ask('get', effect=claim['effect'])['state'] == 'escalated', 60, f'{key} goes to people')
        self.told['people', 'escalated_effects'] += 1
        self.begin('people', key)
        self.ask('resolve', effect=claim['effect'], verdict=self.random.choice(['landed', 'absent']), reason='seen', attempt=1, state='escalated')
        self.told['people', 'resolved'] += 1

    def turn(self, key):
        for n in range(4):
            told = self.begin('turns', f'{key} {n}', run=key, turn='1')
            if told['decision'] == 'run':
                self.complete('turns', told)

    def twin(self, key):
        self.complete('twins', self.begin('twins', args={'n': key, 'memo': 'a'}))
        self.begin('twins', args={'n': key, 'memo': 'b'})

    def again(self, key):
        self.unknown('again', self.begin('again', key))
        claim = self.begin('again', key)
        self.told['again', 'retried'] += 1
        self.complete('again', claim)
        self.told['again', 'resolved'] += 1

    def look(self, _):
        self.begin('look')


def summary(daemon):
    """{(tool, column): n} of what is not 0, and what is said of the counts."""
    out = daemon.ctl('report', 'summary', '--since', '1h', '--json')
    answer = json.loads(out.stdout)
    told = {}
    for row in answer['rows']:
        cells = dict(zip(answer['columns'], row))
        told.update({(cells['tool'], column): cells[column] for column in COUNTED if cells[column]})
        is_(cells['calls'], cells['n'] + cells['passed'], f'{cells["tool"]}: calls are what needed a claim, and what did not')
    return told, answer['counts']


def differ(got, want):
    return {what: (got.get(what, 0), want.get(what, 0)) for what in sorted({*got, *want}) if got.get(what, 0) != want.get(what, 0)}


def all_told(clients):
    told = collections.Counter()
    for client in clients:
        told.update(client.told)
    return {what: n for what, n in told.items() if n}


def run_all(clients, meanwhile=None):
    for client in clients:
        client.go.release()
    if meanwhile:
        meanwhile()
    for client in clients:
        client.rested.acquire()
        if client.failure:
            raise client.failure


def restart(daemon):
    is_(daemon.stop(), 0, 'a daemon is stopped under load')
    daemon.start()


def stop_and_look(daemons):
    for daemon in daemons:
        daemon.stop()
    daemons[0].start()
    return summary(daemons[0].ready())


PROBE.play('case "$line" in *\'"key":"landed \'*) echo \'{"verdict":"landed"}\';; *) echo \'{"verdict":"absent"}\';; esac')
the_seed = seed()
with Cluster() as the_cluster:
    the_daemons = [Daemon(the_cluster, config='sweep_interval = "100ms"\n', tools=TOOLS).ready() for _ in range(2)]
    the_clients = [Client(number, the_seed, [daemon.socket for daemon in the_daemons]) for number in range(N_CLIENTS)]
    for client_ in the_clients:
        client_.start()
    for number_ in range(N_RESTARTS):
        run_all(the_clients, lambda: restart(the_daemons[number_ % 2]))
    got_, counts_ = stop_and_look(the_daemons)
    want_ = all_told(the_clients)
    note(f'{sum(want_.values())} things were told: {want_}')
    is_(differ(got_, want_), {}, 'summary has what the clients counted, to the last one')
    is_(counts_, {'exact': True, 'missing': []}, 'and says that it is exact')
    ok({column for _, column in want_} >= set(COUNTED) - {'busy'}, 'of everything that is counted, something was', set(COUNTED) - {c for _, c in want_})

    the_daemons[1].start().ready()
    run_all(the_clients)
    the_daemons[1].kill()
    the_daemons[1].start().ready()
    run_all(the_clients)
    got_, counts_ = stop_and_look(the_daemons)
    want_ = all_told(the_clients)
    over = {what: pair for what, pair in differ(got_, want_).items() if pair[0] > pair[1]}
    is_(over, {}, 'after kill -9 nothing is counted that was not told')
    missing_ = sum(want_.values()) - sum(got_.values())
    ok(0 <= missing_ < sum(want_.values()) / 2, 'what is missing was told after its last flush', missing_)
    ok(counts_['exact'] is False and len(counts_['missing']) == 1, 'summary says that it is not exact, and by whom', counts_)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
    for daemon_ in the_daemons:
        daemon_.kill()
done()
