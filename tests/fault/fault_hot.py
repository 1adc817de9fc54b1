#!/usr/bin/python3
"""Hot keys: 16 clients over 1,000 keys, wrappers of every kind, an operator, a provider that refuses now and then and whose probe
knows nothing now and then, one daemon and two; and with retries, where the provider takes calls with one key for one. The clients' logs and the provider's own books say whether it was right."""
import json
import os
import random
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
from harness import *  # noqa: E402
from world import Client, Provider, World, Wire, Log, Counter, acknowledged, check, effect_of, request_id as new_request  # noqa: E402

N_CLIENTS = 16
N_KEYS = 1000
N_HOTTEST = 40     # of the keys get half of what is asked
RETIRE_AFTER = 3   # so many replays of a key and its place goes to a new one
LEASE_MS = 1000    # the least
LATE_S = 1.5       # a late record comes so long after its effect: behind the lease's end
ABSENT_NEEDED = 2
SECONDS = rounds_of(7.5, 60)  # of a round
WINDOW_S = 2
RETRY = {'on_unknown': 'retry', 'retry_window': f'{WINDOW_S}s'}
# the last grant of a window, with a lease that was extended, and a little more: later than that a call does it again
MEMORY_S = WINDOW_S + 3 * LEASE_MS / 1000 + 1

# It runs hundreds of times a second for all of us: nothing in it but what the shell itself can do. It never lies: it looks at
# the provider's book, or says in one of four ways that it does not know.
PROBE = '''#!/bin/sh
read -r line
read -r dice </proc/sys/kernel/random/uuid
key=$EFFECT_PROVIDER_KEY
say() {{
	printf '%s %s %s\\n' "$key" "$EFFECT_ATTEMPT" "$1" >>'{dir}/probes'
}}
case $dice in
[0-2]*) say inconclusive; echo '{{"verdict":"inconclusive","reason":"busy"}}'; exit 0 ;;
3*) say inconclusive; exit 3 ;;
4*) say inconclusive; echo 'no JSON'; exit 0 ;;
50*) say inconclusive; kill -9 $$ ;;
esac
if [ -e '{dir}/done/'"$key" ]; then
	read -r receipt <'{dir}/done/'"$key"
	say landed
	printf '{{"verdict":"landed","result":%s}}\\n' "$receipt"
elif [ -e '{dir}/refused/'"$key" ]; then
	read -r why <'{dir}/refused/'"$key"
	say failed
	printf '{{"verdict":"failed","result":%s}}\\n' "$why"
else
	say absent
	echo '{{"verdict":"absent"}}'
fi
'''


class HotProvider(Provider):
    """Refuses some effects for good. Beside its book, a file for each effect, for a probe that must be quick."""

    def __init__(self, source, memory_s=0):
        super().__init__()
        self.random, self.memory_s = source, memory_s
        self.first = {}  # key: (when it was performed, receipt)
        self.n_again = 0
        self.refusals = {}
        self.n_refused = 0
        for name in ('done', 'refused'):
            os.mkdir(os.path.join(self.dir, name))
        with open(self.probe_path, 'w', encoding='ascii') as out:
            out.write(PROBE.format(dir=self.dir))

    def _file(self, folder_, key, text):
        path = os.path.join(self.dir, folder_, key)
        with open(path + '.new', 'w', encoding='ascii') as out:
            out.write(text + '\n')
        os.rename(path + '.new', path)

    def ask(self, key, until):
        """('landed', receipt), ('refused', why), or ('late', None): nothing was done."""
        with self.lock:
            if time.monotonic() > until:
                return 'late', None
            if key not in self.refusals and self.random.random() < 0.08:
                self.n_refused += 1
                self.refusals[key] = f'"refused for good, {self.n_refused}"'
                self._file('refused', key, self.refusals[key])
            if key in self.refusals:
                return 'refused', self.refusals[key]
            when, receipt = self.first.get(key, (0, None))
            if receipt and time.monotonic() < when + self.memory_s:
                self.n_again += 1
                return 'landed', receipt
            self.n += 1
            receipt = f'{{"receipt":{self.n},"b":1.0,"a":1e2,"t":"\\u003c{self.n}"}}'
            self.first[key] = time.monotonic(), receipt
            # in this order: while the file is not there yet, the lease of whoever performs still is
            with open(self.book_path, 'ab') as book:
                book.write(f'{key} {receipt}\n'.encode())
            self._file('done', key, receipt)
            return 'landed', receipt

    def look(self, key):
        """What stands in the books, with nobody at it: whoever comes behind us finds its lease over."""
        with self.lock:
            path = os.path.join(self.dir, 'done', key)
            if os.path.exists(path):
                with open(path, encoding='ascii') as receipt:
                    return 'landed', receipt.read().rstrip('\n')
            return ('failed', self.refusals[key]) if key in self.refusals else ('absent', None)

    def verdicts(self):
        """{(effect, attempt): {verdict: n}} of what the probe answered."""
        found = {}
        with open(self.probes_path, encoding='ascii') as probes:
            for line in probes:
                effect, attempt, verdict = line.split()
                told = found.setdefault((effect, int(attempt)), {})
                told[verdict] = told.get(verdict, 0) + 1
        return found


