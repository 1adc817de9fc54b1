#!/usr/bin/python3
"""effectctl run as a process among others: signals reach the command and are not doubled, what dies of one is unknown, a
time-out ends it, a terminal goes on working, and when effectctl is killed its command is never started a second time."""
import os
import pty
import random
import re
import select
import signal
import subprocess
import time

from harness import *
from talk import *

TOOLS = [{'name': 'deploy', 'class': 'irreversible', 'escalate_after': '1h', 'max_attempts': 100},
         {'name': 'quick', 'class': 'irreversible', 'escalate_after': '1h', 'lease': '1s'}]
SIGNALS = ['INT', 'TERM', 'HUP', 'QUIT', 'USR1', 'USR2', 'WINCH']
# Notes every signal, says when it is ready, and ends with what the file `end` holds.
NOTES = ('for s in {signals}; do trap "echo $s >>$0.got" $s; done; echo $$ >$0.ready; '
         'while ! [ -s $0.end ]; do sleep 0.02; done; read code <$0.end; echo ended; exit $code')


def read(path):
    """Whole lines, or nothing yet."""
    try:
        with open(path, encoding='ascii') as file:
            return file.read()
    except FileNotFoundError:
        return ''


class Run:
    """effectctl run in the background, with a command that notes its signals in files .got, .ready; end() ends that."""

    def __init__(self, daemon, key, *flags, tool='deploy', text=NOTES, name=None, **how):
        self.daemon, self.key, self.tool = daemon, key, tool
        self.base = os.path.join(daemon.dir, name or f'run-{key}')
        argv = [program('effectctl'), '-s', daemon.socket, 'run', '--tool', tool, '--key', key, *flags, '--', 'sh', '-c',
                text.replace('{signals}', ' '.join(SIGNALS)), self.base]
        how = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **how}
        self.process = subprocess.Popen(argv, text=True, **how)

    def read(self, what):
        return read(f'{self.base}.{what}')

    def ready(self):
        """The command runs; its pid."""
        return int(wait_until(lambda: self.read('ready').endswith('\n') and self.read('ready'), 20, 'the command runs'))

    def got(self):
        return self.read('got').split()

    def end(self, code=0):
        with open(f'{self.base}.end.new', 'w', encoding='ascii') as file:
            file.write(f'{code}\n')
        os.rename(f'{self.base}.end.new', f'{self.base}.end')

    def wait(self):
        """(exit code, stdout, stderr)."""
        out, err = self.process.communicate(timeout=60 * SLOW)
        return self.process.returncode, out, err

    def state(self):
        out = self.daemon.ctl('get', '--tool', self.tool, '--key', self.key, '--print', 'state')
        return out.stdout.strip()


