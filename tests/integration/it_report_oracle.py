#!/usr/bin/python3
"""Reports against an oracle: small ledgers by random calls of the functions of effect, at instants of a clock of their own, and what
each report says of random windows is what brute force makes of the tables by the words of daemon/protocol.md."""
import collections
import datetime
import json
import math
import os
import random
import sys

from harness import *
from harness import SRC

sys.path.insert(0, os.path.join(SRC, 'tests/history'))
import history  # noqa: E402

ROUNDS = rounds_of(2, 40)
STEPS = rounds_of(160, 260)
WINDOWS = rounds_of(24, 80)
MINUTE, HOUR, DAY = 60000, 3600000, 86400000
PROBE = {'exec': {'argv': ['/bin/false', '{provider_key}']}}
TOOLS = [
    {'namespace': 'a', 'name': 'pay', 'business_key': ['/o'], 'business_window': '1h', 'on_business_duplicate': 'report', 'keep_key': '2h',
     'keep_result': '1h', 'probe': PROBE, 'settle': '0s', 'absent_needed': 1, 'max_attempts': 2, 'keep': ['/o']},
    {'namespace': 'b', 'name': 'pay', 'business_key': ['/o'], 'business_window': '30m', 'on_business_duplicate': 'hold', 'keep_key': '3h',
     'keep_result': '1h', 'turn_budget': 2, 'turn_asks': 4, 'probe': PROBE, 'settle': '0s', 'absent_needed': 1},
    {'namespace': 'a', 'name': 'mail', 'business_key': ['/o'], 'business_window': '0s', 'on_business_duplicate': 'report', 'keep_key': '0s',
     'keep_result': '0s', 'on_unknown': 'human'},
    {'namespace': 'a', 'name': 'plain', 'keep_key': '30m', 'keep_result': '1m', 'probe': PROBE, 'escalate_after': '1h'}]
KEYS = [f'k{n}' for n in range(5)]
ADVANCES = [0, 1, 999, 1000, 59000, MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE - 1, 30 * MINUTE, HOUR, HOUR + 1, 2 * HOUR, 4 * HOUR]
LOG2_PLACES = 40


def quoted(word):
    return 'null' if word is None else "'" + str(word).replace("'", "''") + "'"


def instant(ms):
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%S.') + f'{ms % 1000:03d}Z'


def place_of(ms):
    return 1 if ms < 1 else min(int(math.floor(math.log2(ms + 0.5))) + 2, LOG2_PLACES)


# ---- a ledger -------------------------------------------------------------------------------------------------------------------

class Play:
    """The calls of one ledger, as a script, and when."""

    def __init__(self, start_ms):
        self.now, self.lines, self.n = start_ms, [], 0
        self.tokens = collections.defaultdict(list)
        self.lines.append("create function pg_temp.do(text) returns void language plpgsql as $$ begin execute $1; exception when others then "
                          "raise exception '%: %', $1, sqlerrm; end $$;")

    def do(self, what):
        self.lines.append(f"select pg_temp.at('{instant(self.now)}'); select {what};")

    def step(self):
        self.now += random.choice(ADVANCES[:7]) if random.random() < 0.8 else random.choice(ADVANCES)
        tool = random.randint(1, len(TOOLS))
        policy, key = TOOLS[tool - 1], random.choice(KEYS)
        tokens = self.tokens[tool, key]
        kind = random.choices(('begin', 'complete', 'release', 'unknown', 'sweep', 'retain', 'version'), (50, 26, 6, 5, 8, 6, 1))[0]
        if kind == 'begin':
            self.n += 1
            tokens.append(f't{self.n}')
            order = int(key[1:]) // 2 if random.random() < 0.9 else random.randint(0, 2)
            fingerprint = order if random.random() < 0.95 else 'other'
            business = order if 'business_key' in policy else None
            run, turn = random.choice(('r1', 'r2', None)), random.choice(('1', '2', None))
            again = 'it is meant' if business is not None and random.random() < 0.15 else None
            kept = json.dumps({'/o': str(order), '/x': str(fingerprint)}) if random.random() < 0.7 else None
            words = [key, tokens[-1], fingerprint, run, turn if run else None, business, kept, again, 'owner']
            self.do(f'pg_temp.begin({tool}, {", ".join(map(quoted, words))})')
        elif kind in ('complete', 'release', 'unknown') and tokens:
            token = tokens[-1] if random.random() < 0.9 else random.choice(tokens)
            more = ["succeeded" if random.random() < 0.85 else 'failed', '{}'] if kind == 'complete' else ['why']
            self.do(f'pg_temp.{kind}({tool}, {", ".join(map(quoted, [key, token, *more]))})')
        elif kind == 'sweep':
            self.do(f"pg_temp.sweep({quoted(random.choice(('landed', 'absent', 'failed', 'inconclusive', None)))}, true)")
        elif kind == 'retain':
            self.do('pg_temp.retain()')
        elif kind == 'version':
            self.lines.append("update effect.tool set registered_at = clock_timestamp() where version = (select version from effect.tool "
                              "where namespace = 'a' and name = 'pay' order by registered_at limit 1);")

    def script(self):
        rows = ', '.join(f"({n}, {quoted(t['namespace'])}, {quoted(t['name'])})" for n, t in enumerate(TOOLS, 1))
        # another version of the policy of one tool: a narrower window
        other = ("insert into effect.tool select (t).* from (select jsonb_populate_record(t, jsonb_build_object('version', t.version # 1, "
                 "'registered_at', t.registered_at - interval '1 day', 'business_window_ms', 600000)) as t from effect.tool t "
                 "where t.namespace = 'a' and t.name = 'pay') x;")
        return '\n'.join([history.text('plant.sql'), f'insert into habit (n, namespace, name) values {rows};', other, *self.lines,
                          'drop table if exists public.told; create table public.told as select t.at, h.namespace, h.name as tool, t.decision, t.ms '
                          'from told t join habit h on h.n = t.tool;',
                          f"select pg_temp.at('{instant(self.now)}');"])


