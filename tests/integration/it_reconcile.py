#!/usr/bin/python3
"""The provider's own export against the ledger: each planted fault is found under its class and nothing else is, from CSV and
JSON lines, by provider key and by business key, while the ledger moves and its daemon is restarted; what cannot be read proves
nothing; incidents are opened once; no text of the provider's moves a cursor or becomes a formula."""
import csv
import datetime
import io
import json
import os
import random
import re
import signal
import stat
import subprocess
import threading

from harness import *
from screen import on_terminal, resize
from talk import *

UTC = datetime.timezone.utc
NOW = datetime.datetime.now(UTC).replace(microsecond=0)
BASE = NOW - datetime.timedelta(days=2)
COLUMNS = {'provider_key': 'idempotency key', 'business_key': ['order', 'line'], 'time': 'created', 'amount': 'amount', 'reference': 'id'}
TOOL = {'name': 'refund', 'keep': ['/order', '/amount'], 'business_key': ['/order', '/line'], 'business_window': '1h', 'escalate_after': '1h',
        'secret': ['/card'], 'max_attempts': 100, 'reconcile': {'columns': COLUMNS, 'compare': {'/amount': 'amount'}}}
PEOPLE = {**TOOL, 'name': 'people', 'escalate_after': '0s'}
FIELDS = ['id', 'idempotency key', 'order', 'line', 'amount', 'created', 'memo']
CLASSES = ('matched missing_at_provider bypassed doubled landed_open landed_though_released landed_though_failed differs in_flight open '
           'not_landed not_judged outside before_memory').split()

PLACE = folder()


def at(minutes):
    return BASE + datetime.timedelta(minutes=minutes)


class World:
    """Effects of one tool, and what the provider has booked."""

    def __init__(self, cluster, conn, tool='refund'):
        self.cluster, self.conn, self.tool = cluster, conn, tool
        self.book, self.n, self.times = [], 0, []

    def effect(self, state='done', minute=None, booked=True, amount='12.50', **row):
        """An effect in a state, claimed at a minute, and its row."""
        self.n += 1
        minute = 60 + 5 * self.n if minute is None else minute
        args = {'order': row.pop('order', self.n), 'line': 1, 'amount': amount, 'card': 'canary-4111'}
        run = claim(self.conn, f'refund:{self.n}', self.tool, args=args)
        bring(self.conn, run, state)
        self.times.append((run['effect'], minute))
        if booked:
            self.row(run['effect'], minute, args['order'], **{'amount': amount, **row})
        return run['effect']

    def row(self, key, minute, order, amount='12.50', reference=None, created=None):
        self.book.append({'id': reference or f're_{len(self.book)}', 'idempotency key': key, 'order': str(order), 'line': '1', 'amount': amount,
                          'created': created or at(minute).isoformat().replace('+00:00', 'Z'), 'memo': 'a "memo",\r\nin two lines'})

    def settle_times(self):
        """Claims stand where they were planted; what is settled was so a second later."""
        values = ', '.join(f"('{effect}'::uuid, '{at(minute).isoformat()}'::timestamptz)" for effect, minute in self.times)
        self.cluster.psql('update effect.ledger l set claimed_at = v.at, done_at = case when l.done_at is not null then v.at + interval \'1 s\' end '
                          f'from (values {values}) v(id, at) where l.id = v.id')

    def csv(self, rows=None, delimiter=',', **how):
        out = io.StringIO(newline='')
        writer = csv.DictWriter(out, FIELDS, delimiter=delimiter, **how)
        writer.writeheader()
        writer.writerows(self.book if rows is None else rows)
        return out.getvalue()

    def jsonl(self):
        return ''.join(json.dumps(row) + '\n' for row in self.book)


def reconcile(daemon, *args, source=None, tool='refund', code=None, env=None):
    """(exit code, the summary) of a run with --json; `source` is what the export holds."""
    path = os.path.join(PLACE, f'export.{random.getrandbits(64):x}')
    with open(path, 'wb') as file:
        file.write(source.encode() if isinstance(source, str) else source)
    run = daemon.ctl('--json', 'reconcile', '--tool', tool, '--from', path, *args, env=env)
    os.unlink(path)
    summary = json.loads(run.stdout)
    if code is not None:
        is_(run.returncode, code, f'exit code {code} of {" ".join(args) or "a plain run"}')
    return run.returncode, summary


