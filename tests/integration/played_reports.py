"""Reports as a daemon tells them, for tests of effectctl: a busy day with something to look at in each, a quiet one, and one of hostile words."""
import json
import random
import uuid

from peer import Peer

__all__ = ['COLUMNS', 'FROM', 'TO', 'NASTY', 'busy_day', 'quiet_day', 'hostile_day', 'finding', 'play', 'report']

FROM, TO = '2026-11-29T08:00:00.000Z', '2026-11-30T08:00:03.120Z'
# Markup, quotes, entities; what is not seen, moves a cursor or ends a line; a header, a formula, a shell's commands, NUL.
NASTY = '<script>alert(1)</script>"\'&amp;\u202egpj.exe\u200b\x1b[2J\x9b31m\r\nBcc: x@y\x00=cmd|A1;$(reboot)`id`'

COLUMNS = {
    'summary': 'namespace tool calls runs replays busy mismatch unknown escalated exhausted held passed retried n dedup_rate dedup_rate_before busy_rate '
               'mismatch_rate unknown_rate completed failed errors late gave_up released escalated_effects resolved resolve_p50_ms resolve_p95_ms '
               'answer_p50_ms answer_p99_ms',
    'stuck': 'namespace tool effect key state attempt since_at age_ms owner run claimed_at last_probe_at last_probe next_probe_at escalates_at next_step',
    'escalated': 'namespace tool effect key attempt since_at age_ms owner run claimed_at last_probe_at last_probe reason notices notice_taken',
    'incidents': 'namespace tool effect key state noted_at attempt kind by outcome reason result_bytes',
    'duplicates': 'namespace tool effect key claimed_at owner run outcome twin twin_key twin_claimed_at gap_ms how again',
    'mismatches': 'namespace tool fields n effects effects_rate first_at last_at effect key run',
    'churn': 'namespace tool run business n_keys granted keys first_at last_at effect',
    'budgets': 'namespace tool turns turns_spent grants_max asks_max turn_budget turn_asks refused run turn max_attempts attempts_spent effect',
    'timeouts': 'namespace tool n p50_ms p99_ms lease_ms lapsed gave_up gave_up_p50_ms late',
    'retention': 'namespace tool keep_key_ms keep_result_ms n p50_ms p99_ms oldest_ms under_1m under_1h under_1d under_7d under_30d over_30d expired reruns '
                 'rows bytes',
    'capacity': 'what namespace tool value unit note',
}


def report(name, rows, findings=(), columns=None, n=None, counts=None, **more):
    """rows: {column: value}, what is not named is null."""
    columns = (columns or COLUMNS[name]).split()
    told = {'name': name, 'from': FROM, 'to': TO, 'columns': columns, 'rows': [[row.get(c) for c in columns] for row in rows],
            'n': len(rows) if n is None else n, 'findings': list(findings), **more}
    return {**told, 'counts': counts} if counts else told


def finding(name, code, text, level='warning', **more):
    return {'report': name, 'code': code, 'level': level, **more, 'text': text}


def _effects(name, rows, code, text, **more):
    """A report of effects, each of which is a finding."""
    dice = random.Random(name)
    for row in rows:
        row.update(namespace='default', effect=str(uuid.UUID(int=dice.getrandbits(128))))
    found = [finding(name, code, text, namespace='default', tool=row['tool'], effect=row['effect'], next=f'effectctl explain {row["effect"]}') for row in rows]
    return report(name, rows, found, **more)


