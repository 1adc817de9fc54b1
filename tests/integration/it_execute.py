#!/usr/bin/python3
"""execute: tools whose call is a statement of the ledger's own database. Claim, effect and record are one transaction: whatever the
statement does, and whoever else asks meanwhile, all three are there or none; and everybody is told which."""
import json
import os
import subprocess
import threading

from harness import *
from talk import *

ERROR = 'tool_failed'
SETUP = '''create schema shop; create table shop.refund (id serial primary key, order_id text not null, amount numeric, run text);
create table shop.paid (order_id text primary key); create table shop.line (refund int);
alter table shop.line add constraint line_refund foreign key (refund) references shop.refund deferrable initially deferred;
create role clerk login; create role stranger login; create role serial login; create role hat; grant hat to serial;
grant usage on schema shop to clerk, stranger, serial; grant select, insert on shop.paid, shop.line to clerk;
grant all on shop.refund to clerk, serial; grant usage on sequence shop.refund_id_seq to clerk, serial;
alter role serial set default_transaction_isolation = 'serializable'; alter role serial set default_transaction_read_only = on;
alter role serial set client_encoding = 'LATIN1'; alter role serial set synchronous_commit = off;
alter role serial set client_min_messages = 'error'; alter role serial set search_path = 'nowhere';
create function shop.refund(a jsonb) returns json language plpgsql security definer as $$
declare v int;
begin
  insert into shop.refund (order_id, amount) values (a->>'order', (a->>'amount')::numeric) returning id into v;
  raise warning 'refunding by card %', a->>'card';
  perform pg_sleep(coalesce(a->>'sleep', '0')::float);
  if a ? 'raise' then raise 'refused, card %', a->>'card' using errcode = a->>'raise'; end if;
  return format('{"refund" : %s, "order":"%s", "iban":"DE12"}', v, a->>'order');
end $$;
create function shop.late() returns trigger language plpgsql as $$ begin raise 'too late' using errcode = 'P7777'; end $$;
create table shop.doomed (id int);
create constraint trigger doomed after insert on shop.doomed deferrable initially deferred for each row execute function shop.late();
create function shop.doom() returns int language sql security definer as 'insert into shop.doomed values (1) returning id';
create function shop.doom_later() returns int language plpgsql security definer as $$ begin
  insert into shop.doomed values (1); return 1; end $$;
create procedure shop.commits() language plpgsql as 'begin commit; end';
create function shop.commits_in() returns int language plpgsql as $$ begin call shop.commits(); return 1; end $$;
create function shop.nothing() returns void language sql as '';
create sequence shop.calls; create function shop.twice() returns int language plpgsql stable as $$ begin
  return nextval('shop.calls'); end $$; grant usage on sequence shop.calls to clerk;
create function shop.pid() returns int language sql as 'select pg_backend_pid()';
select effect.allow(r, 'default') from unnest(array['clerk', 'serial']::name[]) r;'''


def tool(name, query, params=None, user='clerk', timeout='20s', **more):
    execute = {'query': query, 'user': user, 'timeout': timeout}
    if params is not None:
        execute['params'] = params
    for member in ('password_file',):
        if member in more:
            execute[member] = more.pop(member)
    return {'name': name, 'execute': execute, **more}


