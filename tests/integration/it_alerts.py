#!/usr/bin/python3
"""The alert rules of packaging/prometheus: each fires on the fault that it is about and on no other, none fires on a healthy
pair of daemons, on little, on metrics that are not there; and what its text says to type exists."""
import json
import os
import re

from harness import *
from prometheus import promtool

RULES = os.path.join(SRC, 'packaging/prometheus/effectd.rules.yml')
A, B = 'a:9464', 'b:9464'
TOOL = {'namespace': 'default', 'tool': 'refund'}
WHEN = 180          # minutes: when the alerts are looked at
SINCE = 120         # and when a fault begins


def series(name, values, **labels):
    text = ','.join(f'{label}={json.dumps(value)}' for label, value in {'job': 'effectd', **labels}.items())
    return f'{name}{{{text}}}', values


def flat(value):
    return f'{value}x240'


def from_then(before, after):
    return f'{before}x{SINCE - 1} {after}x{240 - SINCE}'


def rising(step, before=0):
    """A counter: `before` a minute at first, then `step` a minute."""
    return f'0+{before}x{SINCE - 1} {before * (SINCE - 1)}+{step}x{240 - SINCE}'


def once(n=1, minute=WHEN - 5):
    """A counter that goes up by n, once."""
    return f'0x{minute - 1} {n}x{240 - minute}'


def begins(decision, values, tool='refund'):
    return dict([series('effectd_begins_total', values, instance=A, namespace='default', tool=tool, decision=decision)])


def one(name, values, **labels):
    return dict([series(name, values, instance=A, **labels)])


def open_rows(state, below, values, instance=A):
    return dict([series('effectd_effects_open', values, instance=instance, state=state, below=below)])


def healthy():
    """Two daemons at one ledger, a little of everything that is no fault."""
    all_ = {}
    for instance in (A, B):
        for name, values in {
                'up': flat(1), 'effectd_ledger_up': flat(1), 'effectd_ledger_reconnects_total': flat(1), 'effectd_batch_queued': flat(20),
                'process_start_time_seconds': flat(1000), 'effectd_reload_last_successful': flat(1), 'effectd_incidents_last_day': flat(0),
                'effectd_sweep_last_success_timestamp_seconds': '0+60x240', 'effectd_connections': flat(40), 'effectd_effects_due': flat(0),
                'effectd_connections_max': flat(4096), 'process_open_fds': flat(90), 'process_max_fds': flat(16384),
                'effectd_cut_off_total': flat(3), 'effectd_counts_dropped_total': flat(7), 'effectd_log_lines_lost_total': flat(2),
                'effectd_batch_duration_seconds_count': '0+100x240'}.items():
            all_.update([series(name, values, instance=instance)])
        for le in ('0.01', '1', '2.5', '+Inf'):
            all_.update([series('effectd_batch_duration_seconds_bucket', '0+100x240', instance=instance, le=le)])
        all_.update([series('effectd_build_info', flat(1), instance=instance, version='1', schema_version='1')])
        for state, n in (('pending', 9), ('unknown', 2), ('escalated', 0)):
            for below in ('1m', '15m', '1h', '1d', '+Inf'):
                all_.update(open_rows(state, below, flat(n if below == '15m' else 0), instance))
        for decision, step in {'run': 10, 'replay': 4, 'busy': 1, 'mismatch': 0, 'unknown': 0, 'escalated': 0, 'exhausted': 0, 'held': 0}.items():
            all_.update([series('effectd_begins_total', f'0+{step}x240', instance=instance, **TOOL, decision=decision)])
        for name in ('effectd_duplicates_total', 'effectd_expired_replays_total', 'effectd_circuit_open'):
            all_.update([series(name, flat(0), instance=instance, **TOOL)])
        all_.update([series('effectd_begins_total', flat(0), instance=instance, namespace='default', tool='(other)', decision='run')])
        for verdict, step in (('landed', 1), ('inconclusive', 0)):
            all_.update([series('effectd_probes_total', f'0+{step}x240', instance=instance, **TOOL, verdict=verdict)])
        for result in ('taken', 'failed'):
            all_.update([series('effectd_notices_total', flat(1), instance=instance, result=result)])
    return all_


AT = {'job': 'effectd', 'instance': A}
OF = {'job': 'effectd', **TOOL}
JOB = {'job': 'effectd'}

