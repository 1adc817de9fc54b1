#!/usr/bin/python3
"""begin_here and complete_here beside the socket: an application's own transactions and a daemon on the same keys. Who is told
what while they are open, after their commits and their rollbacks, in every order; that no batch of the daemon's waits for them;
and by which policies they claim."""
import itertools
import json
import os
import random

from harness import *
from session import Session, SqlError
from world import name_of, tell

NO_ARGS = '44136fa355b3678a1146ad16f7e8649e'  # the fingerprint of {}
HELD = 10  # transactions that are open at a time
TOOLS = [{'name': 't', 'max_attempts': 1000}, {'name': 'reads', 'class': 'read'}]
# what one session does in its transaction
FAMILIES = {'completes': 'begin here done commit', 'rolls back': 'begin here done rollback', 'leaves it open': 'begin here commit',
            'to a savepoint': 'begin save here done back commit', 'anew': 'begin save here back here done commit',
            'undoes its result': 'begin here save done back done commit', 'released savepoint': 'begin save here free done commit',
            'gives up': 'begin here rollback'}


class Book:
    """What must be said about one key: who holds it, in which transaction, or what was recorded."""

    def __init__(self):
        self.holder = self.result = None

    def says(self):
        if self.result is not None:
            return 'replay'
        return 'busy' if self.holder else 'run'

    def begins(self, who, told):
        """Was he told what must be said?"""
        right = told == self.says()
        if told == 'run':
            self.holder = who
        return right

    def gone(self, who):
        if self.holder == who:
            self.holder = None


class Player:
    """One session's part in a schedule."""

    def __init__(self, session, who, steps):
        self.session, self.who, self.steps = session, who, steps.split()
        self.claim = self.saved = None
        self.done = False

    def play(self, step, key, book):
        """None, or what was wrong."""
        if step == 'here':
            self.claim = self.session.begin_here(key, fingerprint=NO_ARGS)
            if not book.begins(self.who, self.claim[0]):
                return f'{self.who} was told {self.claim[0]}'
            if self.claim[0] == 'replay' and self.claim[4] != book.result:
                return f'{self.who} had {self.claim[4]!r} replayed'
            if self.claim[0] == 'run':
                self.session.ask(f"insert into shop values ('{key}', '{self.who}')")
        elif step == 'done':
            if self.claim and self.claim[0] == 'run':
                self.session.complete_here(self.claim, self.result())
                self.done = True
        elif step == 'save':
            self.saved = (self.claim, self.done)
            self.session.ask('savepoint s')
        elif step == 'free':
            self.session.ask('release s')
        elif step == 'back':
            self.session.ask('rollback to s')
            if self.claim and self.claim[0] == 'run' and not (self.saved[0] and self.saved[0][0] == 'run'):
                book.gone(self.who)
            self.claim, self.done = self.saved
        else:
            self.session.ask(step)
            if self.claim and self.claim[0] == 'run':
                self.end(step, book)
        return None

    def end(self, step, book):
        if step == 'rollback':
            book.gone(self.who)
        elif self.done:
            book.result = self.result()

    def result(self):
        return f'{{"by":  "{self.who}", "n": 1e0}}'


def wire(conn, key, book):
    """A begin over the socket, which gives back what it is granted."""
    told = conn.call('begin', tool='t', key=key)
    if not book.begins('wire', told['decision']):
        return f"the socket was told {told['decision']}"
    if told['decision'] == 'run':
        conn.call('release', effect=told['effect'], token=told['token'], reason='nothing was sent')
        book.gone('wire')
    elif told['decision'] == 'replay' and told['result'] != json.loads(book.result):
        return f"the socket had {told['result']} replayed"
    return None


def orders(a, b):
    """All ways to merge two sequences of steps."""
    for places in itertools.combinations(range(len(a) + len(b)), len(a)):
        yield ['a' if i in places else 'b' for i in range(len(a) + len(b))]