class Hot(Client):
    """One of the 16: each claim gets one of the fates below."""

    FATES = {'complete': 6, 'twice': 1, 'say_unknown': 1, 'vanish': 1, 'late': 2, 'error': 1, 'reask': 2, 'extend': 2,
             'idle': 1, 'idle_unknown': 1, 'idle_failed': 1, 'give_back': 3, 'close': 2, 'idle_close': 1}
    BOUND = ('close', 'idle_close')

    def __init__(self, world, number):
        super().__init__(world, number)
        self.wire.path = self.random.choice(world.sockets)
        self.late_ones = []  # (when, claim, outcome, text)
        self.former = []     # claims that were given up: their tokens are good for nothing

    def until_told(self, method, params, result=None):
        answer, raw, sent_at = super().until_told(method, params, result)
        if 'error' in answer and answer['error']['data']['name'] not in ('not_owner', 'conflict'):
            raise AssertionError(f'{method} was told {answer["error"]}')
        return answer, raw, sent_at

    def run(self):
        super().run()
        try:
            for _, claim, outcome, text in self.late_ones:
                self.record(claim, outcome, text)
        except Exception as e:  # pylint: disable=broad-except
            self.failure = self.failure or e
        self.wire.close()

    def one(self):
        dice = self.random.random()
        if self.late_ones and self.late_ones[0][0] < time.monotonic():
            self.record(*self.late_ones.pop(0)[1:])
        elif dice < 0.02:
            self.operate_on_list()
        elif dice < 0.05 and self.former:
            self.stale_word(self.random.choice(self.former))
        else:
            self.begin()

    def record(self, claim, outcome, text):
        """A failure that somebody else decided already is agreed to: theirs is the result that stands."""
        answer, _, _ = self.until_told('complete', {**claim, 'outcome': outcome}, text)
        told = answer.get('result', {})
        agreed = outcome == 'failed' and told.get('already') and told['state'] == 'done'
        self.world.log.add(self.number, 'agreed' if agreed else 'recorded', effect=claim['effect'], outcome=outcome, result=text, answer=answer)

    # -- begin

    def begin(self):
        slot, key = self.world.next_key(self.random)
        fate = self.random.choices(list(self.FATES), self.FATES.values())[0]
        params = {'tool': 'pay', 'key': key, 'args': {'n': slot}, 'request': new_request(self.random),
                  'owner': f'client {self.number}', 'lease_ms': LEASE_MS + self.random.randrange(500)}
        if fate in self.BOUND:
            params['bind'] = True
        if self.random.random() < 0.2:
            params['wait_ms'] = self.random.randrange(1, 400)
        if self.random.random() < 0.01:
            params['args'] = {'n': -1}
        if self.random.random() < 0.04:
            self.lose_answer(params)
        answer, _, sent_at = self.until_told('begin', params)
        told = answer['result']
        if told['decision'] == 'run':
            self.world.count(fate)
            getattr(self, fate)(told, sent_at + (told['lease_ms'] + told.get('waited_ms', 0)) / 1000, params)
        elif told['decision'] in ('replay', 'mismatch'):
            self.world.seen_settled(slot, key)
        elif told['decision'] in ('unknown', 'escalated') and self.random.random() < 0.2:
            self.operate(told['effect'], told['attempt'], told['decision'])

    def lose_answer(self, params):
        """The same begin once before, on a connection that is gone before the answer is read."""
        self.world.count('lose_answer')
        self.wire.close()
        self.world.log.add(self.number, 'sent', method='begin', params=params, result=None)
        conn = Conn(self.wire.path)
        conn.send('begin', params)
        if self.random.random() < 0.5:
            conn.reset()
        else:
            conn.close()
        self.wire.path = self.random.choice(self.world.sockets)

    # -- fates: what(told, until, params)

    @staticmethod
    def claim(told):
        return {'effect': told['effect'], 'token': told['token']}

    def perform(self, told, until):
        """(outcome, text) to record, or (None, None): it was too late, and given back."""
        what, text = self.world.provider.ask(told['provider_key'], until)
        if what == 'late':
            self.give_back(told, until, None)
            return None, None
        if what == 'landed':
            self.world.log.add(self.number, 'performed', effect=told['effect'], attempt=told['attempt'], result=text)
        return ('succeeded' if what == 'landed' else 'failed'), text

    def complete(self, told, until, params):
        outcome, text = self.perform(told, until)
        if outcome:
            self.record(self.claim(told), outcome, text)

    def twice(self, told, until, params):
        outcome, text = self.perform(told, until)
        if outcome:
            self.record(self.claim(told), outcome, text)
            self.record(self.claim(told), outcome, text)

    def say_unknown(self, told, until, params):
        if self.perform(told, until)[0]:
            self.until_told('unknown', {**self.claim(told), 'reason': 'the answer was lost'})

    def vanish(self, told, until, params):
        self.perform(told, until)

    def late(self, told, until, params):
        outcome, text = self.perform(told, until)
        if outcome:
            self.late_ones.append((time.monotonic() + LATE_S, self.claim(told), outcome, text))

    def error(self, told, until, params):
        """The tool's own error, by this policy: nobody knows."""
        if self.perform(told, until)[0]:
            self.until_told('complete', {**self.claim(told), 'outcome': 'error'}, '"the tool raised"')

    def reask(self, told, until, params):
        """It has its answer and asks again with the same request: nobody may get a second one."""
        self.until_told('begin', params)
        self.complete(told, until, params)

    def extend(self, told, until, params):
        answer, _, sent_at = self.until_told('extend', {**self.claim(told), 'lease_ms': 2 * LEASE_MS})
        if answer.get('result', {}).get('state') == 'pending':
            until = max(until, sent_at + 2 * LEASE_MS / 1000)
        self.complete(told, until, params)

    def idle(self, told, until, params):
        """It dies before it has done anything."""
        self.former.append(self.claim(told))

    def idle_unknown(self, told, until, params):
        self.until_told('unknown', {**self.claim(told), 'reason': 'it never came back'})
        self.former.append(self.claim(told))

    def idle_failed(self, told, until, params):
        self.record(self.claim(told), 'failed', f'"not to be done, {self.number} {self.random.random()}"')

    def give_back(self, told, until, params):
        self.until_told('release', {**self.claim(told), 'reason': 'nothing was sent'})
        self.former.append(self.claim(told))

    def close(self, told, until, params):
        self.perform(told, until)
        self.wire.close()

    def idle_close(self, told, until, params):
        self.wire.close()

    def stale_word(self, claim):
        """By a wrapper that has already given up, truthfully: it did nothing."""
        method = self.random.choice(('release', 'unknown', 'extend', 'complete'))
        self.world.count('stale ' + method)
        if method == 'complete':
            self.record(claim, 'failed', f'"late, {self.number} {self.random.random()}"')
        else:
            self.until_told(method, claim)

    # -- the operator

    def operate(self, effect, attempt, state):
        """A person looks into the provider's books, and says what is there."""
        verdict, text = self.world.provider.look(effect)
        if verdict == 'absent' and self.random.random() < 0.2:
            verdict, text = 'failed', f'"called off, {self.number} {self.random.random()}"'
        self.world.count('resolve ' + verdict)
        self.until_told('resolve', {'effect': effect, 'verdict': verdict, 'attempt': attempt, 'state': state, 'reason': 'looked'}, text)

    def operate_on_list(self):
        state = self.random.choice(('unknown', 'escalated'))
        answer, _, _ = self.until_told('list', {'state': state, 'limit': 50})
        rows = answer['result']['effects']
        if rows:
            row = self.random.choice(rows)
            self.operate(row['effect'], row['attempt'], row['state'])


