"""A seeded history of a ledger: effects over 30 days, with planted faults, in a cluster of the caller's.

    history = build(cluster, n=50000, seed=1)
    history['from'], history['to']          the window: 30 days
    history['planted']                      what each report must find, and nothing else

The schema and the policies are installed by a daemon that is stopped again; what is planted is written by the functions of effect
at instants of the history; the background of n effects is inserted. The same seed gives the same history, but for its end, which is
now. effect.check_invariants() finds nothing in it.
"""
import datetime
import os
import subprocess

import habits
import plants
from harness import PG_CLIENT_BIN, Daemon, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
DAYS = 30
PLACES = 40  # of a histogram, as the daemon counts

FORMER = '''
update effect.schema_version set installed_at = :'end'::timestamptz - interval '31 days';
update effect.tool set registered_at = :'end'::timestamptz - interval '20 days';
insert into effect.tool (version, registered_at, lease_ms, hold_max_ms, settle_ms, probe_timeout_ms, escalate_after_ms,
  keep_result_ms, keep_key_ms, business_window_ms, result_max, retry_window_ms, max_attempts, absent_needed, turn_budget, turn_asks,
  has_probe, namespace, name, on_error, on_unknown, on_business_duplicate, result_secret, policy, probe_backoff_ms)
select version # 1, registered_at - interval '20 days', lease_ms, hold_max_ms, settle_ms, probe_timeout_ms, escalate_after_ms,
  keep_result_ms, keep_key_ms, business_window_ms, result_max, retry_window_ms, max_attempts, absent_needed, turn_budget, turn_asks,
  has_probe, namespace, name, on_error, on_unknown, on_business_duplicate, result_secret, policy, probe_backoff_ms
from effect.tool;
'''


def text(name):
    with open(os.path.join(HERE, name), encoding='utf-8') as source:
        return source.read()


def config():
    """Of a daemon that serves the history's namespaces: whoever runs it may do everything."""
    me = f'user:{os.getuid()}'
    return ''.join(f'namespace {name} {{\n\twrappers = {{"{me}"}}\n\toperators = {{"{me}"}}\n}}\n'
                   for name in sorted({tool['namespace'] for tool in habits.TOOLS}))


def install(cluster):
    """The schema, and the policies as a daemon registers them."""
    with Daemon(cluster, tools=habits.policies(), config=config()) as daemon:
        daemon.ready()
        told = "select count(*) from effect.tool where name <> ''"
        wait_until(lambda: int(cluster.psql(told)) == len(habits.TOOLS), 20, 'the policies are told')
        daemon.stop()
    cluster.psql("delete from effect.tool where name = ''", 'truncate effect.stat')
    if cluster.psql("select to_regclass('effect.daemon') is not null") == 't':
        cluster.psql('truncate effect.daemon')


def run_sql(cluster, script, **variables):
    """One session for all of it."""
    argv = [os.path.join(PG_CLIENT_BIN, 'psql'), '-h', cluster.dir, '-U', 'postgres', '-d', 'effectd', '-XAtq', '-v', 'ON_ERROR_STOP=1']
    for name, value in variables.items():
        argv += ['-v', f'{name}={value}']
    done = subprocess.run(argv + ['-o', '/dev/null', '-f', '-'], input=script, capture_output=True, text=True, check=False, cwd='/')
    if done.returncode:
        raise RuntimeError(f'psql: {done.stderr.strip()[-3000:]}')


def build(cluster, n=50000, seed=1, only=None):
    """Fills the cluster's database `effectd`. only: the one tool that all of the background is of, nothing planted."""
    install(cluster)
    end = cluster.psql("select to_char(date_trunc('second', now() at time zone 'UTC'), 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')")
    planted = plants.all_of(seed) if only is None else []
    places = ', '.join(f'coalesce(sum(c.n) filter (where c.place = {place}), 0)' for place in range(1, PLACES + 1))
    script = [text('plant.sql'), habits.table(only), FORMER]
    for at_ms, call in sorted((step for p in planted for step in p.steps), key=lambda step: step[0]):
        script.append(f"select pg_temp.at(:'end'::timestamptz - interval '{-at_ms} ms'); select pg_temp.{call};")
    script.append("select pg_temp.at(:'end'); select pg_temp.retain();")
    script += [text('bulk.sql'), text('stat.sql').replace(':places', places)]
    run_sql(cluster, '\n'.join(script), n=n, seed=seed, days=DAYS, end=end)
    start = datetime.datetime.fromisoformat(end.replace('Z', '+00:00')) - datetime.timedelta(days=DAYS)
    ids = {}
    for p in planted:
        for found in p.finds:
            if found.get('key'):
                ids[(p.tool['namespace'], p.tool['name'], found['key'])] = None
    for place in ids:
        ids[place] = cluster.psql('select effect.id({})'.format(', '.join("'" + word.replace("'", "''") + "'" for word in place)))
    found = [{**{k: v for k, v in f.items() if k != 'key'}, 'plant': p.name,
              **({'effect': ids[(p.tool['namespace'], p.tool['name'], f['key'])]} if f.get('key') else {})} for p in planted for f in p.finds]
    return {'seed': seed, 'effects': n, 'from': start.strftime('%Y-%m-%dT%H:%M:%SZ'), 'to': end, 'planted': found}


EXPORT = """select row_number() over (order by l.claimed_at) as n, l.id::text as key, coalesce(l.kept::json ->> '/order_id', '') as "order",
  coalesce(l.kept::json ->> '/line', '') as line, coalesce(l.kept::json ->> '/amount', '1.00') as amount,
  to_char(l.claimed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created
from effect.ledger l join effect.tool t on t.version = l.policy
where t.namespace = 'payments' and t.name = 'refund_order' and l.state = 'done' and l.outcome = 'succeeded'"""


def export(cluster, source):
    """What the provider of refund_order has in its books, but for what is planted in it: (rows, {class of reconcile: [references]})."""
    rows = [{'id': f're_{row.pop("n")}', **row} for row in cluster.rows(EXPORT)]
    chosen = iter(source.sample(rows[len(rows) // 10:-len(rows) // 10], 14))
    planted = {name: [next(chosen) for _ in range(n)] for name, n in
               (('missing_at_provider', 4), ('differs', 4), ('doubled', 3), ('bypassed', 3))}
    found = {name: [row['key' if name == 'missing_at_provider' else 'id'] for row in some] for name, some in planted.items()}
    gone = {row['id'] for row in planted['missing_at_provider']}
    rows = [row for row in rows if row['id'] not in gone]
    for row in planted['differs']:
        row['amount'] = '0' + row['amount'] + '7'
    for n, row in enumerate(planted['doubled']):
        rows.append({**row, 'id': f're_again_{n}'})
        found['doubled'].append(f're_again_{n}')
    for n, row in enumerate(planted['bypassed']):  # what it has is nobody's; the effect beside it is fine
        rows.append({**row, 'id': f're_nobody_{n}', 'key': '' if n else f'{row["key"][:-1]}x', 'order': f'nobody {n}'})
        found['bypassed'][n] = f're_nobody_{n}'
    return rows, {'rows': len(rows), **{name: sorted(what) for name, what in found.items()}}
