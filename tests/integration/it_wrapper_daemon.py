#!/usr/bin/python3
"""Wrappers of every language and what happens around them: daemons and ledgers that go away between begin and complete, wires that are cut
at a byte, wrappers that stand still past their lease or are killed at once while their call runs on, and the repeats of agent frameworks.
Whatever happens, fn is called once for what is one effect. Sections K6 and K12, the client's half."""
import concurrent.futures
import os
import random
import select
import signal
import sys
import threading

from clients import *
from harness import *
from talk import *

sys.path.insert(0, os.path.join(SRC, 'tests', 'fault'))
from proxy import DOWN, UP, Cut, LineProxy, PgProxy, Record  # noqa: E402

# The provider's book is what fn's of all clients have written; its probe reads nothing else.
BOOK_SAYS = '''
key=$(expr "$line" : '.*"provider_key":"\\([-0-9a-f]*\\)"')
if grep -rqs "\\"$key\\"" BOOK; then
	echo '{"verdict":"landed","result":"by the book"}'
else
	echo '{"verdict":"absent"}'
fi
'''.replace('BOOK', BOOK)
PROBE = Script(BOOK_SAYS)
LEASE_S = 1 if SLOW == 1 else 2
TOOLS = [{'name': name, 'lease': '5m', 'escalate_after': '1h'} for name in ('t', 'mail', 'db', 'notify')]
TOOLS += [PROBE.policy('asked', escalate_after='1h'), PROBE.policy('long', lease='5m', escalate_after='1h'), {'name': 'short', 'lease': f'{LEASE_S}s', 'escalate_after': '1h'}]
CONFIG = {'log_calls': False, 'sweep_interval': '50ms'}
STEP = rounds_of(197, 7)
N_LANES = 4
N_KEYS, N_KILLS = rounds_of(8, 60), 2
PATIENT = {'begin_timeout_ms': int(30000 * SLOW), 'complete_timeout_ms': int(60000 * SLOW)}


def row_of(daemon, tool, key):
    with daemon.connect() as conn:
        return conn.call('get', tool=tool, key=key)


def end_all(clients):
    for client in clients:
        client.kill()


# ---- the daemon and the ledger go away --------------------------------------------------------------------------------

def daemon_goes(daemon, how):
    """case 60, and 62 while the lease lasts: between begin and complete of each client the daemon ends and another one starts."""
    owners, others = with_all(daemon), with_all(daemon)
    for owner in owners:
        owner.ask(tool='t', key=f'{how.name} {owner.language}', hold=True, options=PATIENT)
    for owner in owners:
        owner.wait_performed()
    daemon.signal(how)
    daemon.wait()
    for owner, other in list(zip(owners, others))[::2]:
        owner.go()  # half of them have their result while nobody is there to be told
    daemon.start().ready()
    told = {other.language: other.kind(tool='t', key=f'{how.name} {owner.language}') for owner, other in list(zip(owners, others))[1::2]}
    is_(set(told.values()) - {'Busy'}, set(), f'case 60: {how.name}: a live claim is left alone by the next daemon')
    for owner, other in zip(owners, others):
        told = owner.go().told()
        is_((kind_of(told), owner.performed), ('value', 1), f'{owner.language}: case 60: {how.name} between begin and complete: the value is recorded by the next daemon')
        again = other.call(tool='t', key=f'{how.name} {owner.language}')
        is_((kind_of(again), again.get('value'), other.performed, row_of(daemon, 't', f'{how.name} {owner.language}')['attempt']), ('replay', {'by': owner.language}, 0, 1),
            f'{owner.language}: and replayed, of one attempt')
    end_all(owners + others)


def begun_and_gone(daemon):
    """case 62: the daemon is killed with claims of wrappers that die meanwhile; before and after the lease ends nobody runs."""
    owners, others = with_all(daemon), with_all(daemon)
    for owner in owners:
        owner.ask(tool='short', key=f'62 {owner.language}', hold=True)
    for owner in owners:
        owner.wait_performed()
    daemon.kill()
    end_all(owners)
    daemon.start().ready()
    for owner, other in zip(owners, others):
        told = set()

        def asked():
            told.add(other.kind(tool='short', key=f'62 {owner.language}'))
            return 'Unknown' in told
        wait_until(asked, 30, 'the lease is over')
        is_((told - {'Busy', 'Unknown'}, other.performed), (set(), 0), f'{other.language}: case 62: busy, then unknown, and never a second call')
    end_all(others)


