#!/usr/bin/python3
"""Reports on the wire: the shape of each, in the order of protocol.md; who is shown what; windows; what takes long, is asked for twice,
is lost or given up, while begins go on; and that the numbers are those of the calls that were made."""
import contextlib
import os
import pwd
import re

from harness import *
from harness import SRC
from talk import *
from world import Session

TOOLS = [{'name': 'pay', 'on_error': 'failed'}, {'name': 'mail', 'escalate_after': '0s'}, {'name': 'look', 'class': 'read'}]
OTHER = pwd.getpwnam('nobody')
MEMBERS = {'name', 'from', 'to', 'columns', 'rows', 'n', 'findings', 'counts'}


def documented():
    """{name: its columns}, and {(report, code, level)} of findings, as protocol.md has them."""
    with open(os.path.join(SRC, 'daemon/protocol.md'), encoding='utf-8') as page:
        text = page.read().split('\n## report\n')[1].split('\n## resolve\n')[0]
    columns = {m[1]: m[2].replace('`', '').split() for m in re.finditer(r'^\| `(\w+)` \| [^|`]+ \| (`[^|]+`) \|$', text, re.M)}
    return columns, set(re.findall(r'^\| `(\w+)` \| `(\w+)` \| (warning|advice) \|', text, re.M))


def fits(name, value):
    """Is the cell what its column's name says?"""
    if value is None:
        return True
    if name.endswith('_at'):
        return isinstance(value, str) and re.match(INSTANT, value)
    if name.endswith('_rate') or name == 'dedup_rate_before':
        return isinstance(value, (int, float)) and 0 <= value <= 1
    if name.endswith(('_ms', '_bytes')):
        return isinstance(value, int) and value >= 0
    return isinstance(value, (str, int, float))


def shapes(conn):
    columns, findings = documented()
    ok(len(columns) >= 12, 'all reports stand in protocol.md', sorted(columns))
    for name, want in columns.items():
        answer = conn.call('report', name=name)
        faults = [f'{column} = {cell!r}' for row in answer['rows'] for column, cell in zip(answer['columns'], row) if not fits(column, cell)]
        is_((answer['name'], answer['columns']), (name, want), f'{name}: the columns of protocol.md, in their order')
        ok(set(answer) <= MEMBERS and all(len(row) == len(want) for row in answer['rows']) and answer['n'] >= len(answer['rows']) and not faults,
           f'{name}: rows of cells that are what their columns say', faults)
        like(answer['from'] + answer['to'], r'^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$', f'{name}: its window')
        for finding in answer['findings']:
            ok((finding['report'], finding['code'], finding['level']) in findings, f'{name}: {finding["code"]} stands in protocol.md', finding)


def row_of(conn, tool, **how):
    answer = conn.call('report', name='summary', tool=tool, **how)
    return dict(zip(answer['columns'], answer['rows'][0])) if answer['rows'] else None


def numbers(cluster):
    """What callers were told is what is reported, once the daemon that told it has stopped."""
    with Daemon(cluster, tools=TOOLS) as daemon, daemon.ready().connect() as conn:
        for at in range(20):
            run = claim(conn, f'k{at}', 'pay')
            if at < 12:
                conn.call('complete', **own_ids(run), result=at)
            elif at < 15:
                conn.call('complete', **own_ids(run), outcome='error', result='no')
            elif at < 17:
                conn.call('release', **own_ids(run))
            conn.call('begin', tool='pay', key=f'k{at}')
        conn.call('begin', tool='pay', key='k0', args={'other': 1})
        conn.call('begin', tool='look', key='x')
        is_(daemon.stop(), 0, 'the daemon stops')
    with Daemon(cluster, tools=TOOLS) as daemon, daemon.ready().connect() as conn:
        row = row_of(conn, 'pay')
        is_({name: row[name] for name in ('namespace', 'calls', 'runs', 'replays', 'busy', 'mismatch', 'passed', 'n', 'dedup_rate', 'mismatch_rate', 'completed', 'errors', 'released')},
            {'namespace': 'default', 'calls': 41, 'runs': 22, 'replays': 15, 'busy': 3, 'mismatch': 1, 'passed': 0, 'n': 41, 'dedup_rate': 0.3659, 'mismatch_rate': 0.0244,
             'completed': 12, 'errors': 3, 'released': 2}, 'summary tells what the callers were told')
        is_({name: row_of(conn, 'look')[name] for name in ('calls', 'passed', 'n', 'busy_rate')}, {'calls': 1, 'passed': 1, 'n': 0, 'busy_rate': None},
            'what needs no claim is counted, and is no part of a rate')
        shapes(conn)


