#!/usr/bin/python3
"""Random lives of effects against a model of the table of states that knows nothing of the daemon: what each message is answered
with and what it leaves, whatever came before, alone and among a hundred others in one write. The ledger's clock stands still for it:
nothing here lapses by time, and nobody probes."""
import random

from harness import *
from talk import *

N_LIVES = rounds_of(600, 30000)
N_TOGETHER = 100
N_STEPS = 14
MAX_ATTEMPTS = 3
ON_ERROR = {'unknown': 'unknown', 'failed': 'failed', 'released': 'released', 'again': 'unknown', 'again_released': 'released'}
TOOLS = [{'name': name, 'on_error': on_error, 'max_attempts': MAX_ATTEMPTS, 'lease': '1h', 'escalate_after': '1d',
          **({'on_unknown': 'retry', 'retry_window': '1d'} if 'again' in name else {})} for name, on_error in ON_ERROR.items()]
RESULTS = [1, 'x', None, {'a': [1.5]}, 'x' * 300]
NOBODY = '00000000-0000-4000-8000-000000000000'


class Effect:
    """One effect as the table of sql/transitions.tsv has it. Each verb returns what the daemon must answer, and moves on."""

    def __init__(self, tool, key):
        self.tool, self.key, self.retries = tool, key, 'again' in tool
        self.effect = None
        self.state, self.attempt, self.extra = 'none', 0, 0
        self.token, self.earlier = None, []
        self.args = self.outcome = self.result = self.by = None
        self.evidence = None  # [result] of an earlier attempt that landed
        self.lost = False
        # of a tool that retries: an earlier attempt is open beneath the newest; the newest reported failed meanwhile; who was let go
        self.open = self.reported = False
        self.given_back = set()
        self.resolved = []  # (verdict, attempt, state) carried out in this attempt

    def refuse(self, name):
        return {'name': name, 'state': self.state, 'attempt': self.attempt}

    def done(self, outcome, result, by):
        self.state, self.outcome, self.result, self.by = 'done', outcome, result, by
        self.open = self.reported = False

    def begin(self, args):
        if self.state != 'none' and args != self.args:
            return {'decision': 'mismatch', 'state': self.state}
        if self.state == 'done':
            return {'decision': 'replay', 'outcome': self.outcome, 'result': self.result, 'by': self.by, 'attempt': self.attempt}
        spent = self.attempt >= MAX_ATTEMPTS + self.extra
        retried = self.retries and self.state == 'unknown' and not self.reported and not spent
        if self.state in ('pending', 'unknown', 'escalated') and not retried:
            return {'decision': {'pending': 'busy'}.get(self.state, self.state), 'attempt': self.attempt}
        if spent:
            return {'decision': 'exhausted', 'budget': 'key', 'max': MAX_ATTEMPTS + self.extra}
        self.state, self.args, self.attempt = 'pending', args, self.attempt + 1
        self.resolved = []
        self.open = retried
        return {'decision': 'run', 'attempt': self.attempt, 'on_error': ON_ERROR[self.tool]}

    def granted(self, answer):
        if self.token:
            self.earlier.append(self.token)
        self.token, self.effect = answer['token'], answer['effect']

    def complete(self, who, outcome, result):
        if who == 'other':
            return self.refuse('not_owner')
        if outcome == 'error':
            if self.tool != 'failed':
                return self.release(who) if ON_ERROR[self.tool] == 'released' else self.unknown(who)
            outcome = 'failed'
        if who == 'earlier' and not (self.retries and outcome == 'succeeded'):
            if outcome == 'succeeded' and self.state != 'done':
                self.evidence = self.evidence or [result]
                self.state = 'escalated'
            return self.refuse('conflict')
        if self.state == 'done':
            if self.outcome == outcome and (self.result == result or self.by != 'caller'):
                return {'state': 'done', 'outcome': outcome, 'already': True}
            return self.refuse('conflict')
        if self.evidence and outcome == 'failed':
            self.done('succeeded', self.evidence[0], 'caller')
            return self.refuse('conflict')
        if self.open and outcome == 'failed':
            already, self.reported = self.reported, True
            self.state, self.lost = 'unknown', False
            return {'state': 'unknown', 'outcome': 'failed', 'already': already}
        self.done(outcome, result, 'caller')
        return {'state': 'done', 'outcome': outcome, 'already': False}

    def release(self, who):
        if who != 'last':
            return self.refuse('not_owner')
        if self.open and (self.state == 'pending' or (self.state == 'unknown' and self.lost)):
            already = self.attempt in self.given_back
            self.given_back.add(self.attempt)
            self.state, self.lost = 'unknown', True
            return {'state': 'unknown', 'already': already}
        if self.state == 'pending' or (self.state == 'unknown' and self.lost):
            self.state = 'released'
            return {'state': 'released', 'already': False}
        if self.state == 'released':
            return {'state': 'released', 'already': True}
        if self.state == 'escalated' and self.evidence:
            self.done('succeeded', self.evidence[0], 'caller')
        return self.refuse('conflict')

    def unknown(self, who):
        if who != 'last':
            return self.refuse('not_owner')
        if self.state == 'pending':
            self.state, self.lost = 'unknown', False
        return {'state': self.state, 'next_probe_at': None}

    def close(self):
        if self.state == 'pending':
            self.state, self.lost = 'unknown', True

    def extend(self, who):
        if who == 'last' and self.state == 'done':
            return {'state': 'done'}
        return {'state': 'pending'} if who == 'last' and self.state == 'pending' else self.refuse('not_owner')

    def resolve(self, verdict, attempt, state, result):
        if (verdict, attempt, state) in self.resolved and attempt == self.attempt and self.state in ('done', 'released'):
            return {'state': self.state}
        spent = self.attempt >= MAX_ATTEMPTS + self.extra
        if (attempt, state) != (self.attempt, self.state):
            return self.refuse('conflict')
        if verdict == 'absent' and (self.state in ('unknown', 'escalated') and not self.evidence or self.state == 'released' and spent):
            self.extra += spent
            self.state, self.open, self.reported = 'released', False, False
        elif (verdict != 'absent' and self.state in ('unknown', 'escalated')) or (
                verdict == 'landed' and (self.state == 'released' or self.state == 'done' and self.outcome == 'failed')):
            self.done('succeeded' if verdict == 'landed' else 'failed', result, 'operator')
        else:
            return self.refuse('conflict')
        self.resolved.append((verdict, attempt, state))
        return {'state': self.state}