def play(sessions, conn, families, order, released, key):
    """One schedule on one key; what went wrong, or None."""
    book = Book()
    if released:
        run = conn.call('begin', tool='t', key=key)
        conn.call('release', effect=run['effect'], token=run['token'], reason='nothing was sent')
    players = {who: Player(session, who, FAMILIES[family]) for (who, session), family in zip(sessions.items(), families)}
    place = {'a': 0, 'b': 0}
    for who in order:
        step = players[who].steps[place[who]]
        place[who] += 1
        wrong = players[who].play(step, key, book) or wire(conn, key, book)
        if wrong:
            for player in players.values():
                player.session.ask('rollback')
            return f'{families} {"released" if released else "new"} {"".join(order)}: {wrong} after {who} {step}'
    return None


def schedules(rng):
    every = [(pair, order) for pair in itertools.product(FAMILIES, repeat=2)
             for order in orders(*(FAMILIES[f].split() for f in pair))]
    short = [s for s in every if all(len(FAMILIES[f].split()) <= 3 for f in s[0])]
    return every if rounds_of(False, True) else short + rng.sample(every, 150)


def interleaved(cluster, daemon):
    rng = random.Random(seed())
    wrong = []
    with Session(cluster) as a, Session(cluster) as b, daemon.connect() as conn:
        todo = schedules(rng)
        for n, (families, order) in enumerate(todo):
            wrong += filter(None, [play({'a': a, 'b': b}, conn, families, order, rng.random() < 0.5, f'order {n}')])
    is_(wrong[:5], [], f'{len(todo)} orders of two transactions and the socket: everybody is told what must be said')
    is_(cluster.rows("select key from shop group by key having count(*) > 1"), [], 'no key has two rows of business')
    is_(cluster.rows("select l.key from effect.ledger l left join shop s using (key) where l.state = 'done' and s.key is null"), [],
        'none was recorded without its row')
    is_(cluster.rows("select s.key from shop s left join effect.ledger l using (key) where l.state is null or l.state = 'released'"), [],
        'and no row is there without its claim')
    is_(cluster.invariants(), [], 'no invariant is hurt')


def calls(cluster, function):
    return int(cluster.psql(f"select coalesce(sum(calls), 0) from pg_stat_user_functions where funcname = '{function}'"))


