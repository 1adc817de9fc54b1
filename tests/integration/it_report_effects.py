#!/usr/bin/python3
"""What the reports say of effects, over the wire: each fault that is made here is found by its report, no value of a call is told,
and the command of each finding does what it says when it is pasted into a shell, whatever the names in it are."""
import json
import os
import subprocess

from harness import *
from talk import Script, claim, later, own_ids, wait_state

PROBE = Script()
SECRET = '4111 1111 1111 1111'
HOSTILE = "it's $(touch {trap}); `touch {trap}` \"|&\\ \u202egnp"
TOOLS = [PROBE.policy('mute', escalate_after='1h'),
         {'name': 'people', 'escalate_after': '0s'},
         {'name': 'pay', 'keep': ['/amount', '/memo', '/order'], 'secret': ['/card'], 'lease': '10m'},
         {'name': 'hold', 'business_key': ['/order'], 'keep': ['/order'], 'on_business_duplicate': 'hold', 'lease': '10m'},
         {'name': 'twice', 'business_key': ['/order'], 'lease': '10m', 'keep_key': '2h'},
         {'name': 'turn', 'turn_budget': 1, 'lease': '10m'}]


def report(conn, name, **params):
    """The report, its rows as objects."""
    told = conn.call('report', name=name, **params)
    told['rows'] = [dict(zip(told['columns'], row)) for row in told['rows']]
    return told


def codes(told):
    return sorted((f['code'], f['tool']) for f in told['findings'])


def paste(daemon, command, *more):
    """Has a shell run it."""
    env = {'PATH': os.path.dirname(program('effectctl')) + ':/usr/bin:/bin', 'EFFECTD_SOCKET': daemon.socket, 'LC_ALL': 'C.UTF-8'}
    return subprocess.run(['/bin/sh', '-c', ' '.join((command, *more))], env=env, capture_output=True, text=True, check=False, timeout=60,
                          stdin=subprocess.DEVNULL)


def mismatches(daemon, conn):
    for n in range(3):
        args = {'order': n, 'amount': '12.50', 'memo': 'a\0b', 'card': SECRET}
        run = claim(conn, f'm{n}', 'pay', args=args, run='first run')
        told = conn.call('begin', tool='pay', key=f'm{n}', args={**args, 'amount': '99.99', 'memo': 'a\0c'}, run='second run')
        is_((told['decision'], told['differs']), ('mismatch', ['/amount', '/memo']), 'a mismatch tells its caller what differs')
        conn.call('begin', tool='pay', key=f'm{n}', args={**args, 'amount': '1'})
    events = conn.call('get', effect=run['effect'])['events']
    is_([(e['kind'], e['reason']) for e in events], [('refused', 'mismatch: /amount, /memo')], 'its history says so, once a minute')
    ok('mismatch: /amount, /memo' in daemon.ctl('explain', run['effect']).stdout, 'explain shows it')
    told = report(conn, 'mismatches')
    is_([(r['tool'], r['fields'], r['effects'], r['run']) for r in told['rows']], [('pay', '/amount, /memo', 3, 'second run')], 'mismatches: which fields')
    is_(codes(told), [('mismatch_field', 'pay')], 'three effects are a finding')
    text = json.dumps([told, events])
    is_([word for word in (SECRET, '12.5', '99.99', 'a\\u0000') if word in text], [], 'no value of a call is told')
    is_(paste(daemon, told['findings'][0]['next']).returncode, 0, 'its command runs')


def duplicates(daemon, conn, cluster):
    order = {'order': 1}
    first = claim(conn, 'h1', 'hold', args=order, run='r')
    is_(conn.call('begin', tool='hold', key='h2', args=order, run='r')['decision'], 'held', 'a guard holds')
    claim(conn, 'h3', 'hold', args=order, run='r', again='the customer: wants, two')
    twin = claim(conn, 't1', 'twice', args=order)
    second = claim(conn, 't2', 'twice', args=order, owner='worker 7')
    told = report(conn, 'duplicates')
    is_([(r['key'], r['twin_key'], r['how'], r['again'], r['owner']) for r in told['rows']],
        [('t2', 't1', 'business', None, 'worker 7'), ('h3', 'h1', 'business', 'the customer: wants, two', None)], 'duplicates: who has a twin, and which were meant')
    is_([(f['code'], f['effect']) for f in told['findings']], [('duplicate', second['effect'])], 'what was meant is no finding')
    ok(second['effect'] in paste(daemon, told['findings'][0]['next']).stdout, 'its command tells its story')
    told = report(conn, 'churn')
    is_([(r['run'], r['business'], r['n_keys'], r['granted'], r['keys']) for r in told['rows']], [('r', '1', 3, 2, ['h1', 'h2', 'h3'])],
        'churn: keys that ran, and one that was held')
    is_(codes(told), [('key_churn', 'hold')], 'are a finding')
    is_(report(conn, 'churn', keys_min=4)['n'], 0, 'of four there is none')
    # across expiry: the ledger's clock goes on
    for run in (first, twin, second):
        conn.call('complete', **own_ids(run))
    later(cluster, 7300)
    again = claim(conn, 't2', 'twice', args=order)
    is_(again['attempt'], 2, 'past keep_key the same key runs again')
    told = report(conn, 'duplicates')
    is_([(f['code'], f['effect']) for f in told['findings']], [('key_expired', again['effect']), ('duplicate', second['effect'])],
        'which is found, and so is what was forgotten meanwhile')


