#!/usr/bin/python3
"""Budgets of a turn and the business guard, as callers meet them: what is counted and what is not, what is held and what
`again` does; two daemons that race for one turn and one business key; and a daemon that is killed in between."""
import random
import threading

from harness import *
from talk import claim, event_kinds, names, own_ids
from world import count, name_of, tell

BUDGET = 3
N_CONNS = 12  # on each of two daemons
N_NEW = 20
TOOLS = [{'name': 'turn', 'turn_budget': BUDGET, 'turn_asks': 100, 'lease': '10m'},
         {'name': 'asks', 'turn_asks': 2, 'lease': '10m'},
         {'name': 'hold', 'key': 'mail:{/order}:{/memo}', 'business_key': ['/order', '/to'], 'on_business_duplicate': 'hold'},
         {'name': 'report', 'business_key': ['/order'], 'lease': '10m'},
         *({'name': f'new {i}', 'turn_budget': BUDGET, 'lease': '10m'} for i in range(N_NEW)),
         {'name': 'short', 'business_key': ['/order'], 'business_window': '1s', 'on_business_duplicate': 'hold'}]


def turn_row(cluster, run, turn='1'):
    """[grants, asks, refused]"""
    return [int(n) for n in cluster.psql(f"select grants, asks, refused from effect.turns where run = '{run}' and turn = '{turn}'").split('|')]


def turns(daemon, cluster):
    """case 87"""
    conn = daemon.connect()
    at = {'run': 'r1', 'turn': 1}
    run = claim(conn, 'a', 'turn', **at)
    told = [name_of(conn, 'begin', tool='turn', key='a', **at) for _ in range(20)]
    conn.call('complete', **own_ids(run))
    told += [name_of(conn, 'begin', tool='turn', key='a', **at) for _ in range(20)]
    is_(told, ['busy'] * 20 + ['replay'] * 20, 'case 87: 20 are busy, then 20 replayed')
    is_((conn.call('get', effect=run['effect'])['attempt'], turn_row(cluster, 'r1')), (1, [1, 41, 0]),
        'case 87: that is one attempt of the key and one grant of the turn')
    for key in ('b', 'c'):
        claim(conn, key, 'turn', **at)
    spent = conn.call('begin', tool='turn', key='d', wait_ms=60000, deadline_ms=5000, **at)
    is_(names(spent), 'decision next advice effect key budget max', 'exhausted by the turn: its members, no attempt, and no wait')
    is_([spent[m] for m in ('decision', 'next', 'budget', 'max')], ['exhausted', 'stop', 'turn', BUDGET], 'and what they say')
    ok('key' not in spent['advice'], 'its advice proposes no other key', spent['advice'])
    is_(conn.error('get', effect=spent['effect'])['data']['name'], 'not_found', 'it leaves no row')
    is_([name_of(conn, 'begin', tool='turn', key='d', run='r1', turn=turn) for turn in ('1', 2)], ['exhausted', 'run'],
        'a turn is the same as text and as a number, and another one has its own budget')
    is_(name_of(conn, 'begin', tool='turn', key='e', run='r1'), 'run', 'no turn, no budget')
    is_(conn.error('begin', tool='turn', key='f', turn=1)['data']['pointer'], '/run', 'a turn without its run is refused')
    is_(name_of(conn, 'begin', tool='report', key='f', turn=1, args={'order': 'x'}), 'run', 'but where it has no budget')


def asks(daemon, cluster):
    with daemon.connect() as conn, daemon.connect() as other:
        at = {'tool': 'asks', 'run': 'r2', 'turn': 1}
        run = conn.call('begin', key='a', **at)
        waiting = other.send('begin', key='a', wait_ms=60000, **at)
        wait_until(lambda: turn_row(cluster, 'r2') == [1, 2, 0], 20, 'the second is counted')
        conn.call('release', **own_ids(run), reason='nothing was sent')
        is_(tell(other.recv(waiting)), 'run', 'who waited is granted, and not refused for its own ask')
        is_(turn_row(cluster, 'r2'), [2, 2, 0], 'nor counted twice')
        spent = conn.call('begin', key='b', **at)
        is_([spent[m] for m in ('decision', 'budget', 'max')], ['exhausted', 'asks', 2], 'the next one is exhausted')
        is_(name_of(conn, 'begin', key='a', **at), 'busy', 'what is no grant is told as ever')


