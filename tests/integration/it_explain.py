#!/usr/bin/python3
"""explain, for whoever was woken: each state and each kind of event in words, and the next command, which can be pasted as it
stands; pasting alone decides nothing. No text of anybody's moves the cursor or becomes another command."""
import json
import os
import re
import subprocess
import unicodedata

from harness import *
from peer import *
from talk import *

TOOLS = [{'name': 't', 'escalate_after': '1h', 'max_attempts': 2}, {'name': 'people', 'escalate_after': '0s', 'max_attempts': 5},
         {'name': 'again', 'on_unknown': 'retry', 'retry_window': '1h', 'escalate_after': '1h'},
         {'name': 'probed', 'escalate_after': '1h', 'probe_backoff': ['1h'], 'probe': {'exec': {'argv': ['/bin/true']}}}]
# Keys and labels as a model or a stranger may write them; a key has no control characters.
KEYS = ['plain:1042', 'with blanks', "it's", '"quoted"', '$(touch {dir}/pwned)', '`touch {dir}/pwned`', '; touch {dir}/pwned #', 'a\\nb', '-x', '--tool=other',
        '~', '!!', '*', '\u202egpj.exe', 'zero\u200bwidth', '\u2066isolated', 'e\u0301', '\ufeffbom', '漢字', '😀', 'x' * 255, '%41 %n %s', '$\'\\x41\'']


def story(daemon, effect, **how):
    out = daemon.ctl('explain', effect, env={'LC_ALL': 'C.UTF-8'}, **how)
    is_((out.returncode, out.stderr), (0, ''), 'explain')
    return out.stdout


def commands(text):
    """The commands at the end of a story."""
    return [line for line in text.split('\n\n')[-1].splitlines() if not line.startswith('#')]


