#!/usr/bin/python3
"""Agent frameworks with a guard around their tools, and without: a LangGraph agent that is killed and resumed from its checkpoint in
PostgreSQL, wherever it stood; agents of the Vercel AI SDK and the OpenAI Agents SDK whose models call again what timed out.
The agents are those of client/examples. The provider's own book is the judge."""
import json
import os
import random
import subprocess
import urllib.request

from harness import *
from world import Session

EXAMPLES = os.path.join(SRC, 'client/examples')
BIN = os.path.join(EXAMPLES, 'node_modules/.bin')
INSTALL_S = 600
LEASE_MS = int(2000 * SLOW)
# of Node: neither the sanitizers' settings nor anybody's keys and traces
ENV = {name: value for name, value in os.environ.items() if not name.startswith(('OPENAI_', 'LANG', 'NODE_', 'EFFECTD_'))}


def node(*args, env, stdout=subprocess.PIPE):
    return subprocess.Popen([os.path.join(BIN, 'node'), *args], cwd=EXAMPLES, env={**ENV, **env}, stdin=subprocess.DEVNULL,
                            stdout=stdout, stderr=subprocess.STDOUT, text=True)


class Provider:
    """provider.mjs, and its book."""

    def __init__(self):
        self.path = os.path.join(folder(), 'book')
        self.process = node('provider.mjs', '0', self.path, env={})
        self.url = self.process.stdout.readline().strip()

    def book(self, order):
        """What it did for one order: [(kind, id)]."""
        if not os.path.exists(self.path):
            return []
        with open(self.path, encoding='utf-8') as f:
            entries = [json.loads(line) for line in f if line.endswith('\n')]
        return [(entry['kind'], entry['id']) for entry in entries if entry['order_id'] == order]

    def ask(self, method, path, body=None):
        request = urllib.request.Request(f'{self.url}/{path}', method=method, data=body and json.dumps(body).encode())
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30 * SLOW) as answer:
            return json.load(answer)

    def network(self, **how):
        self.ask('PUT', 'network', how or {'well': True})

    def n_held(self):
        return self.ask('GET', 'network')['n_held']


class World:
    """A provider, a ledger that asks it, and agents."""

    def __init__(self, cluster):
        self.cluster, self.provider, self.order = cluster, Provider(), 1000
        self.daemon = Daemon(cluster, config={'sweep_interval': '100ms'}, tools=self.policies()).ready()
        self.env = {'EFFECTD_SOCKET': self.daemon.socket, 'PROVIDER_URL': self.provider.url, 'PATIENCE_MS': '60000',
                    'DATABASE_URL': f'postgresql://postgres@/effectd?host={cluster.dir}'}

    def policies(self):
        """Those of the examples, at our provider, and quicker."""
        with open(os.path.join(EXAMPLES, 'tools.json'), encoding='utf-8') as f:
            policies = json.loads(f.read().replace('http://127.0.0.1:4042', self.provider.url))
        quicker = {'lease': f'{LEASE_MS}ms', 'settle': '200ms', 'probe_backoff': ['200ms'], 'max_attempts': 10}
        return [{**policy, **quicker} for policy in policies]

    def new_order(self):
        self.order += 1
        return self.order

    def agent(self, framework, order, run=None, **env):
        """Starts one; it goes on where an agent with the same run was killed."""
        return node(f'{framework}/agent.mjs', run or f'run-{order}', f'Refund order {order}', env={**self.env, **env})

    def kinds(self, order):
        return [kind for kind, _ in self.provider.book(order)]


def finish(agent):
    """Waits for its end: (exit status, the lines that it said)."""
    said, _ = agent.communicate(timeout=120 * SLOW)
    note(said)
    return agent.returncode, said.splitlines()


# ---- killed and resumed --------------------------------------------------------------------------------------------

def grown(world, order, agent):
    """Waits until the book has more about the order, or the agent has ended: whether it has."""
    before = len(world.provider.book(order))
    return lambda: len(world.provider.book(order)) > before or agent.poll() is not None


def before_the_effect(world, order, agent):
    """The call is on its way, and is never carried out."""
    world.provider.network(requests='held')
    wait_until(lambda: world.provider.n_held() or agent.poll() is not None, 60, 'a request is held')
    agent.kill()
    agent.wait()
    world.provider.network()


def before_the_record(world, order, agent):
    """The provider has done it, and its reply does not come."""
    world.provider.network(replies='held')
    wait_until(grown(world, order, agent), 60, 'the book grows')
    agent.kill()
    agent.wait()
    world.provider.network()


def before_the_checkpoint(world, order, agent):
    """The reply came and was recorded, and the checkpoint cannot be written."""
    world.provider.network(replies='held')
    wait_until(grown(world, order, agent), 60, 'the book grows')
    lock = Session(world.cluster)
    lock.do('begin', 'lock table checkpoints, checkpoint_writes in exclusive mode')
    world.provider.network()
    waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
    wait_until(lambda: world.cluster.psql(waiting) != '0' or agent.poll() is not None, 60, 'a checkpoint waits')
    agent.kill()
    agent.wait()
    # what it had sent must not be written now
    lock.do("select pg_terminate_backend(pid, 10000) from pg_stat_activity where wait_event_type = 'Lock'", 'rollback')
    lock.close()