def held(daemon):
    """case 37"""
    conn = daemon.connect()
    mail = {'tool': 'hold', 'args': {'order': 7, 'to': 'a@example.org', 'memo': 'your refund'}}
    again = {'tool': 'hold', 'args': {'order': '7', 'to': 'a@example.org', 'memo': 'about your refund'}}
    run = conn.call('begin', **mail)
    told = conn.call('begin', **again, wait_ms=60000, deadline_ms=5000)
    is_(names(told), 'decision next advice effect key twin twin_key window_ms', 'a reworded repeat has another key, and is held: its members')
    is_([told[m] for m in ('decision', 'next', 'twin', 'twin_key', 'window_ms')],
        ['held', 'confirm', run['effect'], run['key'], 3600000], 'and what they say')
    ok('key' not in told['advice'] and '"again"' in told['advice'], 'its advice proposes no other key', told['advice'])
    is_(conn.error('get', effect=told['effect'])['data']['name'], 'not_found', 'it leaves no row')
    is_(conn.call('get', effect=run['effect'])['events'][0]['reason'], f'held: {told["key"]}', 'but an event with its twin')
    conn.call('complete', **own_ids(run), result={'sent': True})
    is_(name_of(conn, 'begin', **again), 'held', 'the twin is done: held')
    is_(name_of(conn, 'begin', **mail), 'replay', 'its own repeat is replayed')
    second = conn.call('begin', **again, again='the customer lost the first one')
    is_([second['decision'], second['attempt']], ['run', 1], 'again: it runs')
    event = conn.call('get', effect=second['effect'])['events'][0]
    is_([event['kind'], event['by'], event['reason']],
        ['duplicate', 'caller', f'of {run["effect"]}, {run["key"]}: the customer lost the first one'], 'and the reason is kept')
    is_(name_of(conn, 'begin', **again), 'busy', 'its repeat is busy, not held')
    for args in ({'order': 7}, {'order': 7, 'to': None, 'memo': 1}, {'order': [7], 'to': 'a', 'memo': 1}):
        error = conn.error('begin', tool='hold', key='given', args=args)['data']
        ok(error['pointer'] in ('/args/to', '/args/order'), 'an arg that the business key derives from must be there', error)
    listed = conn.call('list', tool='hold', business_key='7:a%40example.org')['effects']
    is_([e['effect'] for e in listed], [second['effect'], run['effect']], 'list by business key: both, the newest first')
    is_(conn.error('list', business_key='7')['data']['pointer'], '/tool', 'which needs the tool')
    is_(conn.call('list', tool='report', business_key='7:a%40example.org')['effects'], [], 'as another tool\'s is another')


def reported(daemon, cluster):
    conn = daemon.connect()
    first = claim(conn, 'first', 'report', args={'order': 1})
    second = claim(conn, 'second', 'report', args={'order': 1})
    is_(event_kinds(conn.call('get', effect=second['effect'])), ['duplicate'], 'report: the second runs, with an event')
    is_(conn.call('get', effect=first['effect'])['events'], [], 'and none with the first')
    is_(name_of(conn, 'begin', tool='report', key='other', args={'order': 2}), 'run', 'another order is no duplicate')
    counted = "select string_agg(format('%s %s', decision, n), ',' order by decision) from (select decision, sum(n) as n from effect.stat " \
              "where tool in ('report', 'hold', 'turn') and decision in ('duplicate', 'held', 'exhausted') group by 1) x"
    wait_until(lambda: cluster.psql(counted) == 'duplicate 2,exhausted 2,held 2', 30, 'all of it is counted')
    ok(True, 'duplicate, exhausted and held are counted')