class HotWorld(World):
    """1,000 keys at a time: whoever has been replayed enough makes room for a new one."""

    def __init__(self, name, daemons, provider, the_seed):
        super().__init__(daemons[0].socket, provider, the_seed, n_clients=0)
        self.name, self.sockets = name, [daemon.socket for daemon in daemons]
        self.lives = [[0, 0] for _ in range(N_KEYS)]  # generation, settled answers
        self.counts = {}
        self.clients = [Hot(self, number) for number in range(N_CLIENTS)]

    def next_key(self, source):
        slot = source.randrange(N_HOTTEST if source.random() < 0.5 else N_KEYS)
        return slot, f'{self.name}-{slot}-{self.lives[slot][0]}'

    def seen_settled(self, slot, key):
        with self.lock:
            life = self.lives[slot]
            if key.endswith(f'-{life[0]}'):
                life[1] += 1
                if life[1] >= RETIRE_AFTER:
                    self.lives[slot] = [life[0] + 1, 0]

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def end_open(self):
        """Waits until nothing is pending or unknown with nobody speaking; then a person ends what was escalated."""
        wire = Wire(self.socket, 'reader', Log(), Counter())

        def rows(state):
            answer, _ = wire.ask('list', {'state': state, 'limit': 1000})
            return answer['result']['effects']

        wait_until(lambda: not rows('pending') and not rows('unknown'), 60, 'every open effect ended')
        n = 0
        operator = Hot(self, 'operator')
        while left := rows('escalated'):
            for row in left:
                operator.operate(row['effect'], row['attempt'], 'escalated')
                n += 1
        operator.wire.close()
        wire.close()
        return n

    def read_back(self):
        """Every effect of which a record was acknowledged is asked for again, as whoever ran it did."""
        wire = Wire(self.socket, 'reader', self.log, Counter())
        asked = {effect_of(e): e['params'] for e in list(self.log.entries) if effect_of(e) and e['method'] == 'begin' and
                 e['answer']['result']['decision'] == 'run'}
        for effect in sorted({e['effect'] for e in self.log.entries if acknowledged(e) or e['what'] == 'agreed'}):
            wire.ask('begin', {name: asked[effect][name] for name in ('tool', 'key', 'args')})
        wire.close()


