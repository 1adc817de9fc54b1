#!/usr/bin/python3
"""A list of canaries, one for each place in which a secret may stand: args, results, words of probes, headers and passwords of
probes, the database's password, a webhook's secret, a provider's export. After a day of life with errors, crashes, mismatches,
escalations, incidents and failing probes, at log level debug, none of them is in any answer, report, log line, scrape, error, event,
table, file or output (case 141). A canary is also looked for as base64, as hex and percent-encoded."""
import base64
import http.server
import json
import os
import random
import subprocess
import threading
import time
import urllib.parse

from harness import *
from harness import PG_CLIENT_BIN
from prometheus import get, port_of
from talk import QuietServer, own_ids, state_of

CANARY = {}
SERVER = 'the log of PostgreSQL'
# its log has what this test itself told it, and what a tool's own statement is given
EXCUSED = {'clerk password': {SERVER}, 'execute': {SERVER}}
SEEN = []  # (where, bytes): all that somebody else than the one who told the secret could read


def canary(place):
    """The secret of a place: letters that nothing else has, as 32 bytes."""
    if place not in CANARY:
        CANARY[place] = 'cnry' + ''.join(random.choice('bcdfghjkmnpqrstvwxz') for _ in range(28))
    return CANARY[place]


def forms(secret):
    """How it might be written. Base64 by each of its three alignments, without what the neighbours change."""
    raw = secret.encode()
    yield raw
    yield raw[4:20]  # a part of it is too much
    yield raw.hex().encode()
    for shift in range(3):
        yield base64.b64encode(b'\0' * shift + raw)[4:-4]


def saw(where, what):
    SEEN.append((where, what if isinstance(what, bytes) else what.encode('utf-8', 'surrogateescape')))
    return what


class Provider(http.server.BaseHTTPRequestHandler):
    """Takes a bearer's word, and is careless with it: what it answers holds the credential that it was asked with."""
    asked = []
    play = 'echo'

    def log_message(self, *_):
        pass

    def do_GET(self):
        bearer = self.headers.get('Authorization', '')
        Provider.asked.append(bearer)
        status, body = {'echo': (401, {'error': f'bad token {bearer}', 'card': canary('provider')}),
                        'down': (503, f'<html>{bearer}</html>'), 'garbage': (200, '{"status":"' + bearer),
                        'landed': (200, {'status': 'succeeded', 'key': self.path.split('=')[-1],
                                         'refund': {'id': 're_1', 'card': canary('probe result')}})}[Provider.play]
        body = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header('X-Echo', bearer)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(500)
        self.send_header('Content-Length', '0')
        self.end_headers()


def files(where):
    """What is read from files, which the daemon alone may read."""
    for name, text in (('bank.token', canary('credential')), ('books.password', canary('probe password')), ('clerk.password', canary('clerk password')),
                       ('hook', 'whsec_' + base64.b64encode(canary('webhook').encode()).decode())):
        with open(os.path.join(where, name), 'w', encoding='ascii') as out:
            out.write(text + '\n')
        os.chmod(os.path.join(where, name), 0o600)
    with open(os.path.join(where, 'probe'), 'w', encoding='ascii') as out:
        out.write(f'#!/bin/sh\nread -r line\necho \'{{"verdict":"landed","result":{{"card":"{canary("exec result")}","id":1}}}}\'\n')
    os.chmod(os.path.join(where, 'probe'), 0o755)


SECRETS = {'secret': ['/card', '/auth/token', '/list/0/pin'], 'result_secret': ['/card', '/deep/0/pin'], 'keep': ['/order', '/auth/user']}


def tools(where, port):
    http_probe = {'url': f'http://127.0.0.1:{port}/refunds?key={{provider_key}}', 'credentials': {'bank': 'bank.token'},
                  'headers': {'Authorization': 'Bearer {credential:bank}'}, 'landed': {'status': 200, 'body': {'/status': 'succeeded', '/key': '{provider_key}'}},
                  'absent': {'status': 404, 'body': {'/error': 'none'}}, 'result': '/refund'}
    sql = {'query': 'select 1 where $1 is null', 'params': ['{key}'], 'database': 'host=/nowhere dbname=books user=probe', 'password_file': 'books.password'}
    quick = {'lease': '10m', 'settle': '1ms', 'probe_backoff': ['50ms'], 'probe_timeout': '5s'}
    return [{'name': 'bank', 'key': 'bank:{/order}', 'probe': {'http': http_probe}, 'escalate_after': '1h', **SECRETS, **quick},
            {'name': 'books', 'key': 'books:{/order}', 'probe': {'sql': sql}, 'escalate_after': '1h', **SECRETS, **quick},
            {'name': 'exec', 'key': 'exec:{/order}', 'probe': {'exec': {'argv': [os.path.join(where, 'probe')]}}, 'escalate_after': '1h', **SECRETS, **quick},
            {'name': 'people', 'key': 'people:{/order}', 'escalate_after': '0s', 'business_key': ['/order'], **SECRETS, **quick},
            {'name': 'errs', 'key': 'errs:{/order}', 'on_error': 'failed', 'turn_budget': 1, **SECRETS, **quick},
            {'name': 'clerk', 'key': 'clerk:{/order}', 'execute': {'query': 'select shop.raise($1::jsonb)', 'user': 'clerk', 'password_file': 'clerk.password'},
             'secret': ['/card'], 'result_secret': ['/card'], 'keep': ['/order']}]


