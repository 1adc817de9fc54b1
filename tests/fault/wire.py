"""What the wire tests share: a daemon behind a proxy, requests told until there is an answer, facts counted over many cuts."""
import threading
import time

from harness import SLOW, Daemon, folder, request_id, wait_until
from proxy import PgProxy

BACK_S = 2  # service is back by then, whatever happened to a connection
PAY = {'name': 'pay', 'class': 'irreversible', 'escalate_after': '1h', 'lease': '1h', 'max_attempts': 1000}


def word_of(answer):
    """A decision, a state, or an error's name; raises on an answer that has the shape of none."""
    if 'error' in answer:
        error = answer['error']
        assert isinstance(error['code'], int) and error['message'] and '\n' not in error['message'], answer
        return error['data']['name']
    result = answer['result']
    return result.get('decision') or result['state']


class Told:
    """An answer, and what it took: word, answer, n_unavailable, took_s."""

    def __init__(self, answer, n_unavailable, took_s):
        self.answer, self.n_unavailable, self.took_s = answer, n_unavailable, took_s
        self.word = word_of(answer)
        self.result = answer.get('result')


def until_told(conn, method, params):
    """Sends it, unchanged, until there is another answer than `unavailable`."""
    at, n = time.monotonic(), 0
    while True:
        answer = conn.recv(conn.send(method, params))
        if word_of(answer) != 'unavailable':
            return Told(answer, n, time.monotonic() - at)
        n += 1
        if time.monotonic() > at + 60 * SLOW:
            raise TimeoutError(f'{method} {params} was unavailable {n} times')
        threading.Event().wait(answer['error']['data']['retry_after_ms'] / 1000)


class Side:
    """A daemon that reaches its ledger through a proxy of its own, and two clients of it."""

    def __init__(self, cluster, tools, connections=1, config=None, database='effectd'):
        self.cluster = cluster
        self.proxy = PgProxy(folder(), cluster.dir)
        self.daemon = Daemon(self.proxy.conninfo(database=database), tools=tools, config={
            'log_calls': False, 'database_connections': connections, 'auto_migrate': True, **(config or {})})
        self.daemon.ready()
        self.conn, self.rival = self.daemon.connect(), self.daemon.connect()

    def all_up(self, n):
        """Waits until n connections have been made to the ledger and checked."""
        wait_until(lambda: len(self.proxy.open_links()) == n, 20, f'{n} connections')

    def all_up_but(self, others, n):
        """The same, whatever else is still open."""
        wait_until(lambda: len([link for link in self.proxy.open_links() if link not in others]) == n, 20, f'{n} new connections')

    def ask(self, method, params):
        return until_told(self.conn, method, params)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.conn.close()
        self.rival.close()
        self.daemon.kill()
        self.proxy.stop()


class Tally:
    """Many rounds of one sentence: what was wrong in which, and the longest it took."""

    def __init__(self, name):
        self.name, self.n, self.wrong, self.slowest_s, self.n_unavailable = name, 0, [], 0.0, 0

    def expect(self, good, what):
        if not good:
            self.wrong.append(what)
        return good

    def took(self, told):
        self.n_unavailable += told.n_unavailable
        self.slowest_s = max(self.slowest_s, told.took_s)

    def verdict(self):
        """(good, name, why) for ok()."""
        late = [] if self.slowest_s < BACK_S * SLOW else [f'the slowest took {self.slowest_s:.2f} s']
        wrong = self.wrong + late
        name = f'{self.name}: {self.n} times, at most {self.slowest_s * 1000:.0f} ms, {self.n_unavailable} told unavailable'
        return not wrong and self.n > 0, name, f'{len(wrong)} wrong: {wrong[:8]}'


def in_parallel(*tasks):
    """Runs each in a thread; raises what one of them raised."""
    failures = []

    def one(task):
        try:
            task()
        except Exception as e:  # pylint: disable=broad-except
            failures.append(e)

    threads = [threading.Thread(target=one, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def begin_params(key, **more):
    return {'tool': 'pay', 'key': key, 'request': request_id(), **more}


def claim_of(told):
    return {'effect': told.result['effect'], 'token': told.result['token']}