# ---- the checker's further half ----

def check_failures(entries, provider):
    """A replayed failure is what somebody said of an effect that did not happen."""
    performed = {effect for effect, _ in provider.book()}
    said = {(e['effect'], e['result']) for e in entries if e['what'] == 'recorded'}
    said |= {(e['params']['effect'], e['result']) for e in entries if e['what'] == 'sent' and e.get('result')}
    said |= set(provider.refusals.items())
    for e in entries:
        told = e['answer'].get('result', {}) if e['what'] == 'told' else {}
        if told.get('decision') == 'replay' and told['outcome'] == 'failed':
            if told['effect'] in performed:
                yield f'{told["effect"]} was performed, and {e["client"]} was replayed a failure'
            if (told['effect'], part_of(e['raw'])) not in said:
                yield f'{e["client"]} was replayed a failure of {told["effect"]} that nobody reported: {e["raw"]}'


def check_agreed(entries):
    """Whoever was told that its failure stands already finds one."""
    ends = {effect_of(e): e['answer']['result'] for e in entries if effect_of(e) and e['method'] == 'begin'}
    for e in entries:
        if e['what'] == 'agreed' and ends[e['effect']].get('outcome') != 'failed':
            yield f'{e["client"]} was told that the failure of {e["effect"]} stands already, in the end it is {ends[e["effect"]]}'


