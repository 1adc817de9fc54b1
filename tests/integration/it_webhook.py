#!/usr/bin/python3
"""Notices by webhook: signed by every secret that is in force, retried under one id until they are taken, once by two daemons,
without a word of what a tool was called with. What is escalated is told, whatever the receiver does."""
import base64
import collections
import hashlib
import hmac
import http.server
import json
import os
import threading

from harness import *
from talk import *

NEW, OLD = (b'whsec_' + base64.b64encode(bytes(range(n, n + 32))) for n in (0, 32))
POSTS = []
ANSWERS = collections.deque()  # statuses of the next answers, None = it hangs up without a word; then 204


class Receiver(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        POSTS.append((dict((name.lower(), value) for name, value in self.headers.items()), body))
        status = ANSWERS.popleft() if ANSWERS else 204
        if status is None:
            self.close_connection = True
            return
        self.send_response(status)
        if status == 302:
            self.send_header('Location', '/elsewhere')
        self.send_header('Content-Length', '0')
        self.end_headers()


def signature(secret, headers, body):
    key = base64.b64decode(secret.split(b'_', 1)[1])
    text = f'{headers["webhook-id"]}.{headers["webhook-timestamp"]}.'.encode() + body
    return 'v1,' + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()


def write(path, secret):
    with open(path + '.new', 'wb') as out:
        out.write(secret + b'\n')
    os.rename(path + '.new', path)


def of(effect):
    return [(headers, body) for headers, body in POSTS if json.loads(body)['data']['effect'] == effect]


def notified(conn, run):
    return [event for event in conn.call('get', effect=run['effect'], events=1000)['events'] if event['kind'] == 'notified']


def ask_people(conn, key):
    run = claim(conn, key, 'people', args={'card': '4111 1111 1111', 'order': 7})
    conn.call('unknown', **own_ids(run))
    return run


def main():
    where = folder()
    files = [os.path.join(where, name) for name in ('new', 'old')]
    write(files[0], NEW)
    write(files[1], OLD)
    server = QuietServer(('127.0.0.1', 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = ('sweep_interval = "100ms"\nnotify {\n'
              f'  webhook = "http://127.0.0.1:{server.server_address[1]}/hook"\n  webhook_secrets = {{"new", "{files[1]}"}}\n}}\n')
    how = {'config': config, 'tools': {'name': 'people', 'escalate_after': '0s', 'keep': ['/order']}, 'env': {'CREDENTIALS_DIRECTORY': where}}
    with Cluster() as cluster, Daemon(cluster, **how).ready() as daemon, Daemon(cluster, **how).ready() as other:
        conn = daemon.connect()
        run = ask_people(conn, 'one')
        wait_until(lambda: notified(conn, run), 20, 'the notice is taken')
        posts = of(run['effect'])
        is_(len(posts), 1, 'two daemons tell it once')
        headers, body = posts[0]
        is_(headers['webhook-signature'], signature(NEW, headers, body) + ' ' + signature(OLD, headers, body), 'both secrets sign it')
        told = json.loads(body)
        is_((told['type'], list(told['data'])), ('effect.escalated', ['id', 'effect', 'namespace', 'tool', 'key', 'attempt', 'since', 'reason', 'reminder']),
            'what it says')
        is_((told['data']['id'], told['data']['key'], headers['content-type']), (headers['webhook-id'], 'one', 'application/json'), 'and of whom')
        ok(b'4111 1111' not in body and b'"order"' not in body, 'nothing that the tool was called with')

        ANSWERS.extend([500, 404, 302, 401])
        run = ask_people(conn, 'refused')
        wait_until(lambda: len(of(run['effect'])) >= 2, 60, 'it is tried again')
        is_(len({headers['webhook-id'] for headers, _ in of(run['effect'])}), 1, 'under the same id')
        wait_until(lambda: daemon.grep('taken=no.*HTTP 500') or other.grep('taken=no.*HTTP 500'), 20, 'the log says why')
        is_(state_of(conn, run['effect']), 'escalated', 'and stays escalated')
        ANSWERS.clear()

        ANSWERS.append(None)
        run = ask_people(conn, 'answer lost')
        wait_until(lambda: notified(conn, run), 60, 'it is told again')
        posts = of(run['effect'])
        is_((len(posts), len({headers['webhook-id'] for headers, _ in posts}), len({body for _, body in posts})), (2, 1, 1),
            'one that was taken, and whose answer is lost, comes twice under one id')
        is_(notified(conn, run)[0]['reason'], 'the first notice, at try 2', 'which the history says')

        # a rotation: the old one goes, nobody reloads
        write(files[1], NEW)
        run = ask_people(conn, 'rotated')
        wait_until(lambda: of(run['effect']), 20, 'told')
        headers, body = of(run['effect'])[0]
        is_(headers['webhook-signature'].split(' '), [signature(NEW, headers, body)] * 2, 'secrets are read anew for each')
        write(files[0], b'no secret at all')
        run = ask_people(conn, 'unsigned')
        wait_until(lambda: daemon.grep('secret .new. is not') or other.grep('secret .new. is not'), 20, 'the log says why')
        is_(of(run['effect']), [], 'nothing goes out unsigned')
        ok(not any(NEW.decode()[6:] in line or 'no secret at all' in line for line in daemon.log() + other.log()), 'no log line holds a secret')
        write(files[0], NEW)
        is_(cluster.invariants(), [], 'no invariant is hurt')
    done()


main()