def ledger_goes(daemon, cluster):
    """cases 109 and 107: without its ledger nothing is called, and what was called is recorded when it is back."""
    owners, others = with_all(daemon), with_all(daemon)
    for owner in owners:
        owner.ask(tool='t', key=f'109 {owner.language}', hold=True, options=PATIENT)
    for owner in owners:
        owner.wait_performed()
    cluster.psql("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'effectd%' and pid <> pg_backend_pid()")
    for owner, other in zip(owners, others):
        is_(other.kind(tool='t', key=f'109 {owner.language}', options=PATIENT), 'Busy', f'{owner.language}: case 107: the daemon\'s connections are cut, and its claims stand')
    cluster.immediate()
    for owner, other in zip(owners, others):
        owner.go()
        other.ask(tool='t', key=f'109 other {owner.language}', options={'begin_timeout_ms': 700})
    is_([(client.told().get('kind'), client.performed) for client in others], [('Unavailable', 0)] * len(others), 'case 109: the ledger is away: Unavailable in every language, and nothing is called')
    cluster.start()
    for owner, other in zip(owners, others):
        is_((kind_of(owner.told()), owner.performed), ('value', 1), f'{owner.language}: cases 107 and 109: what was called is recorded when the ledger is back')
        is_(other.kind(tool='t', key=f'109 {owner.language}', options=PATIENT), 'replay', f'{owner.language}: and replayed')
    end_all(owners + others)


def cut_ledger(cluster):
    """case 102: the connection to the ledger is lost with the answer to a COMMIT, of begin and of complete."""
    with PgProxy(folder(), cluster.dir) as proxy, Daemon(proxy.conninfo(), config=CONFIG, tools=TOOLS) as daemon:
        daemon.ready()
        for client in with_all(daemon):
            for what in ('begin', 'complete'):
                rule = proxy.arm(Cut(what, DOWN, 0))
                told = client.call(tool='t', key=f'102 {what} {client.language}', options=PATIENT)
                row = row_of(daemon, 't', f'102 {what} {client.language}')
                is_((kind_of(told), rule.fired.is_set(), row['state'], row['attempt']), ('value', True, 'done', 1),
                    f'{client.language}: case 102: the commit of its {what} is not acknowledged, and it is its own all the same')
            is_(client.performed, 2, f'{client.language}: case 102: and each is called once')
            client.kill()


def cut_wire(lane):
    """Replies and requests of begin and complete are lost at a byte, with the true daemon behind: a share of the bytes."""
    cuts = CUTS[lane::N_LANES]

    def scenario(daemon, language, test):
        with LineProxy(folder(), daemon.socket) as proxy, Client(language, proxy.path) as client, Client(language, daemon.socket) as other:
            wrong = []
            for way, byte in cuts:
                key, before = f'cut {way} {byte} {language}', client.performed + other.performed
                rule = proxy.arm(Cut(None, way, byte))
                told = kind_of(client.call(tool='asked', key=key, options=PATIENT))
                again = kind_of(other.call(tool='asked', key=key, options={'wait_ms': 20000}))
                called = client.performed + other.performed - before
                # a `run` that was lost with its connection is nobody's: the provider is asked, and then it runs
                if called != 1 or again not in ('value', 'replay') or told not in ('value', 'Unknown', 'Busy') or (told == 'value') != (again == 'replay'):
                    wrong.append((way, byte, rule.fired.is_set(), told, again, called))
            test(wrong, [], f'the wire is cut at {len(cuts)} bytes: each effect is made once, and recorded')
    return scenario


# ---- the wrapper stands still, or dies --------------------------------------------------------------------------------