def counts(summary):
    """Classes that are not empty."""
    return {name: n for name, n in summary['classes'].items() if n}


def found(summary, name):
    return sorted(f.get('reference', f.get('key')) for f in summary['findings'] if f['class'] == name)


def plant(world):
    """Each class once or twice, among forty that match. Returns what must be found."""
    for _ in range(40):
        world.effect()
    world.effect(booked=False)  # missing
    world.effect(booked=False, minute=-40)  # too close to the beginning
    world.effect('failed', booked=False)
    world.effect('released', booked=False)
    world.effect('unknown', booked=False)
    world.effect('unknown', reference='open')
    world.effect('released', reference='though_released')
    world.effect('failed', reference='though_failed')
    world.effect(amount='12.5', reference='equal')
    world.book[-1]['amount'] = '0012.500'
    world.effect(amount='12.50', reference='dearer')
    world.book[-1]['amount'] = '12.51'
    world.effect(reference='first')
    world.row(world.book[-1]['idempotency key'], 200, world.book[-1]['order'], reference='second')  # the same provider key, not beside it
    world.effect(reference='near 1')
    world.row(world.book[-1]['idempotency key'], 60 + 5 * world.n + 1, world.book[-1]['order'], reference='near 2')  # a minute later
    world.row('', 150, 'nobody', reference='bypass')
    world.row('not-a-uuid', 151, 'nobody either', reference='strange key')
    world.effect(reference='own', order='twice')
    world.row('', 60 + 5 * world.n + 20, 'twice', reference='again')  # the same business key, by another way, 20 minutes on
    world.effect(booked=False, order='by business', minute=300)
    world.row('', 300, 'by business', reference='no key')
    world.effect('pending', reference='at work')
    # the ends of the export
    world.row('', -50, 'edge', reference='edge')
    world.row('', 500, 'edge 2', reference='edge 2')
    return {'matched': 42, 'missing_at_provider': 1, 'bypassed': 4, 'doubled': 6, 'landed_open': 1, 'landed_though_released': 1,
            'landed_though_failed': 1, 'differs': 1, 'in_flight': 1, 'open': 1, 'not_landed': 2, 'not_judged': 1}


def each_class(daemon, world, want):
    _, summary = reconcile(daemon, source=world.csv(), code=1)
    is_(summary['schema'], 'effectctl.reconcile/1', 'it has its schema')
    is_(counts(summary), want, 'each planted fault is found, and nothing else')
    is_(sorted(summary['classes']), sorted(CLASSES), 'every class is counted')
    is_(found(summary, 'bypassed'), ['bypass', 'edge', 'edge 2', 'strange key'], 'bypassed: those that nobody asked for')
    is_(found(summary, 'doubled'), ['again', 'first', 'near 1', 'near 2', 'own', 'second'], 'doubled: all of them, by provider key and by business key')
    is_([found(summary, name) for name in ('landed_open', 'landed_though_released', 'landed_though_failed', 'differs')],
        [['open'], ['though_released'], ['though_failed'], ['dearer']], 'and who is what')
    differs = next(f for f in summary['findings'] if f['class'] == 'differs')
    is_((differs['field'], differs['ledger'], differs['provider']), ('/amount', '12.5', '12.51'), 'what differs, and both values')
    opened = next(f for f in summary['findings'] if f['class'] == 'landed_open')
    like(opened['next'], rf'^effectctl resolve {opened["effect"]} --verdict landed --attempt 1 --state unknown --evidence .* --reason $',
         'what to type, up to the reason')
    is_((summary['rows'], summary['n_findings'], summary['bad']), (len(world.book), 15, 0), 'rows and findings are counted')
    missing = next(f for f in summary['findings'] if f['class'] == 'missing_at_provider')
    is_((missing['key'], missing['state']), ('refund:41', 'succeeded'), 'what is missing has its key')
    return summary


