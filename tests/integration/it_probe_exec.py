#!/usr/bin/python3
"""Exec probes and notifiers as processes of this host: which files are run at all, that nothing of them is left behind whatever
they do, and that they end with their daemon. Case 83."""
import json
import os
import shutil

from harness import *
from talk import *

N_PROBES = rounds_of(90, 500)
SLEEP = '2718.25'  # a name for our grandchildren
PROBE, OTHER, NOTIFIER = Script(), Script(), Script('true')

# $$ is the number of the group; what is forked belongs to it, but for what left it with a session of its own
PLAY = '''n=$(printf '%s' "$line" | sed 's/.*"key":"z-\\([0-9]*\\)".*/\\1/')
echo $$ >>{dir}/groups
case $((n % 6)) in
0) sleep {sleep} & sleep {sleep} ;;
1) (sleep {sleep} &) ; echo '{"verdict":"landed","result":'$n'}' ;;
2) echo '{"verdict":"landed","result":'$n'}' ;;
3) (trap "" TERM HUP; exec 0<&- 1>&- 2>&-; sleep {sleep}) & sleep {sleep} ;;
4) sleep {sleep} & kill -9 $$ ;;
5) sleep {sleep} | cat & echo '{"verdict":"landed","result":'$n'}' ;;
esac'''.replace('{sleep}', SLEEP)


def stats():
    """{pid: (state, process group)} of everything that runs here or waits to be reaped."""
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as stat:
                fields = stat.read().rsplit(')', 1)[1].split()
            found[int(pid)] = fields[0], int(fields[2])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def groups():
    with open(os.path.join(PROBE.dir, 'groups'), encoding='ascii') as lines:
        return {int(line) for line in lines}


def open_up(conn, key, tool, **more):
    run = claim(conn, key, tool, **more)
    conn.call('unknown', **own_ids(run))
    return run


def events_of(conn, run, kind):
    return [event for event in conn.call('get', effect=run['effect'], events=1000)['events'] if event['kind'] == kind]


def leaves_nothing(conn, daemon, cluster):
    """case 83: a third of them times out with a grandchild that keeps the pipes open, or dies, or leaves one behind."""
    def fds():
        return len(os.listdir(f'/proc/{daemon.process.pid}/fd'))

    daemon.settled(cluster)
    before = fds()
    with open(os.path.join(PROBE.dir, 'groups'), 'wb'):
        pass
    PROBE.play(PLAY)
    runs = [claim(conn, f'z-{at}', 'many') for at in range(N_PROBES)]
    for run in runs:
        conn.send('unknown', own_ids(run))
    for run in runs:
        conn.recv()
    n_answered = sum(at % 6 in (1, 2, 5) for at in range(N_PROBES))
    asked = "select count(distinct effect) from effect.event where kind = 'probe'"
    worst = 0

    def all_asked():
        nonlocal worst
        worst = max(worst, len(pids_of(daemon.process.pid)))
        return int(cluster.psql("select count(*) from effect.ledger where key like 'z-%' and state = 'done'")) == n_answered and \
            int(cluster.psql(asked)) == N_PROBES - n_answered

    wait_until(all_asked, 300, 'each was asked: it is done, or recorded as not known')
    ok(worst <= 32 + 2, 'at no time more probes than the limit', worst)
    kinds = cluster.psql("select distinct reason from effect.event where kind = 'probe' order by 1").split('\n')
    is_(kinds, ['inconclusive: ended by signal 9', 'inconclusive: timed out'], 'case 83: a third timed out, some died, and all of that was recorded')
    PROBE.says('landed')
    wait_until(lambda: cluster.psql("select count(*) from effect.ledger where key like 'z-%' and state <> 'done'") == '0', 120, 'all are done')
    wait_until(lambda: not pids_of(daemon.process.pid), 20, 'no child is left, no zombie')
    ok(len(groups()) >= N_PROBES, f'{len(groups())} groups of their own')
    ours = groups()
    wait_until(lambda: not any(group in ours for _, group in stats().values()), 20, 'no member of any group is left, not even a zombie')
    wait_until(lambda: fds() <= before, 20, 'descriptors are what they were')
    ok(True, f'case 83: {N_PROBES} probes leave no zombie, no grandchild and no descriptor')
    is_({conn.call('begin', tool='many', key=f'z-{at}')['decision'] for at in range(N_PROBES)}, {'replay'}, 'and are all replayed')