def args(order, where='args'):
    return {'order': order, 'card': canary(where), 'auth': {'token': canary(where + ' token'), 'user': 'u'}, 'list': [{'pin': canary(where + ' list')}]}


def result(where):
    return {'card': {'number': canary(where)}, 'deep': [{'pin': canary(where + ' deep'), 'a': 1}], 'id': where}


def told(conn, method, **params):
    """Whatever it is answered with, which is written down."""
    id_ = conn.send(method, params)
    line = conn.recv_line()
    saw(f'answer to {method}', line)
    answer = json.loads(line)
    assert answer['id'] == id_, line
    return answer.get('result', answer.get('error'))


def calls(conn):
    """Every way in which an outcome is brought, or refused."""
    def begin(tool, order, **more):
        return told(conn, 'begin', tool=tool, args=args(order), run='r', turn='t', owner='w', **more)

    run = begin('bank', 'done')
    told(conn, 'complete', **own_ids(run), result=result('result'))
    begin('bank', 'done')  # a replay
    told(conn, 'begin', tool='bank', key=run['key'], args={**args('done'), 'more': 1})  # a mismatch
    told(conn, 'complete', **own_ids(run), outcome='failed', result=result('conflict'))
    told(conn, 'complete', effect=run['effect'], token=request_id(), result=result('stranger'))
    told(conn, 'complete', effect=request_id(), token=request_id(), result=result('orphan'))
    told(conn, 'complete', **own_ids(begin('errs', 'a')), outcome='error', result=result('error'))
    begin('errs', 'b')  # the turn is spent
    run = begin('people', 'late')
    told(conn, 'complete', **own_ids(run), outcome='failed', result=result('failure'))
    for _ in range(2):
        run = begin('people', 'late')
    run = told(conn, 'begin', tool='people', key='other', args=args('late'))  # a business duplicate
    told(conn, 'release', **own_ids(run), reason='nothing was sent')
    told(conn, 'complete', **own_ids(run), result=result('after the release'))
    for key, method in (('x', 'begin'), ('x', 'key'), ('x', 'execute')):
        told(conn, method, tool='bank', key=key, args=[canary('args')])
        told(conn, method, tool='bank', args={**args('y'), 'order': {'n': canary('args')}})
    told(conn, 'execute', tool='clerk', args={'order': 'raise', 'card': canary('execute')})
    conn.call('execute', tool='clerk', args={'order': 'fine', 'card': canary('execute')})  # its caller alone is told all of its result
    told(conn, 'execute', tool='clerk', args={'order': 'fine', 'card': canary('execute')})
    for text in ('{"tool":"bank","args":{"card":"%s","card":1}}', '{"tool":"bank","args":{"card":"%s","n":1e999}}', '{"tool":"bank","args":{"card":"%s\\ud800"}}',
                 '{"tool":"bank","args":{"card":"%s"},"argz":1}', '{"tool":"bank","args":{"card":"%s"', '{"tool":"bank","args":{"card":"%s"}}x'):
        conn.send_raw(b'{"jsonrpc":"2.0","id":7,"method":"begin","params":' + (text % canary('args')).encode() + b'}\n')
        saw('answer to what is broken', conn.recv_line())
    conn.send_raw(b'{"jsonrpc":"2.0","id":7,"method":"begin","params":{"tool":"bank","args":{"card":"' + canary('args').encode() * 40000 + b'"}}}\n')
    saw('answer to what is too long', conn.recv_line())


def opened(conn, tool, order):
    run = told(conn, 'begin', tool=tool, args=args(order))
    told(conn, 'unknown', **own_ids(run), reason='no answer in time')
    return run


