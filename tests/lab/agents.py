"""The agents: workers that carry out actions, time out, retry, are asked again by the model, die and are resumed.

An action is one payment that a run means to make once, at one of its steps. Whoever carries it out makes tool calls: each has
a call id of its own, up to four attempts at the provider, and an end that the model is told: a receipt, or `unknown`. Then the
model calls again in some of the cases, with a new call id and another wording of the memo. Without a guard an attempt is a call
of the provider; with effectd it is a begin, and a call of the provider only where that answers `run`.

What is counted here is what was sent and what was told. Who was paid how often is the provider's word alone (books.py).
"""
import asyncio
import dataclasses
import datetime
import random
import time

from field import Weather
from wire import Ledger, Lines

__all__ = ['Agents', 'Tally']

IN_FLIGHT_MAX = 400       # actions under way at once; more of them wait their turn
ANSWER_S = 60             # an answer that is drawn to come in time comes, or the lab itself is broken
PATIENCE_MS = 3000        # a worker waits within begin, and before it asks again, whatever it was told
MEMOS = ('as agreed', 'as agreed by phone', 'refund, as agreed', 'the amount that was agreed upon', 'see the ticket')
DEATHS = ('asking', 'before', 'during', 'after', 'recorded')


class Died(Exception):
    """The worker's process is gone."""


class TooLate(Exception):
    """The grant is older than its lease: the call must not be made."""


class Escalated(Exception):
    """A person must decide: the run stops here."""


class Fault(Exception):
    """Something that the lab has no explanation for: effectd's fault, or its own."""


@dataclasses.dataclass
class Tally:
    """What was sent and told so far."""
    started: int = 0
    ended: int = 0
    attempts: int = 0      # calls sent to the provider
    asked: int = 0         # begins
    replays: int = 0       # begins, or calls, that were answered with what is recorded
    unknown_told: int = 0  # calls whose end the model was told as unknown
    escalated: int = 0
    deaths: int = 0
    given_up: int = 0      # actions whose model never learned the outcome
    too_late: int = 0      # grants that came too late to be used
    receipts: dict = dataclasses.field(default_factory=dict)   # order -> the receipts that its callers were told
    latencies: list = dataclasses.field(default_factory=list)  # seconds until each action ended, without the pauses before a resumed run


class Worker:
    """A process of the tool host: one way to the provider, one to effectd. Every other one binds its claims to its connection."""

    def __init__(self, agents, number):
        self.agents, self.name = agents, f'worker {number}'
        self.binds = number % 2 == 1
        self.provider = None
        self.ledger = Ledger(agents.socket, agents.clock) if agents.socket else None

    async def pay(self, payment, weather, until=None):
        """One call of the provider as this worker sees it: the receipt, or None where it does not know."""
        agents = self.agents
        await self.reach_provider()
        timeout_s = agents.clock.s(agents.setting.timeout_ms)
        if weather.request_lost:
            agents.tally.attempts += 1
            await asyncio.sleep(timeout_s)
            return None
        future = self.post(payment, weather, until)
        if not weather.in_time:
            await asyncio.sleep(timeout_s)
            future.cancel()
            return None
        answer = await asyncio.wait_for(future, ANSWER_S)
        agents.tally.replays += answer.get('replayed', False)
        return answer.get('receipt')

    async def reach_provider(self):
        if not self.provider or self.provider.transport.is_closing():
            self.provider = await Lines.open(self.agents.provider_path)

    def post(self, payment, weather, until=None):
        """Sends it, now: nothing may come between the look at the clock and this."""
        if until and time.monotonic() > until:
            raise TooLate
        self.agents.tally.attempts += 1
        return self.provider.send({**payment, 'work_s': self.agents.clock.s(weather.work_ms),
                                   **({'lose': True} if weather.reply_lost else {})})

    async def die(self):
        if self.provider:
            self.provider.abort()
        self.provider = None
        if self.ledger:
            self.ledger.abort()
        raise Died


