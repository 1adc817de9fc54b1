"""One JSON line out, one JSON line in, over a Unix socket: all that a wrapper needs, whoever it speaks to. With DEMO_TRACE
set, both lines also go to standard error as they pass, so that the story can show what was asked and what was answered."""
import itertools
import json
import os
import socket
import sys


class Lines:
    """A connection to `who` ("effectd" or "provider") at the socket `path`."""

    def __init__(self, who, path, timeout_s=30):
        self.who, self.ids = who, itertools.count(1)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout_s)
        self.socket.connect(path)
        self.file = self.socket.makefile('rw', encoding='utf-8')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def trace(self, **what):
        if os.environ.get('DEMO_TRACE'):
            print(json.dumps({'who': self.who, **what}), file=sys.stderr, flush=True)

    def send(self, message):
        """Sends one object and returns the answer. ConnectionError: it was sent, and no answer came."""
        self.file.write(json.dumps(message) + '\n')
        self.file.flush()
        line = self.file.readline()
        if not line.endswith('\n'):
            self.trace(lost=True)
            raise ConnectionError(f'{self.who} closed the connection before it answered')
        return json.loads(line)

    def do(self, **message):
        """Asks the provider."""
        self.trace(sent=message)
        answer = self.send(message)
        self.trace(got=answer)
        return answer

    def ask(self, method, **params):
        """Asks effectd. Its refusals end the program: nothing may be called then."""
        self.trace(sent=params, method=method)
        answer = self.send({'jsonrpc': '2.0', 'id': next(self.ids), 'method': method, 'params': params})
        self.trace(got=answer.get('result', answer))
        if 'error' in answer:
            sys.exit(f'{method}: {answer["error"]["message"]}')
        return answer['result']
