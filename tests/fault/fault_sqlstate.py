#!/usr/bin/python3
"""What the database may refuse a statement with, each by an ErrorResponse of ours: instead of its execution, after an execution
that was undone, or as the last word of a connection. Every answer has the documented shape, can be sent again where the page says
so, and the service is back within 2 s. Cases 100, 104 and 105, and a migration under way."""
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *
from proxy import DOWN, Cut, Inject, Record, Warn
from talk import Script
from wire import PAY, Side, Tally, begin_params, claim_of, until_told, word_of

AGAIN, ELSEWHERE, LOOK, REFUSED = 'tried again', 'tried on another connection', 'tried when the schema was looked at', 'internal'
STATES = {
    '08000': ELSEWHERE, '08003': ELSEWHERE, '08006': ELSEWHERE, '08P01': ELSEWHERE, '57P01': ELSEWHERE, '57P02': ELSEWHERE,
    '57P03': ELSEWHERE, '57P05': ELSEWHERE, '53300': ELSEWHERE, '25006': ELSEWHERE, '25P02': ELSEWHERE, '25P03': ELSEWHERE,
    '28000': ELSEWHERE, '28P01': ELSEWHERE, '3D000': ELSEWHERE, '40003': ELSEWHERE,
    '40001': AGAIN, '40P01': AGAIN, '55P03': AGAIN, '55006': AGAIN, '57014': AGAIN, '53000': AGAIN, '53100': AGAIN, '53200': AGAIN,
    '53400': AGAIN, '58000': AGAIN, '58030': AGAIN, '26000': AGAIN, '42P05': AGAIN,
    '42804': LOOK, '0A000': LOOK, '42501': LOOK, '42883': LOOK, '42703': LOOK, '42P01': LOOK, '3F000': LOOK, 'ZE004': LOOK,
    '22P02': REFUSED, '22003': REFUSED, '22021': REFUSED, '23505': REFUSED, '23514': REFUSED, '54001': REFUSED, 'XX000': REFUSED,
    'XX001': REFUSED, 'ZE003': REFUSED,
}
FATAL = ('57P01', '57P02', '57P03', '57P05', '08006', '08P01', '53300', '25P03', '28P01', '3D000', 'XX000')
MESSAGES = {'0A000': 'cached plan must not change result type', '25006': 'cannot execute INSERT in a read-only transaction'}
PROBE = Script()
ASKS = PROBE.policy('asks', lease='5m', probe_timeout='1s')


def inject(what, state, mode, **more):
    return Inject(what, state, mode, MESSAGES.get(state, 'injected'), **more)


def cases():
    for state in STATES:
        yield state, 'instead'
        yield state, 'after'
    for state in FATAL:
        yield state, 'fatal'


class Round:
    """One request that meets one refusal."""
    n = 0

    def __init__(self, side, tally, state, mode):
        self.side, self.tally, self.state, self.mode = side, tally, state, mode
        self.refused = STATES[state] == REFUSED and mode != 'fatal'

    def expect(self, good, what):
        self.tally.expect(good, (self.state, self.mode, what))

    def told(self, method, params):
        """What it is told in the end; an internal error is what the page says, and may be sent again."""
        rule = self.side.proxy.arm(inject(method, self.state, self.mode))
        told = self.side.ask(method, params)
        self.tally.n += 1
        self.tally.took(told)
        self.expect(rule.fired.wait(10), 'was not injected')
        self.expect((told.word == 'internal') == self.refused, told.answer)
        if told.word == 'internal':
            self.expect(told.answer['error']['code'] == -32603, told.answer)
            told = self.side.ask(method, params)
        if STATES[self.state] == ELSEWHERE or self.mode == 'fatal':
            wait_until(lambda: rule.link.closed, 10, f'{self.state}: its connection is closed')
        else:
            self.expect(not rule.link.closed, 'its connection was closed')
        return told

    def begin(self):
        Round.n += 1
        told = self.told('begin', begin_params(f'k{Round.n}'))
        self.expect((told.word, told.result and told.result.get('attempt')) == ('run', 1), told.answer)
        rival = self.side.rival.call('begin', tool='pay', key=f'k{Round.n}')
        self.expect(rival['decision'] == 'busy', rival)
        return told

    def complete(self):
        Round.n += 1
        run = self.side.ask('begin', begin_params(f'k{Round.n}'))
        told = self.told('complete', {**claim_of(run), 'result': {'n': Round.n}})
        self.expect(told.result == {'state': 'done', 'outcome': 'succeeded', 'already': False}, told.answer)
        replay = self.side.rival.call('begin', tool='pay', key=f'k{Round.n}')
        self.expect((replay['decision'], replay.get('result')) == ('replay', {'n': Round.n}), replay)

    def get(self, effect):
        told = self.told('get', {'effect': effect})
        self.expect(told.result and told.result['state'] == 'pending', told.answer)