def other_forms(daemon, world, want):
    """The same by every spelling of the same export."""
    forms = {
        'LF': world.csv(lineterminator='\n'), 'all quoted': world.csv(quoting=csv.QUOTE_ALL), 'a byte order mark': '\ufeff' + world.csv(),
        'shuffled': world.csv(random.sample(world.book, len(world.book))), 'JSON lines': world.jsonl(),
        'upper case': re.sub(r'[0-9a-f]{8}-[0-9a-f-]{27}', lambda m: m.group().upper(), world.csv()),
    }
    for name, text in forms.items():
        is_(counts(reconcile(daemon, source=text)[1]), want, f'the same from {name}')
    is_(counts(reconcile(daemon, '--delimiter', ';', source=world.csv(delimiter=';'))[1]), want, 'the same from semicolons')
    epoch = [{**row, 'created': str(datetime.datetime.fromisoformat(row['created'].replace('Z', '+00:00')).timestamp())} for row in world.book]
    is_(counts(reconcile(daemon, source=world.csv(epoch))[1]), want, 'the same from seconds')
    cents = [{**row, 'amount': str(round(float(row['amount']) * 100))} for row in world.book]
    is_(counts(reconcile(daemon, '--minor-units', '2', source=world.csv(cents))[1]), want, 'the same from cents')
    named = [{**row, 'created': row['created'].replace('Z', '').replace('T', ' ')} for row in world.book]
    code, error = reconcile(daemon, source=world.csv(named))
    is_((code, 'line 2: its time has no zone' in error['error']['message']), (65, True), 'times without zone are bad')
    is_(counts(reconcile(daemon, '--utc', source=world.csv(named))[1]), want, 'unless they are said to be UTC')
    env = {**os.environ, 'TMPDIR': PLACE}
    is_(counts(reconcile(daemon, source=world.csv(), env=env)[1]), want, 'the same with another folder for what does not fit')
    is_([name for name in os.listdir(PLACE) if name.startswith('effectctl')], [], 'in which nothing is left')


def flags_win(daemon, world):
    """What is typed wins over the policy; what cannot be is refused."""
    text = world.csv()
    _, summary = reconcile(daemon, '--column', 'provider_key=id', source=text)
    is_(summary['classes']['matched'] > 40, True, 'by business key alone most are matched')
    is_(found(summary, 'differs'), ['dearer'], 'and compared: the one that differs is found')
    is_(summary['classes']['bypassed'] >= 4, True, 'and the bypasses are found')
    _, summary = reconcile(daemon, '--where', 'id=bypass', '--since', at(0).isoformat(), '--until', at(300).isoformat(), source=text)
    is_((summary['rows'], summary['skipped'], found(summary, 'bypassed')), (1, len(world.book) - 1, ['bypass']), 'rows may be chosen')
    _, summary = reconcile(daemon, '--slack', '0s', source=text)
    is_(summary['classes']['missing_at_provider'], 2, 'without slack what stands close to the edge is missed, too')
    _, summary = reconcile(daemon, '--window', '10m', source=text)
    is_(found(summary, 'doubled'), ['first', 'near 1', 'near 2', 'second'], 'a shorter window: no double by business key')
    for args, why, code in (
            (('--column', 'provider_key=nope'), 'no column "nope"', 65), (('--column', 'time'), '--column', 64), (('--slack', 'x'), '--slack', 64),
            (('--column', 'business_key=order'), '1 columns, and the policy\'s of 2', 64), (('--column', 'zip=memo'), 'nothing is compared', 64),
            (('--compare', '/memo=amount'), 'keep', 64), (('--delimiter', '#'), '--delimiter', 64), (('--format', 'xml'), '--format', 64),
            (('--delimiter', ';'), 'separated by', 65), (('--since', at(9).isoformat(), '--until', at(8).isoformat()), 'end after', 64)):
        got, error = reconcile(daemon, *args, source=text)
        is_((got, why in error['error']['message']), (code, True), f'{args}: {error["error"]["message"]}')