MS = "floor(extract(epoch from {}) * 1000)::bigint"


def table(cluster, text):
    return [collections.namedtuple('row', row)(**row) for row in cluster.rows(text)]


class Ledger:
    """The tables, as they are."""

    def __init__(self, cluster, now):
        self.now = now
        self.tool = {t.version: t for t in table(cluster, "select version::text, namespace, name, keep_key_ms, business_window_ms, max_attempts, "
                                                          "registered_at, lease_ms, probe_timeout_ms, keep_result_ms, turn_budget, turn_asks from effect.tool")}
        ms = MS.format
        self.rows = table(cluster, f"select id, business, policy::text, state, outcome, run, key, owner, attempt, base, extra, extended, {ms('claimed_at')} claimed, "
                                   f"{ms('done_at')} done, {ms('lease_until')} lease, {ms('since')} since, {ms('due_at')} due, {ms('deadline_at')} deadline from effect.ledger")
        self.past = table(cluster, f"select id, business, policy::text, {ms('claimed_at')} claimed, {ms('done_at')} done, {ms('forgotten_at')} forgotten from effect.past")
        self.events = table(cluster, f"select id, effect, {ms('at')} as at, kind, decided_by, reason, detail, incident, tool from effect.event order by id")
        self.turns = table(cluster, f"select namespace, tool, run, turn, grants, asks, refused, {ms('first_at')} first, {ms('due_at')} due from effect.turn")
        self.told = table(cluster, f"select {ms('at')} as at, namespace, tool, decision, ms from public.told")
        self.by_id = {r.id: r for r in self.rows}
        self.names = {cluster_id: name for cluster_id, name in self.ids(cluster)}

    @staticmethod
    def ids(cluster):
        pairs = [(t['namespace'], t['name'], key) for t in TOOLS for key in KEYS]
        values = ', '.join('(' + ', '.join(map(quoted, pair)) + ')' for pair in pairs)
        for row in cluster.rows(f'select effect.id(v.a, v.b, v.c) as id, v.a, v.b, v.c from (values {values}) v(a, b, c)'):
            yield row['id'], (row['a'], row['b'], row['c'])

    def interesting(self):
        """Instants at whose edges something may be in a window or not."""
        return [at for r in self.rows + self.past for at in (r.claimed, r.done) if at] + [p.forgotten for p in self.past] + [e.at for e in self.events] + [self.now]


# ---- the oracle ------------------------------------------------------------------------------------------------------------------

Life = collections.namedtuple('Life', 'id business policy claimed end forgotten state')


