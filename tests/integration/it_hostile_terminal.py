#!/usr/bin/python3
"""Keys, owners, runs, reasons and tools that would take over a terminal (escapes, carriage returns, backspaces, C1 controls, bidi
overrides, combining and wide characters), through every verb that prints: on a small terminal (screen.py) nothing of them moves the
cursor, and nothing makes a line of its own; what is not UTF-8 is refused at the door."""
import csv
import json
import os
import re
import subprocess

from harness import *
from screen import UNSEEN, WATCH, Screen, on_terminal, width
from talk import own_ids

ESCAPES = '\x1b[2J\x1b[10;10H\x1b]0;title\x07\x1b(0\x1bc\x1bP1$r\x1b\\'
CONTROLS = 'a\rb\x08\x08c\td\x0be\x0cf\x7fg\n\nstate: done\n'
C1 = 'h\x85i\x9b2Jj\x90k\x9cl'
BIDI = '\u202egpj.exe\u202c\u2067rtl\u2069\u200f\u061c\u200b\ufeff\u2028\u2029'
STACKED = 'e' + '\u0301\u0336\u0489' * 12
WIDE = '漢字かな한글\U0001f600'
NAMES = BIDI + STACKED + WIDE  # what a key may hold: no control characters
ANYTHING = ESCAPES + CONTROLS + C1 + NAMES
FORMULA = '=cmd|\'/C calc\'!A0'
HTML = '<script>alert(1)</script>"\'><img src=x onerror=alert(2)>'
LONG = (WIDE * 20).encode()[:252].decode('utf-8', 'ignore')


def whole(text, n=255):
    """At most n bytes, at a character's edge."""
    return text.encode()[:n].decode('utf-8', 'ignore')


TOOLS = [{'name': whole('mail ' + BIDI + HTML, 128), 'business_key': ['/to'], 'on_business_duplicate': 'report', 'keep': ['/to', '/' + WIDE],
          'escalate_after': '0s', 'turn_budget': 1, 'lease': '10m'},
         {'name': 'plain', 'lease': '1s', 'escalate_after': '1h', 'probe': {'exec': {'argv': ['/bin/false', ANYTHING]}}}]
MAIL = TOOLS[0]['name']


def the_terminal():
    """The terminal itself sees what it must: else nothing below says anything."""
    for text in (ESCAPES, CONTROLS, C1, BIDI, '\x1b[H', '\x9b2J', '\x07', '\t', '\r', b'\xff', '\u200b'):
        ok(Screen().feed(text).moved, f'{text!r} is seen to move the cursor')
    is_(Screen().feed('plain\n' + STACKED + WIDE + ' é\n').moved, [], 'letters, marks and wide characters are only printed')
    is_(Screen().feed(WIDE[:2] + 'e\u0301').column, 5, 'and take the cells that they take')
    is_((Screen(known=WATCH).feed('\x1b[H\x1b[2Jx').moved, len(Screen(known=WATCH).feed('\x1b[5A').moved)), ([], 1),
        'what a screen of ours sends is known, and nothing else')


def life(daemon, conn):
    """Effects in every state, by hostile callers; returns the ids."""
    at = {'run': whole(ANYTHING, 200), 'turn': whole(NAMES), 'owner': whole(ANYTHING)}
    key = whole(NAMES + ' ' + FORMULA + HTML)
    first = conn.call('begin', tool=MAIL, key=key, args={'to': ANYTHING, WIDE: 1}, **at)
    conn.call('complete', **own_ids(first), result={'x': ANYTHING})
    conn.call('begin', tool=MAIL, key=key, args={'to': 'other', WIDE: 2}, **at)  # a mismatch
    conn.error('complete', **own_ids(first), outcome='failed', result=ANYTHING)  # an incident
    for n in range(3):  # duplicates, churn and a budget
        conn.call('begin', tool=MAIL, key=whole(f'{n}{LONG}', 255), args={'to': ANYTHING}, **{**at, 'turn': whole(f'{n}{NAMES}')})
        conn.call('begin', tool=MAIL, key=whole(f'spent {n}{LONG}', 255), args={'to': 'x'}, **{**at, 'turn': whole(f'{n}{NAMES}')})
    open_ = conn.call('begin', tool=MAIL, key=whole('open ' + NAMES), args={'to': 'y'}, owner=whole(ANYTHING), run=whole(ANYTHING), turn='t')
    conn.call('unknown', **own_ids(open_), reason=ANYTHING)
    wait_until(lambda: conn.call('get', effect=open_['effect'])['state'] == 'escalated', 20, 'people are asked')
    lost = conn.call('begin', tool='plain', key=whole('lost ' + NAMES), owner=whole(ANYTHING))
    conn.call('unknown', **own_ids(lost), reason=ANYTHING)
    wait_until(lambda: any(e['kind'] == 'probe' for e in conn.call('get', effect=lost['effect'])['events']), 20, 'it is probed')
    held = conn.call('begin', tool=MAIL, key=whole('held ' + STACKED * 3), args={'to': 'z'}, owner=whole(C1 + ANYTHING), run='r', turn='h')
    released = conn.call('begin', tool=MAIL, key=LONG, args={'to': 'w'}, owner=whole(ANYTHING), run='r2', turn='h')
    conn.call('release', **own_ids(released), reason=ANYTHING)
    return [first['effect'], open_['effect'], lost['effect'], held['effect'], released['effect']]


