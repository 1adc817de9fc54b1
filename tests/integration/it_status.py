#!/usr/bin/python3
"""effectctl status: one screen of what an operator asks first, true at each moment, also where the ledger or the daemon is away."""
import json
import os
import re

from harness import *
from talk import bring, later
from peer import Peer

TOOLS = [{'name': 'refund', 'class': 'irreversible', 'key': 'refund:{/order}', 'lease': '1h', 'escalate_after': '1h'},
         {'name': 'page', 'class': 'irreversible', 'key': 'page:{/order}', 'lease': '1h', 'on_unknown': 'human', 'escalate_after': '0s'}]
EMPTY = [0, 0, 0, 0, 0]


def claim(conn, tool, order):
    return conn.call('begin', tool=tool, args={'order': order})


def open_of(conn, fact, what):
    """What info tells of open rows, once it is so: it is counted in the background."""
    return wait_until(lambda: (lambda told: told and fact(told) and told)(conn.call('info').get('open')), 30, what)


def numbers(conn):
    first = open_of(conn, lambda told: True, 'the ledger was counted')
    is_({**first, 'at': None}, {'pending': 0, 'unknown': 0, 'escalated': 0, 'by_age': {'pending': EMPTY, 'unknown': EMPTY, 'escalated': EMPTY},
                                'due': 0, 'at': None}, 'nothing is open at first')
    runs = [claim(conn, tool, n) for n, tool in enumerate(['refund', 'refund', 'refund', 'page'])]
    bring(conn, runs[2], 'unknown')
    bring(conn, runs[3], 'escalated')
    told = open_of(conn, lambda told: told['escalated'] == 1 and told['pending'] == 2, 'they are counted')
    is_((told['unknown'], told['by_age']['pending'], told['by_age']['unknown'], told['by_age']['escalated']),
        (1, [2, 0, 0, 0, 0], [1, 0, 0, 0, 0], [1, 0, 0, 0, 0]), 'two pending, an unknown and an escalated one, all less than a minute old')
    ok('due_since' not in told and told['due'] == 0, 'none is due')
    return runs


def screen(daemon, conn):
    out = daemon.ctl('status')
    is_(out.returncode, 0, 'status is 0')
    for pattern in [r'^effectd  \S+, protocol 1, up .*, ready\n', r'\nledger   up since 20\S+Z \(.* ago\)\n +PostgreSQL \d+.*, schema 1\n',
                    r'\nsweeper  last 20\S+Z \(\d+ s ago\), took \d+ ms, rows \d+; due 0\n', r'\nopen +all +< 1 min +< 15 min +< 1 h +< 1 d +older\n',
                    r'\n  pending +2 +2 +0 +0 +0 +0\n', r'\n  unknown +1 +1 +0', r'\n  escalated +1 +1 +0',
                    r'\nqueues +connections 2, requests 1, waiting 0, queued \d+, in_flight \d+\n',
                    r'\nrights   default: wrapper observer operator\n', r'\neffectctl list --state escalated\n']:
        like(out.stdout, pattern, f'it says {pattern.strip()[:40]}')
    ok(len(out.stdout.split('\n')) <= 24 and all(len(line) <= 80 for line in out.stdout.split('\n')), 'and fits a screen of 24 by 80', out.stdout)
    told = json.loads(daemon.ctl('--json', 'status').stdout)
    is_((told['schema'], set(conn.call('info')) - set(told)), ('effectctl.status/1', set()), 'as JSON it is all of info')


def ages(daemon, conn, cluster):
    later(cluster, 3500)
    told = open_of(conn, lambda told: told['by_age']['pending'][2] == 2, 'they are older')
    is_((told['by_age']['unknown'], told['due']), ([0, 0, 1, 0, 0], 0), 'by the ledger\'s clock')
    later(cluster, 90000)
    told = open_of(conn, lambda told: told['unknown'] == 2, 'the leases ended, and were swept')
    is_((told['pending'], sum(told['by_age']['unknown']), told['by_age']['escalated']), (0, 2, told['by_age']['escalated']), 'each is somewhere')
    is_(sum(told['by_age']['escalated']), told['escalated'], 'and counted once')
    like(daemon.ctl('status').stdout, r'\n  pending +0 +0 +0 +0 +0 +0\n  unknown +2 +2', 'status says so')