class Oracle:
    def __init__(self, ledger, start, to, namespace, tool):
        self.l, self.start, self.to, self.namespace, self.tool = ledger, start - start % MINUTE, to, namespace, tool

    def scoped(self, namespace, tool):
        return self.namespace in (None, namespace) and self.tool in (None, tool)

    def name_of(self, policy):
        t = self.l.tool[policy]
        return t.namespace, t.name

    def inside(self, at):
        return at is not None and self.start <= at < self.to

    def lives(self):
        """All that may have landed."""
        rows = [Life(r.id, r.business, r.policy, r.claimed, math.inf if r.done is None else r.done, None, r.outcome or r.state) for r in self.l.rows
                if r.done is None or (r.state == 'done' and r.outcome == 'succeeded')]
        past = [Life(p.id, p.business, p.policy, p.claimed, p.done, p.forgotten, 'succeeded') for p in self.l.past]
        return [life for life in rows + past if self.scoped(*self.name_of(life.policy))]

    def duplicates(self, within):
        lives, found = self.lives(), []
        for d in (life for life in lives if self.inside(life.claimed)):
            pairs = []
            twins = [t for t in lives if t.business and t.business == d.business and self.name_of(t.policy) == self.name_of(d.policy)
                     and (t.claimed, t.id) < (d.claimed, d.id) and t.id != d.id]
            if twins:
                end = max(t.end for t in twins)
                window = self.l.tool[d.policy].business_window_ms
                gap = max(d.claimed - end, 0)
                last = [t for t in twins if t.end == end]
                expired = all(t.forgotten is not None and t.forgotten <= d.claimed for t in last)
                if gap <= within if within is not None else (d.claimed - max(t.forgotten for t in last) if expired else gap) <= window:
                    pairs.append((gap, 'business_expired' if expired else 'business', {t.id for t in last}))
            former = [t for t in lives if t.id == d.id and t.claimed < d.claimed and t.forgotten is not None and self.l.tool[t.policy].keep_key_ms > 0]
            if former:
                end = max(t.end for t in former)
                pairs.append((d.claimed - end, 'key_expired', {d.id}))
            if not pairs:
                continue
            gap, how, twin = min(pairs, key=lambda pair: pair[0])
            hows = {p[1] for p in pairs if p[0] == gap}
            words = [e.detail or '' for e in self.l.events if e.kind == 'duplicate' and e.decided_by == 'caller' and e.effect == d.id
                     and self.inside(min(e.at, self.to - 1)) and d.claimed <= e.at < d.claimed + MINUTE and how != 'key_expired']
            found.append({'effect': d.id, 'claimed': d.claimed, 'gap_ms': gap, 'how': hows, 'twin': set().union(*(p[2] for p in pairs if p[0] == gap)),
                          'again': words[0] if words else None, 'outcome': d.state})
        return sorted(found, key=lambda f: (f['again'] is not None, -f['claimed'], f['effect']))

    def churn(self, keys_min):
        groups = collections.defaultdict(lambda: collections.defaultdict(list))
        for r in self.l.rows:
            if r.business and r.run and self.inside(r.claimed) and self.scoped(*self.name_of(r.policy)):
                groups[(*self.name_of(r.policy), r.business, r.run)][r.key].append((r.claimed, True))
        for e in self.l.events:
            if e.kind != 'refused' or not e.reason.startswith('held: ') or e.detail is None or not self.inside(e.at):
                continue
            r = self.l.by_id.get(e.effect) or max((p for p in self.l.past if p.id == e.effect), key=lambda p: p.claimed, default=None)
            if r and r.business and self.scoped(*self.name_of(r.policy)):
                groups[(*self.name_of(r.policy), r.business, e.detail)][e.reason[6:]].append((e.at, False))
        found = []
        for (namespace, tool, _, run), keys in groups.items():
            if len(keys) >= keys_min:
                ats = [at for one in keys.values() for at, _ in one]
                first = sorted(keys, key=lambda key: (min(at for at, _ in keys[key]), key))[:5]
                found.append((namespace, tool, run, len(keys), sum(any(g for _, g in one) for one in keys.values()), tuple(first), min(ats), max(ats)))
        return sorted(found)

    def mismatches(self):
        groups = collections.defaultdict(list)
        for e in self.l.events:
            if e.kind == 'refused' and self.inside(e.at) and (e.reason == 'mismatch' or e.reason.startswith('mismatch: ')):
                namespace, tool, key = self.l.names[e.effect]
                if self.scoped(namespace, tool):
                    groups[namespace, tool, e.reason[10:] or None].append((e, key))
        found = []
        for (namespace, tool, fields), events in groups.items():
            effects = {e.effect for e, _ in events}
            runs = self.count('run', namespace, tool)
            rate = round(len(effects) / runs + 1e-12, 4) if runs >= 20 else None
            newest = max(e.at for e, _ in events)
            found.append((namespace, tool, fields, len(events), len(effects), rate, min(e.at for e, _ in events), newest))
        return sorted(found, key=str)

    def counted(self, decision, namespace, tool):
        """The told ones whose slot begins in the window."""
        return [t for t in self.l.told if t.decision == decision and t.namespace == namespace and t.tool == tool and self.inside(slot(t.at, self.l.now))]

    def count(self, decision, namespace, tool):
        return len(self.counted(decision, namespace, tool))

    def reruns(self, namespace, tool):
        n = 0
        for d in [*self.l.rows, *self.l.past]:
            former = [p for p in self.l.past if p.id == d.id and p.claimed < d.claimed and p.forgotten <= d.claimed]
            if self.inside(d.claimed) and former:
                last = max(former, key=lambda p: p.done)
                n += self.name_of(last.policy) == (namespace, tool) and self.l.tool[last.policy].keep_key_ms > 0
        return n

    def budgets(self):
        found = collections.defaultdict(lambda: [0, 0, None, None, 0, 0])
        for t in self.l.turns:
            if self.scoped(t.namespace, t.tool) and t.first < self.to and t.due - 30 * DAY >= self.start:
                f = found[t.namespace, t.tool]
                f[0] += 1
                f[1] += t.refused > 0
                f[2], f[3] = max(f[2] or 0, t.grants), max(f[3] or 0, t.asks)
                f[4] += t.refused
        for r in self.l.rows:
            if self.scoped(*self.name_of(r.policy)) and r.state == 'released' and self.inside(r.done) \
                    and r.attempt - r.base >= self.l.tool[r.policy].max_attempts + r.extra:
                found[self.name_of(r.policy)][5] += 1
        return sorted((*name, *row) for name, row in found.items())

    def stuck(self):
        found = []
        for r in self.l.rows:
            if not self.scoped(*self.name_of(r.policy)):
                continue
            if r.state == 'unknown' or (r.state == 'pending' and r.lease <= self.l.now):
                since = r.since if r.state == 'unknown' else r.lease
                found.append((r.id, r.state, r.attempt, instant(since), self.l.now - since))
        return sorted(found)

    def escalated(self):
        return sorted((r.id, r.attempt, instant(r.since), self.l.now - r.since) for r in self.l.rows if r.state == 'escalated' and self.scoped(*self.name_of(r.policy)))

    def incidents(self):
        return sorted((e.effect, instant(e.at), e.kind) for e in self.l.events
                      if e.incident and e.tool and self.inside(e.at) and self.scoped(*self.l.names[e.effect][:2]))


