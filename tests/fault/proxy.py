"""A proxy on Unix sockets that cuts, resets, mutes, slows or answers itself, at a byte or an exchange that a test names.

    proxy = PgProxy(folder(), cluster.dir)              # speaks PostgreSQL: an exchange is all up to a Sync and its answer
    proxy = LineProxy(folder(), daemon.socket)          # knows nothing: a rule takes the next connection
    daemon = Daemon(proxy.conninfo(), ...)
    rule = proxy.arm(Cut('begin', DOWN, 17))            # the next exchange of the statement `begin`
    ...; rule.fired.wait(10)

UP is from the client to the server. One thread serves all connections; a test arms rules and reads what happened. No byte is
held back but by a rule, or until its exchange is whole.
"""
import collections
import os
import re
import select
import selectors
import socket
import struct
import threading
import time
import traceback

__all__ = ['UP', 'DOWN', 'HOWS', 'Cut', 'Inject', 'LineProxy', 'PgProxy', 'Record', 'Rule', 'Slow', 'Warn']

UP, DOWN = 'up', 'down'
HOWS = ('close', 'reset', 'half', 'mute')
CHUNK = 1 << 16


# ---- what may happen to an exchange ---------------------------------------------------------------------------------

class Rule:
    """What happens to one exchange. This one lets it pass, and counts its bytes.

    what: the statement's name (its SQL holds it, where it has no name); None: any. since: only once an exchange of that
    name has been answered after arming. `taken`: it has its exchange; `fired`: what it is for has happened.
    """
    keeps = 0  # so many bytes of the client's stay unread in the socket, so that a close is a reset

    def __init__(self, what=None, since=None):
        self.what, self.since = what, since
        self.taken, self.fired = threading.Event(), threading.Event()
        self.link = None
        self.n = {UP: 0, DOWN: 0}

    def pass_on(self, link, way, data):
        self.n[way] += len(data)
        link.pass_on(way, data)

    def ask(self, link, data):
        """What the client sent: the whole exchange, or a piece where there are no exchanges."""
        self.pass_on(link, UP, data)

    def answer(self, link, data):
        self.pass_on(link, DOWN, data)

    def limit(self, way):
        """How many bytes may be read now; None: as many as come."""
        return None

    def over(self, link):
        """The exchange has been answered to its end."""
        self.fired.set()


class Record(Rule):
    """Nothing happens; n holds how long both halves were, and `prepares` whether its statement was prepared in it."""
    prepares = False

    def ask(self, link, data):
        self.prepares = data.startswith(b'P')
        super().ask(link, data)


class Cut(Rule):
    """The connection ends after `after` bytes of one half (or with the half, if it is shorter; below 0: so many before the
    end of what the client sends), in one of these ways.

    close  both ends are closed; what was passed on before arrives
    reset  the same, with bytes unread, so that our client finds ECONNRESET
    half   whoever read so far finds the end of the stream; the other half goes on
    mute   nothing ends: both halves fall silent, what else comes stays with us until release()
    """

    def __init__(self, what, way, after, how='close', since=None):
        super().__init__(what, since)
        self.way, self.after, self.how = way, after, how
        self.keeps = 1 if how == 'reset' else 0

    def part(self, link, way, data):
        if way != self.way or self.fired.is_set():
            self.pass_on(link, way, data)
            return
        room = self.after - self.n[way]
        self.pass_on(link, way, data[:room])
        if len(data) >= room:
            self.fire(link, data[room:])

    def ask(self, link, data):
        if self.after < 0:
            self.after += len(data)
        self.part(link, UP, data)
        if link.has_exchanges and self.way == UP and not self.fired.is_set():
            self.fire(link, b'')

    def answer(self, link, data):
        self.part(link, DOWN, data)

    def limit(self, way):
        if way == self.way and self.how == 'reset' and not self.fired.is_set():
            return self.after - self.n[way]
        return None

    def over(self, link):
        if not self.fired.is_set():
            self.fire(link, b'')

    def fire(self, link, rest):
        if self.how == 'half':
            link.end_half(self.way)
        elif self.how == 'mute':
            link.mute(self.way, rest)
        else:
            link.close()
        self.fired.set()