def part_of(raw):
    return raw.split('"outcome":"failed","result":', 1)[1].rsplit(',"result_state":', 1)[0]


def check_known(entries, verdicts):
    """Run is told only after it is known that no attempt before landed: its holder gave it back, a person or the probe said so, or
    nobody was ever told of it. And never for what was performed."""
    runs, known, performed, resolves = {}, set(), set(), set()
    for e in entries:
        if e['what'] == 'performed':
            performed.add(e['effect'])
        elif e['what'] == 'sent' and e['method'] == 'release':
            known.add((e['params']['effect'], e['params']['token']))
        elif e['what'] == 'sent' and e['method'] == 'resolve' and e['params']['verdict'] == 'absent':
            resolves.add((e['params']['effect'], e['params']['attempt']))
        told = e['answer'].get('result', {}) if e['what'] == 'told' else {}
        if told.get('decision') != 'run':
            continue
        effect, attempt = told['effect'], told['attempt']
        if effect in performed:
            yield f'run was told for attempt {attempt} of {effect}, which had been performed'
        before = (effect, attempt - 1)
        if attempt > 1 and before in runs and (effect, runs[before]) not in known and before not in resolves and \
                verdicts.get(before, {}).get('absent', 0) < ABSENT_NEEDED:
            yield f'run was told for attempt {attempt} of {effect}, and nobody knew of the one before: {verdicts.get(before)}'
        runs[(effect, attempt)] = told['token']


def findings_of(world, retries):
    entries = world.log.entries
    # what check() says of failures is for a provider that never refuses
    plain = [f for f in check(entries, world.provider.book(), retries) if 'a failure of' not in f]
    more = list(check_agreed(entries)) + list(check_failures(entries, world.provider))
    # who retries runs though nobody knows: the book is what judges that
    return plain + more + ([] if retries else list(check_known(entries, world.provider.verdicts())))


def tell_story(entries, finding, cluster):
    """All that the logs have of the effect of a finding, and then what the ledger has."""
    effect = re.search(r'[0-9a-f-]{36}', finding).group()
    for e in entries:
        if effect in json.dumps(e) and e.get('method') != 'list':
            note({name: value for name, value in e.items() if name != 'raw'})
    note(cluster.psql(f"select row_to_json(l) from effect.ledger l where id = '{effect}'",
                      f"select row_to_json(e) from effect.event e where effect = '{effect}' order by id"))


def planted():
    """The further half finds what it is there to find."""
    def run(attempt, token):
        return {'what': 'told', 'client': 0, 'method': 'begin', 'raw': '',
                'answer': {'result': {'effect': 'e', 'decision': 'run', 'attempt': attempt, 'token': token}}}

    release = {'what': 'sent', 'method': 'release', 'params': {'effect': 'e', 'token': 't'}}
    resolve = {'what': 'sent', 'method': 'resolve', 'params': {'effect': 'e', 'attempt': 1, 'verdict': 'absent'}}
    first, second = run(1, 't'), run(2, 'u')
    is_([list(check_known([first, e, second], {})) for e in (release, resolve)], [[], []],
        'a second run is right after a release, and after a person\'s word')
    is_(list(check_known([first, second], {('e', 1): {'absent': 2}})), [], 'and after the probe\'s')
    is_(list(check_known([second], {})), [], 'and where nobody was told of the first')
    like(str(list(check_known([first, second], {('e', 1): {'absent': 1, 'inconclusive': 9}}))), 'nobody knew', 'not for one absent of two')
    like(str(list(check_known([first, {**release, 'params': {'effect': 'e', 'token': 'x'}}, second], {}))), 'nobody knew',
         'nor for a release with another token')
    like(str(list(check_known([first, {'what': 'performed', 'effect': 'e'}, release, second], {}))), 'had been performed',
         'nor for what was performed')
    recorded = {'what': 'recorded', 'client': 1, 'effect': 'e', 'outcome': 'succeeded', 'result': '1', 'answer': {'result': {'state': 'done', 'outcome': 'succeeded'}}}
    sent = {'what': 'sent', 'client': 0, 'method': 'begin', 'params': {}}
    like(str(check([first, sent, recorded, second], [], True)), "^((?!after its record).)*$", 'a retry may be told when the first has ended meanwhile')
    like(str(check([first, recorded, sent, second], [], True)), 'after its record', 'but not to who asked after that')
    like(str(check([first, sent, recorded, second], [])), 'after its record', 'nor without retries')
    provider = HotProvider(None)
    replay = {'what': 'told', 'client': 0, 'answer': {'result': {'effect': 'e', 'decision': 'replay', 'outcome': 'failed'}},
              'raw': '{"outcome":"failed","result":"no","result_state":"kept"}'}
    like(str(list(check_failures([replay], provider))), 'that nobody reported', 'it finds a failure that nobody reported')
    provider.refusals['e'] = '"no"'
    agreed = {'what': 'agreed', 'client': 1, 'effect': 'e'}
    is_(list(check_agreed([{**replay, 'method': 'begin'}, agreed])), [], 'a failure that was agreed to is found')
    like(str(list(check_agreed([{**first, 'method': 'begin'}, agreed]))), 'stands already', 'and its absence is, too')
    is_(list(check_failures([replay], provider)), [], 'and takes the provider\'s word')
    with open(provider.book_path, 'w', encoding='ascii') as book:
        book.write('e 1\n')
    like(str(list(check_failures([replay], provider))), 'was performed', 'but not for what was performed')