class Life:
    """An effect of the model beside the daemon's, and what was done to it."""

    def __init__(self, number, daemon):
        self.model = Effect(random.choice(list(ON_ERROR)), f'life {number}')
        self.daemon = daemon
        self.bound = None  # the connection of the newest claim, if it is one of its own
        self.story = []

    def next_line(self, id_):
        """A message, and what must be answered; (None, None) if it was a close."""
        m = self.model
        if m.state == 'none' or random.random() < 0.3:
            args = {'n': 1} if random.random() < 0.85 else {'n': 2}
            want = m.begin(args)
            self.story.append(('begin', args, want))
            return Conn.line('begin', {'tool': m.tool, 'key': m.key, 'args': args}, id_), want
        if self.bound and random.random() < 0.3:
            self.bound.close()
            self.bound = None
            m.close()
            self.story.append('close')
            wait_until(lambda: self.daemon_state() == m.state, 20, f'closed: {self.story}')
            return None, None
        verb = random.choice(['complete', 'complete', 'release', 'release', 'unknown', 'unknown', 'extend', 'resolve'])
        result = random.choice(RESULTS)
        if verb == 'resolve':
            seen = (m.attempt, m.state) if random.random() < 0.8 else (random.randrange(1, 4), random.choice(['unknown', 'escalated', 'released', 'done']))
            verdict = random.choice(['landed', 'failed', 'absent', 'absent'])
            want = m.resolve(verdict, *seen, result)
            params = {'effect': m.effect, 'verdict': verdict, 'attempt': seen[0], 'state': seen[1], 'reason': 'r', 'result': result}
        else:
            who = random.choice(['last', 'last'] + ['earlier'] * bool(m.earlier) + ['other'] * (random.random() < 0.3))
            params = {'effect': m.effect, 'token': {'last': m.token, 'other': NOBODY}.get(who) or random.choice(m.earlier)}
            if verb == 'complete':
                params.update(outcome=random.choice(['succeeded', 'succeeded', 'failed', 'error']), result=result)
                want = m.complete(who, params['outcome'], result)
            else:
                want = getattr(m, verb)(who)
        self.story.append((verb, {k: v for k, v in params.items() if k != 'effect'}, want))
        return Conn.line(verb, params, id_), want

    def daemon_state(self):
        with self.daemon.connect() as conn:
            return state_of(conn, self.model.effect)

    def told(self, answer, want):
        """None, or what is wrong."""
        got = answer['result'] if 'result' in answer else answer['error']['data']
        if got.get('decision') == 'run':
            self.model.granted(got)
            self.bound = None
        return None if {name: got.get(name) for name in want} == want else (self.model.key, self.model.tool, self.story, got)


