#!/usr/bin/python3
"""Completion in bash: what it offers is what the program takes."""
import os
import pty
import re
import select
import signal
import subprocess

from harness import *

SCRIPT = os.path.join(SRC, 'client', 'effectctl.bash')
# what bash does at Tab: words by COMP_WORDBREAKS, the last one of which is replaced
ASK = '''
shopt -s extglob
source "$1" || exit
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=($2) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_effectctl "$3" "${COMP_WORDS[COMP_CWORD]}" ""
((${#COMPREPLY[@]})) && printf '%s\\n' "${COMPREPLY[@]}"
true
'''


def complete(line, socket='/nonexistent'):
    """The candidates behind `line`, in order."""
    out = subprocess.run(['bash', '--norc', '-c', ASK, 'bash', SCRIPT, line, program('effectctl')], capture_output=True, text=True, check=False,
                         env=dict(os.environ, LC_ALL='C.UTF-8', EFFECTD_SOCKET=socket), timeout=60 * SLOW, cwd=folder())
    if out.returncode or out.stderr:
        note(out.stderr)
        return None
    return out.stdout.splitlines()


def text_of(path):
    with open(os.path.join(SRC, path), encoding='utf-8') as file:
        return file.read()


def flags_of(*words):
    """Every flag that the program says it takes there."""
    return sorted(set(re.findall(r'^  (?:-\w, )?(--[a-z-]+)', ctl(*words, '--help').stdout, re.M)))


VERBS = re.findall(r'^VERB\("(\w+)"', text_of('client/verbs.def'), re.M)
TWO = {'tools': sorted(re.findall(r'\{"\w+", "tools (\w+)"', text_of('client/ctl_tools.c'))),
       'db': sorted(re.findall(r'"(\w+)"', re.search(r'const names\[\] = \{("init"[^}]*)\}', text_of('client/ctl_db.c')).group(1)))}


def verbs_and_flags():
    ok(len(VERBS) > 15, 'there are verbs')
    is_(sorted(complete('effectctl ')), sorted(VERBS), 'every verb, and nothing else')
    is_(complete('effectctl wat'), ['watch'], 'by its beginning')
    is_(complete('effectctl zzz'), [], 'nothing begins so')
    is_(sorted(set(complete('effectctl -'))), sorted(['-s', '--socket', '--json', '--help', '--version']), 'flags before the verb')
    for verb in VERBS:
        if verb in TWO:
            is_(sorted(complete(f'effectctl {verb} ')), TWO[verb], f'{verb}: what may stand behind it')
            for sub in TWO[verb]:
                is_(sorted(complete(f'effectctl {verb} {sub} --')), flags_of(verb, sub), f'{verb} {sub}: every flag')
        else:
            is_(sorted(complete(f'effectctl {verb} --')), flags_of(verb), f'{verb}: every flag')
    is_(sorted(complete('effectctl --json -s /x list --')), flags_of('list'), 'flags before the verb are none of its words')
    is_(complete('effectctl list --st'), ['--state'], 'a flag by its beginning')


def words():
    """What no --help lists is what the sources have."""
    findings = re.findall(r'^FINDING\((\w+),', text_of('daemon/tool_findings.def'), re.M)
    is_(sorted(complete('effectctl tools lint --ignore ')), sorted(set(findings) - {'not_loaded', 'undecided'}), 'codes of findings that may be ignored')
    is_(sorted(complete('effectctl call ')), sorted(re.findall(r'^METHOD\("(\w+)"', text_of('daemon/methods/methods.def'), re.M)), 'methods')
    reports = re.search(r'names\[\] = \{(.*?)NULL', text_of('daemon/methods/report.c'), re.S).group(1)
    is_(sorted(complete('effectctl report ')), sorted(re.findall(r'"(\w+)"', reports)), 'reports')
    is_(complete('effectctl report summary '), [], 'one report')
    states = re.search(r'effect.state as enum \(([^)]*)\)', text_of('sql/migrations/0001_ledger.sql')).group(1)
    is_(sorted(complete('effectctl list --state ')), sorted(re.findall(r"'(\w+)'", states)), 'states')
    is_(complete('effectctl list --state=es'), ['escalated'], 'behind an equals sign, too')
    is_(complete('effectctl resolve x --verdict '), ['landed', 'failed', 'absent'], 'verdicts')
    is_(complete('effectctl complete x --outcome f'), ['failed'], 'outcomes')
    classes = re.search(r'skeleton_classes\[\] = \{\s*([^}]*)NULL', text_of('client/skeleton.c'), re.S).group(1)
    is_(complete('effectctl tools import --class '), re.findall(r'"(\w+)"', classes), 'classes')
    is_(complete('effectctl list --limit '), [], 'a number is nobody\'s to guess')
    ok('cat' in complete('effectctl run --tool t -- ca'), 'behind -- a command')