REFUND = tool('refund', 'select shop.refund($1::jsonb)', key='refund:{/order}', secret=['/card'], keep=['/amount'])
FAILURES = {  # tool: (statement, params, SQLSTATE)
    'syntax': ('selekt 1', [], '42601'), 'no-function': ('select shop.nobody()', [], '42883'), 'rights': ('select * from shop.doomed', [], '42501'),
    'two-rows': ("select generate_series(1, 2)", [], '21000'), 'large': ("select repeat('x', 1048576)", [], '54000'),
    'divides': ('select 1 / 0', [], '22012'), 'deferred-key': ('insert into shop.line values (-1) returning refund', [], '23503'),
    'deferred-trigger': ('select shop.doom_later()', [], 'P7777'), 'commit': ('commit', [], '42601'),
    'commits': ('select shop.commits_in()', [], '2D000'), 'slow': ('select pg_sleep(30)', [], '57014'),
    'cancels': ('select pg_cancel_backend(pg_backend_pid()), pg_sleep(1)', [], '57014'),
    'no-returning': ("insert into shop.paid values ('x')", [], '0A000'),
    'unique': ("with n as (select order_id from shop.paid limit 0) insert into shop.paid values ('twice'), ('twice') returning 1", [], '23505'),
}
RESULTS = {  # tool: (statement, the result's bytes)
    'json': ("select '{\"b\" : 1.0, \"a\":\"\\u00e9\", \"a\":1e400}'::json", '{"b" : 1.0, "a":"\\u00e9", "a":1e400}'),
    'jsonb': ("select '{\"b\" : 1.0, \"a\":2}'::jsonb", '{"a": 2, "b": 1.0}'), 'text': ("select '{\"a\":1}'::text", '"{\\"a\\":1}"'),
    'number': ('select 12.50', '12.50'), 'nan': ("select 'NaN'::float8", '"NaN"'), 'bool': ('select true', 'true'), 'null': ('select null::int', 'null'),
    'void': ('select shop.nothing()', 'null'), 'no-row': ('select 1 where false', 'null'), 'columns': ("select 1 as a, 'x' as b", '{"a":1,"b":"x"}'),
    'returning': ("insert into shop.refund (order_id) values ('r') returning order_id", '"r"'),
    'lines': ("select '{\n\"a\":1}'::json", '{ "a":1}'), 'comment': ('select 7 -- or so', '7'), 'fenced': ('select shop.twice()', '1'),
}


def rows_of(cluster, order):
    return int(cluster.psql(f"select count(*) from shop.refund where order_id = '{order}'"))


def result_of(line):
    """The bytes of `result`, and of what follows it."""
    return line.split(b'"result":', 2)[2].split(b',"result_state"', 1)[0].decode()


def told(conn, name, **params):
    answer = conn.recv(conn.send('execute', tool=name, **params))
    return answer['result']['decision'] if 'result' in answer else answer['error']['data']['name']


def failure(conn, name, **params):
    return conn.error('execute', tool=name, **params)


def life(conn, cluster):
    asked = {'order': '1', 'amount': '12.50', 'card': '4111-secret'}
    first = conn.call('execute', tool='refund', args=asked, owner='me')
    is_(names(first), 'decision next advice effect key attempt result result_state done_at protected_until', 'the members of ran')
    is_((first['decision'], first['next'], first['key'], first['attempt']), ('ran', 'use_result', 'refund:1', 1), 'it ran')
    row = conn.call('get', effect=first['effect'])
    is_((row['state'], row['by'], row['outcome'], row['owner'], row['done_at'], row['kept'], row['events']),
        ('done', 'caller', 'succeeded', 'me', first['done_at'], {'/amount': '12.50'}, []), 'and is recorded as done')
    again = conn.call('execute', tool='refund', args=asked)
    is_((again['decision'], again['result'], again['done_at']), ('replay', first['result'], first['done_at']), 'a repeat replays it')
    is_(told(conn, 'refund', args={**asked, 'amount': '13'}), 'mismatch', 'other arguments are a mismatch')
    is_(rows_of(cluster, '1'), 1, 'the effect is there once')
    is_(conn.error('begin', tool='refund', args=asked)['data']['pointer'], '/tool', 'begin does not claim what is executed')
    is_(conn.error('execute', tool='plain', key='k')['data']['pointer'], '/tool', 'execute does not run what is begun')
    is_(conn.error('execute', tool='args', key='nul', args={'order': 'a\0b'})['data']['pointer'], '/args/order', 'no text of a database holds U+0000')


def results(conn):
    for name, (_, want) in RESULTS.items():
        line = exchange(conn, json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'execute', 'params': {'tool': name, 'key': 'k'}}))
        is_(result_of(line), want, f'{name}: the result as the database spells it')
        line = exchange(conn, json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'execute', 'params': {'tool': name, 'key': 'k'}}))
        is_(result_of(line), want, f'{name}: replayed as the same bytes')
    args = {'order': 'ä\'"', 'n': 1.50, 'b': True, 'o': {'x': [1, None]}, 'nil': None}
    line = exchange(conn, '{"jsonrpc":"2.0","id":1,"method":"execute","params":{"tool":"args","key":"k","run":"r","args":'
                    '{"order":"ä\'\\"","n":1.50,"b":true,"o":{"x": [1,null]},"nil":null}}}')
    got = json.loads(line)['result']['result']
    is_((got['all'], got['order'], got['n'], got['b'], got['o'], got['nil'], got['none'], got['run'], got['key'], got['text']),
        (args, 'ä\'"', '1.50', 'true', '{"x": [1,null]}', None, None, 'r', 'k', 'plain'), 'params are values, as they were sent')
    is_(got['effect'], conn.call('get', tool='args', key='k')['effect'], 'and say which effect it is')
    kept = conn.call('execute', tool='secrets', key='k', args={'order': 's'})
    is_((kept['result']['iban'], kept['result_state']), ('DE12', 'redacted'), 'its caller has the result whole')
    is_(conn.call('execute', tool='secrets', key='k', args={'order': 's'})['result']['iban'], '[secret]', 'and the ledger not what is secret in it')
    kept = conn.call('execute', tool='unkept', key='k')
    is_((kept['result'], kept['result_state']), ('x' * 100, 'omitted'), 'a result that is too long to be kept is told once')
    is_(names(conn.call('execute', tool='unkept', key='k')), 'decision next advice effect key attempt outcome result_state result_bytes '
        'result_sha256 done_at by protected_until', 'and then its size and hash')