def fleet(daemon, conn, cluster):
    """A second daemon on the same ledger, whose policies are others."""
    mine = wait_until(lambda: conn.call('info').get('daemons'), 40, 'it knows of itself')
    is_((len(mine), mine[0]['state'], conn.call('info')['differ']), (1, 'up', []), 'one daemon, which differs from nobody')
    ok('daemons ' not in daemon.ctl('status').stdout, 'which is not worth a line')
    with Daemon(cluster, tools=[TOOLS[0], {**TOOLS[1], 'lease': '30m'}, {'name': 'new', 'class': 'read'}]) as other:
        other.ready()
        told = wait_until(lambda: (lambda info: len(info.get('differ') or []) == 2 == len(info['daemons']) and info)(conn.call('info')), 60, 'the others are known')
        is_([(d['namespace'], d['tool'], [bool(o.get('policy')) for o in d['daemons']].count(True)) for d in told['differ']],
            [('default', 'new', 1), ('default', 'page', 2)], 'which policies differ, and who has none')
        is_(sorted(d['state'] for d in told['daemons']), ['up', 'up'], 'and who there is')
        out = daemon.ctl('status').stdout
        like(out, r'\ndaemons  \S+ \S+, up, seen 20\S+Z \(\d+ s ago\)\n         \S+ \S+, up, seen ', 'status tells both')
        like(out, r'\ndiffers  default/new: \S+ (none, \S+ \d+|\d+, \S+ none)\ndiffers  default/page: \S+ \d+, \S+ \d+\n', 'and what differs')
        like(out, r'\n# daemons of this ledger have different policies in force\neffectctl tools list\n', 'and what to type')
        other.stop()
    wait_until(lambda: conn.call('info')['differ'] == [] and len(conn.call('info')['daemons']) == 1, 60, 'one that has ended is gone')
    ok(True, 'and one that has ended counts for nothing')


def away(daemon, conn, cluster):
    cluster.immediate()
    wait_until(lambda: not conn.call('info')['ready'], 20, 'the ledger is away')
    wait_until(lambda: 'failed_at' in conn.call('info')['sweeper'], 30, 'a sweep has failed')
    out = daemon.ctl('status')
    is_(out.returncode, 69, 'status is 69')
    since = conn.call('info')['database']['since']
    like(out.stdout, rf', not ready\nledger   down since {re.escape(since)} \(.* ago\)', 'it says since when')
    like(out.stdout, r'\nerror    \S+', 'and why')
    like(out.stdout, r'\nsweeper  last .*, failed since, at 20', 'and that sweeps fail')
    like(out.stdout, r'\neffectctl db check\njournalctl ', 'and what to type')
    like(out.stdout, r'\n  unknown +2', 'and what was open when it was last seen')
    cluster.start()
    daemon.ready()
    wait_until(lambda: 'failed_at' not in conn.call('info')['sweeper'], 20, 'sweeps are answered again')
    is_(daemon.ctl('status').returncode, 0, 'and status is 0')


def down(daemon):
    daemon.stop()
    out = daemon.ctl('status')
    is_((out.returncode, out.stdout), (69, ''), 'without a daemon it is 69')
    like(out.stderr, r'effectctl: .*\n(.*\n)*systemctl status effectd.socket effectd.service\njournalctl -u effectd', 'and says what to type')
    out = daemon.ctl('--json', 'status')
    is_((out.returncode, json.loads(out.stdout)['schema'], out.stderr), (69, 'effectctl.error/1', ''), 'as JSON it is an error')


def odd_answers():
    for told in ({}, {'open': 3}, {'open': {'pending': 'x', 'by_age': [1]}}, {'open': {'pending': 1, 'by_age': {'pending': [1, 'x', 3, 4, 5]}}},
                 {'sweeper': []}, {'sweeper': {'at': 'x'}, 'open': {'due': 1, 'due_since': '2026-01-01T00:00:00.000Z', 'at': 'now'}},
                 {'queues': [1]}, {'queues': {}}, {'probes': None}, {'database': []}, {'peer': {'namespaces': {}}}):
        out = Peer({'ready': True, **told}).ctl('status')
        is_((out.returncode, 'ERROR' in out.stderr), (0, False), f'{told} does not trouble it')
    late = {'due': 2, 'due_since': '2026-01-01T00:00:00.000Z', 'at': '2026-01-01T00:00:11.000Z'}
    like(Peer({'ready': True, 'open': late}).ctl('status').stdout, '# rows are due and no sweep takes them', 'late rows are pointed out')
    ok('no sweep' not in Peer({'ready': True, 'open': {**late, 'at': '2026-01-01T00:00:09.000Z'}}).ctl('status').stdout, 'others are not')


os.environ['LC_ALL'] = 'C.UTF-8'
with Cluster() as cluster_, Daemon(cluster_, tools=TOOLS) as daemon_:
    daemon_.ready()
    with daemon_.connect() as conn_:
        numbers(conn_)
        screen(daemon_, conn_)
        fleet(daemon_, conn_, cluster_)
        ages(daemon_, conn_, cluster_)
        away(daemon_, conn_, cluster_)
    down(daemon_)
odd_answers()
done()