def probes(daemon, conn):
    """Probes that fail in every way, and one that finds it landed."""
    for play in ('echo', 'down', 'garbage'):
        Provider.play = play
        run = opened(conn, 'bank', play)
        n = len(Provider.asked)
        wait_until(lambda: len(Provider.asked) >= n + 2, 30, 'it is asked')
        saw(f'probe by hand, {play}', daemon.ctl('tools', 'probe', 'bank', '--effect', run['effect']).stdout)
    is_(Provider.asked[-1], 'Bearer ' + canary('credential'), 'the provider itself is told the credential')
    Provider.play = 'landed'
    wait_until(lambda: state_of(conn, run['effect']) == 'done', 30, 'it landed')
    run = opened(conn, 'books', 'nowhere')
    wait_until(lambda: conn.call('get', effect=run['effect'])['events'][-1]['kind'] == 'probe', 30, 'nobody is there')
    run = opened(conn, 'exec', 'x')
    wait_until(lambda: state_of(conn, run['effect']) == 'done', 30, 'the command says landed')
    told(conn, 'begin', tool='exec', args=args('x'))
    run = opened(conn, 'people', 'asked')
    wait_until(lambda: state_of(conn, run['effect']) == 'escalated', 30, 'people are asked')
    told(conn, 'complete', **own_ids(run), outcome='failed', result=result('while escalated'))
    told(conn, 'resolve', effect=run['effect'], verdict='landed', reason='seen', attempt=1, state='unknown', result=result('resolve too early'))
    run = opened(conn, 'people', 'resolved')
    wait_until(lambda: state_of(conn, run['effect']) == 'escalated', 30, 'people are asked')
    told(conn, 'resolve', effect=run['effect'], verdict='landed', reason='seen', attempt=1, state='escalated', result=result('resolve'))


def crashes(cluster, daemon):
    """What is under way when the daemon, the ledger or a reload goes wrong."""
    with daemon.connect() as conn:
        runs = [told(conn, 'begin', tool='bank', args=args(f'crash {n}')) for n in range(4)]
        daemon.kill()
    daemon.start().ready()
    with daemon.connect() as conn:
        for run in runs[:2]:
            told(conn, 'complete', **own_ids(run), result=result('after a crash'))
        cluster.immediate()
        told(conn, 'complete', **own_ids(runs[2]), result=result('while it is away'))
        told(conn, 'begin', tool='bank', args=args('away'), deadline_ms=500)
        cluster.start()
        daemon.ready()
        wait_until(lambda: state_of(conn, runs[2]['effect']) == 'done', 30, 'what was kept is recorded')
    config, conf = open(daemon.config_path, encoding='utf-8').read(), daemon.config_path
    for line in ('nonsense = "%s"\n' % canary('database password'), f'database = "host=/nowhere password={canary("database password")} port=x"\n'):
        with open(conf, 'w', encoding='utf-8') as out:
            out.write(config + line)
        n = len(daemon.log())
        daemon.hup()
        daemon.wait_log('reload', after=n)
        saw('effectd --check', '\n'.join(both(daemon, '--check')))
    with open(conf, 'w', encoding='utf-8') as out:
        out.write(config)
    daemon.hup()


def both(daemon, flag):
    out = subprocess.run([program('effectd'), '-c', daemon.config_path, flag], capture_output=True, text=True, check=False,
                         env={**os.environ, **daemon.env}, stdin=subprocess.DEVNULL)
    return out.stdout, out.stderr


def printed(daemon, conn):
    """Whatever an operator can have printed."""
    effects = [row['effect'] for row in conn.call('list', limit=1000)['effects']]
    verbs = [('list',), ('list', '--incidents'), ('list', '--all', '--limit', 5), ('status',), ('tools', 'list'), ('tools', 'lint', daemon.tools_dir)]
    verbs += [('report', name) for name in ('summary', 'stuck', 'escalated', 'duplicates', 'incidents', 'retention', 'timeouts', 'mismatches',
                                            'churn', 'budgets', 'capacity', 'daily')]
    verbs += [('report', 'incidents', '--csv'), ('report', 'daily', '--html')]
    verbs += [(verb, effect) for effect in effects[:12] for verb in ('get', 'explain')]
    for verb in verbs:
        for more in ((), ('--json',)):
            if more and ('--csv' in verb or '--html' in verb):
                continue
            out = daemon.ctl(*verb, *more)
            saw('effectctl ' + ' '.join(map(str, (*verb, *more))), out.stdout + out.stderr)
    ok(len(effects) > 12, 'there are effects to print', len(effects))
    for flag in ('--print-config', '--check'):
        saw(f'effectd {flag}', '\n'.join(both(daemon, flag)))
    for method in ('tools', 'info'):
        told(conn, method)