def failures(conn, cluster):
    before = cluster.psql('select count(*) from effect.ledger'), cluster.psql('select count(*) from shop.refund')
    for name, (_, _, sqlstate) in FAILURES.items():
        error = failure(conn, name, key='k')
        is_((error['code'], error['data']['name'], error['data']['sqlstate']), (-32007, ERROR, sqlstate), f'{name}: the tool failed')
        is_(conn.error('get', tool=name, key='k')['data']['name'], 'not_found', f'{name}: nothing is recorded')
    is_(failure(conn, 'two-rows', key='k')['data'].get('why'), 'more than one row', 'what is wrong with an answer is said')
    error = failure(conn, 'refund', args={'order': 'bad', 'raise': 'P0042', 'card': '4111-secret'})
    is_(sorted(error['data'].items()), [('name', ERROR), ('sqlstate', 'P0042')], 'of what it raises the SQLSTATE is told, and not the text')
    is_((cluster.psql('select count(*) from effect.ledger'), cluster.psql('select count(*) from shop.refund')), before, 'of none of them is anything there')
    is_(told(conn, 'refund', args={'order': 'bad'}), 'ran', 'the same key may run then')
    is_(told(conn, 'pid', key='again'), 'ran', 'and the connections are of use')


def roles(conn, cluster, daemon):
    is_(failure(conn, 'stranger', key='k')['data']['sqlstate'], 'ZE006', 'a role that nobody allowed claims nothing')
    daemon.wait_log('the claim of .*stranger.* is refused .ZE006.')
    cluster.psql("select effect.allow('stranger', 'default')")
    is_(told(conn, 'stranger', key='k'), 'ran', 'one that is allowed does, at once')
    is_(failure(conn, 'nobody', key='k', deadline_ms=300)['data']['name'], 'unavailable', 'a role that is not there is unavailable')
    daemon.wait_log('nothing can be executed as .*nobody.*: .*(does not exist|failed|no such user)')
    is_(told(conn, 'serial', key='k'), 'ran', 'whatever settings the role has')
    is_(told(conn, 'becomes', key='k'), 'ran', 'a statement that makes its session another role')
    is_(told(conn, 'becomes', key='after'), 'ran', 'and who is given that session next is the policy\'s role all the same')
    is_(conn.call('execute', tool='serial', key='k')['result'], 'read committed off €', 'a transaction is as we need it')
    for sql, sqlstate in (("select effect.execute_done(gen_random_uuid(), gen_random_uuid(), '1', false)", 'ZE009'),
                          ("select effect.begin('{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}',now(),null,null)", '42501'),
                          ('select * from effect.ledger', '42501')):
        try:
            cluster.psql(r'\set VERBOSITY sqlstate', sql, user='clerk')
            ok(False, f'the role may not: {sql}')
        except RuntimeError as error:
            like(str(error), sqlstate, f'the role may not: {sql[:40]}')


class Asking(threading.Thread):
    """An execute of a connection of its own."""

    def __init__(self, daemon, name='refund', **params):
        super().__init__(daemon=True)
        self.conn, self.name_, self.params, self.answer = daemon.connect(), name, params, None
        self.start()

    def run(self):
        try:
            self.answer = self.conn.recv(self.conn.send('execute', tool=self.name_, **self.params), 60)
        except ConnectionError:
            pass  # it is one that leaves

    def told(self):
        self.join(60 * SLOW)
        answer = self.answer or {}
        return answer['result']['decision'] if 'result' in answer else answer.get('error', {}).get('data', {}).get('name')


