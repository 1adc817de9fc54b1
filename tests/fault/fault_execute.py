#!/usr/bin/python3
"""execute under kill -9: of the daemon, of the database and of both, at each fault point of an execution, under many callers of whom
some want the same. After each crash, before anybody asks again: the business row and the done row are both there, or neither. When all
have asked again: each effect is there once, and everybody was told its result."""
import json
import os
import random
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *  # noqa: E402

N_ROUNDS = rounds_of(8, 500)
N_KEYS = 16
N_CALLERS = 24  # each for a key of its own, and some for one more time
# point: at which hit at most
POINTS = {'execute.claim': 12, 'execute.claimed': 12, 'execute.running': 12, 'execute.ran': 12, 'execute.commit': 12, 'execute.committing': 12,
          'execute.committed': 12, 'client.send': 3, 'client.half': 3, 'client.sent': 3}
VICTIMS = ('daemon', 'database', 'both')
SETUP = '''create schema shop; create table shop.payment (id serial, key text not null); create role clerk login;
create function shop.pay(k text, s float) returns json language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare v int;
begin
  insert into shop.payment (key) values (k) returning id into v;
  perform pg_sleep(s);
  return json_build_object('payment', v);
end $$;
grant usage on schema shop to clerk; select effect.allow('clerk', 'default');'''
TOOL = {'name': 'pay', 'ignore': ['/sleep'], 'execute': {'query': 'select shop.pay($1, $2::float)', 'params': ['{key}', '{/sleep}'], 'user': 'clerk', 'timeout': '20s'}}
CRASHES = {'daemon': 'kill', 'database': 'stop', 'both': 'stop'}


class Caller(threading.Thread):
    """Asks, with one request, until it is told."""

    def __init__(self, daemon, key, source):
        super().__init__(daemon=True)
        self.socket, self.key, self.told, self.failed = daemon.socket, key, None, None
        self.ask = {'tool': 'pay', 'key': key, 'args': {'sleep': source.choice((0, 0, 0.002, 0.01))}, 'request': request_id(), 'wait_ms': 5000}
        self.start()

    def once(self):
        with Conn(self.socket) as conn:
            answer = conn.recv(conn.send('execute', self.ask))
        if 'result' in answer and answer['result']['decision'] in ('ran', 'replay'):
            self.told = answer['result']
        elif 'result' in answer and answer['result']['decision'] != 'busy' or \
                'error' in answer and answer['error']['data']['name'] != 'unavailable':
            self.failed = answer

    def run(self):
        while not self.told and not self.failed:
            try:
                self.once()
            except (OSError, ConnectionError, TimeoutError):
                threading.Event().wait(0.01)


def at_rest(cluster):
    """No transaction of an execution is open any more."""
    wait_until(lambda: cluster.psql("select count(*) from pg_stat_activity where usename = 'clerk' and state <> 'idle'") == '0', 60,
               'backends of a daemon that was killed end')


def both_or_neither(cluster, when):
    paid = set(cluster.psql('select key from shop.payment').split())
    done_ = set(cluster.psql("select key from effect.ledger where state = 'done'").split())
    open_ = cluster.psql("select count(*) from effect.ledger where state <> 'done'")
    return [f'{when}: {key} is {"paid and not recorded" if key in paid else "recorded and not paid"}' for key in paid ^ done_] + \
        ([f'{when}: {open_} effects are open'] if open_ != '0' else [])


def crash(cluster, daemon, victim):
    """Everything that is to die has died; what is there then."""
    if victim == 'daemon':
        daemon.wait(60)
    else:
        wait_until(lambda: state_of(daemon.process.pid) == 'T', 60, 'the point is reached')
        cluster.kill()
        if victim == 'both':
            daemon.kill()
        cluster.start()
    at_rest(cluster)
    problems = both_or_neither(cluster, f'after the crash of {victim}')
    daemon.env = {}
    if victim == 'database':
        daemon.signal(signal.SIGCONT)
    else:
        daemon.start()
    return problems