class Slow(Rule):
    """One half goes in pieces of `chunk` bytes (None: whole), `pause_s` before each."""

    def __init__(self, what, way, chunk=1, pause_s=0.0, since=None):
        super().__init__(what, since)
        self.way, self.chunk, self.pause_s = way, chunk, pause_s

    def start(self, link):
        link.pace[self.way], link.unpaced = (self.chunk, self.pause_s), False

    def ask(self, link, data):
        self.start(link)
        super().ask(link, data)

    def answer(self, link, data):
        self.start(link)
        super().answer(link, data)

    def over(self, link):
        link.unpaced = True  # once all is out
        link.flush(self.way)
        self.fired.set()


class Inject(Rule):
    """An ErrorResponse stands where the answer's end should.

    instead  the statement never reaches the server
    after    it is executed, its rows are told, and then the transaction fails
    fatal    as instead, severity FATAL, and the connection ends
    """

    def __init__(self, what, sqlstate, mode='instead', message='injected', since=None):
        super().__init__(what, since)
        self.sqlstate, self.mode, self.message = sqlstate, mode, message
        self.buffer = bytearray()

    def error(self):
        severity = 'FATAL' if self.mode == 'fatal' else 'ERROR'
        return error_response(severity, self.sqlstate, self.message)

    def ask(self, link, data):
        if self.mode == 'after':
            # a statement that cannot be parsed takes the place of the Sync: it undoes all that was done
            bad = message(b'P', b'\0no statement\0\0\0')
            link.pass_on(UP, data[:-len(SYNC)] + bad + SYNC)
            return
        if self.mode == 'fatal':
            link.pass_on(DOWN, self.error())
            link.close()
        else:
            link.pass_on(DOWN, self.error() + READY)
            link.leave_rule()
        self.fired.set()

    def answer(self, link, data):
        self.buffer += data
        for kind, whole in take_messages(self.buffer):
            link.pass_on(DOWN, self.error() if kind == b'E' else whole)


class Warn(Rule):
    """A WARNING goes before the answer's ReadyForQuery."""

    def __init__(self, what, text='committed locally', since=None):
        super().__init__(what, since)
        self.text = text
        self.buffer = bytearray()

    def answer(self, link, data):
        self.buffer += data
        for kind, whole in take_messages(self.buffer):
            if kind == b'Z':
                link.pass_on(DOWN, message(b'N', fields('WARNING', '01000', self.text)))
            link.pass_on(DOWN, whole)


# ---- PostgreSQL's messages ------------------------------------------------------------------------------------------

def message(kind, body):
    return kind + struct.pack('>i', len(body) + 4) + body


def fields(severity, sqlstate, text):
    parts = (('S', severity), ('V', severity), ('C', sqlstate), ('M', text))
    return b''.join(name.encode() + value.encode() + b'\0' for name, value in parts) + b'\0'


def error_response(severity, sqlstate, text):
    return message(b'E', fields(severity, sqlstate, text))


SYNC = message(b'S', b'')
READY = message(b'Z', b'I')


def take_messages(buffer):
    """[(kind, bytes)] of the whole messages at its start, which go."""
    found = []
    while len(buffer) >= 5:
        size = struct.unpack_from('>i', buffer, 1)[0] + 1
        if len(buffer) < size:
            break
        found.append((bytes(buffer[:1]), bytes(buffer[:size])))
        del buffer[:size]
    return found


def label_of(messages):
    """What an exchange is for: the name of its last statement, or the SQL of one without a name."""
    label = ''
    for kind, whole in messages:
        if kind == b'P':
            name, sql = whole[5:].split(b'\0')[:2]
        elif kind == b'B':
            name, sql = whole[5:].split(b'\0')[1], b''
        else:
            continue
        if name:
            label = re.sub(r'_\d+_[0-9a-f]{8}$', '', name.decode())
        elif sql:
            called = re.search(r'from effect\.(\w+)\(', sql.decode())
            label = called.group(1) if called else sql.decode()
    return label


# ---- connections ----------------------------------------------------------------------------------------------------

def hung_up(sock):
    """Has its peer closed it, not only ceased to write?"""
    poll = select.poll()
    poll.register(sock, 0)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


