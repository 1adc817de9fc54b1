#!/usr/bin/python3
"""Many unknown effects and two daemons on one database: in each round each is asked about once, and each is escalated once, by
the books of the provider and of whoever is notified. Case 90 for ten thousand (600 in tests/run)."""
import http.server
import json
import random
import threading
import time

from harness import *
from talk import QuietServer, own_ids

N = rounds_of(600, 10000)
CHUNK = 200  # within max_inflight


class Books(http.server.BaseHTTPRequestHandler):
    """A provider that knows nothing yet, and a receiver of notices: each writes down who came, from when until when."""
    protocol_version = 'HTTP/1.1'
    asked, told = [], []
    pauses = None  # of the seed

    def log_message(self, *_):
        pass

    def answer(self, status, body=b''):
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        began = time.monotonic()
        time.sleep(self.pauses.random() * 0.03)  # what a provider takes; nothing waits for it but its own answer
        Books.asked.append((self.path.rsplit('/', 1)[1], began, time.monotonic()))
        self.answer(200, b'{"status":"pending"}')

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        Books.told.append((body['data']['effect'], self.headers['webhook-id']))
        self.answer(204)


class Server(QuietServer):
    request_queue_size = 128


def open_up(conn):
    """N effects of which nobody knows."""
    effects = []
    for at in range(0, N, CHUNK):
        ids = [conn.send('begin', tool='pay', key=f'order {n}', lease_ms=3600000) for n in range(at, min(at + CHUNK, N))]
        runs = [conn.recv(id_)['result'] for id_ in ids]
        for id_ in [conn.send('unknown', own_ids(run)) for run in runs]:
            conn.recv(id_)
        effects += [run['effect'] for run in runs]
    return effects


def tally(entries):
    """{how often: how many effects were named so often}"""
    times = {}
    for entry in entries:
        times[entry[0]] = times.get(entry[0], 0) + 1
    counts = list(times.values())
    return {n: counts.count(n) for n in set(counts)}


def overlaps(asked):
    """Effects that were asked about twice at one time."""
    last, found = {}, set()
    for effect, began, ended in sorted(asked, key=lambda entry: entry[1]):
        if began < last.get(effect, 0):
            found.add(effect)
        last[effect] = max(ended, last.get(effect, 0))
    return found


def a_round(cluster, n):
    wait_until(lambda: len(Books.asked) >= n * N and cluster.psql('select count(*) from effect.ledger where due_at <= now() or probed_at is null') == '0',
               60 + N / 20, f'round {n} is through')
    is_(tally(Books.asked), {n: N}, f'round {n}: each of {N} effects was asked about once')
    is_(overlaps(Books.asked), set(), f'round {n}: none twice at a time')
    is_(cluster.psql('select distinct probe_no, tries from effect.ledger'), f'{n}|{n}', f'round {n}: and each took one probe number')


def main():
    Books.pauses = random.Random(random.getrandbits(32))
    server = Server(('127.0.0.1', 0), Books)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f'http://127.0.0.1:{server.server_address[1]}'
    where = folder()
    with open(f'{where}/secret', 'w', encoding='ascii') as out:
        out.write('whsec_' + 'A' * 43 + '=\n')
    config = f'sweep_interval = "100ms"\nnotify {{\n  webhook = "{url}/hook"\n  webhook_secrets = {{"{where}/secret"}}\n}}\n'
    tool = {'name': 'pay', 'settle': '0s', 'probe_backoff': ['4h'], 'escalate_after': '12h', 'probe': {'http': {
        'url': url + '/refunds/{provider_key}', 'landed': {'status': 200, 'body': {'/status': 'succeeded'}},
        'absent': {'status': 404, 'body': {'/error': 'no_such_refund'}}}}}
    with Cluster() as cluster, Daemon(cluster, config=config, tools=tool) as one, Daemon(cluster, config=config, tools=tool) as two:
        two.ready()
        with one.ready().connect() as conn:
            effects = open_up(conn)
        a_round(cluster, 1)
        cluster.psql("update effect.ledger set due_at = now()")
        a_round(cluster, 2)
        shares = [len(daemon.grep('event=verdict')) for daemon in (one, two)]
        ok(min(shares) > 0, 'both daemons asked', shares)
        cluster.psql("update effect.ledger set deadline_at = now(), due_at = now()")
        wait_until(lambda: len(Books.told) >= N and cluster.psql('select count(*) from effect.ledger where not noticed') == '0', 60 + N / 20,
                   'all are escalated, and people are told')
        is_(cluster.psql("select count(*), count(distinct effect) from effect.event where kind = 'escalated'"), f'{N}|{N}', 'each is escalated once')
        is_(tally(Books.told), {1: N}, 'and told once')
        is_(len({id_ for _, id_ in Books.told}), N, 'under an id of its own')
        is_({effect for effect, _ in Books.told}, set(effects), 'all of them')
        is_(tally(Books.asked), {2: N}, 'and none was asked about any more')
        is_(cluster.invariants(), [], 'no invariant is broken')
    done()


seed()
main()
