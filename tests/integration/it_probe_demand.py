#!/usr/bin/python3
"""A probe on demand: callers who meet an effect of which nobody knows, and who wait, have it probed out of turn. One probe is
under way for an effect, over all daemons and whoever asks, by the probe's own book; what landed is replayed to all of them,
what did not runs once, and nobody is told more than is known. Kinds of cases 77, 79, 81 and 88."""
import os
import signal
import threading
import time

from harness import *
from talk import *

N_WAITERS = 40
LONG_MS = 60000
# After two looks of the sweeper the next is an hour away: what is probed then was asked for.
FAR = ['10ms', '1h']
# The probe's book: when it came, when it went; {dir}/go lets it go, and says what it says.
BOOKED = '''echo "in $$" >>{dir}/book
while ! [ -e {dir}/go ]; do sleep 0.02; done
cat {dir}/go
echo "out $$" >>{dir}/book'''
INCONCLUSIVE = '{"verdict":"inconclusive","reason":"look again"}'


class Booked(Script):
    """A probe that holds until it is let go, and that books how many of it there are."""

    def holds(self):
        for name in ('go', 'book'):
            if os.path.exists(self.at(name)):
                os.unlink(self.at(name))
        self.play(BOOKED)

    def at(self, name):
        return os.path.join(self.dir, name)

    def go(self, text):
        with open(self.at('go.new'), 'w', encoding='utf-8') as out:
            out.write(text)
        os.rename(self.at('go.new'), self.at('go'))

    def at_once(self):
        """The most that were under way together."""
        n = most = 0
        with open(self.at('book'), encoding='ascii') as book:
            for line in book:
                n += 1 if line.startswith('in') else -1
                most = max(most, n)
        return most


PROBE = Booked()
HANGS = Script('sleep 30')
DOWN = Script('exit 7')
TOOLS = [PROBE.policy('t', escalate_after='3h', probe_backoff=FAR, lease='5m', probe_timeout='30s'),
         PROBE.policy('one', escalate_after='3h', probe_backoff=FAR, lease='5m', probe_timeout='30s', absent_needed=1),
         PROBE.policy('late', escalate_after='3h', probe_backoff=FAR, lease='5m', probe_timeout='30s', absent_needed=1, settle='1h'),
         PROBE.policy('killed', escalate_after='3h', probe_backoff=FAR, lease='5m', probe_timeout='1s'),
         HANGS.policy('crowd', probe_timeout='25s', lease='5m'),
         {'name': 'none', 'lease': '5m', 'escalate_after': '1h'}, PROBE.policy('human', on_unknown='human', escalate_after='1h')]


def far_from_due(cluster, run):
    """Is its next probe an hour away?"""
    return cluster.psql(f"select due_at > now() + interval '30 min' and probed_at is not null from effect.ledger where id = '{run['effect']}'") == 't'


def open_up(cluster, conn, key, tool='t'):
    """An effect of which nobody knows, and which no sweep will look at for an hour. Returns its run, and how often it was probed."""
    run = claim(conn, key, tool)
    PROBE.says('inconclusive')
    conn.call('unknown', **own_ids(run))
    wait_until(lambda: far_from_due(cluster, run), 20, f'{key} is due in an hour')
    PROBE.holds()
    return run, len(PROBE.asked(run['effect']))


def waiters(daemons, n, **params):
    """Begins on connections of their own, spread over the daemons: [(conn, id)]."""
    conns = [daemons[at % len(daemons)].connect() for at in range(n)]
    return [(conn, conn.send('begin', wait_ms=LONG_MS, **params)) for conn in conns]


def parked(asked):
    """Each of them was begun: a later request on its connection was answered."""
    for conn, _ in asked:
        conn.call('info')


def lines(asked):
    """The bytes of each answer behind its id."""
    return [conn.recv_line().split(b',"result":', 1)[1] for conn, _ in asked]


def close(asked):
    for conn, _ in asked:
        conn.close()


def landed(cluster, daemons, conn):
    """Kind of case 81: whoever asks meets the outcome, though no sweep looked."""
    run, n_before = open_up(cluster, conn, 'landed')
    asked = waiters(daemons, N_WAITERS, tool='t', key='landed')
    PROBE.wait_asked(n_before + 1, run['effect'])
    parked(asked)
    PROBE.go('{"verdict":"landed","result":{"b":1.0,"a":"\\u003c"},"reason":"found"}')
    told = lines(asked)
    is_(len(set(told)), 1, f'{N_WAITERS} waiters on two daemons are told the same bytes')
    like(told[0].decode(), r'"decision":"replay".*"result":\{"b":1.0,"a":"\\u003c"\}.*"by":"probe"', 'a replay of what the probe found')
    is_(len(PROBE.asked(run['effect'])), n_before + 1, 'one probe was asked')
    is_(PROBE.at_once(), 1, 'by its own book, too')
    close(asked)