# alert: (what is wrong, the labels it comes with, other alerts that rightly come along, almost wrong)
FAULTS = {
    'EffectdDown': (one('up', from_then(1, 0)), AT, [], one('up', f'1x{WHEN - 2} 0x1 1x10')),
    'EffectdAbsent': (None, JOB, [], {}),
    'EffectdLedgerAway': (one('effectd_ledger_up', from_then(1, 0)), AT, [], one('effectd_ledger_up', f'1x{WHEN - 1} 0x5')),
    'EffectdLedgerFlaps': (one('effectd_ledger_reconnects_total', f'1x{WHEN - 20} 2x3 3x3 4x3 5x60'), AT, [],
                           one('effectd_ledger_reconnects_total', once(1))),
    'EffectdLedgerSlow': (
        {**one('effectd_batch_duration_seconds_bucket', rising(50, 100), le='1'), **one('effectd_batch_duration_seconds_bucket', rising(50, 100), le='0.01')},
        AT, [],
        # as slow, but hardly anything is asked
        {**{k: v for le in ('0.01', '1') for k, v in one('effectd_batch_duration_seconds_bucket', flat(0), le=le).items()},
         **{k: v for le in ('2.5', '+Inf') for k, v in one('effectd_batch_duration_seconds_bucket', '0+5x240', le=le).items()},
         **one('effectd_batch_duration_seconds_count', '0+5x240')}),
    'EffectdQueueLong': (one('effectd_batch_queued', from_then(20, 5000)), AT, [], one('effectd_batch_queued', f'20x{WHEN - 3} 5000x10')),
    'EffectdRestarts': (one('process_start_time_seconds', f'1000x{WHEN - 40} 8000x10 8700x10 9400x60'), AT, [],
                        one('process_start_time_seconds', from_then(1000, 7200))),
    'EffectdVersionsDiffer': (one('effectd_build_info', flat(1), version='2', schema_version='1'), JOB, [],
                              one('effectd_build_info', f'_x{SINCE} 1x120', version='2', schema_version='1')),
    'EffectdReloadRefused': (one('effectd_reload_last_successful', from_then(1, 0)), AT, [],
                             one('effectd_reload_last_successful', f'1x{WHEN - 3} 0x10')),
    'EffectdUnknownRate': (begins('unknown', rising(1)), OF, [], begins('unknown', once(2))),
    'EffectdMismatchRate': (begins('mismatch', rising(2)), OF, [], begins('mismatch', once(1))),
    'EffectdBusyRate': (begins('busy', rising(20, 1)), OF, [], begins('busy', rising(2, 1))),
    'EffectdBudgetSpent': (begins('exhausted', once()), OF, [], begins('exhausted', once(1, WHEN - 90))),
    'EffectdNoPolicy': (begins('run', once(), '(other)'), {**JOB, 'namespace': 'default'}, [], begins('run', once(1, WHEN - 90), '(other)')),
    'EffectdResultsExpired': (one('effectd_expired_replays_total', once(), **TOOL), OF, [], one('effectd_expired_replays_total', flat(4), **TOOL)),
    'EffectdEscalated': (open_rows('escalated', '1h', from_then(0, 3)), JOB, [], open_rows('escalated', '1m', f'0x{WHEN - 10} 3x20')),
    'EffectdEscalatedOld': (open_rows('escalated', '+Inf', from_then(0, 3)), JOB, ['EffectdEscalated'], {}),
    'EffectdStuck': (open_rows('unknown', '1d', from_then(0, 3)), JOB, [], open_rows('unknown', '1h', from_then(0, 3))),
    'EffectdOpenGrows': (open_rows('unknown', '15m', f'2x{WHEN - 30} 90x60'), JOB, [], open_rows('unknown', '15m', f'2x{WHEN - 30} 20x60')),
    'EffectdSweepBehind': (one('effectd_effects_due_since_timestamp_seconds', f'_x{SINCE} {SINCE * 60}x120'), JOB, [],
                           one('effectd_effects_due_since_timestamp_seconds', '0+60x240')),
    'EffectdSweepStands': (one('effectd_sweep_last_success_timestamp_seconds', f'0+60x{SINCE} {SINCE * 60}x120'), AT, [],
                           # nor has it a ledger: that is another alert
                           {**one('effectd_sweep_last_success_timestamp_seconds', f'0+60x{SINCE} {SINCE * 60}x120'), **one('effectd_ledger_up', '0x240')}),
    'EffectdDuplicate': (one('effectd_duplicates_total', once(), **TOOL), OF, [], one('effectd_duplicates_total', flat(4), **TOOL)),
    'EffectdIncident': (one('effectd_incidents_last_day', from_then(0, 1)), JOB, [], one('effectd_incidents_last_day', f'0x10 3x{SINCE} 0x120')),
    'EffectdCircuitOpen': (one('effectd_circuit_open', from_then(0, 1), **TOOL), OF, [], one('effectd_circuit_open', f'0x{WHEN - 5} 1x20', **TOOL)),
    'EffectdProbesInconclusive': (one('effectd_probes_total', rising(5), **TOOL, verdict='inconclusive'), OF, [],
                                  {**one('effectd_probes_total', once(9), **TOOL, verdict='inconclusive'),
                                   **{k: flat(0) for k in healthy() if 'effectd_probes_total' in k and 'landed' in k}}),
    'EffectdNoticesFail': (one('effectd_notices_total', rising(1), result='failed'), AT, [], one('effectd_notices_total', once(2), result='failed')),
    'EffectdConnectionsFull': (one('effectd_connections', from_then(40, 3900)), AT, [], one('effectd_connections', from_then(40, 3000))),
    'EffectdDescriptorsFull': (one('process_open_fds', from_then(90, 16000)), AT, [], one('process_open_fds', from_then(90, 12000))),
    'EffectdPeersCutOff': (one('effectd_cut_off_total', once()), AT, [], {}),
    'EffectdCountsDropped': (one('effectd_counts_dropped_total', once()), AT, [], {}),
    'EffectdLogLost': (one('effectd_log_lines_lost_total', once()), AT, [], {}),
}


