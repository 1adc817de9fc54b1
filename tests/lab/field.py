"""The constants of the lab and its four missions, and what chance does to one call: all the numbers stand here.

Durations are those of the field, in milliseconds; Clock turns them into the lab's own seconds. Nothing here does I/O.
"""
import dataclasses
import math
import random

__all__ = ['MISSIONS', 'MODES', 'Clock', 'Setting', 'Weather', 'p_late', 'p_unknown']

MODES = {
    'none': 'no key: the provider does what it is told as often as it is told',
    'attempt': 'a key for each attempt: the provider never sees one twice',
    'call': 'a key for each tool call: transport retries share it, a re-plan and a resumed run have a new one',
    'intent': 'a key for what is meant (run and step), which the provider remembers for a while',
    'effectd': 'effectd guards the call; the provider deduplicates nothing',
}


@dataclasses.dataclass(frozen=True)
class Setting:
    """One run of the lab. The defaults are mission 1."""
    title: str = 'blind retries'
    # the service
    median_ms: float = 300
    log_sd: float = 0.6
    longest_ms: float = 10000      # the provider ends every request by then
    reply_loss: float = 0.02       # done, and the answer is lost
    request_loss: float = 0.0      # never arrives
    lag_ms: float = 5000           # a look-up sees what was done up to so much later
    look_up_faults: float = 0.0    # share of look-ups that are answered badly
    # the clients
    calls_s: float = 50
    timeout_ms: float = 1000
    retries: int = 3
    backoff_ms: float = 200        # doubled at each retry, half of it jitter
    replan: float = 0.6            # of the calls that end unknown, the model makes so many again
    replan_ms: tuple = (2000, 20000)
    calls_max: int = 6             # of one action; then the model gives up
    crash: float = 0.0             # of the actions, so many die once on the way
    resume_ms: tuple = (120000, 1200000)
    dispatch: float = 0.0          # of the actions, so many are given to two workers
    # whoever guards
    memory_ms: float = 3600000     # mode intent: how long the provider knows a key
    lease_ms: float = 20000
    settle_ms: float = 15000
    probe_timeout_ms: float = 10000
    probe_backoff_ms: tuple = (2000, 8000, 15000)
    escalate_ms: float = 900000

    def sound(self):
        """The last absent that counts starts 2 settle after the attempt's end at the earliest. By then everything that
        was sent must have been done and be seen: None, or why it would not be."""
        latest = self.longest_ms - self.timeout_ms + self.lag_ms
        if 2 * self.settle_ms < latest:
            return f'twice settle is {2 * self.settle_ms:g} ms, and a payment may be seen {latest:g} ms after its call was given up'
        return None


MISSIONS = {
    1: Setting(),
    2: Setting(title='a slow provider', median_ms=1200, timeout_ms=600),
    3: Setting(title='crash replays and the size of the memory', crash=0.25),
    4: Setting(title='slow and lossy at once', median_ms=1200, timeout_ms=600, reply_loss=0.1, request_loss=0.05,
               crash=0.02, dispatch=0.05),
}


@dataclasses.dataclass(frozen=True)
class Clock:
    """How much faster the lab runs than the field. What takes minutes there (resumed runs, and the provider's memory that
    must outlast them) has a factor of its own."""
    factor: float = 10
    resume_factor: float = 120

    def s(self, ms):
        return ms / 1000 / self.factor

    def resume_s(self, ms):
        return ms / 1000 / self.resume_factor

    def policy(self, ms, least_ms=1):
        """As a duration of a policy."""
        return f'{max(least_ms, round(ms / self.factor))}ms'


def p_late(setting):
    """The share of the calls that take longer than the client waits."""
    z = math.log(setting.timeout_ms / setting.median_ms) / setting.log_sd
    return 0.5 * math.erfc(z / math.sqrt(2))


def p_unknown(setting):
    """The share of the calls whose outcome the client does not learn, though they were done."""
    return 1 - (1 - p_late(setting)) * (1 - setting.reply_loss)


@dataclasses.dataclass(frozen=True)
class Weather:
    """What becomes of one call. It is drawn before the call, from the action's own chance, and the client's time-out is judged
    by it: a host that is slow at the moment changes no figure but the latencies."""
    work_ms: float
    request_lost: bool
    reply_lost: bool
    in_time: bool

    @staticmethod
    def draw(setting, chance: random.Random):
        work_ms = setting.median_ms * math.exp(setting.log_sd * chance.gauss(0, 1))
        request_lost = chance.random() < setting.request_loss
        reply_lost = chance.random() < setting.reply_loss
        return Weather(min(work_ms, setting.longest_ms), request_lost, reply_lost,
                       work_ms <= setting.timeout_ms and not request_lost and not reply_lost)
