#!/usr/bin/python3
"""Http probes against a provider that answers well, late, badly, at length, from somewhere else or not at all: landed and absent
end an open outcome, everything else leaves it open and is tried again. Cases 79 and 81 for http probes."""
import http.server
import json
import os
import socket
import ssl
import subprocess
import threading
import urllib.parse

from harness import *
from talk import *

ASKED = []
GATE = threading.Event()


class Provider(http.server.BaseHTTPRequestHandler):
    """Answers by the path: /KIND/PROVIDER_KEY."""

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=()):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        ASKED.append((self.path, dict(self.headers.items())))
        kind = self.path.split('/')[1]
        key = urllib.parse.unquote(self.path.split('/')[-1])
        landed = {'status': 'succeeded', 'key': key, 'refund': {'id': 're_1', 'n': 1.5}}
        absent = {'error': 'no_such_refund'}
        if kind == 'raw':
            self.answer(200, b'{"status":"succeeded","key":"%s","refund":{"b":1.0,"a":1e2,"a":"\\ud800"}}' % key.encode())
        elif kind == 'failed':
            self.answer(200, {'status': 'refused', 'key': key, 'refund': {'code': 51}})
        elif kind == 'absent':
            self.answer(404, absent)
        elif kind == 'somebody':
            self.answer(200, {**landed, 'key': 'another'})
        elif kind in ('500', '401', '429', '404', '403', '503'):
            self.answer(int(kind), b'<html>a proxy says so</html>')
        elif kind == 'json-401':
            self.answer(401, absent)
        elif kind == 'redirect':
            self.answer(302, landed, [('Location', '/landed/' + key)])
        elif kind == 'redirect-absent':
            self.answer(307, b'', [('Location', '/absent/' + key)])
        elif kind == 'garbage':
            self.answer(200, b'{"status":"succeeded","key":"%s"' % key.encode())
        elif kind == 'twice':
            self.answer(200, b'{"status":"pending","status":"succeeded","key":"%s"}' % key.encode())
        elif kind == 'long':
            self.answer(200, {**landed, 'padding': 'x' * 300000})
        elif kind == 'cut':
            self.wfile.write(b'HTTP/1.1 404 Not Found\r\nContent-Length: 1000\r\n\r\n{"error":"no_such_refund"}')
            self.close_connection = True
        elif kind == 'no-http':
            self.wfile.write(b'{"error":"no_such_refund"}\r\n')
            self.close_connection = True
        elif kind == 'late':
            GATE.wait(30)
            self.answer(404, absent)
        else:
            self.answer(200, landed)


def serve(tls=None, address='127.0.0.1'):
    """A server on a port of its own choice; returns the port."""
    server = QuietServer((address, 0), Provider)
    if tls:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def certificate(name):
    """(certificate, key) of somebody who says to be `name`, signed by himself."""
    where = folder()
    files = os.path.join(where, 'cert.pem'), os.path.join(where, 'key.pem')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
                    '-subj', f'/CN={name}', '-addext', f'subjectAltName=IP:{name}', '-keyout', files[1], '-out', files[0]],
                   check=True, capture_output=True)
    return files


def policy(name, url, **http):
    more = {member: http.pop(member) for member in list(http) if member in ('probe_timeout', 'escalate_after')}
    return {'name': name, 'keep': ['/order'], 'settle': '0s', 'absent_needed': 1, 'probe_backoff': ['50ms'], 'escalate_after': '1h', **more,
            'probe': {'http': {'url': url, 'landed': {'status': 200, 'body': {'/status': 'succeeded', '/key': '{provider_key}'}},
                               'failed': {'status': 200, 'body': {'/status': 'refused', '/key': '{provider_key}'}},
                               'absent': {'status': 404, 'body': {'/error': 'no_such_refund'}}, 'result': '/refund', **http}}}


def open_up(conn, key, tool, **more):
    run = claim(conn, key, tool, **more)
    conn.call('unknown', **own_ids(run))
    return run


def probes(conn, run):
    return [event for event in conn.call('get', effect=run['effect'], events=1000)['events'] if event['kind'] == 'probe']


def closed_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def decided(conn, daemon):
    run = open_up(conn, 'raw', 'raw')
    row = wait_state(conn, run['effect'], 'done')
    is_((row['outcome'], row['by']), ('succeeded', 'probe'), 'case 81: what landed is found and recorded')
    line = raw_begin(conn, '{"tool":"raw","key":"raw"}')
    ok(b'"result":{"b":1.0,"a":1e2,"a":"\\ud800"},"result_state":"kept"' in line, 'its result is replayed as the provider spelled it', line)
    run = open_up(conn, 'failed', 'failed')
    row = wait_state(conn, run['effect'], 'done')
    is_((row['outcome'], row['result']), ('failed', {'code': 51}), 'a provider that refused it')
    run = open_up(conn, 'absent', 'absent')
    row = wait_state(conn, run['effect'], 'released')
    again = conn.call('begin', tool='absent', key='absent')
    is_((again['decision'], again['attempt']), ('run', 2), 'what never arrived runs again')
    conn.call('complete', **own_ids(again))


