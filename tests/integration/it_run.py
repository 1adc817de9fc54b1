#!/usr/bin/python3
"""effectctl run and a real daemon: a command runs once, and a repeat gives its status and its output, whatever they are; what
did not run is told from what failed; and the command finds the world as it would without us."""
import base64
import concurrent.futures
import fcntl
import hashlib
import json
import os
import random
import resource
import select
import signal
import socket
import subprocess

from harness import *
from talk import *

TOOLS = [
    {'name': 'deploy', 'class': 'irreversible', 'escalate_after': '1h', 'max_attempts': 1000, 'result_max': 65536},
    {'name': 'final', 'class': 'irreversible', 'escalate_after': '1h', 'on_error': 'failed', 'result_max': 65536},
    {'name': 'again', 'class': 'irreversible', 'escalate_after': '1h', 'on_error': 'released', 'max_attempts': 1000},
    {'name': 'refund', 'class': 'irreversible', 'key': 'refund:{/order}:{/line}', 'escalate_after': '1h'},
    {'name': 'large', 'class': 'irreversible', 'escalate_after': '1h', 'result_max': 1000000},
    {'name': 'small', 'class': 'irreversible', 'escalate_after': '1h', 'result_max': 4096, 'on_error': 'failed'},
    {'name': 'forgetful', 'class': 'irreversible', 'escalate_after': '1h', 'keep_result': '0s', 'on_error': 'failed'},
    {'name': 'discreet', 'class': 'irreversible', 'escalate_after': '1h', 'result_secret': ['/stdout'], 'on_error': 'failed'},
    {'name': 'quick', 'class': 'irreversible', 'escalate_after': '1h', 'lease': '1s'},
    {'name': 'lookup', 'class': 'read'},
]
F_SETPIPE_SZ = 1031  # the module fcntl names it since Python 3.10
REPLAY = rb'effectctl: this is a replay, nothing was run: attempt 1 succeeded at 20\S+, decided by caller'


def run(daemon, *flags, command, stdin=None, **how):
    """effectctl run; bytes."""
    argv = [program('effectctl'), '-s', daemon.socket, 'run', *map(str, flags), '--', *command]
    how.setdefault('stdin', None if stdin is not None else subprocess.DEVNULL)
    return subprocess.run(argv, input=stdin, timeout=60 * SLOW, check=False, **{'capture_output': True, **how})


def sh(text):
    return ['sh', '-c', text]


def lines_of(path):
    with open(path, encoding='utf-8') as file:
        return len(file.readlines())


def recorded(daemon, tool, key):
    """(state, the recorded result)."""
    answer = json.loads(daemon.ctl('--json', 'get', '--tool', tool, '--key', key).stdout)
    return answer['state'], answer.get('result')