def one_by_one(cluster):
    begins, completes, gets = (Tally(f'{what} meets {len(STATES)} SQLSTATEs in three ways') for what in ('begin', 'complete', 'get'))
    with Side(cluster, [PAY], 4) as side:
        effect = side.conn.call('begin', tool='pay', key='seen')['effect']
        side.all_up(4)
        order = list(cases())
        random.shuffle(order)
        for state, mode in order:
            Round(side, begins, state, mode).begin()
            Round(side, completes, state, mode).complete()
            Round(side, gets, state, mode).get(effect)
        for t in (begins, completes, gets):
            ok(*t.verdict())
        words = cluster.psql('select distinct attempt from effect.ledger')
        is_(words, '1', f'{Round.n} keys, no second attempt')


def many_at_once(cluster):
    """cases 100 and 126: twenty in one batch; the one refusal is nobody's answer."""
    t = Tally('twenty begins in one batch meet a refusal')
    with Side(cluster, [PAY], 1) as side:
        for n, (state, mode) in enumerate(cases()):
            rule = side.proxy.arm(inject('begin', state, mode))
            params = [begin_params(f'batch {n} {i}') for i in range(20)]
            side.conn.send_raw(b''.join(side.conn.line('begin', p, 10000 + i) for i, p in enumerate(params)))
            at = time.monotonic()
            words = [word_of(side.conn.recv(10000 + i)) for i in range(20)]
            t.slowest_s = max(t.slowest_s, time.monotonic() - at)
            t.n += 1
            t.expect(rule.fired.wait(10) and words == ['run'] * 20, (state, mode, words))
        ok(*t.verdict())
        # cut behind the seventh row, and one row of a mebibyte among them
        big = side.ask('begin', begin_params('big'))
        side.conn.call('complete', **claim_of(big), result='x' * 60000)
        for how in ('close', 'reset', 'half'):
            params = [begin_params(f'pipe {how} {i}') for i in range(19)]
            rule = side.proxy.arm(Cut('begin', DOWN, 900 + 7 * 200, how))
            side.conn.send_raw(b''.join(side.conn.line('begin', p, 20000 + i) for i, p in enumerate(params)) +
                               side.conn.line('begin', {'tool': 'pay', 'key': 'big'}, 20019))
            answers = [side.conn.recv(20000 + i) for i in range(20)]
            ok([word_of(a) for a in answers] == ['run'] * 19 + ['replay'] and rule.fired.wait(10) and
               [a['result']['key'] for a in answers[:19]] == [p['key'] for p in params] and
               answers[19]['result']['result'] == 'x' * 60000, f'case 126: twenty begins, {how} in the midst of their rows: each its own answer')


