#!/usr/bin/python3
"""packaging/quickstart on the build under test: its story comes true, twice; stopping and interrupting leave nothing
running; a story that does not come true is a failure."""
import json
import os
import shutil
import signal
import subprocess

from harness import *

QUICKSTART = os.path.join(SRC, 'packaging/quickstart')
RUN_S = 120


def environment(state, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('EFFECTD_', 'LC_', 'LANG'))}
    return {**env, 'QUICKSTART_STATE': state, 'QUICKSTART_BUILD': BUILD, 'LANG': 'xx_XX.ISO-8859-1', **more}


def quickstart(state, *args, script=QUICKSTART):
    return subprocess.run([script, *args], env=environment(state), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=RUN_S * SLOW, check=False)


def running(state):
    """Processes that have the folder in their command line or, as the database's have, as their working folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as f:
                line = f.read().replace(b'\0', b' ').decode(errors='replace')
            cwd = os.readlink(f'/proc/{pid}/cwd')
        except OSError:
            continue
        if int(pid) != os.getpid() and (state in line or cwd.startswith(state)):
            found.append((int(pid), line))
    return found


def daemon_of(state):
    return next(pid for pid, line in running(state) if line.startswith(program('effectd')))


def nothing_runs(state, when):
    is_(running(state), [], f'{when} nothing is left running')


def story_comes_true(state):
    first = quickstart(state)
    is_(first.returncode, 0, 'the story comes true') or note(first.stdout + first.stderr)
    like(first.stdout, r'(?m)^ +ok +order 1042 was refunded twice', 'without effectd there are two refunds')
    like(first.stdout, r'(?m)^ +ok +order 1043 was refunded once', 'with it there is one')
    ok('FAIL' not in first.stdout and '\x1b' not in first.stdout and not first.stderr, 'without a terminal it prints no escapes',
       first.stderr)
    socket = os.path.join(state, 'effectd.sock')
    ok(f'its socket     {socket}' in first.stdout and 'stop it' in first.stdout, 'it says where and how to stop')
    out = ctl('list', '--json', socket=socket)
    is_((out.returncode, len(json.loads(out.stdout)['effects'])), (0, 4), 'its socket answers, with the four effects of the story')
    is_(out.stderr, '', 'and without a complaint')


def again(state):
    second = quickstart(state)
    is_(second.returncode, 0, 'while it runs, it can be run again') or note(second.stdout + second.stderr)
    like(second.stdout, 'stopped: provider, effectd, database', 'what ran before was stopped')
    out = ctl('list', '--json', socket=os.path.join(state, 'effectd.sock'))
    is_(len(json.loads(out.stdout)['effects']), 8, 'the ledger has not forgotten')


def stops(state):
    os.kill(daemon_of(state), signal.SIGKILL)
    wait_until(lambda: not any(line.startswith(program('effectd')) for _, line in running(state)), 10, 'the daemon is gone')
    out = quickstart(state, 'stop')
    is_((out.returncode, out.stdout), (0, 'stopped: provider, database\n'), 'stop stops what a killed daemon left')
    nothing_runs(state, 'after stop')
    is_(quickstart(state, 'stop').stdout, 'nothing was running\n', 'a second stop has nothing to do')


def interrupted(state):
    """Ctrl-C in the middle of it."""
    with subprocess.Popen([QUICKSTART], env=environment(state), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, start_new_session=True) as play:
        said = []
        while not (said and 'With effectd' in said[-1]):
            said.append(play.stdout.readline())
            if not said[-1]:
                break
        play.send_signal(signal.SIGINT)
        said.append(play.stdout.read())
        is_(play.wait(), 130, 'interrupted it exits with 130') or note(''.join(said))
    nothing_runs(state, 'after an interrupt')


def must_come_true(state):
    """A wrapper that says release where it should say unknown doubles the refund, and the story says so."""
    top = folder()
    shutil.copytree(os.path.join(SRC, 'packaging'), os.path.join(top, 'packaging'))
    os.makedirs(os.path.join(top, 'client/examples'))
    shutil.copy(os.path.join(SRC, 'client/examples/tools.json'), os.path.join(top, 'client/examples'))
    wrapper = os.path.join(top, 'packaging/demo/guarded')
    with open(wrapper, encoding='utf-8') as f:
        text = f.read()
    broken = text.replace("ask('unknown'", "ask('release'")
    isnt(broken, text, 'a wrapper gets broken')
    with open(wrapper, 'w', encoding='utf-8') as f:
        f.write(broken)
    out = quickstart(state, script=os.path.join(top, 'packaging/quickstart'))
    is_(out.returncode, 1, 'a story that does not come true is a failure')
    like(out.stdout, r'(?m)^    FAIL +the wrapper says what it knows', 'it names the promise')
    nothing_runs(state, 'after a failure')


def refuses(state):
    stranger = folder()
    with open(os.path.join(stranger, 'mine'), 'w', encoding='ascii') as f:
        f.write('mine')
    out = quickstart(stranger)
    is_(out.returncode, 1, 'a folder with other things in it is refused')
    quickstart(stranger, 'remove')
    ok(os.path.exists(os.path.join(stranger, 'mine')), 'and never removed')
    is_(quickstart(state, 'bogus').returncode, 64, 'an unknown word is 64')
    quickstart(state, 'remove')
    ok(not os.path.exists(state), 'remove forgets all')


the_state = os.path.join(folder(), 'state')
try:
    story_comes_true(the_state)
    again(the_state)
    stops(the_state)
    interrupted(the_state)
    must_come_true(the_state)
    refuses(the_state)
finally:
    quickstart(the_state, 'stop')
done()