def once(daemon):
    book = os.path.join(daemon.dir, 'book')
    command = sh(f'echo "$EFFECT_ID $EFFECT_KEY $EFFECT_ATTEMPT $EFFECT_PROVIDER_KEY" >>{book}; echo v1.2.3 is up; echo warn >&2')
    out = run(daemon, '--tool', 'deploy', '--key', 'deploy:v1.2.3', command=command)
    is_((out.returncode, out.stdout, out.stderr), (0, b'v1.2.3 is up\n', b'warn\n'), 'a fresh command runs, and nothing is added to what it says')
    row = json.loads(daemon.ctl('--json', 'get', '--tool', 'deploy', '--key', 'deploy:v1.2.3').stdout)
    is_(row['result'], {'status': 0, 'stdout': 'v1.2.3 is up\n'}, 'its status and standard output are recorded')
    with open(book, encoding='ascii') as lines:
        is_(lines.read(), f'{row["effect"]} deploy:v1.2.3 1 {row["effect"]}\n', 'it knows its effect, key, attempt and provider key')
    for n in range(3):
        out = run(daemon, '--tool', 'deploy', '--key', 'deploy:v1.2.3', command=command)
        is_((out.returncode, out.stdout), (0, b'v1.2.3 is up\n'), f'repeat {n + 1} has the same status and output')
        is_(lines_of(book), 1, 'and did not run')
    like(out.stderr.decode(), '^' + REPLAY.decode() + '\n$', 'case 22: it says that it is a replay, and of when')

    out = run(daemon, '--tool', 'deploy', '--key', 'in', command=['cat'], stdin=b'from\0stdin')
    is_(out.stdout, b'from\0stdin', 'the command has our standard input')
    out = run(daemon, '--tool', 'deploy', '--key', 'dash', command=sh('echo --key -- "$0"'))
    is_(out.stdout, b'--key -- sh\n', "what stands behind the two dashes is the command's")
    out = run(daemon, '--tool', 'deploy', '--key', 'cwd', command=['pwd'], cwd='/usr')
    is_(out.stdout, b'/usr\n', 'it has our working directory')
    script = os.path.join(daemon.dir, 'script')
    with open(script, 'w', encoding='ascii') as file:
        file.write('echo no interpreter line\n')
    os.chmod(script, 0o755)
    is_(run(daemon, '--tool', 'deploy', '--key', 'plain', command=[script]).stdout, b'no interpreter line\n', 'a script without interpreter line runs')
    env = dict(os.environ, EFFECT_ID='outer', EFFECT_KEY='outer', EFFECT_ATTEMPT='9', EFFECT_PROVIDER_KEY='outer')
    for n in range(2):
        out = run(daemon, '--tool', 'lookup', command=sh(f'echo {n} $EFFECT_ID $EFFECT_KEY $EFFECT_ATTEMPT $EFFECT_PROVIDER_KEY; exit 3'), env=env)
        is_((out.returncode, out.stdout, out.stderr), (3, b'%d\n' % n, b''), 'a tool that only reads always runs, and is no effect')


def statuses(daemon):
    """Case 73: each exit status, as it is and as it is replayed."""
    def both(code):
        first = run(daemon, '--tool', 'final', '--key', f's{code}', command=sh(f'echo {code}; exit {code}'))
        second = run(daemon, '--tool', 'final', '--key', f's{code}', command=sh(f'echo ran again; exit {code + 1}'))
        return first, second
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(both, range(256)))
    is_([a.returncode for a, _ in ends], list(range(256)), 'every exit status is passed on')
    is_([b.returncode for _, b in ends], list(range(256)), 'and is the same in a replay')
    ok(all(a.stdout == b.stdout == b'%d\n' % code for code, (a, b) in enumerate(ends)), 'with the same output')
    ok(all(b'this is a replay, nothing was run: attempt 1 failed at 20' in b.stderr for _, b in ends[1:]), 'a replayed failure says that it is one')
    ok(all(b'recorded as a failure' in a.stderr for a, _ in ends[1:]), 'a failure says what a repeat will do')

    out = run(daemon, '--tool', 'deploy', '--key', 'unclear', command=sh('exit 3'))
    is_(out.returncode, 3, "where the policy does not know what an error means, the status is the command's")
    like(out.stderr.decode(), 'recorded as unknown', 'and it says that it is recorded as unknown')
    out = run(daemon, '--tool', 'deploy', '--key', 'unclear', '--wait', '0s', command=sh('echo twice'))
    is_((out.returncode, out.stdout), (76, b''), 'a repeat does not run it')
    like(out.stderr.decode(), '^effectctl: not run: unknown, effect [0-9a-f-]{36}: ', 'and says why')
    for attempt in (1, 2, 3):
        out = run(daemon, '--tool', 'again', '--key', 'a', command=sh('echo $EFFECT_ATTEMPT; exit 4'))
        is_((out.returncode, out.stdout), (4, b'%d\n' % attempt), 'where an error means that nothing was done, a repeat runs it again')
    is_(run(daemon, '--tool', 'again', '--key', 'a', command=['true']).returncode, 0, 'until it succeeds')


