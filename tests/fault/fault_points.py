#!/usr/bin/python3
"""Each fault point of daemon/fault.def, where a crash changes the meaning of what was done: there the process is killed, stopped
for 3 s, or made to exit, under the load of several clients. Each time the checker finds nothing, the invariants hold, and
everything that was open ends. The installation of the schema: in an empty database, by a daemon, and beneath one that works."""
import os
import random
import re
import select
import signal
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *  # noqa: E402
from talk import Script, pids_of  # noqa: E402
from world import Counter, Provider, Wire, World, check, effect_of, request_id as new_request  # noqa: E402

ACTIONS = {'kill': -signal.SIGKILL, 'stop': None, 'exit': 1}  # and the status of a process that ended so
STOP_S = 3
# at which hit at most, so that each is soon reached: requests and answers come by the hundred, the others one by one
LOAD = {'notice.started': 2, 'notice.ended': 2, 'sweep.taken': 6, 'flush.frozen': 1, 'flush.acknowledged': 1, 'demand.taken': 1,
        'probe.started': 12, 'probe.ended': 12, 'batch.send': 120, 'batch.sent': 120, 'pgconn.rows': 120, 'batch.answered': 120, 'client.send': 120, 'client.half': 120, 'client.sent': 120}
SCHEMA = {'schema.step': 50, 'schema.commit': 1, 'schema.committed': 1}
N_SEEDS = rounds_of(1, 10)
N_LANES = rounds_of(3, 5)
N_CLIENTS = 8


class PointWorld(World):
    """Keys of its own, and one client more, whose tool has no probe: its effects are escalated, and somebody is told."""

    def __init__(self, name, socket_path, provider):
        super().__init__(socket_path, provider, name, N_CLIENTS)
        self.name = name
        self.asker = threading.Thread(target=self.ask_people, daemon=True)
        self.asker_ended = False

    def next_key(self, source):
        return f'{self.name} {super().next_key(source)}'

    def start(self):
        super().start()
        self.asker.start()

    def stop(self, deadline_s=60):
        super().stop(deadline_s)
        self.asker.join(deadline_s * SLOW)
        if not self.asker_ended:
            raise TimeoutError('the client of the tool without a probe did not end')

    def ask_people(self):
        wire = Wire(self.socket, 'asker', self.log, Counter())
        source = random.Random(f'{self.name} asker')

        def told(method, params):
            while True:
                answer, _ = wire.ask(method, params)
                if answer and answer.get('error', {}).get('data', {}).get('name') != 'unavailable':
                    return answer
                threading.Event().wait(0.02)

        for number in range(6):
            answer = told('begin', {'tool': 'asks', 'key': f'{self.name} {number}', 'request': new_request(source)})['result']
            if answer['decision'] == 'run':
                told('unknown', {'effect': answer['effect'], 'token': answer['token']})
            if self.stopping.wait(0.1):
                break
        wire.close()
        self.asker_ended = True


def conninfo_of(cluster, database):
    return cluster.conninfo(database=database)