def what_is_bad(daemon, world):
    """With a row that cannot be read, nothing is told missing; with none, everything may be."""
    head, *rows = world.csv(lineterminator='\n').split('\n')[:1], world.csv(world.book[:3], lineterminator='\n').encode().split(b'\n', 1)[1]
    good = world.csv(lineterminator='\n').encode()
    for name, line, why in (('a field too many', b'a,b\n', 'more or fewer'), ('no UTF-8', b'x,,o,1,1,%b,\xff\n', 'UTF-8'),
                            ('a NUL', b'x,,o,1,1,%b,\0\n', 'NUL'), ('no amount', b'x,,o,1,"1,5",%b,\n', 'decimal'), ('no time', b'x,,o,1,1,,\n', 'time'),
                            ('a quote within', b'x"y,,o,1,1,%b,\n', 'quote')):
        line = line.replace(b'%b', at(5).isoformat().encode())
        code, summary = reconcile(daemon, source=good + line)
        is_((code, summary['bad'], summary['classes']['missing_at_provider']), (65, 1, 0), f'{name}: bad, and nothing is missing')
        is_((why in summary['bad_rows'][0]['why'], summary['bad_rows'][0]['line']), (True, good.count(b'\n') + 1), f'{name}: {summary["bad_rows"][0]}')
        is_(summary['classes']['bypassed'], 4, f'{name}: what can be read is compared')
    for name, text, why in (('an open quote', good + b'"x,', 'does not end'), ('UTF-16', '\ufeffid,x\n'.encode('utf-16-le'), 'UTF-16'), ('nothing', b'', 'empty'),
                            ('bad throughout', b'id,idempotency key,order,line,amount,created\n' + b'x\n' * 1100, 'more than 1000')):
        code, error = reconcile(daemon, source=text)
        is_((code, why in error['error']['message']), (65, True), f'{name}: {error["error"]["message"]}')
    code, summary = reconcile(daemon, '--since', at(0).isoformat(), '--until', at(450).isoformat(), source=good.split(b'\n')[0] + b'\n')
    is_((code, summary['classes']['missing_at_provider'] > 40), (1, True), 'an export of no rows, in a window that is named: all are missing')
    code, error = reconcile(daemon, source=good.split(b'\n')[0] + b'\n')
    is_((code, 'both ends' in error['error']['message']), (65, True), 'and without one nothing is concluded')
    for flag, minute, why in (('--since', 100000, 'before the window'), ('--until', -100000, 'after the window')):
        code, error = reconcile(daemon, flag, at(minute).isoformat(), source=good)
        is_((code, why in error['error']['message']), (65, True), f'{flag}: {error["error"]["message"]}')
    run = daemon.ctl('reconcile', '--tool', 'refund', '--from', PLACE)
    is_((run.returncode, run.stdout, 'Is a directory' in run.stderr), (65, '', True), f'a folder: {run.stderr.strip()}')
    run = daemon.ctl('reconcile', '--tool', 'refnd', '--from', '-')
    is_((run.returncode, run.stdout, 'no policy in force is of that tool' in run.stderr), (64, '', True), f'a tool that is not: {run.stderr.strip()}')
    del head, rows