def not_started(daemon):
    """Cases 73 and 109: what never ran is given back; what says of itself that it did not is not."""
    text = os.path.join(daemon.dir, 'text')
    with open(text, 'w', encoding='ascii') as file:
        file.write('no program')
    for command, code in ((['/no/such/command'], 127), (['no-such-command'], 127), ([text], 126), (['/'], 126), ([''], 127)):
        out = run(daemon, '--tool', 'deploy', '--key', f'start:{command[0]}', command=command)
        is_((out.returncode, out.stdout), (code, b''), f'{command[0]!r} is {code}')
        like(out.stderr.decode(), 'cannot run .*; the claim was given back', 'and says so')
        is_(recorded(daemon, 'deploy', f'start:{command[0]}')[0], 'released', 'its claim is released')
    for name, first in (('no-interpreter', '#!/no/such/interpreter\n'), ('folder-as-interpreter', '#!/\n')):
        script = os.path.join(daemon.dir, name)
        with open(script, 'w', encoding='ascii') as file:
            file.write(first)
        os.chmod(script, 0o755)
        out = run(daemon, '--tool', 'deploy', '--key', name, command=[script])
        is_((out.returncode, recorded(daemon, 'deploy', name)[0]), (127 if name[0] == 'n' else 126, 'released'), f'{name}: nothing ran')
        like(out.stderr.decode(), '"#!" line.* does not exist' if name[0] == 'n' else 'Permission denied', 'and it is said what is missing')
    is_(run(daemon, '--tool', 'deploy', '--key', 'start:no-such-command', command=['true']).returncode, 0, 'and the next one runs')
    for code in (126, 127):
        out = run(daemon, '--tool', 'deploy', '--key', f'own{code}', command=sh(f'exit {code}'))
        is_((out.returncode, recorded(daemon, 'deploy', f'own{code}')[0]), (code, 'unknown'), f'a command that itself ends with {code} did run')
    is_(run(daemon, '--tool', 'deploy', '--key', 'own', command=sh('exec /no/such/command')).returncode, 127, 'so does a shell that finds nothing')
    isnt(recorded(daemon, 'deploy', 'own')[0], 'released', 'which is not given back')