def asleep(cluster, n=1):
    query = "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and application_name = 'effectd execute'"
    wait_until(lambda: int(cluster.psql(query)) >= n, 20, f'{n} statements are under way')


def others(conn, cluster, daemon, second):
    """Who asks for what is being executed."""
    slow = {'args': {'order': 'o1', 'sleep': 1.5}, 'request': request_id()}
    one = Asking(daemon, **slow)
    asleep(cluster)
    busy = conn.call('execute', tool='refund', args=slow['args'])
    is_((busy['decision'], names(busy)), ('busy', 'decision next advice effect key owner retry_after_ms'), 'another one is told busy at once')
    is_(conn.error('get', effect=busy['effect'])['data']['name'], 'not_found', 'nobody sees it meanwhile')
    there = second.connect()
    is_(told(there, 'refund', args=slow['args']), 'busy', 'at another daemon, too')
    is_(told(conn, 'refund', args={'order': 'o2'}), 'ran', 'and another key is served')
    waits = [Asking(daemon, args=slow['args'], wait_ms=20000), Asking(second, args=slow['args'], wait_ms=20000)]
    same = Asking(daemon, **slow, deadline_ms=20000)
    is_(one.told(), 'ran', 'it runs to its end')
    is_([w.told() for w in waits], ['replay', 'replay'], 'who waited, here and there, has the replay')
    is_(same.told(), 'replay', 'the same request is not busy against itself')
    is_(rows_of(cluster, 'o1'), 1, 'the effect is there once')
    bad = Asking(daemon, args={'order': 'o3', 'sleep': 1, 'raise': 'P0001'})
    asleep(cluster)
    waits = [Asking(daemon, args={'order': 'o3', 'sleep': 0.2}, wait_ms=20000) for _ in range(3)]
    is_(bad.told(), ERROR, 'a statement fails under waiters')
    is_(sorted(w.told() for w in waits), ['ran', 'replay', 'replay'], 'then one of them runs, for all')
    is_(rows_of(cluster, 'o3'), 1, 'once')


def leaving(conn, cluster, daemon):
    """Callers who do not wait for the end."""
    args = {'order': 'l1', 'sleep': 1}
    is_(told(conn, 'refund', args=args, deadline_ms=300, request=request_id()), 'unavailable', 'one that takes longer than its deadline is unavailable')
    is_(told(conn, 'refund', args=args, wait_ms=20000), 'replay', 'it is seen to its end, and replayed')
    is_(rows_of(cluster, 'l1'), 1, 'once')
    gone = Asking(daemon, args={'order': 'l2', 'sleep': 1})
    asleep(cluster)
    gone.conn.sock.shutdown(2)
    is_(told(conn, 'refund', args={'order': 'l2', 'sleep': 1}, wait_ms=20000), 'replay', 'that of a caller who is gone, too')
    one = Asking(daemon, args={'order': 'l3', 'sleep': 20})
    asleep(cluster)
    cluster.psql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'effectd execute'")
    is_((one.told(), rows_of(cluster, 'l3')), ('unavailable', 0), 'a backend that ends under a statement takes it along')
    is_(told(conn, 'refund', args={'order': 'l3'}), 'ran', 'and the same call may be asked for again')
    cluster.freeze()  # between the claim and its answer
    is_(told(conn, 'refund', args={'order': 'l4'}, deadline_ms=300), 'unavailable', 'a database that stands still is unavailable')
    cluster.thaw()
    is_(told(conn, 'refund', args={'order': 'l5'}), 'ran', 'it goes on')
    is_(rows_of(cluster, 'l4'), 0, 'what nobody waits for any more is not begun')
    # four connections of the role are taken: the fifth call waits for one
    four = [Asking(daemon, args={'order': f'q{n}', 'sleep': 2}) for n in range(4)]
    asleep(cluster, 4)
    is_(told(conn, 'refund', args={'order': 'q4'}, deadline_ms=300), 'unavailable', 'one for which no connection is free in time is unavailable')
    fifth = Asking(daemon, args={'order': 'q5'})
    is_([a.told() for a in four] + [fifth.told()], ['ran'] * 5, 'the others run in their turn')
    is_((rows_of(cluster, 'q4'), rows_of(cluster, 'q5')), (0, 1), 'what nobody waited for was not begun')