def at_any_moment(world, order, agent):
    """Wherever it stands after a time that chance draws."""
    try:
        agent.wait(random.uniform(0.2, 1.5) * SLOW)
    except subprocess.TimeoutExpired:
        agent.kill()
        agent.wait()


def life(world, moments, **env):
    """An agent is killed at each of these moments in turn and resumed; then it comes to its end. (order, what the last one said)"""
    order = world.new_order()
    for moment in moments:
        moment(world, order, world.agent('langgraph', order, **env))
    status, said = finish(world.agent('langgraph', order, **env))
    is_(status, 0, f'killed {", ".join(moment.__name__ for moment in moments)}: the next one comes to the end')
    return order, said


def killed_and_resumed(world):
    for moment in (before_the_record, before_the_checkpoint):
        order, _ = life(world, [moment], GUARD='off')
        is_(world.kinds(order), ['refunds', 'refunds', 'mails'], f'without the guard, killed {moment.__name__}: two refunds')
    fixed = [[before_the_effect], [before_the_record], [before_the_checkpoint]]
    moments = [moment for (moment,) in fixed] + [at_any_moment]
    chance = [random.choices(moments, k=random.randint(2, 4)) for _ in range(rounds_of(1, 60))]
    for lives in fixed + chance:
        # without `sync` it may be the model's answer, too, that was not kept: it is asked again, with another call id in other words
        order, said = life(world, lives, DURABILITY=random.choice(('sync', 'async')) if lives in chance else 'sync')
        book = world.provider.book(order)
        is_([kind for kind, _ in book], ['refunds', 'mails'], 'with it: one refund, one mail')
        ok(said and book and book[-1][1] in said[-1], 'and the last one has what was recorded', said)


# ---- timed out and called again -------------------------------------------------------------------------------------

def called_again(world, framework, **times):
    """A reply is lost, and somebody's patience ends: the tool's own, or the framework's."""
    order = world.new_order()
    world.provider.network(replies='lost', times=1)
    status, _ = finish(world.agent(framework, order, GUARD='off', **times))
    is_((status, world.kinds(order)), (0, ['refunds', 'refunds']), f'{framework} without the guard: two refunds')

    order = world.new_order()
    world.provider.network(replies='lost', times=1)
    status, said = finish(world.agent(framework, order, WAIT_MS=str(int(20000 * SLOW)), **times))
    (book,) = world.provider.book(order) or [('nothing', '')]
    is_((status, world.kinds(order)), (0, ['refunds']), f'{framework} with it: one refund')
    ok(len(said) >= 3 and book[1] in said[-1], 'its model called again, and has the recorded result', said)


def looked_up(world, framework):
    """As before, and the provider cannot be asked: the model is told so, and looks instead of calling again."""
    order = world.new_order()
    world.provider.network(replies='lost', times=1, look_ups='refused')
    _, said = finish(world.agent(framework, order, PATIENCE_MS='300', WAIT_MS='0'))
    told = [line for line in said if line.startswith('refund_item: ')]
    like(told[-1] if told else '', 'do not run the tool', f'{framework}: the model reads the advice')
    ok(any(line.startswith('effect_lookup: ') and '"state":"unknown"' in line for line in said), 'and looks it up', said)
    is_(len(told), 2, 'it did not call a third time')
    world.provider.network()
    _, said = finish(world.agent(framework, order, run=f'run-{order}-later'))
    (book,) = world.provider.book(order) or [('nothing', '')]
    is_(world.kinds(order), ['refunds'], 'asked another day, in another run: one refund')
    ok(said and book[1] in said[-1], 'and the recorded result', said)


def story_comes_true(world):
    """What `npm run` plays, as a reader sees it."""
    env = {**world.env, 'PATIENCE_MS': str(int(500 * SLOW)), 'PATH': f'{BIN}:{ENV["PATH"]}'}
    story = subprocess.run([os.path.join(BIN, 'node'), 'story.mjs', random.choice(('ai-sdk', 'openai-agents', 'langgraph'))], cwd=EXAMPLES,
                           env={**ENV, **env}, capture_output=True, text=True, timeout=120 * SLOW, check=False)
    is_(story.returncode, 0, 'a story comes true') or note(story.stdout + story.stderr)
    like(story.stdout, r'(?m)^    ok +order \d+ was refunded twice', 'twice without the guard')
    like(story.stdout, r'(?m)^    ok +order \d+ was refunded once', 'once with it')


def main():
    installed = subprocess.run([os.path.join(EXAMPLES, 'install')], env=ENV, capture_output=True, text=True,
                               timeout=INSTALL_S, check=False)
    if not is_(installed.returncode, 0, 'the packages of the examples are there'):
        bail_out(installed.stdout + installed.stderr)
    seed()
    with Cluster() as cluster:
        world = World(cluster)
        with world.daemon:
            killed_and_resumed(world)
            for framework in ('ai-sdk', 'openai-agents'):
                called_again(world, framework, PATIENCE_MS=str(int(500 * SLOW)))
                called_again(world, framework, TOOL_MS=str(int(800 * SLOW)))
                looked_up(world, framework)
            story_comes_true(world)
            is_(cluster.invariants(), [], 'no invariant is hurt')
        world.provider.process.kill()
    done()


main()