def lists(daemon, world):
    """The list as CSV: in a file that is there whole, or on standard output; nothing in it is a formula or moves a cursor."""
    evil = ['=HYPERLINK("http://x","y")', '\x1b[2J\x1b[H', '+1+1', 'a,b\n"c"', '\u202eevil']
    rows = world.book + [{**world.book[-1], 'order': f'evil {n}', 'id': text} for n, text in enumerate(evil)]
    path = os.path.join(PLACE, 'export.csv')
    with open(path, 'w', encoding='utf-8', newline='') as file:
        file.write(world.csv(rows))
    run = daemon.ctl('reconcile', '--tool', 'refund', '--from', path, '--csv', '-q')
    is_(run.returncode, 1, 'findings: exit 1')
    text = run.stdout
    listed = list(csv.DictReader(io.StringIO(text, newline='')))
    is_(len(listed), 15 + len(evil), 'a line each')
    ok(not re.search(r'[\x00-\x09\x0b-\x1f\x7f\u202e]', text), 'no control character is in it')
    ok(not any(re.match(r'^\s*[=+@]', cell) for line in listed for cell in line.values()), 'and no formula')
    told = run.stderr
    ok(not re.search(r'[\x00-\x09\x0b-\x1f\x7f\u202e]', told), 'nor on standard error')
    out = os.path.join(PLACE, 'list.csv')
    run = daemon.ctl('reconcile', '--tool', 'refund', '--from', path, '--out', out, '--all')
    shown = run.stdout
    with open(out, encoding='utf-8', newline='') as file:
        listed = list(csv.DictReader(file))
    is_(sum(line['class'] == 'matched' for line in listed), 42, '--all: what matches, too')
    ok('canary' not in json.dumps(listed) + shown and 'memo' not in json.dumps(listed), 'no secret is in it, nor what was not asked for')
    is_([name for name in os.listdir(PLACE) if name.startswith('list.csv.')], [], 'nothing stands beside it')
    ok(' matched\n' in shown and ' missing_at_provider\n' in shown, 'and the counts are shown')
    run = daemon.ctl('reconcile', '--tool', 'refund', '--from', path)
    shown = run.stdout
    ok(not re.search(r'[\x00-\x09\x0b-\x1f\x7f\u202e]', shown), 'what is shown moves no cursor')
    ok(re.search(r'\ndiffers  .*\n    /amount: the ledger has 12.5, the provider 12.51\n', shown), 'what differs is shown')
    ok(re.search(r'\nbypassed  bypass\n    line [0-9]+, at 20', shown), 'and where it stands that no effect stands for')
    run = daemon.ctl('reconcile', '--tool', 'refund', '--from', path, '--out', '/nonexistent/list.csv')
    is_(run.returncode, 70, 'a list that cannot be written is told')
    os.unlink(path)


