#!/usr/bin/python3
"""What a person should look at: each contradiction of the books is one incident, kept with what was brought, listed to those
whose it is and to nobody else, page by page, on the wire and by effectctl; and no text of it moves a terminal's cursor."""
import json
import os
import random
import re
import uuid

from harness import *
from talk import *

TOOLS = [{'name': 't', 'escalate_after': '1h', 'max_attempts': 1000}, {'name': 'people', 'escalate_after': '0s'},
         {'name': 'secret', 'result_secret': ['/iban'], 'escalate_after': '1h'}]
MEMBERS = 'at effect namespace tool key state attempt kind by outcome reason result_text result_bytes'


def listed(conn, **how):
    return conn.call('list', incidents=True, **how)['incidents']


def twice(conn, key, tool='t', first=None, second=None):
    """Two attempts that both landed, the first one told last; the effect."""
    one = claim(conn, key, tool)
    conn.call('release', **own_ids(one))
    two = claim(conn, key, tool)
    conn.call('complete', **own_ids(two), result=second)
    error = conn.error('complete', **own_ids(one), result=first)
    assert error['data'] == {'name': 'conflict', 'state': 'done', 'attempt': 2}, error
    return one['effect']


def both_landed(conn):
    effect = twice(conn, 'twice', first={'refund': 're_1'}, second={'refund': 're_2'})
    row = conn.call('get', effect=effect)
    is_((row['state'], row['result']), ('done', {'refund': 're_2'}), 'two attempts landed: the first word stands')
    told = listed(conn)
    is_(len(told), 1, 'the other one is an incident')
    is_(names(told[0]), MEMBERS, 'which says all of this')
    is_({name: told[0][name] for name in ('effect', 'namespace', 'tool', 'key', 'state', 'attempt', 'kind', 'by', 'outcome')},
        {'effect': effect, 'namespace': 'default', 'tool': 't', 'key': 'twice', 'state': 'done', 'attempt': 1, 'kind': 'late', 'by': 'caller',
         'outcome': 'succeeded'}, 'of whom, and who said what')
    is_((json.loads(told[0]['result_text']), told[0]['result_bytes']), ({'refund': 're_1'}, 17), 'with the result that a person has to undo')
    like(told[0]['at'], INSTANT, 'and when')
    event = row['events'][-1]
    is_((event['incident'], event['result_text'], event['outcome']), (True, told[0]['result_text'], 'succeeded'), 'get tells the same of its effect')
    # while it is open, it goes to people, and what was brought is told by get
    one = claim(conn, 'open')
    conn.call('release', **own_ids(one))
    two = claim(conn, 'open')
    is_(conn.error('complete', **own_ids(one), result='landed after all')['data'], {'name': 'conflict', 'state': 'escalated', 'attempt': 2},
        'where the row is open, it is escalated')
    row = conn.call('get', effect=one['effect'])
    is_((row['state'], event_kinds(row)), ('escalated', ['released', 'granted', 'late', 'escalated']), 'with its events')
    is_(row['events'][2].get('result_text'), '"landed after all"', 'the evidence is shown')
    is_([i['key'] for i in listed(conn)], ['twice'], 'which is no incident yet: a person decides')
    is_(conn.call('complete', **own_ids(two), result=2)['state'], 'done', 'the holder\'s word still counts')
    told = listed(conn)[0]
    is_((told['key'], told['attempt'], told['reason'], told['result_text']), ('open', 1, 'attempt 1 landed, and so did attempt 2', '"landed after all"'),
        'and then both have landed: an incident with what the first one brought')


