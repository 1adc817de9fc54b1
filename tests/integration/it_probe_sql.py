#!/usr/bin/python3
"""Sql probes against the books of a business: what the rows of a query mean, and every way of not knowing: errors, rights, locks,
silence, a server that stops or dies under way, a standby that may lag. Cases 79 and 81 for sql probes."""
import json
import os
import subprocess

from harness import *
from pooler import PORT, Pooler
from standby import Standby
from talk import *

PASSWORD = 'correct horse battery'
BY_KEY = 'select result from refund where key = $1::uuid'
SETUP = '''create table refund (key uuid primary key, order_id text, result json, at timestamptz not null default now());
create table hidden (key text); create role clerk login; create role prober login password '{password}';
grant select on refund to clerk, prober;
create function pay(key uuid) returns int language sql as 'insert into refund (key) values ($1) returning 1';
create function raises(code text) returns int language plpgsql as $$ begin raise 'as was wished' using errcode = code; end $$;
'''


def policy(name, query=BY_KEY, params=('{provider_key}',), **more):
    sql = {'query': query, 'params': list(params), **{member: more.pop(member) for member in ('database', 'password_file') if member in more}}
    return {'name': name, 'keep': ['/order'], 'settle': '0s', 'absent_needed': 1, 'probe_backoff': ['50ms'], 'escalate_after': '1h',
            'probe': {'sql': sql}, **more}


def open_up(conn, key, tool, **more):
    run = claim(conn, key, tool, **more)
    conn.call('unknown', **own_ids(run))
    return run


def probes(conn, run):
    return [event['reason'] for event in conn.call('get', effect=run['effect'], events=1000)['events'] if event['kind'] == 'probe']


def decided(conn, books):
    """case 81: what landed is found, and recorded as the books spell it."""
    run = claim(conn, 'landed', 'books', args={'order': 'o-7'})
    books.psql(f"""insert into refund values ('{run['provider_key']}', 'o-7', '{{"b" : 1.0, "a":"\\ud800", "a":1e400}}')""")
    conn.call('unknown', **own_ids(run))
    row = wait_state(conn, run['effect'], 'done')
    is_((row['outcome'], row['by']), ('succeeded', 'probe'), 'case 81: a row is landed')
    line = raw_begin(conn, '{"tool":"books","key":"landed","args":{"order":"o-7"}}')
    ok(b'"result":{"b" : 1.0, "a":"\\ud800", "a":1e400},"result_state":"kept"' in line, 'its one column is the result, as the books spell it', line)
    run = claim(conn, 'since', 'since', args={'order': "o'8"})
    books.psql("insert into refund (key, order_id, at) values (gen_random_uuid(), 'o''8', now() - interval '1 day')",
               "insert into refund (key, order_id) values (gen_random_uuid(), 'o''8')")
    conn.call('unknown', **own_ids(run))
    row = wait_state(conn, run['effect'], 'done')
    is_(sorted(row['result']), ['at', 'order_id'], 'a row since the claim, an object of several columns; the one before it is not it')
    is_(row['result']['order_id'], "o'8", 'a param is a value, whatever it holds')
    run = open_up(conn, 'absent', 'books', args={})
    wait_state(conn, run['effect'], 'released')
    again = conn.call('begin', tool='books', key='absent', args={})
    is_((again['decision'], again['attempt']), ('run', 2), 'no row is absent: it runs again')
    conn.call('complete', **own_ids(again))
    run = open_up(conn, 'own', 'ledger')
    is_(wait_state(conn, run['effect'], 'done')['result'], 'own', 'without a database the ledger\'s is asked')