def round_of(name, cluster, n_daemons, the_seed, retries=False):
    provider = HotProvider(random.Random(f'{the_seed} provider {name}'), MEMORY_S if retries else 0)
    policy = provider.policy(lease=f'{LEASE_MS}ms', settle='200ms', absent_needed=ABSENT_NEEDED, probe_backoff=['100ms', '300ms'],
                             escalate_after='3s', **(RETRY if retries else {}))
    daemons = [Daemon(cluster, config={'log_calls': False, 'sweep_interval': '200ms'}, tools=policy) for _ in range(n_daemons)]
    for daemon in daemons:
        daemon.ready()
    world = HotWorld(name, daemons, provider, f'{the_seed} {name}')
    world.start()
    # the time is what the round is made of; a client that failed ends it
    world.stopping.wait(SECONDS)
    world.stop()
    n_escalated = world.end_open()
    world.read_back()
    tally = world.tally()
    note(f'{name}: {tally}')
    note(f'{name}: {dict(sorted(world.counts.items()))}, {n_escalated} escalated at the end')
    note(f'{name}: {len(world.log.entries)} entries, {len(provider.book())} performed, {len(provider.refusals)} refused, '
         f'{provider.n_probes()} probes')
    for daemon in daemons:
        is_(daemon.grep(' (err|error) '), [], f'{name}: no error in the log of a daemon')
        is_(daemon.stop(), 0, f'{name}: and its end is orderly')
    findings = findings_of(world, retries)
    is_(findings[:5], [], f'{name}: no effect twice, no record lost or altered, one holder of an attempt, ' +
        ('whoever ran again' if retries else 'run only after known not landed'))
    if findings:
        tell_story(world.log.entries, findings[0], cluster)
    ok(set(Hot.FATES) <= set(world.counts), f'{name}: each kind of wrapper was at it', set(Hot.FATES) - set(world.counts))
    wanted = {'begin run', 'begin replay', 'begin busy', 'begin unknown', 'begin mismatch', 'complete done', 'release released'}
    if retries:
        wanted |= {'release unknown', 'complete unknown'}
        ok(provider.n_again >= 3, f'{name}: {provider.n_again} calls were taken for an earlier one', provider.n_again)
    ok(wanted <= set(tally), f'{name}: each answer was given', wanted - set(tally))
    is_(cluster.invariants(), [], f'{name}: no invariant is hurt')
    is_(cluster.psql("select count(*) from effect.ledger where state in ('pending', 'unknown', 'escalated')"), '0', f'{name}: nothing is open')


base_seed = seed()
planted()
with Cluster() as the_cluster:
    round_of('one daemon', the_cluster, 1, base_seed)
    round_of('two daemons', the_cluster, 2, base_seed)
    round_of('retries', the_cluster, 2, base_seed, retries=True)
done()