def absent(cluster, daemons, conn):
    run, n_before = open_up(cluster, conn, 'absent', 'one')
    asked = waiters(daemons, N_WAITERS, tool='one', key='absent')
    PROBE.wait_asked(n_before + 1, run['effect'])
    parked(asked)
    at = time.monotonic()
    wait_until(lambda: time.monotonic() - at > 0.05)  # so that there is a wait to tell of
    PROBE.go('{"verdict":"absent"}')
    told = []

    # a thread for each answer: who runs may be any of them
    def one(c, id_):
        answer = c.recv(id_, 40)['result']
        told.append(answer)
        if answer['decision'] == 'run':
            with daemons[0].connect() as other:
                other.call('complete', **own_ids(answer), result='second')

    threads = [threading.Thread(target=one, args=pair) for pair in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ran = [answer for answer in told if answer['decision'] == 'run']
    is_((len(ran), ran[0]['attempt']), (1, 2), 'a settled absent: exactly one of them runs, as attempt 2')
    ok(50 <= ran[0]['waited_ms'] < LONG_MS, 'and is told how long it waited', ran[0])
    is_({answer['decision'] for answer in told}, {'run', 'replay'}, 'the others wait on, and are replayed its result')
    is_((len(PROBE.asked(run['effect'])), PROBE.at_once()), (n_before + 1, 1), 'one probe was asked')
    close(asked)


def early(cluster, conn):
    """Kind of case 77: an absent that was asked for early counts as little as any."""
    run, n_before = open_up(cluster, conn, 'early', 'late')
    id_ = conn.send('begin', tool='late', key='early', wait_ms=int(1500 * SLOW))
    PROBE.wait_asked(n_before + 1, run['effect'])
    PROBE.go('{"verdict":"absent"}')
    answer = conn.recv(id_)['result']
    is_((answer['decision'], answer['attempt']), ('unknown', 1), 'an absent before settle releases nothing, though it was waited for')
    ok(answer['next_probe_at'], 'it is told when it is looked at again', answer)
    like(conn.call('get', effect=run['effect'])['events'][-1].get('reason', ''), 'too early', 'and the event says why')


def inconclusive(cluster, conn, other):
    """Kind of case 79."""
    run, n_before = open_up(cluster, conn, 'inconclusive')
    PROBE.go(INCONCLUSIVE)
    at = time.monotonic()
    ids = [conn.send('begin', tool='t', key='inconclusive', wait_ms=3500) for _ in range(10)]
    told = [conn.recv(id_)['result'] for id_ in ids]
    is_({answer['decision'] for answer in told}, {'unknown'}, 'a probe that cannot tell: unknown')
    ok(time.monotonic() - at >= 3.5, 'when their time is over, as another may tell until then')
    is_(len(PROBE.asked(run['effect'])), n_before + 1, 'it was asked once for all of them, in three pauses and a half')
    ok(all(answer['next_probe_at'] and answer['retry_after_ms'] > 0 for answer in told), 'and they are told when to ask again')
    PROBE.go('{"verdict":"landed"}')
    is_(other.call('begin', tool='t', key='inconclusive', wait_ms=LONG_MS)['decision'], 'replay', 'who comes later, to the other daemon, has his own')
    is_(len(PROBE.asked(run['effect'])), n_before + 2, 'probe')


def hangs(cluster, daemons, conn):
    run, n_before = open_up(cluster, conn, 'hangs')
    at = time.monotonic()
    ids = [(c, c.send('begin', tool='t', key='hangs', wait_ms=1500)) for c in [daemon.connect() for daemon in daemons]]
    cut = conn.send('begin', tool='t', key='hangs', wait_ms=LONG_MS, deadline_ms=1600)
    PROBE.wait_asked(n_before + 1, run['effect'])
    told = [c.recv(id_)['result'] for c, id_ in ids] + [conn.recv(cut)['result']]
    is_([answer['decision'] for answer in told], ['unknown'] * 3, 'a probe that hangs: unknown when their time is over, or their deadline')
    ok(1.5 <= time.monotonic() - at, 'not before')
    ok(all(answer['next_probe_at'] and ms_of(answer['next_probe_at']) > time.time() * 1000 for answer in told), 'the next probe lies ahead', told)
    # who asks now waits for the same probe
    id_ = conn.send('begin', tool='t', key='hangs', wait_ms=LONG_MS)
    conn.call('info')
    PROBE.go('{"verdict":"landed","result":"at last"}')
    is_(conn.recv(id_)['result']['result'], 'at last', 'who asks meanwhile is told the word of the probe that hung')
    is_((len(PROBE.asked(run['effect'])), PROBE.at_once()), (n_before + 1, 1), 'it was the only one')
    for c, _ in ids:
        c.close()


def leaves(cluster, daemons, conn):
    """Who asked for the probe goes away: its word counts."""
    run, n_before = open_up(cluster, conn, 'left')
    asked = waiters(daemons[:1], 1, tool='t', key='left')
    PROBE.wait_asked(n_before + 1, run['effect'])
    close(asked)
    PROBE.go('{"verdict":"landed"}')
    wait_state(conn, run['effect'], 'done')
    ok(True, 'whoever asked for the probe has left: its word is recorded')


def second_refusal(cluster, conn):
    """A failure on attempt 2 waits for one word, and so does who asks for the effect then."""
    PROBE.holds()
    run = claim(conn, 'refused')
    conn.call('release', **own_ids(run))
    run = claim(conn, 'refused')
    conn.call('complete', **own_ids(run), outcome='failed', result='already refunded')
    id_ = conn.send('begin', tool='t', key='refused', wait_ms=LONG_MS)
    PROBE.wait_asked(1, run['effect'])
    PROBE.go('{"verdict":"landed","result":"the first one"}')
    answer = conn.recv(id_)['result']
    is_((answer['decision'], answer['outcome'], answer['result']), ('replay', 'succeeded', 'the first one'), 'a failure on attempt 2: who waits is told the provider\'s word')
    is_(PROBE.at_once(), 1, 'of one probe')


def lapses(conn):
    """A waiter on a busy effect whose lease ends: it turns unknown under him, and he has it probed."""
    PROBE.says('landed', result='in time')
    run = claim(conn, 'lapses', lease_ms=1000)
    answer = conn.call('begin', tool='t', key='lapses', wait_ms=LONG_MS)
    is_((answer['decision'], answer['effect'], answer['result']), ('replay', run['effect'], 'in time'), 'busy, then lapsed, then known: one wait')


def nobody_asks(conn):
    for tool, words in (('none', {'unknown'}), ('human', {'unknown', 'escalated'})):
        run = claim(conn, 'nobody', tool)
        conn.call('unknown', **own_ids(run))
        answer = conn.recv(conn.send('begin', tool=tool, key='nobody', wait_ms=LONG_MS), 30)['result']
        ok(answer['decision'] in words, f'{tool}: no probe will tell, and it is answered at once', answer)
        is_(PROBE.asked(run['effect']), [], f'{tool}: nobody is asked')
    run = claim(conn, 'no time')
    PROBE.holds()
    conn.call('unknown', **own_ids(run))
    is_(conn.call('begin', tool='t', key='no time')['decision'], 'unknown', 'who has no time is told so at once')
    PROBE.go('{"verdict":"landed"}')
    wait_state(conn, run['effect'], 'done')


def dies(cluster, daemon, other, conn):
    """The daemon that took the row is killed: it is due again by itself, and the other one's waiter is served."""
    run, n_before = open_up(cluster, conn, 'dies', 'killed')
    asked = waiters([daemon], 1, tool='killed', key='dies')
    PROBE.wait_asked(n_before + 1, run['effect'])
    daemon.kill()
    id_ = conn.send('begin', tool='killed', key='dies', wait_ms=LONG_MS)
    row = cluster.rows(f"select state, due_at <= deadline_at as ends, due_at < now() + interval '2 h' as soon from effect.ledger where id = '{run['effect']}'")[0]
    is_(row, {'state': 'unknown', 'ends': True, 'soon': True}, 'the daemon is killed with the probe under way: the row is due again, by its deadline')
    PROBE.says('landed', result='found')
    is_(conn.recv(id_, 60)['result']['result'], 'found', 'and who waits at the other daemon has it probed when the first word can come no more')
    is_(len(PROBE.asked(run['effect'])), n_before + 2, 'once')
    PROBE.go('')  # an orphan of the killed one looks for it
    close(asked)
    daemon.start().ready()


def left_alone(cluster):
    """A provider that does not answer is left alone, and who asks on demand is no exception; a person's look is."""
    with Daemon(cluster, tools=[DOWN.policy('down', lease='5m', escalate_after='3h', probe_backoff=['10ms', '1h'])], config={'sweep_interval': '1h'}) as daemon:
        daemon.ready()
        conn = daemon.connect()

        def circuit():
            return next(tool for tool in conn.call('tools')['tools'] if tool['name'] == 'down')['probe_state']

        for at in range(7):
            run = claim(conn, f'down {at}', 'down')
            conn.call('unknown', **own_ids(run))
            conn.send('begin', tool='down', key=f'down {at}', wait_ms=LONG_MS)
        # five without an answer, and the one that was let through then
        wait_until(lambda: circuit()['circuit'] == 'open' and circuit()['failures'] >= 6, 20, 'the circuit is open for long')
        run, n_before = claim(conn, 'alone', 'down'), len(DOWN.asked())
        conn.call('unknown', **own_ids(run))
        is_(conn.call('begin', tool='down', key='alone', wait_ms=1500)['decision'], 'unknown', 'a provider that is left alone: unknown when the time is over')
        is_(len(DOWN.asked()), n_before, 'and nobody was asked')
        is_(cluster.psql(f"select probe_no from effect.ledger where id = '{run['effect']}'"), '0', 'nor was the row taken')
        is_(conn.call('probe', effect=run['effect'])['verdict'], 'inconclusive', 'a person may look all the same')
        is_(conn.error('probe', effect=run['effect'], apply=True)['data']['name'], 'overloaded', 'and not apply')
        is_(daemon.stop(), 0, 'the stop leaves nobody waiting')


def crowded(cluster):
    """No slot is free: who asks waits for one as long as he has time. This daemon may have few descriptors, so few probes."""
    tools = TOOLS + [HANGS.policy('more', probe_timeout='25s', lease='5m')]
    with Daemon(cluster, tools=tools, config={'sweep_interval': '1h'}, prefix=['prlimit', '--nofile=700:700']) as few:
        few.ready()
        conn = few.connect()
        # of four slots one tool has three: two tools fill them
        taken = [claim(conn, f'{tool} {at}', tool) for at in range(2) for tool in ('crowd', 'more')]
        for run in taken:
            conn.call('unknown', **own_ids(run))
        asked = [(conn, conn.send('begin', tool=tool, key=f'{tool} {at}', wait_ms=LONG_MS)) for at in range(2) for tool in ('crowd', 'more')]
        wait_until(lambda: len(HANGS.asked()) >= 4, 20, 'four probes hang')
        run, _ = claim(conn, 'no slot'), PROBE.says('landed', result='a slot')
        conn.call('unknown', **own_ids(run))
        is_(conn.call('begin', tool='t', key='no slot', wait_ms=600)['decision'], 'unknown', 'no slot is free: unknown when the time is over')
        is_(PROBE.asked(run['effect']), [], 'and nothing was asked')
        is_(cluster.psql(f"select probe_no from effect.ledger where id = '{run['effect']}'"), '0', 'nor taken')
        id_ = conn.send('begin', tool='t', key='no slot', wait_ms=LONG_MS)
        conn.call('info')
        for pid in pids_of(few.process.pid):  # the provider of one of them answers
            os.killpg(pid, signal.SIGKILL)
            break
        is_(conn.recv(id_)['result']['result'], 'a slot', 'a slot comes free: it is probed')
        # and a stop leaves nobody without an answer
        few.signal(signal.SIGTERM)
        is_({conn.recv(i)['result']['decision'] for _, i in asked}, {'unknown'}, 'the daemon stops: who waits for a probe is told unknown')
        is_(few.wait(), 0, 'and it ends with 0')


seed()
with Cluster() as the_cluster, Daemon(the_cluster, tools=TOOLS) as one_daemon, Daemon(the_cluster, tools=TOOLS) as other_daemon:
    both = [one_daemon.ready(), other_daemon.ready()]
    own, its = one_daemon.connect(), other_daemon.connect()
    landed(the_cluster, both, own)
    absent(the_cluster, both, own)
    early(the_cluster, own)
    inconclusive(the_cluster, own, its)
    hangs(the_cluster, both, own)
    leaves(the_cluster, both, own)
    second_refusal(the_cluster, own)
    lapses(own)
    nobody_asks(own)
    dies(the_cluster, one_daemon, other_daemon, its)
    is_([daemon.stop() for daemon in both], [0, 0], 'both stop in order')  # so that no other daemon's slots play a part
    left_alone(the_cluster)
    crowded(the_cluster)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