def incidents(daemon, conn, world):
    """--open: each serious finding once, however often and by however many at a time; no effect changes."""
    before = world.cluster.psql('select md5(string_agg(l::text, \',\' order by l.id)) from effect.ledger l')
    text = world.csv()
    _, summary = reconcile(daemon, '--open', source=text)
    # 1 missing, 4 bypassed, 3 doubled (those that came again), 1 released, 1 failed, 1 differs
    is_(summary['incidents'], {'opened': 11, 'already': 0, 'left': 0}, 'an incident each')
    is_(reconcile(daemon, '--open', source=text)[1]['incidents'], {'opened': 0, 'already': 11, 'left': 0}, 'the same export again: none')
    is_(reconcile(daemon, '--open', source=world.csv(list(reversed(world.book))))[1]['incidents'], {'opened': 0, 'already': 11, 'left': 0},
        'in whatever order it comes')
    world.row('', 160, 'one more', reference='late')
    text, results = world.csv(), []
    threads = [threading.Thread(target=lambda: results.append(reconcile(daemon, '--open', source=text)[1]['incidents']['opened'])) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    is_(sum(results), 1, 'three at a time: one more is opened once')
    listed = [i for i in conn.call('list', incidents=True)['incidents'] if i['kind'] == 'reconcile']
    is_(len(listed), 12, 'list tells them')
    is_(sorted(i['key'] for i in listed if i['reason'].startswith('bypassed')), ['bypass', 'edge', 'edge 2', 'late', 'strange key'],
        'those of no effect by what the provider calls them')
    one = next(i for i in listed if i['reason'].startswith('differs'))
    row = conn.call('get', effect=one['effect'])
    is_([e['kind'] for e in row['events'] if e.get('incident')], ['reconcile'], 'get tells it of its effect')
    ok('12.51' in row['events'][-1]['evidence'], 'with what was found')
    ok('reconcile' in daemon.ctl('explain', one['effect']).stdout, 'and so does explain')
    is_(world.cluster.psql('select md5(string_agg(l::text, \',\' order by l.id)) from effect.ledger l'), before, 'no effect has changed')
    is_(world.cluster.invariants(), [], 'the books are right')
    world.book.pop()


def many_incidents(daemon, conn):
    """More of them than one run opens: the next run goes on. A signal on the way ends it, and says how many are left."""
    rows = ''.join(f'nobody {n},,nobody {n},1,1,{at(5).isoformat()},\n' for n in range(1003))
    text = ','.join(FIELDS) + '\n' + rows
    path = os.path.join(PLACE, 'many.csv')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    run = subprocess.Popen([program('effectctl'), '-s', daemon.socket, 'reconcile', '--tool', 'refund', '--from', path, '--open', '-q'],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: conn.call('list', incidents=True, limit=1)['incidents'], 60, 'the first one is opened')
    daemon.signal(signal.SIGSTOP)
    run.send_signal(signal.SIGINT)
    daemon.signal(signal.SIGCONT)
    told, said = run.communicate(timeout=60 * SLOW)
    left = re.search(rb'interrupted: ([0-9]+) incidents were opened, ([0-9]+) are left', said)
    ok(run.returncode == 130 and told == b'' and left and int(left[1]) > 0 and int(left[1]) + int(left[2]) == 1003,
       'interrupted while incidents are opened: so many were, so many are left', said)
    opened, sums = int(left[1]) if left else 0, []
    for _ in range(2):
        sums.append(reconcile(daemon, '--open', source=text)[1]['incidents'])
    is_(sums, [{'opened': min(1003 - opened, 1000), 'already': opened, 'left': max(3 - opened, 0)}, {'opened': max(3 - opened, 0), 'already': min(opened + 1000, 1003), 'left': 0}],
        'the next run goes on where that one ended')


def by_command(daemon, world):
    """--from exec: what the policy's command writes, if it ends well."""
    script = os.path.join(PLACE, 'export.sh')
    path = os.path.join(PLACE, 'book.csv')
    with open(path, 'w', encoding='utf-8', newline='') as file:
        file.write(world.csv())
    tools = [{**TOOL, 'reconcile': {**TOOL['reconcile'], 'exec': [script, path]}}, PEOPLE]
    daemon.set_tools(tools)
    daemon.hup()
    wait_until(lambda: 'exec' in json.dumps(json.loads(daemon.ctl('--json', 'tools', 'list').stdout)), 20)

    def write(body):
        with open(script, 'w', encoding='utf-8') as file:
            file.write(f'#!/bin/sh\n{body}\n')
        os.chmod(script, stat.S_IRWXU)

    def run():
        answer = daemon.ctl('--json', 'reconcile', '--tool', 'refund', '--from', 'exec')
        return answer.returncode, json.loads(answer.stdout)

    write('cat "$1"')
    code, summary = run()
    is_((code, summary['rows']), (1, len(world.book)), 'what it writes is read')
    for body, why in (('cat "$1"; exit 3', 'exited with 3'), ('cat "$1"; kill -9 $$', 'signal 9'), ('exit 0', 'empty')):
        write(body)
        code, error = run()
        is_((code, why in error['error']['message'], 'nothing is concluded' in error['error']['message']), (65, True, True), error['error']['message'])
    os.chmod(script, 0o777)
    code, error = run()
    is_((code, 'the command is not run' in error['error']['message']), (65, True), 'not one that anybody may have written')
    os.unlink(script)
    code, error = run()
    is_(code, 65, 'nor one that is not there')
    run = subprocess.run([program('effectctl'), '-s', daemon.socket, '--json', 'reconcile', '--tool', 'refund', '--from', '-'],
                         input=world.csv().encode(), capture_output=True, timeout=60, check=False)
    is_((run.returncode, json.loads(run.stdout)['rows']), (1, len(world.book)), 'standard input is an export, too')


def interrupted(daemon, world):
    """A signal: nothing is concluded, nothing is left."""
    place = os.path.join(PLACE, 'tmp')
    os.mkdir(place)
    out = os.path.join(PLACE, 'never.csv')
    run = subprocess.Popen([program('effectctl'), '-s', daemon.socket, 'reconcile', '--tool', 'refund', '--from', '-', '--out', out],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, 'TMPDIR': place})
    run.stdin.write(world.csv().encode())
    run.stdin.flush()
    # it sleeps in read(2) once it has read all that there is
    wait_until(lambda: open(f'/proc/{run.pid}/wchan', encoding='ascii').read() != '' and open(f'/proc/{run.pid}/stat', encoding='ascii').read().split()[2] == 'S'
               and 'effectctl' in os.readlink(f'/proc/{run.pid}/exe'), 20)
    wait_until(lambda: int(re.search(r'SigCgt:\t(\w+)', open(f'/proc/{run.pid}/status', encoding='ascii').read()).group(1), 16) & 0x4003 == 0x4003, 20)
    run.send_signal(signal.SIGINT)
    told, said = run.communicate(timeout=30)
    is_((run.returncode, told), (130, b''), 'interrupted: its exit code says so, and nothing is told')
    ok(b'interrupted, nothing is concluded' in said, 'but that', said)
    is_((os.listdir(place), os.path.exists(out)), ([], False), 'no file is left')


