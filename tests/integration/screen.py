"""A small terminal: where what a program prints takes the cursor.

    screen = Screen(known=WATCH)
    screen.feed(data)
    screen.moved            what moved the cursor, or changed the terminal, other than a printed character or a line end
    screen.lines            what is then to be seen

It decodes UTF-8 as terminals do, C1 controls and what is not UTF-8 included. on_terminal() runs a program on one of so many columns.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unicodedata

# what a program of ours may send that shows a screen again and again: home, clear, colours, cursor off and on, other screen
WATCH = re.compile(r'\x1b\[(?:\d*(?:;\d*)*m|H|[0-2]?[JK]|\?25[lh]|\?1049[lh])')
SEQUENCE = re.compile(r'\x1b(?:\[[0-?]*[ -/]*[@-~]?|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~]?)')
# what reorders what is printed, or is not seen: no cursor moves, and what is read is not what stands there
UNSEEN = {'\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u061c', *map(chr, range(0x200e, 0x2010)), *map(chr, range(0x2028, 0x202f)),
          *map(chr, range(0x2066, 0x206a)), *map(chr, range(0xe0000, 0xe0080))}


def width(char):
    """In cells, as wcwidth() of the C library has it."""
    if unicodedata.combining(char) or unicodedata.category(char) in ('Mn', 'Me'):
        return 0
    return 2 if unicodedata.east_asian_width(char) in 'WF' else 1


class Screen:
    """moved: [(row, column, what)]."""

    def __init__(self, columns=100000, known=None):
        self.columns, self.known = columns, known
        self.row = self.column = 0
        self.moved, self.lines = [], ['']

    def feed(self, data):
        text = data.decode('utf-8', 'surrogateescape') if isinstance(data, bytes) else data
        at = 0
        while at < len(text):
            match = SEQUENCE.match(text, at)
            if match:
                if not self.known or not self.known.fullmatch(match.group()):
                    self._moved(match.group())
                elif match.group() in ('\x1b[H', '\x1b[2J', '\x1b[?1049h'):
                    self.row = self.column = 0
                    self.lines = ['']
                at = match.end()
                continue
            if not (self.known and text.startswith('\r\n', at)):  # whoever draws a screen has taken the line ends upon itself
                self._one(text[at])
            at += 1
        return self

    def _one(self, char):
        if char == '\n':
            self.row, self.column = self.row + 1, 0
            self.lines.append('')
        elif unicodedata.category(char) in ('Cc', 'Cs', 'Cn') or char in UNSEEN:
            self._moved(char)
        else:
            self.column += width(char)
            self.lines[-1] += char
            if self.column > self.columns:
                self.row, self.column = self.row + 1, width(char)

    def _moved(self, what):
        self.moved.append((self.row, self.column, what))


def resize(fd, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 40, columns, 0, 0))


def on_terminal(argv, columns=100, env=None, until=None, deadline_s=20, on_data=None):
    """(what argv writes to a terminal, byte for byte; its exit status). until: a fact about what came so far, at which it is
    interrupted, as by Ctrl-C. on_data: is given the terminal and what came so far, each time."""
    pid, fd = pty.fork()
    if pid == 0:
        attributes = termios.tcgetattr(1)
        attributes[1] &= ~termios.OPOST  # LF is to come as LF
        termios.tcsetattr(1, termios.TCSANOW, attributes)
        resize(1, columns)
        os.execve(argv[0], argv, {**os.environ, 'LC_ALL': 'C.UTF-8', 'TERM': 'xterm-256color', **(env or {})})
    data, ends = b'', time.monotonic() + deadline_s
    while True:
        if until and until(data):
            os.kill(pid, signal.SIGINT)
            until = None
        if time.monotonic() > ends:
            os.kill(pid, signal.SIGKILL)
        if not select.select([fd], [], [], 0.2)[0]:
            continue
        try:
            more = os.read(fd, 65536)
        except OSError:
            break
        if not more:
            break
        data += more
        if on_data:
            on_data(fd, data)
    status = os.waitpid(pid, 0)[1]
    os.close(fd)
    return data, os.waitstatus_to_exitcode(status)
