"""What the checks of this folder share: the list of files that are the project, and TAP."""
import os
import re
import subprocess
import sys

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
SHOWN_MAX = 25  # problems of one test point
BUILD = os.environ.get('EFFECTD_BUILD', os.path.join(SRC, 'build'))


def files():
    """Paths below SRC of what is or is about to be in the repository; from a tarball, whatever configure did not make."""
    if exists('.git'):
        names = subprocess.run(['git', '-c', 'safe.directory=*', 'ls-files', '--cached', '--others',
                                '--exclude-standard'], cwd=SRC, capture_output=True, text=True,
                               check=True).stdout.splitlines()
    else:
        names = []
        for folder, folders, here in os.walk(SRC):
            folders[:] = [f for f in folders if not os.path.exists(os.path.join(folder, f, 'config.status'))
                          and f not in ('autom4te.cache', 'build-aux', 'node_modules', '__pycache__', '.deps')]
            names += [os.path.relpath(os.path.join(folder, name), SRC) for name in here]
        made = {'configure', 'aclocal.m4', 'Makefile.in', 'Makefile', 'config.log', 'config.status'}
        names = [name for name in names if name not in made and not name.endswith(('.o', '.a'))]
    return sorted(name for name in set(names) if os.path.isfile(os.path.join(SRC, name)))


def read(name):
    with open(os.path.join(SRC, name), encoding='utf-8', errors='surrogateescape') as f:
        return f.read()


def exists(name):
    return os.path.exists(os.path.join(SRC, name))


def c_files():
    return [name for name in files() if name.endswith(('.c', '.h'))]


def without_comments(text):
    """C text with comments and the insides of literals blanked, line by line as before."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, lambda m: re.sub(r'[^\n]', ' ', m.group()), text, flags=re.S)


def exceptions(name):
    """Lines `WHAT reason...` of a file in this folder. A reason is demanded; who needs no exception must not have one."""
    found = {}
    path = os.path.join('tests/tidy', name)
    for line in read(path).splitlines() if exists(path) else []:
        if line.strip() and not line.startswith('#'):
            what, _, reason = line.partition(' ')
            if not reason.strip():
                sys.exit(f'{path}: {what} has no reason')
            found[what] = reason.strip()
    return found


def defs(name):
    """The first argument of each macro call in an X-macro file, quotes taken off."""
    return re.findall(r'^[A-Z][A-Z0-9_]*\(\s*"?([A-Za-z0-9_.-]+)"?\s*[,)]', read(name), flags=re.M)


def objects():
    """{module: [object files]} of daemon/ and client/ in the build folder; a module is a path such as daemon/methods/begin."""
    found = {}
    for top in ('daemon', 'client'):
        for folder, _, names in os.walk(os.path.join(BUILD, top)):
            for name in names:
                if name.endswith('.o'):
                    # automake names the object of a program with flags of its own PROGRAM-FILE.o
                    base = re.sub(r'^.*-', '', name[:-2])
                    module = os.path.join(os.path.relpath(folder, BUILD), base)
                    if exists(module + '.c'):
                        found.setdefault(module, []).append(os.path.join(folder, name))
    return found


def symbols(path):
    """(defined, undefined) global symbols of an object file; sanitizer and compiler helpers left out."""
    out = subprocess.run(['nm', '-g', path], capture_output=True, text=True, check=True).stdout
    defined, undefined = set(), set()
    for line in out.splitlines():
        kind, name = line.split()[-2:]
        if name.startswith(('__asan', '__ubsan', '__odr', '_GLOBAL', '__')):
            continue
        (undefined if kind in 'Uw' else defined).add(name)
    return defined, undefined


class Tap:
    """One test point a thing checked; its problems as comment lines."""

    def __init__(self):
        self.n, self.n_failed = 0, 0

    def check(self, what, problems):
        problems = list(problems)
        self.n += 1
        self.n_failed += bool(problems)
        print(f'{"not " if problems else ""}ok {self.n} - {what}')
        for problem in problems[:SHOWN_MAX]:
            print(f'#   {problem}')
        if len(problems) > SHOWN_MAX:
            print(f'#   and {len(problems) - SHOWN_MAX} more')

    def end(self):
        print(f'1..{self.n}')
        sys.exit(1 if self.n_failed else 0)
