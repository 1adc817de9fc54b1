#!/usr/bin/python3
"""on_unknown = retry: what callers of such a tool are told, of one daemon and of two; and many wrappers that die, hang, give up
and come back late while daemons are killed -9, at a provider that takes calls with one key for one as long as it remembers the
key. Its book says whether that was right: no effect is performed twice, and nothing that was performed is lost."""
import random
import threading
import time

from harness import *
from talk import names, own_ids
from world import LEASE_S, SETTLE_S, Client, Provider, World, check, count, kinds, name_of, state_of, tell

WINDOW_S = 8 * SLOW
# Longer than the window and a lease, and no longer: who calls later than that performs the effect again.
MEMORY_S = WINDOW_S + LEASE_S + 2 * SLOW
RETRY = {'on_unknown': 'retry', 'retry_window': f'{int(WINDOW_S * 1000)}ms', 'max_attempts': 100000, 'escalate_after': '10m'}
N_ROUNDS = rounds_of(6, 60)
FATES = {'complete': 8, 'vanish': 2, 'perform_and_vanish': 3, 'perform_and_say_unknown': 3, 'say_unknown': 1, 'hang': 3, 'hang_and_close': 2,
         'give_back': 3, 'late': 3, 'error': 1}


class Keyed(Provider):
    """Takes calls with one key for one, from the first on, for MEMORY_S. What it refuses it refuses whenever it is asked."""

    def __init__(self):
        super().__init__()
        self.lock = threading.RLock()
        self.known = {}    # key: (when it was first performed, receipt)
        self.calls = {}    # key: [when]
        self.hanging = []  # threads

    def perform(self, provider_key, until=None):
        with self.lock:
            now = time.monotonic()
            if until is not None and now > until:
                return None
            self.calls.setdefault(provider_key, []).append(now)
            first, receipt = self.known.get(provider_key, (None, None))
            if first is None or now - first >= MEMORY_S:
                receipt = super().perform(provider_key)
                self.known[provider_key] = now, receipt
            return receipt

    def refuses(self, provider_key):
        return provider_key[0] == '7'

    def hang(self, provider_key, until):
        """A call that its caller gives up, and that lands all the same, within what `settle` allows for."""
        def later():
            if time.monotonic() < until:
                threading.Event().wait(random.random() * SETTLE_S / 2)
                self.perform(provider_key)
        thread = threading.Thread(target=later)
        thread.start()
        self.hanging.append(thread)


class Retrier(Client):
    """Each claim gets one of the fates; whatever it is, somebody else may get the next one."""

    def __init__(self, world, number):
        super().__init__(world, number)
        self.wire.path = self.random.choice(world.sockets)
        self.late_ones = []

    def run(self):
        super().run()
        for claim, receipt in self.late_ones:
            self.record(claim, 'succeeded', receipt)
        self.wire.close()

    def one(self):
        if self.late_ones and self.random.random() < 0.2:
            self.record(self.late_ones[0][0], 'succeeded', self.late_ones.pop(0)[1])
            return
        fate = self.random.choices(list(FATES), FATES.values())[0]
        params = {'tool': 'pay', 'key': self.world.next_key(self.random), 'request': request_id(), 'owner': f'client {self.number}'}
        if fate == 'hang_and_close':
            params['bind'] = True
        if self.random.random() < 0.3:
            params['wait_ms'] = 200
        answer, _, sent_at = self.until_told('begin', params)
        told = answer['result']
        if told['decision'] != 'run':
            return
        self.world.count(fate if told['attempt'] == 1 else fate + ' again')
        until = sent_at + (told['lease_ms'] + told.get('waited_ms', 0)) / 1000
        getattr(self, fate)({'effect': told['effect'], 'token': told['token']}, told, until)

    def performed(self, claim, told, until):
        """The receipt; None: too late, and given back, or refused, and said so."""
        provider = self.world.provider
        if provider.refuses(told['provider_key']):
            self.record(claim, 'failed', '"refused for good"')
            return None
        receipt = provider.perform(told['provider_key'], until)
        if receipt is None:
            self.give_back(claim, told, until)
        return receipt

    def complete(self, claim, told, until):
        receipt = self.performed(claim, told, until)
        if receipt is not None:
            self.record(claim, 'succeeded', receipt)

    def vanish(self, claim, told, until):
        pass

    def perform_and_vanish(self, claim, told, until):
        self.performed(claim, told, until)

    def perform_and_say_unknown(self, claim, told, until):
        if self.performed(claim, told, until) is not None:
            self.say_unknown(claim, told, until)

    def say_unknown(self, claim, told, until):
        self.until_told('unknown', {**claim, 'reason': 'no answer'})

    def error(self, claim, told, until):
        if self.performed(claim, told, until) is not None:
            self.until_told('complete', {**claim, 'outcome': 'error'}, '"the tool raised"')

    def hang(self, claim, told, until):
        """Its call is under way while it says that it does not know, and so it is while the next one calls."""
        if not self.world.provider.refuses(told['provider_key']):
            self.world.provider.hang(told['provider_key'], until)
        self.say_unknown(claim, told, until)

    def hang_and_close(self, claim, told, until):
        if not self.world.provider.refuses(told['provider_key']):
            self.world.provider.hang(told['provider_key'], until)
        self.wire.close()
        self.wire.path = self.random.choice(self.world.sockets)

    def give_back(self, claim, told, until):
        self.until_told('release', {**claim, 'reason': 'nothing was sent'})

    def late(self, claim, told, until):
        """It reports when its lease is long over, and others have been granted the effect since."""
        receipt = self.performed(claim, told, until)
        if receipt is not None:
            self.late_ones.append((claim, receipt))


