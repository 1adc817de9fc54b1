#!/usr/bin/python3
"""The wire between daemon and database falls silent: it stays open and passes nothing, or next to nothing. The caller is told
`unavailable` in time, the connection is replaced, its backend is ended, and what was asked is answered rightly afterwards."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *
from proxy import DOWN, UP, Cut, Record, Slow
from talk import Script
from wire import PAY, Side, Tally, Told, begin_params, claim_of, in_parallel, until_told, word_of

TIMEOUT_MS = 400
PROBE = Script()
BACKENDS = "from pg_stat_activity where application_name = 'effectd' and datname = current_database()"


def points(sizes):
    """Where to fall silent: before, in and behind each half, and around its Sync, which is what commits."""
    part = rounds_of(4, 40)
    for way in (UP, DOWN):
        yield from ((way, sizes[way] * n // part) for n in range(part))
    yield from ((UP, after) for after in (-6, -6, -5, -5, -1, -1))
    yield UP, sizes[UP]
    yield DOWN, sizes[DOWN] - 1


class Lane:
    def __init__(self, cluster, connections, part):
        self.cluster, self.connections = cluster, connections
        self.share = slice(part, None, rounds_of(2, 1))  # of the points, in tests/run
        self.database = f'silent{connections}'
        self.begins = Tally(f'silence in a begin ({connections} connections)')
        self.completes = Tally(f'silence in a complete ({connections} connections)')
        self.longest_s, self.n_backends = 0.0, 0
        self.n = 0

    def silence(self, side, tally, method, params, after):
        """What the caller is told at first, and then, with the silent connection still there."""
        rule = side.proxy.arm(Cut(method, *after, 'mute'))
        at = time.monotonic()
        first = side.conn.recv(side.conn.send(method, params))
        self.longest_s = max(self.longest_s, time.monotonic() - at)
        # where the statement was prepared before, the whole answer may have been shorter than that
        whole = word_of(first) != 'unavailable' and after[0] == DOWN
        told = Told(first, 0, 0.0) if whole else until_told(side.conn, method, params)
        tally.n += 1
        tally.took(told)
        tally.expect(rule.fired.wait(10) and (whole or word_of(first) == 'unavailable'), (after, first))
        tally.expect(whole or method != 'complete' or first['error']['data'].get('kept') is True, (after, first))
        return rule, told

    def settled(self, side, rule):
        """The silent backend goes although nobody closes its wire; then we close it."""
        wait_until(lambda: self.backends() <= self.connections, 20, 'the silent backend is gone')
        side.proxy.cut(rule)

    def backends(self):
        return int(self.cluster.psql(f'select count(*) {BACKENDS}', database=self.database))

    def begin(self, side, after):
        self.n += 1
        params = begin_params(f'k{self.n}')
        rule, told = self.silence(side, self.begins, 'begin', params, after)
        self.begins.expect((told.word, told.result.get('attempt')) == ('run', 1), (after, told.answer))
        rival = until_told(side.rival, 'begin', {'tool': 'pay', 'key': f'k{self.n}'}).result
        self.begins.expect(rival['decision'] == 'busy', (after, rival))
        self.settled(side, rule)

    def complete(self, side, after):
        self.n += 1
        run = side.ask('begin', begin_params(f'k{self.n}'))
        params = {**claim_of(run), 'result': self.n}
        rule, told = self.silence(side, self.completes, 'complete', params, after)
        self.completes.expect((told.word, told.result.get('outcome')) == ('done', 'succeeded'), (after, told.answer))
        replay = until_told(side.rival, 'begin', {'tool': 'pay', 'key': f'k{self.n}'}).result
        self.completes.expect((replay['decision'], replay.get('result')) == ('replay', self.n), (after, replay))
        self.settled(side, rule)

    def run(self):
        self.cluster.psql(f'create database {self.database}', database='postgres')
        with Side(self.cluster, [PAY], self.connections, {'request_timeout': f'{TIMEOUT_MS}ms'}, self.database) as side:
            sizes = {}
            for method in ('begin', 'complete'):
                rule = side.proxy.arm(Record(method))
                if method == 'begin':
                    run = side.ask('begin', begin_params('measure'))
                else:
                    side.ask('complete', {**claim_of(run), 'result': 0})
                wait_until(rule.fired.is_set, 10, f'a {method}')
                sizes[method] = rule.n
            for after in list(points(sizes['begin']))[self.share]:
                self.begin(side, after)
            for after in list(points(sizes['complete']))[self.share]:
                self.complete(side, after)
            # nobody asks again: the record that was kept is written all the same
            run = side.ask('begin', begin_params('kept'))
            side.proxy.arm(Cut('complete', UP, -5, 'mute'))
            side.conn.error('complete', {**claim_of(run), 'result': 'kept'})
            wait_until(lambda: side.rival.call('get', effect=run.result['effect'])['state'] == 'done', 10, 'the kept record is written')
            self.invariants = self.cluster.psql('select count(*) from effect.check_invariants()', database=self.database)

    def report(self):
        ok(*self.begins.verdict())
        ok(*self.completes.verdict())
        ok(self.longest_s < (TIMEOUT_MS / 1000 + 0.5 * SLOW), f'{self.connections} connections: unavailable came within the deadline',
           f'{self.longest_s:.2f} s of {TIMEOUT_MS} ms')
        rows = self.cluster.psql("select count(*), count(*) filter (where attempt = 1) from effect.ledger", database=self.database)
        is_(rows, f'{self.n + 2}|{self.n + 2}', f'{self.connections} connections: one row of one attempt for each key')
        is_(self.invariants, '0', f'{self.connections} connections: no invariant is hurt')


def sweep(cluster):
    """A sweep whose wire falls silent before its Sync holds the row; it is let go, swept again, and probed."""
    PROBE.says('landed', result='found')
    cluster.psql('create database swept', database='postgres')
    with Side(cluster, [PROBE.policy('asks', lease='5m', probe_timeout='1s')], 1,
              {'request_timeout': f'{TIMEOUT_MS}ms', 'sweep_interval': '200ms'}, 'swept') as side:
        wrong = []
        for after in ((UP, 9), (UP, -5), (UP, -1), (DOWN, 0), (DOWN, 50)):
            run = side.conn.call('begin', tool='asks', key=f'{after}')
            rule = side.proxy.arm(Cut('sweep', *after, 'mute', since='unknown'))
            until_told(side.conn, 'unknown', {'effect': run['effect'], 'token': run['token']})
            wait_until(rule.fired.is_set, 20, 'a sweep falls silent')
            row = wait_until(lambda: decided(side, run), 30, 'it is decided')
            if (row['outcome'], row['by'], row['result']) != ('succeeded', 'probe', 'found'):
                wrong.append((after, row))
            side.proxy.cut(rule)
        is_(wrong, [], 'a sweep falls silent, before and behind its commit: its row is probed and decided')
        is_(cluster.psql('select count(*) from effect.check_invariants()', database='swept'), '0', 'no invariant is hurt by it')


def decided(side, run):
    row = until_told(side.rival, 'get', {'effect': run['effect']}).result
    return row if row['state'] == 'done' else None


def nothing_answers(cluster):
    """case 128: every connection is silent, and each new one is taken and never answered."""
    with Side(cluster, [PAY], 4, {'request_timeout': f'{TIMEOUT_MS}ms'}) as side:
        run = side.ask('begin', begin_params('held'))
        side.all_up(4)
        calls = {'begin': begin_params('mute'), 'get': {'effect': run.result['effect']}, 'extend': claim_of(run),
                 'complete': {**claim_of(run), 'result': 'kept'}, 'list': {}}
        # one backend holds the locks of a claim that it waits to commit
        half = side.proxy.arm(Cut('begin', UP, -5, 'mute'))
        locked = begin_params('locked')
        id_ = side.conn.send('begin', locked)
        wait_until(half.fired.is_set, 10, 'a claim without its Sync')
        side.proxy.mute()
        is_(word_of(side.conn.recv(id_)), 'unavailable', 'nothing answers a claim under way: unavailable')
        for n in range(3):
            conns = {method: side.daemon.connect() for method in calls}
            at = time.monotonic()
            ids = {method: conns[method].send(method, params) for method, params in calls.items()}
            words = {method: word_of(conns[method].recv(id_)) for method, id_ in ids.items()}
            took = time.monotonic() - at
            is_(set(words.values()), {'unavailable'}, f'nothing answers, time {n + 1}: all is unavailable')
            ok(took < TIMEOUT_MS / 1000 + 0.5 * SLOW, f'nothing answers, time {n + 1}: within the deadline', f'{took:.2f} s')
        wait_until(lambda: not side.conn.call('info')['ready'], 20, 'info says so')
        silent = side.proxy.open_links()
        side.proxy.door = 'open'  # the silent ones stay as they are
        told = until_told(side.conn, 'begin', calls['begin'])
        is_((told.word, told.result.get('attempt')), ('run', 1), 'new connections are answered: it runs')
        wait_until(lambda: side.rival.call('get', effect=run.result['effect'])['state'] == 'done', 20, 'the kept record is written')
        told = until_told(side.conn, 'begin', locked)
        is_((told.word, told.result.get('attempt')), ('run', 1), 'so does the claim whose locks were left behind on a silent wire')
        side.all_up_but(silent, 4)
        wait_until(lambda: int(cluster.psql(f'select count(*) {BACKENDS}')) <= 4, 20, 'the silent backends are gone')
        side.proxy.unmute()
        is_(side.rival.call('begin', tool='pay', key='held').get('result'), 'kept', 'what the silent ones still bring changes nothing')
        is_(side.conn.call('begin', tool='pay', key='mute')['decision'], 'busy', 'nor is the claim told to another')
    is_(cluster.invariants(), [], 'no invariant is hurt')


def slow(cluster):
    """One byte at a time, and late: slow is not silent."""
    with Side(cluster, [PAY], 1, {'request_timeout': f'{TIMEOUT_MS}ms'}) as side:
        link = wait_until(side.proxy.open_links, 10, 'a connection')[0]
        for name, slowness in (('byte by byte', lambda what, way: Slow(what, way)),
                               ('50 ms late', lambda what, way: Slow(what, way, None, 0.05))):
            for way in (UP, DOWN):
                rule = side.proxy.arm(slowness('begin', way))
                run = side.ask('begin', begin_params(f'{name} {way}'))
                other = side.proxy.arm(slowness('complete', way))
                done_ = side.ask('complete', {**claim_of(run), 'result': name})
                ok((run.word, done_.word, run.n_unavailable + done_.n_unavailable) == ('run', 'done', 0) and rule.fired.wait(10)
                   and other.fired.wait(10), f'a begin and a complete, {name}, {way}', (run.answer, done_.answer))
        # an answer that takes far longer than the time-out, but always moves
        rule = side.proxy.arm(Slow('begin', DOWN, 16, TIMEOUT_MS / 12000))
        run = side.ask('begin', begin_params('crawls'))
        ok(run.n_unavailable > 0 and (run.word, run.result['attempt']) == ('run', 1) and rule.fired.wait(10),
           'an answer that crawls: unavailable in time, and run for the same request', run.answer)
        is_(side.proxy.open_links(), [link], 'and through all that the one connection was kept')


with Cluster() as the_cluster:
    lanes = [Lane(the_cluster, 1, 0), Lane(the_cluster, 3, rounds_of(1, 0))]
    in_parallel(*(lane.run for lane in lanes))
    for the_lane in lanes:
        the_lane.report()
    sweep(the_cluster)
    nothing_answers(the_cluster)
    slow(the_cluster)
done()