def window(daemon, cluster):
    conn = daemon.connect()
    run = claim(conn, 'one', 'short', args={'order': 1})
    conn.call('complete', **own_ids(run))
    wait_until(lambda: name_of(conn, 'begin', tool='short', key='two', args={'order': 1}) == 'run', 20, 'the window is over')
    late = cluster.psql("select b.claimed_at - a.done_at >= interval '1 second' from effect.ledger a, effect.ledger b "
                        f"where a.id = '{run['effect']}' and b.key = 'two'")
    is_(late, 't', 'a twin that succeeded counts for its window, and no longer')
    is_(name_of(conn, 'begin', tool='short', key='three', args={'order': 1}), 'held', 'one that is open counts however long')


def shell(daemon):
    begin = ['begin', '--tool', 'hold', '--key', 'shell', '--args', '{"order":7,"to":"a@example.org"}']
    is_(daemon.ctl(*begin).returncode, 81, 'effectctl begin: held is 81')
    is_(daemon.ctl(*begin, '--again', 'asked for twice').returncode, 0, 'with --again it runs')
    is_(daemon.ctl('begin', '--tool', 'turn', '--key', 'shell', '--run', 'r1', '--turn', '1').returncode, 80, 'exhausted is 80')
    listed = daemon.ctl('list', '--tool', 'hold', '--business-key', '7:a%40example.org').stdout
    ok('shell' in listed, 'effectctl list --business-key', listed)


def ask_all(conns, params):
    """Begins at the same moment, one on each connection; the answers."""
    ids = [conn.send('begin', p) for conn, p in zip(conns, params)]
    return [conn.recv(id_) for conn, id_ in zip(conns, ids)]


def racing(a, b, cluster):
    """case 100"""
    conns = [daemon.connect() for _ in range(N_CONNS) for daemon in (a, b)]
    wrong = []
    for i in range(rounds_of(20, 500)):
        random.shuffle(conns)
        told = count(ask_all(conns, [{'tool': 'turn', 'key': f'race {i} {n}', 'run': 'race', 'turn': i} for n in range(len(conns))]))
        if told != {'run': BUDGET, 'exhausted': len(conns) - BUDGET} or turn_row(cluster, 'race', i) != [BUDGET, len(conns), len(conns) - BUDGET]:
            wrong.append((told, turn_row(cluster, 'race', i)))
        told = count(ask_all(conns, [{'tool': 'hold', 'key': f'race {i} {n}', 'args': {'order': f'race {i}', 'to': 'b'}} for n in range(len(conns))]))
        if told != {'run': 1, 'held': len(conns) - 1}:
            wrong.append(told)
    is_(wrong, [], f'two daemons, {len(conns)} keys at once: {BUDGET} of one turn run, and one of one business key, each time')
    for conn in conns:
        conn.close()


def first_use(a, b, cluster):
    """A policy that nobody has registered yet is asked for by many at once: no begin slips through between."""
    conns = [daemon.connect() for _ in range(N_CONNS) for daemon in (a, b)]
    wrong = []
    for i in range(N_NEW):
        told = count(ask_all(conns * 3, [{'tool': f'new {i}', 'key': f'new {i} {n}', 'run': f'new {i}', 'turn': 1} for n in range(3 * len(conns))]))
        if told != {'run': BUDGET, 'exhausted': 3 * len(conns) - BUDGET}:
            wrong.append((told, turn_row(cluster, f'new {i}')))
    is_(wrong, [], f'the first use of each of {N_NEW} policies, by many at once: {BUDGET} run')
    for conn in conns:
        conn.close()