def slot(at, now):
    """Where a count stands, when all that is old was rolled up: the beginning of its minute, hour or day."""
    minutes_from = (now - 48 * HOUR) // HOUR * HOUR
    days_from = (now - 90 * DAY) // DAY * DAY
    if at < days_from:
        return at // DAY * DAY
    return at // HOUR * HOUR if at < minutes_from else at // MINUTE * MINUTE


# ---- comparing -------------------------------------------------------------------------------------------------------------------

FAULTS = []


def same(got, want, what):
    if got != want:
        FAULTS.append(f'{what}\n  got  {got}\n  want {want}')


def told_of(cluster, jobs):
    """The bodies of many reports in one session."""
    calls = [f"(select body from effect.report(null, {quoted(name)}, {quoted(namespace)}, {quoted(tool)}, {quoted(start)}, {quoted(to)}, {limit}, "
             f"{'null' if within is None else within}, {keys_min}))" for name, namespace, tool, start, to, limit, within, keys_min in jobs]
    texts = cluster.psql(*[f'select {call}' for call in calls]).split('\n')
    bodies = []
    for text in texts:
        body = json.loads(text)
        body['rows'] = [dict(zip(body['columns'], row)) for row in body['rows']]
        bodies.append(body)
    return bodies


def ms_of(text):
    return round(datetime.datetime.fromisoformat(text.replace('Z', '+00:00')).timestamp() * 1000)