def stopped(daemon, language, test):
    """A wrapper that waits for its turn is told run while it stands still, and goes on when the lease is over."""
    key = f'stopped {language}'
    with LineProxy(folder(), daemon.socket) as proxy, Client(language, daemon.socket) as first, Client(language, proxy.path) as second, \
            Client(language, daemon.socket) as third, daemon.connect() as conn:
        first.ask(tool='short', key=key, hold=True, fn={'does': 'not_sent', 'text': 'refused'}).wait_performed()
        asked = proxy.arm(Record())
        second.ask(tool='short', key=key, options={'wait_ms': 60000})
        wait_until(lambda: asked.n[UP], 20, f'{language} has sent its begin')
        second.freeze()
        first.go().told()
        run = wait_until(lambda: conn.call('get', tool='short', key=key), 20)
        wait_until(lambda: (row := conn.call('get', tool='short', key=key))['attempt'] == 2 and row['state'] == 'unknown', 30, f'{run["effect"]}: its second lease is over')
        test((third.kind(tool='short', key=key), third.performed), ('Unknown', 0), 'a wrapper is told run while it stands still, until its lease is over: unknown')
        second.thaw()
        told = second.told()
        test((told.get('kind'), second.performed), ('Late', 0), 'when it goes on it does not start its call')
        test((third.kind(tool='short', key=key, options={'wait_ms': 20000}), third.performed), ('value', 1), 'but gives it back, so that another one may')


def killed(daemon, language, test):
    """kill -9 of the wrapper while its call runs: unknown at once, though the lease has minutes; never a second start on that."""
    with Client(language, daemon.socket) as other, daemon.connect() as conn:
        client, key = Client(language, daemon.socket), f'killed {language}'
        client.ask(tool='t', key=key, hold=True).wait_performed()
        effect = conn.call('get', tool='t', key=key)['effect']
        client.kill()
        row = wait_state(conn, effect, 'unknown')
        test((row['attempt'], 'closed' in event_kinds(row)), (1, True), 'its wrapper is killed while the call runs: unknown at once')
        told = [other.kind(tool='t', key=key, options={'wait_ms': wait}) for wait in (0, 0, 100)]
        test((told, other.performed), (['Unknown'] * 3, 0), 'and nobody starts it a second time')
        # where the provider can be asked, its word is told to whoever comes next
        client = Client(language, daemon.socket)
        client.ask(tool='long', key=key, hold=True).wait_performed()
        client.kill()
        told = other.call(tool='long', key=key, options={'wait_ms': 30000})
        test((kind_of(told), told.get('value'), other.performed), ('replay', 'by the book', 0), 'case 81: and what the provider has in its book is replayed')


# ---- K6: the framework repeats what already happened -------------------------------------------------------------------

def superstep(daemon, language, test):
    """case 53: a crash in the middle of a superstep, and a resume from the checkpoint before it."""
    def step(client, tool, **how):
        return client.ask(tool=tool, run=f'R {language}', step=1, args={'to': 'x'}, fn={'value': tool}, **how)

    worker = Client(language, daemon.socket)
    test([kind_of(step(worker, tool).told()) for tool in ('mail', 'db')], ['value', 'value'], 'a superstep: two calls are made')
    step(worker, 'notify', hold=True).wait_performed(3)
    with Client(language, daemon.socket) as other:
        test(kind_of(step(other, 'notify').told()), 'Busy', 'case 53: while the worker lives its third call is busy')
        worker.kill()
        wait_until(lambda: kind_of(step(other, 'notify').told()) == 'Unknown', 20, 'case 53')
        for _ in range(2):
            told = [step(other, tool).told() for tool in ('mail', 'db', 'notify')]
            test(([kind_of(t) for t in told], [t.get('value') for t in told], other.performed), (['replay', 'replay', 'Unknown'], ['mail', 'db', None], 0),
                 'case 53: the resumed step is told replay, replay, unknown, and calls nothing')


def fallback(daemon, language, test):
    """case 54: a fallback within the retry wrapper calls the tool again after it raised behind its effect."""
    with Client(language, daemon.socket) as client:
        how = {'tool': 'mail', 'key': f'54 {language}', 'fn': {'does': 'raise', 'text': 'raised behind its effect'}}
        told = [client.kind(**how) for _ in range(6)]
        test((told, client.performed), (['Own'] + ['Unknown'] * 5, 1), 'case 54: of six tries in three attempts one calls the tool')
        kinds = event_kinds(row_of(daemon, 'mail', f'54 {language}'))
        test(kinds, ['unknown', 'refused'], 'case 54: and the history shows that it was asked for again')


def siblings(daemon, language, test):
    """case 57: one of three siblings waits for a person, and the whole batch is run again."""
    with Client(language, daemon.socket) as batch, Client(language, daemon.socket) as waiting, Client(language, daemon.socket) as again:
        def sibling(client, tool, **how):
            return client.ask(tool=tool, run=f'R57 {language}', step=1, fn={'value': tool}, **how)

        for tool in ('mail', 'db'):
            sibling(batch, tool).told()
        sibling(waiting, 'notify', hold=True).wait_performed()
        told = [kind_of(sibling(again, tool).told()) for tool in ('mail', 'db', 'notify')]
        test((told, again.performed), (['replay', 'replay', 'Busy'], 0), 'case 57: the batch again: replay, replay, busy')
        test(kind_of(waiting.go().told()), 'value', 'case 57: and the one that waited is recorded')


