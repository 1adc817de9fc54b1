"""JSON lines over a Unix socket, for one worker: requests by id, answers in any order, a connection that may be lost.

Lines        what both the provider and effectd are spoken to with.
Ledger       a connection to effectd that keeps asking: lost connections and `unavailable` are its business, decisions are not.
"""
import asyncio
import json
import time
import uuid

__all__ = ['Ledger', 'Lines']

AGAIN_S = 0.02  # until we knock again where nobody listens


class Lines(asyncio.Protocol):
    """One connection. A future for each request that was sent; all of them fail when the connection ends."""

    def __init__(self):
        self.transport = None
        self.buffer = b''
        self.waiting = {}
        self.next_id = 0

    @classmethod
    async def open(cls, path):
        _, lines = await asyncio.get_running_loop().create_unix_connection(cls, path)
        return lines

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        lines = (self.buffer + data).split(b'\n')
        self.buffer = lines.pop()
        for line in lines:
            answer = json.loads(line)
            future = self.waiting.pop(answer['id'], None)
            if future and not future.done():
                future.set_result(answer)

    def connection_lost(self, exc):
        waiting, self.waiting = self.waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(ConnectionError('the connection was lost'))

    def send(self, request):
        """Sends it now, under an id of its own; the answer comes by the future."""
        if self.transport.is_closing():
            raise ConnectionError('the connection was lost')
        self.next_id += 1
        future = asyncio.get_running_loop().create_future()
        self.waiting[self.next_id] = future
        self.transport.write(json.dumps({'id': self.next_id, **request}, separators=(',', ':')).encode() + b'\n')
        return future

    def abort(self):
        """As a process that dies does: nothing more is read or written. What was sent was sent."""
        for future in self.waiting.values():
            future.cancel()
        self.waiting = {}
        self.transport.abort()


class Ledger:
    """A worker's way to effectd. Each line is sent again, unchanged, until somebody answers it."""

    def __init__(self, path, clock):
        self.path, self.clock = path, clock
        self.lines = None
        self.n_lost = 0  # answers that did not come: lost connections, and `unavailable`

    @staticmethod
    def request_id(chance):
        return str(uuid.UUID(int=chance.getrandbits(128), version=4))

    async def send(self, method, params):
        """(future, when it was sent), on a connection that may be lost at once."""
        while self.lines is None or self.lines.transport.is_closing():
            try:
                self.lines = await Lines.open(self.path)
            except (ConnectionError, FileNotFoundError):
                await asyncio.sleep(AGAIN_S)
        sent_at = time.monotonic()
        return self.lines.send({'jsonrpc': '2.0', 'method': method, 'params': params}), sent_at

    async def ask(self, method, params):
        """(result or None, error or None, when the line that was answered had been sent)."""
        while True:
            try:
                future, sent_at = await self.send(method, params)
                answer = await future
            except ConnectionError:
                self.n_lost += 1
                await asyncio.sleep(AGAIN_S)
                continue
            error = answer.get('error')
            if error and error['data']['name'] in ('unavailable', 'overloaded'):
                self.n_lost += 1
                await asyncio.sleep(max(AGAIN_S, self.clock.s(error['data'].get('retry_after_ms', 200))))
                continue
            return answer.get('result'), error, sent_at

    def abort(self):
        if self.lines:
            self.lines.abort()
        self.lines = None
