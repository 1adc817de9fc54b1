#!/usr/bin/python3
"""The lab finds what it must find: 44 duplicates per 1,000 without a key, those of re-plans with a key per call, those that a short
memory misses; and none, with nothing lost, where effectd guards, though it and PostgreSQL are killed on the way."""
import concurrent.futures
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *  # noqa: E402

from agents import Tally  # noqa: E402
from books import Count, expected  # noqa: E402
from field import MISSIONS, Clock, Setting, p_late, p_unknown  # noqa: E402
from servers import ProviderProcess  # noqa: E402

RUN = os.path.join(SRC, 'tests/lab/run')
FAST = ('--compress', '20', '--compress-resume', '480')  # no figure but the latencies depends on the host's speed


def lab(*args, status=0):
    """The object of the last line of one run of the lab."""
    svg = os.path.join(folder(), 'picture.svg')
    argv = [RUN, '--build', BUILD, '--json', '--svg', svg, *map(str, args)]
    done_ = subprocess.run(argv, capture_output=True, text=True, timeout=280 * SLOW, check=False)
    with open(svg, encoding='utf-8') as picture:
        said = json.loads(done_.stdout.splitlines()[-1]) if done_.stdout else {}
        said['svg'], said['text'] = picture.read(), done_.stdout
    if done_.returncode != status:
        note(done_.stdout + done_.stderr)
    ok(done_.returncode == status, f'lab {" ".join(map(str, args))} exits {status}', done_.returncode)
    return said


def constants():
    """The figures of the field."""
    is_([round(100 * p_late(MISSIONS[n]), 1) for n in (1, 2)], [2.2, 87.6], 'so many calls end too late, in per cent')
    is_(round(100 * p_unknown(MISSIONS[1]), 1), 4.2, 'so many first attempts are unknown')
    p = p_unknown(Setting())
    mean, _ = expected('none', Setting())
    ok(abs(mean - (p + p ** 2 + p ** 3)) < 1e-5 and round(1000 * mean) == 44, 'blind retries give p + p^2 + p^3 duplicates: 44 per 1,000', mean)
    is_([MISSIONS[n].sound() for n in MISSIONS], [None] * 4, 'each mission gives its provider the time that settle allows')
    ok(Setting(settle_ms=5000).sound(), 'a settle that is too short is refused')


def planted():
    """The count finds what it is there to find."""
    tally = Tally()
    tally.receipts = {'order-0': {'p_1'}, 'order-2': {'p_9'}}
    book = [{'order': 'order-0', 'receipt': 'p_1'}, {'order': 'order-1', 'receipt': 'p_2'}, {'order': 'order-1', 'receipt': 'p_3'},
            {'order': 'order-2', 'receipt': 'p_4'}]
    count = Count(5, tally, book, {'order-3': 'escalated', 'order-4': 'released'}, Clock())
    is_((count.executions, count.duplicates), (4, 1), 'the count finds a payment that was made twice')
    is_(count.lost, ['order-4'], 'it finds one that is lost: neither in the book nor open')
    is_(count.untrue, ['order-2'], 'it finds a receipt that the provider never wrote')
    is_([count.fate(n) for n in range(5)], ['once', 'twice', 'once', 'open', 'lost'], 'each action has its fate')


def provider():
    """The provider, asked directly."""
    with ProviderProcess(1, lag_s=0, memory_s=0.2) as it:
        def pay(order, **more):
            with conn.makefile('rw') as lines:
                lines.write(json.dumps({'id': 1, 'order': order, 'work_s': 0, **more}) + '\n')
                lines.flush()
                return json.loads(lines.readline())
        import socket
        conn = socket.socket(socket.AF_UNIX)
        conn.connect(it.socket)
        pay('a')
        pay('a')
        is_(pay('b', key='k')['receipt'], pay('b', key='k')['receipt'], 'the provider does a payment once for a key that it knows')
        wait_until(lambda: not pay('b', key='k').get('replayed'), 10, 'the key is forgotten')
        conn.close()
        orders = [line['order'] for line in it.lines('book')]
        is_((orders.count('a'), orders.count('b')), (2, 2), 'and again without a key, or for one that it forgot')


