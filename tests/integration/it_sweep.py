#!/usr/bin/python3
"""What becomes of open outcomes with nobody speaking: lapses, exec probes of every kind, escalation, notices; what a probe may
and may not do to a row that has moved on. Cases 11, 77, 79, 81, 82 and 88."""
import os
import time

from harness import *
from talk import *

PROBE = Script()
ECHO = Script()
MISSING = '/nonexistent/probe'
SLEEP = '3141.5'  # a name for our grandchildren

# How a probe can fail to know, by the effect's key: each is inconclusive (case 79).
KINDS = {
    'exit-1': 'exit 1', 'exit-1-landed': 'echo \'{"verdict":"landed"}\'; exit 1', 'exit-127-absent': 'echo \'{"verdict":"absent"}\'; exit 127',
    'silent': 'exit 0', 'killed': 'kill -9 $$', 'killed-absent': 'echo \'{"verdict":"absent"}\'; kill -9 $$', 'terminated': 'kill $$',
    'no-json': 'echo absent', 'half-json': 'printf \'{"verdict":"absent"\'', 'two-objects': 'echo \'{"verdict":"absent"}{"verdict":"absent"}\'',
    'array': 'echo \'["absent"]\'', 'other-word': 'echo \'{"verdict":"gone"}\'', 'upper-case': 'echo \'{"verdict":"ABSENT"}\'',
    'no-verdict': 'echo \'{"result":1}\'', 'null-verdict': 'echo \'{"verdict":null}\'', 'twice': 'echo \'{"verdict":"landed","verdict":"absent"}\'',
    'too-much': 'echo \'{"verdict":"absent"}\'; /usr/bin/head -c 70000 /dev/zero | /usr/bin/tr "\\0" " "',
    'no-utf8': 'printf \'{"verdict":"absent","reason":"\\377"}\'', 'stderr': 'echo \'{"verdict":"absent"}\' >&2',
    'says-so': 'echo \'{"verdict":"inconclusive","reason":"http 429"}\'', 'http-500': 'echo \'{"verdict":"inconclusive","reason":"http 500"}\'; exit 22',
}
SLOW_KINDS = {'time-out': f'sleep {SLEEP}', 'time-out-absent': f'echo \'{{"verdict":"absent"}}\'; sleep {SLEEP}',
              'ignores-term': f'trap "" TERM; echo \'{{"verdict":"absent"}}\'; sleep {SLEEP}'}
TOOLS = [
    PROBE.policy(keep=['/order', '/sum']), ECHO.policy('kinds'), ECHO.policy('slow', probe_timeout='300ms'),
    PROBE.policy('lag', settle=f'{int(2000 * SLOW)}ms', probe_backoff=['200ms']), PROBE.policy('soon', escalate_after=f'{int(1500 * SLOW)}ms'),
    PROBE.policy('asleep', probe_backoff=['1h'], escalate_after='2h'), PROBE.policy('settles', settle='1500ms', absent_needed=3),
    {'name': 'nobody', 'lease': '1s', 'escalate_after': '1s'}, {'name': 'missing', 'escalate_after': '1h', 'probe_backoff': ['50ms'],
                                                                 'probe': {'exec': {'argv': [MISSING]}}},
    {'name': 'human', 'on_unknown': 'human', 'escalate_after': '0s', 'probe': {'exec': {'argv': [PROBE.path]}}},
    {'name': 'held', 'lease': '1s', 'hold_max': '3s', 'escalate_after': '1h'},
]


def open_up(conn, key, tool='t', **more):
    """An effect of which nobody knows, by its wrapper's own word."""
    run = claim(conn, key, tool, **more)
    conn.call('unknown', **own_ids(run))
    return run


def events_of(conn, run, kind):
    return [event for event in conn.call('get', effect=run['effect'], events=1000)['events'] if event['kind'] == kind]


