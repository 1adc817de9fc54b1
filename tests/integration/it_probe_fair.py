#!/usr/bin/python3
"""A provider that hangs or does not answer costs no other tool anything: slots are shared, circuits open and close, and whoever
waits for one is escalated in time. Case 88, and its kind."""
import os

from harness import *
from talk import *

N_HUNG = rounds_of(150, 500)
N_QUICK = 60
HANG, QUICK, DOWN, SICK = Script('exec sleep 3600'), Script(), Script('echo "no such host" >&2; exit 7'), Script()
TOOLS = [HANG.policy('hangs', probe_timeout='10s', probe_backoff=['1h'], escalate_after='4h'), QUICK.policy('quick'),
         DOWN.policy('down', probe_backoff=['1h'], escalate_after=f'{int(4 * SLOW)}s'), SICK.policy('sick', probe_backoff=['200ms'])]


def open_up(conn, tool, keys):
    """Effects of which nobody knows, by their wrapper's own word; their ids by key."""
    for method, params in (('begin', lambda key: {'tool': tool, 'key': key, 'lease_ms': 3600000}), ('unknown', lambda key: own_ids(runs[key]))):
        ids = {key: conn.send(method, params(key)) for key in keys}
        answers = {key: conn.recv(id_)['result'] for key, id_ in ids.items()}
        if method == 'begin':
            runs = answers
    return {key: run['effect'] for key, run in runs.items()}


def count(cluster, tool, where='true'):
    return int(cluster.psql(f"select count(*) from effect.ledger l join effect.tool t on t.version = l.policy where t.name = '{tool}' and {where}"))


def probe_state(conn, tool):
    return next(t for t in conn.call('tools')['tools'] if t['name'] == tool)['probe_state']


def hung(conn, cluster):
    """One provider hangs, with many effects that are all due before the other's."""
    QUICK.says('landed', result=1)
    open_up(conn, 'hangs', [f'h-{n}' for n in range(N_HUNG)])
    wait_until(lambda: probe_state(conn, 'hangs')['running'] == 24, 20, 'it has all the slots that one tool may have')
    open_up(conn, 'quick', [f'q-{n}' for n in range(N_QUICK)])
    wait_until(lambda: count(cluster, 'quick', "l.state = 'done'") == N_QUICK, 60, "the other tool's effects are settled")
    waiting = count(cluster, 'hangs', 'l.probe_no = 0')
    ok(waiting > 0, f"case 88: the other tool's {N_QUICK} are done before the first round of the one that hangs is through", waiting)
    ok(len(HANG.asked()) <= N_HUNG - waiting, 'and no more was asked of that one than was taken', (len(HANG.asked()), waiting))
    is_(count(cluster, 'hangs', "l.state <> 'unknown'"), 0, 'all of whose effects are still unknown')
    info = conn.call('info')['probes']
    ok(info['running'] <= 24 and info['max'] == 32, 'info tells how many probes run', info)
    state = wait_until(lambda: (lambda s: s if s['circuit'] == 'open' else None)(probe_state(conn, 'hangs')), 60, 'time-outs open its circuit')
    like(state['last_error'], 'time', 'with the reason')