def other_methods(cluster):
    """Each method that needs the ledger, and one SQLSTATE of each kind."""
    wrong, n = [], 0
    with Side(cluster, [PAY], 2) as side:
        for state, mode in (('40001', 'after'), ('57P01', 'fatal'), ('25006', 'instead'), ('0A000', 'instead'), ('XX000', 'instead')):
            for method in ('release', 'unknown', 'extend', 'resolve', 'list'):
                n += 1
                run = side.conn.call('begin', tool='pay', key=f'other {n}')
                params = {'list': {}, 'resolve': {'effect': run['effect'], 'verdict': 'landed', 'reason': 'x', 'attempt': 1, 'state': 'pending'}}
                params = params.get(method, {'effect': run['effect'], 'token': run['token']})
                if method == 'resolve':
                    side.conn.call('unknown', effect=run['effect'], token=run['token'])
                    params['state'] = 'unknown'
                rule = side.proxy.arm(inject(method, state, mode))
                told = until_told_anything(side.conn, method, params)
                if told == 'internal' and STATES[state] == REFUSED:
                    told = until_told_anything(side.conn, method, params)
                want = {'release': 'released', 'unknown': 'unknown', 'extend': 'pending', 'resolve': 'done', 'list': 'effects'}[method]
                if told != want or not rule.fired.wait(10):
                    wrong.append((method, state, mode, told, rule.fired.wait(10)))
        is_(wrong, [], f'{n} times release, unknown, extend, resolve and list meet a refusal')
        side.proxy.arm(inject('list', '57014', 'instead'))
        is_(side.conn.error('list')['data']['name'], 'overloaded', 'a list that takes too long is overloaded')
        for what, params, want in (('begin', begin_params('warned'), 'run'), ('complete', None, 'done')):
            n_answered = side.proxy.n_answered[what]
            side.proxy.arm(Warn(what))
            told = side.ask(what, params or {**claim_of(told), 'result': 1})
            is_((told.word, side.proxy.n_answered[what] - n_answered), (want, 2),
                f'a warning on a {what} may mean that it is not durable: it is sent again')
        is_((told.result['already'], side.ask('begin', begin_params('warned')).result['attempt']), (False, 1), 'and is there once')


def until_told_anything(conn, method, params):
    answer = conn.recv(conn.send(method, params))
    return 'effects' if 'effects' in answer.get('result', {}) else word_of(answer)


def sweeps(cluster):
    """Sweeps and verdicts are refused; every row is decided by its probe all the same."""
    PROBE.says('landed', result='found')
    cluster.psql('create database swept', database='postgres')
    with Side(cluster, [ASKS], 2, {'sweep_interval': '100ms'}, 'swept') as side:
        effects, rules = [], []
        for n, state in enumerate(STATES):
            what = ('sweep', 'verdict')[n % 2]
            rules.append((state, what, side.proxy.arm(inject(what, state, random.choice(('instead', 'after')), since='unknown'))))
            run = side.conn.call('begin', tool='asks', key=state)
            side.conn.call('unknown', effect=run['effect'], token=run['token'])
            effects.append(run['effect'])
            wait_until(rules[-1][2].fired.is_set, 20, f'a {what} meets {state}')
        # a verdict that was refused for good comes with the next probe
        wait_until(lambda: all(side.conn.call('get', effect=e)['state'] == 'done' for e in effects), 60, 'all is decided')
        rows = [side.conn.call('get', effect=e) for e in effects]
        is_([r for r in rows if (r['outcome'], r['by'], r['attempt'], r['result']) != ('succeeded', 'probe', 1, 'found')], [],
            f'{len(rows)} sweeps and verdicts meet a refusal: each row is decided by its probe')
        is_(cluster.psql('select count(*) from effect.check_invariants()', database='swept'), '0', 'no invariant is hurt')


def refused_at_the_door(cluster):
    """The server takes no connection, and says why."""
    with Side(cluster, [PAY], 2) as side:
        for state in ('57P03', '53300', '28P01', '3D000', '57P02', '08006', 'close'):
            side.proxy.door = state
            side.proxy.cut()
            params = begin_params(f'door {state}')
            is_(word_of(side.conn.recv(side.conn.send('begin', {**params, 'deadline_ms': 300}))), 'unavailable', f'no connection, {state}: unavailable')
            wait_until(lambda: not side.conn.call('info')['ready'], 10, 'info says so')
            error = side.conn.call('info')['database']['error']
            ok(state == 'close' or 'injected' in error, f'no connection, {state}: info says why', error)
            side.proxy.door = 'open'
            told = side.ask('begin', params)
            ok((told.word, told.result.get('attempt')) == ('run', 1) and told.took_s < 2 * SLOW, f'after {state}: run, within 2 s',
               (told.answer, told.took_s))


def read_only_connection(cluster):
    """case 104"""
    with Side(cluster, [PAY], 4) as side:
        side.all_up(4)
        before = side.proxy.open_links()
        rule = side.proxy.arm(inject('begin', '25006', 'instead'))
        told = side.ask('begin', begin_params('read only'))
        is_((told.word, told.n_unavailable), ('run', 0), 'case 104: 25006 on one connection: the caller is told run')
        side.all_up(4)
        is_([link for link in before if link.closed], [rule.link], 'that connection is dropped, and no other')
        words = [word_of(side.conn.recv(side.conn.send('begin', begin_params(f'writable {n}')))) for n in range(20)]
        is_(set(words), {'run'}, 'and another is found')