def orphans(conn):
    run = claim(conn, 'orphan')
    nobody = str(uuid.UUID(int=random.getrandbits(128), version=4))
    is_(conn.error('complete', effect=run['effect'], token=nobody, result=1)['data']['name'], 'not_owner', 'a token that nobody has')
    is_(conn.error('complete', effect=nobody, token=nobody, result={'sum': 5})['data']['name'], 'not_found', 'an effect that is not there')
    told = listed(conn, limit=2)
    is_([(i['kind'], i.get('key'), i.get('state')) for i in told], [('orphan', None, None), ('orphan', 'orphan', 'pending')], 'both are kept')
    is_((told[0]['effect'], told[0]['namespace'], 'tool' in told[0]), (nobody, 'default', False), 'the one of nobody\'s under its sender\'s namespace')
    # some policy has secret results, and nobody could say whether it is this one's
    is_(('result_text' in told[0], told[0]['result_bytes'], len(told[0]['result_sha256'])), (False, 9, 64), 'of which only size and hash are kept')
    conn.call('complete', **own_ids(run))
    run = claim(conn, 'redacted', 'secret')
    conn.call('complete', **own_ids(run), outcome='failed')
    conn.error('complete', **own_ids(run), result={'iban': 'DE02', 'id': 7})
    is_(json.loads(listed(conn, tool='secret')[0]['result_text']), {'iban': '[secret]', 'id': 7}, 'what is secret in a result is not told here either')


def pages(conn):
    for at in range(7):
        twice(conn, f'page-{at}')
    whole = listed(conn, limit=1000)
    is_([i['at'] for i in whole], sorted((i['at'] for i in whole), reverse=True), 'newest first')
    paged, cursor = [], None
    while True:
        page = conn.call('list', incidents=True, limit=3, **({'cursor': cursor} if cursor else {}))
        paged += page['incidents']
        ok(len(page['incidents']) <= 3, 'a page is as long as asked for')
        cursor = page['cursor']
        if not cursor:
            break
    is_(paged, whole, 'page by page the same')
    is_(listed(conn, tool='nobody'), [], 'by tool')
    is_(listed(conn, older_than_ms=3600000), [], 'by age')
    is_(listed(conn, namespace='default', limit=1000), whole, 'by namespace')
    first = conn.call('list', limit=1)['cursor']
    second = conn.call('list', incidents=True, limit=1)['cursor']
    for what, params, pointer in (('state', {'state': 'done'}, '/state'), ('key_prefix', {'key_prefix': 'p'}, '/key_prefix'),
                                  ('a cursor of effects', {'cursor': first}, '/cursor'), ('a number for true', {'incidents': 1}, '/incidents')):
        error = conn.error('list', **{'incidents': True, **params})
        is_((error['code'], error['data']['pointer']), (-32602, pointer), f'{what} is refused beside incidents')
    is_(conn.error('list', cursor=second)['data']['pointer'], '/cursor', 'and a cursor of incidents elsewhere')
    is_('effects' in conn.call('list', incidents=False), True, 'incidents: false is a list of effects')
    for cursor in ('A' + second[1:], second[:-1], second + '0', 'f' * 16 + second[16:], second[:17] + 'f' * 16, second[:16] + '+' + second[17:]):
        ok('pointer' in conn.recv(conn.send('list', incidents=True, cursor=cursor)).get('error', {}).get('data', {}), f'the cursor {cursor} is refused')


def foreign(cluster, conn):
    """Another namespace's people see nothing of it, whoever it is that sends."""
    config = 'namespace other { wrappers = {"user:0"}\n  operators = {"user:0"} }\n'
    both = 'namespace other { wrappers = {"user:0"} }\nnamespace default { wrappers = {"user:0"} }\n'
    uid = f'"user:{os.getuid()}"'
    with Daemon(cluster, config=config.replace('"user:0"', uid), tools=TOOLS) as theirs, Daemon(cluster, config=both.replace('"user:0"', uid), tools=TOOLS) as both:
        with theirs.ready().connect() as other, both.ready().connect() as two:
            is_(listed(other), [], 'another namespace is told of none')
            is_(other.error('list', incidents=True, namespace='default')['data']['name'], 'denied', 'nor by asking for them')
            run = claim(conn, 'target')
            is_(other.error('complete', **own_ids(run), result='foreign')['data']['name'], 'not_found', 'nor may it complete what is not its own')
            id_ = request_id()
            other.error('complete', effect=id_, token=id_, result='theirs')
            is_([(i['effect'], i['namespace']) for i in listed(other)], [(id_, 'other')], 'its own orphan is told to it')
            ok(id_ not in [i['effect'] for i in listed(conn, limit=1000)], 'and to nobody else')
            id_ = request_id()
            two.error('complete', effect=id_, token=id_)
            is_((id_ in [i['effect'] for i in listed(other)], id_ in [i['effect'] for i in listed(conn, limit=1000)]), (False, False),
                'one whose sender may act in both is told to neither alone')
            seen = [i for i in listed(two, limit=1000) if i['effect'] == id_]
            is_([('namespace' in i, i['kind']) for i in seen], [(False, 'orphan')], 'but to who has both')
            is_(state_of(conn, run['effect']), 'pending', 'the claim stands')
            conn.call('complete', **own_ids(run))


