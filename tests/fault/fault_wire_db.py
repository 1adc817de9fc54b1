#!/usr/bin/python3
"""The wire between daemon and database, cut at every byte of a begin (with guards and without), a complete and a sweep
exchange, in both halves and in every way (every 7th byte, one way each, in tests/run): one run, one row, one record, and back within 2 s. Case 102 and its kind."""
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *
from proxy import DOWN, UP, Cut, Record
from talk import Script
from wire import PAY, Side, Tally, begin_params, claim_of, in_parallel, word_of

STEP = rounds_of(7, 1)
WAYS = (UP, DOWN)
CUTS = ('close', 'reset', 'half')
PROBE = Script()
ASKS = PROBE.policy('asks', lease='5m', probe_timeout='2s')
RESULT = {'receipt': 're_77', 'n': 1.0}


def measure(side, what, do, since=None):
    """The bytes of both halves of such an exchange on a new connection, where its statement is yet to be prepared."""
    while True:
        side.proxy.cut()
        rule = side.proxy.arm(Record(what, since))
        do()
        wait_until(rule.fired.is_set, 20, f'an exchange of {what}')
        if rule.prepares:
            return rule.n


def cuts_of(sizes, part=0, n_parts=1):
    """(half, byte, way to cut): each byte in each way, or every 7th in one; of these the share of a lane."""
    found = []
    for half in WAYS:
        for n, byte in enumerate(range(random.randrange(STEP), sizes[half] + 1, STEP)):
            found += [(half, byte, how) for how in ([CUTS[n % len(CUTS)]] if STEP > 1 else CUTS)]
    return found[part::n_parts]


class Lane:
    """A daemon of its own whose wire is cut again and again, with what it was told."""

    def __init__(self, cluster, name, connections, part):
        self.cluster, self.name, self.connections = cluster, name, connections
        self.share = (part, 2)  # of the cuts, as the other lane has the rest
        self.n_keys = 0
        self.told = {}  # key: token
        self.tallies = {}

    def tally(self, what, half):
        name = f'{what} cut {half} ({self.name})'
        return self.tallies.setdefault((what, half), Tally(name))

    def key(self):
        self.n_keys += 1
        return f'{self.name} {self.n_keys}'

    def rival_word(self, side, key):
        return word_of(side.rival.recv(side.rival.send('begin', {'tool': 'pay', 'key': key})))

    def begin(self, side, cut=None):
        """One begin; who asked is told run, once, with the token that stands; a rival is told busy."""
        key = self.key()
        rule = side.proxy.arm(Cut('begin', *cut)) if cut else None
        told = side.ask('begin', begin_params(key))
        if cut:
            t = self.tally('begin', cut[0])
            t.n += 1
            t.took(told)
            t.expect(rule.fired.wait(10), (*cut, 'was not cut'))
            t.expect((told.word, told.result and told.result.get('attempt')) == ('run', 1), (*cut, told.answer))
            t.expect(self.rival_word(side, key) == 'busy', (*cut, 'a rival was not told busy'))
        self.told[key] = told.result['token']
        return key, told

    def record(self, side, rule=None):
        key, run = self.begin(side)
        if rule:
            side.proxy.arm(rule)
        return key, side.ask('complete', {**claim_of(run), 'result': RESULT})

    def complete(self, side, cut):
        t = self.tally('complete', cut[0])
        rule = Cut('complete', *cut)
        key, told = self.record(side, rule)
        t.n += 1
        t.took(told)
        t.expect(rule.fired.wait(10), (*cut, 'was not cut'))
        # who was told `unavailable` may find its record there
        want = {'state': 'done', 'outcome': 'succeeded', 'already': told.n_unavailable > 0 and told.result['already']}
        t.expect(told.result == want, (*cut, told.answer))
        replay = side.rival.call('begin', tool='pay', key=key)
        t.expect((replay['decision'], replay.get('result')) == ('replay', RESULT), (*cut, replay))

    def run(self):
        """begin and complete, cut for cut in turn; then what the ledger holds."""
        with Side(self.cluster, [PAY], self.connections) as side:
            sizes = {'begin': measure(side, 'begin', lambda: self.begin(side))}
            sizes['complete'] = measure(side, 'complete', lambda: self.record(side))
            self.sizes = sizes
            for cut in cuts_of(sizes['begin'], *self.share):
                self.begin(side, cut)
            for cut in cuts_of(sizes['complete'], *self.share):
                self.complete(side, cut)
            side.proxy.check()

    def report(self):
        note(f'{self.name}: bytes of an exchange {self.sizes}')
        for t in self.tallies.values():
            ok(*t.verdict())
        rows = self.cluster.rows(f"select key, token, attempt from effect.ledger where key like '{self.name} %'")
        is_({r['key']: (r['token'], r['attempt']) for r in rows}, {key: (token, 1) for key, token in self.told.items()},
            f'{self.name}: each of {len(rows)} keys has one row, of one attempt, with the token that was told')
        kinds = self.cluster.psql('select distinct kind from effect.event e join effect.ledger l on l.id = e.effect '
                                  f"where l.key like '{self.name} %'").split()
        ok(set(kinds) <= {'regranted'}, f'{self.name}: nothing happened to them but re-grants', kinds)


