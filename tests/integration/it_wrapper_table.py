#!/usr/bin/python3
"""One table of cases for every client: tests/vectors/wrapper.json, a daemon that is played badly, and the drivers of the clients in C,
Python (blocking and asyncio) and Node. And the table's own test: a client that passes it, and with each of its faults does not."""
import concurrent.futures
import sys

from clients import drivers, vectors
from harness import *

sys.path.insert(0, vectors())
import bad_driver  # noqa: E402
import wrapper  # noqa: E402

SMALL = [sys.executable, vectors('bad_driver.py')]
EVERY = rounds_of(11, 1)  # of the cases for each byte


def tell_whole_table(name, run):
    """A line for each case."""
    for case, problem in run.report():
        ok(not problem, f'{name}: {case}', problem)
    for case in run.cannot:
        note(f'{name}: beyond it: {case}')
    note(f'{name}: {run.n} plays, the slowest took {run.slowest[0]:.1f} s: {run.slowest[1]}')


def with_fault(table, fault, words):
    """How many cases have these words, and what is wrong with a client that has this fault."""
    run = wrapper.Run(table, [*SMALL, fault], 1, 1000, 0, words, (), 3 * SLOW)
    return len(run.cases), [problem for _, problem in run.report() if problem]


def main():
    """Everything at once: most of it is waiting."""
    chance, table = seed(), wrapper.Table()
    clients = [*drivers(), ('the small client', SMALL, ())]
    with concurrent.futures.ThreadPoolExecutor(8) as runs, concurrent.futures.ThreadPoolExecutor(8) as faults:
        whole = [runs.submit(wrapper.Run, table, command, 4, EVERY, chance, cannot=cannot) for _, command, cannot in clients]
        found = {fault: faults.submit(with_fault, table, fault, words) for fault, words in bad_driver.FAULTS.items()}
        for (name, _, _), run in zip(clients, whole):
            tell_whole_table(name, run.result())
        for fault, words in bad_driver.FAULTS.items():
            n, problems = found[fault].result()
            ok(n and problems, f'a client with the fault {fault} fails "... {words} ..."', f'of {n} cases none failed')
    done()


main()
