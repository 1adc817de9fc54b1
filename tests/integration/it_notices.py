#!/usr/bin/python3
"""Who is told that an effect waits for a person, and how often: each notice once by however many daemons, again under the same
id until it is taken, whatever becomes of its sender or its notifier; then reminders, each with an id of its own, at
intervals that grow. Case 90. The ledger's clock is moved, as test builds may."""
import json
import signal
import subprocess

from harness import *
from talk import *

TOLD = Script('exit 0')
TOOLS = {'name': 'people', 'escalate_after': '0s', 'keep': ['/order'], 'secret': ['/card']}
CONFIG = 'sweep_interval = "50ms"\nnotify { exec = {"%s", "--argument"} }\n' % TOLD.path
CLAIM_S = 125  # a little longer than a notice is claimed for
N_ROWS = 60


def ask_people(conn, key):
    run = claim(conn, key, 'people', args={'order': 7, 'card': '4111 1111 1111'})
    conn.call('unknown', **own_ids(run), reason='gateway time-out')
    return run['effect']


def notified(conn, effect):
    return [event for event in conn.call('get', effect=effect, events=1000)['events'] if event['kind'] == 'notified']


def wait_notified(conn, effect, n=1):
    return wait_until(lambda: len(notified(conn, effect)) >= n and notified(conn, effect), 30, f'{effect} has {n} notices that were taken')


class Clock:
    """The ledger's, which only ever goes on."""

    def __init__(self, cluster):
        self.cluster, self.ahead_s = cluster, 0

    def on(self, seconds):
        self.ahead_s += seconds
        later(self.cluster, self.ahead_s)


def once(daemons, conn):
    """case 90: two daemons sweep the same rows."""
    effects = [ask_people(conn, f'once-{at}') for at in range(N_ROWS)]
    for effect in effects:
        wait_notified(conn, effect)
    asked = TOLD.asked()
    is_(sorted(line['effect'] for line in asked), sorted(effects), f'case 90: {N_ROWS} escalations and two daemons: each told once')
    is_(len({line['id'] for line in asked}), N_ROWS, 'each by an id of its own')
    lines = [line for daemon in daemons for line in daemon.grep('event=notified .*taken=yes')]
    is_(len(lines), N_ROWS, 'and logged once')
    ok(not any('4111 1111' in json.dumps(line) or '/order' in json.dumps(line) for line in asked), 'none with a word of what the tool was called with')
    rows = [conn.call('get', effect=effect) for effect in effects[:5]]
    is_([[event['reason'] for event in row['events'] if event['kind'] == 'notified'] for row in rows], [['the first notice']] * 5, 'one event each')


def refused(conn, clock):
    """Refused five times, by a command that fails in every way, the last one with its word lost."""
    TOLD.play('''n=$(cat {dir}/n 2>/dev/null || echo 0); n=$((n + 1)); echo $n >{dir}/n
case $n in 1) exit 1 ;; 2) exit 127 ;; 3) kill -9 $$ ;; 4) kill $$ ;; 5) echo taken; kill -9 $$ ;; esac''')
    effect = ask_people(conn, 'refused')
    for n in range(1, 6):
        TOLD.wait_asked(n, effect)
        clock.on(601)
    event = wait_notified(conn, effect)[0]
    asked = TOLD.asked(effect)
    is_((len(asked), len({line['id'] for line in asked}), {line['reminder'] for line in asked}), (6, 1, {0}),
        'refused five times: the sixth try is taken, all under one id')
    is_(event['reason'], 'the first notice, at try 6', 'which its event says')
    is_(names(asked[0]), 'id effect namespace tool key attempt since reason reminder', 'what a notifier is told')
    is_(list(asked[0].values())[1:6] + [asked[0]['reason']], [effect, 'default', 'people', 'refused', 1, 'there is no probe'], 'and what that says')
    like(asked[0]['id'] + asked[0]['since'], UUID[:-1] + INSTANT[1:], 'an id and an instant')
    is_(state_of(conn, effect), 'escalated', 'and it waits for a person')
    TOLD.play('exit 0')
    return effect, asked[0]['id']


def reminders(conn, clock, effect, first_id):
    ids = [first_id]
    for reminder, hours in ((1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 24), (7, 24)):
        clock.on(hours * 3600 - 300)
        before = len(TOLD.asked(effect))
        other = ask_people(conn, f'meanwhile-{reminder}')
        wait_notified(conn, other)  # the sweeper has had its turn
        is_(len(TOLD.asked(effect)), before, f'no reminder before {hours} h')
        conn.call('resolve', effect=other, verdict='failed', reason='x', attempt=1, state='escalated')
        clock.on(600)
        line = TOLD.wait_asked(before + 1, effect)[-1]
        is_(line['reminder'], reminder, f'reminder {reminder} after {hours} h')
        wait_notified(conn, effect, reminder + 1)
        ids.append(line['id'])
    is_(len(set(ids)), 8, 'each with an id of its own')
    conn.call('resolve', effect=effect, verdict='landed', reason='seen', attempt=1, state='escalated', evidence='re_77')
    before = len(TOLD.asked(effect))
    clock.on(100000)
    wait_notified(conn, ask_people(conn, 'after'))
    is_(len(TOLD.asked(effect)), before, 'what a person has resolved is told no more')


