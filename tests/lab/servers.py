"""The processes around the agents: the provider, PostgreSQL and effectd with the policy of the lab, and chaos, which kills them.

PostgreSQL and effectd are those of the integration tests (tests/integration/harness.py). Whoever starts something here ends it.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))

__all__ = ['Chaos', 'Guard', 'ProviderProcess', 'policy']

KILL_EVERY_S = (2.0, 5.0)           # effectd
LOOK_EVERY_S = 0.05
RESTART_PG_AT = (0.25, 0.6)         # of the actions have ended: then PostgreSQL is stopped hard and started


class ProviderProcess:
    """provider.py, in a folder of its own."""

    def __init__(self, seed, lag_s=0.0, memory_s=0.0, look_up_faults=0.0):
        self.dir = tempfile.mkdtemp(prefix='effectd-lab-', dir='/tmp')
        self.socket = os.path.join(self.dir, 'provider.sock')
        options = {'dir': self.dir, 'seed': seed, 'lag_s': lag_s, 'memory_s': memory_s, 'look_up_faults': look_up_faults}
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'provider.py')
        self.process = subprocess.Popen([program, json.dumps(options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = json.loads(self.process.stdout.readline())['port']

    def lines(self, name):
        """The objects of one of its files: book, repeats."""
        with open(os.path.join(self.dir, name), encoding='utf-8') as lines:
            return [json.loads(line) for line in lines if line.endswith('\n')]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def policy(setting, clock, port, **more):
    """The tool of the lab. The business says what is one payment; the memo makes no difference."""
    return {
        'name': 'pay', 'class': 'irreversible', 'key': 'pay:{/order}', 'ignore': ['/memo'], 'keep': ['/order'],
        'lease': clock.policy(setting.lease_ms, 1000), 'max_attempts': 1000,
        'settle': clock.policy(setting.settle_ms), 'absent_needed': 2, 'probe_timeout': clock.policy(setting.probe_timeout_ms),
        'probe_backoff': [clock.policy(ms) for ms in setting.probe_backoff_ms], 'escalate_after': clock.policy(setting.escalate_ms),
        'probe': {'http': {'url': f'http://127.0.0.1:{port}/payments?reference={{provider_key}}',
                           'landed': {'status': 200, 'body': {'/status': 'succeeded', '/reference': '{provider_key}'}},
                           'absent': {'status': 404, 'body': {'/error': 'no_such_payment', '/reference': '{provider_key}'}},
                           'result': '/receipt'}}, **more}


class Guard:
    """PostgreSQL and effectd."""

    def __init__(self, setting, clock, port):
        from harness import Cluster, Daemon
        sys.excepthook = sys.__excepthook__  # the harness's speaks TAP
        self.cluster = Cluster({'max_connections': '50'})
        config = {'log_calls': False, 'sweep_interval': clock.policy(1000, 20)}
        self.daemon = Daemon(self.cluster, config=config, tools=policy(setting, clock, port)).ready()

    def n_open(self):
        """Rows whose outcome a sweep has yet to end."""
        return int(self.cluster.psql("select count(*) from effect.ledger where state in ('pending', 'unknown')"))

    def states(self):
        """{order: state}, as the ledger has it."""
        return {row['key'].removeprefix('pay:'): row['state'] for row in self.cluster.rows('select key, state from effect.ledger')}

    def bytes_per_row(self):
        rows = self.cluster.rows("select pg_total_relation_size('effect.ledger') as bytes, count(*) as n from effect.ledger")
        return rows[0]['bytes'] / max(1, rows[0]['n'])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.daemon.kill()
        self.cluster.immediate()


class Chaos(threading.Thread):
    """Kills effectd every few seconds, and PostgreSQL twice on the way; starts them again at once."""

    def __init__(self, guard, seed, share_ended):
        super().__init__(daemon=True)
        self.guard, self.share_ended = guard, share_ended
        self.chance = random.Random(f'{seed} chaos')
        self.over = threading.Event()
        self.n_kills = self.n_restarts = 0
        self.failure = None

    def run(self):
        try:
            kill_at = time.monotonic() + self.chance.uniform(*KILL_EVERY_S)
            while not self.over.wait(LOOK_EVERY_S):
                if time.monotonic() >= kill_at:
                    self.guard.daemon.kill()
                    self.guard.daemon.start()
                    self.n_kills += 1
                    kill_at = time.monotonic() + self.chance.uniform(*KILL_EVERY_S)
                if self.n_restarts < len(RESTART_PG_AT) and self.share_ended() >= RESTART_PG_AT[self.n_restarts]:
                    self.guard.cluster.immediate()
                    self.guard.cluster.start()
                    self.n_restarts += 1
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure

    def stop(self):
        self.over.set()
        self.join()
        if self.failure:
            raise self.failure