def scopes(cluster):
    cluster.psql("insert into effect.stat select date_trunc('minute', now()), ns, tool, what, 30, '{30}' from"
                 " (values ('a', 'of a'), ('b', 'b''s'), ('c', 'of c')) t(ns, tool), unnest('{run,busy}'::text[]) what")
    config = f'socket_mode = "0666"\nnamespace a {{ operators = {{"user:root"}} }}\nnamespace b {{ observers = {{"user:root", "user:{OTHER.pw_name}"}} }}\n' \
             f'namespace c {{ wrappers = {{"user:root"}} }}\n'
    with Daemon(cluster, config=config, tools=TOOLS) as daemon:
        with peer(daemon, OTHER) as other, daemon.connect() as root:
            wait_until(lambda: root.call('info')['ready'])

            def seen(conn, **how):
                answer = conn.call('report', name='summary', **how)
                return [row[1] for row in answer['rows']], [f['tool'] for f in answer['findings']], answer['n']
            is_(seen(other), (["b's"], ["b's"], 1), 'an observer sees his namespace, its rows and its findings')
            is_(seen(root), (['of a', "b's"], ['of a', "b's"], 2), 'who observes one and operates another sees both, and not where he only wraps')
            is_(seen(root, namespace='b'), (["b's"], ["b's"], 1), 'or the one he names')
            is_(seen(root, namespace='b', tool='of a'), ([], [], 0), 'a tool is one of that namespace')
            is_([other.error('report', name='summary', namespace=ns)['data']['name'] for ns in ('a', 'c', 'nowhere')], ['denied'] * 3, 'one that is not his is denied')
            is_(root.error('report', name='summary', namespace='c')['data']['name'], 'denied', 'nor may a wrapper')
            is_([f['next'] for f in root.call('report', name='summary')['findings']],
                ['effectctl list --state pending --namespace a --tool \'of a\'', 'effectctl list --state pending --namespace b --tool \'b\'"\'"\'s\''],
                'what is to be typed is quoted')
            answer = root.call('report', name='summary', limit=1)
            is_((len(answer['rows']), answer['n'], len(answer['findings'])), (1, 2, 2), 'a limit is one of rows, not of what there is, nor of findings')


def params(conn):
    error = conn.error('report', name='sumary')['data']
    is_((error['pointer'], error['why'].startswith("must be one of 'summary', "), "'daily'" in error['why'], "'budgets'" in error['why']), ('/name', True, True, True),
        'an unknown report is answered with those there are')
    is_(conn.error('report', name='summary', within_ms=1000)['data']['pointer'], '/within_ms', 'a gap is one of duplicates only')
    is_(conn.error('report', name='duplicates', keys_min=3)['data']['pointer'], '/keys_min', 'and a number of keys one of churn')
    is_([conn.call('report', name='duplicates', within_ms=1000)['n'], conn.call('report', name='churn', keys_min=2)['n']], [0, 0], 'these have them')
    at = conn.call('report', name='summary')['to']
    is_(conn.error('report', {'name': 'summary', 'from': at, 'to': at})['data']['pointer'], '/from', 'a window ends after it begins')
    is_(conn.error('report', {'name': 'summary', 'from': '9999-01-01T00:00:00Z'})['data']['pointer'], '/from', 'also where it ends now')
    is_(conn.error('report', {'name': 'summary', 'from': '2020-01-01T00:00:00Z', 'to': '2022-06-01T00:00:00Z'})['data']['pointer'], '/from', 'and is no longer than 800 days')
    answer = conn.call('report', {'name': 'summary', 'from': '2020-01-01T00:00:59.9Z', 'to': '2022-01-01T00:00:00.5Z'})
    is_((answer['from'], answer['to'], answer['n']), ('2020-01-01T00:00:00.000Z', '2022-01-01T00:00:00.500Z', 0), 'a window begins with a whole minute, and says so')
    is_(conn.call('report', name='summary', to='2020-01-02T12:00:30Z')['from'], '2020-01-01T12:00:00.000Z', 'with an end alone it is of 24 hours')


@contextlib.contextmanager
def instead(cluster, statement):
    """effect.report_summary begins with that statement."""
    body = cluster.psql("select pg_get_functiondef('effect.report_summary'::regproc)")
    cluster.psql(body.replace('\nbegin\n', f'\nbegin\n  {statement};\n', 1))
    try:
        yield
    finally:
        cluster.psql(body)


def waits(cluster):
    """A report waits for the test's lock."""
    return cluster.psql("select pid from pg_locks where locktype = 'advisory' and objid = 77 and not granted")