def unguarded(seed_):
    """What there is without effectd."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        none, attempt, slow, call, once, *crashes = pool.map(lambda args: lab(*args, '--seed', seed_, *FAST), (
            ('--mission', 1, '--mode', 'none'), ('--mission', 1, '--mode', 'attempt'),
            ('--mission', 2, '--mode', 'none', '--actions', 500), ('--mission', 2, '--mode', 'call', '--actions', 500),
            ('--mission', 1, '--mode', 'call', '--actions', 1000),
            ('--mission', 3, '--mode', 'intent', '--memory', 5, '--actions', 400),
            ('--mission', 3, '--mode', 'intent', '--memory', 60, '--actions', 400)))
    mean, sd = expected('none', Setting())
    n, sigma = none['actions'], sd * none['actions'] ** 0.5
    ok(abs(none['duplicates'] - n * mean) < 4 * sigma,
       f'no key: {none["duplicates"]} duplicates, {n * mean:.0f} by chance, with a standard error of {sigma:.0f}')
    is_((none['lost'], none['attempts'] - none['executions']), (0, 0), 'every attempt was done, and none is lost')
    members = 'actions attempts executions duplicates lost replays unknown_told escalated p95_ms mission mode seed'
    is_(' '.join([m for m in none if m in members.split()]), members, 'the last line has its members, in their order')
    ok(none['svg'].startswith('<svg') and f'>{none["duplicates"]:,}<' in none['svg'] and none['svg'].count('<rect') > n,
       'the picture has the numbers, and a square for each action')
    is_(attempt['duplicates'], none['duplicates'], 'a key per attempt guards nothing: the same chance, the same duplicates')

    ok(0.3 * 500 < call['duplicates'] < 0.3 * slow['duplicates'], 'a key per call removes the transport\'s duplicates, and not the model\'s',
       (call['duplicates'], slow['duplicates']))
    ok(once['duplicates'] <= 2, 'where the model hardly ever calls again, that is nearly all of them', once['duplicates'])

    # of the actions so many die after their payment, by chance, and a longer memory can only catch some of them
    p = MISSIONS[3].crash * 0.75
    again, sigma = 400 * p, (400 * p * (1 - p)) ** 0.5
    for crash, (minutes, least, most) in zip(crashes, ((5, 0.4 * again, again + 4.5 * sigma), (60, 0, 0))):
        ok(least <= crash['duplicates'] <= most,
           f'a memory of {minutes} min misses {crash["duplicates"]} of the payments that a resumed run makes again: {again:.0f} by chance', most)


def guarded(seed_):
    """case 81, by the provider's book: effectd guards, and is killed on the way."""
    runs = [('--mission', 1, '--actions', 200, '--chaos'), ('--mission', 2, '--actions', 200, '--chaos', '--compress-resume', 480),
            ('--mission', 4, '--actions', 150, '--crash', 0.2, '--dispatch', 0.3, '--compress-resume', 480)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        said = list(pool.map(lambda args: lab('--mode', 'effectd', '--seed', seed_, *args), runs))
    for args, one in zip(runs, said):
        name = ' '.join(map(str, args))
        is_((one['duplicates'], one['lost'], one['faults']), (0, 0, 0), f'{name}: nothing is paid twice, nothing is lost')
        is_(one['executions'] + one['escalated'], one['actions'], f'{name}: each action is paid, or a person is asked')
        if '--chaos' in args:
            ok(one['kills'] >= 2 and one['restarts'] == 2, f'{name}: effectd was killed {one["kills"]} times, PostgreSQL {one["restarts"]}')
    ok(said[1]['replays'] > 100, 'where most replies come too late, most agents are told by a replay', said[1]['replays'])


seed()
constants()
planted()
provider()
unguarded(random.getrandbits(32))
guarded(random.getrandbits(32))
done()