def paste(daemon, line, more=''):
    """Typed into bash, as it was printed; with `more` behind it."""
    env = dict(os.environ, PATH=f'{BUILD}:{os.environ["PATH"]}', EFFECTD_SOCKET=daemon.socket, LC_ALL='C.UTF-8')
    return subprocess.run(['bash', '-c', line + more], env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def decides(daemon, conn, effect, verdict, state, then):
    """The line of this verdict: as it stands it decides nothing; with a reason it does what it says."""
    before = conn.call('get', effect=effect)
    lines = [line for line in commands(story(daemon, effect)) if f'--verdict {verdict}' in line]
    is_(lines, [f'effectctl resolve {effect} --attempt {before["attempt"]} --state {state} --verdict {verdict} --reason'], f'{state}: the line for {verdict}')
    is_((paste(daemon, lines[0]).returncode, conn.call('get', effect=effect)), (64, before), f'{state}: pasted alone it decides nothing')
    out = paste(daemon, lines[0], " 'seen in the books' --evidence re_77")
    is_((out.returncode, state_of(conn, effect)), (0, then), f'{state}: with a reason it does: {then}')
    text = story(daemon, effect)
    like(re.sub(r'\s+', ' ', text), f'resolved uid:{os.getuid()} {verdict}: seen in the books \\(evidence: re_77\\)', 'and the story tells who, what, why and on what')


def states(daemon, conn):
    run = claim(conn, 'pending', owner='worker 7', lease_ms=3600000)
    text = story(daemon, run['effect'])
    like(text, 'Pending: attempt 1 was claimed by worker 7 at 20', 'pending')
    is_(paste(daemon, commands(text)[0]).returncode, 0, 'its first command is to look again')
    is_({paste(daemon, line).returncode for line in commands(text)[1:]}, {64, 65}, 'what only its holder can say cannot be said by pasting')
    is_(state_of(conn, run['effect']), 'pending', 'and nothing was said')
    conn.call('complete', **own_ids(run), result={'refund': 're_1'})
    text = story(daemon, run['effect'])
    like(text, 'Done: attempt 1 succeeded at 20.* decided by its caller', 'done')
    is_(paste(daemon, commands(text)[0]).stdout, '{"refund":"re_1"}\n', 'its command reads the result')
    for verdict, then in (('landed', 'done'), ('failed', 'done'), ('absent', 'released')):
        run = claim(conn, f'unknown {verdict}')
        conn.call('unknown', **own_ids(run), reason='gateway time-out')
        like(story(daemon, run['effect']), 'Unknown since 20.*nobody knows whether attempt 1 landed', 'unknown')
        decides(daemon, conn, run['effect'], verdict, 'unknown', then)
        run = claim(conn, f'escalated {verdict}', 'people')
        conn.call('unknown', **own_ids(run))
        wait_state(conn, run['effect'], 'escalated')
        like(story(daemon, run['effect']), 'Escalated since 20.*nothing could tell whether attempt 1 landed', 'escalated')
        decides(daemon, conn, run['effect'], verdict, 'escalated', then)
    for _ in range(2):
        run = claim(conn, 'retried', 'again')
        conn.call('unknown', **own_ids(run))
    text = story(daemon, run['effect'])
    like(text, 'Unknown since 20.*an attempt before, or attempt 2 landed', 'unknown, with an attempt that is open beneath the newest')
    like(text, 'granted.*retry, attempt 1 is still open', 'and how that came')
    decides(daemon, conn, run['effect'], 'absent', 'unknown', 'released')
    run = claim(conn, 'failed')
    conn.call('complete', **own_ids(run), outcome='failed', result='declined')
    like(story(daemon, run['effect']), 'Done: attempt 1 failed for good', 'failed')
    decides(daemon, conn, run['effect'], 'landed', 'done', 'done')
    # proven to have landed: absent is not offered, and would be refused
    one = claim(conn, 'proven', 'people')
    conn.call('release', **own_ids(one))
    two = claim(conn, 'proven', 'people')
    conn.error('complete', **own_ids(one), result={'refund': 're_1'})
    text = story(daemon, one['effect'])
    like(text, 'attempt 1 is proven to have landed, though attempt 2 was granted after it', 'escalated by proof')
    like(re.sub(r'\s+', ' ', text), r'late caller attempt 1 reported success late; it brought {"refund":"re_1"}', 'which the story shows')
    is_([line.split('--verdict ')[1] for line in commands(text)], ['landed --reason'], 'and only what can still be said is offered')
    conn.call('complete', **own_ids(two), result={'refund': 're_2'})
    text = story(daemon, one['effect'])
    like(text, r'late +! +caller|! an incident', 'both landed: an incident')
    is_(paste(daemon, commands(text)[-1]).returncode, 0, 'whose command lists it')
    like(paste(daemon, commands(text)[-1]).stdout, 'proven', 'by name')


def budget(daemon, conn):
    for _ in range(2):
        run = claim(conn, 'spent')
        conn.call('release', **own_ids(run))
    like(story(daemon, run['effect']), 'The next begin is granted attempt 3', 'released: what would come next')
    is_(conn.call('begin', tool='t', key='spent')['decision'], 'exhausted', 'but its attempts are used up')
    like(story(daemon, run['effect']), 'the last begin was told that a budget is used up', 'then it says so')
    line = commands(story(daemon, run['effect']))[0]
    is_((paste(daemon, line).returncode, paste(daemon, line, ' "one more"').returncode), (64, 0), 'and offers one attempt more')
    is_(conn.call('begin', tool='t', key='spent')['attempt'], 3, 'which is granted')


def probes(daemon, conn):
    run = claim(conn, 'asked', 'probed')
    conn.call('unknown', **own_ids(run))
    line = commands(story(daemon, run['effect']))[0]
    is_(line, f'effectctl tools probe probed --effect {run["effect"]}', 'where there is a probe, asking it comes first')
    before = wait_until(lambda: 'probe' in event_kinds(conn.call('get', effect=run['effect'])) and conn.call('get', effect=run['effect']), 20)
    out = paste(daemon, line)
    is_((out.returncode, conn.call('get', effect=run['effect'])), (76, before), 'pasted, it asks the provider, and changes nothing')
    like(out.stdout + out.stderr, 'inconclusive', 'and tells its word')


def keys(daemon, conn):
    """The command for a released effect names its key; a shell reads it as that key, whatever it is."""
    where = folder()
    for key in (key.replace('{dir}', where) for key in KEYS):
        run = claim(conn, key, args={'a': key}, owner=key)
        conn.call('release', **own_ids(run), reason=key)
        text = story(daemon, run['effect'])
        line = commands(text)[-1]
        ok(line.endswith(' --args JSON'), f'{key[:30]!r}: the args are left to whoever has them', line)
        out = paste(daemon, line[:-len('JSON')], '@- <<<\'' + json.dumps({'a': key}).replace("'", "'\\''") + "'")
        like(out.stdout, f'decision: run\n(.*\n)*effect: {run["effect"]}\n(.*\n)*attempt: 2\n', f'{key[:30]!r}: pasted, it is this effect\'s next attempt')
        ok(not os.path.exists(f'{where}/pwned'), f'{key[:30]!r}: and nothing else is run')
        harmless(text, f'{key[:30]!r}')


def harmless(text, what):
    """Nothing in it but printed characters and line ends: none that moves a cursor, none that is not seen."""
    bad = [c for c in text if c != '\n' and unicodedata.category(c) in ('Cc', 'Cf', 'Cs', 'Co', 'Zl', 'Zp')]
    ok(not bad, f'{what}: no character moves a cursor', repr(bad))


def kinds_of_events():
    """Each kind that the ledger knows says something, also without a reason."""
    with open(os.path.join(SRC, 'sql/migrations/0001_ledger.sql'), encoding='utf-8') as file:
        kinds = re.findall(r"'(\w+)'", re.search(r'kind in \(([^)]*)\)', file.read()).group(1))
    ok(len(kinds) >= 16, 'the ledger\'s kinds are found', kinds)
    base = {'effect': EFFECT, 'namespace': 'default', 'tool': 'refund', 'key': 'k', 'state': 'escalated', 'since': 'S', 'attempt': 2, 'owner': 'w1',
            'claimed_at': '2026-01-01T00:00:10.000Z'}
    at = '2026-01-01T00:00:%02d.000Z'
    peer = Peer({**base, 'events': [{'at': at % n, 'kind': kind, 'attempt': 1} for n, kind in enumerate(kinds)]})
    lines = [re.split(r' {2,}', line.strip()) for line in story(peer, EFFECT).splitlines() if line.startswith('2026-01-01T')]
    told = {line[1].split()[-1]: line[2] for line in lines if len(line) > 2}
    for kind in kinds:
        ok(' ' in told.get(kind, ''), f'{kind}: {told.get(kind)}')
    is_([line[1].split()[-1] for line in lines].index('claimed'), 10, 'the claim stands in its place among them')
    is_(peer.requests()[0]['params'], {'effect': EFFECT, 'events': 1000}, 'explain asks for all events')
    told = story(Peer({**base, 'events': [{'at': at % 1, 'kind': 'refused', 'attempt': 1, 'reason': 'mismatch'},
                                          {'at': at % 2, 'kind': 'resolved', 'attempt': 1, 'by': 'uid:7', 'reason': 'seen', 'verdict': 'absent', 'evidence': 're_1'},
                                          {'at': at % 3, 'kind': 'orphan', 'attempt': 2, 'reason': 'odd', 'result_text': '{"a":1}', 'incident': True}]}), EFFECT)
    for words in ('a begin was told mismatch', 'uid:7 +absent: seen \\(evidence: re_1\\)', 'orphan +! +odd; it brought {"a":1}', '! an incident'):
        like(told, words, f'told: {words}')


def terminals(daemon, conn):
    """What strangers wrote, on a terminal and off it."""
    nasty = HOSTILE + '\u2067' + 'w' * 100 + '\U000e0041\u061c\x85\u2028'
    run = claim(conn, '\u202ekey\u200b', owner=nasty[:100], run=nasty[:60])
    conn.call('release', **own_ids(run), reason=nasty)
    two = claim(conn, '\u202ekey\u200b', owner=nasty[:100])
    conn.call('complete', **own_ids(two))
    conn.error('complete', **own_ids(run), result=nasty)
    for words in (['explain', run['effect']], ['list'], ['list', '--incidents'], ['list', '--all', '--limit', '3'], ['get', run['effect']]):
        for env in ('C.UTF-8', 'C'):
            out = daemon.ctl(*words, env={'LC_ALL': env})
            harmless(out.stdout + out.stderr, f'{" ".join(words[:2])[:20]} in {env}')
            ok(not re.search('^state: done$', out.stdout, re.M) or words[0] == 'get', 'no value fakes a line')
        seen = terminal([program('effectctl'), '-s', daemon.socket, *words])
        harmless(seen.replace('\r\n', '\n'), f'{" ".join(words[:2])[:20]} on a terminal')
        like(seen, r'\\u202ek', 'and is seen, escaped')


kinds_of_events()
with Cluster() as the_cluster, Daemon(the_cluster, config='sweep_interval = "50ms"\n', tools=TOOLS) as the_daemon:
    with the_daemon.ready().connect() as the_conn:
        states(the_daemon, the_conn)
        budget(the_daemon, the_conn)
        probes(the_daemon, the_conn)
        keys(the_daemon, the_conn)
        terminals(the_daemon, the_conn)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
