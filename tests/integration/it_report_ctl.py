#!/usr/bin/python3
"""effectctl report against a played daemon: what is asked, how each kind of value is told, what fits a terminal, exit codes; CSV and JSON
read back; nothing that a stranger wrote moves a cursor, is a formula, or becomes another command. And every report of a real daemon."""
import csv
import io
import json
import os
import re
import subprocess

from harness import *
from peer import *
from played_reports import *
from screen import Screen, on_terminal, width
from talk import *

UTF8, ASCII = {'LC_ALL': 'C.UTF-8'}, {'LC_ALL': 'C'}
NAMES = ['summary', 'stuck', 'escalated', 'duplicates', 'incidents', 'retention', 'timeouts', 'mismatches', 'churn', 'budgets', 'capacity', 'daily']


def lines_of(out):
    return out.stdout.splitlines()


def asking():
    peer = play(quiet_day())

    def asked(*flags):
        out = peer.ctl('report', *flags)
        is_((out.returncode, out.stderr), (0, ''), f'report {" ".join(flags)} is asked')
        return peer.requests()[-1]['params']

    is_(asked('stuck'), {'name': 'stuck'}, 'what is not given is not sent: the daemon\'s clock and defaults decide')
    is_(asked('duplicates', '--from', '2026-11-01T00:00:00+01:00', '--to', '2026-11-30T08:30:00.25Z', '--tool', 'a b', '--namespace', 'pay', '--limit', '7',
              '--within', '90s'),
        {'name': 'duplicates', 'namespace': 'pay', 'tool': 'a b', 'from': '2026-10-31T23:00:00.000Z', 'to': '2026-11-30T08:30:00.250Z', 'limit': 7,
         'within_ms': 90000}, 'all that is given is')
    is_(asked('churn', '--keys-min', '5'), {'name': 'churn', 'keys_min': 5}, 'also how many keys are many')
    is_(asked('stuck', '--to', '2026-11-30T08:00:00Z', '--since', '7d'), {'name': 'stuck', 'from': '2026-11-23T08:00:00.000Z', 'to': '2026-11-30T08:00:00.000Z'},
        '--since counts back from --to')
    is_(asked('stuck', '--to', '2026-11-30T08:00:00Z')['from'], '2026-11-29T08:00:00.000Z', 'a window that only ends has 24 hours')
    is_(list(asked('stuck', '--since', '1h')), ['name', 'from'], '--since alone leaves the end to the daemon')
    wrong = [(), ('stuck', 'more'), ('stuck', '--from', '2026-02-30'), ('stuck', '--from', 'tomorrow'), ('stuck', '--since', '7'), ('stuck', '--since', '0s'),
             ('stuck', '--from', 'yesterday', '--since', '1d'), ('stuck', '--from', '2026-11-02', '--to', '2026-11-01'), ('stuck', '--limit', '0'),
             ('stuck', '--limit', '1001'), ('churn', '--keys-min', '1'), ('duplicates', '--within', 'soon'), ('stuck', '--csv', '--json'), ('stuck', '--html'),
             ('stuck', '--mail', 'a@b'), ('daily', '--html', '--mail', 'a@b'), ('daily', '--mail-from', 'a@b'), ('stuck', '--tol', 'x'), ('stuck', '--deadline', '2h')]
    n = len(peer.lines)
    for flags in wrong:
        out = peer.ctl('report', *flags)
        is_(out.returncode, 64, f'report {" ".join(flags)} is no command line: {out.stderr.strip()[:90]}')
    argv = [program('effectctl'), '-s', peer.path, 'report', 'stuck', '--tool', b'\xff']
    is_(subprocess.run(argv, capture_output=True, check=False).returncode, 65, 'a name that is not UTF-8 is refused')
    is_(len(peer.lines), n, 'and nothing of all this is asked')