def held(cluster, daemon):
    """While transactions hold keys: what the others are told, and that nothing of theirs waits."""
    with daemon.connect() as conn, daemon.connect() as waiter:
        runs = [conn.call('begin', tool='t', key=f'held {i}') for i in range(HELD)]
        for i, run in enumerate(runs):
            if i % 2:  # a row that is released, and will be locked
                conn.call('release', effect=run['effect'], token=run['token'], reason='nothing was sent')
            else:
                cluster.psql(f"delete from effect.ledger where key = 'held {i}'")
        old = runs[7]
        sessions = [Session(cluster) for _ in range(HELD)]
        for i, session in enumerate(sessions):
            session.ask('begin')
            claim = session.begin_here(f'held {i}', fingerprint=NO_ARGS)
            session.complete_here(claim, f'"{i}"')
        parked = [waiter.send('begin', tool='t', key=f'held {i}', wait_ms=60000) for i in range(HELD)]
        wait_until(lambda: calls(cluster, 'peek') > 0, 20, 'who waits has been looked at')
        claims, peeks = calls(cluster, 'begin_one'), calls(cluster, 'peek')
        wait_until(lambda: calls(cluster, 'peek') > peeks + 3, 30, 'who waits is looked at')
        ok(calls(cluster, 'begin_one') - claims < HELD, 'who waits does not ask again and again', calls(cluster, 'begin_one') - claims)
        # one write: a batch that has held keys beside new ones
        keys = [key for i in range(40) for key in (f'held {i % HELD}', f'free {i}')]
        ids = [conn.send('begin', tool='t', key=key, request=request_id()) for key in keys]
        told = [conn.recv(id_)['result'] for id_ in ids]
        is_({t['decision'] for t in told[0::2]}, {'busy'}, 'while transactions hold keys: busy is told at once, new keys and released ones')
        is_({name for t in told[0::2] for name in t} & {'attempt', 'claimed_at', 'lease_until'}, set(), 'with nothing that is not committed')
        is_({t['decision'] for t in told[1::2]}, {'run'}, 'their neighbours run')
        ids = [conn.send('complete', effect=t['effect'], token=t['token'], result=1) for t in told[1::2]]
        is_({conn.recv(id_)['result']['state'] for id_ in ids}, {'done'}, 'and are completed')
        # the released one's earlier attempt speaks meanwhile, and others are served
        words = [conn.send(verb, effect=old['effect'], token=old['token']) for verb in ('complete', 'release', 'unknown', 'extend')]
        is_(conn.call('get', effect=old['effect'])['state'], 'released', 'get sees what is committed')
        is_(name_of(conn, 'begin', tool='t', key='beside'), 'run', 'an earlier attempt that speaks holds up nobody')
        told = [conn.recv(id_, timeout_s=30)['error']['data'] for id_ in words]
        is_([(t['name'], t.get('kept')) for t in told], [('unavailable', True)] + 3 * [('unavailable', None)],
            'it is told unavailable itself, its complete is kept')
        is_(name_of(conn, 'begin', tool='t', key='held 0'), 'busy', 'the transactions are open still')
        for i, session in enumerate(sessions):
            session.ask('rollback' if i % 5 > 2 else 'commit')
        told = [waiter.recv(id_, timeout_s=30)['result'] for id_ in parked]
        is_([t['decision'] for t in told], ['run' if i % 5 > 2 else 'replay' for i in range(HELD)],
            'who waited has the replay after a commit, and runs after a rollback')
        is_([t.get('result') for t in told], [None if i % 5 > 2 else str(i) for i in range(HELD)], 'with the result')
        wait_until(lambda: conn.call('list', incidents=True)['incidents'], 20, 'the kept complete is written')
        is_([(i['effect'], i['attempt']) for i in conn.call('list', incidents=True)['incidents']], [(old['effect'], 1)],
            'what was kept of the earlier attempt is written then: both landed, and a person should look')
        for session in sessions:
            session.close()
    is_(cluster.invariants(), [], 'no invariant is hurt')


def survives(cluster, daemon):
    """A claim is its transaction's: not the daemon's, and not its session's beyond its end."""
    with Session(cluster) as app:
        app.ask('begin')
        claim = app.begin_here('survives', fingerprint=NO_ARGS)
        daemon.kill()
        daemon.start().ready()
        with daemon.connect() as conn:
            is_(name_of(conn, 'begin', tool='t', key='survives'), 'busy', 'a daemon that comes back tells busy')
            app.complete_here(claim, '"yes"')
            app.ask('commit')
            is_(conn.call('begin', tool='t', key='survives')['result'], 'yes', 'and the replay after the commit')
    with Session(cluster) as app, daemon.connect() as conn:
        app.ask('begin')
        app.begin_here('dies', fingerprint=NO_ARGS)
        id_ = conn.send('begin', tool='t', key='dies', wait_ms=60000)
        app.process.kill()
        app.process.wait()
        is_(tell(conn.recv(id_, timeout_s=30)), 'run', 'a session that dies gives its key back, and who waits runs')
    with Session(cluster) as app, daemon.connect() as conn:
        key = conn.call('key', tool='t', args={'order': 1}, run='r', step='1')
        app.ask('begin')
        claim = app.begin_here(key['key'], fingerprint=key['fingerprint'])
        is_(claim[1], key['effect'], '`key` tells the key of the same effect')
        app.complete_here(claim, '{"a":\n1}')
        app.ask('commit')
        told = conn.call('begin', tool='t', args={'order': 1}, run='r', step='1')
        is_(told['result'], {'a': 1}, 'and begin over the socket has its result')
        is_(name_of(conn, 'begin', tool='t', key=key['key'], args={'order': 2}), 'mismatch', 'other args are a mismatch')
        app.ask('begin')
        claim = app.begin_here('left')
        app.ask('commit')
        told = conn.call('complete', effect=claim[1], token=claim[2], result=1)
        is_(told['state'], 'done', 'a claim that was committed open is completed over the socket')