class Lane:
    """A daemon on a database of its own, a provider, and the cases that it goes through one by one."""

    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number
        self.database = f'lane{number}'
        cluster.psql(f'create database {self.database}', database='postgres')
        self.provider = Provider()
        self.notices = Script('exit 0')
        # a probe whose daemon was killed is missed once its time is over; one that takes longer knows nothing, and that is all
        policy = self.provider.policy(lease='1s', settle='200ms', probe_backoff=['100ms'], probe_timeout='1s')
        asks = {'name': 'asks', 'class': 'irreversible', 'lease': '1s', 'escalate_after': '100ms'}
        self.config = ('log_calls = false\nsweep_interval = "100ms"\nrequest_timeout = "2s"\n'
                       f'notify {{ exec = {{"{self.notices.path}"}} }}\n')
        self.daemon = Daemon(conninfo_of(cluster, self.database), tools=[policy, asks], start=False, config=self.config)
        self.escalated = set()
        self.world = None

    def invariants(self, database=None):
        return self.cluster.rows('select * from effect.check_invariants()', database=database or self.database)

    def start_world(self, name):
        self.world = PointWorld(name, self.daemon.socket, self.provider)
        self.world.start()
        return self.world

    def give_up(self):
        """A case that did not come to its end leaves nothing to the next one."""
        self.daemon.env = {}
        self.daemon.kill()
        if self.world:
            self.world.stopping.set()
            self.daemon.start()
            self.world.stop()
        self.daemon.kill()
        self.daemon.configure(self.config)

    def end_world(self, world, n_more=60):
        """What is wrong after all of it, in sentences."""
        world.answered_more(n_more)
        world.stop()
        states = world.settle()
        world.read_back()
        # one of which nobody had been told was given back
        asked = {effect_of(e) for e in world.log.entries if effect_of(e) and e['params'].get('tool') == 'asks'}
        with self.daemon.connect() as conn:
            self.escalated |= {effect for effect in asked if conn.call('get', effect=effect)['state'] == 'escalated'}
        problems = check(world.log.entries, self.provider.book())
        problems += [f'an effect ended {state}' for state in states if state not in ('done', 'released', 'escalated')]
        problems += [f'invariant {row}' for row in self.invariants()]
        n_open = self.cluster.psql("select count(*) from effect.ledger where state in ('pending', 'unknown')", database=self.database)
        if n_open != '0':
            problems.append(f'{n_open} effects are open')
        if not any(e['what'] == 'performed' for e in world.log.entries):
            problems.append('nothing was performed')
        status = self.daemon.stop()
        if status != 0:
            problems.append(f'the daemon ended with status {status}')
        return problems

    # ---- a fault of the daemon under load

    def load_case(self, name, point, action, hit):
        self.daemon.env = {'EFFECTD_FAULT': f'{point}:{action}:{hit}'}
        self.daemon.start(wait=False)
        world = self.start_world(name)
        problems = trip(self.daemon.process, action, f'{point} is reached')
        self.daemon.env = {}
        if action == 'stop':
            hold()
            self.daemon.signal(signal.SIGCONT)
        else:
            self.daemon.wait()
            self.daemon.start(wait=False)
        return problems + self.end_world(world)

    # ---- a fault of an installation

    def install_case(self, name, point, action, hit):
        """By effectctl, in an empty database."""
        database = self.new_database(name)
        problems, after = self.migrate(database, point, action, hit)
        there = self.cluster.psql("select count(*) from pg_class c join pg_namespace n on n.oid = relnamespace where nspname = 'effect'",
                                  database=database) != '0' if after is None else None
        if after is None and there != (point == 'schema.committed'):
            problems.append(f'a schema is there: {there}')
        return problems + self.installed(database, drop=True)

    def daemon_case(self, name, point, action, hit):
        """By a daemon, in its child; the daemon is killed meanwhile, the next one takes over."""
        database = self.new_database(name)
        daemon = Daemon(conninfo_of(self.cluster, database), env={'EFFECTD_FAULT': f'{point}:{action}:{hit}'})
        problems = []
        if action == 'stop':
            child = wait_until(lambda: [pid for pid, state in pids_of(daemon.process.pid).items() if state == 'T'], 30,
                               f'{point} is reached')[0]
        else:
            daemon.wait_log('the schema could not be installed: the child process ended without a word', 30)
        daemon.kill()
        daemon.env = {}
        daemon.start()
        if action == 'stop':
            hold()
            os.kill(child, signal.SIGCONT)
        daemon.ready()
        with daemon.connect() as conn:
            run = conn.call('begin', tool='t', key='k')
            state = conn.call('complete', effect=run['effect'], token=run['token'], result=1)['state']
        if state != 'done':
            problems.append(f'an effect is {state}')
        if daemon.stop() != 0:
            problems.append(f'the daemon ended with status {daemon.last_status}')
        return problems + self.installed(database, drop=True)

    def upgrade_case(self, name, point, action, hit):
        """By effectctl, beneath a daemon that works: the functions are made anew."""
        self.installed(self.database)
        # a daemon that sees to it itself would leave nothing to do
        self.daemon.configure('auto_migrate = false\n' + self.config)
        self.daemon.start().ready()
        self.daemon.configure(self.config)
        world = self.start_world(name)
        world.answered_more(30)
        self.cluster.psql("update effect.schema_version set functions = 'of another build'", database=self.database)
        problems, _ = self.migrate(self.database, point, action, hit)
        return problems + self.installed(self.database) + self.end_world(world)

    def new_database(self, name):
        database = re.sub(r'\W', '_', name)
        self.cluster.psql(f'create database {database}', database='postgres')
        return database

    def migrate(self, database, point, action, hit):
        """(problems, status): effectctl db migrate with a fault in it, while a second one waits; status None where it had none."""
        argv = [program('effectctl'), 'db', 'migrate', '--database', conninfo_of(self.cluster, database)]
        migrate = subprocess.Popen(argv, env=dict(os.environ, EFFECTD_FAULT=f'{point}:{action}:{hit}'), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        problems = trip(migrate, action, f'{point} is reached')
        if action != 'stop':
            migrate.wait()
            return problems, None
        rival = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        hold()
        migrate.send_signal(signal.SIGCONT)
        for who, process in (('it', migrate), ('its rival', rival)):
            wait_until(lambda: process.poll() is not None, 60, f'{who} ended')
            if process.returncode != 0:
                problems.append(f'{who} ended with status {process.returncode}')
        return problems, 0

    def installed(self, database, drop=False):
        """It is done again, and whole then. What is wrong."""
        problems = []
        for what in ('migrate', 'check'):
            result = ctl('db', what, '--database', conninfo_of(self.cluster, database))
            if result.returncode:
                problems.append(f'db {what}: {result.returncode}, {result.stdout}{result.stderr}')
        problems += [f'invariant {row}' for row in self.invariants(database)]
        if drop:
            self.cluster.psql(f'drop database {database} with (force)', database='postgres')
        return problems


def trip(process, action, what):
    """Waits until the fault has struck this process; what is wrong with how."""
    if action == 'stop':
        wait_until(lambda: stopped(process.pid) or process.poll() is not None, 60, what)
        return [] if process.returncode is None else [f'it ended with status {process.returncode}']
    wait_until(lambda: process.poll() is not None, 60, what)
    return [] if process.returncode == ACTIONS[action] else [f'it ended with status {process.returncode}']


def stopped(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as stat:
        return stat.read().rsplit(')', 1)[1].split()[0] == 'T'


def hold():
    """The 3 s of a stop are the case itself."""
    until = time.monotonic() + STOP_S
    while time.monotonic() < until:
        select.select([], [], [], until - time.monotonic())


def all_cases(the_seed):
    """[(name, way, point, action, hit)], those first whose end is longest in coming."""
    cases = []
    for number in range(N_SEEDS):
        source = random.Random(f'{the_seed} {number}')
        for way, points in (('load', LOAD), ('upgrade', SCHEMA), ('daemon', SCHEMA), ('install', SCHEMA)):
            for point, hit_max in points.items():
                for action in ACTIONS:
                    # under load, not while the daemon tells the ledger its policies: nothing was asked yet then
                    hit = source.randint(min(5, hit_max) if way == 'load' and hit_max > 50 else 1, hit_max)
                    cases.append((f'{way} {point} {action} {number}', way, point, action, hit))
    return cases


def work(lane, cases, lock, results):
    while True:
        with lock:
            if not cases:
                return
            index, (name, way, point, action, hit) = cases.pop(0)
        started = time.monotonic()
        try:
            problems = getattr(lane, f'{way}_case')(name, point, action, hit)
        except Exception:  # pylint: disable=broad-except
            problems = [traceback.format_exc()] + lane.daemon.log()[-20:]
            try:
                lane.give_up()
            except Exception:  # pylint: disable=broad-except
                problems.append(traceback.format_exc())
        with lock:
            results[index] = problems
            ok(not problems, f'{name}, at hit {hit}, {time.monotonic() - started:.1f} s', '\n'.join(str(p) for p in problems[:20]))


def told_in_the_end(lane):
    """What was escalated is told, whatever became of the daemon and of the notifier: the ledger hands a notice out again."""
    def untold():
        # one that lost its daemon right at its start was told nothing
        with open(os.path.join(lane.notices.dir, 'asked'), encoding='utf-8') as asked:
            return lane.escalated - set(re.findall(r'"effect":"([0-9a-f-]{36})"', asked.read()))
    try:
        wait_until(lambda: not untold(), 150, 'each notice was taken')  # a claim of a notice stands for two minutes
    except TimeoutError:
        pass
    is_(untold(), set(), f'lane {lane.number}: each of {len(lane.escalated)} escalated effects was told to the notifier')
    lane.daemon.stop()


base_seed = seed()
with Cluster({'jit': 'off'}) as the_cluster:
    the_lanes = [Lane(the_cluster, number) for number in range(N_LANES)]
    the_cases, the_results = list(enumerate(all_cases(base_seed))), {}
    n_cases, the_lock = len(the_cases), threading.Lock()
    the_threads = [threading.Thread(target=work, args=(lane, the_cases, the_lock, the_results), daemon=True) for lane in the_lanes]
    for thread in the_threads:
        thread.start()
    for thread in the_threads:
        thread.join()
    is_(len(the_results), n_cases, 'each point was struck by each action, in each way')
    for the_lane in the_lanes:
        the_lane.daemon.start()
    for the_lane in the_lanes:
        told_in_the_end(the_lane)
done()