class Link:
    """One connection through the proxy. Only the proxy's thread touches it."""
    has_exchanges = False

    def __init__(self, proxy, front, back):
        self.proxy, self.front, self.back = proxy, front, back
        self.sinks = {UP: back, DOWN: front}
        self.sources = {UP: front, DOWN: back}
        self.waiting = {UP: bytearray(), DOWN: bytearray()}  # to be passed on as soon as it is taken
        self.held = {UP: bytearray(), DOWN: bytearray()}  # while mute
        self.pace, self.unpaced, self.not_before_s = {}, False, {UP: 0.0, DOWN: 0.0}
        self.peeked = 0
        self.deaf = set()  # halves that we do not read
        self.dropped = set()  # halves whose reader was told of an end
        self.ending = set()  # halves whose source has ended: told on when all is passed on
        self.rule = None
        self.is_mute = self.closed = False
        self.opened_s, self.closed_s = time.monotonic(), None

    # -- what comes --

    def came(self, way, data):
        raise NotImplementedError

    def readable(self, way):
        source = self.sources[way]
        limit = self.rule.limit(way) if self.rule else None
        if limit == 0:
            self.rule.fire(self, b'')
            return
        try:
            data = source.recv(min(limit or CHUNK, CHUNK), socket.MSG_PEEK if way == UP else 0)
            if way == UP and data:
                fresh, n = data[self.peeked:], len(data)
                self.came(UP, fresh)
                keep = self.rule.keeps if self.rule and self.has_exchanges else 0
                self.peeked = min(keep, n)
                if keep:
                    self.deaf.add(UP)
                if not self.closed and n > keep:
                    source.recv(n - keep)
                return
        except BlockingIOError:
            return
        except OSError:
            data = b''
        if data:
            self.came(way, data)
        else:
            self.source_ended(way)

    def source_ended(self, way):
        self.deaf.add(way)
        self.ending.add(way)
        self.flush(way)

    # -- what goes --

    def pass_on(self, way, data):
        if self.closed or way in self.dropped:
            return
        self.waiting[way] += data
        self.flush(way)

    def flush(self, way):
        chunk, pause_s = self.pace.get(way, (None, 0.0))
        now_s = time.monotonic()
        waiting = self.waiting[way]
        while waiting and now_s >= self.not_before_s[way]:
            try:
                n = self.sinks[way].send(waiting[:chunk or len(waiting)])
            except BlockingIOError:
                break
            except OSError:
                self.close()
                return
            del waiting[:n]
            if chunk:
                self.not_before_s[way] = now_s + pause_s
                if pause_s == 0:
                    break  # the next piece in the next pass
        if not waiting:
            self.all_out(way)

    def all_out(self, way):
        if self.unpaced:
            self.pace.pop(way, None)
        if way not in self.ending or self.is_mute:
            return
        if way == UP and not self.has_exchanges and not hung_up(self.front):
            self.end_half(UP)
        else:
            self.close()

    # -- ends --

    def end_half(self, way):
        self.dropped.add(way)
        try:
            self.sinks[way].shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def mute(self, way, rest):
        self.is_mute = True
        self.deaf |= {UP, DOWN}
        self.held[way] += rest

    def resume(self):
        """Mute no more: what was held back goes on."""
        if self.closed:
            return
        self.is_mute = False
        self.deaf -= {UP, DOWN} - self.ending
        for way, held in self.held.items():
            self.waiting[way] += held
            held.clear()
            self.flush(way)

    def leave_rule(self):
        self.rule = None

    def close(self):
        if self.closed:
            return
        self.closed, self.closed_s = True, time.monotonic()
        self.proxy.forget(self)
        for sock in (self.front, self.back):
            if sock:
                sock.close()

    def interest(self, sock):
        mask = 0
        for way in (UP, DOWN):
            if self.sources[way] is sock and way not in self.deaf and len(self.waiting[way]) < CHUNK:
                mask |= selectors.EVENT_READ
            if self.sinks[way] is sock and self.waiting[way] and time.monotonic() >= self.not_before_s[way]:
                mask |= selectors.EVENT_WRITE
        return mask