def exit_codes():
    advice = finding('stuck', 'c', 'a text', 'advice')
    for found, code in [([], 0), ([advice], 0), ([advice, finding('stuck', 'c', 'a text')], 1), ([finding('stuck', 'c', 'a text', 'alarm')], 1), ([{}], 1)]:
        peer = play({'stuck': report('stuck', [], found)})
        for form in ((), ('--csv',), ('--json',)):
            is_(peer.ctl('report', 'stuck', *form).returncode, code, f'{[one.get("level") for one in found]} {" ".join(form)} exits {code}')
    for answer, code in [(error(-32003, 'denied'), 77), (error(-32602, 'invalid_params', pointer='/name', why='is none'), 65), (error(-32006, 'overloaded'), 75),
                         (error(-32001, 'unavailable'), 69), (HANG_UP, 69)]:
        out = Peer(answer).ctl('report', 'nothing')
        is_((out.returncode, out.stdout), (code, ''), f'{answer} is {code}')
    whole = report('stuck', [])
    for broken in [{}, {**whole, 'columns': []}, {**whole, 'columns': [1]}, {**whole, 'rows': None}, {**whole, 'rows': [{}]}, {**whole, 'name': None},
                   {**whole, 'columns': ['c'] * 65}, {**whole, 'rows': {'a': 1}}]:
        out = Peer(broken).ctl('report', 'stuck')
        is_(out.returncode, 70, f'what is no report is told as that: {str(broken)[:60]}')
        like(out.stderr, 'is no report', 'by its words')


def queued():
    """Another report is under way."""
    busy = error(-32006, 'overloaded', why='another report or list is being made', retry_after_ms=10)
    peer = Peer(busy, busy, report('stuck', []))
    is_((peer.ctl('report', 'stuck').returncode, len(peer.lines), len(set(peer.lines))), (0, 3, 1), 'the daemon is asked again when it says so')
    peer = Peer(busy)
    is_((peer.ctl('report', 'stuck').returncode, len(peer.lines)), (75, 4), 'but not for ever')
    peer = Peer(error(-32006, 'overloaded'))
    is_((peer.ctl('report', 'stuck').returncode, len(peer.lines)), (75, 1), 'and not where it does not say when')


def shapes():
    """What is odd, and is not a reason to be deaf."""
    odd = {'name': 'stuck', 'from': 'whenever', 'to': '', 'columns': ['a', 'b_ms', 'c_at', 'd_rate', 'e_bytes', 'namespace', 'bytes'],
           'rows': [[], [1], [{'x': [1]}, 'text', 5, 'x', [1, 2], None, 'y', 'too', 'many'], [True, -1.5, '2026-13-99', 2, -1, 3, 1e300],
                    [False, 1e300, '2026-11-30T08:15:02Z', None, 1e300, '', 0]], 'n': -4, 'findings': [{}], 'counts': {'exact': 'x', 'missing': [{}, 7]}}
    for answer in (odd, {**odd, 'findings': 7, 'counts': 7, 'n': 'x'}, {**odd, 'findings': [1, None, []]}):
        for form in ((), ('--csv',), ('--json',)):
            out = Peer(answer).ctl('report', 'stuck', *form, env=UTF8)
            ok(out.returncode in (0, 1), f'odd values are told all the same {form}', out.stderr)
    out = Peer(odd).ctl('report', 'stuck', env=UTF8)
    like(out.stdout, r'^stuck, whenever to : 5 rows; counts are not complete\n', 'a window that is none stands as it is')
    for words in ('{"x": [1]}', '-2 ms', '2026-13-99', '200.0 %', 'yes', 'no', '2026-11-30 08:15:02Z'):
        ok(words in out.stdout, f'{words} is told', out.stdout)


