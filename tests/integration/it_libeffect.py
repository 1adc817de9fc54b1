#!/usr/bin/python3
"""libeffect: what is installed, and a crowd of its callers whose daemon is killed again and again: no effect is run twice, and what
a caller was told is what the ledger has."""
import json
import os
import random
import re
import select
import shlex
import subprocess

from clients import Client, kind_of
from harness import *

N_KILLS = rounds_of(5, 40)
N_KEYS = 40
PAY = {'name': 'pay', 'class': 'irreversible', 'on_unknown': 'human', 'lease': '60s', 'escalate_after': '10m', 'max_attempts': 1000}
HERE = folder()
ROOT = os.path.join(HERE, 'root')

PROGRAM = r'''
#include <effect.h>
#include <stdio.h>

int
main(int argc, char **argv)
{
    struct effect_options options = EFFECT_OPTIONS_INIT;
    struct effect_params params = EFFECT_PARAMS_INIT;
    struct effect_report report = EFFECT_REPORT_INIT;
    struct effect_answer *answer;
    struct effect_ledger *ledger;
    size_t len = 0;

    options.socket = argv[argc - 1];
    ledger = effect_new(&options);
    params.tool = "t";
    params.key = "installed";
    if (effect_begin(ledger, &params, &answer) == EFFECT_RUN && effect_start(ledger, answer) == EFFECT_RUN) {
        report.result = "{\"n\": 1.0}";
        report.result_len = 10;
        printf("%s\n", effect_kind_name(effect_complete(ledger, answer, &report, NULL)));
    } else {
        const char *raw = effect_answer_raw(answer, "result", &len);

        printf("%s %.*s\n", effect_kind_name(effect_answer_kind(answer)), (int)len, raw ? raw : "");
    }
    effect_answer_free(answer);
    effect_free(ledger);
    return 0;
}
'''


def run(*argv, **how):
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120 * SLOW, **how)


def made(name):
    """The value of a make variable in the build under test."""
    with open(os.path.join(BUILD, 'Makefile'), encoding='utf-8') as makefile:
        return re.search(rf'^{name} = (.*)$', makefile.read(), flags=re.M).group(1).strip()


def installed(end):
    return next((os.path.join(top, name) for top, _, names in os.walk(ROOT) for name in names if name.endswith(end)), None)


def only_what_the_map_names():
    library = installed('libeffect.so.0.0.0')
    ok(library, 'the shared library is installed with its version')
    like(run('readelf', '-d', library).stdout, r'soname: \[libeffect\.so\.0\]', 'its soname has the version that its interface has')
    with open(os.path.join(SRC, 'client', 'libeffect.map'), encoding='utf-8') as text:
        named = set(re.findall(r'^\t\t(effect_\w+);', text.read(), flags=re.M))
    lines = [line.split() for line in run('nm', '-D', '--defined-only', library).stdout.splitlines()]
    is_({line[-1].split('@')[0] for line in lines if line[-2] == 'T'}, named, 'it exports what its map names, and nothing else')
    needed = set(re.findall(r'NEEDED.*\[(.*?)\]', run('readelf', '-d', library).stdout))
    is_({name for name in needed if not re.match(r'lib(asan|ubsan|m|gcc_s)\.', name)}, {'libc.so.6'}, 'it needs the C library alone')
    table = run('objdump', '-t', installed('libeffect.a')).stdout
    ours = [line for line in table.splitlines() if re.search(r'\s(\.data|\.bss|\*COM\*)\S*\s', line) and '.data.rel.ro' not in line and
            re.search(r'\sO\s', line) and not re.search(r'asan|ubsan|\.L|__', line)]
    is_([] if made('SANITIZE_CFLAGS') else ours, [], 'nothing in it can be written to that is not a caller\'s')


def a_program_is_built_by_pkg_config(daemon):
    pc = installed('effect.pc')
    env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc), PKG_CONFIG_SYSROOT_DIR=ROOT)
    flags = shlex.split(run('pkg-config', '--cflags', '--libs', 'effect', env=env).stdout)
    is_(run('pkg-config', '--modversion', 'effect', env=env).stdout.strip(), made('PACKAGE_VERSION'), 'pkg-config knows its version')
    folder_ = os.path.dirname(installed('libeffect.so.0.0.0'))
    told = []
    strict, sanitize = ['-Wall', '-Wextra', '-Wpedantic', '-Werror'], shlex.split(made('SANITIZE_CFLAGS'))
    for compiler, suffix, standard in (('gcc', '.c', 'c11'), ('gcc', '.cc', 'c++11'), ('clang', '.c', 'c11'), ('clang', '.cc', 'c++17')):
        source = os.path.join(HERE, 'host' + suffix)
        with open(source, 'w', encoding='utf-8') as out:
            out.write(PROGRAM)
        if compiler == 'clang' or suffix == '.cc':  # is there a C++ library to link with? The header is what counts
            built = run(compiler, f'-std={standard}', *strict, '-fsyntax-only', source, *(f for f in flags if f.startswith('-I')))
            ok(built.returncode == 0, f'the header is taken by {compiler} as {standard}', built.stderr)
            continue
        host = os.path.join(HERE, 'host')
        for how in (flags, [f for f in flags if f != '-leffect'] + [installed('libeffect.a')]):
            built = run(compiler, f'-std={standard}', *strict, *sanitize, '-o', host, source, *how)
            ok(built.returncode == 0, 'a program is built with it, shared and static', built.stderr)
            told.append(run(host, daemon.socket, env=dict(os.environ, LD_LIBRARY_PATH=folder_)).stdout)
    is_(told, ['Ok\n', 'Replay {"n": 1.0}\n'], 'and they guard a call: the first records it, the second is told of it')