def unsafe(conn, daemon, where):
    """Whatever it would say: a file that others could have put there is not asked, and that is no word of the provider."""
    program = os.path.join(where, 'bin', 'probe')
    cases = {'file': (program, 0o777, 'can be written by anybody'), 'folder': (os.path.join(where, 'bin'), 0o775, 'can be written by its group'),
             'no-program': (program, 0o644, 'Permission denied')}
    OTHER.says('absent')
    for name, (path, mode, rule) in cases.items():
        good = os.stat(path).st_mode & 0o7777
        os.chmod(path, mode)
        n = len(OTHER.asked())
        run = open_up(conn, f'unsafe-{name}', 'unsafe')
        wait_until(lambda: len(events_of(conn, run, 'probe')) >= 2, 30, 'it is tried again')
        event = events_of(conn, run, 'probe')[0]
        like(event['reason'], f"^unstarted: cannot run '{program}': '{path}'.*{rule}", f'{name}: the reason names file and rule')
        is_((state_of(conn, run['effect']), len(OTHER.asked())), ('unknown', n), f'{name}: nobody was asked, nothing is decided')
        os.chmod(path, good)
        wait_state(conn, run['effect'], 'released')
        ok(len(OTHER.asked()) > n, f'{name}: put right, it is asked at the next start')


def told_at_load(conn, daemon, where):
    program = os.path.join(where, 'bin', 'probe')
    os.chmod(program, 0o775)
    n = len(daemon.log())
    daemon.hup()
    line = daemon.wait_log('would not be run', after=n)
    like(line, f"warning.*the probe '{program}' would not be run: '{program}' can be written by its group", 'a reload warns of it')
    daemon.wait_log('config and policies are in force', after=n)
    tools = {tool['name']: tool for tool in conn.call('tools')['tools']}
    like(json.dumps(tools['unsafe']['findings']), 'probe_unsafe', '`tools` has it as a finding')
    lint = daemon.ctl('tools', 'lint', daemon.tools_dir)
    is_(lint.returncode, 1, '`effectctl tools lint` finds it')
    like(lint.stdout, 'probe_unsafe', 'by its code')
    os.chmod(program, 0o755)


def notifier(conn, daemon):
    """The notifier's file, too: the notice waits until it is safe."""
    os.chmod(NOTIFIER.path, 0o777)
    run = open_up(conn, 'notice', 'people')
    wait_state(conn, run['effect'], 'escalated')
    line = daemon.wait_log("taken=no.*can be written by anybody", 30)
    ok(run['effect'] in line and not NOTIFIER.asked(), 'a notifier that anybody could change is not told', line)
    os.chmod(NOTIFIER.path, 0o755)
    ok(NOTIFIER.wait_asked(1, run['effect'], 150), 'put right, it is told')


def ends_with_the_daemon(conn, daemon):
    """kill -9 leaves no probe running; who starts next asks anew."""
    PROBE.play(f'echo $$ >>{{dir}}/hung; exec sleep {SLEEP}')
    run = open_up(conn, 'hung', 'hangs')
    path = os.path.join(PROBE.dir, 'hung')
    wait_until(lambda: os.path.exists(path) and os.path.getsize(path), 20, 'the probe runs')
    with open(path, encoding='ascii') as f:
        pid = int(f.read().split()[0])
    ok(pid in stats(), 'it runs')
    daemon.kill()
    wait_until(lambda: stats().get(pid, ('Z',))[0] == 'Z', 10, 'it is gone')
    ok(True, 'a daemon that is killed leaves no probe running')
    PROBE.says('landed')
    daemon.start().ready()
    with daemon.connect() as again:
        is_(wait_state(again, run['effect'], 'done', 60)['by'], 'probe', 'the next daemon asks anew')


def main():
    where = folder()
    os.mkdir(os.path.join(where, 'bin'), 0o755)
    shutil.copy(OTHER.path, os.path.join(where, 'bin', 'probe'))
    tools = [PROBE.policy('many', probe_timeout='700ms', lease='1h'), PROBE.policy('hangs', probe_timeout='2s'),
             {**OTHER.policy('unsafe'), 'probe': {'exec': {'argv': [os.path.join(where, 'bin', 'probe')]}}},
             {'name': 'people', 'on_unknown': 'human', 'escalate_after': '0s'}]
    config = f'sweep_interval = "200ms"\nnotify {{ exec = {{"{NOTIFIER.path}"}} }}\n'
    with Cluster() as cluster, Daemon(cluster, config=config, tools=tools).ready() as daemon:
        conn = daemon.connect()
        leaves_nothing(conn, daemon, cluster)
        unsafe(conn, daemon, where)
        told_at_load(conn, daemon, where)
        notifier(conn, daemon)
        ends_with_the_daemon(conn, daemon)
        is_(cluster.invariants(), [], 'no invariant is hurt')
    done()


main()
