"""The line on stderr that says how far the agents are: redrawn on a terminal, one a second elsewhere."""
import sys
import threading
import time

__all__ = ['Progress']

REDRAW_S = 0.2
QUIET_S = 1.0


class Progress:
    """With it, while the agents work. Reads their tally, changes nothing."""

    def __init__(self, n_actions, tally, out=None):
        self.n_actions, self.tally, self.out = n_actions, tally, out or sys.stderr
        self.live = self.out.isatty()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.started = time.monotonic()

    def line(self):
        tally = self.tally
        return (f'{time.monotonic() - self.started:5.1f} s: {tally.ended} of {self.n_actions} actions ended, {tally.started - tally.ended} under way; '
                f'{tally.attempts} attempts, {tally.replays} replays, {tally.unknown_told} told unknown, {tally.deaths} deaths')

    def say(self, last=False):
        if self.live:
            self.out.write('\r\x1b[K' + self.line() + ('\n' if last else ''))
        else:
            self.out.write(self.line() + '\n')
        self.out.flush()

    def run(self):
        while not self.over.wait(REDRAW_S if self.live else QUIET_S):
            self.say()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.say(last=True)