def at_the_door(conn):
    """What is no text, or no key, is not let in."""
    for part, what in ((b'"tool":"plain","key":"\xff\xfe"', 'a key'), (b'"tool":"plain","key":"k","owner":"\xc3("', 'an owner'),
                       (b'"tool":"plain","key":"k","run":"\xed\xa0\x80"', 'a run'), (b'"tool":"\xf8","key":"k"', 'a tool')):
        conn.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"begin","params":{' + part + b'}}\n')
        answer = conn.recv_line()
        ok(b'"error"' in answer and answer.isascii(), f'{what} that is not UTF-8 is refused, and not quoted', answer)
    for char in '\x00\x01\x07\x08\x1b\r\n\t\x7f\x85\x9b':
        is_(conn.error('begin', tool='plain', key=f'a{char}b')['data']['name'], 'invalid_params', f'a key with {char!r} is refused')


def seen(text, what, known=None):
    screen = Screen(known=known).feed(text)
    is_(screen.moved, [], f'{what}: nothing moves the cursor')
    return screen


def look(daemon, words, **how):
    """One command in each of the ways in which it is printed."""
    what = ' '.join(map(str, words))[:48].encode('ascii', 'backslashreplace').decode()
    argv = [program('effectctl'), '-s', daemon.socket, *map(str, words)]
    data, status = on_terminal(argv, **how)
    screen = seen(data, f'{what} on a terminal')
    ok(status in (0, 1, 10, 76) and len(data) > 10, f'{what}: it does print', (status, data[:400]))
    ok(not any(line.strip() == 'state: done' for line in screen.lines) or words[0] in ('get',), f'{what}: no value makes a line of its own')
    for env in ('C.UTF-8', 'C'):
        out = subprocess.run(argv, env={**os.environ, 'LC_ALL': env}, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        seen(out.stdout, f'{what} into a pipe, {env}')
        seen(out.stderr, f'{what}: what stands on stderr, {env}')
    return screen


def tables(daemon, effects):
    for effect in effects:
        for words in (['get', effect], ['explain', effect]):
            look(daemon, words)
    for words in (['list'], ['list', '--incidents'], ['list', '--tool', MAIL], ['list', '--state', 'done', '--limit', 1], ['status'],
                  ['tools', 'list'], ['key', '--tool', MAIL, '--key', 'k']):
        look(daemon, words)
    screen = look(daemon, ['list'], columns=70)
    wide = [line for line in screen.lines if sum(map(width, line)) > 70]
    ok(not wide, 'a table fits the terminal that it is printed on', wide[:2])


def json_on_a_terminal(daemon, effects):
    for words in (['get', effects[0]], ['list'], ['list', '--incidents'], ['tools', 'list'], ['report', 'incidents'], ['report', 'daily']):
        data, _ = on_terminal([program('effectctl'), '-s', daemon.socket, '--json', *words])
        seen(data.decode().rstrip('\n') + '\n', f'--json {words[0]} on a terminal')
        ok(json.loads(data), 'and still JSON')


REPORTS = ('summary', 'stuck', 'escalated', 'duplicates', 'incidents', 'retention', 'timeouts', 'mismatches', 'churn', 'budgets', 'capacity',
           'daily')
HOSTILE_ROWS = ('stuck', 'escalated', 'duplicates', 'incidents', 'mismatches', 'churn', 'budgets')


def reports(daemon):
    for name in REPORTS:
        look(daemon, ['report', name])
        out = daemon.ctl('--json', 'report', name)
        if name in HOSTILE_ROWS:
            ok(json.loads(out.stdout)['rows'], f'report {name} has rows of theirs')
        if name != 'daily':
            csv = look(daemon, ['report', name, '--csv'])
            ok(not any(cell.lstrip('"').startswith(('=', '+', '@')) for line in csv.lines for cell in line.split(',')),
               f'report {name} as CSV: no cell is a formula')


def pages(daemon):
    """The daily page: its text, its HTML, and the mail that it is sent in."""
    look(daemon, ['report', 'daily'], columns=60)
    page = daemon.ctl('report', 'daily', '--html').stdout
    seen(page, 'the daily page as HTML')
    ok('<script>alert' not in page and '<img' not in page and '&lt;script&gt;' in page, 'no name becomes a tag of it')
    ok(not any(char in page for char in UNSEEN), 'and none turns its text around', [hex(ord(c)) for c in page if c in UNSEEN])
    mail = daemon.ctl('report', 'daily', '--mail', 'ops@example.org').stdout
    seen(mail, 'the mail')
    headers = mail.split('\n\n')[0]
    ok(headers.isascii() and 'script' not in headers and len([line for line in headers.split('\n') if line.startswith('To:')]) == 1,
       'whose headers are our own', headers)


def reconcile(daemon):
    """What a provider's export holds is a stranger's, too."""
    path = os.path.join(folder(), 'export')
    fields = ['id', 'key', 'created', 'ref' + BIDI]
    with open(path, 'w', encoding='utf-8', newline='') as out:
        writer = csv.writer(out)
        writer.writerow(fields)
        for n, text in enumerate((ANYTHING, FORMULA, HTML, LONG, C1)):
            writer.writerow([text, text, f'2026-01-0{n + 1}T00:00:00Z', text])
    for more in ((), ('--csv',), ('--json',), ('--column', 'nobody' + BIDI + '=' + ANYTHING.replace('=', ''))):
        look_at(daemon, ['reconcile', '--tool', 'plain', '--from', path, '--column', 'provider_key=key', '--column', 'time=created', '--column',
                         f'reference={fields[3]}', *more])
    with open(path, 'wb') as out:
        out.write(b'id,created,key\nx,\xff\x1b[2J,y\n"' + ANYTHING.encode() + b'\n')
    look_at(daemon, ['reconcile', '--tool', 'plain', '--from', path, '--column', 'provider_key=key', '--column', 'time=created'])


def look_at(daemon, words):
    """On a terminal and off it, whatever its exit code."""
    what = ' '.join(words[:1] + words[8:])[:60].encode('ascii', 'backslashreplace').decode()
    data, _ = on_terminal([program('effectctl'), '-s', daemon.socket, *words, '--quiet'])
    seen(data, f'{what}: on a terminal')
    drawn, _ = on_terminal([program('effectctl'), '-s', daemon.socket, *words])
    own = rb'(\r(?:reading|comparing)[ -~]*)+(\r *\r)?'  # a line that is drawn over itself, and taken away
    seen(re.sub(own, b'', drawn), f'{what}: with its progress')
    ok(len(data) > 10, f'{what}: it does print')
    out = subprocess.run([program('effectctl'), '-s', daemon.socket, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    seen(out.stderr, f'{what}: what stands on stderr')
    if '--json' not in words:
        seen(out.stdout, f'{what}: into a pipe')


def watch(daemon):
    """The one screen that is drawn again: its own sequences, and nothing else."""
    data, _ = on_terminal([program('effectctl'), '-s', daemon.socket, 'watch', '--interval', '200ms', '--count', '3'])
    seen(data, 'watch', WATCH)
    ok(len(data) > 100, 'it does print', data[:200])
    out = daemon.ctl('watch', '--interval', '200ms', '--count', '2')
    seen(out.stdout + out.stderr, 'watch into a pipe')


def lint(daemon):
    where = folder()
    with open(os.path.join(where, whole('hostile ' + BIDI, 200) + '.json'), 'w', encoding='utf-8') as out:
        json.dump([{'name': whole('a' + BIDI + HTML, 120), 'class': 'irreversible', 'key': 'k:{/' + WIDE + '}'}], out)
    with open(os.path.join(where, 'z.json'), 'w', encoding='utf-8') as out:
        json.dump({'name': 'b', 'class': 'irreversible', 'kez' + ANYTHING: 1}, out)
    argv = [program('effectctl'), '-s', daemon.socket, 'tools', 'lint', where]
    for columns in (80, 200):
        data, _ = on_terminal(argv, columns=columns)
        seen(data, f'tools lint on {columns} columns')
        ok(len(data) > 10, 'it does print')
    os.unlink(os.path.join(where, 'z.json'))
    data, _ = on_terminal(argv)
    seen(data, 'tools lint of what loads')


the_terminal()
with Cluster() as the_cluster, Daemon(the_cluster, config='sweep_interval = "50ms"\nlog_level = "debug"\n', tools=TOOLS) as the_daemon:
    with the_daemon.ready().connect() as the_conn:
        at_the_door(the_conn)
        the_effects = life(the_daemon, the_conn)
        tables(the_daemon, the_effects)
        json_on_a_terminal(the_daemon, the_effects)
        reports(the_daemon)
        pages(the_daemon)
        reconcile(the_daemon)
        watch(the_daemon)
        lint(the_daemon)
    with open(the_daemon.log_path, 'rb') as the_log:
        moved = [what for _, _, what in Screen().feed(the_log.read()).moved]
    is_(moved, [], 'the daemon\'s log: nothing moves the cursor')
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