def landed(conn, daemon):
    """case 81: the client dies between the provider's create and its complete."""
    result = '{"b":1.0,"a":1e2,"c":"\\u003c\\u0000","n":12345678901234567890,"d":"\\ud800"}'
    PROBE.play(f"cat <<'EOF'\n{{\"reason\":\"found\", \"result\": {result} , \"verdict\":\"landed\"}}\nEOF")
    with daemon.connect() as victim:
        run = claim(victim, 'landed', args={'order': 7, 'sum': '1.50', 'x': 0}, run='r', lease_ms=1000)
        is_(state_of(conn, run['effect']), 'pending', 'case 81: the row stood before the call')
    row = wait_state(conn, run['effect'], 'done')
    is_((row['outcome'], row['by'], event_kinds(row)), ('succeeded', 'probe', ['lapsed', 'verdict']), 'case 81: lapsed, found by the probe, done')
    line = raw_begin(conn, '{"tool":"t","key":"landed","run":"other","args":{"x":0,"sum":"1.50","order":7}}')
    ok(f'"result":{result},"result_state":"kept"'.encode() in line, 'case 81: its result is replayed as the probe spelled it', line)
    asked = PROBE.asked(run['effect'])[0]
    is_(names(asked), 'namespace tool effect key provider_key attempt claimed_at since kept', 'what a probe is asked')
    is_((asked['namespace'], asked['tool'], asked['key'], asked['provider_key'], asked['attempt'], asked['kept']),
        ('default', 't', 'landed', run['effect'], 1, {'/order': 7, '/sum': '1.50'}), 'and what that says')
    like(asked['claimed_at'] + ' ' + asked['since'], INSTANT[:-1] + ' ' + INSTANT[1:], 'with instants')
    is_(conn.call('complete', **own_ids(run), result='mine'), {'state': 'done', 'outcome': 'succeeded', 'already': True}, 'its owner agrees later')
    PROBE.says('failed', result={'code': 'refused'}, reason='the bank said no')
    run = open_up(conn, 'failed')
    row = wait_state(conn, run['effect'], 'done')
    is_((row['outcome'], row['by'], row['result']), ('failed', 'probe', {'code': 'refused'}), 'a probe that knows of a failure')
    like(events_of(conn, run, 'verdict')[0]['reason'], '^failed.*the bank said no', 'the event names the verdict and its reason')
    error = conn.error('complete', **own_ids(run), result='mine')
    is_(error['data']['name'], 'conflict', 'a success against it is a conflict')
    PROBE.says('landed')
    run = open_up(conn, 'no result')
    row = wait_state(conn, run['effect'], 'done')
    is_((row['result'], row['result_state']), (None, 'kept'), 'landed without a result')


def absent(conn):
    PROBE.says('absent', reason='no such refund')
    started_ms = time.monotonic() * 1000
    run = open_up(conn, 'absent', 'settles')
    row = wait_state(conn, run['effect'], 'released', 60)
    took_ms = time.monotonic() * 1000 - started_ms
    # one settle before each of the three that count
    ok(took_ms >= 3 * 1500, 'absent counts only after settle, three times in a row', f'{took_ms} ms')
    again = conn.call('begin', tool='settles', key='absent')
    is_((again['decision'], again['attempt'], again['provider_key']), ('run', 2, run['effect']), 'then it runs again, under the same provider key')
    ok('released' in event_kinds(row), 'with an event', event_kinds(row))
    conn.call('complete', **own_ids(again))  # else its probes would play a part below
    # case 77: the provider's index lags behind
    run = open_up(conn, 'lag', 'lag')
    PROBE.wait_asked(2, run['effect'])
    is_(state_of(conn, run['effect']), 'unknown', 'case 77: early misses release nothing')
    PROBE.says('landed', result='found')
    row = wait_state(conn, run['effect'], 'done')
    is_((conn.call('begin', tool='lag', key='lag')['decision'], row['attempt']), ('replay', 1), 'case 77: it ends done')
    # an absent in between that is taken back counts from the start
    PROBE.play('n=$(cat {dir}/n 2>/dev/null || echo 0); n=$((n + 1)); echo $n >{dir}/n\n'
               'if [ $((n % 2)) = 0 ]; then echo \'{"verdict":"inconclusive"}\'; else echo \'{"verdict":"absent"}\'; fi')
    run = open_up(conn, 'wavers')
    PROBE.wait_asked(8, run['effect'])
    is_(state_of(conn, run['effect']), 'unknown', 'absents that are not in a row release nothing')
    PROBE.says('absent')
    wait_state(conn, run['effect'], 'released')
    PROBE.says('inconclusive')


