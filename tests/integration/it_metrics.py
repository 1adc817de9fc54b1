#!/usr/bin/python3
"""Metrics and health (cases 134 and 136): the page is what Prometheus takes, whatever tools are called; its numbers are what
clients were told; its labels are bounded; readiness is the ledger's and health the loop's; and whoever asks badly, slowly or in
a crowd costs the callers of begin nothing."""
import os
import random
import re
import select
import socket
import subprocess
import sys
import threading
import time

from harness import *
from prometheus import *

seed()

ODD = 'refund "x\\y'
TOOLS = [{'name': 'refund', 'key': 'refund:{/order}'}, {'name': ODD, 'key': 'odd:{/order}'}, {'name': 'look', 'class': 'read'},
         {'name': 'twin', 'key': 'twin:{/n}', 'business_key': ['/order'], 'business_window': '1h'}]
LISTEN = {'metrics_listen': '127.0.0.1:0'}


def begins(page, tool, decision):
    return page.get('effectd_begins_total', namespace='default', tool=tool, decision=decision)


def page_is_prometheus_own(daemon):
    status, headers, text = get(port_of(daemon), '/metrics')
    is_(status, 200, 'the page is served')
    is_(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8', 'as text of the format 0.0.4')
    is_(headers['connection'], 'close', 'and the connection ends with it')
    checked = promtool('check', 'metrics', stdin=text)
    is_((checked.returncode, checked.stdout + checked.stderr), (0, ''), 'promtool finds nothing to say about it')


def counts_are_what_was_told(daemon):
    told = {}
    with daemon.connect() as conn:
        for tool, args in [('refund', {'order': 1}), ('refund', {'order': 2}), ('refund', {'order': 1}), (ODD, {'order': 1}),
                           ('look', {}), ('nobody has heard of it', {}), ('twin', {'n': 1, 'order': 7}), ('twin', {'n': 2, 'order': 7})]:
            answer = conn.call('begin', tool=tool, args=args, run='r', step='s')
            name = tool if tool in [t['name'] for t in TOOLS] else '(other)'
            told[name, answer['decision']] = told.get((name, answer['decision']), 0) + 1
            if (tool, answer['decision']) == ('refund', 'run') and args == {'order': 2}:
                conn.call('complete', effect=answer['effect'], token=answer['token'], result={})
        conn.call('begin', tool='refund', args={'order': 2})
        told['refund', 'replay'] = 1
        is_(conn.error('begin', tool='a\nb', args={})['data']['name'], 'invalid_params', 'no tool has a newline in its name')
    page = scrape(daemon)
    is_({(tool, decision): begins(page, tool, decision) for tool, decision in told}, told, 'begins are counted as they were told')
    is_(page.sum('effectd_begins_total'), sum(told.values()), 'and no other')
    ok(ODD in page.values('tool'), 'a name with a quote and a backslash is read back equal (case 134)', page.values('tool'))
    is_(page.get('effectd_duplicates_total', namespace='default', tool='twin'), 1, 'the business duplicate is counted')
    is_(begins(page, 'refund', 'escalated'), 0, 'what a policy may come to is there before it happens')
    is_(page.sum('effectd_begin_duration_seconds_count'), sum(told.values()), 'each of them has taken its time')
    ok(page.get('effectd_batches_total', result='ok') > 0 and page.get('effectd_batch_duration_seconds_count') > 0, 'batches are counted')


def names_are_bounded(daemon):
    before = len(scrape(daemon).samples)
    with daemon.connect() as conn:
        for at in range(0, 10000, 200):
            for id_ in [conn.send('begin', tool=f'tool-{n}', key=f'key-{n}', run=f'run-{n}', owner=f'owner-{n}') for n in range(at, at + 200)]:
                conn.recv(id_)
    page = scrape(daemon)
    ok(len(page.samples) - before < 30, f'10,000 tools of no policy are few series ({len(page.samples) - before} more)')
    ok(page.get('effectd_begins_total', namespace='default', tool='(other)', decision='run') >= 10000, 'and all are counted')
    values = {value for _, labels in page.samples for _, value in labels}
    is_([v for v in values if re.search(r'(tool|key|run|owner)-\d', v)], [], 'no key, run or owner is in a label')


def others_are_refused(daemon):
    port = port_of(daemon)
    for method, path, status in [('GET', '/', 404), ('GET', '/metrics/', 404), ('GET', '/console', 404), ('GET', '//metrics', 421),
                                 ('GET', '/%6detrics', 404), ('POST', '/metrics', 405), ('PUT', '/healthz', 405), ('DELETE', '/readyz', 405),
                                 ('HEAD', '/metrics', 405), ('OPTIONS', '/metrics', 405), ('GET', '/metrics?a=b', 200)]:
        is_(get(port, path, method, headers='Content-Length: 0\r\n')[0], status, f'{method} {path} is answered {status}')
    is_(get(port, '/metrics', 'POST', headers='Content-Length: 0\r\n')[1]['allow'], 'get', 'and told what would do')
    # a page whose own name was made to lead here, in a browser of this host, reads nothing
    for host, status in [('rebound.example', 421), ('rebound.example:9464', 421), ('localhost', 200), ('LOCALHOST:1', 200), ('127.0.0.1', 200),
                         ('127.0.0.1:1', 200), ('[::1]:1', 200), ('127.0.0.1.rebound.example', 421), ('', 421)]:
        answer = request(port, f'GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n'.encode())
        is_(int(answer.split(b' ')[1]), status, f'a request for host {host!r} is answered {status}')
    is_(int(request(port, b'GET /metrics HTTP/1.0\r\n\r\n').split(b' ')[1]), 200, 'one that says no host is answered')


def garbage_costs_nothing(daemon):
    port = port_of(daemon)
    for what, data in [('no HTTP', b'\x00\xff\x13\n\n' * 50), ('a line without end', b'GET /' + b'a' * 300000),
                       ('headers without end', b'GET /metrics HTTP/1.1\r\n' + b'X-A: b\r\n' * 40000),
                       ('a header of 1 MiB', b'GET /metrics HTTP/1.1\r\nX-A: ' + b'b' * (1 << 20) + b'\r\n\r\n'),
                       ('a body of 1 GiB', b'GET /metrics HTTP/1.1\r\nContent-Length: 1073741824\r\n\r\n' + b'x' * 100000),
                       ('chunks of nonsense', b'POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\nx\r\n'),
                       ('a negative length', b'GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n'),
                       ('two requests at once', b'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n' * 2),
                       ('half a line', b'GET /met'), ('nothing at all', b'')]:
        with socket.create_connection(('127.0.0.1', port)) as sock:
            sock.settimeout(30 * SLOW)
            answer = b''
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                while chunk := sock.recv(1 << 16):
                    answer += chunk
            except OSError:
                pass
            ok(answer.count(b'HTTP/1.') <= 1 and not re.match(rb'HTTP/1\.\d 50[^1]', answer), f'{what}: one answer or none', answer[:200])
    rng = random.Random(random.random())
    for _ in range(rounds_of(100, 5000)):
        line = b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'
        data = bytearray(line * rng.randint(1, 3))
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with socket.create_connection(('127.0.0.1', port)) as sock:
            sock.settimeout(30 * SLOW)
            try:
                sock.sendall(bytes(data))
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(1 << 16):
                    pass
            except OSError:
                pass
    is_(get(port, '/healthz')[0], 200, 'and after random bytes it still answers')


def slow_ones_cost_nothing(daemon):
    """More connections than are served at a time, half of them silent, half asking and never reading."""
    port = port_of(daemon)
    fed = threading.Thread(target=fed_for_life, args=(port, ended := []))
    fed.start()
    idle = []
    for n in range(24):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        sock.setblocking(False)
        try:
            sock.connect(('127.0.0.1', port))
        except BlockingIOError:
            pass
        idle.append(sock)
    _, ready, _ = select.select([], idle[:16], [], 10 * SLOW)
    for sock in ready[::2]:
        sock.send(b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n')
    with daemon.connect() as conn:
        wait_until(lambda: len(daemon_sockets(daemon, port)) == 16, 10, 'as many as may be are served')
        for n in range(50):
            conn.call('begin', tool='refund', args={'order': f'slow-{n}'})
    ok(True, 'begins are answered meanwhile')
    is_(len(daemon_sockets(daemon, port)), 16, 'no more than 16 are open at the daemon')
    is_(get(port, '/healthz')[0], 200, 'and who comes behind them all is served when their time is over')
    fed.join()
    is_(ended, [True], 'one that is fed a byte at a time is not served for ever')
    for sock in idle:
        sock.close()
    wait_until(lambda: not daemon_sockets(daemon, port), 30, 'none of them is left')
    ok(True, 'none of them is left')


def fed_for_life(port, ended):
    """Sends a header a byte at a time, for twice as long as a connection may live."""
    until = time.monotonic() + 30 * SLOW
    with socket.create_connection(('127.0.0.1', port)) as sock:
        sock.send(b'GET /metrics HTTP/1.1\r\nX-A: ')
        while not ended and time.monotonic() < until:
            try:
                sock.send(b'a')
                if select.select([sock], [], [], 0.2)[0] and not sock.recv(1 << 16):
                    ended.append(True)
            except OSError:
                ended.append(True)


def os_fds(pid):
    links = set()
    for fd in os.listdir(f'/proc/{pid}/fd'):
        try:
            links.add(os.readlink(f'/proc/{pid}/fd/{fd}'))
        except FileNotFoundError:
            pass
    return links


def daemon_sockets(daemon, port):
    """Its descriptors that are connections at that port, by the kernel's table."""
    inodes = set()
    with open('/proc/net/tcp', encoding='ascii') as table:
        for line in table:
            words = line.split()
            if words[1] == f'0100007F:{port:04X}' and words[3] != '0A' and words[9] != '0':
                inodes.add(words[9])
    fds = os_fds(daemon.process.pid)
    return [i for i in inodes if f'socket:[{i}]' in fds]


def a_crowd_is_served(daemon):
    port = port_of(daemon)
    got = []
    crowd = [threading.Thread(target=lambda: got.append(Page(get(port, '/metrics')[2]))) for _ in range(100)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    is_(len(got), 100, '100 scrapers at once are all served a whole page')


WORKER = """
import json, socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.connect(sys.argv[1])
lines, n = sock.makefile('rw'), 0
while True:
    n += 1
    for method, params in [('begin', {'tool': 'refund', 'args': {'order': sys.argv[2] + '-' + str(n)}}), ('complete', None)]:
        if method == 'complete':
            params = {'effect': claim['effect'], 'token': claim['token'], 'result': n}
        lines.write(json.dumps({'jsonrpc': '2.0', 'id': n, 'method': method, 'params': params}) + chr(10))
        lines.flush()
        claim = json.loads(lines.readline())['result']
"""


def counts_hold_under_load(cluster, daemon):
    """Workers are killed as they work, and the page is read all the while; in the end it agrees with the ledger's own counts."""
    kills = rounds_of(8, 200)
    started = [0]

    def worker():
        started[0] += 1
        return subprocess.Popen([sys.executable, '-c', WORKER, daemon.socket, f'load-{started[0]}'], stderr=subprocess.DEVNULL)

    workers, pages, ended = [worker() for _ in range(3)], [scrape(daemon)], 0
    while ended < kills:
        pages.append(scrape(daemon))
        done_ = sum(p.get('effectd_outcomes_total', namespace='default', tool='refund', outcome='completed') or 0 for p in pages[-1:])
        if done_ > 10 * ended:  # they have come some way since
            workers[0].kill()
            workers[0].wait()
            workers = workers[1:] + [worker()]
            ended += 1
    for process in workers:
        process.kill()
        process.wait()
    wait_until(lambda: scrape(daemon).get('effectd_connections') == 0, 20, 'all are gone')
    pages.append(scrape(daemon))
    note(f'{len(pages)} pages, {ended} workers killed')
    fell = [(key, a.samples[key], b.samples.get(key)) for a, b in zip(pages, pages[1:]) for key in a.samples
            if a.types.get(key[0]) == 'counter' and b.samples.get(key, -1) < a.samples[key]]
    is_(fell, [], 'no counter ever falls or goes away')
    return pages[-1]


def ledger_agrees(cluster, page):
    """After the stop, which brings the last counts to the ledger."""
    for metric, label, words in [('effectd_begins_total', 'decision', ['run', 'replay', 'busy', 'mismatch', 'pass']),
                                 ('effectd_outcomes_total', 'outcome', ['completed', 'lapsed', 'released'])]:
        stat = {row['decision']: row['n'] for row in cluster.rows('select decision, sum(n)::int n from effect.stat group by 1')}
        is_({w: page.sum(metric, **{label: w}) for w in words}, {w: stat.get(w, 0) for w in words}, f'{metric} is what effect.stat has')


def nothing_tells_a_secret(cluster):
    secret = 'sk-canary-4242424242'
    database = f'{cluster.conninfo()} password={secret} sslmode=disable'.replace('dbname=effectd', 'dbname=absent')
    with Daemon(database, LISTEN, {'name': 'pay', 'key': 'pay:{/order}', 'secret': ['/card']}) as daemon:
        port = port_of(daemon)
        wait_until(lambda: 'absent' in get(port, '/readyz')[2], 20, 'the reason is known')
        with daemon.connect() as conn:
            conn.error('begin', tool='pay', args={'order': 1, 'card': secret}, owner=secret, run=secret, deadline_ms=100)
        is_([path for path in ('/metrics', '/readyz', '/healthz', f'/{secret}') if secret in get(port, path)[2]], [], 'no page holds a secret')


def few_descriptors_are_shared(cluster):
    """64 of them, all that clients may have taken and more asked for at the port than it may have."""
    with Daemon(cluster, LISTEN, TOOLS, prefix=['/bin/sh', '-c', 'ulimit -n 64; exec "$0" "$@"']) as daemon:
        daemon.ready()
        port = port_of(daemon)
        crowd = [daemon.connect() for _ in range(60)]
        silent = [socket.create_connection(('127.0.0.1', port)) for _ in range(4)]
        told = crowd[-1].recv_line(10)
        ok(b'"overloaded"' in told, 'clients have what there is', told)
        is_(crowd[0].call('begin', tool='refund', args={'order': 'few'})['decision'], 'run', 'one that is in is served')
        wait_until(lambda: len(daemon_sockets(daemon, port)) == 2, 20, 'two at a time')
        ok(True, 'the port serves two at a time')
        is_(get(port, '/healthz')[0], 200, 'and whoever waits has his turn')
        for sock in silent:
            sock.close()
        wait_until(lambda: not daemon_sockets(daemon, port), 20, 'none is left')
        limit(daemon, '10:64')  # less than what is open: nobody more can be accepted at all
        late = socket.create_connection(('127.0.0.1', port))
        late.send(b'GET /healthz HTTP/1.0\r\n\r\n')
        before = cpu_ms(daemon)
        is_(select.select([late], [], [], 1)[0], [], 'without a descriptor nobody is served')
        ok(cpu_ms(daemon) - before < 80 * SLOW, 'that costs no processor time')
        is_([line for line in daemon.log() if not re.match(r'20\d\d-', line)], [], 'nor a word that is no log line')
        limit(daemon, '64:64')
        late.settimeout(20 * SLOW)
        like(late.recv(100).decode(), '200 OK', 'and when there is one again, he is')
        for conn in [late, *crowd]:
            conn.close()


def limit(daemon, fds):
    subprocess.run(['prlimit', f'--pid={daemon.process.pid}', f'--nofile={fds}'], check=True)


def cpu_ms(daemon):
    with open(f'/proc/{daemon.process.pid}/stat', encoding='ascii') as stat:
        fields = stat.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 // os.sysconf('SC_CLK_TCK')


def scrape_is_quick_with_500_tools(cluster):
    """Not by the clock, which others use as well: by the processor time that the daemon says itself."""
    tools = [{'name': f'tool-{n}', 'key': 'k:{/n}'} for n in range(500)]
    with Daemon(cluster, LISTEN, tools) as daemon:
        daemon.ready()
        pages = []
        for _ in range(20):
            pages.append(scrape(daemon))
            time_over = time.monotonic() + 0.11  # pages are shared for a tenth of a second
            wait_until(lambda: time.monotonic() > time_over)
        ok(len(pages[-1].samples) > 4500, f'500 tools are {len(pages[-1].samples)} series')
        cpu = pages[-1].get('process_cpu_seconds_total') - pages[0].get('process_cpu_seconds_total')
        note(f'{cpu / 19 * 1000:.1f} ms of processor time a scrape, background included')
        ok(cpu / 19 < 0.05 * SLOW, 'a page of 500 tools costs little', f'{cpu / 19 * 1000:.1f} ms')


def ready_is_the_ledgers_word(cluster, daemon):
    port = port_of(daemon)
    is_(get(port, '/readyz')[::2], (200, 'ready\n'), 'ready while the ledger is there')
    up = scrape(daemon).get('effectd_ledger_state_change_timestamp_seconds')
    cluster.immediate()
    wait_until(lambda: get(port, '/readyz')[0] == 503, 20, 'not ready')
    text = get(port, '/readyz')[2]
    like(text, r'^not ready: the ledger is away since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z: .+\n$', 'not ready says since when and why')
    is_(text.count('\n'), 1, 'in one line')
    is_(get(port, '/healthz')[::2], (200, 'ok\n'), 'healthy all the same')
    wait_until(lambda: scrape(daemon).get('effectd_ledger_up') == 0, 10, 'a page that is younger')
    ok(True, 'and the metric says so')
    page = scrape(daemon)
    ok(page.get('effectd_ledger_state_change_timestamp_seconds') > up, 'and since when')
    cluster.start()
    wait_until(lambda: get(port, '/readyz')[0] == 200, 20, 'ready again')
    is_(scrape(daemon).get('effectd_ledger_reconnects_total'), 1, 'and that it came back once')


def reload_keeps_counts(daemon):
    before = scrape(daemon)
    daemon.set_tools(TOOLS + [{'name': 'later', 'key': 'later:{/n}'}])
    daemon.hup()
    wait_until(lambda: scrape(daemon).get('effectd_reloads_total', result='taken') == 1, 10, 'a reload was taken')
    page = scrape(daemon)
    is_(begins(page, 'refund', 'run'), begins(before, 'refund', 'run'), 'a reload keeps the counts')
    is_(begins(page, 'later', 'run'), 0, 'and a new policy has series of its own')
    is_(page.get('effectd_policies'), len(TOOLS) + 1, 'policies are counted')
    daemon.set_tools({'bad.json': '{'})
    daemon.hup()
    wait_until(lambda: scrape(daemon).get('effectd_reload_last_successful') == 0, 10, 'a reload was refused')
    is_(scrape(daemon).get('effectd_reloads_total', result='refused'), 1, 'one that is refused is counted, and shown until one is taken')
    daemon.set_tools(TOOLS)
    daemon.hup()
    wait_until(lambda: scrape(daemon).get('effectd_reload_last_successful') == 1, 10, 'a reload was taken')
    ok(True, 'until one is taken')


def port_is_refused_in_time(cluster, daemon):
    taken = Daemon(cluster, {'metrics_listen': f'127.0.0.1:{port_of(daemon)}'}, start=False)
    taken.start(wait=False)
    is_(taken.wait(), 73, 'a port that is taken: exit 73')
    like('\n'.join(taken.log()), r'cannot listen on .127\.0\.0\.1:\d+. for metrics: Address already in use', 'and says so')
    outside = Daemon(cluster, {'metrics_listen': '0.0.0.0:9464'}, start=False)
    outside.start(wait=False)
    is_(outside.wait(), 78, 'an address that is not of the loopback: exit 78')
    like('\n'.join(outside.log()), r'metrics_listen.* must be HOST:PORT of the loopback', 'and says so, too')


def stop_closes_the_port(daemon):
    port = port_of(daemon)
    is_(daemon.stop(), 0, 'stopped in order')
    try:
        request(port, b'')
        ok(False, 'nobody listens after a stop')
    except ConnectionRefusedError:
        ok(True, 'nobody listens after a stop')


def is_off_by_default(cluster):
    with Daemon(cluster) as daemon:
        daemon.ready()
        is_(daemon.grep('metrics are at'), [], 'by default nothing listens')
    with Daemon(cluster, flags=['--metrics-listen', '[::1]:0']) as daemon:
        is_(get(port_of(daemon), '/healthz', host='::1')[0], 200, 'the flag takes the other loopback')


with Cluster() as cluster:
    with Daemon(cluster, LISTEN, TOOLS) as daemon:
        daemon.ready()
        counts_are_what_was_told(daemon)
        page_is_prometheus_own(daemon)
        names_are_bounded(daemon)
        others_are_refused(daemon)
        garbage_costs_nothing(daemon)
        slow_ones_cost_nothing(daemon)
        a_crowd_is_served(daemon)
        port_is_refused_in_time(cluster, daemon)
        reload_keeps_counts(daemon)
        ready_is_the_ledgers_word(cluster, daemon)
        page = counts_hold_under_load(cluster, daemon)
        stop_closes_the_port(daemon)
        ledger_agrees(cluster, page)
    nothing_tells_a_secret(cluster)
    few_descriptors_are_shared(cluster)
    is_off_by_default(cluster)
    scrape_is_quick_with_500_tools(cluster)
done()