def the_readmes_lines_compile():
    with open(os.path.join(SRC, 'README.md'), encoding='utf-8') as text:
        function, calls = re.search(r'```c\n(.*?\n}\n)(.*?)```', text.read(), flags=re.S).groups()
    source = os.path.join(HERE, 'readme.c')
    with open(source, 'w', encoding='utf-8') as out:
        out.write('#include <effect.h>\nenum effect_kind refund(void *, const char *, struct effect_report *);\n'
                  'enum effect_kind all(struct effect_ledger *, void *);\n'
                  f'{function}enum effect_kind all(struct effect_ledger *ledger, void *order)\n{{\nstruct effect_answer *answer;\n'
                  f'enum effect_kind kind;\n{calls}effect_answer_free(answer);\nreturn kind;\n}}\n')
    built = run('gcc', '-std=c11', '-Wall', '-Wextra', '-Werror', '-Wno-unused-parameter', '-fsyntax-only', f'-I{SRC}/client', source)
    ok(built.returncode == 0, 'the lines of README.md compile', built.stderr)


def crowd(client, daemon, keys):
    """Two callers for each key, all at once. The daemon is killed while they ask, and whenever some more of them report."""
    orders, going = [], [os.path.join(client.dir, f'go{n}') for n in range(N_KILLS - 1)]
    for n, key in enumerate(keys * 2):
        order = client._order({'tool': 'pay', 'key': key}, {'value': key, 'until_file': going[n % len(going)]},
                              {'wait_ms': 30000, 'begin_timeout_ms': 60000}, False)
        order['calls'] = os.path.join(client.dir, key)
        orders.append(order)
    client.process.stdin.write(json.dumps({'name': 'crowd', 'socket': daemon.socket, **orders[0], 'more': orders[1:], 'at_once': True}).encode() + b'\n')
    for path in [None, *going]:
        if path:
            open(path, 'x', encoding='ascii').close()
        select.select([], [], [], random.random() * 0.03)  # anywhere in what goes on then
        daemon.kill()
        daemon.start()
    first = client.told()
    return [first, *first['more']]


def killed_again_and_again(daemon, cluster):
    client = Client('C', daemon.socket)
    keys = [f'k{n}' for n in range(N_KEYS)]
    told = crowd(client, daemon, keys)
    performed = {}
    for key in keys:
        path = os.path.join(client.dir, key)
        if os.path.exists(path):
            with open(path, encoding='utf-8') as calls:
                performed[key] = len(calls.read().splitlines())
    is_({key: n for key, n in performed.items() if n != 1}, {}, f'no effect is performed twice while effectd is killed {N_KILLS} times')
    values = [(key, line['value']) for key, line in zip(keys * 2, told) if line['got'] == 'value']
    is_([pair for pair in values if pair[0] != pair[1]], [], 'whoever got a value got his own')
    is_([key for key, _ in values if key not in performed], [], 'and nobody got one of a call that was not made')
    note(f'{len(values)} values, and {sorted({kind_of(line) for line in told if line["got"] == "error"})}')
    with daemon.ready().connect() as conn:
        recorded = {key: conn.call('get', tool='pay', key=key, events=0) for key in performed}
    is_([key for key, _ in values if recorded[key]['state'] != 'done'], [], 'what somebody was told is in the ledger')
    ok(len(values) >= N_KEYS, 'most callers got theirs', [kind_of(line) for line in told if line['got'] == 'error'])
    is_(cluster.invariants(), [], 'the ledger is sound')


seed()
install = run('make', '-s', '-C', BUILD, 'install', f'DESTDIR={ROOT}')
is_(install.returncode, 0, 'make install into a folder of its own')
note(install.stderr)
only_what_the_map_names()
the_readmes_lines_compile()
# each commit takes a while, so that there is something under way in the daemon and in the database
with Cluster({'fsync': 'on', 'commit_delay': '5000', 'commit_siblings': '0'}) as cluster_, Daemon(cluster_, tools=[PAY]) as daemon_:
    daemon_.ready()
    a_program_is_built_by_pkg_config(daemon_)
    killed_again_and_again(daemon_, cluster_)
done()