def inconclusive(conn):
    """case 79"""
    text = 'case "$line" in\n' + '\n'.join(f'*\'"key":"{name}"\'*) {play} ;;' for name, play in {**KINDS, **SLOW_KINDS}.items()) + '\nesac'
    ECHO.play(text)
    runs = {name: open_up(conn, name, 'kinds') for name in KINDS}
    runs.update({name: open_up(conn, name, 'slow') for name in SLOW_KINDS})
    runs['missing'] = open_up(conn, 'missing', 'missing')
    for name, run in runs.items():
        wait_until(lambda: len(events_of(conn, run, 'probe')) >= 3, 60, f'{name}: three probes are recorded')
        row = conn.call('get', effect=run['effect'], events=1000)
        is_((row['state'], row['attempt'], set(event_kinds(row)) - {'probe', 'unknown'}), ('unknown', 1, set()), f'case 79: {name} stays unknown')
        ok(all(event.get('reason') for event in row['events'] if event['kind'] == 'probe'), f'{name}: with a reason', row['events'][-1])
        is_(conn.call('begin', tool=row['tool'], key=name)['decision'], 'unknown', f'case 79: {name} runs nothing')
    reasons = {name: events_of(conn, run, 'probe')[-1]['reason'] for name, run in runs.items()}
    for name, pattern in (('exit-1', 'status 1|exit'), ('killed', 'signal|kill'), ('time-out', 'time'), ('no-json', 'JSON'), ('too-much', 'too much'),
                          ('missing', 'nonexistent|No such'), ('says-so', 'http 429')):
        like(reasons[name], pattern, f'{name}: the reason says so')
    is_(processes(f'sleep {SLEEP}') <= len(SLOW_KINDS), True, 'no more sleepers than probes under way')
    ECHO.says('landed', result=1)
    for run in runs.values():
        if run is not runs['missing']:
            wait_state(conn, run['effect'], 'done', 60)
    ok(True, 'and each is settled by the first verdict that counts')


def processes(command):
    n = 0
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/cmdline', 'rb') as line:
                    n += line.read().replace(b'\0', b' ').strip().decode(errors='replace') == command
            except OSError:
                pass
    return n


def fair(conn, cluster):
    """case 88: rows whose time has not come stand in nobody's way."""
    PROBE.says('inconclusive')
    runs = [claim(conn, f'asleep-{at}', 'asleep') for at in range(300)]
    for run in runs:
        conn.send('unknown', own_ids(run))
    for run in runs:
        conn.recv()
    wait_until(lambda: cluster.psql("select count(distinct e.effect) from effect.event e join effect.ledger l on l.id = e.effect "
                                    "where l.key like 'asleep-%' and e.kind = 'probe'") == '300', 60, 'all were asked')
    PROBE.says('landed')
    run = open_up(conn, 'awake')
    wait_state(conn, run['effect'], 'done', 5)
    is_(cluster.psql("select count(*) from effect.ledger where key like 'asleep-%' and state = 'unknown'"), '300', 'case 88: 300 asleep, the next is probed')


def moved_on(conn):
    """case 11: a verdict that comes when the row has moved on."""
    for verdict in ('absent', 'landed'):
        PROBE.play('while ! [ -e {dir}/go-%s ]; do sleep 0.05; done; echo \'{"verdict":"%s","result":"late"}\'' % (verdict, verdict))
        run = claim(conn, f'moved-{verdict}')
        wait_state(conn, run['effect'], 'unknown')
        PROBE.wait_asked(1, run['effect'])
        is_(conn.call('release', **own_ids(run))['state'], 'released', 'the owner says that it was not sent, while a probe is under way')
        new = claim(conn, f'moved-{verdict}', lease_ms=3600000)
        with open(os.path.join(PROBE.dir, f'go-{verdict}'), 'w', encoding='ascii'):
            pass
        wait_until(lambda: [event for event in conn.call('get', effect=run['effect'])['events'] if event['kind'] in ('verdict', 'probe', 'late')], 20)
        row = conn.call('get', effect=run['effect'])
        if verdict == 'absent':
            is_((row['state'], row['attempt'], row['lease_until']), ('pending', 2, new['lease_until']), 'case 11: a stale absent leaves attempt 2 untouched')
            is_(conn.call('complete', **own_ids(new))['state'], 'done', 'case 11: whose token is good')
        else:
            row = wait_state(conn, run['effect'], 'escalated')
            is_(conn.call('complete', **own_ids(new), result='mine')['state'], 'done', 'a stale landed escalates, and the holder\'s word still counts')
    PROBE.says('inconclusive')