def state_of(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as stat:
        return stat.read().rsplit(')', 1)[1].split()[0]


def ended(cluster, callers, keys):
    """What is wrong when everybody was told."""
    problems = [f'{c.key} was answered {c.failed}' for c in callers if c.failed] + [f'nobody answered {c.key}' for c in callers if not c.told and not c.failed]
    rows = {}
    for row in cluster.rows('select key, id from shop.payment'):
        rows.setdefault(row['key'], []).append(row['id'])
    results = {row['key']: json.loads(row['result'])['payment'] for row in cluster.rows("select key, result from effect.ledger where state = 'done'")}
    for key in keys:
        if len(rows.get(key, [])) != 1:
            problems.append(f'{key} is paid {len(rows.get(key, []))} times')
        elif results.get(key) != rows[key][0]:
            problems.append(f'{key} is recorded as {results.get(key)}, and paid as {rows[key][0]}')
        problems += [f'{key} was told {c.told["result"]}' for c in callers if c.key == key and c.told and c.told['result'] != {'payment': results.get(key)}]
        if sum(c.told['decision'] == 'ran' for c in callers if c.key == key and c.told) > 1:
            problems.append(f'{key} was told ran twice')
    return problems + both_or_neither(cluster, 'in the end') + [f'invariant {row}' for row in cluster.invariants()]


def one_round(cluster, daemon, number, source):
    point, victim = source.choice(list(POINTS)), source.choice(VICTIMS)
    hit = source.randint(1, POINTS[point])
    keys = [f'{number}-{n}' for n in range(N_KEYS)]
    cluster.psql('truncate effect.ledger, effect.event, shop.payment')
    daemon.env = {'EFFECTD_FAULT': f'{point}:{CRASHES[victim]}:{hit}'}
    daemon.start(wait=False)
    callers = [Caller(daemon, key, source) for key in keys + source.sample(keys, N_CALLERS - N_KEYS)]
    problems = crash(cluster, daemon, victim)
    for caller in callers:
        caller.join(120 * SLOW)
    problems += ended(cluster, callers, keys)
    if daemon.stop(60) != 0:
        problems.append(f'the daemon ended with status {daemon.last_status}')
    return not problems, f'{victim} at {point}, hit {hit}', problems


def lost_answer(cluster, daemon):
    """The COMMIT is answered and the answer is lost, again and again: what is told is ran, once."""
    daemon.env = {'EFFECTD_FAULT': ','.join(f'execute.committed:fail:{n}' for n in range(1, 9))}
    daemon.start().ready()
    with daemon.connect() as conn:
        told = [conn.call('execute', tool='pay', key=f'lost-{n}', args={'sleep': 0}) for n in range(8)]
    is_([t['decision'] for t in told], ['ran'] * 8, 'a COMMIT whose answer is lost is found by its row')
    is_([t['result']['payment'] for t in told], [int(cluster.psql(f"select id from shop.payment where key = 'lost-{n}'")) for n in range(8)],
        'and told with its own result')
    daemon.stop()
    daemon.env = {}


def main():
    source = random.Random(seed())
    with Cluster() as cluster, Daemon(cluster, tools=[TOOL], config={'request_timeout': '3s', 'log_calls': False}) as daemon:
        daemon.ready()
        cluster.psql(SETUP)
        daemon.stop()
        lost_answer(cluster, daemon)
        n_bad = 0
        for number in range(N_ROUNDS):
            good, what, problems = one_round(cluster, daemon, number, source)
            n_bad += not good
            if number % 50 == 49:
                note(f'{number + 1} rounds, {n_bad} of them bad')
            if N_ROUNDS < 50 or not good:
                ok(good, f'round {number}: {what}', '\n'.join(problem[:400] for problem in problems[:5]))
            if not daemon.process and n_bad > 10:
                break
        is_(n_bad, 0, f'{N_ROUNDS} crashes: the business row and the done row are both there, or neither')
    done()


main()
