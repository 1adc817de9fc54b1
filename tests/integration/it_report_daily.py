#!/usr/bin/python3
"""The daily page of a played daemon, as text, as HTML and as a mail: what stands on it and in which order, reports that fail, windows and
days before; HTML that holds nothing but what is listed here, whatever words came; mails that a mail reader takes apart again."""
import email
import email.policy
import html
import html.parser
import json
import os
import re
import subprocess

from harness import *
from peer import *
from played_reports import *
from screen import Screen, on_terminal, width

UTF8, ASCII = {'LC_ALL': 'C.UTF-8'}, {'LC_ALL': 'C'}
NAMES = ['summary', 'stuck', 'escalated', 'duplicates', 'incidents', 'retention', 'timeouts', 'mismatches', 'churn', 'budgets', 'capacity']
TITLES = ['Calls', 'Stuck', 'Escalated', 'Done twice', 'Incidents', 'Memory', 'Times', 'Mismatches', 'Churn', 'Budgets', 'Capacity']
# all that the page may be made of
TAGS = {'html': {'lang'}, 'head': set(), 'meta': {'charset', 'name', 'content'}, 'title': set(), 'body': {'style'}, 'h1': {'style'}, 'h2': {'style'},
        'table': {'width', 'cellpadding', 'cellspacing', 'style'}, 'tr': set(), 'td': {'style', 'align'}, 'th': {'style'}, 'div': {'style', 'dir'},
        'span': {'style'}, 'bdi': {'style'}, 'br': set(), 'wbr': set()}
VOID = {'meta', 'br', 'wbr'}
# what moves, hides or turns around; a page shows it as an escape
UNSEEN = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]')


