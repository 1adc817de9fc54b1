"""A daemon that is played: a socket at a path, lines in, and answers that are cut, torn, late, doubled or missing, to the byte.
One loop without threads; whoever owns it calls poll(). It knows no effects: what is answered is said by wrapper.py."""
import collections
import fcntl
import json
import os
import select
import socket
import struct
import termios
import time

CHUNK = 1 << 20
DRAINS_MAX = 100
LONG = 1 << 16  # a line that may be more than a socket holds is cut without being known

Request = collections.namedtuple('Request', 'conn id method params gap_ms size')  # gap_ms: since .last_s


class Conn:
    """One connection of the client's. open ends when either side closes."""

    def __init__(self, sock):
        self.sock, self.buffer, self.open = sock, b'', True

    def close(self):
        if self.open:
            self.open = False
            self.sock.close()


class Played:
    """.requests: what came and was not taken yet, oldest first; .faults: what no client may send, in words; .cut: what is to
    become of the next line that begins to come: None, a number of its bytes after which its connection is reset, or `whole` for one
    byte less than it has; .last_s: when something was last written or closed."""

    def __init__(self, path):
        self.path, self.listener, self.conns = path, None, []
        self.requests, self.faults = collections.deque(), []
        self.cut, self.last_s, self.n_events = None, 0.0, 0
        self.start()

    def start(self):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen(128)

    def stop(self):
        """Nobody is there any more: connects are refused."""
        if self.listener:
            os.unlink(self.path)
            self.listener.close()
            self.listener = None
        self.close_all()

    def close_all(self):
        """What came and was not taken is lost with its connection."""
        for conn in self.conns:
            conn.close()
        self.conns = []
        self.requests.clear()
        self.last_s = time.monotonic()

    # ---- reading

    def poll(self, timeout_s, also=None):
        """Takes what has come, waiting so long for something; true if the file descriptor `also` can be read."""
        self.conns = [conn for conn in self.conns if conn.open]
        poller = select.poll()
        sources = {conn.sock.fileno(): conn for conn in self.conns}
        for fd in [*sources, *([self.listener.fileno()] if self.listener else []), *([] if also is None else [also])]:
            poller.register(fd, select.POLLIN)
        ready = {fd for fd, _ in poller.poll(max(0, timeout_s) * 1000)}
        self.n_events += len(ready)
        for fd in ready:
            if fd in sources:
                self._read(sources[fd])
            elif self.listener and fd == self.listener.fileno():
                self.conns.append(Conn(self.listener.accept()[0]))
        return also in ready

    def _read(self, conn):
        try:
            if self.cut is not None and not conn.buffer:
                self._read_cut(conn, conn.sock.recv(CHUNK, socket.MSG_PEEK))
                return
            data = conn.sock.recv(CHUNK)
        except ConnectionError:
            data = b''
        if not data:
            conn.close()
            return
        conn.buffer += data
        while b'\n' in conn.buffer:
            line, conn.buffer = conn.buffer.split(b'\n', 1)
            self._line(conn, line + b'\n')

    def _read_cut(self, conn, line):
        """What stands unread at a close is what makes the client's next read ECONNRESET, not an end of the stream."""
        if not line:
            conn.close()
            return
        if not line.endswith(b'\n') and (self.cut == 'whole' or len(line) < LONG):
            return  # it is all there soon
        n = len(line) - 1 if self.cut == 'whole' else min(self.cut, len(line) - 1)
        self.cut = None
        if n:
            conn.sock.recv(n)
        if line.endswith(b'\n'):
            self._line(conn, line)
        else:
            self.requests.append(Request(conn, None, None, {}, 0, len(line)))
        self.close(conn)

    def _line(self, conn, line):
        try:
            told = json.loads(line)
            request = Request(conn, told['id'], told['method'], told['params'], (time.monotonic() - self.last_s) * 1000, len(line))
            if told['jsonrpc'] != '2.0' or not isinstance(request.params, dict) or not isinstance(request.id, (int, str)):
                raise ValueError
        except (ValueError, KeyError, TypeError):
            self.faults.append(f'this is no request: {line[:300]!r}')
            return
        self.requests.append(request)

    # ---- writing

    def write(self, conn, data, pieces=None):
        """Whether it could be written; in pieces of so many bytes, each when the client has read what came before."""
        try:
            for at in range(0, len(data), pieces or len(data) or 1):
                self.last_s = time.monotonic()  # before it, as the client may be the quicker one
                conn.sock.sendall(data[at:at + (pieces or len(data))])
                if pieces:
                    self._wait_read(conn)
        except OSError:
            return False
        return True

    @staticmethod
    def _wait_read(conn):
        until_s = time.monotonic() + 5
        while struct.unpack('i', fcntl.ioctl(conn.sock, termios.TIOCOUTQ, b'\0' * 4))[0] and time.monotonic() < until_s:
            select.select([], [], [], 0.0001)

    def close(self, conn):
        self.last_s = time.monotonic()
        conn.close()

    def drain(self):
        """Takes all that has come so far: it may stand in connections that nobody has accepted yet."""
        for _ in range(DRAINS_MAX):  # a line that is to be cut stays readable while it is not whole
            n = self.n_events
            self.poll(0)
            if self.n_events == n:
                return

    def end(self):
        """Closes all of it. Returns the lines that came and were not taken."""
        self.drain()
        late = [f'{request.method} {json.dumps(request.params)[:200]}' for request in self.requests] + self.faults
        self.stop()
        return late