def judge(name, body, oracle, limit, within, keys_min, what):
    rows = body['rows']
    if name == 'duplicates':
        want = oracle.duplicates(within)
        same(body['n'], len(want), f'{what}: n')
        same(len(rows), min(limit, len(want)), f'{what}: rows')
        for row, one in zip(rows, want):
            same((row['effect'], ms_of(row['claimed_at']), row['gap_ms'], row['again'], row['outcome']),
                 (one['effect'], one['claimed'], one['gap_ms'], one['again'], one['outcome']), f'{what}: row')
            same((row['how'] in one['how'], row['twin'] in one['twin']), (True, True), f'{what}: how and twin {row} {one}')
        same(len(body['findings']), sum(one['again'] is None for one in want), f'{what}: findings')
    elif name == 'churn':
        if limit >= body['n']:
            same(sorted((r['namespace'], r['tool'], r['run'], r['n_keys'], r['granted'], tuple(r['keys']), ms_of(r['first_at']), ms_of(r['last_at'])) for r in rows),
                 oracle.churn(keys_min), what)
        same((body['n'], len(rows)), (len(oracle.churn(keys_min)), min(limit, body['n'])), f'{what}: n')
    elif name == 'mismatches':
        if limit >= body['n']:
            same(sorted(((r['namespace'], r['tool'], r['fields'], r['n'], r['effects'], r['effects_rate'], ms_of(r['first_at']), ms_of(r['last_at'])) for r in rows), key=str),
                 oracle.mismatches(), what)
        same(body['n'], len(oracle.mismatches()), f'{what}: n')
    elif name == 'budgets':
        if limit >= body['n']:
            same(sorted((r['namespace'], r['tool'], r['turns'], r['turns_spent'], r['grants_max'], r['asks_max'], r['refused'], r['attempts_spent']) for r in rows),
                 oracle.budgets(), what)
    elif name == 'stuck' and limit >= body['n']:
        same(sorted((r['effect'], r['state'], r['attempt'], r['since_at'], r['age_ms']) for r in rows), oracle.stuck(), what)
    elif name == 'escalated' and limit >= body['n']:
        same(sorted((r['effect'], r['attempt'], r['since_at'], r['age_ms']) for r in rows), oracle.escalated(), what)
        same(len(body['findings']), body['n'], f'{what}: each is a finding')
    elif name == 'incidents' and limit >= body['n']:
        same(sorted((r['effect'], r['noted_at'], r['kind']) for r in rows if r['tool']), oracle.incidents(), what)
    elif name in ('summary', 'timeouts', 'retention') and limit >= body['n']:
        counts(name, rows, oracle, what)


CLAIMS = 'run replay busy mismatch unknown escalated exhausted held'.split()


def near(got, ages, quantile, what):
    """Known by powers of two."""
    if not ages:
        same(got, None, what)
        return
    true = sorted(ages)[max(math.ceil(quantile * len(ages)), 1) - 1]
    if not (true / 2 - 1 <= got <= true * 2 + 1):
        FAULTS.append(f'{what}: {got} of {true}')


def counts(name, rows, oracle, what):
    for row in rows:
        place = row['namespace'], row['tool']
        n = lambda *decisions: sum(oracle.count(d, *place) for d in decisions)
        ages = lambda *decisions: [t.ms for d in decisions for t in oracle.counted(d, *place)]
        where = f'{what}: {place}'
        if name == 'summary':
            same([row[c] for c in ('calls', 'runs', 'replays', 'busy', 'mismatch', 'unknown', 'escalated', 'exhausted', 'held', 'completed', 'failed', 'late', 'gave_up',
                                   'released', 'escalated_effects', 'resolved')],
                 [n(*CLAIMS), *(n(d) for d in CLAIMS), n('completed'), n('failed'), n('late'), n('gave_up'), n('released'), n('escalated_effect'),
                  n('resolved_probe', 'resolved_caller', 'resolved_operator')], where)
            total = n(*CLAIMS)
            same(row['busy_rate'] is None, total < 20, f'{where}: rate')
            near(row['resolve_p50_ms'], ages('resolved_probe', 'resolved_caller', 'resolved_operator'), 0.5, f'{where}: resolve p50')
        elif name == 'timeouts':
            same([row[c] for c in ('n', 'lapsed', 'gave_up', 'late')], [n('completed', 'failed', 'error'), n('lapsed'), n('gave_up'), n('late')], where)
            near(row['p99_ms'], ages('completed', 'failed', 'error'), 0.99, f'{where}: p99')
        else:
            held = [r for r in oracle.l.rows if oracle.name_of(r.policy) == place]
            same([row[c] for c in ('n', 'expired', 'rows', 'reruns')], [n('replay_age'), n('expired'), len(held), oracle.reruns(*place)], where)
            same(row['n'], sum(row[c] for c in ('under_1m', 'under_1h', 'under_1d', 'under_7d', 'under_30d', 'over_30d')), f'{where}: each in one place')
            near(row['oldest_ms'], ages('replay_age'), 1, f'{where}: oldest')