def takes_long(cluster, daemon, conn):
    """One report at a time, on a connection of its own, though the config has but one."""
    conn.call('report', name='summary')
    holder = Session(cluster)
    holder.do('select pg_advisory_lock(77)')
    with instead(cluster, 'perform pg_advisory_xact_lock_shared(77)'), daemon.connect() as one, daemon.connect() as two:
        first = one.send('report', name='summary')
        wait_until(lambda: waits(cluster), 30, 'a report is under way')
        second, listed = two.send('report', name='capacity'), two.send('list')
        is_({conn.call('begin', tool='pay', key=f'beside {at}', deadline_ms=60000)['decision'] for at in range(50)}, {'run'}, 'begins go on beside a report')
        for id_, what in ((second, 'report'), (listed, 'list')):
            error = two.recv(id_, timeout_s=60)['error']
            is_((error['code'], error['data']['name'], error['data']['why']), (-32006, 'overloaded', 'another list or report is being made, and it had no turn in time'), f'a {what} that has no turn is told so')
            ok(1000 <= error['data']['retry_after_ms'] <= 5000, 'and when to ask again', error)
        ok(waits(cluster), 'the first one is still waited for, past request_timeout')
        two.send('report', name='summary')
        two.close()  # who is gone keeps nobody waiting
        holder.do('select pg_advisory_unlock(77)')
        is_(one.recv(first, timeout_s=60)['result']['name'], 'summary', 'and is answered in the end')
        holder.do('select pg_advisory_lock(77)')
        first = one.send('report', name='summary')
        cluster.psql(f"select pg_terminate_backend({wait_until(lambda: waits(cluster), 30, 'another is under way')})")
        holder.do('select pg_advisory_unlock(77)')
        answer = one.recv(first, timeout_s=60)
        # within its time it is sent again
        ok('result' in answer or answer['error']['data']['name'] == 'overloaded', 'one whose connection is lost is answered, too', answer)
    holder.close()
    with instead(cluster, "raise exception using errcode = '57014'"):
        error = conn.error('report', name='summary')
        is_((error['data']['name'], error['data']['why']), ('overloaded', 'it took too long: narrow the filter or the window'), 'the end of its time is told as overloaded')
        answer = conn.call('report', name='daily')
        is_([(f['code'], f['report']) for f in answer['findings'] if f['code'] == 'report_failed'][:1], [('report_failed', 'daily')], 'daily says which one')
    with instead(cluster, "raise exception 'no'"):
        is_(conn.error('report', name='summary')['data'], {'name': 'internal'}, 'one that raises says nothing of why')
    ok(conn.call('report', name='summary')['n'] > 0, 'the next is as ever')


def away(cluster, daemon, conn):
    cluster.stop()
    wait_until(lambda: not conn.call('info')['ready'])
    is_(conn.error('report', name='summary')['data']['name'], 'unavailable', 'where the ledger is away, the answer is unavailable')
    cluster.start()
    wait_until(lambda: conn.call('info')['ready'], 60)
    ok(wait_until(lambda: 'result' in conn.recv(conn.send('report', name='summary')), 60), 'and comes when it is back')


def crowded(cluster):
    """The database lets the daemon have no connection more than those for begins."""
    cluster.psql('create role few login connection limit 1', 'grant effect_daemon to few')
    config = {'database_connections': 1, 'request_timeout': '1s', 'auto_migrate': False}
    with Daemon(cluster.conninfo(user='few'), config=config, tools=TOOLS) as daemon, daemon.ready().connect() as conn:
        is_(conn.error('report', name='summary')['data']['name'], 'unavailable', 'a report that can have no connection is unavailable')
        like(daemon.wait_log('for lists and reports'), 'warning.*too many connections', 'the log says why')
        is_(conn.call('begin', tool='pay', key='crowded')['decision'], 'run', 'and begins go on')


def by_sql(cluster):
    """psql of the report role: the same functions, all namespaces."""
    cluster.psql("create role morning login", "grant effect_report to morning")
    ask = "select string_agg(tool, ', ' order by tool) from effect.report_summary({}, null, null, now() - interval '1 h', now() + interval '1 min', 100)"
    is_(cluster.psql(ask.format('null'), user='morning'), "b's, look, of a, of c, pay", 'by psql with no scope: all namespaces')
    is_(cluster.psql(ask.format("'b'"), user='morning'), "b's", 'or one')


with Cluster() as the_cluster:
    numbers(the_cluster)
    scopes(the_cluster)
    with Daemon(the_cluster, config='database_connections = 1\nrequest_timeout = "3s"\n', tools=TOOLS) as the_daemon, the_daemon.ready().connect() as the_conn:
        params(the_conn)
        takes_long(the_cluster, the_daemon, the_conn)
        away(the_cluster, the_daemon, the_conn)
    by_sql(the_cluster)
    crowded(the_cluster)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