def down(conn, daemon, cluster):
    """A provider that is down: asked a few times, then left alone; its effects are escalated at their deadline."""
    effects = open_up(conn, 'down', [f'd-{n}' for n in range(60)])
    state = wait_until(lambda: (lambda s: s if s['circuit'] == 'open' else None)(probe_state(conn, 'down')), 20, 'its circuit opens')
    is_((names(state), state['failures'], state['last_error']), ('circuit failures open_until running last_error', 5, 'exit status 7: no such host'),
        'what tools tells of it')
    ok(conn.call('info')['probes']['open_circuits'] >= 1, 'info counts it')
    out = daemon.ctl('tools', 'list')
    like(out.stdout, r'down.* yes +open', 'effectctl tools list shows it')
    like(out.stderr, r'down: probe circuit open until \d{4}-.*Z, no answer: exit status 7: no such host', 'with the reason')
    like(daemon.ctl('status').stdout, r'probes +running \d+, max 32, open_circuits [12]', 'and effectctl status how many')
    row = conn.call('get', effect=effects['d-59'], events=100)
    is_((row['state'], event_kinds(row)), ('unknown', ['unknown']), 'the last of its effects was not asked about')
    like(daemon.ctl('explain', effects['d-59']).stdout, 'tools list shows whether it answers', 'explain says where to look')
    wait_until(lambda: count(cluster, 'down', "l.state = 'escalated'") == 60, 30, 'each is escalated')
    late = cluster.psql("select count(*) from effect.event e join effect.ledger l on l.id = e.effect where e.kind = 'escalated' and l.key like 'd-%' "
                        f"and e.at > l.deadline_at + interval '{int(5 * SLOW)} s'")
    is_(late, '0', 'at its deadline')
    # 24 at a time; each of the first four that end makes room for one more
    ok(len(DOWN.asked()) <= 24 + 4, 'the provider was asked once by each probe that was under way already, and then no more', len(DOWN.asked()))
    # a sweep that was under way when the circuit opened may have taken what then is not asked about
    taken = count(cluster, 'down', 'l.probe_no > 0')
    ok(len(DOWN.asked()) <= taken <= 24 + 4, 'whoever was not asked about while it is open has taken no probe number', taken)
    row = conn.call('get', effect=effects['d-59'], events=100)
    like(row['events'][-1]['reason'], r'^no probe could tell by the deadline: probe circuit open since \d{4}-\d\d-\d\dT.*Z$', 'people are told why')
    is_(len(daemon.grep(r'event=circuit .*tool=down state=open failures=5')), 1, 'one line in the log')
    # another policy of the same tool starts anew
    QUICK.says('landed')
    daemon.set_tools(TOOLS[:2] + [QUICK.policy('down')] + TOOLS[3:])
    daemon.hup()
    wait_until(lambda: probe_state(conn, 'down')['circuit'] == 'closed', 20, 'a changed policy closes the circuit')
    ok('last_error' not in probe_state(conn, 'down') and probe_state(conn, 'hangs')['failures'] >= 5, 'and no other')
    wait_state(conn, open_up(conn, 'down', ['again'])['again'], 'done')
    ok(True, 'and is asked at once')


def half_open(conn, daemon, cluster):
    """While it does not answer, one probe at a time, by the provider's own book; then all of them."""
    book = os.path.join(SICK.dir, 'book')
    SICK.play(f"printf '+' >>{book}; sleep 0.15; printf '%s' '-' >>{book}; exit 1")
    open_up(conn, 'sick', [f's-{n}' for n in range(40)])

    def entries():
        with open(book, encoding='ascii') as text:
            return text.read()

    def between():
        """How long the book is at a moment at which nobody is asking; 0 if somebody is."""
        text = entries()
        return len(text) if text.count('+') == text.count('-') else 0

    wait_until(lambda: probe_state(conn, 'sick')['circuit'] != 'closed', 20, 'its circuit opens')
    first = wait_until(between, 20, 'those that were under way end')
    wait_until(lambda: entries()[first:].count('-') >= 6, 60, 'it is asked again and again')
    trials = entries()[first:]
    is_(trials.replace('+-', ''), '+' if trials.endswith('+') else '', 'half open, one probe is let through at a time')
    ok(probe_state(conn, 'sick')['failures'] >= 10, 'each of which opens it again')
    is_(len(daemon.grep(r'event=circuit .*tool=sick state=open')), 1, 'with one line in the log for all of it')
    # an answer that is no verdict closes it, too
    SICK.says('inconclusive', reason='still at it')
    wait_until(lambda: probe_state(conn, 'sick')['circuit'] == 'closed', 30, 'any answer closes it')
    is_(len(daemon.wait_log(r'event=circuit .*tool=sick state=closed')) > 0, True, 'which is logged')
    SICK.says('landed')
    wait_until(lambda: count(cluster, 'sick', "l.state = 'done'") == 40, 60, 'all are settled')
    is_(probe_state(conn, 'sick'), {'circuit': 'closed', 'failures': 0, 'running': 0}, 'and nothing is held against it')


def main():
    with Cluster() as cluster, Daemon(cluster, config='sweep_interval = "100ms"\n', tools=TOOLS) as daemon:
        with daemon.ready().connect() as conn:
            is_(probe_state(conn, 'quick'), {'circuit': 'closed', 'failures': 0, 'running': 0}, 'a provider that nobody has asked')
            hung(conn, cluster)
            down(conn, daemon, cluster)
            half_open(conn, daemon, cluster)
        is_(cluster.invariants(), [], 'no invariant is broken')
        is_(daemon.stop(), 0, 'the daemon ends in order')
    done()


main()
