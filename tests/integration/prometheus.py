"""What Prometheus would see: a scrape over a plain socket, its page read strictly, and promtool.

The page is read by a reader of its own, not by a pattern for what we expect: a label may hold anything, and one bad line
makes Prometheus drop the whole scrape (case 134).
"""
import re
import socket
import subprocess

from harness import SLOW, bail_out

__all__ = ['Page', 'get', 'port_of', 'promtool', 'request', 'scrape']

NAME = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*')
LABEL = re.compile(r'[a-zA-Z_][a-zA-Z0-9_]*')
ESCAPES = {'\\': '\\', '"': '"', 'n': '\n'}
HISTOGRAM_PARTS = ('_bucket', '_sum', '_count')


def port_of(daemon):
    """Where the daemon's newest start serves its metrics: the port that its log names."""
    return int(re.search(r':(\d+)/metrics', daemon.grep('metrics are at')[-1]).group(1))


def request(port, data, host='127.0.0.1', timeout_s=20):
    """Sends bytes and returns all that comes until the end; b'' also where the peer resets."""
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    with socket.socket(family) as sock:
        sock.settimeout(timeout_s * SLOW)
        sock.connect((host, port))
        answer = b''
        try:
            sock.sendall(data)
            while chunk := sock.recv(1 << 16):
                answer += chunk
        except (ConnectionResetError, BrokenPipeError):
            pass
        return answer


def get(port, path, method='GET', host='127.0.0.1', headers=''):
    """(status, {header: value}, body) of one request."""
    name = f'[{host}]' if ':' in host else host
    answer = request(port, f'{method} {path} HTTP/1.1\r\nHost: {name}:{port}\r\n{headers}\r\n'.encode(), host)
    head, _, body = answer.partition(b'\r\n\r\n')
    lines = head.decode('ascii').split('\r\n')
    fields = dict(line.lower().split(': ', 1) for line in lines[1:])
    return int(lines[0].split(' ')[1]), fields, body.decode()


class Page:
    """A scrape: {(name, ((label, value), ...)): number} and {name: type}. ValueError where Prometheus would refuse it."""

    def __init__(self, text):
        self.samples, self.types, self.helps = {}, {}, {}
        family = None
        if not text.endswith('\n'):
            raise ValueError('no newline at the end')
        for line in text.split('\n')[:-1]:
            if line.startswith('# '):
                kind, name, rest = line[2:].split(' ', 2)
                where = {'HELP': self.helps, 'TYPE': self.types}[kind]
                if name in where:
                    raise ValueError(f'{kind} of {name} twice')
                where[name] = rest
                family = name
                continue
            name, labels, value = self._sample(line)
            if self._family(name) != family:
                raise ValueError(f'{name} among the rows of {family}')
            if (name, labels) in self.samples:
                raise ValueError(f'twice: {line}')
            self.samples[name, labels] = value

    def _family(self, name):
        for part in HISTOGRAM_PARTS:
            if name.endswith(part) and self.types.get(name[:-len(part)]) == 'histogram':
                return name[:-len(part)]
        return name

    @staticmethod
    def _sample(line):
        name = NAME.match(line).group()
        at, labels = len(name), []
        if line[at] == '{':
            at += 1
            while line[at] != '}':
                label = LABEL.match(line, at).group()
                at += len(label)
                if line[at:at + 2] != '="':
                    raise ValueError(line)
                at += 2
                value = ''
                while line[at] != '"':
                    if line[at] == '\\':
                        at += 1
                        value += ESCAPES[line[at]]
                    else:
                        value += line[at]
                    at += 1
                labels.append((label, value))
                at += 1
                if line[at] == ',':
                    at += 1
            at += 1
        if line[at] != ' ':
            raise ValueError(line)
        return name, tuple(sorted(labels)), float(line[at + 1:])

    def get(self, name, **labels):
        """The value of one series, None where there is none."""
        return self.samples.get((name, tuple(sorted(labels.items()))))

    def sum(self, name, **labels):
        """Over all series of the name that have these labels."""
        return sum(value for (other, pairs), value in self.samples.items() if other == name and labels.items() <= dict(pairs).items())

    def values(self, label):
        return {value for _, pairs in self.samples for name, value in pairs if name == label}

    def names(self):
        """Of families that have a series."""
        return {self._family(name) for name, _ in self.samples}


def scrape(daemon):
    status, _, body = get(port_of(daemon), '/metrics')
    if status != 200:
        raise RuntimeError(f'/metrics answered {status}: {body}')
    return Page(body)


def promtool(*args, stdin=None, cwd=None):
    """The CompletedProcess (text); a missing promtool ends the test."""
    try:
        return subprocess.run(['promtool', *args], input=stdin, capture_output=True, text=True, check=False, cwd=cwd, timeout=60 * SLOW)
    except FileNotFoundError:
        bail_out('promtool is not there: packaging/install-deps test')
        raise