def bind_again(lives, daemon):
    """Some that would run next are begun on a connection of their own, which may close later."""
    for life in lives:
        m = life.model
        if (m.state in ('none', 'released') or (m.retries and m.state == 'unknown' and not m.reported)) and m.attempt < MAX_ATTEMPTS + m.extra and random.random() < 0.3:
            conn = daemon.connect()
            want = m.begin(m.args or {'n': 1})
            life.story.append(('begin, bound', want))
            wrong = life.told(conn.recv(conn.send('begin', tool=m.tool, key=m.key, args=m.args, bind=True)), want)
            life.bound = conn
            if wrong:
                yield wrong


def left(conn, life):
    """What get says of it at the end, against the model."""
    m = life.model
    row = conn.call('get', tool=m.tool, key=m.key, events=0)
    got = (row['state'], row['attempt'], row.get('outcome'), row.get('by'), row.get('result'))
    want = (m.state, m.attempt) + ((m.outcome, m.by, m.result) if m.state == 'done' else (None, None, None))
    return None if got == want else (m.key, m.tool, life.story, got, want)


def lives_together(daemon, conn, first):
    lives = [Life(first + n, daemon) for n in range(N_TOGETHER)]
    wrong = []
    for _ in range(N_STEPS):
        wrong += bind_again(lives, daemon)
        sent = [(at, life.next_line(at)) for at, life in enumerate(lives)]
        random.shuffle(sent)
        conn.send_raw(b''.join(line for _, (line, _) in sent if line))
        wrong += [w for at, (line, want) in sent if line and (w := lives[at].told(conn.recv(at), want))]
    wrong += [w for life in lives if (w := left(conn, life))]
    for life in lives:
        if life.bound:
            life.bound.close()
    return wrong, {life.model.state for life in lives}


seed()
with Cluster() as cluster, Daemon(cluster, config={'log_calls': False}, tools=TOOLS) as the_daemon, the_daemon.ready().connect() as the_conn:
    faults, states = [], set()
    for n_lives in range(0, N_LIVES, N_TOGETHER):
        some, seen = lives_together(the_daemon, the_conn, n_lives)
        faults += some
        states |= seen
    is_(faults[:2], [], f'{N_LIVES} lives of {N_STEPS} messages are answered as the model says, and end as it says')
    is_(states, {'pending', 'unknown', 'escalated', 'released', 'done'}, 'they end in every state')
    is_(cluster.invariants(), [], 'no invariant is broken')
done()