class RetryWorld(World):
    def __init__(self, daemons, provider, the_seed, n_clients=16):
        super().__init__(daemons[0].socket, provider, the_seed, n_clients=0)
        self.sockets, self.counts = [daemon.socket for daemon in daemons], {}
        self.clients = [Retrier(self, number) for number in range(n_clients)]

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1


def told_again(conn, other):
    """One effect through two attempts, and a third."""
    first = conn.call('begin', tool='bare', key='one')
    is_(name_of(other, 'begin', tool='bare', key='one'), 'busy', 'while the lease is good nobody is granted a retry')
    conn.call('unknown', **own_ids(first), reason='no answer')
    is_(name_of(conn, 'begin', tool='bare', key='one', args={'n': 2}), 'mismatch', 'with other arguments it is a mismatch')
    second = other.call('begin', tool='bare', key='one')
    is_((second['decision'], second['attempt'], second['provider_key']), ('run', 2, first['provider_key']),
        'unknown: the next attempt runs, with the same provider key, at the other daemon')
    is_(names(second), names(first), 'the answer has the members that a run has')
    ok(second['token'] != first['token'], 'and a token of its own')
    is_(other.call('release', **own_ids(second), reason='nothing was sent'), {'state': 'unknown', 'already': False},
        'given back, it is unknown: the first one is open')
    is_(other.call('release', **own_ids(second), reason='nothing was sent'), {'state': 'unknown', 'already': True}, 'said again, it is so already')
    third = conn.call('begin', tool='bare', key='one')
    is_((third['decision'], third['attempt']), ('run', 3), 'and the next one runs')
    is_(other.call('complete', **own_ids(first), result={'n': 1}), {'state': 'done', 'outcome': 'succeeded', 'already': False},
        'the first one\'s success is taken while the third one runs')
    is_(conn.call('complete', **own_ids(third), result={'n': 1}), {'state': 'done', 'outcome': 'succeeded', 'already': True},
        'who says the same after it hears that it stands')
    is_(name_of(conn, 'complete', **own_ids(third), result={'n': 2}), 'conflict', 'who says another thing is in conflict')
    is_(conn.call('begin', tool='bare', key='one')['result'], {'n': 1}, 'the first success is replayed')
    is_(kinds(conn, first['effect']), 'unknown refused granted released granted late late'.split(), 'its story')
    reasons = [event.get('reason') for event in conn.call('get', effect=first['effect'])['events'] if event['kind'] == 'granted']
    is_(reasons, ['retry, attempt 1 is still open', 'retry, attempt 2 is still open'], 'which tells the retries from other grants')


