#!/usr/bin/python3
"""Whatever the database's owner has set for it, answers are the same; and a database that cannot hold every text is refused, not
found out later by the result that it cannot record. Case 111's kind, on the server's side."""
import json

from harness import *
from talk import *
from world import name_of

TOOLS = [{'name': 't', 'escalate_after': '1h', 'max_attempts': 3, 'keep': ['/a']}, {'name': 'hand', 'escalate_after': '0s'}]
RESULT = '{"b":1.0,"x":"\\u0000\\\\ €\'\\"","n":12345678901234567890,"t":"😀"}'
# Together where they do not contradict each other.
SETTINGS = [
    {'default_transaction_isolation': 'serializable', 'default_transaction_deferrable': 'on', 'standard_conforming_strings': 'off', 'bytea_output': 'escape',
     'DateStyle': 'German', 'IntervalStyle': 'iso_8601', 'TimeZone': 'Asia/Kolkata', 'extra_float_digits': '-5', 'client_encoding': 'LATIN1',
     'search_path': 'nowhere', 'array_nulls': 'off', 'transform_null_equals': 'on', 'client_min_messages': 'debug1', 'synchronous_commit': 'off'},
    {'default_transaction_isolation': 'repeatable read', 'DateStyle': 'SQL, DMY', 'IntervalStyle': 'sql_standard', 'TimeZone': 'America/St_Johns',
     'lock_timeout': '1ms', 'idle_session_timeout': '200ms', 'client_encoding': 'SJIS', 'row_security': 'off', 'enable_indexscan': 'off',
     'plan_cache_mode': 'force_custom_plan', 'default_toast_compression': 'pglz', 'xmloption': 'document', 'client_min_messages': 'error'},
]


def life(conn, name):
    """What an effect is told in all of its states, without what differs from one effect to the next."""
    told = []

    def keep(answer):
        told.append({k: v for k, v in answer.items() if k not in ('effect', 'key', 'token', 'provider_key', 'claimed_at', 'lease_until', 'protected_until',
                                                                  'done_at', 'due_at', 'since', 'retry_after_ms', 'events')})
        return answer

    run = keep(conn.call('begin', tool='t', key=f'{name} é\'\\', args={'a': {'é': [1.5, 'ü\0']}}, run='r', owner='\\o\''))
    lasts = ms_of(run['lease_until']) - ms_of(conn.call('get', effect=run['effect'])['claimed_at'])
    keep(conn.call('begin', tool='t', key=f'{name} é\'\\', args={'a': {'é': [1.5, 'ü']}}))
    keep(conn.call('extend', **own_ids(run), lease_ms=600000))
    keep(conn.call('unknown', **own_ids(run), reason='\\ \''))
    keep(conn.call('resolve', effect=run['effect'], verdict='absent', reason='é', attempt=1, state='unknown'))
    run = keep(conn.call('begin', tool='t', key=f'{name} é\'\\', args={'a': {'é': [1.5, 'ü\0']}}))
    line = exchange(conn, Conn.line('complete', {**own_ids(run), 'result': 0}, 1)[:-1].replace(b'"result":0', b'"result":' + RESULT.encode()))
    told.append(line)
    line = raw_begin(conn, json.dumps({'tool': 't', 'key': f'{name} é\'\\', 'args': {'a': {'é': [1.5, 'ü\0']}}}))
    told.append(RESULT.encode() in line)
    keep(json.loads(line)['result'])
    row = keep(conn.call('get', effect=run['effect']))
    told.append([(event['kind'], event['attempt'], event.get('reason')) for event in row['events']])
    told.append([effect['key'] for effect in conn.call('list', key_prefix=f'{name} é\'\\')['effects']] == [f'{name} é\'\\'])
    other = conn.call('begin', tool='hand', key=name)
    conn.call('unknown', **own_ids(other))
    wait_state(conn, other['effect'], 'escalated')
    told.append(lasts)
    return told


def settings(cluster, daemon):
    with daemon.connect() as conn:
        plain = life(conn, 'plain')
    for at, group in enumerate(SETTINGS):
        cluster.psql(*[f'alter database effectd set {name} = \'{value}\'' if ',' not in value else f'alter database effectd set {name} = {value}'
                       for name, value in group.items()], database='postgres')
        cluster.psql("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'effectd%'", database='postgres')
        with daemon.connect() as conn:
            wait_until(lambda: name_of(conn, 'get', tool='t', key='none') == 'not_found', 20, 'the ledger is back')  # pylint: disable=cell-var-from-loop
            is_(life(conn, f'group {at}'), plain, f'nothing changes by {", ".join(group)}')
        cluster.psql('alter database effectd reset all', database='postgres')
    cluster.psql("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'effectd%'", database='postgres')
    with daemon.connect() as conn:
        wait_until(lambda: name_of(conn, 'get', tool='t', key='none') == 'not_found', 20, 'the ledger is back')
        for value in ('serializable', None):
            cluster.set('default_transaction_isolation', value)
            is_({name_of(conn, 'begin', tool='t', key=f'{value} {n}') for n in range(100)}, {'run'}, f'nor by an isolation that becomes {value} under way')


def encodings(cluster):
    for encoding in ('LATIN1', 'SQL_ASCII'):
        cluster.psql(f"create database other_{encoding} encoding '{encoding}' lc_collate 'C' lc_ctype 'C' template template0", database='postgres')
        database = cluster.conninfo(database=f'other_{encoding.lower()}')
        with Daemon(database, config={'request_timeout': '200ms'}, tools=TOOLS) as daemon, daemon.connect() as conn:
            wait_until(lambda: 'encoding' in conn.call('info')['database'].get('error', ''), 20, 'it says why')  # pylint: disable=cell-var-from-loop
            is_(conn.call('info')['database']['error'], f"the database's encoding is {encoding}, and must be UTF8", f'{encoding}: told by info')
            is_(name_of(conn, 'begin', tool='t', key='k'), 'unavailable', f'{encoding}: nothing is begun')
        out = ctl('db', 'init', '--database', database)
        is_(out.returncode, 78, f'{encoding}: nor installed')
        like(out.stderr, f'encoding {encoding}, and must have UTF8', 'with the reason')
        is_(cluster.psql("select count(*) from pg_namespace where nspname = 'effect'", database=f'other_{encoding.lower()}'), '0', 'and nothing is left')


with Cluster() as the_cluster, Daemon(the_cluster, config={'log_calls': False, 'sweep_interval': '50ms'}, tools=TOOLS) as the_daemon:
    the_daemon.ready()
    settings(the_cluster, the_daemon)
    is_(the_cluster.invariants(), [], 'no invariant is broken')
    encodings(the_cluster)
done()