class LineLink(Link):
    """Between a client and the daemon; a rule takes the connection as a whole."""

    def came(self, way, data):
        if not self.rule:
            self.pass_on(way, data)
        elif way == UP:
            self.rule.ask(self, data)
        else:
            self.rule.answer(self, data)


class PgLink(Link):
    """Between the daemon and PostgreSQL: goes on with what the client sent when its exchange is whole."""
    has_exchanges = True

    def __init__(self, *args):
        super().__init__(*args)
        self.starting = True
        self.up, self.down, self.exchange = bytearray(), bytearray(), []
        self.label = 'startup'

    def came(self, way, data):
        if way == UP:
            self.up += data
            self.take_up()
        else:
            if self.rule:
                self.rule.answer(self, data)
            else:
                self.pass_on(DOWN, data)
            self.take_down(data)

    def take_up(self):
        while self.starting and len(self.up) >= 8:
            size, code = struct.unpack_from('>ii', self.up)
            if len(self.up) < size:
                return
            self.starting = code >> 16 != 3  # else a question about encryption, or a cancel request
            self.pass_on(UP, bytes(self.up[:size]))
            del self.up[:size]
        if self.starting:
            return
        for kind, whole in take_messages(self.up):
            self.exchange.append((kind, whole))
            if kind in b'SXpQ':
                self.ask()

    def ask(self):
        messages, self.exchange = self.exchange, []
        data = b''.join(whole for _, whole in messages)
        label = label_of(messages)
        if messages[-1][0] in b'SQ':
            self.label = label
            if not self.rule:
                self.rule = self.proxy.rule_for(self, label)
        if self.rule:
            self.rule.ask(self, data)
        else:
            self.pass_on(UP, data)

    def take_down(self, data):
        self.down += data
        for kind, _ in take_messages(self.down):
            if kind != b'Z' or self.closed:
                continue
            self.proxy.answered(self.label)
            rule, self.rule = self.rule, None
            if rule:
                rule.over(self)


class Refusal(Link):
    """A connection that gets no server. how: close, mute, or a SQLSTATE, told as FATAL to the start packet."""

    def __init__(self, proxy, front, how):
        super().__init__(proxy, front, None)
        self.how = how
        if how == 'mute':
            self.deaf.add(UP)

    def came(self, way, data):
        if self.how != 'close':
            self.pass_on(DOWN, error_response('FATAL', self.how, 'injected'))
        self.close()


# ---- the proxy ------------------------------------------------------------------------------------------------------

