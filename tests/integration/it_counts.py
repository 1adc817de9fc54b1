#!/usr/bin/python3
"""Counts equal what the clients counted themselves: over stops and restarts, two daemons, connections cut around a flush, a ledger
that was away; after a kill they are at most one flush short, and say so. And the register of daemons, which tells that."""
import collections
import json
import os
import random
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'fault'))
from harness import *
from proxy import DOWN, UP, Cut, PgProxy
from talk import Script, later, own_ids
from world import Session, tell

TOOLS = [{'name': name, 'class': 'irreversible', 'lease': '5m', 'escalate_after': '1h', 'max_attempts': 1000, 'on_error': on_error}
         for name, on_error in (('pay', 'unknown'), ('mail', 'failed'), ('book', 'released'))] + [
             {'name': 'look', 'class': 'read'}]
QUIET = {'log_calls': False}
# which words of the ledger are counted as what, by outcome
WORDS = ('succeeded', 'failed', 'error', 'unknown', 'release')
COUNTED = {'succeeded': 'completed', 'failed': 'failed', 'error': 'error', 'unknown': 'gave_up', 'release': 'released'}
N_ROUNDS = rounds_of(3, 30)


class Book:
    """What clients were told, by themselves."""

    def __init__(self):
        self.lock = threading.Lock()
        self.n = collections.Counter()

    def note(self, tool, *words):
        with self.lock:
            for word in words:
                self.n[tool, word] += 1

    def copy(self):
        with self.lock:
            return collections.Counter(self.n)


def stat(cluster):
    """{(tool, decision): n} of all daemons."""
    return collections.Counter({(row['tool'], row['decision']): row['n'] for row in cluster.rows(
        'select tool, decision, sum(n)::bigint as n from effect.stat group by 1, 2')})


def differ(got, want):
    """What is not equal, as a text."""
    return {' '.join(key): (got[key], want[key]) for key in sorted(got.keys() | want.keys()) if got[key] != want[key]}


def missing(cluster):
    return cluster.rows("select why, host, instance, after, until from effect.counts_missing(effect.now() - interval '1 day', effect.now())")


def act(conn, book, source, key):
    """One effect: asked for, done in some way, said twice, asked for again."""
    tool = source.choice(('pay', 'mail', 'book'))
    if source.random() < 0.1:
        book.note('look', conn.call('begin', tool='look', args={})['decision'])
    answer = conn.call('begin', tool=tool, key=key, args={'n': 1})
    book.note(tool, answer['decision'])
    if source.random() < 0.2:
        book.note(tool, conn.call('begin', tool=tool, key=key, args={'n': 1})['decision'])
    word = source.choice(WORDS)
    for number in range(source.choice((1, 1, 2))):
        if word in ('unknown', 'release'):
            conn.call(word, **own_ids(answer))
        else:
            conn.call('complete', **own_ids(answer), outcome=word, result={'key': key})
        if number == 0:  # said again it is no news
            book.note(tool, COUNTED[word])
    for n in source.choice(((), (1,), (1, 2))):
        again = conn.call('begin', tool=tool, key=key, args={'n': n})
        book.note(tool, again['decision'], *(['replay_age'] if again['decision'] == 'replay' else []))
        if again['decision'] == 'run':
            conn.call('release', **own_ids(again))
            book.note(tool, 'released')


def client(socket_path, book, name, ends):
    """Acts until the daemon is gone: what was not answered by then was not taken."""
    source = random.Random(name)
    number = 0
    try:
        with Conn(socket_path) as conn:
            while not ends.is_set():
                act(conn, book, source, f'{name} {number}')
                number += 1
    except ConnectionError:
        pass


def crowd(daemons, book, name, during):
    """Three clients at each daemon while `during` runs."""
    ends = threading.Event()
    threads = [threading.Thread(target=client, args=(daemon.socket, book, f'{name} {number} {n}', ends))
               for number, daemon in enumerate(daemons) for n in range(3)]
    for thread in threads:
        thread.start()
    during()
    ends.set()
    for thread in threads:
        thread.join(60 * SLOW)


