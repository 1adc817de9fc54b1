#!/usr/bin/python3
"""What packaging/ ships is what the programs take: the sample config with every key written out, the sample policy, the
units, and where `make install` puts things; and what install-deps finds missing."""
import os
import re
import shutil
import subprocess

from harness import *

PACKAGING = os.path.join(SRC, 'packaging')
HERE = folder()


def run(*argv, **how):
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120, **how)


def text_of(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def write(name, text):
    path = os.path.join(HERE, name)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    return path


def written_out(sample):
    """The sample with its commented keys and sections as real ones; names of users and groups that any machine has."""
    lines = []
    for line in sample.splitlines():
        if re.match(r'# ( *\w+ = |\w+( \w+)? \{|\}|  \w+)', line):
            line = line[2:]
        lines.append(line)
    text = '\n'.join(lines) + '\n'
    text = re.sub(r'database = "host.*\n', '', text)
    return re.sub(r'"(user|group):\w+"', r'"\1:root"', text)


def config_is_taken():
    sample = text_of(os.path.join(PACKAGING, 'effectd.conf'))
    tools = os.path.join(PACKAGING, 'tools.d')
    as_is = run(program('effectd'), '-c', write('as_is.conf', sample), '--tools', tools, '--check')
    is_(as_is.returncode, 0, 'the sample config and the sample policy pass --check')
    note(as_is.stderr)
    full = written_out(sample).replace('socket_group = "effectd"', 'socket_group = "root"')
    checked = run(program('effectd'), '-c', write('full.conf', full), '--tools', tools, '--check')
    is_(checked.returncode, 0, 'so does the sample with every key written out')
    note(checked.stderr)

    def printed(name):
        out = run(program('effectd'), '-c', os.path.join(HERE, name), '--print-config').stdout
        return {m[0]: m[1] for m in re.findall(r'^(\w+) = (.*?) *(?:#.*)?$', out, flags=re.M)}

    # what depends on who runs it, or is unset by default
    personal = {'socket', 'socket_group', 'state_dir', 'tools_dir', 'auto_migrate'}
    defaults = {k: v for k, v in printed('as_is.conf').items() if k not in personal}
    ok(len(defaults) > 10, 'the config prints its keys')
    is_({k: v for k, v in printed('full.conf').items() if k in defaults}, defaults,
        'the comments of the sample tell the defaults')


def policy_passes_lint():
    lint = run(program('effectctl'), 'tools', 'lint', os.path.join(PACKAGING, 'tools.d'))
    is_(lint.returncode, 0, 'the sample policy passes lint')
    note(lint.stdout + lint.stderr)


def install_puts_all_in_place():
    root = os.path.join(HERE, 'root')
    made = run('make', '-s', '-C', BUILD, 'install', f'DESTDIR={root}')
    is_(made.returncode, 0, 'make install into a folder of its own')
    note(made.stderr)
    found = {os.path.join(top, name)[len(root):] for top, _, names in os.walk(root) for name in names}
    for end in ('/sbin/effectd', '/bin/effectctl', '/lib/systemd/system/effectd.service',
                '/lib/systemd/system/effectd.socket', '/lib/systemd/system/effectd-report.service',
                '/lib/systemd/system/effectd-report.timer', '/lib/sysusers.d/effectd.conf', '/lib/tmpfiles.d/effectd.conf',
                '/effectd/effectd.conf', '/man8/effectd.8', '/man5/effectd.conf.5', '/man5/effectd-tools.5',
                '/man1/effectctl.1', '/bash-completion/completions/effectctl.bash', '/share/effectd/effectd.rules.yml', '/share/effectd/effectd.json'):
        ok(any(name.endswith(end) for name in found), f'installs {end}', sorted(found))
    unit = next(name for name in found if name.endswith('effectd.service'))
    daemon = next((name for name in found if name.endswith('/sbin/effectd')), '?')
    config = next(name for name in found if name.endswith('/effectd/effectd.conf') and '/doc/' not in name)
    like(text_of(root + unit), rf'(?m)^ExecStart={re.escape(daemon)} -c {re.escape(config)}$',
         'the unit starts what was installed')
    with open(root + config, 'a', encoding='utf-8') as f:
        f.write('# mine\n')
    run('make', '-s', '-C', BUILD, 'install', f'DESTDIR={root}')
    ok(text_of(root + config).endswith('# mine\n'), 'a second install leaves a config alone')
    run('make', '-s', '-C', BUILD, 'uninstall', f'DESTDIR={root}')
    left = {os.path.join(top, name)[len(root):] for top, _, names in os.walk(root) for name in names}
    is_(left, {config}, 'uninstall leaves the config and nothing else')


def units_are_sound():
    units = os.path.join(HERE, 'units')
    os.mkdir(units)
    for name in ('effectd.service', 'effectd.socket', 'effectd-report.service', 'effectd-report.timer'):
        text = text_of(os.path.join(PACKAGING, name)).replace('/usr/sbin/effectd', program('effectd'))
        # the user is made by sysusers at install
        with open(os.path.join(units, name), 'w', encoding='utf-8') as f:
            f.write(text)
    verified = run('systemd-analyze', 'verify', '--man=no', *(os.path.join(units, n) for n in sorted(os.listdir(units))))
    is_((verified.returncode, [line for line in verified.stderr.splitlines() if 'effectd' in line]), (0, []),
        'systemd takes the units without a word')
    service = text_of(os.path.join(PACKAGING, 'effectd.service'))
    like(service, r'(?m)^PrivateUsers=no$', 'PrivateUsers stays off: a peer\'s uid is its authority')
    like(service, r'(?m)^Type=notify$', 'the unit waits for READY')
    like(service, r'(?m)^WatchdogSec=', 'the loop is watched')


def daily_page_is_sent():
    """The command of effectd-report.service, as systemd starts it, with a sendmail and a daemon of ours."""
    text = text_of(os.path.join(PACKAGING, 'effectd-report.service'))
    command = re.search(r"(?m)^ExecStart=(/bin/bash -o pipefail -c) '(.*)'$", text)
    ok(command, 'the service is one pipe')
    sent = os.path.join(HERE, 'sent')
    os.chmod(write('sendmail', f'#!/bin/sh\n[ "$*" = -t ] && cat >{sent}\n'), 0o755)
    line = (command.group(2).replace('$$', '$').replace('/usr/bin/effectctl', program('effectctl'))
            .replace('/usr/sbin/sendmail', os.path.join(HERE, 'sendmail')))
    env = {**os.environ, 'EFFECTD_REPORT_TO': 'ops@example.org', 'EFFECTD_SOCKET': os.path.join(HERE, 'nobody')}
    out = run(*command.group(1).split(), line, env=env)
    is_(out.returncode, 69, 'without a daemon the unit fails')
    like(text_of(sent), r'(?m)^To: ops@example\.org$', 'and the mail is sent')
    like(text_of(sent), r'(?m)^Subject: effectd \S+: no report could be had, ', 'and says so')
    like(text, r'(?m)^SuccessExitStatus=1$', 'something to look at is no failure of the unit')
    ok('WantedBy' not in text and 'WantedBy=timers.target' in text_of(os.path.join(PACKAGING, 'effectd-report.timer')),
       'it is the timer that can be enabled')


def names_what_is_missing():
    """install-deps over a list of ours, on a machine where dpkg knows of one package and there is one command."""
    here = os.path.join(HERE, 'deps')
    os.makedirs(os.path.join(here, 'bin'))
    shutil.copy(os.path.join(PACKAGING, 'install-deps'), here)
    write('deps/deps', '# A remark that is none of the sections.\n# build\ninstalled\nabsent\n# test\n'
          'there:not-installed\nnot-there:installed\nnot-there:wanted\n')
    for name, text in (('there', ''), ('dpkg-query', 'test "${@: -1}" = installed && echo -n "install ok installed"')):
        os.chmod(write(f'deps/bin/{name}', f'#!/bin/bash\n{text}\n'), 0o755)
    path = {**os.environ, 'PATH': os.path.join(here, 'bin') + ':' + os.environ['PATH']}

    def missing(*sections):
        asked = run(os.path.join(here, 'install-deps'), '--check', *sections, env=path)
        note(asked.stderr)
        return asked.returncode, asked.stdout.split()

    is_(missing('build'), (1, ['absent']), 'a package that dpkg does not know is missing')
    is_(missing('test'), (1, ['wanted']), 'COMMAND:PACKAGE only where neither the command nor the package is there')
    is_(missing(), (1, ['absent', 'wanted']), 'without a section: of all')
    is_(missing('run'), (0, []), 'a section that lacks nothing says nothing')


config_is_taken()
policy_passes_lint()
install_puts_all_in_place()
units_are_sound()
daily_page_is_sent()
names_what_is_missing()
done()