def rules_of(text):
    """[{alert, severity, annotations...}]: the file is written one member a line."""
    rules = []
    for line in text.split('\n'):
        member = re.match(r"\s+(?:- )?(alert|labels|summary|description|runbook): (.*)$", line)
        if not member:
            continue
        name, value = member.groups()
        if name == 'alert':
            rules.append({'alert': value})
        elif name == 'labels':
            rules[-1]['severity'] = re.fullmatch(r'\{severity: (\w+)\}', value).group(1)
        else:
            rules[-1][name] = value.strip("'").replace("''", "'")
    return rules


def scenario(name, wrong, firing, rules, labels_of):
    """One test of promtool: with these series, exactly these alerts fire."""
    return {'name': name, 'interval': '1m', 'input_series': [{'series': s, 'values': v} for s, v in wrong.items()],
            'alert_rule_test': [{'eval_time': f'{WHEN}m', 'alertname': r['alert'],
                                 'exp_alerts': [{'exp_labels': {**labels_of[r['alert']], 'severity': r['severity']}}] if r['alert'] in firing else []}
                                for r in rules]}


def alerts_fire_on_their_faults(rules):
    folder_ = folder()
    with open(RULES, encoding='utf-8') as source, open(os.path.join(folder_, 'rules.yml'), 'w', encoding='utf-8') as out:
        # promtool compares annotations to the letter; here it is about who fires
        out.write(re.sub(r'^ {8}annotations:\n(?: {10}.*\n)+', '', source.read(), flags=re.M))
    labels_of = {alert: labels for alert, (_, labels, _, _) in FAULTS.items()}
    tests = [scenario('all is well', healthy(), [], rules, labels_of),
             scenario('an effectd without any of these metrics', dict([series('up', flat(1), instance=A)]), [], rules, labels_of)]
    for alert, (wrong, _, also, almost) in FAULTS.items():
        tests.append(scenario(alert, {} if wrong is None else {**healthy(), **wrong}, [alert, *also], rules, labels_of))
        if almost:
            tests.append(scenario(f'almost {alert}', {**healthy(), **almost}, [], [r for r in rules if r['alert'] == alert], labels_of))
    path = os.path.join(folder_, 'test.yml')
    with open(path, 'w', encoding='utf-8') as out:
        json.dump({'rule_files': ['rules.yml'], 'evaluation_interval': '10m', 'tests': tests}, out)
    done_ = promtool('test', 'rules', path)
    said = done_.stdout + done_.stderr
    for test in tests:
        ok(f'name: {test["name"]},' not in said, f'{test["name"]}: exactly what should fire does', said)
    is_(done_.returncode, 0, f'promtool is content with all {len(tests)}')


def texts_say_what_to_type(rules):
    with open(os.path.join(SRC, 'client/verbs.def'), encoding='utf-8') as source:
        verbs = re.findall(r'^VERB\("(\w+)"', source.read(), flags=re.M)
    with open(os.path.join(SRC, 'daemon/protocol.md'), encoding='utf-8') as source:
        wire = source.read()
    for rule in rules:
        text = rule['runbook']
        unknown = [v for v in re.findall(r'effectctl (\w+)', text) if v not in verbs]
        unknown += [r for r in re.findall(r'effectctl report (\w+)', text) if f'`{r}`' not in wire]
        ok(rule['summary'] and rule['description'] and not unknown and re.search(r'effectctl|journalctl|systemctl|effectd --|scrape_configs', text),
           f'{rule["alert"]} says in words what is wrong, and what to type', unknown)


with open(RULES, encoding='utf-8') as source:
    rules = rules_of(source.read())
checked = promtool('check', 'rules', RULES)
is_(checked.returncode, 0, f'promtool takes the rules: {checked.stderr.strip()}')
is_(sorted(r['alert'] for r in rules), sorted(FAULTS), 'each alert has its fault here')
alerts_fire_on_their_faults(rules)
texts_say_what_to_type(rules)
done()
