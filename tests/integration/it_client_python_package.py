#!/usr/bin/python3
"""What becomes of client/python as a package: mypy finds nothing, here and in whoever uses it; sdist and wheel build with Debian's tools,
hold what they must and nothing else, and work where they are installed; the version and the licence are effectd's."""
import glob
import os
import re
import shutil
import subprocess
import tarfile
import zipfile

from harness import *

PYTHON = '/usr/bin/python3'
HOME = os.path.join(SRC, 'client', 'python')
USER = '''
from typing import Dict
import effectd

ledger = effectd.Ledger()
tasks = effectd.AsyncLedger(wait=5)

@ledger.tool('refund_order', errors=(KeyError,))
def refund(order_id: int, *, effect: effectd.Claim = effectd.GIVEN) -> Dict[str, int]:
    return {'refund': order_id}

@tasks.tool('refund_order')
async def later(order_id: int) -> Dict[str, int]:
    return {'refund': order_id}

async def main() -> int:
    with effectd.run('run-7', step=3):
        again = effectd.override(refund, again='it is meant')
        return (await later(1))['refund'] + again(1)['refund']

try:
    wrong: str = refund('1')  # two faults for mypy to see
except effectd.Failed as error:
    print(error.replayed, error.value)
'''


def run(argv, cwd, env=None):
    return subprocess.run(argv, cwd=cwd, env={**os.environ, 'PYTHONDONTWRITEBYTECODE': '1', **(env or {})}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def copy_of_package():
    to = os.path.join(folder(), 'python')
    shutil.copytree(HOME, to, ignore=shutil.ignore_patterns('__pycache__', '*.egg-info', 'build', 'dist', '.mypy_cache'))
    return to


def types(home):
    done_ = run([PYTHON, '-m', 'mypy'], home)
    ok(done_.returncode == 0, 'mypy --strict finds nothing in the package', done_.stdout)
    with open(os.path.join(home, 'user.py'), 'w', encoding='ascii') as out:
        out.write(USER)
    done_ = run([PYTHON, '-m', 'mypy', '--strict', '--config-file', os.devnull, 'user.py'], home)
    lines = [int(number) for number in re.findall(r'^user\.py:(\d+): error', done_.stdout, re.M)]
    is_(lines, [22, 22], 'a guarded function keeps its types: who uses it wrongly is told')
    os.unlink(os.path.join(home, 'user.py'))


def build(home):
    done_ = run([PYTHON, '-m', 'build', '--no-isolation', '--outdir', 'out'], home)
    made = sorted(os.listdir(os.path.join(home, 'out'))) if done_.returncode == 0 else done_.stdout
    with open(os.path.join(SRC, 'configure.ac'), encoding='ascii') as configure:
        version = re.search(r'AC_INIT\(\[effectd\], \[([^]]+)\]', configure.read())[1]
    is_(made, [f'effectd-{version}-py3-none-any.whl', f'effectd-{version}.tar.gz'], 'sdist and wheel are built, of configure.ac\'s version')
    return [os.path.join(home, 'out', name) for name in made]


def contents(wheel, sdist):
    modules = sorted(os.path.basename(name) for name in glob.glob(os.path.join(HOME, 'effectd', '*.py')))
    names = zipfile.ZipFile(wheel).namelist()
    is_(sorted(os.path.basename(name) for name in names if name.startswith('effectd/')), sorted([*modules, 'py.typed']),
        'the wheel holds the modules and says that they are typed')
    ok(any(name.endswith('/LICENSE') for name in names), 'and the licence')
    ok(not [name for name in names if 'test' in name], 'and no tests')
    with tarfile.open(sdist) as tar:
        inner = {name.split('/', 1)[1] for name in tar.getnames() if '/' in name}
    is_({'LICENSE', 'README.md', 'pyproject.toml', 'tests/test_effectd.py', 'effectd/py.typed'} - inner, set(),
        'the sdist holds licence, README and tests')
    with open(os.path.join(SRC, 'LICENSE'), encoding='utf-8') as ours, open(os.path.join(HOME, 'LICENSE'), encoding='utf-8') as its:
        is_(its.read(), ours.read(), 'the licence is effectd\'s')


def installed(wheel, sdist):
    target, unpacked = folder(), folder()
    pip = glob.glob('/usr/share/python-wheels/pip-*.whl')[0] + '/pip'
    done_ = run([PYTHON, pip, 'install', '--quiet', '--no-index', '--no-deps', '--no-compile', '--target', target, wheel], '/')
    ok(done_.returncode == 0, 'the wheel can be installed', done_.stdout)
    with tarfile.open(sdist) as tar:
        tar.extractall(unpacked)
    tests = glob.glob(os.path.join(unpacked, '*', 'tests'))[0]
    done_ = run([PYTHON, '-W', 'error', '-m', 'unittest', 'discover', tests], '/', {'PYTHONPATH': target})
    like(done_.stdout, r'Ran \d+ tests.*\n\nOK', 'the tests of the sdist pass with the package that was installed')


def main():
    home = copy_of_package()
    types(home)
    made = build(home)
    contents(*made)
    installed(*made)
    done()


main()