def policies(cluster, daemon):
    """The daemon tells the ledger its policies before anybody begins, and again when they change."""
    def in_force(name):
        return cluster.rows(f"select max_attempts from effect.tool where name = '{name}' and namespace = 'default' "
                            'order by registered_at desc limit 1')

    def told(name, n):
        wait_until(lambda: in_force(name) == [{'max_attempts': n}], 10, f'{name} with {n}')
        return True

    def sqlstate(key, tool):
        with Session(cluster) as app:
            try:
                return app.begin_here(key, tool)[0]
            except SqlError as error:
                return error.sqlstate

    ok(told('never begun', 5), 'a policy that nobody has begun by')
    for n in (6, 5):
        daemon.set_tools(TOOLS + [{'name': 'never begun', 'max_attempts': n}])
        daemon.hup()
        ok(told('never begun', n), f'{n}: told at the reload')
    is_(sqlstate('1', 'never begun'), 'run', 'it is known')
    is_(sqlstate('1', 'reads'), 'pass', 'as is a tool that needs no claim')
    is_(sqlstate('1', 'no policy at all'), 'run', 'one without is guarded, as over the socket')
    daemon.configure('request_timeout = "2s"\nunknown_tools = "refuse"\n')
    daemon.hup()
    wait_until(lambda: not in_force(''), 10, 'the policy for unknown tools is taken back')
    is_(sqlstate('1', 'no policy either'), 'ZE008', 'or refused, as over the socket')
    is_(sqlstate('2', 'never begun'), 'run', 'by the config in force')
    daemon.configure()
    daemon.set_tools([{'name': f'one of {n}', 'max_attempts': 4} for n in range(300)])
    daemon.hup()
    wait_until(lambda: in_force(''), 10, 'all are told')
    is_(cluster.rows("select count(*) as n from effect.tool where name like 'one of %'"), [{'n': 300}], 'that for unknown tools comes last')


def example(cluster):
    """client/examples/own-transaction, as its page says."""
    def refund(session, line, amount='12.50'):
        return session.ask(f'select shop.refund(1042, {line}, {amount})')[0][0]

    with open(os.path.join(SRC, 'client/examples/own-transaction/refund.sql'), encoding='utf-8') as script:
        cluster.psql(script.read())
    with Session(cluster, 'shop_app') as one, Session(cluster, 'shop_app') as other:
        first = refund(one, 3)
        is_([refund(other, 3), refund(one, 3, '12.5')], [first] * 2, 'the example: a refund is booked once, its answer is the same bytes')
        like(raised(lambda: refund(other, 3, '99.00')), 'mismatch', 'with another amount it is a mismatch')
        one.ask('begin')
        second = refund(one, 4)
        like(raised(lambda: refund(other, 4)), 'busy', 'while it is being booked another one is busy')
        one.ask('commit')
        is_(refund(other, 4), second, 'and has the answer afterwards')
        one.ask('begin')
        refund(one, 5)
        one.ask('rollback')
        is_(cluster.rows('select line from shop.refund order by line'), [{'line': 3}, {'line': 4}], 'what is rolled back is not booked')
        isnt(refund(other, 5), second, 'and can be')


def raised(work):
    try:
        return work()
    except SqlError as error:
        return str(error)


def main():
    with Cluster({'track_functions': 'pl'}) as cluster, Daemon(cluster, config={'request_timeout': '2s'}, tools=TOOLS + [{'name': 'never begun', 'max_attempts': 5}]) as daemon:
        daemon.ready()
        cluster.psql("create table shop (key text, who text)", "select effect.allow('postgres', 'default')")
        wait_until(lambda: cluster.rows("select 1 from effect.tool where name = ''"), 10, 'the policies are told')
        interleaved(cluster, daemon)
        held(cluster, daemon)
        survives(cluster, daemon)
        example(cluster)
        policies(cluster, daemon)
    done()


main()