def forwarded(daemon):
    run = Run(daemon, 'all')
    run.ready()
    for n, name in enumerate(SIGNALS + SIGNALS):
        run.process.send_signal(getattr(signal, f'SIG{name}'))
        wait_until(lambda n=n: len(run.got()) == n + 1, 20, f'{name} arrived')
    is_(run.got(), SIGNALS + SIGNALS, 'each signal reaches the command, a second one too')
    run.end(0)
    is_(run.wait()[:2], (0, 'ended\n'), 'and effectctl ends with its command')
    is_(run.state(), 'done', 'whose end is recorded')

    run = Run(daemon, 'own', text='trap "echo TERM >>$0.got" TERM; kill -TERM 0; sleep 0.2; echo alive', start_new_session=True)
    is_((run.wait()[:2], run.got()), ((0, 'alive\n'), ['TERM']), 'a signal that the command sent to its whole group is not given back to it')

    run = Run(daemon, 'hup', preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    run.ready()
    run.process.send_signal(signal.SIGHUP)
    run.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: run.got() == ['USR1'], 20, 'USR1 arrived')
    run.end(3)
    is_((run.wait()[0], run.got()), (3, ['USR1']), 'what was ignored at the start (nohup) stays ignored')

    run = Run(daemon, 'chld', text='exit 6', preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    is_(run.wait()[0], 6, 'a caller that ignores its children changes nothing')

    looks = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"
    plain = subprocess.run(['sh', '-c', looks], capture_output=True, text=True, check=True).stdout
    is_(Run(daemon, 'looks', text=looks).wait()[1], plain, 'the command has mask and dispositions of a plain one')


def died(daemon):
    """Case 73: dead of a signal is unknown."""
    for name, number in (('KILL', 9), ('TERM', 15), ('SEGV', 11), ('PIPE', 13)):
        run = Run(daemon, f'died-{name}', text=f'echo before; kill -{name} $$')
        code, out, err = run.wait()
        is_((code, out), (128 + number, 'before\n'), f'a command that died of SIG{name} is {128 + number}')
        like(err, f'died of signal {number} .*not known', 'and says what that means')
        is_(run.state(), 'unknown', 'it is recorded as unknown')
    run = Run(daemon, 'died-TERM', '--wait', '0s', text='echo again')
    is_(run.wait()[:2], (76, ''), 'a repeat does not run it')
    run = Run(daemon, 'sent', text='echo $$ >$0.ready; exec sleep 60')
    run.ready()
    run.process.send_signal(signal.SIGTERM)
    is_((run.wait()[0], run.state()), (143, 'unknown'), 'one that dies of a signal sent to effectctl, too')


def before_the_start(daemon):
    """Rule 3: a claim that nobody waits for any more."""
    holder = Run(daemon, 'held')
    holder.ready()
    waiter = Run(daemon, 'held', '--wait', '1h', name='waiter')
    wait_until(lambda: connected(waiter.process.pid), 20, 'the other one asks')
    waiter.process.send_signal(signal.SIGTERM)
    code, out, err = waiter.wait()
    is_((code, out), (-signal.SIGTERM, ''), 'a signal ends the waiting')
    like(err, 'not run: ended by signal 15', 'and says that nothing was run')
    holder.end(0)
    is_((holder.wait()[0], holder.state(), waiter.read('ready')), (0, 'done', ''), 'it does not touch whose claim it is')


def killed(daemon):
    """kill -9 of effectctl while its command runs on."""
    run = Run(daemon, 'killed', text=NOTES.replace('echo ended', 'echo ended >>$0.got'))
    pid = run.ready()
    run.process.kill()
    run.process.wait()
    wait_until(lambda: run.state() == 'unknown', 20, 'the claim is unknown')
    ok(os.path.exists(f'/proc/{pid}'), 'the command runs on')
    for _ in range(3):
        again = Run(daemon, 'killed', '--wait', '0s', text='echo again >>$0.got')
        is_(again.wait()[:2], (76, ''), 'a repeat never starts it a second time')
    run.end(0)
    wait_until(lambda: run.got() == ['ended'], 20, 'the command came to its end')
    again = Run(daemon, 'killed', '--wait', '0s', text='echo again >>$0.got')
    is_((again.wait()[0], run.got()), (76, ['ended']), 'nor after its end')


def killed_at_any_moment(daemon):
    """kill -9 somewhere between the question and the record; then again until it is settled or nobody may."""
    twice, n_begun = [], 0
    for n in range(rounds_of(20, 500)):
        book = os.path.join(daemon.dir, f'book-{n}')
        text = f'echo did >>{book}; exec sleep 0.01'
        run = Run(daemon, f'moment-{n}', '--wait', '0s', text=text)
        started, after_s = time.monotonic(), random.random() * 0.04 * SLOW
        wait_until(lambda: time.monotonic() - started > after_s, 5)  # pylint: disable=cell-var-from-loop
        run.process.kill()
        run.wait()
        n_begun += os.path.exists(book)
        for _ in range(2):
            Run(daemon, f'moment-{n}', '--wait', '0s', text=text).wait()
        twice += [n] * (os.path.exists(book) and open(book, encoding='ascii').read().count('did') > 1)
    is_(twice, [], f'killed at any moment ({n_begun} times after the command began), it is never run twice')


def lost(daemon):
    """Case 19: the lease ended while effectctl stood still."""
    run = Run(daemon, 'lost', tool='quick')
    run.ready()
    run.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: run.state() == 'unknown', 30, 'the lease is over')
    run.process.send_signal(signal.SIGCONT)
    wait_until(lambda: select.select([run.process.stderr], [], [], 0)[0], 20, 'it is told')
    like(run.process.stderr.readline(), 'the claim was lost while the command runs', 'a claim that is lost is told at once')
    run.end(0)
    is_(run.wait()[:2], (0, 'ended\n'), 'what the command came to is reported all the same')
    is_(run.state(), 'done', 'and is the truth, as nobody knew better')

    run = Run(daemon, 'refused', tool='quick')
    run.ready()
    run.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: run.state() == 'unknown', 30, 'the lease is over')
    effect = daemon.ctl('get', '--tool', 'quick', '--key', 'refused', '--print', 'effect').stdout.strip()
    is_(daemon.ctl('resolve', effect, '--verdict', 'failed', '--attempt', '1', '--state', 'unknown', '--reason', 'gave up').returncode, 0,
        'a person decides meanwhile')
    run.process.send_signal(signal.SIGCONT)
    run.end(0)
    code, _, err = run.wait()
    is_(code, 84, 'a success that the ledger refuses is none')
    like(err, 'the command ran and ended with status 0, but .*do not run it again', 'and says what happened')


