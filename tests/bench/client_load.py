#!/usr/bin/python3
"""Guarded no-ops through the Python client: so many threads or tasks, each of which makes one guarded call after the other.

    client_load.py SOCKET threads|tasks fresh|replay IN_FLIGHT SECONDS WARM_UP_SECONDS

Prints one JSON object: {ops_s, p50_ms, p99_ms}. fresh: each call has a key of its own (a claim and a record); replay: one of a
thousand that were made before. Uses the tool `bench_refund` of tests/bench/run.
"""
import asyncio
import itertools
import json
import os
import random
import sys
import threading
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'client', 'python'))
import effectd  # noqa: E402

N_REPLAYED = 1000
RESULT = {'status': 'ok', 'refund': 're_77', 'body': 'x' * 68}
RUN = uuid.uuid4()
ARGS = {'order_id': 1042, 'line': 3, 'amount': '12.50', 'memo': 'late'}


def key_of(kind):
    """The key of the next call."""
    fresh = itertools.count()
    if kind == 'fresh':
        return lambda **_: f'fresh:{RUN}:{next(fresh)}'
    return lambda **_: f'replay:{RUN}:{random.randrange(N_REPLAYED)}'


class Load:
    def __init__(self, seconds, warm_up):
        self.starts = time.perf_counter() + warm_up
        self.ends = self.starts + seconds
        self.latencies = []

    def note(self, began):
        """Whether there is time for another one."""
        now = time.perf_counter()
        if began >= self.starts:
            self.latencies.append(now - began)
        return now < self.ends

    def report(self, seconds):
        latencies = sorted(self.latencies)
        at = lambda share: round(latencies[int(len(latencies) * share)] * 1000, 3)  # noqa: E731
        print(json.dumps({'ops_s': round(len(latencies) / seconds), 'p50_ms': at(0.5), 'p99_ms': at(0.99)}))


def threads(path, kind, n, seconds, warm_up):
    with effectd.Ledger(path) as ledger:
        def fill(number):
            ledger.tool('bench_refund', key=f'replay:{RUN}:{number}')(call)(**ARGS)

        def call(order_id, line, amount, memo):
            return RESULT
        for number in range(N_REPLAYED if kind == 'replay' else 0):
            fill(number)
        guarded, load = ledger.tool('bench_refund', key=key_of(kind))(call), Load(seconds, warm_up)

        def work():
            more = True
            while more:
                began = time.perf_counter()
                guarded(**ARGS)
                more = load.note(began)
        workers = [threading.Thread(target=work) for _ in range(n)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return load


async def tasks(path, kind, n, seconds, warm_up):
    async with effectd.AsyncLedger(path) as ledger:
        async def call(order_id, line, amount, memo):
            return RESULT
        for number in range(N_REPLAYED if kind == 'replay' else 0):
            await ledger.tool('bench_refund', key=f'replay:{RUN}:{number}')(call)(**ARGS)
        guarded, load = ledger.tool('bench_refund', key=key_of(kind))(call), Load(seconds, warm_up)

        async def work():
            more = True
            while more:
                began = time.perf_counter()
                await guarded(**ARGS)
                more = load.note(began)
        await asyncio.gather(*(work() for _ in range(n)))
    return load


def main():
    if len(sys.argv) != 7 or sys.argv[2] not in ('threads', 'tasks') or sys.argv[3] not in ('fresh', 'replay'):
        sys.exit('usage: client_load.py SOCKET threads|tasks fresh|replay IN_FLIGHT SECONDS WARM_UP_SECONDS')
    path, how, kind = sys.argv[1:4]
    n, seconds, warm_up = int(sys.argv[4]), float(sys.argv[5]), float(sys.argv[6])
    load = threads(path, kind, n, seconds, warm_up) if how == 'threads' else asyncio.run(tasks(path, kind, n, seconds, warm_up))
    load.report(seconds)


main()
