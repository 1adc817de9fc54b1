#!/usr/bin/python3
"""Probes of a look-up that lags up to twice `settle` behind the book and answers badly more often than well: nothing is released that
landed, and everything ends in done, released or escalated by its deadline, with no client speaking. And where callers keep asking, and
have it probed out of turn, nobody is told run for what landed. Cases 77, 79, 81 and 82."""
import json
import os
import random
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lab'))
from harness import *  # noqa: E402
from servers import ProviderProcess  # noqa: E402

# How sure this is. The attempt's end is not before its payment is in the book, so that a look-up sees it 2 settle after that end at the
# latest. The first absent that counts was asked for at least settle after the end, the last one at least settle after the first.
SETTLE_MS = int(400 * SLOW)
LAG_S = 2 * SETTLE_MS / 1000
HURRY_MS = int(6 * SETTLE_MS)
# Where people keep asking: longer than the least pause between two probes that are asked for, so that these come sooner than they count
ASKED_SETTLE_MS = int(1900 * SLOW)
N_ASKED = rounds_of(60, 1000)
N_EFFECTS = rounds_of(240, 4000)
N_CLIENTS = 8
SLACK_S = 20 * SLOW
FAULTS = 0.6  # of the look-ups are answered badly


def policy(name, port, where='payments'):
    return {'name': name, 'lease': '1s', 'settle': f'{SETTLE_MS}ms', 'absent_needed': 2, 'probe_timeout': f'{SETTLE_MS}ms', 'probe_backoff': ['50ms', '150ms'],
            'escalate_after': '10m' if name in ('lags', 'pay') else f'{HURRY_MS}ms',
            'probe': {'http': {'url': f'http://127.0.0.1:{port}/{where}?reference={{provider_key}}',
                               'landed': {'status': 200, 'body': {'/status': 'succeeded', '/reference': '{provider_key}'}},
                               'absent': {'status': 404, 'body': {'/error': 'no_such_payment', '/reference': '{provider_key}'}},
                               'result': '/receipt'}}}


def closed_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def pay(path, reference):
    """One payment, until its answer: it is in the book then."""
    with socket.socket(socket.AF_UNIX) as conn:
        conn.connect(path)
        conn.sendall(json.dumps({'id': 1, 'order': reference, 'reference': reference, 'work_s': 0}).encode() + b'\n')
        assert json.loads(conn.makefile().readline())['receipt']


def client(daemon, socket_path, number, told):
    """A few of the effects: paid or not, then `unknown` or silence. What is told of each: (paid, said)."""
    chance = random.Random(f'{SEED} {number}')
    with daemon.connect() as conn:
        for n in range(number, N_EFFECTS, N_CLIENTS):
            tool = chance.choice(('lags', 'lags', 'pay', 'hurry', 'never', 'gone'))
            run = conn.call('begin', tool=tool, key=f'{n}')
            assert run['decision'] == 'run', run
            paid, speaks = chance.random() < 0.6, chance.random() < 0.7
            if paid:
                pay(socket_path, run['provider_key'])
            if speaks:
                conn.call('unknown', effect=run['effect'], token=run['token'])
            told[run['effect']] = (tool, paid)