def values():
    for given, told in [({'n': 1840}, '1,840'), ({'n': -1234567}, '-1,234,567'), ({'policy': 1234567890}, '1234567890'), ({'took_ms': 850}, '850 ms'),
                        ({'took_ms': 1200}, '1.2 s'), ({'took_ms': 3000}, '3 s'), ({'took_ms': 59000}, '59 s'), ({'took_ms': 190000}, '3.2 min'),
                        ({'took_ms': 144000000}, '40 h'), ({'took_ms': 864000000}, '10 d'), ({'some_rate': 0.0344}, '3.4 %'), ({'some_rate': 0.00002}, '<0.1 %'),
                        ({'some_rate': 0.99999}, '>99.9 %'), ({'some_rate': 0}, '0.0 %'), ({'some_rate': None}, '-'), ({'n': 12, 'some_rate': None}, '12 - (n 12)'),
                        ({'n': 12, 'some_rate_before': None}, '12 -'), ({'done_at': '2026-11-30T08:15:02.123Z'}, '2026-11-30 08:15:02Z'),
                        ({'size_bytes': 434110464}, '414 MiB'), ({'size_bytes': 1536}, '1.5 KiB'), ({'bytes': 17}, '17 B'), ({'note': 'a\\b'}, 'a\\\\b'),
                        ({'value': 4210.5, 'unit': 's'}, '1.2 h'), ({'value': 0.041, 'unit': 'share'}, '4.1 %'), ({'value': 1204551, 'unit': 'rows'}, '1,204,551 rows'),
                        ({'value': None, 'unit': 'rows'}, ''), ({'under_1m': 8, 'under_1h': 4, 'over_30d': 0}, '\u2588\u2584_')]:
        peer = Peer(report('any', [{'tool': 'the_tool', **given}], columns='tool ' + ' '.join(given)))
        row = peer.ctl('report', 'any', env=UTF8).stdout.splitlines()[2]
        is_(re.sub(' +', ' ', row.strip()), f'the_tool {told}'.strip(), f'{given} is told as {told}')
    out = play(busy_day()).ctl('report', 'retention', env=ASCII)
    like(out.stdout, r' @=\._\._ ', 'ages of repeats are a histogram of ASCII where the locale is no UTF-8')
    like(out.stdout, 'AGES of the repeats', 'and are explained')


def tables():
    out = play(busy_day()).ctl('report', 'summary')
    like(out.stdout, r'^summary, 2026-11-29 08:00:00Z to 2026-11-30 08:00:03Z: 5 rows; counts are not complete\n', 'the title has window, n, and whether all is counted')
    like(out.stdout, 'Not counted: what daemon 3f0e8b3c-9a51-4c5d-8e1f-2a3b6f0cb3a6 on pay2 was told in up to 10 s after 2026-11-29 23:14:09Z', 'and the foot what is not')
    like(out.stdout, r'\n\n1 warning:\nwarning: send_email: 23\.1 % of 5161 calls were told busy \[busy_high\]\n    effectctl list --state pending --namespace default '
         r'--tool send_email\n$', 'then what was found, and what to type')
    like(play(quiet_day()).ctl('report', 'summary').stdout, 'counts are exact', 'a quiet day says that its counts are exact')
    out = play(busy_day()).ctl('report', 'stuck')
    like(out.stdout, r'namespace default: 7 rows', 'one namespace stands in the title')
    ok('NAMESPACE' not in out.stdout, 'and not in each row')
    is_((out.stdout.count('    effectctl explain '), '... and 2 more like these' in out.stdout), (5, True), 'of one kind of finding five are told, and how many there are')
    out = play(busy_day()).ctl('report', 'duplicates')
    like(out.stdout, '4 of 31 rows', 'a table that is cut says so')
    like(out.stdout, r'more by --limit', 'and how to see more')
    is_(play(quiet_day()).ctl('report', 'stuck').stdout, 'stuck, 2026-11-29 08:00:00Z to 2026-11-30 08:00:03Z: 0 rows\n', 'an empty report is its title')
    # what is most important comes first, whatever came first
    two = report('stuck', [], [finding('stuck', 'b', 'is advice', 'advice'), finding('stuck', 'z', 'is a warning'), finding('stuck', 'a', 'is another')])
    said = re.findall('is (?:another|a warning|advice)', Peer(two).ctl('report', 'stuck').stdout)
    is_(said, ['is another', 'is a warning', 'is advice'], 'warnings stand before advice')


def widths():
    peer = play({**busy_day(), 'hostile': hostile_day()['stuck']})
    for name in ('summary', 'stuck', 'retention', 'capacity', 'duplicates', 'hostile'):
        shown, said = {}, {}
        for columns in (40, 80, 200):
            data, status = on_terminal([program('effectctl'), '-s', peer.path, 'report', name], columns=columns)
            ok(status in (0, 1), f'{name} at {columns} columns')
            head = data.decode().split('\n\n')[0].splitlines()
            table = head[1:1 + next((i for i, line in enumerate(head[1:]) if re.match('No room|The most|Not counted|AGES of', line)), len(head))]
            wide = [line for line in table if sum(map(width, line)) > columns]
            is_(wide, [], f'{name} fits {columns} columns')
            shown[columns] = len(re.findall(r'\S+(?: \S+)*', table[0]))
            said[columns] = b'No room for ' in data
        ok(said[40] and (said[80] or shown[80] == shown[200]), f'{name} says what it leaves out', said)
        ok(2 <= shown[40] <= shown[80] <= shown[200], f'{name}: the wider, the more columns', shown)
    out = peer.ctl('report', 'summary')
    is_(('No room' in out.stdout, len(lines_of(out)[1].split()) > 25), (False, True), 'into a pipe all columns are told')
    like(peer.ctl('report', 'summary', env={'COLUMNS': '60'}).stdout, 'No room for ', 'if COLUMNS does not say how many there are')