class SweepLane:
    """The sweep exchange is cut: the row that it took is probed all the same, if later, and decided once."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.tallies = {half: Tally(f'sweep cut {half}') for half in WAYS}
        self.effects = {}
        self.database = 'swept'

    def open_up(self, side):
        run = side.conn.call('begin', tool='asks', key=f'sweep {len(self.effects)}')
        self.effects[run['effect']] = run
        return side.ask('unknown', {'effect': run['effect'], 'token': run['token'], 'reason': 'x'})

    def run(self):
        PROBE.says('landed', result=RESULT)
        # in a database of its own: the other daemons sweep theirs, and have no probe for this tool
        self.cluster.psql(f'create database {self.database}', database='postgres')
        with Side(self.cluster, [ASKS], 1, {'sweep_interval': '5s'}, self.database) as side:
            self.sizes = measure(side, 'sweep', lambda: self.open_up(side), since='unknown')
            for cut in cuts_of(self.sizes):
                t = self.tallies[cut[0]]
                n_swept = side.proxy.n_answered['sweep']
                rule = side.proxy.arm(Cut('sweep', *cut, since='unknown'))
                t.took(self.open_up(side))
                # the sweep goes again by itself; a half that was cut behind its last byte counts as answered
                wait_until(lambda: side.proxy.n_answered['sweep'] > n_swept and rule.fired.is_set(), 20, f'a sweep after {cut}')
                t.n += 1
            conn = side.rival
            wait_until(lambda: all(conn.call('get', effect=e)['state'] == 'done' for e in self.effects), 60, 'all is decided')
            self.rows = {e: conn.call('get', effect=e, events=1000) for e in self.effects}
            side.proxy.check()

    def report(self):
        note(f'sweep: bytes of an exchange {self.sizes}')
        for t in self.tallies.values():
            ok(*t.verdict())
        wrong = [r for r in self.rows.values() if (r['outcome'], r['by'], r['result'], r['attempt']) != ('succeeded', 'probe', RESULT, 1)]
        is_(wrong, [], f'each of {len(self.rows)} is done by its probe')
        kinds = [[e['kind'] for e in r['events']] for r in self.rows.values()]
        is_([k for k in kinds if k.count('unknown') != 1 or k.count('verdict') != 1 or len(k) != 2], [],
            'each turned unknown once, and was decided by one verdict')
        is_(self.cluster.psql('select count(*) from effect.check_invariants()', database=self.database), '0', 'no invariant is hurt there')


class GuardedLane:
    """begin_guarded is cut: the grant is told, is no duplicate of itself, and is counted in its turn once."""
    TOOL = {**PAY, 'name': 'guarded', 'turn_budget': 1, 'business_key': ['/order'], 'on_business_duplicate': 'hold'}

    def __init__(self, cluster):
        self.cluster, self.n = cluster, 0
        self.tallies = {half: Tally(f'begin_guarded cut {half}') for half in WAYS}
        self.asked = {}  # turn: how often a client asked at most

    def begin(self, side):
        self.n += 1
        told = side.ask('begin', begin_params(f'guarded {self.n}', tool='guarded', run='wire', turn=self.n, args={'order': self.n}))
        self.asked[str(self.n)] = 1 + told.n_unavailable
        return told

    def one(self, side, cut):
        t = self.tallies[cut[0]]
        rule = side.proxy.arm(Cut('begin_guarded', *cut))
        told = self.begin(side)
        t.n += 1
        t.took(told)
        t.expect(rule.fired.wait(10), (*cut, 'was not cut'))
        t.expect((told.word, told.result and told.result.get('attempt')) == ('run', 1), (*cut, told.answer))
        rivals = [side.rival.call('begin', tool='guarded', key=f'rival {self.n}', args={'order': order}, **turn)['decision']
                  for order, turn in (('other', {'run': 'wire', 'turn': self.n}), (self.n, {}))]
        t.expect(rivals == ['exhausted', 'held'], (*cut, rivals))

    def run(self):
        with Side(self.cluster, [self.TOOL], 2) as side:
            self.sizes = measure(side, 'begin_guarded', lambda: self.begin(side))
            for cut in cuts_of(self.sizes):
                self.one(side, cut)
            side.proxy.check()

    def report(self):
        note(f'begin_guarded: bytes of an exchange {self.sizes}')
        for t in self.tallies.values():
            ok(*t.verdict())
        rows = self.cluster.rows("select turn, grants, asks - refused as asks from effect.turns where run = 'wire'")
        is_([r for r in rows if r['grants'] != 1 or not 1 <= r['asks'] <= self.asked[r['turn']]], [],
            f'each of {len(rows)} turns has one grant, and no ask too many')


class BigLane:
    """case 126: a record and a replay of half a megabyte, among others in one write: more than a buffer, cut anywhere."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.tallies = {UP: Tally('a record of half a megabyte cut on its way in'), DOWN: Tally('a replay of half a megabyte cut on its way out')}
        self.n = 0

    def one(self, side, way, byte, how):
        t, self.n = self.tallies[way], self.n + 1
        names = [f'big {self.n} {i}' for i in range(4)]
        runs = [side.conn.call('begin', begin_params(name, tool='big')) for name in names]
        results = [name * (70000 if name == names[2] else 1) for name in names]
        records = [{'effect': run['effect'], 'token': run['token'], 'result': result} for run, result in zip(runs, results)]
        rule = Cut('complete' if way == UP else 'begin', way, byte, how)
        if way == UP:
            side.proxy.arm(rule)
        at = time.monotonic()
        words = self.batch(side, 'complete', records)
        t.expect([word_of(a) for a in words] == ['done'] * 4, (way, byte, how, words))
        if way == DOWN:
            side.proxy.arm(rule)
        replays = self.batch(side, 'begin', [begin_params(name, tool='big') for name in names])
        t.slowest_s = max(t.slowest_s, time.monotonic() - at)
        t.expect([a.get('result', {}).get('result') for a in replays] == results, (way, byte, how, [word_of(a) for a in replays]))
        t.expect(rule.fired.wait(10), (way, byte, how, 'was not cut'))
        t.n += 1

    @staticmethod
    def batch(side, method, params):
        side.conn.send_raw(b''.join(side.conn.line(method, p, 50000 + i) for i, p in enumerate(params)))
        return [side.conn.recv(50000 + i) for i in range(len(params))]

    def run(self):
        with Side(self.cluster, [{**PAY, 'name': 'big', 'result_max': 1000000}], 2) as side:
            for n in range(rounds_of(12, 300)):
                for way in WAYS:
                    self.one(side, way, random.randrange(480000), CUTS[n % 3])

    def report(self):
        for t in self.tallies.values():
            ok(*t.verdict())