def doubtful(conn, books, kinds, patterns):
    """case 79"""
    holder = subprocess.Popen(['/bin/sh', '-c', f"{{ echo 'begin; lock table locked;'; cat; }} | psql -h {books.dir} -U postgres -d effectd -XAtq"],
                              stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    wait_until(lambda: books.psql("select count(*) from pg_locks where relation = 'locked'::regclass and granted") == '1', 20, 'it is locked')
    runs = {kind: open_up(conn, kind, kind, args={'order': 'x' * 40 + 'ä' * 300}) for kind in kinds}
    for kind, run in runs.items():
        wait_until(lambda: len(probes(conn, run)) >= 2, 60, f'{kind}: it is asked again')
        is_(state_of(conn, run['effect']), 'unknown', f'case 79: {kind} decides nothing')
        like(probes(conn, run)[0], patterns[kind], f'{kind}: the reason says what happened')
    holder.stdin.close()
    holder.wait()
    is_(books.psql('select count(*) from refund where result is null and order_id is null'), '0', 'and nothing was written')
    return runs


def server_away(conn, books):
    """It stops where it stands, it dies under way, it is not there: nobody knows, and others are served meanwhile."""
    run = claim(conn, 'away', 'away')
    books.psql(f"insert into refund values ('{run['provider_key']}', null, '1')")
    books.freeze()
    conn.call('unknown', **own_ids(run))
    wait_until(lambda: len(probes(conn, run)) >= 2, 60, 'a frozen server is asked again')
    like(probes(conn, run)[0], 'timed out|took too long', 'one that stopped did not answer in time')
    is_(conn.call('begin', tool='books', key='meanwhile')['decision'], 'run', 'the others are served meanwhile')
    books.thaw()
    wait_state(conn, run['effect'], 'done')
    run = open_up(conn, 'dies', 'sleeps')
    asleep = "select count(*) from pg_stat_activity where query like '%pg_sleep(100)%' and state = 'active' and pid <> pg_backend_pid()"
    wait_until(lambda: books.psql(asleep) != '0', 20, 'the query is under way')
    books.immediate()
    wait_until(lambda: probes(conn, run), 60, 'its end is recorded')
    like(probes(conn, run)[0], '57P0|closed the connection|terminating', 'one that died under way has said nothing')
    n = len(probes(conn, run))
    wait_until(lambda: len(probes(conn, run)) > n, 60, 'and it is asked again')
    like(probes(conn, run)[-1] + probes(conn, run)[0], 'No such file|refused|closed|57P0', 'where there is no server, too')
    is_(state_of(conn, run['effect']), 'unknown', 'case 79: a server that is away decides nothing')
    books.start()


def secret(conn, daemon, cluster):
    """A password comes out of its file, and goes nowhere else."""
    run = open_up(conn, 'secret', 'password')
    wait_state(conn, run['effect'], 'released')
    run = open_up(conn, 'wrong', 'wrong-password')
    wait_until(lambda: probes(conn, run), 20, 'a wrong password is refused')
    like(probes(conn, run)[0], '28P01', 'and told by its SQLSTATE')
    run = open_up(conn, 'no-file', 'no-file')
    wait_until(lambda: probes(conn, run), 20, 'a file that is not there is found out')
    like(probes(conn, run)[0], '^unstarted: the password file', 'and nobody is asked')
    whole = dump(cluster) + json.dumps(conn.call('tools')) + '\n'.join(daemon.log())
    ok(PASSWORD not in whole and 'wrong horse' not in whole, 'no table, no answer and no log line holds a password')


def behind_a_pooler(conn, books):
    """Nothing of a probe stays in a session that is lent on: one server connection for all of them."""
    pooler = books.pooler or Pooler(books, '', 'psql')
    pooler.restart(default_pool_size='1')
    try:
        wait_until(lambda: os.path.exists(os.path.join(books.dir, f'.s.PGSQL.{PORT}')), 20, 'the pooler listens')
        runs = [open_up(conn, f'pooled-{at}', 'pooled') for at in range(12)]
        for run in runs:
            wait_state(conn, run['effect'], 'released', 60)
        wrong = open_up(conn, 'pooled-wrong', 'pooled-wrong')
        wait_until(lambda: probes(conn, wrong), 30, 'an error behind the pooler')
        like(probes(conn, wrong)[0], '25006', 'is told')
        said = subprocess.run(['psql', '-h', books.dir, '-p', str(PORT), '-U', 'postgres', '-d', 'effectd', '-XAtq', '-c',
                               "select current_setting('transaction_read_only'), current_setting('statement_timeout'), current_setting('lock_timeout'), "
                               "current_setting('client_min_messages')"], capture_output=True, text=True, check=True)
        is_(said.stdout.strip(), 'off|0|0|notice', 'behind a pooler nothing of it stays in the session')
    finally:
        pooler.kill()


def only_a_primary(conn, books, daemon):
    """A standby that lags has not seen what landed: it is not asked, unless the policy says so."""
    with Standby(books) as standby:
        daemon.set_tools([policy('lags', database=standby.conninfo(user='clerk')),
                          policy('either', database=f'host={standby.dir},{books.dir} port=5432 user=clerk dbname=effectd'),
                          policy('lag-is-fine', database=standby.conninfo(user='clerk', target_session_attrs='any'))])
        n = len(daemon.log())
        daemon.hup()
        daemon.wait_log('config and policies are in force', after=n)
        run = open_up(conn, 'lags', 'lags')
        wait_until(lambda: len(probes(conn, run)) >= 2, 30, 'the standby is found out')
        like(probes(conn, run)[0], 'hot standby', 'a standby is not asked')
        is_(state_of(conn, run['effect']), 'unknown', 'what it would not have is not absent')
        run = open_up(conn, 'fine', 'lag-is-fine')
        wait_state(conn, run['effect'], 'released')
        run = open_up(conn, 'either', 'either')
        wait_state(conn, run['effect'], 'released')
        findings = {tool['name']: [f['code'] for f in tool['findings']] for tool in conn.call('tools')['tools']}
        ok('absent_on_standby' in findings['lag-is-fine'] and 'absent_on_standby' not in findings['lags'], 'lint says so', findings)


def main():
    credentials = folder()
    for name, text in (('right', PASSWORD), ('wrong', 'wrong horse')):
        with open(os.path.join(credentials, name), 'w', encoding='ascii') as out:
            out.write(text + '\n')
    books = Cluster()
    hba = os.path.join(books.data, 'pg_hba.conf')
    with open(hba, encoding='ascii') as old:
        rules = old.read()
    with open(hba, 'w', encoding='ascii') as out:
        out.write('local all prober scram-sha-256\n' + rules)
    books.psql('select pg_reload_conf()')
    for statement in (*SETUP.format(password=PASSWORD).split('\n'), 'create table locked (n int)', 'grant select on locked to clerk'):
        books.psql(statement or 'select 1')
    clerk = {'database': f'host={books.dir} port=5432 user=clerk dbname=effectd'}
    pooled = {'database': f'host={books.dir} port={PORT} user=postgres dbname=effectd'}
    prober = {'database': f'host={books.dir} port=5432 user=prober dbname=effectd'}
    kinds = {'two-rows': ('select 1 union all select 2', (), 'more than one row'),
             'no-table': ('select 1 from refunds', (), '42P01: '), 'no-column': ('select nothing from refund', (), '42703: '),
             'no-rights': ('select 1 from hidden', (), '42501: permission denied'), 'no-sql': ('selekt 1', (), '42601: '),
             'writes': ('select pay($1::uuid)', ('{provider_key}',), '25006: cannot execute INSERT in a read-only transaction'),
             'slow': ('select pg_sleep(1000)', (), 'timed out|57014: '), 'locked': ('select n from locked', (), '55P03: |timed out'),
             'wrong-type': ('select 1 from refund where at > $1', ('{/order}',), '22007: '), 'large': ("select repeat('x', 70000)", (), 'more than 65536 bytes'),
             **{f'raises-{code}': (f"select raises('{code}')", (), f'{code}: as was wished') for code in
                ('P0002', '02000', '26000', '40001', '57P01', '57P03', '53300', '08006')}}
    elsewhere = {'no-database': (f'host={books.dir} user=clerk dbname=nowhere', '3D000: '), 'no-role': (f'host={books.dir} user=nobody dbname=effectd', '28000: '),
                 'no-server': ('host=/nonexistent user=clerk', 'No such file'), 'refused': ('host=127.0.0.1 port=1 user=clerk', 'Connection refused')}
    patterns = {kind: pattern for kind, (_, _, pattern) in kinds.items()} | {kind: pattern for kind, (_, pattern) in elsewhere.items()}
    tools = [policy(kind, query, params, probe_timeout='600ms' if kind in ('slow', 'locked') else '10s', **clerk) for kind, (query, params, _) in kinds.items()]
    tools += [policy(kind, database=database) for kind, (database, _) in elsewhere.items()]
    tools += [policy('books', **clerk), policy('away', probe_timeout='500ms', **clerk), policy('sleeps', 'select 1 from pg_sleep(100)', (), **clerk),
              policy('since', 'select order_id, at from refund where order_id = $1 and at >= $2', ('{/order}', '{claimed_at}'), **clerk),
              policy('ledger', "select key from effect.ledger where key = $1 and state = 'unknown'", ('{key}',)),
              policy('password', **prober, password_file='right'), policy('wrong-password', **prober, password_file='wrong'),
              policy('no-file', **prober, password_file='none'), policy('pooled', **pooled), policy('pooled-wrong', 'select pay(gen_random_uuid())', (), **pooled)]
    with books, Cluster() as cluster, \
            Daemon(cluster, config={'sweep_interval': '200ms'}, tools=tools, env={'CREDENTIALS_DIRECTORY': credentials}).ready() as daemon:
        conn = daemon.connect()
        decided(conn, books)
        doubtful(conn, books, [*kinds, *elsewhere], patterns)
        secret(conn, daemon, cluster)
        behind_a_pooler(conn, books)
        server_away(conn, books)
        only_a_primary(conn, books, daemon)
        is_(daemon.stop(), 0, 'the daemon stops in order with probes under way')
        wait_until(lambda: books.psql("select count(*) from pg_stat_activity where application_name = 'effectd probe'") == '0', 20, 'no connection is left')
        is_(cluster.invariants(), [], 'no invariant is hurt')
    done()


main()