def by_effectctl(daemon, conn):
    out = daemon.ctl('list', '--incidents')
    is_((out.returncode, out.stderr), (0, ''), 'effectctl list --incidents: 0, as a list is no report')
    like(out.stdout, r'^AT +EVENT +TOOL +KEY +TRY +STATE +REASON +EFFECT\n', 'a table')
    like(out.stdout, r'late +t +twice +1 +done +attempt 1 reported', 'with what is to be seen')
    whole = listed(conn, limit=1000)
    answer = json.loads(daemon.ctl('list', '--incidents', '--json', '--all', '--limit', '2').stdout)
    is_((answer['schema'], answer['incidents'], answer['cursor']), ('effectctl.list/1', whole, None), '--json --all: all of it, page by page')
    out = daemon.ctl('list', '--incidents', '--limit', '1')
    like(out.stderr, r'there are more: --all, or --cursor [0-9a-f]{16}-[0-9a-f]{16}\n', 'one page says that there are more')
    cursor = out.stderr.split()[-1]
    is_(daemon.ctl('list', '--incidents', '--limit', '1', '--cursor', cursor, '--json').returncode, 0, 'which it goes on from')
    out = daemon.ctl('list', '--incidents', '--tool', 'nobody')
    is_((out.returncode, out.stdout, out.stderr), (0, '', 'effectctl: no such incidents\n'), 'none is 0, too')
    is_(daemon.ctl('list', '--incidents', '--state', 'done').returncode, 65, 'a filter of effects is 65')
    is_(daemon.ctl('list', '--incidents=x').returncode, 64, 'it takes no value')


def takes_long(cluster, daemon, conn):
    """A list that takes longer than a statement may is told so, and stands in nobody's way."""
    for name in ('incidents', 'list'):
        body = cluster.psql(f"select pg_get_functiondef(oid) from pg_proc where proname = '{name}' and pronamespace = 'effect'::regnamespace")
        cluster.psql(body.replace('  return query', '  perform pg_sleep(60);\n  return query', 1))
        with daemon.connect() as other:
            id_ = other.send('list', incidents=name == 'incidents')
            is_({conn.call('begin', tool='t', key=f'beside {name} {at}')['decision'] for at in range(20)}, {'run'}, f'{name}: while it runs others are served')
            error = other.recv(id_, timeout_s=60)['error']
            is_((error['code'], error['data']['name']), (-32006, 'overloaded'), f'{name}: a statement beyond its time is overloaded')
            is_(other.call('begin', tool='t', key=f'after {name}')['decision'], 'run', 'and its connection goes on')
        cluster.psql(body)
        ok(conn.call('list', incidents=name == 'incidents')['incidents' if name == 'incidents' else 'effects'], 'as does the next list')


CONFIG = 'sweep_interval = "50ms"\n'
seed()
with Cluster() as the_cluster, Daemon(the_cluster, config=CONFIG, tools=TOOLS) as the_daemon:
    with the_daemon.ready().connect() as the_conn:
        is_(listed(the_conn), [], 'a sound ledger has none')
        both_landed(the_conn)
        orphans(the_conn)
        pages(the_conn)
        foreign(the_cluster, the_conn)
        by_effectctl(the_daemon, the_conn)
        takes_long(the_cluster, the_daemon, the_conn)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