def guards(conn, cluster):
    where = {'run': 'r', 'turn': '1'}
    is_([told(conn, 'budget', key=f'k{n}', **where) for n in range(3)], ['ran', 'ran', 'exhausted'], 'a turn has its budget')
    is_([told(conn, 'asks', key='k', run='r', turn='2') for _ in range(4)], [ERROR] * 3 + ['exhausted'], 'asks of what failed are counted')
    twin = conn.call('execute', tool='twins', key='a', args={'order': '1'})
    held = conn.call('execute', tool='twins', key='b', args={'order': '1'})
    is_((held['decision'], held['twin'], held['twin_key']), ('held', twin['effect'], 'a'), 'a business duplicate is held')
    is_(told(conn, 'twins', key='b', args={'order': '1'}, again='it is meant'), 'ran', 'and run when it is meant')
    is_(cluster.psql("select count(*) from effect.ledger where key in ('a', 'b')"), '2', 'both are recorded')


def earlier_policy(conn, cluster, daemon):
    """Effects that were claimed when the tool was not executed yet."""
    runs = {state: claim(conn, state, 'moving') for state in ('pending', 'released', 'done', 'unknown')}
    for state in ('released', 'done', 'unknown'):
        bring(conn, runs[state], state, **({'result': 7} if state == 'done' else {}))
    daemon.set_tools(TOOLS + [tool('moving', 'select 8', [])])
    daemon.hup()
    wait_until(lambda: told(conn, 'moving', key='new') == 'ran', 20, 'the policy is in force')
    is_({state: told(conn, 'moving', key=state) for state in runs}, {'pending': 'busy', 'released': 'ran', 'done': 'replay', 'unknown': 'unknown'},
        'what was claimed before is decided as ever')
    released = conn.call('get', tool='moving', key='released')
    is_((released['state'], released['attempt'], released['result']), ('done', 2, 8), 'a released one is executed as the next attempt')
    waiting = Asking(daemon, 'moving', key='unknown', wait_ms=20000)
    conn.call('complete', **own_ids(runs['unknown']), result=9)
    is_(waiting.told(), 'replay', 'who waits for an unknown one has its replay')
    cluster.psql("update effect.ledger set keep_until = now() - interval '1 second' where key = 'done'")
    is_(told(conn, 'moving', key='done'), 'ran', 'a forgotten one is executed anew')


def many(cluster, daemon, second):
    """16 callers, 8 keys, two daemons."""
    keys = [f'm{n}' for n in range(8)]
    asking = [Asking(d, args={'order': key, 'sleep': 0.01}, wait_ms=30000) for _ in range(4) for key in keys for d in (daemon, second)]
    words = [a.told() for a in asking]
    is_((words.count('ran'), words.count('replay')), (8, 56), 'of all who ask for a key one runs it, the others have its replay')
    is_([rows_of(cluster, key) for key in keys], [1] * 8, 'each effect is there once')


def secrets(cluster, daemon):
    text = dump(cluster) + '\n'.join(daemon.log())
    ok('4111-secret' not in text, 'what is secret in args is in no table and no log line')
    ok('refunding by card' not in text and 'refused, card' not in text, 'nor is what the statement says')


def standby_away(cluster, daemon, conn):
    """No commit is durable: nobody is told that it ran, and when the standby is no more needed it did once."""
    cluster.set('synchronous_standby_names', 'nobody')
    ask = {'args': {'order': 'sync'}, 'request': request_id()}
    is_([told(conn, 'refund', **ask, deadline_ms=500) for _ in range(2)], ['unavailable'] * 2, 'what is not durable is not told')
    one = Asking(daemon, args={'order': 'local'}, deadline_ms=1500)
    waits = "pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and application_name = 'effectd execute'"
    wait_until(lambda: cluster.psql(f'select {waits}') and rows_of(cluster, 'local'), 20, 'its COMMIT waits for the standby, and is cancelled there')
    is_(one.told(), 'unavailable', 'nor is what is committed locally only')
    cluster.psql("alter system reset synchronous_standby_names", "select pg_reload_conf()", database='postgres')
    wait_until(lambda: told(conn, 'refund', **ask) in ('ran', 'replay'), 30, 'it is told when it is')
    is_((rows_of(cluster, 'sync'), rows_of(cluster, 'local')), (1, 1), 'and there once')