class Action:
    """One payment that is meant, as one of those who carry it out sees it."""

    def __init__(self, agents, number, copy):
        self.agents, self.number, self.copy = agents, number, copy
        self.order = f'order-{number}'
        self.chance = random.Random(f'{agents.seed} action {number} {copy}')
        self.memo = MEMOS[0]
        self.n_calls = 0
        self.resumed = False
        setting = agents.setting
        self.death = self.chance.choice(DEATHS if agents.socket else DEATHS[1:]) if self.chance.random() < setting.crash else None
        self.worked_s = 0.0   # until the run knew, or gave up; the pause before a resumed run is not in it

    def payment(self, key=None, reference=None):
        return {'order': self.order, **({'key': key} if key else {}), **({'reference': reference} if reference else {}),
                **({'resumed': True} if self.resumed else {})}

    async def dies(self, worker, moment):
        """Is this the moment?"""
        if self.death == moment:
            self.death = None
            self.resumed = True
            self.agents.tally.deaths += 1
            await worker.die()

    async def backoff(self, n):
        base_s = self.agents.clock.s(self.agents.setting.backoff_ms) * 2 ** (n - 1)
        await asyncio.sleep(base_s * (0.5 + self.chance.random() / 2))

    async def carry_out(self):
        """Until the run knows its outcome, or gives up. True if it knows."""
        agents, setting = self.agents, self.agents.setting
        while True:
            try:
                receipt = await self.call()
            except Died:
                await asyncio.sleep(agents.clock.resume_s(self.chance.uniform(*setting.resume_ms)))
                continue
            if receipt:
                agents.tally.receipts.setdefault(self.order, set()).add(receipt)
                return True
            agents.tally.unknown_told += 1
            if self.chance.random() < setting.replan and self.n_calls < setting.calls_max:
                self.memo = self.chance.choice(MEMOS)
                thinks_s = agents.clock.s(self.chance.uniform(*setting.replan_ms))
                self.worked_s += thinks_s
                await asyncio.sleep(thinks_s)
            elif agents.socket:
                # A repeat is safe, so that the run's own supervisor need not leave a step without an outcome: it resumes it.
                self.resumed = True
                await asyncio.sleep(agents.clock.resume_s(self.chance.uniform(*setting.resume_ms)))
            else:
                agents.tally.given_up += 1
                return False

    async def call(self):
        """One tool call: the receipt, or None."""
        self.n_calls += 1
        call_id = f'call-{self.number}-{self.copy}-{self.n_calls}'
        worker = await self.agents.worker()
        started = time.monotonic()
        try:
            return await (self.call_guarded if self.agents.socket else self.call_bare)(worker, call_id)
        finally:
            self.worked_s += time.monotonic() - started
            self.agents.give_back(worker)

    async def call_bare(self, worker, call_id):
        for n in range(1 + self.agents.setting.retries):
            if n:
                await self.backoff(n)
            key = {'none': None, 'attempt': f'{call_id}-{n}', 'call': call_id, 'intent': self.order}[self.agents.mode]
            receipt = await self.attempt(worker, self.payment(key))
            if receipt:
                return receipt
        return None

    async def attempt(self, worker, payment, until=None):
        """Calls the provider, not later than `until`, and may die around it."""
        weather = Weather.draw(self.agents.setting, self.chance)
        await self.dies(worker, 'before')
        if self.death == 'during':
            await worker.reach_provider()
            worker.post(payment, weather, until)
            await asyncio.sleep(0)  # what was written before the end is on its way
            await self.dies(worker, 'during')
        receipt = await worker.pay(payment, weather, until)
        if not self.agents.socket:
            await self.dies(worker, 'recorded')
        await self.dies(worker, 'after')
        return receipt

    async def call_guarded(self, worker, call_id):
        tally = self.agents.tally
        for n in range(1 + self.agents.setting.retries):
            told, sent_at = await self.begin(worker, call_id)
            if told['decision'] == 'run':
                try:
                    receipt = await self.attempt(worker, self.payment(reference=told['provider_key']),
                                                 sent_at + (told['lease_ms'] + told.get('waited_ms', 0)) / 1000)
                except TooLate:
                    tally.too_late += 1
                    await self.tell(worker, 'release', told, reason='the grant came too late, nothing was sent')
                    continue
                if receipt:
                    await self.tell(worker, 'complete', told, result=receipt)
                    await self.dies(worker, 'recorded')
                    return receipt
                await self.tell(worker, 'unknown', told, reason='no answer in time')
                await self.backoff(n + 1)
            elif told['decision'] == 'replay':
                tally.replays += 1
                if told['outcome'] != 'succeeded':
                    raise Fault(f'a failure of {self.order} is replayed, and nobody reported one')
                return told['result']
            elif told['decision'] == 'escalated':
                raise Escalated
            elif told['decision'] in ('busy', 'unknown'):
                await asyncio.sleep(self.pause_s(told))
            else:
                raise Fault(f'begin of {self.order} was told {told}')
        return None

    async def begin(self, worker, call_id):
        """(what it is told, when that was asked)"""
        agents = self.agents
        params = {'tool': 'pay', 'args': {'order': self.order, 'amount': '12.50', 'memo': self.memo}, 'run': f'run-{self.number // 4}',
                  'step': self.number % 4, 'call': call_id, 'owner': worker.name, 'request': Ledger.request_id(self.chance),
                  'wait_ms': round(agents.clock.s(PATIENCE_MS) * 1000), **({'bind': True} if worker.binds else {})}
        agents.tally.asked += 1
        if self.death == 'asking':
            await worker.ledger.send('begin', params)
            await asyncio.sleep(0)
            await self.dies(worker, 'asking')
        told, error, sent_at = await worker.ledger.ask('begin', params)
        if error:
            raise Fault(f'begin of {self.order} was told {error}')
        return told, sent_at

    def pause_s(self, told):
        """Until it is worth asking again: shortly behind the next probe. The daemon's own least pauses are meant for the field's time."""
        least_s, until_probe_s = self.agents.clock.s(told['retry_after_ms']), 0
        if told.get('next_probe_at'):
            at = datetime.datetime.strptime(told['next_probe_at'], '%Y-%m-%dT%H:%M:%S.%f%z')
            until_probe_s = (at.timestamp() - time.time()) * (1 + self.chance.random() / 4)
        return min(max(least_s, until_probe_s), self.agents.clock.s(PATIENCE_MS))

    async def tell(self, worker, method, claim, **more):
        """What came of it. Who stood still for so long that his attempt was settled without him, is told so; only a result must be taken."""
        _, error, _ = await worker.ledger.ask(method, {'effect': claim['effect'], 'token': claim['token'], **more})
        if error and (method == 'complete' or error['data']['name'] not in ('not_owner', 'conflict')):
            raise Fault(f'{method} of {self.order}, attempt {claim["attempt"]}, was told {error}')