def busy_day():
    tools = ['refund_order', 'send_email', 'deploy_service', 'charge_card', 'sign_contract']
    at = '2026-11-30T02:10:00.000Z'
    missing = {'exact': False, 'missing': [{'instance': '3f0e8b3c-9a51-4c5d-8e1f-2a3b6f0cb3a6', 'host': 'pay2', 'after': '2026-11-29T23:14:09.000Z'}]}
    counted = [dict.fromkeys(COLUMNS['summary'].split(), 0) | {
        'namespace': 'payments' if tool == 'charge_card' else 'default', 'tool': tool, 'calls': 41295 >> 3 * i, 'n': 41295 >> 3 * i, 'replays': 825 >> 2 * i,
        'dedup_rate': 0.0213 * (i + 1) if i < 4 else None, 'dedup_rate_before': 0.0141 if i < 4 else None, 'unknown_rate': 0.0002,
        'resolve_p50_ms': None, 'answer_p99_ms': 14} for i, tool in enumerate(tools)]
    days = {
        'summary': report('summary', counted, [
            finding('summary', 'busy_high', '23.1 % of 5161 calls were told busy', namespace='default', tool='send_email',
                    next='effectctl list --state pending --namespace default --tool send_email')], counts=missing),
        'stuck': _effects('stuck', [{'tool': tools[i % 3], 'key': f'key:{i}', 'state': 'unknown', 'attempt': 1, 'age_ms': 3600000 * (9 - i), 'owner': f'worker {i}',
                                     'last_probe': 'inconclusive: 502', 'next_step': 'probe', 'since_at': at} for i in range(7)], 'unknown_old',
                          'nobody has known for hours whether attempt 1 landed'),
        'escalated': _effects('escalated', [{'tool': 'refund_order', 'key': 'refund:1042:3', 'attempt': 2, 'age_ms': 40000000, 'reason': 'deadline'}], 'escalated',
                              'waits for a person'),
        'incidents': _effects('incidents', [{'tool': 'deploy_service', 'key': 'deploy:api:418', 'kind': 'late', 'attempt': 1, 'noted_at': at, 'by': 'caller'}],
                              'incident', 'both attempts landed'),
        'duplicates': _effects('duplicates', [{'tool': 'charge_card', 'key': f'charge:{i}:14', 'twin_key': f'charge:{i}:13', 'gap_ms': 21000, 'claimed_at': at,
                                               'how': 'business'} for i in range(4)], 'duplicate', 'another effect of its business key was done 21 s before', n=31),
        'mismatches': _effects('mismatches', [{'tool': 'refund_order', 'fields': '/amount', 'n': 41, 'effects': 17, 'last_at': at}], 'mismatch_field',
                               'differ in /amount'),
        'churn': _effects('churn', [{'tool': 'send_email', 'run': 'run 500', 'business': '77', 'n_keys': 9, 'granted': 4, 'keys': ['a', 'b']}], 'key_churn',
                          'one run used 9 keys'),
        'budgets': report('budgets', [{'namespace': 'default', 'tool': 'refund_order', 'turns': 410, 'turns_spent': 3, 'refused': 44}]),
        'timeouts': report('timeouts', [{'namespace': 'default', 'tool': tool, 'n': 20000, 'p50_ms': 400, 'p99_ms': 2600, 'lease_ms': 60000, 'lapsed': 2}
                                        for tool in tools]),
        'retention': report('retention', [{'namespace': 'default', 'tool': tool, 'keep_key_ms': 2592000000, 'n': 1420, 'oldest_ms': 7200000, 'under_1m': 900,
                                           'under_1h': 400, 'under_1d': 120, 'under_7d': 0, 'under_30d': 4, 'over_30d': 0, 'reruns': 0, 'bytes': 434110464}
                                          for tool in tools],
                            [finding('retention', 'memory_long', 'no repeat came after more than 2 h', 'advice', tool='refund_order', next='effectctl tools list')]),
        'capacity': report('capacity', [{'what': 'oldest transaction', 'value': 4210.5, 'unit': 's', 'note': 'vacuum cannot clean behind it'},
                                        {'what': 'bytes of effect.ledger', 'value': 612345678, 'unit': 'bytes'},
                                        {'what': 'dead rows', 'value': 0.041, 'unit': 'share'}, {'what': 'ledger rows, done', 'value': 1204551, 'unit': 'rows'}]),
    }
    days['daily'] = report('daily', [{'report': name, 'n': day['n'], 'warnings': len(day['findings'])} for name, day in days.items()],
                           [one for day in days.values() for one in day['findings']], 'report n warnings advice')
    return days


def quiet_day():
    days = busy_day()
    for name, day in days.items():
        day['findings'] = []
        if name not in ('summary', 'capacity', 'daily'):
            day['rows'], day['n'] = [], 0
    days['summary']['counts'] = {'exact': True, 'missing': []}
    return days


def hostile_day():
    """The busy one, each text of which is one of a stranger."""
    days = busy_day()
    for day in days.values():
        day['rows'] = [[cell if not isinstance(cell, str) or cell.startswith('2026-') else NASTY + cell for cell in row] for row in day['rows']]
        for one in day['findings']:
            one.update({member: NASTY + one.get(member, '') for member in ('namespace', 'tool', 'code', 'text', 'next')})
        for one in day.get('counts', {}).get('missing', []):
            one['host'] = NASTY
    days['stuck']['rows'][0][3] = 'w' * 300 + '<b>' + '\u05d0\u05d1\u05d2' * 20
    days['stuck']['rows'][1][3] = '\u6f22\u5b57' * 40
    return json.loads(json.dumps(days))


def play(days, **instead):
    """A daemon that tells these; instead: by report, another answer."""
    def answer(request):
        name = request['params']['name']
        return instead.get(name, days.get(name))
    return Peer(answer)