def csv_read_back():
    days = {**busy_day()}
    for name in NAMES:
        out = play(days).ctl('report', name, '--csv')
        rows = list(csv.reader(io.StringIO(out.stdout), strict=True))
        is_(rows[0], days[name]['columns'], f'{name} as CSV: the columns by their names on the wire')
        want = [['' if c is None else c if isinstance(c, str) else json.dumps(c) for c in row] for row in days[name]['rows']]
        is_(rows[1:], want, f'{name} as CSV: the rows, units and numbers as they came')
        is_((out.stdout.count('\n'), 'effectctl' in out.stdout), (len(rows), False), f'{name} as CSV: nothing else on standard output')
    like(play(days).ctl('report', 'stuck', '--csv').stderr, r'7 warnings:\nwarning: .*\n    effectctl explain ', 'the findings go to standard error')
    formulas = ['=1+1', '+1', '-1+1', '@sum', ' =1', '\uff1d1', '=cmd|"/C calc"!A0', 'a,"b";c', 'a\nb', '\t=1', "'", '', 'a\r\nb\x1b[2J']
    numbers = [0, -1, -12.5, 1e-05, -1e-05, 12345678901234567890, 1.5]
    peer = Peer(report('any', [{'a': value, 'b': 'x'} for value in formulas + numbers], columns='a b'))
    out = peer.ctl('report', 'any', '--csv')
    cells = [row[0] for row in csv.reader(io.StringIO(out.stdout), strict=True)][1:]
    is_([cell for cell in cells[:len(formulas)] if re.match(r'\s*[=+@\t\r\n\uff1d-]', cell)], [], 'no text is a formula')
    is_([json.loads(cell) for cell in cells[len(formulas):]], numbers, 'numbers stay numbers')
    is_(Screen().feed(out.stdout).moved, [], 'and no text moves a cursor')


def json_whole():
    days = busy_day()
    raw = json.dumps(days['stuck']).replace('"attempt"', '"attempt"') + ' '
    peer = Peer(b'{"jsonrpc":"2.0","id":1,"result":' + raw.encode() + b'}\n')
    out = peer.ctl('report', 'stuck', '--json')
    is_(out.stdout, '{"schema":"effectctl.report/1",' + raw.strip()[1:] + '\n', '--json is the daemon\'s own bytes under a schema')
    out = play(days).ctl('--json', 'report', 'daily')
    is_((json.loads(out.stdout)['name'], len(json.loads(out.stdout)['findings'])), ('daily', len(days['daily']['findings'])), 'daily, too, is a report')
    is_(json.loads(Peer(error(-32003, 'denied')).ctl('--json', 'report', 'stuck').stdout)['schema'], 'effectctl.error/1', 'an error is one, too')