def restarts(cluster, seed):
    """Numbers of clients, over SIGTERM in the middle of their work, at two daemons."""
    book = Book()
    daemons = [Daemon(cluster, config=QUIET, tools=TOOLS).ready() for _ in range(2)]

    def stop_all():
        wait_until(lambda: sum(book.copy().values()) > before + 150, 60, 'some are counted')
        for daemon in daemons:
            daemon.signal(signal.SIGTERM)
        for daemon in daemons:
            is_(daemon.wait(), 0, 'a stop in the middle of it ends with 0')

    for number in range(N_ROUNDS):
        before = sum(book.copy().values())
        crowd(daemons, book, f'{seed} {number}', stop_all)
        is_(differ(stat(cluster), book.copy()), {}, f'round {number}: what both daemons counted is what the clients were told')
        if number < N_ROUNDS - 1:
            for daemon in daemons:
                daemon.start().ready()
    n = cluster.psql('select count(*), count(ended_at) from effect.daemon')
    is_(n, f'{2 * N_ROUNDS}|{2 * N_ROUNDS}', 'each start is known, and that it ended')
    is_(missing(cluster), [], 'and nothing may be missing')
    # the history was written by the same transactions
    events = collections.Counter({row['kind']: row['n'] for row in cluster.rows('select kind, count(*) as n from effect.event group by 1')})
    told = collections.Counter()
    for (_, word), count in book.copy().items():
        told[word] += count
    is_((events['unknown'], events['released']), (told['gave_up'] + book.copy()['pay', 'error'], told['released'] + book.copy()['book', 'error']),
        'as does the history')


def some(conn, book, name, n=5):
    for number in range(n):
        act(conn, book, random.Random(f'{name} {number}'), f'{name} {number}')


def flushed(daemon):
    """Waits until all that was counted is in the ledger."""
    with daemon.connect() as conn:
        wait_until(lambda: conn.call('info')['counts']['pending'] == 0, 40, 'all is flushed')


def cuts(cluster, book):
    """The wire to the ledger is cut around the COMMIT of the last flush: it is sent again, and added once."""
    with PgProxy(folder(), cluster.dir) as proxy:
        daemon = Daemon(proxy.conninfo(), config={**QUIET, 'database_connections': 1}, tools=TOOLS, start=False)
        for number, (way, after) in enumerate(((UP, 0), (UP, 1000), (UP, -1), (DOWN, 0), (DOWN, 20), (DOWN, 60), (DOWN, 10000))):
            daemon.start().ready()
            with daemon.connect() as conn:
                wait_until(lambda: 'flushed_at' in conn.call('info')['counts'], 20, 'the first flush')
                some(conn, book, f'cut {number}')
            rule = proxy.arm(Cut('stat_add', way, after))
            status = daemon.stop()
            is_((status, rule.fired.is_set()), (0, True), f'a flush that is cut {way} after {after} bytes: the daemon ends with 0')
            is_(differ(stat(cluster), book.copy()), {}, 'and each count is there once')
        for point, hit in (('flush.acknowledged:fail', 2), ('flush.acknowledged:fail', 1)):
            daemon.env = {'EFFECTD_FAULT': f'{point}:{hit}'}
            daemon.start().ready()
            with daemon.connect() as conn:
                some(conn, book, f'{point} {hit}')
            daemon.stop()
            is_(differ(stat(cluster), book.copy()), {}, f'an answer to flush {hit} that did not come: each count is there once')
    is_(missing(cluster), [], 'nothing may be missing')


def killed(cluster, book):
    """kill -9: what was counted since the last flush is missing, nothing else is, and it is told."""
    daemon = Daemon(cluster, config=QUIET, tools=TOOLS).ready()
    with daemon.connect() as conn:
        some(conn, book, 'flushed')
        flushed(daemon)
        is_(differ(stat(cluster), book.copy()), {}, 'within seconds all is there')
        at_flush = book.copy()
        some(conn, book, 'lost')
        boot = cluster.psql('select boot from effect.daemon order by started_at desc limit 1')
        daemon.kill()
    got = stat(cluster)
    is_(differ(got, at_flush), {}, 'after a kill it is what was flushed')
    ok(sum(got.values()) < sum(book.copy().values()), 'which is less than there was')
    daemon.start().ready()
    told = wait_until(lambda: missing(cluster), 20, 'it is told')
    seen_at = cluster.psql(f"select to_json(seen_at) #>> '{{}}' from effect.daemon where boot = '{boot}'")
    is_([(row['why'], row['after']) for row in told], [('killed', seen_at)], 'its successor shows it: since the last flush')
    is_(cluster.psql(f"select count(*) from effect.counts_missing(effect.now() - interval '1 day', '{seen_at}')"), '0', 'and of nothing before')
    is_(daemon.stop(), 0, 'the successor ends')
    is_(differ(stat(cluster), at_flush), {}, 'and adds nothing of it')
    # a host that never comes back
    with daemon.start().ready().connect() as conn:
        wait_until(lambda: 'flushed_at' in conn.call('info')['counts'], 20, 'its first flush')
    daemon.kill()
    is_(len(missing(cluster)), 1, 'one that was heard of just now is not suspected')
    later(cluster, 31)
    is_(sorted(row['why'] for row in missing(cluster)), ['killed', 'silent'], 'half a minute later it is')
    later(cluster, 0)
    daemon.start().ready()
    wait_until(lambda: len(missing(cluster)) == 2, 20, 'its successor tells that it was killed')
    daemon.stop()