def claim_all(daemon, provider):
    told = {}
    threads = [threading.Thread(target=client, args=(daemon, provider.socket, number, told)) for number in range(N_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    is_(len(told), N_EFFECTS, 'all of them were claimed')
    return told


ENDS = """select l.id as effect, l.state::text as state, l.outcome::text as outcome, l.decided_by::text as by, l.result,
    extract(epoch from coalesce(l.done_at, l.since) - o.at) as took_s
  from effect.ledger l, lateral (select min(e.at) as at from effect.event e where e.effect = l.id and e.kind in ('unknown', 'lapsed')) o"""


def judge(rows, told, book):
    """Against the provider's book."""
    receipts = {line['reference']: line['receipt'] for line in book}
    is_(set(receipts), {effect for effect, (_, paid) in told.items() if paid}, 'the book has what was paid')
    wrong = [row for row in rows if row['state'] == 'released' and row['effect'] in receipts]
    is_(wrong, [], f'nothing is released that landed, of {len(receipts)}')
    untrue = [row for row in rows if row['state'] == 'done' and json.loads(row['result']) != receipts.get(row['effect'])]
    is_(untrue, [], 'nothing is done that did not land, and what landed has the provider\'s receipt')
    late = [row for row in rows if told[row['effect']][0] not in ('lags', 'pay') and row['took_s'] > HURRY_MS / 1000 + SLACK_S]
    is_(late, [], 'all of it ended by its deadline')
    early = [row for row in rows if row['state'] == 'escalated' and row['took_s'] < HURRY_MS / 1000 - 0.05]
    is_(early, [], 'and no person was asked before it')
    counts = {}
    for row in rows:
        words = counts.setdefault(told[row['effect']][0], {})
        words[row['state']] = words.get(row['state'], 0) + 1
    note(counts)
    is_((set(counts['lags']), set(counts['pay'])), ({'done', 'released'}, {'done', 'released'}),
        'where there is time, the provider\'s word is heard in the end, each time')
    is_((set(counts['never']), set(counts['gone'])), ({'escalated'}, {'escalated'}),
        'where nobody answers, or never well, a person is asked about all of it')


def asked_for(daemon, provider):
    """Each effect is asked for again and again, and waited for, until it ends. The sweeper's own next probe would be far off."""
    runs, paid, ends = {}, set(), {}
    chance = random.Random(f'{SEED} asked')
    with daemon.connect() as conn:
        for n in range(N_ASKED):
            run = conn.call('begin', tool='asked', key=f'{n}')
            if chance.random() < 0.7:
                pay(provider.socket, run['provider_key'])
                paid.add(run['effect'])
            conn.call('unknown', effect=run['effect'], token=run['token'])
            runs[n] = run
        waiting = {conn.send('begin', tool='asked', key=f'{n}', wait_ms=200): n for n in runs}
        while waiting:
            answer = conn.recv()
            n = waiting.pop(answer['id'])
            decision = answer['result']['decision']
            if decision == 'unknown':
                waiting[conn.send('begin', tool='asked', key=f'{n}', wait_ms=200)] = n
            else:
                ends[runs[n]['effect']] = decision
    is_({effect for effect, decision in ends.items() if decision == 'run'}, set(runs[n]['effect'] for n in runs) - paid,
        f'run is told for all that did not land, and for none of {len(paid)} that did')
    is_({effect for effect, decision in ends.items() if decision == 'replay'}, paid, 'what landed is replayed')


SEED = seed()
with ProviderProcess(SEED, lag_s=LAG_S, look_up_faults=FAULTS) as the_provider, \
        ProviderProcess(SEED, lag_s=2 * ASKED_SETTLE_MS / 1000) as slow_provider, Cluster() as cluster:
    tools = [policy('lags', the_provider.port, 'truly'), policy('pay', the_provider.port), policy('hurry', the_provider.port),
             policy('never', the_provider.port, 'badly'), policy('gone', closed_port()),
             {**policy('asked', slow_provider.port, 'truly'), 'settle': f'{ASKED_SETTLE_MS}ms', 'probe_backoff': ['100ms', '10m'],
              'escalate_after': '1h'}]
    with Daemon(cluster, config={'sweep_interval': '100ms', 'log_calls': False}, tools=tools).ready() as the_daemon:
        the_told = claim_all(the_daemon, the_provider)
        wait_until(lambda: cluster.psql("select count(*) from effect.ledger where state in ('pending', 'unknown')") == '0', 240,
                   'nothing is open, and no client has spoken')
        judge(cluster.rows(ENDS), the_told, the_provider.lines('book'))
        asked_for(the_daemon, slow_provider)
        is_(cluster.invariants(), [], 'no invariant is hurt')
done()