def dispatched_twice(daemon, language, test):
    """case 59: two equal calls at the same time through one guard, and through two."""
    with Client(language, daemon.socket) as client, Client(language, daemon.socket) as other:
        wrong = []
        for at in range(3):
            before = client.performed
            told = client.call(tool='t', key=f'59 {at} {language}', call=f'c{at}', options={'wait_ms': 20000}, twin=1)
            both = [told, *told['more']]
            if client.performed != before + 1 or {t.get('value', {}).get('by') for t in both} != {language} or sorted(map(kind_of, both)) != ['replay', 'value']:
                wrong.append(told)
        test(wrong, [], 'case 59: of two equal calls through one guard one is made, and both have its result')
        client.ask(tool='t', key=f'59 {language}', call='7', hold=True).wait_performed(4)
        other.ask(tool='t', key=f'59 {language}', call='8', options={'wait_ms': 20000})
        client.go()
        test([kind_of(client.told()), kind_of(other.told()), other.performed], ['value', 'replay', 0], 'case 59: and so through two processes')


def one_of_all(daemon):
    """One key and a client of every language, thrice, at once: one makes the call, and all have its result."""
    for at in range(rounds_of(2, 20)):
        clients = [client for _ in range(3) for client in with_all(daemon)]
        random.shuffle(clients)
        for client in clients:
            client.ask(tool='t', key=f'one of all {at}', fn={'value': at}, options={'wait_ms': 30000})
        told = [client.told() for client in clients]
        is_(([t.get('value') for t in told], sum(client.performed for client in clients), sorted(map(kind_of, told))),
            ([at] * len(told), 1, ['replay'] * (len(told) - 1) + ['value']), f'{len(clients)} clients of every language want one effect at once: it is made once, and all have its result')
        leave(clients)


def at_any_moment(daemon):
    """Wrappers are killed at any moment, a daemon under them, and others take over until somebody has a result."""
    wrong, lock = [], threading.Lock()

    def until_done(key, chance):
        clients = []
        while True:
            client = Client(chance.choice(list(LANGUAGES)), daemon.socket)
            client.ask(tool='asked', key=key, hold=chance.random() < 0.5, options={'wait_ms': 20000, **PATIENT})
            clients.append(client)
            if len(clients) <= N_KILLS:
                pause(chance.uniform(0, 0.3))
                client.kill()
                continue
            told = client.go().told()
            if kind_of(told) in ('value', 'replay'):
                break
        leave(clients)
        performed = sum(client.performed for client in clients)
        with lock:
            if performed != 1:
                wrong.append((key, performed, [client.language for client in clients], told))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        ends = [pool.submit(until_done, f'any moment {n}', random.Random(random.random())) for n in range(N_KEYS)]
        pause(random.uniform(0.5, 2))
        daemon.kill()
        daemon.start()
        for end in ends:
            end.result()
    is_(wrong, [], f'{N_KEYS} effects, {N_KILLS} wrappers of each killed at any moment, and a daemon under them: each is made once')


def pause(seconds):
    select.select([], [], [], seconds)


def leave(clients):
    for client in clients:
        client.__exit__()


seed()
CUTS = [(way, byte) for way, size in ((DOWN, 1100), (UP, 420)) for byte in range(random.randrange(STEP), size, STEP)]
SCENARIOS = [*map(cut_wire, range(N_LANES)), stopped, killed, superstep, fallback, siblings, dispatched_twice]

with Cluster() as the_cluster:
    with Daemon(the_cluster, config=CONFIG, tools=TOOLS) as the_daemon:
        the_daemon.ready()
        play(the_daemon, SCENARIOS)
        for the_how in (signal.SIGTERM, signal.SIGKILL):
            daemon_goes(the_daemon, the_how)
        begun_and_gone(the_daemon)
        ledger_goes(the_daemon, the_cluster)
        one_of_all(the_daemon)
        at_any_moment(the_daemon)
    cut_ledger(the_cluster)
    is_(the_cluster.invariants(), [], 'no invariant is broken')
done()
