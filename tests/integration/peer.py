"""A peer that plays the daemon, and a terminal, for tests of effectctl."""
import json
import os
import pty
import queue
import socket
import threading

from harness import ctl, folder

__all__ = ['EFFECT', 'HANG_UP', 'HOSTILE', 'Peer', 'Player', 'error', 'terminal']

EFFECT = '6f0cb3a6-3f0e-8b3c-9a51-0c5d7e1f2a3b'
# What moves a cursor, turns a line around, fakes another or is not seen.
HOSTILE = '\x1b[2J\x1b]0;t\x07 a\nstate: done\r\x9b31m\u202egpj.exe\u200b'
HANG_UP = object()


class Peer:
    """Listens like a daemon; each line that comes is answered by the next of `answers` (an object, bytes, HANG_UP or a function
    of the request), the last one for ever. .lines: what came, to the byte."""

    def __init__(self, *answers, listen=True):
        self.path = os.path.join(folder(), 's')
        self.answers = list(answers)
        self.lines = []
        self.heard = queue.Queue()
        self.listener = None
        if listen:
            self.listen()

    def listen(self):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            conn, _ = self.listener.accept()
            data = b''
            with conn:
                while not data.endswith(b'\n'):
                    more = conn.recv(1 << 20)
                    if not more:
                        break
                    data += more
                if not data:
                    continue
                self.lines.append(data)
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if callable(answer):
                    answer = answer(json.loads(data))
                self.heard.put(data)
                if answer is HANG_UP:
                    continue
                if isinstance(answer, dict):
                    if 'error' not in answer:
                        answer = {'result': answer}
                    answer = json.dumps({'jsonrpc': '2.0', 'id': 1, **answer}, ensure_ascii=False).encode() + b'\n'
                try:
                    conn.sendall(answer)
                except OSError:
                    pass

    def ctl(self, *args, **how):
        return ctl(*args, socket=self.path, **how)

    def requests(self):
        return [json.loads(line) for line in self.lines]


class Player:
    """Plays the daemon to a client that keeps its connection: answers[method] is an object, HANG_UP (the connection is closed), None
    (silence), or a function of the request that returns one of these. .requests: what came, in order; .n_told: answers that were sent."""

    def __init__(self, **answers):
        self.path = os.path.join(folder(), 's')
        self.answers = answers
        self.requests, self.n_told = [], 0
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            conn, _ = self.listener.accept()
            threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    def _serve(self, conn):
        with conn, conn.makefile('rb') as lines:
            try:
                for line in lines:
                    answer = self._answer(json.loads(line))
                    if answer is HANG_UP:
                        return
                    if answer:
                        conn.sendall(answer)
                        self.n_told += 1
            except OSError:
                pass  # the client is gone

    def _answer(self, request):
        self.requests.append(request)
        answer = self.answers.get(request['method'], error(-32601, 'unknown_method'))
        if callable(answer):
            answer = answer(request)
        if answer is None or answer is HANG_UP:
            return answer
        answer = answer if 'error' in answer else {'result': answer}
        return json.dumps({'jsonrpc': '2.0', 'id': request['id'], **answer}).encode() + b'\n'

    def sent(self, method):
        """The params of each request of this method."""
        return [request['params'] for request in self.requests if request['method'] == method]


def error(code, name, message='no', **data):
    return {'error': {'code': code, 'message': message, 'data': {'name': name, **data}}}


def terminal(argv):
    """What argv prints on a terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ['LC_ALL'] = 'C.UTF-8'
        os.execv(argv[0], argv)
    data = b''
    while True:
        try:
            more = os.read(fd, 4096)
        except OSError:
            break
        if not more:
            break
        data += more
    os.waitpid(pid, 0)
    os.close(fd)
    return data.decode()
