#!/usr/bin/python3
"""reconcile against an oracle: small random ledgers and exports, with times and amounts in every spelling, by provider key, by business
key and by both; the classes are what brute force makes of both sides by the words of effectctl(1)."""
import collections
import csv
import datetime
import decimal
import io
import json
import math
import random
import subprocess

from harness import *

UTC = datetime.timezone.utc
M = 60000
ROUNDS = rounds_of(40, 1000)
TOOL = {'name': 'refund', 'keep': ['/order', '/amount'], 'business_key': ['/order'], 'business_window': '1h',
        'reconcile': {'columns': {'provider_key': 'key', 'business_key': 'order', 'time': 'created', 'amount': 'amount', 'reference': 'id'},
                      'compare': {'/amount': 'amount'}}}
FIELDS = ['id', 'key', 'order', 'created', 'amount']
AMOUNTS = ['12.50', '12.5', '0', '1000', '-3.10', '7', '99999999999999999999.01']
LANDED = {'unknown': 'landed_open', 'released': 'landed_though_released', 'failed': 'landed_though_failed'}
BUSINESS = """create function public.business(p_text text) returns uuid language sql immutable as $$
select encode(substring(sha256(int4send(7) || 'default' || int4send(6) || 'refund' || int4send(octet_length(p_text)) || convert_to(p_text, 'UTF8')) for 16),
  'hex')::uuid $$"""

Effect = collections.namedtuple('Effect', 'id business claimed done state attempt amount')
Row = collections.namedtuple('Row', 'id business time amount')


def iso(ms):
    return datetime.datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec='milliseconds').replace('+00:00', 'Z')


def time_text(ms):
    zone = datetime.timezone(datetime.timedelta(hours=random.choice((-11, 5, 14)), minutes=random.choice((0, 30))))
    return random.choice((iso(ms), datetime.datetime.fromtimestamp(ms / 1000, zone).isoformat(timespec='milliseconds'), f'{ms // 1000}.{ms % 1000:03d}', str(ms),
                          iso(ms).replace('T', ' '), iso(ms).replace('Z', '+00:00')))


def amount_text(amount):
    value = decimal.Decimal(amount)
    return random.choice((amount, '00' + amount if value >= 0 else amount, f'{value:.3f}', f'{value * 100}e-2', f'{value:+.2f}', f'{value / 10}E1'))


# ---- the oracle ------------------------------------------------------------------------------------------------------------------

def pairs_of(effects, rows, slack):
    """{row: its effect}: by provider key; else by business key the one that was under way at its time, else the latest before."""
    by_id = {e.id: e for e in effects}
    found = {i: by_id[row.id] for i, row in enumerate(rows) if row.id in by_id}
    left = sorted((e for e in effects if e not in found.values()), key=lambda e: (e.claimed, e.id))
    for i in sorted(set(range(len(rows))) - set(found), key=lambda i: rows[i].time):
        fits = [e for e in left if e.business == rows[i].business and e.claimed <= rows[i].time + slack]
        under_way = [e for e in fits if e.done is None or rows[i].time <= e.done + slack]
        if fits:
            found[i] = (under_way or fits)[-1]
            left.remove(found[i])
    return found


def doubles_of(effects, rows, window):
    """Of one effect's provider key, or of one business key with the next of it within the window."""
    ids = collections.Counter(row.id for row in rows)
    found = {i for i, row in enumerate(rows) if ids[row.id] > 1 and row.id in {e.id for e in effects}}
    order = sorted(range(len(rows)), key=lambda i: (rows[i].business, rows[i].time))
    for i, j in zip(order, order[1:]):
        if rows[i].business == rows[j].business and rows[j].time - rows[i].time <= window:
            found |= {i, j}
    return found


def classes_of(effects, rows, start, to, slack, window):
    told = collections.Counter()
    effects = [e for e in effects if e.attempt > 1 or (e.claimed <= to + slack + 1 and (e.done is None or e.done >= start - slack))]
    found, doubled = pairs_of(effects, rows, slack), doubles_of(effects, rows, window)
    for i, row in enumerate(rows):
        e, what = found.get(i), None
        if e:
            what = LANDED.get(e.state)
            if e.state == 'done' and (decimal.Decimal(e.amount) != decimal.Decimal(row.amount) or e.business != row.business):
                what = 'differs'
        if what:
            told[what] += 1
        if i in doubled:
            told['doubled'] += 1
        elif not what:
            told['matched' if e else 'bypassed' if start <= row.time <= to else 'outside'] += 1
    for e in effects:
        if e in found.values():
            continue
        missing = e.state == 'done' and e.claimed >= start + slack and e.done <= to - slack
        told['open' if e.state == 'unknown' else 'not_landed' if e.state != 'done' else 'missing_at_provider' if missing else 'not_judged'] += 1
    return dict(told)


# ---- both sides ------------------------------------------------------------------------------------------------------------------