class Page(html.parser.HTMLParser):
    """A page taken apart: .faults, and the .text that is seen."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.open, self.faults, self.text = [], [], ''
        self.feed(source)
        self.close()
        if self.open:
            self.faults.append(f'{self.open} stay open')

    def handle_starttag(self, tag, attrs):
        if tag not in TAGS or {name for name, _ in attrs} - TAGS[tag]:
            self.faults.append(f'<{tag} {attrs}>')
        for name, value in attrs:
            if re.search(r'url|expression|javascript|@import|position|behavior|[<>"\\]', value or ''):
                self.faults.append(f'{name}={value}')
        if tag not in VOID:
            self.open.append(tag)
        if tag in ('tr', 'div', 'br', 'h1', 'h2', 'table'):
            self.text += '\n'

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f'</{tag}> out of order')

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        self.faults.append(f'a comment: {data}')

    def handle_pi(self, data):
        self.faults.append(f'an instruction: {data}')


def text_of(peer, *flags, env=None):
    out = peer.ctl('report', 'daily', *flags, env=env or UTF8)
    is_(out.stderr, '', f'the page {flags}')
    return out


def too_wide(text):
    """Lines over 78 columns that are no commands."""
    return [line for line in text.splitlines() if sum(map(width, line)) > 78 and not re.match('    (effectctl|# )', line)]


def busy():
    out = text_of(play(busy_day()))
    is_(out.returncode, 1, 'a day with warnings exits 1')
    like(out.stdout, r'^effectd on \S+: 16 things to look at\n29 Nov 2026 08:00 to 30 Nov 2026 08:00 UTC\n', 'the headline says how many there are')
    like(out.stdout, r'\n47,191 calls .*of 5 tools; 1,097 repeats were caught\n', 'then what was called')
    like(out.stdout, 'Not counted: what daemon 3f0e8b3c', 'and what was not counted')
    kinds = re.findall(r'^(.*?)(?:: \d+)? \[(\w+)\]$', out.stdout, re.M)
    is_(kinds, [('Incidents', 'incident'), ('Done twice', 'duplicate'), ('Escalated', 'escalated'), ('Stuck', 'unknown_old'), ('Mismatches', 'mismatch_field'),
                ('Churn', 'key_churn'), ('Calls', 'busy_high'), ('Memory', 'memory_long')], 'findings by weight, advice last')
    like(out.stdout, r'\n! refund_order  refund:1042:3\n  waits for a person\n    effectctl explain [0-9a-f-]{36}\n', 'each with its key and its command')
    like(out.stdout, r'Stuck: 7 \[unknown_old\](\n[!] .*\n.*\n.*){3}\nand 4 more of this kind: effectctl report stuck\n', 'three of a kind, and where the others are')
    is_([line for line in out.stdout.splitlines() if re.sub(': \\d+$', '', line) in TITLES], ['Calls', 'Stuck: 7', 'Escalated: 1', 'Done twice: 31', 'Incidents: 1',
        'Memory', 'Times', 'Mismatches: 1', 'Churn: 1', 'Budgets', 'Capacity'], 'then the sections in their order')
    like(out.stdout, r'\n  refund_order  key:0\n    unknown for 9 h, attempt 1, owner worker 0, last probe: inconclusive: 502,\n    next comes: probe\n', 'an item in words')
    like(out.stdout, r'\nand 2 more: effectctl report stuck\n', 'five of them, and where the others are')
    like(text_of(play(busy_day()), '--limit', '6').stdout, r'\nand 1 more: effectctl report stuck\n', 'or as many as --limit says')
    like(out.stdout, r'\nrefund_order +41,295 +\+-0 % +2\.1 % +1\.4 %', 'calls with their change')
    like(out.stdout, r'\nsign_contract +10 .* - \(n 10\) +- ', 'a share of too few is none')
    like(out.stdout, r'\noldest transaction +1\.2 h  vacuum cannot', 'capacity by its units')
    is_(too_wide(out.stdout), [], 'no line is wider than 78 columns')
    ok(text_of(play(busy_day()), env=ASCII).stdout.isascii(), 'and where the locale is no UTF-8 it is ASCII')


def quiet():
    out = text_of(play(quiet_day()))
    is_(out.returncode, 0, 'a quiet day exits 0')
    like(out.stdout, r'^effectd on \S+: nothing to look at\n', 'and says so')
    ok('What to look at' not in out.stdout, 'without a section of findings')
    like(out.stdout, r'\nStuck: nothing is stuck\nEscalated: nothing waits for a person\nDone twice: no business duplicate\n', 'an empty section is one line')
    advised = quiet_day()
    advised['retention']['findings'] = [finding('retention', 'memory_long', 'too long', 'advice')]
    out = text_of(play(advised))
    is_(out.returncode, 0, 'advice alone exits 0')
    like(out.stdout, r'(?s)nothing to look at\n.*What to look at: 1 piece of advice\n', 'and is told below a quiet headline')


def windows():
    peer = play(quiet_day())
    text_of(peer)
    asked = [request['params'] for request in peer.requests()]
    is_([params['name'] for params in asked], ['summary', 'summary'] + NAMES[1:], 'each report by itself, and the summary of the day before')
    is_([name in asked[0] for name in ('from', 'to')], [False, False], 'the first one is of the ledger\'s own day')
    is_((asked[1]['from'], asked[1]['to']), ('2026-11-28T07:59:56.880Z', FROM), 'the one before has as long a window before it')
    is_({(params['from'], params['to']) for params in asked[2:]}, {(FROM, TO)}, 'all others are of the window of the first')
    peer = play(quiet_day())
    text_of(peer, '--from', '2026-11-01T00:00:00Z', '--to', '2026-11-08T00:00:00Z', '--tool', 't', '--namespace', 'n')
    ok(all((params['tool'], params['namespace']) == ('t', 'n') for params in (r['params'] for r in peer.requests())), 'all of them of the tool that was named')
    is_(peer.requests()[0]['params']['from'], '2026-11-01T00:00:00.000Z', 'and of the window')
    before, now = busy_day()['summary'], busy_day()
    before['rows'] = [[cell // 2 if before['columns'][i] == 'calls' else cell for i, cell in enumerate(row)] for row in before['rows'][:3]]
    before['n'] = 3
    before['rows'][2][2] = 19
    seen = []

    def by_turn(request):
        seen.append(request['params']['name'])
        return before if seen == ['summary', 'summary'] else now[request['params']['name']]
    out = text_of(Peer(by_turn))
    like(out.stdout, r'\nrefund_order +41,295 +\+100 % ', 'a tool is compared with its day before')
    like(out.stdout, r'\npayments charge\S* +80 +new ', 'one that was not called then is new')
    like(out.stdout, r'\ndeploy_service +645 +6\.4 %', 'one that was called less than 20 times then has no change')


def failures():
    for answer, code, words in [(error(-32006, 'overloaded', why='the report took longer than 30 s'), 75, 'overloaded: the report took longer than 30 s'),
                                (error(-32602, 'invalid_params', why='is no report'), 65, 'invalid_params: is no report'), (HANG_UP, 69, 'no answer'),
                                ({'columns': []}, 70, 'is no report'), (b'garbage\n', 70, 'does not speak')]:
        for name, title in (('stuck', 'Stuck'), ('summary', 'Calls')):
            out = text_of(play(quiet_day(), **{name: answer}))
            is_(out.returncode, code, f'{name}: {words} exits {code}')
            like(out.stdout, r'^effectd on \S+: 1 thing to look at\n', 'is a thing to look at')
            like(re.sub(r'\s+', ' ', out.stdout), rf'{title}: could not be had [^:]*{words}', 'and told in its place')
            like(out.stdout, rf'What to look at: 1 report is missing\n-+\n\n{title}\n! this report could not be had: (.*\n  )*.*\n    effectctl report {name}\n', 'first of all')
            ok('Churn: no run used' in out.stdout and (name == 'summary' or 'send_email' in out.stdout), 'the others are told all the same')
    peer = Peer(error(-32003, 'denied'))
    out = text_of(peer)
    is_((out.returncode, len(peer.lines)), (77, len(NAMES)), 'whoever may have none gets none')
    like(out.stdout, r'^effectd on \S+: no report could be had\n', 'and reads it in the headline')
    peer = Peer(HANG_UP)
    out = text_of(peer)
    is_((out.returncode, len(peer.lines)), (69, 2), 'a daemon that does not answer twice in a row is asked no more')
    like(out.stdout, 'not asked for, as two in a row had no answer', 'which is said')
    out = Peer(HANG_UP, listen=False).ctl('report', 'daily', '--mail', 'root')
    is_(out.returncode, 69, 'without a daemon there is a mail, too')
    like(out.stdout, r'(?m)^Subject: effectd \S+: no report could be had, \d+ \w{3} \d{4}$', 'that says so')
    out = text_of(play(busy_day(), churn=error(-32006, 'overloaded')))
    is_(out.returncode, 75, 'a report that failed goes before warnings in the exit code')


def pages():
    for what, day in (('busy', busy_day()), ('quiet', quiet_day()), ('hostile', hostile_day())):
        source = text_of(play(day), '--html').stdout
        page = Page(source)
        is_(page.faults, [], f'{what}: the document is made of what is listed, and in order')
        is_(UNSEEN.findall(source), [], f'{what}: and nothing in it is not seen')
        ok(source.startswith('<!DOCTYPE html>\n') and '<meta charset="utf-8">' in source, f'{what}: it names its character set')
        ok(not re.search(r'https?:|src=|href=|<script|<style|<link|<img|@media', source), f'{what}: it needs nothing from elsewhere')
        is_(source, text_of(play(day), '--html', env=ASCII).stdout, f'{what}: it is the same in every locale')
        ok(len(source) < 100000 or what == 'hostile', f'{what}: mail clients show it whole', len(source))
    words = Page(text_of(play(busy_day()), '--html').stdout).text
    for told in ('16 things to look at', 'refund:1042:3', 'effectctl explain', '41,295', 'Not counted', 'memory_long', '414 MiB', 'Instants are in UTC'):
        ok(told in words, f'the page tells {told}')
    day = hostile_day()
    source = text_of(play(day), '--html').stdout
    words = Page(source).text
    shown = '<script>alert(1)</script>"\'&amp;\\u202egpj.exe\\u200b\\x1b[2J\\u009b31m\\r\\nBcc: x@y'
    ok(words.count(shown) > 50, 'a stranger\'s markup stands there as its text', words[:2000])
    ok('<b>' in words and '\u05d0\u05d1\u05d2' in words and '\u6f22' in words, 'as do his letters')
    ok(not re.search(r'<(script|b|img)\b', source), 'and is none')
    ok(re.search(r'# <script>', words), 'and what he would have typed is a remark')


def terminals():
    peer = play(hostile_day())
    argv = [program('effectctl'), '-s', peer.path, 'report', 'daily']
    for columns in (40, 120):
        is_(Screen().feed(on_terminal(argv, columns=columns)[0]).moved, [], f'hostile words move no cursor on {columns} columns')
    for env in (UTF8, ASCII):
        out = subprocess.run(argv, env={**os.environ, **env}, capture_output=True, check=False).stdout
        is_(Screen().feed(out).moved, [], f'nor in {env["LC_ALL"]}')
        is_(too_wide(out.decode()), [], 'and no line is wider than 78')


def mails():
    for what, day in (('busy', busy_day()), ('hostile', hostile_day())):
        peer = play(day)
        out = text_of(peer, '--mail', 'ops@example.org', '--mail-from', 'effectd@pay.example')
        is_(out.returncode, 1, f'{what}: a mail has the page\'s exit code')
        message = email.message_from_string(out.stdout, policy=email.policy.default)
        is_([(part.get_content_type(), part.defects) for part in message.walk()], [('multipart/alternative', []), ('text/plain', []), ('text/html', [])],
            f'{what}: a mail reader finds two forms and no fault')
        is_(sorted(message.keys()), ['Auto-Submitted', 'Content-Type', 'Date', 'From', 'MIME-Version', 'Message-ID', 'Subject', 'To'], f'{what}: each header once')
        is_((message['to'], message['from']), ('ops@example.org', 'effectd <effectd@pay.example>'), f'{what}: from and to whom')
        like(message['subject'], r'^effectd \S+: 16 things to look at, \d\d? [A-Z][a-z]{2} \d{4}$', f'{what}: the subject says how many things there are')
        ok(message['date'].datetime.utcoffset().total_seconds() == 0, f'{what}: and when it was')
        like(message['message-id'], r'^<\d+\.[0-9a-f]{24}@[\w.-]+>$', f'{what}: an id')
        parts = list(message.iter_parts())
        is_([part['content-transfer-encoding'] for part in parts], ['quoted-printable'] * 2, f'{what}: printable')
        is_(parts[0].get_content().rstrip('\n'), text_of(peer).stdout.rstrip('\n'), f'{what}: the text is the page\'s text, to the byte')
        is_(parts[1].get_content().rstrip('\n'), text_of(peer, '--html').stdout.rstrip('\n'), f'{what}: the HTML the page\'s HTML')
        lines = out.stdout.split('\n')
        is_([line for line in lines if len(line) > 78 or line == '.' or line.startswith('From ') or line != line.rstrip()], [],
            f'{what}: no line ends the message, is too long or changes on the way')
        ok(out.stdout.isascii(), f'{what}: all of it is ASCII')
        other = email.message_from_string(text_of(peer, '--mail', 'root').stdout, policy=email.policy.default)
        isnt(other['message-id'], message['message-id'], f'{what}: another mail has another id')
        like(other['from'], r'^effectd <[\w.-]+(@[\w.-]+)?>$', f'{what}: without --mail-from it is this user\'s')
    peer = play(quiet_day())
    for address in ('', 'a b@c', 'a@b\nBcc: x@y', 'a@b,c@d', '<a@b>', 'a@b@c', '@b', 'a@', '-oQ/tmp', 'a@-', 'a..b@c', 'a@b.', 'a@b\r', '"a"@b', 'a@b;c', 'ä@b', 'a' * 255):
        for flag in ('--mail', '--mail-from'):
            flags = [f'{flag}={address}'] if flag == '--mail' else ['--mail', 'root', f'{flag}={address}']
            is_(peer.ctl('report', 'daily', *flags).returncode, 64, f'{address[:20]!r} is no address for {flag}')
    is_(len(peer.lines), 0, 'and nothing is asked for it')
    for address in ('root', 'a.b+c@d-e.example', "o'neil@example.org", 'x@localhost'):
        is_(json.loads(json.dumps(email.message_from_string(text_of(peer, '--mail', address).stdout)['to'])), address, f'{address} is one')


busy()
quiet()
windows()
failures()
pages()
terminals()
mails()
done()
