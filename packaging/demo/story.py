"""The story of packaging/quickstart, played for real and checked as it goes. usage: story.py story|stop|remove BUILD STATE

Exit 0: all came true, and effectd goes on running. 1: something did not, and nothing is left running. 73: another one plays
here. 130: interrupted, nothing is left running."""
import fcntl
import json
import os
import signal
import subprocess
import sys
import time

from servers import DEMO, Servers, Trouble, wait_until

PATIENCE_S = 30
FIRST_ORDER, ORDERS_PER_RUN = 1042, 10
# of an answer: what the story is about; tokens, times and the like are left out
SHOWN = ('decision', 'state', 'outcome', 'attempt', 'already', 'by', 'result', 'error')
bold, plain = ('\033[1m', '\033[0m') if sys.stdout.isatty() and not os.environ.get('NO_COLOR') else ('', '')


def say(text=''):
    print(text, flush=True)


def step(number, title):
    say(f'{bold}{number:>2}  {title}{plain}')


def tell(who, what):
    say(f'    {who:<14} {what}')


def text_of(value):
    return value if isinstance(value, str) else json.dumps(value)


class Story:
    def __init__(self, servers):
        self.servers, self.n_checks = servers, 0
        self.env = {**os.environ, 'EFFECTD_SOCKET': servers.socket, 'PROVIDER_SOCKET': servers.provider, 'DEMO_TRACE': '1'}

    # ---- what it is made of ----

    def check(self, good, promise, why=''):
        self.n_checks += 1
        tell('ok' if good else 'FAIL', promise)
        if not good:
            raise Trouble(f'it was promised that {promise}' + (f', but: {why}' if why else ''))

    def show_trace(self, text):
        """Tells what a wrapper asked and was answered. Returns effectd's answers."""
        answers = []
        for line in text.splitlines():
            if not line.startswith('{"who"'):
                tell('it says', line)
                continue
            event = json.loads(line)
            if 'sent' in event:
                sent = {k: v for k, v in event['sent'].items() if k not in ('effect', 'token', 'owner')}
                tell('to ' + event['who'], f'{event.get("method", "")} {json.dumps(sent)}'.strip())
            elif 'lost' in event:
                tell('from ' + event['who'], 'no reply: the connection is gone')
            else:
                got = event['got']
                if event['who'] == 'effectd':
                    answers.append(got)
                    got = {k: got[k] for k in SHOWN if k in got}
                tell('from ' + event['who'], json.dumps(got))
        return answers

    def call(self, wrapper, tool, args):
        """Runs a wrapper to its end. Returns its exit status, its output and effectd's answers."""
        done = subprocess.run([os.path.join(DEMO, wrapper), tool, json.dumps(args)], env=self.env, capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False)
        answers = self.show_trace(done.stderr)
        return done.returncode, json.loads(done.stdout or 'null'), answers

    def ctl(self, *args, shown=True):
        """Runs effectctl. Returns the finished process."""
        argv = [os.path.join(self.servers.build, 'effectctl'), *args]
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        if shown:
            tell('$', 'effectctl ' + ' '.join(arg if arg and not set(arg) & set(' {}"\'') else f"'{arg}'" for arg in args))
            for line in (done.stdout + done.stderr).splitlines():
                say(f'      {line}'.rstrip())
        return done

    def effect(self, effect, *events):
        return json.loads(self.ctl('--json', 'get', effect, *events, shown=False).stdout)

    def wait_for_state(self, effect, state, within_s=PATIENCE_S):
        wait_until(lambda: self.effect(effect)['state'] == state, f'the effect is {state}', within_s)

    def tell_events(self, effect, *kinds):
        """What effectd did meanwhile by itself, from its own record."""
        events = self.effect(effect, '--events', '100')['events']
        for event in sorted(events, key=lambda event: event['at']):
            if event['kind'] in kinds:
                tell('effectd', f'{event["at"][11:23]} {event["kind"]}' + (f': {event["reason"]}' if event.get('reason') else ''))
        return [event['kind'] for event in events]

    def booked(self, order):
        entries = self.servers.booked(order)
        for entry in entries or [None]:
            tell('the book', json.dumps(entry) if entry else f'nothing about order {order}')
        return entries

    # ---- the steps ----

    def start(self):
        info = self.servers.start()
        tell('effectd', f'{info["version"]} on an embedded PostgreSQL {info["database"]["server_version"]}')
        tell('its socket', self.servers.socket)
        tell('the provider', f'{self.servers.provider}, its book is {self.servers.book}')
        self.check(self.ctl('tools', 'list', shown=False).returncode == 0, 'effectd answers and has its policies')

    def without(self, order):
        args = {'order_id': order, 'line': 3, 'amount': '12.50'}
        self.servers.network('lost')
        status, _, _ = self.call('unguarded', 'refund_order', args)
        self.check(status != 0, 'the refund\'s reply gets lost, and the call looks failed')
        self.servers.network('up')
        say('    so the agent calls it again:')
        status, _, _ = self.call('unguarded', 'refund_order', args)
        self.check(status == 0, 'the second call is answered')
        entries = self.booked(order)
        self.check(len(entries) == 2, f'order {order} was refunded twice, and nobody wrote a bug', entries)

    def guarded(self, order):
        args = {'order_id': order, 'line': 3, 'amount': '12.50'}
        self.servers.network('lost')
        status, _, (claim, word) = self.call('guarded', 'refund_order', args)
        self.check(status != 0 and claim['decision'] == 'run', 'the first call may run, its reply gets lost', claim)
        self.check(word['state'] == 'unknown', 'the wrapper says what it knows: unknown', word)
        say('    the agent calls it again, and the provider\'s replies are still lost:')
        status, _, answers = self.call('guarded', 'refund_order', args)
        self.check([a['decision'] for a in answers] == ['unknown'], 'the repeat is told unknown, and does not call', answers)
        self.check(len(self.servers.booked(order)) == 1, 'the book still has one refund')
        say('    the provider\'s network is back, and effectd keeps asking it:')
        self.servers.network('up')
        effect = claim['effect']
        self.wait_for_state(effect, 'done')
        kinds = self.tell_events(effect, 'unknown', 'probe', 'verdict')
        self.check('verdict' in kinds and self.effect(effect)['by'] == 'probe', 'the probe found that it landed', kinds)
        say('    the agent calls it again:')
        status, result, answers = self.call('guarded', 'refund_order', args)
        entries = self.booked(order)
        self.check([a['decision'] for a in answers] == ['replay'], 'the repeat is answered from the record', answers)
        self.check(status == 0 and [result] == entries, f'order {order} was refunded once, and the agent has its refund', result)

    def killed_after(self, order):
        """Killed between effect and record; the claim is bound to its connection."""
        args = {'order_id': order, 'line': 1, 'amount': '80.00'}
        say('    A worker is killed (kill -9) when the refund is done and nothing of it is recorded:')
        self.servers.network('stuck')
        worker = subprocess.Popen([os.path.join(DEMO, 'guarded'), 'refund_order', json.dumps(args)], env=self.env,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: self.servers.booked(order), 'the refund is in the book', PATIENCE_S)
        finally:
            worker.kill()
        claim = self.show_trace(worker.communicate()[1])[0]
        self.servers.network('up')
        tell('kill -9', f'ended worker {worker.pid} by signal {-worker.returncode}')
        self.wait_for_state(claim['effect'], 'done')
        kinds = self.tell_events(claim['effect'], 'closed', 'lapsed', 'probe', 'verdict')
        self.check('closed' in kinds, 'effectd saw the connection end, and asked at once', kinds)
        status, result, answers = self.call('guarded', 'refund_order', args)
        entries = self.booked(order)
        self.check([a['decision'] for a in answers] == ['replay'], 'the next worker is answered from the record', answers)
        self.check(status == 0 and [result] == entries, f'order {order} was refunded once', entries)

    def killed_before(self, order):
        """Killed between claim and call, from a shell; the lease ends the claim."""
        args = {'order_id': order, 'line': 1, 'amount': '9.90'}
        say('    A shell script is killed when it has its claim and has not called yet; its lease is one second:')
        script = 'effectctl begin --tool refund_order --args "$ARGS" --lease-ms 1000 && kill -9 $$; refund "$ARGS"'
        tell('$', script)
        env = {**self.env, 'ARGS': json.dumps(args), 'PATH': self.servers.build + ':' + os.environ['PATH']}
        done = subprocess.run(['/bin/sh', '-c', script], env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        claim = dict(line.split(': ', 1) for line in done.stdout.splitlines())
        tell('it prints', f'decision: {claim["decision"]}, attempt: {claim["attempt"]}, ...')
        self.check(done.returncode == -signal.SIGKILL, 'the script is gone', done.stderr)
        self.wait_for_state(claim['effect'], 'released')
        kinds = self.tell_events(claim['effect'], 'lapsed', 'probe', 'verdict', 'released')
        self.check(kinds.count('verdict') >= 2, 'the provider was asked until it was sure: it never arrived', kinds)
        status, result, answers = self.call('guarded', 'refund_order', args)
        entries = self.booked(order)
        self.check([answers[0]['decision'], answers[0]['attempt']] == ['run', 2], 'the next worker may run it', answers)
        self.check(status == 0 and [result] == entries, f'order {order} was refunded once, by attempt 2', entries)

    def by_hand(self, order):
        args = {'order_id': order, 'template': 'sorry', 'to': 'customer 77'}
        say('    A letter gets printed, its reply gets lost, and the printer has nothing that could be asked:')
        self.servers.network('lost')
        _, _, (claim, _) = self.call('guarded', 'print_letter', args)
        self.servers.network('up')
        effect = claim['effect']
        self.wait_for_state(effect, 'escalated')
        notice = wait_until(lambda: self.notice(effect), 'a notice comes', PATIENCE_S)
        tell('its notice', json.dumps({k: notice[k] for k in ('tool', 'key', 'attempt', 'reason') if k in notice}))
        self.check(True, 'effectd asks people where no machine can tell')
        _, _, answers = self.call('guarded', 'print_letter', args)
        self.check([a['decision'] for a in answers] == ['escalated'], 'the agent is told to leave it to them', answers)
        say('    Somebody looks: it lies in the tray. So:')
        entries = self.booked(order)
        done = self.ctl('resolve', effect, '--verdict', 'landed', '--attempt', '1', '--state', 'escalated', '--reason',
                        'seen in the tray', '--result', json.dumps(entries[0]))
        self.check(done.returncode == 0, 'it is resolved by hand')
        done = self.ctl('explain', effect)
        self.check(done.returncode == 0 and 'seen in the tray' in done.stdout, 'explain tells the whole story')
        status, result, answers = self.call('guarded', 'print_letter', args)
        self.check([a['decision'] for a in answers] == ['replay'] and [result] == entries and not status,
                   'the agent is answered what was found', answers)
        self.check(len(self.servers.booked(order)) == 1, 'one letter was printed')
        return effect

    def notice(self, effect):
        if not os.path.exists(self.servers.notices):
            return None
        with open(self.servers.notices, encoding='utf-8') as f:
            return next((n for n in map(json.loads, f.read().splitlines()) if n['effect'] == effect), None)

    def books_hold(self):
        done = self.ctl('db', 'check', '-c', self.servers.config, shown=False)
        self.check(done.returncode == 0, 'the ledger\'s invariants hold (effectctl db check)', done.stdout + done.stderr)

    def end(self, order, effect, started):
        sudo = 'sudo ' if os.environ.get('SUDO_USER') and os.geteuid() == 0 else ''
        command = f'{sudo}{os.path.join(self.servers.build, "effectctl")} -s {self.servers.socket}'
        stop = sudo + os.path.join(os.path.dirname(DEMO), 'quickstart')
        args = json.dumps({'order_id': order, 'line': 1, 'amount': '5.00'})
        if os.environ.get('QUICKSTART_STATE'):
            stop = f'QUICKSTART_STATE={self.servers.state} {stop}'
        say()
        say(f'{bold}{self.n_checks} promises kept in {time.monotonic() - started:.0f} s; effectd goes on running.{plain}')
        say(f'    its socket     {self.servers.socket}')
        say('    try            ' + f'{command} list')
        say('                   ' + f'{command} explain {effect}')
        say('                   ' + f'{command} report daily')
        say('                   ' + f"{command} begin --tool refund_order --args '{args}'   # and again")
        say(f'    stop it        {stop} stop     (remove: and forget all)')

    def play(self):
        started = time.monotonic()
        order = FIRST_ORDER + ORDERS_PER_RUN * self.servers.count_run()
        step(3, 'effectd and a provider start')
        self.start()
        step(4, 'Without effectd: a reply gets lost')
        self.without(order)
        step(5, 'With effectd: the same reply gets lost')
        self.guarded(order + 1)
        step(6, 'Workers die in the middle')
        self.killed_after(order + 2)
        self.killed_before(order + 3)
        step(7, 'Where no machine can tell')
        effect = self.by_hand(order + 4)
        self.books_hold()
        self.end(order + 5, effect, started)


def hold(servers):
    """One story at a time in a folder. Held until the program ends."""
    lock = os.open(servers.file('lock'), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f'quickstart: another one is playing in \'{servers.state}\'')
        sys.exit(73)


def stop(servers, forget):
    stopped = servers.stop()
    say(f'stopped: {", ".join(stopped)}' if stopped else 'nothing was running')
    if forget and servers.is_ours():
        servers.remove()
        say(f'removed: {servers.state}')


def play(servers):
    def interrupt(*_):
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(sig, signal.SIG_IGN)  # what follows is the cleaning up
        raise KeyboardInterrupt

    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, interrupt)
    servers.make_folder()
    hold(servers)
    try:
        if stopped := servers.stop():
            tell('from before', f'stopped: {", ".join(stopped)}')
        servers.settle_in()
        Story(servers).play()
    except KeyboardInterrupt:
        servers.stop()
        say('\ninterrupted, nothing is left running')
        sys.exit(130)
    except BrokenPipeError:
        servers.stop()
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit('quickstart: nobody reads this any more, nothing is left running')
    except Exception:
        tail = servers.log_tail()
        servers.stop()
        if tail:
            say(f'the last lines of {servers.log}:')
            say('\n'.join('    ' + line for line in tail))
        raise


def main(verb, build, state):
    servers = Servers(os.path.realpath(build), state)
    try:
        if verb == 'story':
            play(servers)
        else:
            stop(servers, verb == 'remove')
    except Trouble as trouble:
        print(f'quickstart: {trouble}', file=sys.stderr)
        sys.exit(1)


main(*sys.argv[1:])