class Feed(threading.Thread):
    """An export that comes by a named pipe, row after row that is not meant, until it is enough, or nobody reads it."""

    def __init__(self, world):
        super().__init__()
        self.path = os.path.join(PLACE, 'feed')
        os.mkfifo(self.path)
        self.text, self.more, self.enough = world.csv(), world.csv([{**world.book[0], 'memo': 'not meant'}] * 2000).split('\n', 1)[1], threading.Event()
        self.start()

    def run(self):
        try:
            with open(self.path, 'w', encoding='utf-8', newline='') as file:
                file.write(self.text.replace('a ""memo"",\r\nin two lines', 'meant'))
                while not self.enough.is_set():
                    file.write(self.more)
        except BrokenPipeError:
            pass

    def end(self):
        self.enough.set()
        self.join()
        os.unlink(self.path)


def shown(draws, columns):
    """What a terminal of so many columns shows of its line after each draw from the line's beginning."""
    line = ''
    for draw in draws:
        line = (draw.decode() + line[len(draw):])[:columns]
    return line


def progress(daemon, world, want):
    """A terminal: the bar never leaves its line, also when the window gets narrower, and nothing is left of it."""
    argv = [program('effectctl'), '-s', daemon.socket, 'reconcile', '--tool', 'refund', '--where', 'memo=meant', '--from']
    feed, narrow_from = Feed(world), []

    def on_data(fd, data):
        draws = data.split(b'\r')[1:]
        if not narrow_from and len(draws) > 1:
            resize(fd, 30)
            narrow_from.append(len(draws))
        elif narrow_from and any(len(draw) == 29 for draw in draws[narrow_from[0]:-1]):
            feed.enough.set()

    data, status = on_terminal(argv + [feed.path], columns=100, on_data=on_data, deadline_s=60 * SLOW)
    feed.end()
    first, *draws, rest = data.split(b'\r')
    is_((status, first), (1, b''), 'on a terminal: the same exit code, and nothing before the bar')
    ok(draws[0].startswith(b'reading the export '), 'it says what is going on', draws[0])
    ok(not re.search(rb'[\x00-\x1f\x7f]', b''.join(draws)), 'the bar is characters on one line, and a return to its beginning')
    ok(max(map(len, draws)) <= 99, 'it is narrower than the window')
    n_narrow = next(n for n, draw in enumerate(draws) if n >= narrow_from[0] - 1 and len(draw) == 29)
    ok(max(map(len, draws[n_narrow:])) <= 29, 'and than a window that got narrower meanwhile')
    is_(shown(draws, 30).strip(), '', 'at the end nothing is left of it')
    ok(f' {want["matched"]}  matched\n'.encode() in rest, 'before what was found is told', rest)

    feed = Feed(world)
    data, status = on_terminal(argv + [feed.path], until=lambda data: b'\r' in data, deadline_s=60 * SLOW)
    feed.end()
    first, *draws, rest = data.split(b'\r')
    is_((status, first, shown(draws, 100).strip()), (130, b'', ''), 'interrupted: nothing is left of it, either')
    ok(rest.startswith(b'effectctl: reconcile: interrupted'), 'and that is told', rest)

    path = os.path.join(PLACE, 'export.csv')
    with open(path, 'w', encoding='utf-8', newline='') as file:
        file.write(world.csv())
    data, status = on_terminal(argv[:-3] + ['--quiet', '--from', path], deadline_s=60 * SLOW)
    is_((status, b'\r' in data), (1, False), '--quiet: no bar')
    os.unlink(path)