class Agents:
    """All of it: actions come as Poisson has them, workers are taken from a pool that grows as it must."""

    def __init__(self, mode, setting, clock, seed, provider_path, socket=None):
        self.mode, self.setting, self.clock, self.seed = mode, setting, clock, seed
        self.provider_path, self.socket = provider_path, socket
        self.tally = Tally()
        self.faults = []
        self.idle = []
        self.n_workers = 0
        self.room = asyncio.Semaphore(IN_FLIGHT_MAX)

    async def worker(self):
        await self.room.acquire()
        if self.idle:
            return self.idle.pop()
        self.n_workers += 1
        return Worker(self, self.n_workers)

    def give_back(self, worker):
        self.idle.append(worker)
        self.room.release()

    async def run(self, n_actions):
        """Until every action has ended. What went wrong stands in `faults`."""
        chance = random.Random(f'{self.seed} arrivals')
        tasks = []
        due_at = time.monotonic()
        for number in range(n_actions):
            due_at += self.clock.s(1000 * chance.expovariate(self.setting.calls_s))
            await asyncio.sleep(max(0, due_at - time.monotonic()))
            twice = chance.random() < self.setting.dispatch
            tasks.append(asyncio.create_task(self.one(number, 2 if twice else 1)))
        await asyncio.gather(*tasks)

    async def one(self, number, n_copies):
        """An action, and whoever else was sent to do it: both start at once."""
        self.tally.started += 1
        copies = [Action(self, number, copy) for copy in range(n_copies)]
        ends = await asyncio.gather(*(copy.carry_out() for copy in copies), return_exceptions=True)
        for end in ends:
            if isinstance(end, Escalated):
                self.tally.escalated += 1
            elif isinstance(end, BaseException):
                self.faults.append(f'{type(end).__name__}: {end}')
        self.tally.latencies.append(min(copy.worked_s for copy in copies))
        self.tally.ended += 1