def commit_told_to_nobody(cluster):
    """case 102: the server answers an exchange when it is committed, and of that answer nothing arrives."""
    with Side(cluster, [PAY], 2) as side:
        kinds, answers, rivals = set(), [], set()
        for n in range(10):
            key = f'case 102 {n}'
            side.proxy.arm(Cut('begin', DOWN, 0, CUTS[n % 3]))
            run = side.ask('begin', begin_params(key))
            row = side.conn.call('get', effect=run.result['effect'])
            kinds.add((run.word, row['attempt'], *(e['kind'] for e in row['events'])))
            rivals.add(side.rival.call('begin', tool='pay', key=key)['decision'])
            side.proxy.arm(Cut('complete', DOWN, 0, CUTS[n % 3]))
            answers.append(side.ask('complete', {**claim_of(run), 'result': RESULT}).result)
            rivals.add(side.rival.call('begin', tool='pay', key=key).get('outcome'))
        is_(kinds, {('run', 1)}, 'case 102: a begin is committed, and its acknowledgement lost: the caller is told run')
        is_(answers, [{'state': 'done', 'outcome': 'succeeded', 'already': False}] * 10, 'case 102: and a complete: it is done, once')
        is_(rivals, {'busy', 'succeeded'}, 'case 102: to others it is busy, and then replayed')


seed()
with Cluster() as the_cluster:
    commit_told_to_nobody(the_cluster)
    lanes = [Lane(the_cluster, 'one connection', 1, 0), Lane(the_cluster, 'four connections', 4, 1), SweepLane(the_cluster),
             GuardedLane(the_cluster), BigLane(the_cluster)]
    in_parallel(*(lane.run for lane in lanes))
    for the_lane in lanes:
        the_lane.report()
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