def on_the_move(daemon, cluster, conn):
    """Effects are claimed, settled and forgotten, and the daemon is restarted, while pages are read: what the provider has is
    never missing, and never bypassed."""
    world = World(cluster, conn, 'people')
    for _ in range(30):
        world.effect(minute=100)
    cluster.psql("insert into effect.ledger (id, token, fingerprint, business, policy, claimed_at, due_at, keep_until, done_at, attempt, state, outcome, "
                 "decided_by, result_state, key, kept) select effect.id('default', 'people', 'bulk ' || i), gen_random_uuid(), null, null, l.policy, "
                 f"'{at(100).isoformat()}', now() + interval '1 d', now() + interval '1 d', '{at(100).isoformat()}'::timestamptz + interval '1 s', 1, 'done', "
                 "'succeeded', 'caller', 'omitted', 'bulk ' || i, '{\"/amount\":\"12.50\"}' from generate_series(1, 30000) i, "
                 "(select l.policy from effect.ledger l join effect.tool t on t.version = l.policy where t.name = 'people' limit 1) l")
    world.settle_times()
    for i, effect in enumerate(cluster.psql("select effect.id('default', 'people', 'bulk ' || i) from generate_series(1, 30000) i").split('\n')):
        world.row(effect, 100, f'bulk {i}')
    world.row('', 50, 'begin')
    world.row('', 150, 'end')
    over = threading.Event()
    moved = []

    def move():
        n = 0
        with daemon.connect() as other:
            while not over.is_set():
                n += 1
                run = claim(other, f'moving {n}', 'people', args={'order': f'moving {n}', 'line': 1, 'amount': '1'})
                other.call('complete', **own_ids(run))
                moved.append(n)
                cluster.psql("update effect.ledger set keep_until = now(), due_at = now() where id = "
                             f"effect.id('default', 'people', 'bulk {n}')", 'select effect.retain(10)')

    def restart():
        wait_until(lambda: daemon.grep('method=scan') or daemon.grep('event=scan'), 30)
        daemon.kill()
        daemon.start()

    mover = threading.Thread(target=move)
    mover.start()
    try:
        _, summary = reconcile(daemon, tool='people', source=world.csv())
    finally:
        over.set()
        mover.join()
    is_((counts(summary).get('missing_at_provider'), counts(summary)['matched'], found(summary, 'bypassed')), (None, 30030, [world.book[-2]['id'], world.book[-1]['id']]),
        'while it moves: what the provider has is matched, all of it')
    ok(len(moved) > 3, f'{len(moved)} moved meanwhile')
    restarter = threading.Thread(target=restart)
    restarter.start()
    _, summary = reconcile(daemon, tool='people', source=world.csv())
    restarter.join()
    is_((counts(summary).get('missing_at_provider'), counts(summary)['matched']), (None, 30030), 'over a restart of the daemon: the same')


def main():
    seed()
    with Cluster() as cluster, Daemon(cluster, tools=[TOOL, PEOPLE]) as daemon, daemon.connect() as conn:
        daemon.ready()
        # the ledger is as old as what is compared
        cluster.psql("update effect.schema_version set installed_at = now() - interval '1 year'")
        world = World(cluster, conn)
        want = plant(world)
        world.settle_times()
        each_class(daemon, world, want)
        other_forms(daemon, world, want)
        flags_win(daemon, world)
        what_is_bad(daemon, world)
        lists(daemon, world)
        incidents(daemon, conn, world)
        interrupted(daemon, world)
        progress(daemon, world, want)
        by_command(daemon, world)
    with Cluster() as cluster, Daemon(cluster, tools=[TOOL, PEOPLE]) as daemon, daemon.connect() as conn:
        daemon.ready()
        cluster.psql("update effect.schema_version set installed_at = now() - interval '1 year'")
        many_incidents(daemon, conn)
        on_the_move(daemon, cluster, conn)
    done()


main()
