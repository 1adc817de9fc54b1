#!/usr/bin/python3
"""The wire between daemon and database under an execute: cut at every byte of its three exchanges (the claim, the statement, the record
and its COMMIT), in both halves, in one way after the other (every 127th in tests/run), silent, warned on, refused. Each time
who asked is told ran or its replay, the effect is there once, and what is told is what is there."""
import os
import random
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *  # noqa: E402
from proxy import DOWN, UP, Cut, Inject, Record, Warn  # noqa: E402
from wire import Side, Tally, in_parallel, until_told  # noqa: E402

STEP = rounds_of(127, 1)
CUTS = ('close', 'reset', 'half')
# an exchange is known by its last statement
EXCHANGES = {'the claim': 'execute_begin', 'the statement': 'set constraints all immediate', 'the record': 'commit'}
SETUP = '''create schema shop; create table shop.payment (id serial, key text not null); create role clerk login;
create function shop.pay(k text) returns json language sql security definer as
  'insert into shop.payment (key) values (k) returning json_build_object(''payment'', id)';
grant usage on schema shop to clerk; select effect.allow('clerk', 'default');'''
TOOL = {'name': 'pay', 'execute': {'query': 'select shop.pay($1)', 'params': ['{key}'], 'user': 'clerk', 'timeout': '5s'}}


class Lane:
    """A daemon whose wire is cut under one execute after the other."""

    def __init__(self, cluster, name, **config):
        self.cluster, self.name, self.config = cluster, name, config
        self.tallies, self.n = {}, 0

    def ask(self):
        self.n += 1
        return {'tool': 'pay', 'key': f'{self.name} {self.n}', 'request': request_id()}

    def judge(self, t, told, what):
        """Who asked, and what is there."""
        t.n += 1
        t.took(told)
        key = told.result and told.result.get('key')
        ids = self.cluster.psql(f"select id from shop.payment where key = '{key}'").split()
        t.expect(told.word == 'ran' or told.word == 'replay' and told.n_unavailable > 0, (what, told.answer))
        t.expect(len(ids) == 1 and told.result.get('result') == {'payment': int(ids[0])}, (what, told.answer, ids))

    def one(self, side, name, rule, what):
        t = self.tallies.setdefault(name, Tally(name))
        side.proxy.arm(rule)
        told = side.ask('execute', self.ask())
        t.expect(rule.fired.wait(10), (what, 'did not happen'))
        self.judge(t, told, what)

    def run(self):
        with Side(self.cluster, [TOOL], 1, self.config) as side:
            side.ask('execute', self.ask())
            self.go(side)
            side.proxy.check()

    def report(self):
        for t in self.tallies.values():
            ok(*t.verdict())


class CutLane(Lane):
    """One of the exchanges is cut, at one byte after the other."""

    def go(self, side):
        what = EXCHANGES[self.name]
        rule = side.proxy.arm(Record(what))
        side.ask('execute', self.ask())
        wait_until(rule.fired.is_set, 20, self.name)
        note(f'{self.name}: bytes of an exchange {rule.n}')
        for half in (UP, DOWN):
            for n, byte in enumerate(range(random.randrange(STEP), rule.n[half] + 1, STEP), random.randrange(3)):
                how = CUTS[n % len(CUTS)]
                self.one(side, f'{self.name} cut {half}', Cut(what, half, byte, how), (half, byte, how))


class RefusedLane(Lane):
    """What the server, or who calls itself so, may answer instead, or besides."""

    def go(self, side):
        for n in range(rounds_of(1, 30)):
            self.one(side, 'a WARNING at the COMMIT', Warn('commit'), n)
            for sqlstate in ('40001', '53300', '57014', '25006'):
                self.one(side, f'the claim refused by {sqlstate}', Inject('execute_begin', sqlstate), n)
            for name, what in EXCHANGES.items():
                self.one(side, f'{name} ended by 57P01', Inject(what, '57P01', 'fatal'), n)
            self.one(side, 'a COMMIT of which nobody knows (40003)', Inject('commit', '40003'), n)
            self.one(side, 'a COMMIT that the disk has no room for', Inject('commit', '53100'), n)
        rule = side.proxy.arm(Inject('commit', '23514'))
        told = side.ask('execute', self.ask())
        is_((rule.fired.wait(10), told.word, told.answer['error']['data']['sqlstate']), (True, 'tool_failed', '23514'),
            'what is refused at the COMMIT is the tool\'s failure')


class SilentLane(Lane):
    """A wire that passes nothing any more, under several at a time: its backends are out there, with all that they hold."""

    def go(self, side):
        asking = []
        t = self.tallies.setdefault('silent', Tally('a silent wire'))
        for _ in range(rounds_of(1, 8)):
            for what in EXCHANGES.values():
                for half, byte in ((UP, 1), (UP, 10000), (DOWN, 0)):
                    rule = side.proxy.arm(Cut(what, half, byte, 'mute'))
                    conn, ask, told = side.daemon.connect(), self.ask(), []
                    thread = threading.Thread(target=lambda c=conn, a=ask, r=told: r.append(until_told(c, 'execute', a)), daemon=True)
                    thread.start()
                    t.expect(rule.fired.wait(20 * SLOW), (what, half, byte, 'did not happen'))
                    asking.append((thread, told, (what, half, byte)))
        for thread, told, what in asking:
            thread.join(90 * SLOW)
            if t.expect(told, (what, 'was told nothing')):
                self.judge(t, told[0], what)
        t.slowest_s = 0  # a backend that waits for us in a transaction does so for ten seconds


seed()
with Cluster() as the_cluster:
    with Daemon(the_cluster) as the_daemon:
        the_daemon.ready()
    the_cluster.psql(SETUP)
    lanes = [*(CutLane(the_cluster, name) for name in EXCHANGES), RefusedLane(the_cluster, 'refused'),
             SilentLane(the_cluster, 'silent', request_timeout='1s', execute_connections=16)]
    in_parallel(*(lane.run for lane in lanes))
    for the_lane in lanes:
        the_lane.report()
    is_(the_cluster.psql('select count(*) from (select key from shop.payment group by key having count(*) > 1) k'), '0', 'nothing is there twice')
    is_(the_cluster.psql("select count(*) from shop.payment p full join effect.ledger l on l.key = p.key and l.state = 'done' "
                         'where p.key is null or l.id is null'), '0', 'each business row has its done row, and each done row its business row')
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