def timed_out(daemon):
    run = Run(daemon, 'slow', '--timeout', '200ms', text='echo begun; exec sleep 60')
    code, out, err = run.wait()
    is_((code, out, run.state()), (76, 'begun\n', 'unknown'), 'a command that takes too long is ended, and unknown')
    like(err, 'ended by the time-out: whether it did its work is not known', 'and says so')
    run = Run(daemon, 'polite', '--timeout', '200ms', text='trap "echo bye; exit 0" TERM; while :; do sleep 0.02; done')
    is_((run.wait()[:2], run.state()), ((76, 'bye\n'), 'unknown'), 'so is one that ends with 0 because of that')
    run = Run(daemon, 'stubborn', '--timeout', '200ms', '--kill-after', '200ms', text='trap "" TERM; while :; do sleep 0.02; done')
    is_((run.wait()[0], run.state()), (76, 'unknown'), 'and one that does not listen')
    run = Run(daemon, 'stopped', '--timeout', '200ms', text='kill -STOP $$; echo woken')
    is_((run.wait()[0], run.state()), (76, 'unknown'), 'and one that was stopped')
    run = Run(daemon, 'in-time', '--timeout', '1h', text='exit 5')
    is_(run.wait()[0], 5, 'one that is in time has its own status')
    started = time.monotonic()
    run = Run(daemon, 'over', '--kill-after', '1h', '--timeout', '30s', text='true')
    is_(run.wait()[0], 0, 'and a time-out to come')
    ok(time.monotonic() - started < 25, 'is not waited for')


class Terminal:
    """Words run by a shell on a terminal of their own."""

    def __init__(self, text):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv('/bin/sh', ['sh', '-c', text])
        self.seen = ''

    def until(self, pattern):
        def there():
            if select.select([self.fd], [], [], 0)[0]:
                try:
                    self.seen += os.read(self.fd, 4096).decode()
                except OSError:
                    return re.search(pattern, self.seen) or 'the end'
            return re.search(pattern, self.seen)
        return wait_until(there, 20, f'{pattern} on the terminal: {self.seen!r}') != 'the end'

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """The shell's wait status, when all is read."""
        self.until('$^')
        return os.waitpid(self.pid, 0)[1]