def second_refusals(conn):
    """Failures on attempt 2, each of which waits for a word of the provider (it_refused_again): more than may be asked at once."""
    PROBE.play('sleep 0.3; echo \'{"verdict":"landed","result":"found"}\'')
    runs = []
    for at in range(40):
        conn.call('release', **own_ids(claim(conn, f'burst-{at}', lease_ms=3600000)))
        runs.append(claim(conn, f'burst-{at}', lease_ms=3600000))
    for id_ in [conn.send('complete', {**own_ids(run), 'outcome': 'failed'}) for run in runs]:
        conn.recv(id_)
    rows = [wait_state(conn, run['effect'], 'done', 60) for run in runs]
    is_({(row['outcome'], row['by'], row['result']) for row in rows}, {('succeeded', 'probe', 'found')}, '40 at once are all asked first')
    PROBE.says('inconclusive')


def holds(conn):
    run = claim(conn, 'held', 'held')
    claimed = ms_of(conn.call('get', effect=run['effect'])['claimed_at'])
    until = ms_of(conn.call('extend', **own_ids(run), lease_ms=3600000)['lease_until'])
    is_(until - claimed, 3000, 'no extend holds a claim beyond hold_max')
    wait_state(conn, run['effect'], 'unknown')
    is_(conn.error('extend', **own_ids(run))['data']['name'], 'not_owner', 'and then it is over')


def escalates(conn, daemon):
    # case 82
    with daemon.connect() as victim:
        run = claim(victim, 'no-probe', 'nobody', bind=True)
    row = wait_state(conn, run['effect'], 'escalated')
    is_(event_kinds(row)[:2], ['closed', 'escalated'], 'case 82: no probe, escalated after its deadline')
    is_(conn.call('begin', tool='nobody', key='no-probe')['decision'], 'escalated', 'case 82: never run by itself')
    run = open_up(conn, 'soon', 'soon')
    row = wait_state(conn, run['effect'], 'escalated')
    kinds = event_kinds(row)
    ok(kinds.count('probe') >= 2 and kinds[-1] in ('escalated', 'notified'), 'probed until its deadline, then escalated', kinds)
    run = open_up(conn, 'human', 'human')
    wait_state(conn, run['effect'], 'escalated')
    is_(PROBE.asked(run['effect']), [], 'on_unknown human: nobody is asked but a human')
    # a success that comes after all
    is_(conn.call('complete', **own_ids(run), result='late')['state'], 'done', 'a late success settles an escalated one')


def gone(daemon):
    """A tool that is no more: no probe, escalated at its deadline."""
    PROBE.says('landed')
    daemon.set_tools(TOOLS + [PROBE.policy('leaves', escalate_after=f'{int(2000 * SLOW)}ms', lease='60s')])
    daemon.hup()
    with daemon.connect() as conn:
        wait_until(lambda: any(tool['name'] == 'leaves' for tool in conn.call('tools')['tools']))
        run = claim(conn, 'leaves', 'leaves')
    daemon.stop()
    daemon.set_tools(TOOLS)
    daemon.start()
    with daemon.ready().connect() as conn:
        conn.call('unknown', **own_ids(run))
        row = wait_state(conn, run['effect'], 'escalated')
        is_(PROBE.asked(run['effect']), [], 'a tool that is gone is not probed')
        like(' '.join(event.get('reason', '') for event in row['events']), 'policy', 'the event says why')


CONFIG = 'sweep_interval = "50ms"\n'
with Cluster() as cluster, Daemon(cluster, config=CONFIG, tools=TOOLS) as daemon:
    with daemon.ready().connect() as conn:
        landed(conn, daemon)
        absent(conn)
        inconclusive(conn)
        moved_on(conn)
        second_refusals(conn)
        holds(conn)
        escalates(conn, daemon)
        fair(conn, cluster)
    gone(daemon)
    is_(cluster.invariants(), [], 'no invariant is broken')
    is_(daemon.stop(), 0, 'the daemon ends in order')
done()