def doubtful(conn, kinds):
    """case 79"""
    runs = {kind: open_up(conn, kind, kind) for kind in kinds}
    reasons = {}
    for kind, run in runs.items():
        wait_until(lambda: len(probes(conn, run)) >= 2, 60, f'{kind}: it is asked again')
        row = conn.call('get', effect=run['effect'], events=1000)
        is_(row['state'], 'unknown', f'case 79: {kind} decides nothing')
        reasons[kind] = probes(conn, run)[0]['reason']
    for kind, pattern in (('500', 'HTTP 500 without a JSON body fits no rule'), ('somebody', 'HTTP 200 fits no rule'),
                          ('redirect', 'HTTP 302'), ('long', 'more than 262144 bytes'), ('late', 'timed out|Timeout'),
                          ('refused', 'connect'), ('elsewhere', 'not among'), ('self-signed', 'certificate|SSL'), ('no-file', 'credential')):
        like(reasons[kind], pattern, f'{kind}: the reason says what happened')
    ok(not any(path.startswith(('/landed/', '/absent/')) and runs['redirect']['effect'] in path for path, _ in ASKED), 'no redirect was followed')
    ok(not any('s3cret' in json.dumps(row) for row in reasons.values()), 'no reason holds a credential')
    return runs


def asked_with(conn, daemon):
    run = open_up(conn, 'a key/with ä', 'asks', args={'order': 'o/7 &x', 'other': 1})
    wait_state(conn, run['effect'], 'done')
    path, headers = [one for one in ASKED if one[0].startswith('/asks/')][-1]
    is_(path, f'/asks/o%2F7%20%26x/a%20key%2Fwith%20%C3%A4/{run["provider_key"]}', 'placeholders are percent-encoded in the URL')
    is_((headers.get('Authorization'), headers.get('X-Effect'), headers.get('Host').split(':')[0]),
        ('Bearer s3cret', f'{run["effect"]} 1', '127.0.0.1'), 'headers carry credentials and ids')
    ok(not any('s3cret' in line for line in daemon.log()), 'no log line holds a credential')


def main():
    where = folder()
    with open(os.path.join(where, 'token'), 'w', encoding='ascii') as out:
        out.write('s3cret\n')
    # what the environment says about proxies and who may be trusted is nobody's business
    env = {'CREDENTIALS_DIRECTORY': where, 'http_proxy': 'http://127.0.0.1:1', 'https_proxy': 'http://127.0.0.1:1', 'ALL_PROXY': 'http://127.0.0.1:1'}
    cert, other = certificate('127.0.0.1'), certificate('127.0.0.2')
    port, secure, stranger = serve(), serve(cert), serve(other)
    base = f'http://127.0.0.1:{port}'
    kinds = ['500', '401', '429', '404', '403', '503', 'json-401', 'redirect', 'redirect-absent', 'garbage', 'twice', 'long', 'cut', 'no-http',
             'somebody']
    tools = [policy(kind, f'{base}/{kind}/{{provider_key}}') for kind in ['raw', 'failed', 'absent', *kinds]]
    tools += [
        policy('late', f'{base}/late/{{provider_key}}', probe_timeout='300ms'), policy('refused', f'http://127.0.0.1:{closed_port()}/x'),
        policy('no-such-host', 'http://no-such-host.invalid/{provider_key}'),
        policy('elsewhere', f'{base}/landed/{{provider_key}}', addresses=['10.0.0.0/8', '::1']),
        policy('self-signed', f'https://127.0.0.1:{secure}/landed/{{provider_key}}'),
        policy('other-name', f'https://127.0.0.1:{stranger}/landed/{{provider_key}}', ca_file=other[0]),
        policy('no-file', f'{base}/landed/{{provider_key}}', credentials={'k': 'nothing'}, headers={'A': '{credential:k}'}),
        policy('secure', f'https://127.0.0.1:{secure}/landed/{{provider_key}}', ca_file=cert[0]),
        policy('inside', f'{base}/landed/{{provider_key}}', addresses=['127.0.0.0/8']),
        policy('asks', f'{base}/asks/{{/order}}/{{key}}/{{provider_key}}', credentials={'bank': 'token', 'path': os.path.join(where, 'token')},
               headers={'Authorization': 'Bearer {credential:bank}', 'X-Effect': '{effect} {attempt}'}),
    ]
    with Cluster() as cluster, Daemon(cluster, config={'sweep_interval': '200ms'}, tools=tools, env=env).ready() as daemon:
        conn = daemon.connect()
        decided(conn, daemon)
        asked_with(conn, daemon)
        for tool in ('secure', 'inside'):
            run = open_up(conn, tool, tool)
            is_(wait_state(conn, run['effect'], 'done')['by'], 'probe', f'{tool}: asked and found')
        doubtful(conn, kinds + ['late', 'refused', 'no-such-host', 'elsewhere', 'self-signed', 'other-name', 'no-file'])
        is_(conn.call('begin', tool='500', key='another')['decision'], 'run', 'others go on meanwhile')
        is_(daemon.stop(), 0, 'the daemon stops in order with probes under way')
        GATE.set()
        is_(cluster.invariants(), [], 'no invariant is hurt')
    done()


main()