class Proxy:
    """Listens at `path` and connects each client to `target`. door: open, close, mute, or a SQLSTATE (Refusal)."""
    link_class = LineLink

    def __init__(self, path, target):
        self.path, self.target = path, target
        self.door = 'open'
        self.lock = threading.Lock()
        self.rules, self.links = [], []
        self.accepted_s = []  # when each connection came
        self.n_answered = collections.Counter()  # exchanges, by name
        self.failure = None
        self.selector = selectors.DefaultSelector()
        self.masks = {}  # of sockets in the selector
        self.wake_in, self.wake_out = socket.socketpair()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        os.chmod(path, 0o777)
        self.listener.listen(128)
        self.listener.setblocking(False)
        self.wake_out.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.selector.register(self.wake_out, selectors.EVENT_READ)
        self.stopping = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    # -- for the test --

    def arm(self, rule):
        """It takes the next exchange (or connection) that it is for. Returns it."""
        self.check()
        with self.lock:
            rule.answered_before = self.n_answered[rule.since]
            self.rules.append(rule)
        return rule

    def disarm(self, rule):
        with self.lock:
            if rule in self.rules:
                self.rules.remove(rule)

    def resume(self, rule):
        with self.lock:
            rule.link.resume()
        self.wake()

    def cut(self, *rules):
        """Closes the connections of these rules; all connections, if none are given."""
        with self.lock:
            for link in [rule.link for rule in rules] if rules else list(self.links):
                link.close()
        self.wake()

    def mute(self):
        """All connections fall silent, as does every new one; unmute() lets them go on."""
        with self.lock:
            self.door = 'mute'
            for link in self.links:
                link.mute(UP, b'')
        self.wake()

    def unmute(self):
        with self.lock:
            self.door = 'open'
            for link in list(self.links):
                link.resume()
        self.wake()

    def open_links(self):
        with self.lock:
            return [link for link in self.links if not isinstance(link, Refusal)]

    def check(self):
        if self.failure:
            raise RuntimeError(f'the proxy failed: {self.failure}')

    def stop(self):
        self.stopping = True
        self.wake()
        self.thread.join()
        with self.lock:
            for link in list(self.links):
                link.close()
        self.listener.close()
        self.selector.close()
        self.wake_in.close()
        self.wake_out.close()
        self.check()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # -- its thread --

    def wake(self):
        self.wake_in.send(b'.')

    def rule_for(self, link, label):
        for rule in self.rules:
            if rule.since and self.n_answered[rule.since] <= rule.answered_before:
                continue
            if rule.what is None or rule.what == label or (' ' in label and rule.what in label):
                self.rules.remove(rule)
                rule.link = link
                rule.taken.set()
                return rule
        return None

    def answered(self, label):
        self.n_answered[label] += 1

    def forget(self, link):
        self.links.remove(link)
        for sock in (link.front, link.back):
            if sock and self.masks.pop(sock, 0):
                self.selector.unregister(sock)

    def accept(self):
        try:
            front, _ = self.listener.accept()
        except BlockingIOError:
            return
        self.accepted_s.append(time.monotonic())
        front.setblocking(False)
        if self.door != 'open':
            self.links.append(Refusal(self, front, self.door))
            return
        back = socket.socket(socket.AF_UNIX)
        try:
            back.connect(self.target)
        except OSError:
            front.close()
            back.close()
            return
        back.setblocking(False)
        link = self.link_class(self, front, back)
        self.links.append(link)
        if not link.has_exchanges:
            link.rule = self.rule_for(link, '')

    def watch(self):
        """Tells the selector what is of interest; returns how long to wait for it."""
        wait_s = None
        now_s = time.monotonic()
        for link in self.links:
            for sock in (link.front, link.back):
                if not sock:
                    continue
                mask, had = link.interest(sock), self.masks.get(sock, 0)
                if mask == had:
                    continue
                if not mask:
                    self.selector.unregister(sock)
                elif not had:
                    self.selector.register(sock, mask, link)
                else:
                    self.selector.modify(sock, mask, link)
                self.masks[sock] = mask
            for way in (UP, DOWN):
                if link.waiting[way] and link.not_before_s[way] > now_s:
                    wait_s = min(wait_s or 10.0, link.not_before_s[way] - now_s)
        return wait_s

    def serve(self, key, mask):
        link, sock = key.data, key.fileobj
        if mask & selectors.EVENT_WRITE and not link.closed:
            link.flush(DOWN if sock is link.front else UP)
        if mask & selectors.EVENT_READ and not link.closed:
            way = UP if sock is link.front else DOWN
            if way not in link.deaf:
                link.readable(way)

    def run(self):
        try:
            while not self.stopping:
                with self.lock:
                    wait_s = self.watch()
                events = self.selector.select(wait_s)
                with self.lock:
                    for key, mask in events:
                        if key.fileobj is self.listener:
                            self.accept()
                        elif key.fileobj is self.wake_out:
                            self.wake_out.recv(CHUNK)
                        else:
                            self.serve(key, mask)
        except Exception:  # pylint: disable=broad-except
            self.failure = traceback.format_exc()


class LineProxy(Proxy):
    """Between clients and the daemon: connect to .path."""

    def __init__(self, folder, target):
        super().__init__(os.path.join(folder, 'proxy.sock'), target)


class PgProxy(Proxy):
    """Between the daemon and a cluster: conninfo() leads to it."""
    link_class = PgLink

    def __init__(self, folder, cluster_dir):
        self.folder = folder
        super().__init__(os.path.join(folder, '.s.PGSQL.5432'), os.path.join(cluster_dir, '.s.PGSQL.5432'))

    def conninfo(self, user='postgres', database='effectd', **more):
        words = {'host': self.folder, 'port': 5432, 'user': user, 'dbname': database, **more}
        return ' '.join(f'{name}={value}' for name, value in words.items())