def budgets(daemon, conn):
    claim(conn, 'b1', 'turn', run='r', turn='t')
    is_(report(conn, 'budgets', tool='turn')['findings'], [], 'a budget that is used to its end is no finding')
    is_(conn.call('begin', tool='turn', key='b2', run='r', turn='t')['decision'], 'exhausted', 'one more is refused')
    told = report(conn, 'budgets', tool='turn')
    is_([(r['turns_spent'], r['refused'], r['run'], r['turn'], r['turn_budget']) for r in told['rows']], [(1, 1, 'r', 't', 1)], 'budgets: which turn')
    is_(codes(told), [('budget_spent', 'turn')], 'is a finding')
    is_(paste(daemon, told['findings'][0]['next']).returncode, 0, 'its command runs')


def stuck(daemon, conn, hostile, trap):
    for tool in ('mute', hostile):
        run = claim(conn, HOSTILE, tool)
        conn.call('unknown', **own_ids(run))
    told = wait_until(lambda: (t := report(conn, 'stuck'))['findings'][1:] and t, 30, 'the probe was asked three times')
    is_(codes(told), sorted([('probe_never_answered', 'mute'), ('probe_never_answered', hostile)]), 'stuck: whose probe never answers')
    row = next(r for r in told['rows'] if r['tool'] == hostile)
    is_((row['key'], row['state'], row['last_probe']), (HOSTILE, 'unknown', 'inconclusive'), 'names are told as they are')
    for finding in told['findings']:
        done_ = paste(daemon, finding['next'])
        ok('inconclusive' in done_.stdout, f'{finding["next"]}: asks that very probe', done_.stdout + done_.stderr)
    ok(not os.path.exists(trap), 'and nothing in a name is run')


def escalated(daemon, conn):
    run = claim(conn, 'e', 'people')
    conn.call('unknown', **own_ids(run))
    wait_state(conn, run['effect'], 'escalated')
    told = report(conn, 'escalated')
    is_([(f['code'], f['level'], f['effect']) for f in told['findings']], [('escalated', 'warning', run['effect'])], 'escalated: each is a warning')
    story = paste(daemon, told['findings'][0]['next'])
    is_(story.returncode, 0, 'its command tells the story')
    resolve = next(line for line in story.stdout.splitlines() if line.startswith('effectctl resolve') and '--verdict landed' in line)
    is_(paste(daemon, resolve).returncode, 64, 'and the commands to choose from: one that is pasted as it stands decides nothing')
    paste(daemon, resolve, '"seen in the books"')
    is_(conn.call('get', effect=run['effect'])['state'], 'done', 'with the reason it does')
    is_(report(conn, 'escalated')['n'], 0, 'and is told no more')
    is_(report(conn, 'incidents')['n'], 0, 'no incident so far')
    is_(conn.error('complete', **own_ids(run), outcome='failed')['data']['name'], 'conflict', 'a report against what stands')
    told = report(conn, 'incidents')
    is_([(f['code'], f['effect']) for f in told['findings']], [('incident', run['effect'])], 'is one')
    is_(paste(daemon, told['findings'][0]['next']).returncode, 0, 'its command runs')


def scope(cluster):
    """Who may look at one namespace sees nothing of another, where he may only call."""
    me = f'user:{os.getuid()}'
    config = f'namespace a {{ wrappers = {{"{me}"}}  observers = {{"{me}"}} }}\nnamespace b {{ wrappers = {{"{me}"}} }}\n'
    with Daemon(cluster, tools=TOOLS, config=config) as daemon, daemon.connect() as conn:
        daemon.ready()
        for namespace in ('a', 'b'):
            conn.call('unknown', **own_ids(claim(conn, 'k', 'mute', namespace=namespace)))
        told = report(conn, 'stuck')
        is_({r['namespace'] for r in told['rows']}, {'a'}, 'a report is of the namespaces that one may observe')
        is_(conn.error('report', name='stuck', namespace='b')['data']['name'], 'denied', 'and another is denied')


def main():
    trap = os.path.join(folder(), 'trap')
    hostile = HOSTILE.format(trap=trap)
    tools = TOOLS + [PROBE.policy(hostile, escalate_after='1h')]
    with Cluster() as cluster:
        with Daemon(cluster, tools=tools, config='sweep_interval = "50ms"\n') as daemon, daemon.connect() as conn:
            daemon.ready()
            mismatches(daemon, conn)
            budgets(daemon, conn)
            stuck(daemon, conn, hostile, trap)
            escalated(daemon, conn)
            duplicates(daemon, conn, cluster)
            daemon.stop()
        scope(cluster)
        is_(cluster.invariants(), [], 'no invariant is hurt')
    done()


main()