def outputs(daemon):
    every = bytes(range(256))
    for name, data in [('nothing', b''), ('no newline', b'x'), ('every byte', every), ('NUL', b'a\0b\0'), ('text', 'äöü€😀\n'.encode() * 100),
                       ('half a character', b'\xe2\x82'), ('escapes', b'\x1b[2J"\\\r\n')]:
        path = os.path.join(daemon.dir, 'data')
        with open(path, 'wb') as file:
            file.write(data)
        ends = [run(daemon, '--tool', 'deploy', '--key', f'out {name}', command=['cat', path]) for _ in range(2)]
        is_([(e.returncode, e.stdout) for e in ends], [(0, data)] * 2, f'output, fresh and replayed: {name}')
        kept = recorded(daemon, 'deploy', f'out {name}')[1]
        is_(kept['stdout'].encode() if 'stdout' in kept else base64.b64decode(kept['stdout_base64']), data, 'and as the ledger has it')

    def big(tool, n_bytes, whole, code=0):
        data = random.Random(n_bytes).randbytes(n_bytes // 2).hex().encode()
        path = os.path.join(daemon.dir, 'big')
        with open(path, 'wb') as file:
            file.write(data)
        ends = [run(daemon, '--tool', tool, '--key', f'big {n_bytes} {code}', command=sh(f'cat {path}; exit {code}')) for _ in range(2)]
        is_([e.returncode for e in ends], [code] * 2, f'{n_bytes} bytes of output: the status, fresh and replayed')
        ok(ends[0].stdout == data, 'they are passed on')
        if whole:
            ok(ends[1].stdout == data, 'and replayed')
            return
        kept = recorded(daemon, tool, f'big {n_bytes} {code}')[1]
        is_((kept['status'], kept['stdout_bytes'], kept['stdout_sha256'], kept['stdout_truncated']),
            (code, n_bytes, hashlib.sha256(data).hexdigest(), True), 'size and hash are recorded')
        ok(ends[1].stdout and data.startswith(ends[1].stdout), 'the beginning is replayed')
        like(ends[1].stderr.decode(), f'only the first {len(ends[1].stdout)} of {n_bytes} bytes of its output are kept', 'which says that it is no more')

    big('deploy', 60000, True)
    big('large', 900000, True)
    big('deploy', 1 << 20, False)
    big('large', 1 << 20, False)
    big('small', 8000, False, code=7)
    big('deploy', 8 << 20, False)

    ends = [run(daemon, '--tool', 'forgetful', '--key', 'k', command=['echo', 'x']) for _ in range(2)]
    is_([(e.returncode, e.stdout) for e in ends], [(0, b'x\n'), (0, b'')], 'where results are not kept, a replay has the status alone')
    like(ends[1].stderr.decode(), 'its output is kept no more', 'and says so')
    ends = [run(daemon, '--tool', 'forgetful', '--key', 'f', command=sh('exit 3')) for _ in range(2)]
    is_([e.returncode for e in ends], [3, 11], 'of a failure, not even that')
    ends = [run(daemon, '--tool', 'discreet', '--key', 'k', command=sh('echo password; exit 3')) for _ in range(2)]
    is_([(e.returncode, e.stdout) for e in ends], [(3, b'password\n'), (3, b'')], 'what a policy takes out is not printed in a replay')

    with daemon.connect() as conn:
        for key, result, outcome, want in (('p1', {'id': 7}, 'succeeded', (0, b'{"id":7}\n')), ('p2', {'why': 1}, 'failed', (11, b'{"why":1}\n')),
                                           ('p3', None, 'succeeded', (0, b'null\n')), ('p4', {'status': 0, 'stdout': 'x'}, 'failed', (11, b'x'))):
            conn.call('complete', **own_ids(claim(conn, key, tool='deploy')), result=result, outcome=outcome)
            out = run(daemon, '--tool', 'deploy', '--key', key, command=['echo', 'ran'])
            is_((out.returncode, out.stdout), want, f"another client's result is printed as JSON: {result}, {outcome}")


def streams(daemon):
    """Closed, full, unread and shared standard streams."""
    shell = f'{program("effectctl")} -s {daemon.socket} run --tool deploy --key closed:%s -- sh -c "%s" %s'
    for fd, redirect in ((0, '<&-'), (1, '>&-'), (2, '2>&-'), (9, '<&- >&- 2>&-')):
        path = os.path.join(daemon.dir, f'fds{fd}')
        done_ = subprocess.run(sh(shell % (fd, f'ls -l /proc/self/fd >{path}; echo out; echo err >&2', redirect)), check=False, timeout=30 * SLOW,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        is_(done_.returncode, 0, f'with {redirect} the command runs')
        is_(recorded(daemon, 'deploy', f'closed:{fd}'), ('done', {'status': 0, 'stdout': 'out\n'}), 'and its output is recorded')
        with open(path, encoding='ascii') as file:
            ok('socket:' not in file.read(), 'with no socket of ours in it')
    with open('/dev/full', 'wb') as full:
        out = run(daemon, '--tool', 'deploy', '--key', 'full', command=['echo', 'x'], capture_output=False, stdout=full, stderr=subprocess.PIPE)
        is_(out.returncode, 70, 'output that cannot be written is no success')
        like(out.stderr.decode(), 'No space left', 'and says so')
    is_(run(daemon, '--tool', 'deploy', '--key', 'full', command=['false']).stdout, b'x\n', 'but is there in a replay')
    limited(daemon)
    unread(daemon)
    read, write = os.pipe()
    os.close(read)
    out = run(daemon, '--tool', 'deploy', '--key', 'unread', command=sh('seq 100000; echo done >&2'), capture_output=False, stdout=write,
              stderr=subprocess.PIPE)
    os.close(write)
    ok(b'done' in out.stderr, 'a reader that goes away does not end the command')
    is_(recorded(daemon, 'deploy', 'unread')[0], 'done', 'which is recorded as done')

    ours, theirs = socket.socketpair()
    with ours, theirs:
        slow_reader(daemon, 'socket', theirs, ours.recv)
    read, write = os.pipe()
    slow_reader(daemon, 'pipe', write, lambda n: os.read(read, n))
    os.close(read)
    os.close(write)

    # case 75
    mark = os.path.join(daemon.dir, 'grandchild')
    out = run(daemon, '--tool', 'deploy', '--key', 'background', command=sh(f'sleep 300 2>/dev/null & echo $! >{mark}; echo started'))
    is_((out.returncode, out.stdout), (0, b'started\n'), 'a background process that holds the output open is not waited for')
    with open(mark, encoding='ascii') as file:
        pid = int(file.read())
    inherited = [os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd')]
    os.kill(pid, 9)
    ok(not any(link.startswith(('socket:', 'anon_inode:')) for link in inherited), 'and holds nothing of ours', inherited)
    lock = os.open(os.path.join(daemon.dir, 'lock'), os.O_CREAT | os.O_RDWR)
    out = run(daemon, '--tool', 'deploy', '--key', 'lock', command=sh(f'test -e /proc/self/fd/{lock} && echo there'), pass_fds=[lock])
    is_(out.stdout, b'there\n', "what our caller hands down is the command's, too")


def limited(daemon):
    """A limit on the size of files, which the caller's standard output runs into."""
    path = os.path.join(daemon.dir, 'limited')
    with open(path, 'wb') as file:
        out = run(daemon, '--tool', 'deploy', '--key', 'limited', command=['seq', '9000'], capture_output=False, stdout=file, stderr=subprocess.PIPE,
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    is_((out.returncode, os.path.getsize(path)), (70, 4096), 'output that is too long for a file does not end us')
    like(out.stderr.decode(), 'File too large; the command succeeded', 'and that is said')
    is_(recorded(daemon, 'deploy', 'limited')[0], 'done', 'it is recorded')
    is_(run(daemon, '--tool', 'deploy', '--key', 'disposition', command=sh('grep SigIgn /proc/self/status')).stdout,
        subprocess.run(['sh', '-c', 'grep SigIgn /proc/self/status'], check=True, stdout=subprocess.PIPE).stdout, 'the command ignores no more than we found')


def unread(daemon):
    """Nobody reads, and a signal ends the waiting for a reader: of a fresh output and of a replay."""
    for fresh in (True, False):
        read, write = os.pipe()
        fcntl.fcntl(write, F_SETPIPE_SZ, 4096)
        process = subprocess.Popen([program('effectctl'), '-s', daemon.socket, 'run', '--tool', 'deploy', '--key', 'stuck', '--', 'seq', '9000'],
                                   stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE)
        wait_until(lambda fd=write: is_done(daemon, 'stuck') and not select.select([], [fd], [], 0)[1], 20, 'the pipe is full')
        process.terminate()
        want = (70, b'Interrupted system call; the command succeeded') if fresh else (-signal.SIGTERM, b'this is a replay')
        _, err = process.communicate(timeout=20 * SLOW)
        is_((process.returncode, want[1] in err), (want[0], True), f'what is left unwritten by a signal is no success (fresh: {fresh})')
        os.close(read)
        os.close(write)


def is_done(daemon, key):
    return daemon.ctl('get', '--tool', 'deploy', '--key', key, '--print', 'state').stdout == 'done\n'


def slow_reader(daemon, name, write, read):
    """Nobody reads for longer than the lease: the lease is kept all the same, and nothing is lost."""
    process = subprocess.Popen([program('effectctl'), '-s', daemon.socket, 'run', '--tool', 'quick', '--key', name, '--', 'seq', '200000'],
                               stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE)
    first = wait_until(lambda: lease_of(daemon, name), 10, 'the claim')
    wait_until(lambda: lease_of(daemon, name) > first, 10, 'a longer lease')
    want, got = b''.join(b'%d\n' % n for n in range(1, 200001)), b''
    while len(got) < len(want):
        got += read(65536)
    is_((process.wait(), got == want, process.stderr.read()), (0, True, b''), f'a {name} that is read late gets all of it')
    process.stderr.close()


def lease_of(daemon, key):
    return json.loads(daemon.ctl('--json', 'get', '--tool', 'quick', '--key', key).stdout).get('lease_until', '')


def arguments(daemon):
    out = run(daemon, '--tool', 'refund', '--arg', 'order=1042', '--arg', 'line:=3', '--arg', 'memo=a=b:=c', command=['true'])
    is_(out.returncode, 0, 'arguments one by one')
    is_(recorded(daemon, 'refund', 'refund:1042:3')[0], 'done', "from which the policy's key is derived")
    same = json.dumps({'memo': 'a=b:=c', 'order': '1042', 'line': 3})
    is_(run(daemon, '--tool', 'refund', '--args', same, command=['false']).returncode, 0, 'the same arguments as JSON are the same effect')
    is_(run(daemon, '--tool', 'refund', '--args-json', '-', command=['false'], stdin=same.encode()).returncode, 0, 'and from standard input')
    path = os.path.join(daemon.dir, 'args.json')
    with open(path, 'w', encoding='ascii') as file:
        file.write(same + '\n')
    is_(run(daemon, '--tool', 'refund', '--args-json', path, command=['false']).returncode, 0, 'and from a file')
    out = run(daemon, '--tool', 'refund', '--arg', 'order:=1042', '--arg', 'line:=3', command=['true'])
    is_(out.returncode, 79, 'others under the same key are 79')
    like(out.stderr.decode(), '^effectctl: not run: mismatch', 'and say so')
    is_(run(daemon, '--tool', 'refund', command=['true']).returncode, 65, 'a key that cannot be derived is 65')
    for flags, code in [(['--arg', 'order'], 64), (['--arg', '=x'], 64), (['--arg', ':=1'], 64), (['--arg', 'a=1', '--arg', 'a:=1'], 64),
                        (['--arg', 'a:=x'], 65), (['--arg', 'a:=1,"b":2'], 65), (['--arg', 'a=1', '--args', '{}'], 64), (['--args', '{'], 65),
                        (['--args', '[1]'], 65),
                        (['--args-json', '/no/such/file'], 65), (['--timeout', '5'], 64), (['--lease', '1ms'], 64), (['--json'], 64),
                        (['--no-such-flag'], 64), (['word'], 64)]:
        out = run(daemon, '--tool', 'deploy', '--key', 'never', *flags, command=['echo', 'ran'])
        is_(out.returncode, code, f'{" ".join(flags)} is {code}')
        ok(b'ran' not in out.stdout and (out.stderr or b'"error"' in out.stdout), 'nothing runs, and it says why', out)
    for words in (['run'], ['run', '--tool', 'deploy', 'true'], ['run', '--tool', 'deploy', '--'], ['run', '--', 'true'], ['--json', 'run', '--tool', 'deploy', '--', 'true']):
        is_(daemon.ctl(*words).returncode, 64, f'{" ".join(words)} is no command line')
    is_(daemon.ctl('get', '--tool', 'deploy', '--key', 'never').returncode, 83, 'and nothing was claimed')
    like(daemon.ctl('run', '--help').stdout, r'usage: effectctl run \[FLAG...\] -- COMMAND', 'run --help')


seed()
with Cluster() as cluster, Daemon(cluster, tools=TOOLS) as daemon:
    daemon.ready()
    once(daemon)
    statuses(daemon)
    not_started(daemon)
    outputs(daemon)
    streams(daemon)
    arguments(daemon)
    is_(cluster.invariants(), [], 'the books are right')
done()