def on_a_terminal(daemon):
    guard = f'{program("effectctl")} -s {daemon.socket} run --tool deploy --key'
    term = Terminal(f"{guard} asks -- sh -c 'test -t 0 && test -t 2 && ! test -t 1 && read name && echo hello $name'; echo status $?")
    term.type('you\n')
    ok(term.until('hello you\r\nstatus 0\r\n'), 'on a terminal the command reads and writes', term.seen)
    term.end()

    # effectctl stands still while the command gets its own Ctrl-C, so that one passed on would be seen as another
    base = os.path.join(daemon.dir, 'interrupts')
    term = Terminal(f"trap : INT; {guard} once -- sh -c '{NOTES}' {base}; echo status $?".replace('{signals}', 'INT USR1'))
    pid = int(wait_until(lambda: read(base + '.ready'), 20, 'the command runs'))
    with open(f'/proc/{pid}/stat', encoding='ascii') as stat:
        guard_pid = int(stat.read().rsplit(')', 1)[1].split()[1])
    os.kill(guard_pid, signal.SIGSTOP)
    term.type('\x03')
    wait_until(lambda: read(base + '.got') == 'INT\n', 20, 'Ctrl-C arrived')
    os.kill(guard_pid, signal.SIGCONT)
    os.kill(guard_pid, signal.SIGUSR1)
    wait_until(lambda: read(base + '.got').endswith('USR1\n'), 20, 'USR1 arrived')
    is_(read(base + '.got'), 'INT\nUSR1\n', 'Ctrl-C reaches the command once')
    with open(base + '.end', 'w', encoding='ascii') as file:
        file.write('9\n')
    ok(term.until('status 9\r\n'), 'and effectctl waits for its end', term.seen)
    term.end()

    term = Terminal(f"set -m; {guard} stops -- sh -c 'echo go; read name; echo hello $name'; echo stopped $?; fg; echo status $?")
    ok(term.until('go\r\n'), 'a job of a shell')
    term.type('\x1a')
    ok(term.until(r'stopped \d+\r\n'), 'Ctrl-Z stops it', term.seen)
    term.type('you\n')
    ok(term.until(r'(?s)hello you\r\n.*status 0\r\n'), 'and it goes on in the foreground', term.seen)
    term.end()

    term = Terminal(f"{guard} dies -- sh -c 'echo go; exec sleep 60'; echo not reached")
    ok(term.until('go\r\n'), 'another')
    term.type('\x03')
    status = term.end()
    ok('not reached' not in term.seen and 'died of signal 2' in term.seen, 'Ctrl-C ends the script that called us, too', term.seen)
    is_((os.WIFSIGNALED(status) and os.WTERMSIG(status)), signal.SIGINT, 'by that signal')
    is_(daemon.ctl('get', '--tool', 'deploy', '--key', 'dies', '--print', 'state').stdout.strip(), 'unknown', 'its effect is unknown')


def terminal_goes_away(daemon):
    """As the leader of its session (ssh -t host effectctl run ...): a hang-up is told to nobody else."""
    base = os.path.join(daemon.dir, 'leader')
    text = 'trap "echo HUP >>$0.got; exit 3" HUP; echo >$0.ready; while :; do sleep 0.05; done'
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(program('effectctl'), ['effectctl', '-s', daemon.socket, 'run', '--tool', 'deploy', '--key', 'leader', '--', 'sh', '-c', text, base])
    wait_until(lambda: read(base + '.ready'), 20, 'the command runs')
    os.close(fd)
    wait_until(lambda: read(base + '.got'), 20, 'the command is told')
    status = os.waitpid(pid, 0)[1]
    is_((os.WIFEXITED(status), os.WEXITSTATUS(status)), (True, 3), 'a hang-up reaches the command of a session leader, whose end is ours')


seed()
with Cluster() as cluster, Daemon(cluster, tools=TOOLS) as daemon:
    daemon.ready()
    forwarded(daemon)
    died(daemon)
    before_the_start(daemon)
    killed(daemon)
    killed_at_any_moment(daemon)
    lost(daemon)
    timed_out(daemon)
    on_a_terminal(daemon)
    terminal_goes_away(daemon)
    is_(cluster.invariants(), [], 'the books are right')
done()