def killed(daemon, other, clock):
    """The sender is killed -9 before it sends, while the notifier runs, and when it was taken and nobody knows."""
    for point in ('sweep.taken', 'notice.started', 'notice.ended'):
        other.stop()
        daemon.stop()
        daemon.env = {'EFFECTD_FAULT': f'{point}:kill:1'}
        daemon.start()
        with daemon.ready().connect() as conn:
            effect = ask_people(conn, f'killed {point}')
            wait_until(lambda: not daemon.running(), 30, f'{point} is reached')
        daemon.kill()
        if point == 'notice.ended':
            TOLD.wait_asked(1, effect)
        wait_until(lambda: subprocess.run(['pgrep', '-f', TOLD.path], stdout=subprocess.DEVNULL, check=False).returncode, 30, 'no notifier is left')
        before = TOLD.asked(effect)
        other.start()
        with other.ready().connect() as conn:
            clock.on(60)
            wait_notified(conn, ask_people(conn, f'between {point}'))  # its sweeper has had its turn
            # (the sweep that was killed had perhaps only turned the row over to people, and claimed no notice)
            ok(point == 'sweep.taken' or TOLD.asked(effect) == before, f'{point}: a claimed notice is nobody else\'s for two minutes')
            clock.on(CLAIM_S)
            wait_notified(conn, effect)
            asked = TOLD.asked(effect)
            is_((len(asked) - len(before), len({line['id'] for line in asked})), (1, 1), f'{point}: then another daemon sends it, under the same id')
        daemon.env = {}
        daemon.start()
        daemon.ready()


def stopped(daemon, clock):
    """An orderly stop is no crash: a notifier that runs has its time, and nobody is told twice; one that hangs does not hold it up."""
    TOLD.play('while ! [ -e {dir}/go ]; do sleep 0.05; done')
    with daemon.connect() as conn:
        effect = ask_people(conn, 'stopped')
        TOLD.wait_asked(1, effect)
    daemon.signal(signal.SIGTERM)
    daemon.wait_log('event=stop ')
    with open(TOLD.dir + '/go', 'w', encoding='ascii'):
        pass
    is_(daemon.wait(), 0, 'a stop waits for a notifier that runs')
    daemon.start()
    with daemon.ready().connect() as conn:
        is_(len(notified(conn, effect)), 1, 'and for its word')
        clock.on(CLAIM_S)
        wait_notified(conn, ask_people(conn, 'after the stop'))
        is_(len(TOLD.asked(effect)), 1, 'so that nobody is told twice')
        TOLD.play('case "$line" in *\'"key":"held up"\'*) exec sleep 3600 ;; esac')
        held_up = ask_people(conn, 'held up')
        TOLD.wait_asked(1, held_up)
    n_lines = len(daemon.log())
    is_(daemon.stop(), 0, 'one that hangs holds up no stop')
    ok(daemon.grep('notices are still in flight', n_lines), 'which says so')
    TOLD.play('exit 0')
    daemon.start()
    with daemon.ready().connect() as conn:
        clock.on(CLAIM_S)
        wait_notified(conn, held_up)
        is_(len({line['id'] for line in TOLD.asked(held_up)}), 1, 'and is asked again under the same id')


def hangs(daemon, conn):
    """A notifier that hangs is nobody else's trouble."""
    TOLD.play('case "$line" in *\'"key":"hangs"\'*) exec sleep 3600 ;; esac')
    effect = ask_people(conn, 'hangs')
    TOLD.wait_asked(1, effect)
    others = [ask_people(conn, f'beside-{at}') for at in range(20)]
    for other in others:
        wait_notified(conn, other)
    is_(notified(conn, effect), [], 'while a notifier hangs, others are told')
    is_(conn.call('resolve', effect=effect, verdict='absent', reason='seen', attempt=1, state='escalated')['state'], 'released', 'and a person may decide')
    wait_until(lambda: daemon.grep(f'event=notified .*effect={effect} .*taken=no .*reason="?.*time'), 60, 'its time ends')
    is_(len(TOLD.asked(effect)), 1, 'it was asked once, and not again for what is resolved')
    TOLD.play('exit 0')


def once_more(conn, clock):
    """The same attempt, escalated twice: two notices."""
    one = claim(conn, 'twice', 'people')
    conn.call('release', **own_ids(one))
    two = claim(conn, 'twice', 'people')
    conn.call('unknown', **own_ids(two))
    wait_notified(conn, one['effect'])
    conn.call('resolve', effect=one['effect'], verdict='absent', reason='not in the books', attempt=2, state='escalated')
    conn.error('complete', **own_ids(one), result='landed after all')
    wait_notified(conn, one['effect'], 2)
    asked = TOLD.asked(one['effect'])
    is_([(line['attempt'], line['reminder'], line['reason']) for line in asked], [(2, 0, 'there is no probe'), (2, 0, 'attempt 1 landed')],
        'an attempt that is escalated once more is told once more')
    is_(len({line['id'] for line in asked}), 2, 'under another id, so that nobody takes it for a repeat')
    clock.on(1)


seed()
with Cluster() as the_cluster, Daemon(the_cluster, config=CONFIG, tools=TOOLS).ready() as one:
    with Daemon(the_cluster, config=CONFIG, tools=TOOLS).ready() as two:
        the_clock = Clock(the_cluster)
        with one.connect() as the_conn:
            once([one, two], the_conn)
            once_more(the_conn, the_clock)
            reminders(the_conn, the_clock, *refused(the_conn, the_clock))
        killed(one, two, the_clock)
        two.stop()
        stopped(one, the_clock)
        with one.connect() as the_conn:
            hangs(one, the_conn)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