def embedded(daemon):
    """In the embedded database a role comes in by its password."""
    daemon.ready()
    psql = ['psql', '-XAtq', '-h', os.path.join(daemon.state_dir, 'pg/run'), '-d', 'effectd', '-w']
    subprocess.run([*psql, '-U', 'effectd', '-c', "create role sealed login password 'let me in'", '-c', "select effect.allow('sealed', 'default')"],
                   check=True, cwd='/', capture_output=True)
    conn = daemon.connect()
    is_(told(conn, 'right', key='k'), 'ran', 'a role of the embedded database has its password from a file')
    is_(told(conn, 'wrong', key='k', deadline_ms=300), 'unavailable', 'with another one it does not come in')
    for user in ('sealed', 'effect_owner', 'effect_daemon'):
        ok(subprocess.run([*psql, '-U', user, '-c', 'select 1'], check=False, cwd='/', capture_output=True).returncode != 0, f'{user} does not come in without')


def stopping(cluster, daemon, second):
    second.stop()
    last, gone = (Asking(daemon, args={'order': order, 'sleep': sleep}) for order, sleep in (('stop', 0.3), ('gone', 1)))
    asleep(cluster, 2)
    gone.conn.sock.shutdown(2)
    is_(daemon.stop(), 0, 'the daemon stops in order under statements')
    is_((last.told(), rows_of(cluster, 'stop')), ('ran', 1), 'one is seen to its end, and answered')
    is_(rows_of(cluster, 'gone'), 1, 'one for which nobody waits, too')
    if not POOLER:
        wait_until(lambda: cluster.psql("select count(*) from pg_stat_activity where application_name = 'effectd execute'") == '0', 20, 'no connection is left')


TOOLS = [REFUND, {'name': 'plain'}, tool('pid', 'select shop.pid()', []),
         tool('args', "select jsonb_build_object('all', $1::jsonb, 'order', $2::text, 'n', $3::text, 'b', $4::text, 'o', $5::text, 'nil', $6::text, "
              "'none', $7::text, 'run', $8::text, 'key', $9::text, 'effect', $10::text, 'text', $11::text)",
              ['{args}', '{/order}', '{/n}', '{/b}', '{/o}', '{/nil}', '{/none}', '{run}', '{key}', '{provider_key}', 'plain']),
         tool('secrets', 'select shop.refund($1::jsonb)', result_secret=['/iban']), tool('unkept', "select repeat('x', 100)", [], result_max=50),
         tool('stranger', 'select 1', [], user='stranger'), tool('nobody', 'select 1', [], user='nobody'),
         tool('becomes', "select set_config('role', 'hat', false)", [], user='serial'),
         tool('serial', "select current_setting('transaction_isolation') || ' ' || current_setting('transaction_read_only') || ' €'", [], user='serial'),
         tool('budget', 'select 1', [], turn_budget=2), tool('asks', 'select 1 / 0', [], turn_asks=3),
         tool('twins', 'select 1', [], business_key=['/order'], on_business_duplicate='hold'),
         *(tool(name, query, params, timeout='300ms' if name == 'slow' else '20s') for name, (query, params, _) in FAILURES.items()),
         *(tool(name, query, []) for name, (query, _) in RESULTS.items())]


def main():
    secrets_of = folder()
    for name, password in (('right', 'let me in'), ('wrong', 'let me out')):
        with open(os.path.join(secrets_of, name), 'w', encoding='ascii') as out:
            out.write(password + '\n')
    private = Daemon('embedded', tools=[tool(name, 'select 7', [], user='sealed', password_file=name) for name in ('right', 'wrong')],
                     env={'CREDENTIALS_DIRECTORY': secrets_of})  # its database is made meanwhile
    with private, Cluster({'log_min_messages': 'fatal'}) as cluster, Daemon(cluster, tools=TOOLS + [{'name': 'moving', 'escalate_after': '1h'}],
                                                                   config={'request_timeout': '5s'}).ready() as daemon, \
            Daemon(cluster, tools=TOOLS).ready() as second:
        cluster.psql(SETUP)
        conn = daemon.connect()
        life(conn, cluster)
        results(conn)
        failures(conn, cluster)
        roles(conn, cluster, daemon)
        others(conn, cluster, daemon, second)
        leaving(conn, cluster, daemon)
        guards(conn, cluster)
        earlier_policy(conn, cluster, daemon)
        many(cluster, daemon, second)
        secrets(cluster, daemon)
        standby_away(cluster, daemon, conn)
        is_(cluster.invariants(), [], 'no invariant is hurt')
        stopping(cluster, daemon, second)
        embedded(private)
    done()


main()