def hostile():
    peer = play(hostile_day())
    for name in NAMES[:-1]:
        for form in ((), ('--csv',)):
            argv = [program('effectctl'), '-s', peer.path, 'report', name, *form]
            is_(Screen().feed(on_terminal(argv)[0]).moved, [], f'{name} {form} on a terminal: nothing moves the cursor')
            for env in (UTF8, ASCII):
                out = subprocess.run(argv, env={**os.environ, **env}, capture_output=True, check=False)
                is_(Screen().feed(out.stdout + out.stderr).moved, [], f'{name} {form} in {env["LC_ALL"]}: nothing moves the cursor')
                ok(form or env is UTF8 or out.stdout.isascii(), f'{name} in C is ASCII')
        ok('\x00' not in peer.ctl('report', name).stdout, f'{name}: no NUL')
    # what a finding says to type, with a tool that is a stranger's word: a shell reads it as that word, or not at all
    where = folder()
    for word in ("'; touch {}/pwned; '", '$(touch {}/pwned)', '`touch {}/pwned`', 'a\u202eb\u200b', "it's", '\x1b[2J', 'x\ntouch {}/pwned\n', '#x', '--help', '\u6f22'):
        word = word.format(where)
        quoted = "'" + word.replace("'", "'\\''") + "'"
        for line, runs in ((f'printf %s {quoted}', True), (f'printf %s {word}; touch {where}/pwned', False), (f'printf %s "{word}$(touch {where}/pwned)"', False)):
            for env in (UTF8, ASCII):
                shown = Peer(report('any', [], [finding('any', 'c', 't', next=line)], 'a')).ctl('report', 'any', env=env).stdout.split('\n    ')[1]
                is_(Screen().feed(shown).moved, [], f'{line!r} moves nothing')
                is_(shown.count('\n'), 1, 'and is one line')
                out = subprocess.run(['bash', '-c', shown], env={**os.environ, **UTF8}, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
                is_(out.stdout if runs else '', word if runs else '', f'{line!r}, pasted, is that word')
                ok(not os.path.exists(f'{where}/pwned'), 'and nothing else is run', shown)


def huge():
    columns = COLUMNS['summary']
    rows = [{name: 'w' * 40 if name in ('namespace', 'tool') else n for name in columns.split()} for n in range(1000)]
    found = [finding('summary', f'code {n % 3}', 'a text of some length ' * 8, tool='w' * 40, next='effectctl status') for n in range(1000)]
    peer = Peer(report('summary', rows, found, n=123456789))
    for form in ((), ('--csv',), ('--json',)):
        out = peer.ctl('report', 'summary', *form)
        is_(out.returncode, 1, f'a report of a thousand rows and findings is told {form}')
        ok(out.stdout.count('\n') > 1000 or form == ('--json',), 'whole')
    like(peer.ctl('report', 'summary').stdout, r'1,000 of 123,456,789 rows', 'of how many')


def real():
    """Each report of a real daemon, in each form."""
    tools = [{'name': 'refund', 'escalate_after': '0s', 'keep': ['/order'], 'business_key': ['/order'], 'on_business_duplicate': 'report'}]
    with Cluster() as cluster, Daemon(cluster, config='sweep_interval = "50ms"\n', tools=tools) as daemon:
        with daemon.ready().connect() as conn:
            for name in NAMES:
                out = daemon.ctl('report', name)
                is_((out.returncode, out.stderr), (0, ''), f'{name} of an empty ledger: nothing to look at')
            for key in ('a', 'b'):
                conn.call('complete', **own_ids(claim(conn, key, 'refund', args={'order': 1})))
            run = claim(conn, "it's", 'refund', args={'order': 2})
            conn.call('unknown', **own_ids(run))
            wait_state(conn, run['effect'], 'escalated')
        for name in NAMES:
            answer = json.loads(daemon.ctl('--json', 'report', name).stdout)
            found = {one['code'] for one in answer['findings'] if one['level'] == 'warning'}
            out = daemon.ctl('report', name, '--csv')
            rows = list(csv.reader(io.StringIO(out.stdout), strict=True))
            is_((out.returncode, rows[0], len(rows) - 1), (1 if found else 0, answer['columns'], len(answer['rows'])), f'{name}: all forms are one answer')
            is_(daemon.ctl('report', name).returncode, 1 if found else 0, f'{name} exits by {found or "nothing"}')
            is_(found, {'escalated': {'escalated'}, 'duplicates': {'duplicate'}, 'daily': {'escalated', 'duplicate'}}.get(name, set()), f'{name} finds what is there')
        page = daemon.ctl('report', 'daily', env=UTF8)
        like(page.stdout, r'^effectd on \S+: 2 things to look at\n', 'the daily page finds both')
        like(page.stdout, rf'Escalated \[escalated\]\n! refund  it\'s\n  .*(\n  .*)?\n    effectctl \w+ {run["effect"]}', 'and says what to type')
        for form in ('--html', '--mail=ops@example.org'):
            is_(daemon.ctl('report', 'daily', form).returncode, 1, f'also {form}')


asking()
exit_codes()
queued()
shapes()
values()
tables()
widths()
csv_read_back()
json_whole()
hostile()
huge()
real()
done()