def reconciled(daemon, where):
    """An export of the provider's, with a column that nobody asked about."""
    path = os.path.join(where, 'export.csv')
    with open(path, 'w', encoding='ascii') as out:
        out.write('id,order,created,card\n')
        for n in range(5):
            out.write(f'00000000-0000-8000-8000-00000000000{n},{n},{time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())},{canary("export")}\n')
    columns = ('--column', 'provider_key=id', '--column', 'time=created')
    for flags in ((), ('--open',), ('--csv', '--all'), ('--json',)):
        out = daemon.ctl('reconcile', '--tool', 'bank', '--from', path, *columns, *flags)
        saw('effectctl reconcile ' + ' '.join(flags), out.stdout + out.stderr)
        is_(out.returncode, 1, 'the export is read, and nothing of it is in the ledger')
    with open(path, 'a', encoding='ascii') as out:
        out.write(f'no-id,1,"unbalanced,{canary("export")}\n')
    out = daemon.ctl('reconcile', '--tool', 'bank', '--from', path, *columns)
    saw('effectctl reconcile, of what is broken', out.stdout + out.stderr)


def left(cluster, daemon, where):
    """What is left on disk and in tables."""
    saw('pg_dump', subprocess.run([os.path.join(PG_CLIENT_BIN, 'pg_dump'), '-h', cluster.dir, '-U', 'postgres', '--inserts', 'effectd'],
                                  capture_output=True, check=True, stdin=subprocess.DEVNULL, cwd='/').stdout)
    saw('the daemon\'s log', '\n'.join(daemon.log()))
    with open(cluster.log_path, 'rb') as log:
        saw(SERVER, log.read())
    for path in ('/metrics', '/readyz', '/healthz'):
        saw(path, get(port_of(daemon), path)[2])
    mine = {daemon.config_path, *(os.path.join(where, name) for name in os.listdir(where))}  # what we wrote ourselves
    for folder_, _, names in os.walk(daemon.dir):
        for path in (os.path.join(folder_, name) for name in names):
            if path not in mine and os.path.isfile(path):
                with open(path, 'rb') as file:
                    saw(path, file.read())


def nowhere():
    for place, secret in sorted(CANARY.items()):
        shapes = list(forms(secret)) + [urllib.parse.quote(secret).encode()]
        found = sorted({where for where, text in SEEN if any(shape in text for shape in shapes)} - EXCUSED.get(place, set()))
        ok(not found, f'nobody is told the secret of: {place}', found[:10])


def finds_them():
    """What looks for them finds them."""
    secret = canary('nobody')
    for text in (secret, f'x{secret}y', secret.encode().hex(), base64.b64encode(b'ab' + secret.encode()).decode(), secret[2:22]):
        ok(any(shape in text.encode() for shape in forms(secret)), f'a canary is seen in {text[:12]}...')


seed()
finds_them()
the_where = folder()
os.chmod(the_where, 0o700)
files(the_where)
the_server = QuietServer(('127.0.0.1', 0), Provider)
threading.Thread(target=the_server.serve_forever, daemon=True).start()
the_port = the_server.server_address[1]
with Cluster({'log_statement': 'all', 'log_min_duration_statement': '0'}) as the_cluster:
    os.chmod(the_where, 0o755)
    the_cluster.psql(f"create role clerk login password '{canary('clerk password')}'", 'create schema shop', 'grant usage on schema shop to clerk',
                     "create function shop.raise(jsonb) returns json language plpgsql as $$ begin if $1 ->> 'order' = 'raise' then raise 'declined %', $1; end if; "
                     "return $1; end $$")
    the_config = ('sweep_interval = "50ms"\nlog_level = "debug"\nmetrics_listen = "127.0.0.1:0"\n'
                  f'database = "{the_cluster.conninfo(password=canary("database password"))}"\nauto_migrate = true\n'
                  f'owner_database = "{the_cluster.conninfo(password=canary("owner password"))}"\n'
                  f'notify {{\n  webhook = "http://127.0.0.1:{the_port}/hook"\n  webhook_secrets = {{"hook"}}\n}}\n')
    with Daemon(None, config=the_config, tools=tools(the_where, the_port), env={'CREDENTIALS_DIRECTORY': the_where}).ready() as the_daemon:
        the_cluster.psql("select effect.allow('clerk', 'default')")
        with the_daemon.connect() as the_conn:
            calls(the_conn)
            probes(the_daemon, the_conn)
        crashes(the_cluster, the_daemon)
        with the_daemon.connect() as the_conn:
            printed(the_daemon, the_conn)
            if 'reconcile' in the_daemon.ctl('--help').stdout:
                reconciled(the_daemon, the_where)
        left(the_cluster, the_daemon, the_where)
        ok(len(SEEN) > 150, 'a day of life has been written down', len(SEEN))
        nowhere()
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