def tools():
    names = ['refund_order', 'refund line', 'pay:card', 'pay:cash', "o'clock", 'look', '$(id)']
    is_(complete('effectctl begin --tool '), [], 'nobody to ask, no names, and no word about it')
    with Daemon('host=/nowhere', tools=[{'name': name, 'class': 'read'} for name in names]) as daemon:
        is_(sorted(daemon.ctl('tools', 'list', '--names').stdout.splitlines()), sorted(names), 'tools list --names')
        is_(sorted(complete('effectctl begin --tool ', daemon.socket)), sorted(['refund_order', 'refund\\ line', 'pay:card', 'pay:cash', "o\\'clock", 'look', '\\$\\(id\\)']),
            'the running daemon\'s tools, each as one word of the shell')
        is_(complete('effectctl begin --tool refund_', daemon.socket), ['refund_order'], 'by their beginning')
        is_(complete('effectctl begin --tool=refund_', daemon.socket), ['refund_order'], 'behind an equals sign')
        is_(sorted(complete('effectctl list --tool pay:c', daemon.socket)), ['card', 'cash'], 'behind a colon, at which bash breaks words')
        is_(complete('effectctl tools probe lo', daemon.socket), ['look'], 'as an argument')
        is_(complete(f'effectctl -s {daemon.socket} report summary --tool lo'), ['look'], 'of the socket that is named')


def files():
    where = folder()
    for name in ('a.json', 'b.json'):
        with open(os.path.join(where, name), 'w', encoding='ascii'):
            pass
    is_(sorted(complete(f'effectctl tools import {where}/')), [f'{where}/a.json', f'{where}/b.json'], 'files where a file is wanted')
    is_(sorted(complete(f'effectctl tools lint --measured {where}/a')), [f'{where}/a.json'], 'as a flag\'s value')


def at_the_keyboard():
    """The real thing: an interactive bash, and Tab."""
    out = subprocess.run(['bash', '--norc', '-c', 'source "$1"; complete -p effectctl', 'bash', SCRIPT], capture_output=True, text=True, check=False)
    is_(out.stdout, 'complete -F _effectctl effectctl\n', 'sourced, it completes effectctl')
    child, master = pty.fork()
    if child == 0:
        os.environ.update(PATH=f'{BUILD}:{os.environ["PATH"]}', PS1='ready> ', TERM='dumb', EFFECTD_SOCKET='/nonexistent', INPUTRC='/dev/null')
        os.execvp('bash', ['bash', '--norc', '--noprofile', '-i'])
    seen = ''

    def shows(pattern):
        nonlocal seen
        while select.select([master], [], [], 0)[0]:
            seen += os.read(master, 65536).decode(errors='replace')
        return re.search(pattern, seen)
    wait_until(lambda: shows('ready> '), 20, 'bash is ready')
    os.write(master, f'source {SCRIPT}; echo sour""ced\n'.encode())
    wait_until(lambda: shows('sourced'), 20, 'it is sourced')
    os.write(master, b'effectctl wat\t--inter\t')
    ok(wait_until(lambda: shows('effectctl watch --interval '), 20, 'Tab completes'), 'a verb and a flag by Tab')
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(master)


verbs_and_flags()
words()
tools()
files()
at_the_keyboard()
done()
