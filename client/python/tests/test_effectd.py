"""The package by itself: a played daemon of a few lines, no effectd needed. python3 -m unittest discover tests

What holds it to the rules of every client, and to a real daemon, is in effectd's own repository.
"""
import asyncio
import json
import os
import pickle
import socket
import tempfile
import threading
import unittest

import effectd

RUN = {
    'decision': 'run', 'advice': 'Run it.', 'effect': '6f0cb3a6-3f0e-8b3c-9a51-0c5d7e1f2a3b', 'key': 'k', 'attempt': 1,
    'token': '9b1e6a52-7c1d-4a51-8f0b-2f7f0c3f9d11', 'lease_ms': 60000, 'provider_key': 'p', 'on_error': 'unknown',
}
REPLAY = {
    'decision': 'replay', 'advice': 'It is done.', 'effect': RUN['effect'], 'key': 'k', 'attempt': 1, 'outcome': 'succeeded',
    'result': {'a': 1.0}, 'result_state': 'kept', 'done_at': '2026-11-30T09:00:00.000Z',
}
BUSY = {'decision': 'busy', 'advice': 'Ask again later.', 'effect': RUN['effect'], 'key': 'k', 'retry_after_ms': 500}
DONE = {'state': 'done', 'outcome': 'succeeded', 'already': False}


class Played:
    """Answers begin by what a test says, and everything else by done."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, 's')
        self.begin, self.asked, self.ends = RUN, [], []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            self.ends.append(near)
            threading.Thread(target=self.serve, args=(near,), daemon=True).start()

    def serve(self, near):
        with near, near.makefile('rb') as lines:
            for line in lines:
                asked = json.loads(line)
                self.asked.append((asked['method'], asked['params']))
                result = self.begin if asked['method'] == 'begin' else DONE
                near.sendall(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}).encode() + b'\n')

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.folder.cleanup()


class Test(unittest.TestCase):
    def setUp(self):
        self.daemon = Played()
        self.addCleanup(self.daemon.close)
        self.ledger = effectd.Ledger(self.daemon.path)
        self.addCleanup(self.ledger.close)

    def told(self):
        return [method for method, _ in self.daemon.asked]

    def test_run(self):
        @self.ledger.tool('t')
        def refund(order, *, effect):
            return [order, effect.provider_key]
        self.assertEqual(refund(7), [7, 'p'])
        self.assertEqual(self.told(), ['begin', 'complete'])
        self.assertEqual(self.daemon.asked[0][1]['args'], {'order': 7})
        self.assertEqual(self.daemon.asked[1][1]['result'], [7, 'p'])

    def test_replay(self):
        self.daemon.begin = REPLAY
        outcome = effectd.outcome(self.ledger.tool('t')(self.fail))
        self.assertEqual((outcome.value, outcome.replayed, outcome.raw), ({'a': 1.0}, True, b'{"a": 1.0}'))

    def test_not_run(self):
        self.daemon.begin = BUSY
        with self.assertRaises(effectd.Busy) as raised:
            self.ledger.tool('t')(self.fail)()
        self.assertEqual((str(raised.exception), raised.exception.retry_after), ('Ask again later.', 0.5))
        self.assertEqual(str(pickle.loads(pickle.dumps(raised.exception))), 'Ask again later.')

    def test_endings(self):
        for error, method in ((effectd.Failed('no'), 'complete'), (effectd.ToolError('no'), 'complete'),
                              (effectd.NotSent('no'), 'release'), (TimeoutError('no'), 'unknown'), (KeyError('no'), 'unknown')):
            with self.subTest(error=error):
                def fn(error=error):
                    raise error
                with self.assertRaises(type(error)) as raised:
                    self.ledger.tool('t', args=lambda _: {}, errors=(TimeoutError,))(fn)()
                self.assertIs(raised.exception, error)
                self.assertEqual(self.told()[-1], method)

    def test_block(self):
        with self.ledger.claim('t', key='k') as claim:
            claim.result = 5
        self.assertEqual(self.daemon.asked[-1][1]['result'], 5)
        with self.assertRaises(RuntimeError), self.ledger.claim('t', key='k'):
            pass
        self.assertEqual(self.told()[-1], 'unknown')

    def test_task(self):
        async def main():
            async with effectd.AsyncLedger(self.daemon.path) as ledger:
                @ledger.tool('t')
                async def fn(number):
                    return number
                return await asyncio.gather(fn(1), fn(2))
        self.assertEqual(asyncio.run(main()), [1, 2])
        self.assertEqual(sorted(self.told()), ['begin', 'begin', 'complete', 'complete'])

    def test_cancelled_task(self):
        async def main():
            async with effectd.AsyncLedger(self.daemon.path) as ledger:
                started = asyncio.Event()

                @ledger.tool('t')
                async def fn():
                    started.set()
                    await asyncio.sleep(60)
                task = asyncio.ensure_future(fn())
                await started.wait()
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
        asyncio.run(main())
        self.assertEqual(self.told(), ['begin', 'unknown'])

    def test_nobody_there(self):
        ledger = effectd.Ledger(self.daemon.path + '-not', begin_timeout=0.1, wait=0)
        with self.assertRaises(effectd.Unavailable):
            ledger.tool('t')(self.fail)()

    def test_generators_are_refused(self):
        def numbers():
            yield 1
        with self.assertRaises(TypeError):
            self.ledger.tool('t')(numbers)


if __name__ == '__main__':
    unittest.main()