def prepared(cluster):
    """What is prepared on a connection is prepared anew when it may be void, once; and not at all behind a pooler that forgets it."""
    def begin(side, state=None):
        rule = side.proxy.arm(inject('begin', state, 'instead')) if state else None
        record = side.proxy.arm(Record('begin'))
        Round.n += 1
        told = side.ask('begin', begin_params(f'prepared {Round.n}'))
        assert told.word == 'run' and record.fired.wait(10) and (not rule or rule.fired.wait(10)), told.answer
        return record.prepares

    with Side(cluster, [PAY], 1) as side:
        begin(side)
        is_([begin(side), begin(side)], [False, False], 'a statement is prepared once for a connection')
        for state in ('0A000', '42883', '40001'):
            is_([begin(side, state), begin(side), begin(side)], [state != '40001', False, False],
                f'case 105: after {state} it is {"as it was" if state == "40001" else "prepared anew, once"}')
        is_([begin(side, '26000'), begin(side)], [True, True], 'after 26000 statements go out whole')


WIDER = r"""do $$ declare
  v_arguments text := pg_get_function_arguments('effect.begin'::regproc);
  v_result text := regexp_replace(pg_get_function_result('effect.begin'::regproc), '\)$', ', more integer)');
  v_n integer := (select pronargs from pg_proc where oid = 'effect.begin'::regproc);
begin
  alter table effect.ledger add column more integer;
  alter function effect.begin rename to begin_before;
  execute format('create function effect.begin(%s) returns %s language sql as $q$ select b.*, 0 from effect.begin_before(%s) b $q$',
    v_arguments, v_result, (select string_agg('$' || n, ', ') from generate_series(1, v_n) n));
end $$"""
BACK = """do $$ begin
  drop function effect.begin;
  alter function effect.begin_before rename to begin;
  alter table effect.ledger drop column more;
end $$"""


def migrated(cluster):
    """case 105: tables and functions change under eight clients at work."""
    with Side(cluster, [PAY], 4, {'auto_migrate': False}) as side:
        stop, told, failures = threading.Event(), [], []

        def client(number):
            conn, n = side.daemon.connect(), 0
            while not stop.is_set():
                n += 1
                try:
                    run = until_told(conn, 'begin', begin_params(f'migrated {number} {n}'))
                    told.append(run.word)
                    told.append(until_told(conn, 'complete', {**claim_of(run), 'result': n}).word)
                except Exception as e:  # pylint: disable=broad-except
                    failures.append(e)
                    return
        threads = [threading.Thread(target=client, args=(n,), daemon=True) for n in range(8)]
        for thread in threads:
            thread.start()

        def more(n=60):
            goal = len(told) + n
            wait_until(lambda: len(told) >= goal or failures, 30, 'more answers')

        more()
        cluster.psql('alter table effect.ledger add column other integer')
        more()
        for _ in range(rounds_of(3, 20)):
            cluster.psql(WIDER)
            more()
            cluster.psql(BACK)
            more()
        stop.set()
        for thread in threads:
            thread.join(30)
        is_((failures, sorted(set(told))), ([], ['done', 'run']), f'case 105: a column and a wider function under eight clients, {len(told)} answers')
        cluster.psql('alter function effect.begin rename to begin_hidden')
        params = begin_params('hidden')
        is_(word_of(side.conn.recv(side.conn.send('begin', {**params, 'deadline_ms': 500}))), 'unavailable', 'a function that is gone: unavailable')
        cluster.psql('alter function effect.begin_hidden rename to begin')
        is_(side.ask('begin', params).word, 'run', 'it is back: run, without a restart')


seed()
with Cluster() as the_cluster:
    one_by_one(the_cluster)
    many_at_once(the_cluster)
    other_methods(the_cluster)
    refused_at_the_door(the_cluster)
    read_only_connection(the_cluster)
    prepared(the_cluster)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
    sweeps(the_cluster)
    migrated(the_cluster)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