def away(cluster, book):
    """The ledger goes and comes back: what was counted meanwhile comes with it."""
    daemon = Daemon(cluster, config={**QUIET, 'request_timeout': '500ms'}, tools=TOOLS).ready()
    with daemon.connect() as conn:
        some(conn, book, 'before')
        cluster.stop()
        for _ in range(20):
            book.note('look', conn.call('begin', tool='look', args={})['decision'])
        pending = conn.call('info')['counts']['pending']
        ok(pending > 0, 'while the ledger is away counts wait here', pending)
        cluster.start()
        flushed(daemon)
        is_(differ(stat(cluster), book.copy()), {}, 'when it is back all of it is there')
        n_missing = len(missing(cluster))
        some(conn, book, 'lost with it')
        kept = stat(cluster)
    cluster.stop()
    is_(daemon.stop(), 0, 'a stop while it is away ends with 0')
    ok(daemon.grep(r'event=stats .*counts since 20.* are lost'), 'and says which counts are lost', daemon.log()[-3:])
    cluster.start()
    is_(differ(stat(cluster), kept), {}, 'they are')
    daemon.start().ready()
    wait_until(lambda: len(missing(cluster)) == n_missing + 1, 20, 'which is told')
    daemon.stop()
    book.n = collections.Counter(kept)


def names(cluster, book):
    """A caller names tools without end: the ledger has so many names of them, and every call."""
    daemon = Daemon(cluster, config=QUIET, tools=TOOLS).ready()
    hostile = ['"; drop table effect.stat; --', "'{}", '\\', '\u202e\U0001f4a3', 'a,b', '{"x":1}', 'null', ' ', '%s%n', 'x' * 128]
    made_up = hostile + [f'made up {n}' for n in range(300)]
    with daemon.connect() as conn:
        for tool in made_up:
            conn.call('begin', tool=tool, key='k')
        some(conn, book, 'beside them')
    is_(daemon.stop(), 0, 'a daemon that was asked for 310 tools ends with 0')
    got = stat(cluster)
    is_({tool: got[tool, 'run'] for tool in hostile}, dict.fromkeys(hostile, 1), 'any name is counted as it stands')
    is_(sum(n for (tool, _), n in got.items() if tool in made_up or tool == '(other)'), len(made_up), 'each call is counted')
    is_(got['(other)', 'run'], len(made_up) - 256, 'beyond 256 names as others')
    is_(differ(own(cluster), book.copy()), {}, 'and tools with a policy as ever')


def busy(cluster, book):
    """Somebody else is at the counts: nobody waits, and the flush comes when he has ended."""
    holder = Session(cluster)
    holder.do('begin', 'select pg_advisory_xact_lock(effect.lock_of_stat())')
    daemon = Daemon(cluster, config={**QUIET, 'database_connections': 1}, tools=TOOLS).ready()
    with daemon.connect() as conn:
        some(conn, book, 'not behind a flush', 20)
        ok('flushed_at' not in conn.call('info')['counts'], 'calls are answered while a flush cannot be')
        holder.do('rollback')
        wait_until(lambda: 'flushed_at' in conn.call('info')['counts'], 20, 'then it is')
    holder.close()
    daemon.stop()
    is_(differ(own(cluster), book.copy()), {}, 'whole')


def refused(cluster):
    """A ledger that takes no flush at all, as where the right to it was taken away."""
    with Daemon(cluster, tools=TOOLS) as daemon:
        flushed(daemon.ready())
        cluster.psql('alter table effect.daemon add constraint never check (flush_no < 0) not valid')
        n_lines = len(daemon.log())
        is_(daemon.stop(), 0, 'a stop that the ledger will not hear of ends with 0')
        ok(len(daemon.log()) - n_lines < 20, 'it was asked for that once, and no more', len(daemon.log()) - n_lines)
        cluster.psql('alter table effect.daemon drop constraint never')