def between(cluster):
    """The daemon is killed when the grant is committed and nothing of its answer is written."""
    with Daemon(cluster, tools=TOOLS, env={'EFFECTD_FAULT': 'client.send:kill'}) as daemon:
        ask = {'tool': 'hold', 'key': 'between', 'args': {'order': 'between', 'to': 'a'}, 'deadline_ms': 60000, 'request': request_id()}
        turn = {**ask, 'tool': 'turn', 'run': 'between', 'turn': 1}
        for params, what in ((turn, 'the turn'), (ask, 'the business key')):
            with daemon.connect() as conn:
                conn.send('begin', params)
                is_(conn.recv_line(), b'', f'{what}: killed between the claim and its answer')
            wait_until(lambda: not daemon.running(), 20, 'it is dead')
            daemon.kill()
            daemon.env = {}
            daemon.start().ready()
            with daemon.connect() as conn:
                told = conn.call('begin', params)
                is_((told['decision'], told['attempt']), ('run', 1), f'{what}: the same request is told its grant, and is no twin of itself')
            daemon.kill()
            daemon.env = {'EFFECTD_FAULT': 'client.send:kill'}
            daemon.start()
        is_(turn_row(cluster, 'between'), [1, 2, 0], 'which is one grant, asked for twice')


class Asker(threading.Thread):
    """Begins key after key, each of a turn that others ask for, too; what was lost is asked again with the same request."""

    def __init__(self, daemon, number, stopping):
        super().__init__(daemon=True)
        self.daemon_, self.number, self.stopping = daemon, number, stopping
        self.source = random.Random(random.getrandbits(64))
        self.told = []
        self.failure = None

    def run(self):
        try:
            for i in range(1000000):
                if self.stopping.is_set():
                    break
                params = {'tool': 'turn', 'key': f'killed {self.number} {i}', 'run': 'killed', 'turn': i // 4, 'request': request_id()}
                self.until_told(params)
        except Exception as e:  # pylint: disable=broad-except
            self.failure = e

    def until_told(self, params):
        while True:
            try:
                with self.daemon_.connect() as conn:
                    while True:
                        word = name_of(conn, 'begin', params)
                        if word != 'unavailable':
                            self.told.append((params['turn'], word))
                            return
            except OSError:
                threading.Event().wait(0.01)


def killed(a, b, cluster):
    """Each key is asked for in one turn only, so a turn's grants are the attempts of its rows: none lost, none double."""
    stopping = threading.Event()
    askers = [Asker(daemon, n, stopping) for n, daemon in enumerate([a, b] * 4)]
    for asker in askers:
        asker.start()
    for _ in range(rounds_of(5, 50)):
        goal = sum(len(asker.told) for asker in askers) + 40
        wait_until(lambda: sum(len(asker.told) for asker in askers) >= goal, 30, '40 more answers')
        a.kill()
        a.start()
    stopping.set()
    for asker in askers:
        asker.join(60 * SLOW)
    is_([asker.failure or asker.is_alive() for asker in askers if asker.failure or asker.is_alive()], [], 'every asker is answered in the end')
    a.ready()
    is_(cluster.psql("""select t.turn, t.grants, l.n from effect.turns t left join (select turn, sum(attempt) as n from effect.ledger
        where run = 'killed' group by 1) l using (turn) where t.run = 'killed' and t.grants is distinct from coalesce(l.n, 0)"""), '',
        'effectd is killed -9 again and again: a turn\'s grants are the attempts that stand')
    runs = count([{'result': {'decision': str(turn)}} for asker in askers for turn, word in asker.told if word == 'run'])
    is_([turn for turn, n in runs.items() if n > BUDGET], [], 'nobody overdrew a turn')
    is_(cluster.psql(f"select count(*) from effect.turns where run = 'killed' and (grants > {BUDGET} or (refused > 0 and grants < {BUDGET}))"), '0',
        'and nobody was refused before it was spent')
    note(f'{len(runs)} turns, {count([{"result": {"decision": word}} for asker in askers for _, word in asker.told])}')


seed()
with Cluster() as the_cluster, Daemon(the_cluster, config={'log_calls': False}, tools=TOOLS) as the_first:
    the_first.ready()
    turns(the_first, the_cluster)
    asks(the_first, the_cluster)
    held(the_first)
    reported(the_first, the_cluster)
    window(the_first, the_cluster)
    shell(the_first)
    with Daemon(the_cluster, config={'log_calls': False}, tools=TOOLS) as the_second:
        the_second.ready()
        racing(the_first, the_second, the_cluster)
        first_use(the_first, the_second, the_cluster)
        killed(the_first, the_second, the_cluster)
    between(the_cluster)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