REPORTS = ('duplicates', 'churn', 'mismatches', 'budgets', 'stuck', 'escalated', 'incidents', 'summary', 'timeouts', 'retention')

FILL = """truncate effect.stat;
insert into effect.stat (minute, namespace, tool, decision, n, ms_log2)
select date_trunc('minute', c.at), c.namespace, c.tool, c.decision, count(*), array[{places}]::bigint[]
from (select *, case when ms < 1 then 1 else least(floor(ln(ms + 0.5) / ln(2))::int + 2, 40) end as place from public.told where decision <> '') c
group by 1, 2, 3, 4;"""


def clock(cluster, now):
    """The ledger's clock stands."""
    cluster.psql(f"create or replace function effect.now() returns timestamptz language sql volatile parallel safe as $$ select '{instant(now)}'::timestamptz $$")


def one(cluster, start_ms):
    cluster.psql('truncate effect.ledger, effect.event, effect.past, effect.turn, effect.stat restart identity',
                 'delete from effect.tool t where exists (select from effect.tool o where o.version = t.version # 1 and o.registered_at > t.registered_at)')
    play = Play(start_ms)
    for _ in range(STEPS):
        play.step()
    history.run_sql(cluster, play.script())
    clock(cluster, play.now)
    is_(cluster.invariants(), [], 'a ledger by random calls')
    places = ', '.join(f'count(*) filter (where c.place = {place})' for place in range(1, LOG2_PLACES + 1))
    cluster.psql(FILL.format(places=places))
    cluster.psql('do $$ declare v record; begin loop select * into v from effect.stat_roll(7); exit when v.moved + v.dropped = 0; end loop; end $$')
    ledger = Ledger(cluster, play.now)
    note(f'{len(ledger.rows)} rows, {len(ledger.past)} past, {len(ledger.events)} events, {len(ledger.told)} told, {len(ledger.turns)} turns')
    edges, jobs = ledger.interesting(), []
    for _ in range(WINDOWS):
        start, to = sorted((random.choice(edges) + random.choice((0, 0, 1, -1)), random.choice(edges) + random.choice((0, 0, 1, -1))))
        if random.random() < 0.3:
            start, to = start_ms - random.choice((HOUR, DAY, 700 * DAY)), play.now + 1
        if start - start % MINUTE >= to:
            continue
        place = random.choice(((None, None), (None, None), ('a', None), (None, 'pay'), ('b', 'pay'), ('a', 'mail')))
        for name in random.sample(REPORTS, 5) + ['duplicates']:
            within = random.choice((None, None, 0, MINUTE, HOUR, 30 * DAY)) if name == 'duplicates' else None
            jobs.append((name, *place, instant(start), instant(to), random.choice((1, 2, 1000)), within, random.choice((2, 3))))
    for job, body in zip(jobs, told_of(cluster, jobs)):
        name, namespace, tool, start, to, limit, within, keys_min = job
        judge(name, body, Oracle(ledger, ms_of(start), ms_of(to), namespace, tool), limit, within, keys_min, ' '.join(map(str, job)))
    return len(jobs)


def main():
    seed()
    # a session's zone changes nothing
    with Cluster({'timezone': 'Europe/Berlin'}) as cluster:
        with Daemon(cluster, tools=[{'class': 'irreversible', **t} for t in TOOLS], config=''.join(
                f'namespace {n} {{ wrappers = {{"user:{os.getuid()}"}} operators = {{"user:{os.getuid()}"}} }}\n' for n in 'ab')) as daemon:
            daemon.ready()
            wait_until(lambda: int(cluster.psql("select count(*) from effect.tool where name <> ''")) == len(TOOLS), 20, 'the policies are told')
            daemon.stop()
        cluster.psql("delete from effect.tool where name = ''")
        for round_ in range(ROUNDS):
            # the night in which Berlin's clocks go back, and others
            start = ms_of(random.choice(('2026-10-24T22:00:00Z', '2026-03-28T23:00:00Z', '2026-06-30T20:00:00Z')))
            n = one(cluster, start)
            ok(not FAULTS, f'round {round_}: {n} reports say what the oracle says', '\n' + '\n'.join(FAULTS[:10]) + f'\n{len(FAULTS)} faults')
            FAULTS.clear()
    done()


main()