def register(cluster):
    """Which daemons there are, and which policies are in force on each."""
    def told():
        return {row['instance']: (row['state'], {p['tool'] for p in json.loads(row['policies'])}) for row in
                cluster.rows("select instance, state, policies from effect.daemons(null) where state = 'up'")}
    first = Daemon(cluster, config=QUIET, tools=TOOLS).ready()
    second = Daemon(cluster, config=QUIET, tools=TOOLS[:1]).ready()
    wait_until(lambda: sorted(len(tools) for _, tools in told().values()) == [2, 5], 20, 'each tells its policies')
    ok(True, 'two daemons with policies of their own')
    second.set_tools(TOOLS)
    second.hup()
    wait_until(lambda: sorted(len(tools) for _, tools in told().values()) == [5, 5], 20, 'and tells them anew')
    ok(True, 'a reload is told')
    first.stop()
    second.stop()
    is_(told(), {}, 'and none is up when they have stopped')


def background(cluster):
    """What becomes of effects with no client speaking is counted by whichever daemon did it, once."""
    probe = Script()
    tool = probe.policy('asked', escalate_after='2s', settle='100ms')
    daemons = [Daemon(cluster, config={**QUIET, 'sweep_interval': '100ms'}, tools=[tool]).ready() for _ in range(2)]
    with daemons[0].connect() as conn:
        for n in range(12):
            conn.call('begin', tool='asked', key=f'open {n}')
    wait_until(lambda: cluster.psql("select count(*) from effect.event where kind = 'escalated'") == '12', 30, 'all are escalated')
    with daemons[1].connect() as conn:
        for row in cluster.rows("select id from effect.ledger where state = 'escalated'"):
            conn.call('resolve', effect=row['id'], verdict='landed', reason='seen', attempt=1, state='escalated')
    for daemon in daemons:
        daemon.stop()
    got = collections.Counter({word: n for (tool_, word), n in stat(cluster).items() if tool_ == 'asked'})
    n_probes = int(cluster.psql("select count(*) from effect.event where kind = 'probe'"))
    n_words = got['probe_inconclusive']
    is_((got['run'], got['lapsed'], got['escalated_effect'], got['resolved_operator']), (12, 12, 12, 12), 'lapsed, escalated, resolved')
    ok(0 < n_words <= len(probe.asked()) and n_words >= n_probes, 'and each word of a probe', (n_words, n_probes, len(probe.asked())))


def sweeps_at_the_end(cluster):
    """A sweep that is answered while the daemon stops is counted, too: what lapsed in it will not lapse again."""
    tool = {'name': 'brief', 'class': 'irreversible', 'lease': '1s', 'escalate_after': '1h'}
    holder = Session(cluster)
    config = {**QUIET, 'sweep_interval': '100ms', 'request_timeout': '60s'}
    with Daemon(cluster, config=config, tools=[tool]) as daemon, daemon.ready().connect() as conn:
        holder.do('begin', 'lock table effect.event in exclusive mode')  # the sweep waits for it
        conn.call('begin', tool='brief', key='k')
        waits = "select pid from pg_stat_activity where query like '%effect.sweep(%' and wait_event_type = 'Lock'"
        wait_until(lambda: cluster.psql(waits), 30, 'a sweep is under way')
        n_lines = len(daemon.log())
        daemon.signal(signal.SIGTERM)
        daemon.wait_log('event=stop', after=n_lines)
        holder.do('rollback')
        is_(daemon.wait(), 0, 'a stop with a sweep under way ends with 0')
    holder.close()
    is_((cluster.psql("select kind from effect.event where effect = effect.id('default', 'brief', 'k')"), stat(cluster)['brief', 'lapsed']),
        ('lapsed', 1), 'what lapsed in it is counted')


def own(cluster):
    """Of tools with a policy."""
    return collections.Counter({key: n for key, n in stat(cluster).items() if key[0] in ('pay', 'mail', 'book', 'look')})


the_seed = seed()
with Cluster() as the_cluster:
    restarts(the_cluster, the_seed)
with Cluster() as the_cluster:
    the_book = Book()
    cuts(the_cluster, the_book)
    killed(the_cluster, the_book)
    the_book.n = stat(the_cluster)
    away(the_cluster, the_book)
    names(the_cluster, the_book)
    busy(the_cluster, the_book)
    refused(the_cluster)
with Cluster() as the_cluster:
    register(the_cluster)  # here, as daemons whose end the ledger did not see count as up until they have been silent for 30 s
    background(the_cluster)
    sweeps_at_the_end(the_cluster)
done()