def ledger(cluster, base, round_):
    effects, values = [], []
    cluster.psql('truncate effect.ledger')
    keys = [f'{round_} {n}' for n in range(random.randint(3, 25))]
    ids = cluster.psql('select ' + " || ' ' || ".join(f"effect.id('default', 'refund', '{key}')" for key in keys)).split(' ')
    for key, id_ in zip(keys, ids):
        state = random.choice(['done'] * 6 + ['failed', 'released', 'unknown'])
        claimed = base + random.choice((0, 15, 30, 60, 61, 90, 120, 240, 600)) * M + random.choice((0, 0, 1, -1, random.randint(0, M)))
        done_ = claimed + random.choice((0, 1, 1000, 20 * M)) if state != 'unknown' else None
        e = Effect(id_, random.choice('ABCDEFGHI'), claimed, done_, state, random.choice((1, 1, 1, 2)), random.choice(AMOUNTS))
        effects.append(e)
        amount = random.choice((e.amount, f'"{e.amount}"'))
        settled = state in ('done', 'failed')
        outcome = {'done': "'succeeded'", 'failed': "'failed'"}.get(state, 'null')
        since = 'null' if done_ else f"'{iso(claimed)}'"
        values.append(f"('{id_}', gen_random_uuid(), public.business('{e.business}'), '{iso(claimed)}', {repr(iso(done_)) if done_ else 'null'}, {e.attempt}, "
                      f"'{'done' if settled else state}', {outcome}, {repr('caller') if settled else 'null'}, {repr('omitted') if settled else 'null'}, '{key}', "
                      f"'{{\"/order\":\"{e.business}\",\"/amount\":{amount}}}', {since})")
    cluster.psql("insert into effect.ledger (id, token, policy, business, claimed_at, due_at, keep_until, done_at, attempt, state, outcome, decided_by, result_state, "
                 "key, kept, since, ended_at, deadline_at) select v.id::uuid, v.token, t.version, v.business, v.claimed::timestamptz, now() + interval '1 d', "
                 "now() + interval '1 d', v.done::timestamptz, v.attempt, v.state::effect.state, v.outcome::effect.outcome, "
                 "v.by::effect.decider, v.result::effect.result_state, v.key, v.kept, v.since::timestamptz, v.since::timestamptz, case when v.since is not null then now() + interval '1 d' end "
                 f"from (values {', '.join(values)}) v(id, token, business, claimed, done, attempt, state, outcome, by, result, key, kept, since), effect.tool t "
                 "where t.name = 'refund'")
    return effects


def book(effects, base):
    """No two of a business key at one instant, whose order is nobody's."""
    rows, taken = [], set()
    plan = [e for e in effects for _ in range(random.choice((0, 1, 1, 1, 1, 2)))] + [None] * random.randint(1, 4)
    for e in plan:
        if e:
            row = Row(e.id if random.random() < 0.7 else random.choice(('', 'no uuid')), e.business if random.random() < 0.93 else 'other',
                      e.claimed + random.choice((0, 1000, -14 * M, 15 * M, 15 * M + 1, 50 * M, 180 * M)), e.amount if random.random() < 0.85 else '5')
        else:
            row = Row(random.choice(('', f'00000000-0000-4000-8000-{random.randint(0, 9):012x}')), random.choice(('A', 'Z')), base + random.randint(-60, 700) * M, '3')
        while (row.business, row.time) in taken:
            row = row._replace(time=row.time + 1)
        taken.add((row.business, row.time))
        rows.append(row)
    random.shuffle(rows)
    return rows


def text_of(rows):
    lines = [dict(zip(FIELDS, (f're_{n}', random.choice((row.id, row.id.upper())), row.business, time_text(row.time), amount_text(row.amount))))
             for n, row in enumerate(rows)]
    if random.random() < 0.5:
        return ''.join(json.dumps(line) + random.choice(('\n', '\r\n')) for line in lines)
    out = io.StringIO(newline='')
    writer = csv.DictWriter(out, FIELDS, quoting=random.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)), lineterminator=random.choice(('\n', '\r\n')))
    writer.writeheader()
    writer.writerows(lines)
    return random.choice(('', '\ufeff')) + out.getvalue()


def main():
    seed()
    faults = []
    with Cluster() as cluster, Daemon(cluster, tools=[TOOL], config='sweep_interval = "1h"\n').ready() as daemon:
        cluster.psql("update effect.schema_version set installed_at = now() - interval '1 year'", BUSINESS)
        wait_until(lambda: cluster.psql("select count(*) from effect.tool where name = 'refund'") == '1', 20, 'the policy is told')
        base = math.floor(float(cluster.psql('select extract(epoch from now())')) / 60) * M - 3 * 1440 * M
        for round_ in range(ROUNDS):
            effects = ledger(cluster, base, round_)
            rows = book(effects, base)
            slack, window = random.choice((15 * M, 0, M)), random.choice((60 * M, 0, 5 * M))
            args = ['--slack', f'{slack}ms', '--window', f'{window}ms']
            start, to = min(row.time for row in rows), max(row.time for row in rows)
            if random.random() < 0.5:
                start, to = base + random.choice((0, 30, 60)) * M, base + random.choice((120, 240, 600)) * M
                args += ['--since', iso(start), '--until', iso(to)]
            run = subprocess.run([program('effectctl'), '-s', daemon.socket, '--json', 'reconcile', '--tool', 'refund', '--from', '-', '-q', *args],
                                 input=text_of(rows).encode(), capture_output=True, timeout=60 * SLOW, check=False)
            got = {name: n for name, n in json.loads(run.stdout).get('classes', {'none': 1}).items() if n}
            want = classes_of(effects, rows, start, to, slack, window)
            if got != want:
                faults.append(f'round {round_}, {args}:\n  got  {got}\n  want {want}\n  {effects}\n  {rows}\n  {run.stdout[:2000]}')
        ok(not faults, f'{ROUNDS} random exports against random ledgers: each class as often as the oracle says', '\n' + '\n'.join(faults[:3]))
    done()


main()