def refusals(conn):
    """What the newest attempt cannot say for those beneath it, where nobody can be asked."""
    first = conn.call('begin', tool='bare', key='no')
    conn.call('unknown', **own_ids(first), reason='no answer')
    second = conn.call('begin', tool='bare', key='no')
    is_(conn.call('complete', **own_ids(second), outcome='failed', result='no'), {'state': 'unknown', 'outcome': 'failed', 'already': False},
        'a refusal does not stand while an earlier attempt is open')
    is_(name_of(conn, 'begin', tool='bare', key='no'), 'unknown', 'and nobody calls again after it')
    is_(name_of(conn, 'complete', **own_ids(first), result=1), 'done', 'until the earlier one says what it did')
    is_(name_of(conn, 'begin', tool='bare', key='no'), 'replay', 'which is what is replayed')


def waiters(a, b):
    """Who waits is woken by the end of the lease: one of them is granted."""
    with a.connect() as conn:
        conn.call('begin', tool='bare', key='waited', lease_ms=1000)
        conns = [d.connect() for d in (a, b) for _ in range(6)]
        ids = [c.send('begin', tool='bare', key='waited', wait_ms=int(4000 * SLOW), lease_ms=int(60000)) for c in conns]
        told = [c.recv(i) for c, i in zip(conns, ids)]
        is_(count(told), {'busy': 11, 'run': 1}, 'of twelve waiters at two daemons one gets the attempt of a lease that is over')
        ok(next(t for t in told if tell(t) == 'run')['result']['waited_ms'] > 0, 'and is told how long it waited')
        for c in conns:
            c.close()
        bound = a.connect()
        bound.call('begin', tool='bare', key='bound', bind=True, lease_ms=3600000)
        id_ = conn.send('begin', tool='bare', key='bound', wait_ms=30000)
        conn.call('info')
        bound.close()
        is_(conn.recv(id_)['result']['attempt'], 2, 'a close of the bound connection grants the next attempt, long before the lease ends')


def at_once(a, b):
    """Many at the same instant, at two daemons: one is granted each attempt."""
    conns = [d.connect() for d in (a, b) for _ in range(8)]
    wrong = []
    for n in range(20):
        run = conns[0].call('begin', tool='bare', key=f'race {n}')
        for attempt in range(2, 5):
            conns[0].call('unknown', **own_ids(run), reason='no answer')
            ids = [c.send('begin', tool='bare', key=f'race {n}') for c in conns]
            told = [c.recv(i) for c, i in zip(conns, ids)]
            runs = [t['result'] for t in told if tell(t) == 'run']
            if count(told) != {'busy': 15, 'run': 1} or runs[0]['attempt'] != attempt:
                wrong.append(count(told))
                break
            run = runs[0]
    is_(wrong, [], 'of 16 that ask at the same instant one is granted the next attempt, three times for each of 20 effects')
    for c in conns:
        c.close()


def window(daemon, provider):
    """Wrappers that never learn anything, and go on asking: no call is made later than the window and a lease after the first."""
    conn = daemon.connect()
    keys = {f'window {n}' for n in range(8)}
    effects, words = {}, {key: [] for key in keys}
    provider.away(True)
    while keys:
        for key in sorted(keys):
            run = conn.call('begin', tool='pay', key=key, lease_ms=1000)
            words[key].append(run['decision'])
            if run['decision'] == 'run':
                effects[key] = run['provider_key']
                provider.perform(run['provider_key'])
                if random.random() < 0.7:
                    conn.call('unknown', **own_ids(run), reason='no answer')
            elif run['decision'] == 'unknown':
                keys.discard(key)
        threading.Event().wait(0.05)
    again = {key: name_of(conn, 'begin', tool='pay', key=key) for key in words}
    provider.away(False)
    late = {key: max(provider.calls[e]) - min(provider.calls[e]) for key, e in effects.items()}
    ok(all(d < WINDOW_S + LEASE_S for d in late.values()), 'no call comes later than the window and a lease after the first', late)
    ok(all(d > WINDOW_S / 3 for d in late.values()), 'and they come for about as long as it', late)
    ok(min(len(provider.calls[e]) for e in effects.values()) > 2, 'again and again', {key: len(w) for key, w in words.items()})
    is_(set(again.values()), {'unknown'}, 'after the first unknown it is unknown, whoever asks')
    wait_until(lambda: all(state_of(conn, e) == 'done' for e in effects.values()), 60, 'the probe settles them')
    is_(conn.call('begin', tool='pay', key='window 0')['by'], 'probe', 'then the probe\'s word is replayed')
    conn.close()


def counted(daemon, cluster):
    """The counters, where the daemon's are brought every ten seconds."""
    with daemon.connect() as conn:
        first = conn.call('begin', tool='counted', key='c')
        conn.call('unknown', **own_ids(first), reason='no answer')
        conn.call('begin', tool='counted', key='c')
        run = conn.call('begin', tool='held', key='h')
        cut = conn.call('extend', **own_ids(run), lease_ms=3600000)
        is_(cut['state'], 'pending', 'an extend that hold_max cuts short is taken')
        conn.call('extend', **own_ids(run), lease_ms=3600000)
        is_(kinds(conn, run['effect']), ['refused'], 'and leaves one event within a minute')
    wait_until(lambda: int(cluster.psql("select coalesce(sum(n), 0) from effect.stat where decision = 'hold_max' and tool = 'held'")) == 2, 40,
               'both extends are counted')
    n = cluster.rows("select decision, sum(n) as n from effect.stat where tool = 'counted' and decision in ('run', 'retried') group by 1")
    is_({row['decision']: row['n'] for row in n}, {'retried': 1, 'run': 2}, 'a retry is counted as a run, and as retried')


def lost(cluster, book):
    """Effects in the provider's book that the ledger holds for not done."""
    performed = {effect for effect, _ in book}
    rows = cluster.rows("select id, state, outcome from effect.ledger where state = 'released' or outcome = 'failed'")
    return [row for row in rows if row['id'] in performed]


def killed(daemons, cluster, provider, the_seed):
    """case 81: with retries, daemons die -9 under it, one after the other."""
    world = RetryWorld(daemons, provider, the_seed)
    world.start()
    for number in range(N_ROUNDS):
        world.answered_more(random.randrange(100, 300))
        victim = daemons[number % len(daemons)]
        victim.kill()
        victim.start()
        provider.away(number % 3 == 0)
    provider.away(False)
    world.answered_more(200)
    world.stop()
    for thread in provider.hanging:
        thread.join()
    states = world.settle(120)
    world.read_back()
    book = provider.book()
    note(world.tally())
    note(dict(sorted(world.counts.items())))
    n_again = sum(len(calls) > 1 for calls in provider.calls.values())
    note(f'{states}, {len(book)} effects performed by {sum(len(c) for c in provider.calls.values())} calls, {n_again} called more than once')
    is_(check(world.log.entries, book), [], f'the checker finds nothing in {len(world.log.entries)} entries: no effect is performed twice')
    is_(lost(cluster, book), [], 'nothing that was performed is held for released or failed')
    ok(n_again > 5, 'calls were made again over open ones, and taken for one', n_again)
    ok(set(FATES) <= set(world.counts), 'each kind of wrapper was at it', set(FATES) - set(world.counts))
    ok(set(states) <= {'done', 'released'}, 'every effect ended', states)


the_seed = seed()
PROVIDER = Keyed()
TOOLS = [PROVIDER.policy(**RETRY), {'name': 'bare', **RETRY, 'lease': '60s'}, {'name': 'counted', **RETRY}, {'name': 'held', 'hold_max': '100s'}]
with Cluster() as the_cluster, Daemon(the_cluster, config={'log_calls': False, 'sweep_interval': '200ms'}, tools=TOOLS) as the_first, \
        Daemon(the_cluster, config={'log_calls': False, 'sweep_interval': '200ms'}, tools=TOOLS) as the_second:
    for d in (the_first, the_second):
        d.ready()
    with the_first.connect() as the_conn, the_second.connect() as the_other:
        told_again(the_conn, the_other)
        refusals(the_conn)
    counted(the_first, the_cluster)
    waiters(the_first, the_second)
    at_once(the_first, the_second)
    window(the_first, PROVIDER)
    killed([the_first, the_second], the_cluster, PROVIDER, the_seed)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
