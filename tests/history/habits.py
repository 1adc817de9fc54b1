"""The tools of the history: their policies, and how their callers behave.

Twelve tools in three namespaces. What is wrong with a tool as a whole (its lease, its memory, its callers' time-out) is wrong here,
in `fault`, for the whole 30 days; what is wrong with single effects is planted by plants.py. All other figures are those of tools
that nothing should be said about.
"""
import json

S, M, H, D = 1000, 60000, 3600000, 86400000
NEVER = '/bin/false'  # nobody is to ask these providers: the history's daemon is stopped when it begins

# share: of all effects. med_ms, sd: claim to completion, lognormal. swing: how much more is done by day than by night, peak: at
# what part of the day. Shares of effects: failed; released (half of them done by a second attempt); unknown (told so by the
# caller, then settled by a probe, by a late report, or by a person). replays, busy, mismatch: of calls, for each effect.
# far: of the replays, how many come hours or days later, up to that part of the key's memory; the others within 20 minutes.
HABIT = {'med_ms': 300, 'sd': 0.6, 'swing': 0.7, 'peak': 0.6, 'failed': 0.008, 'released': 0.006, 'unknown': 0.012,
         'gave_up_ms': 20000, 'replays': 0.08, 'far': 0.03, 'far_part': 0.45, 'busy': 0.01, 'mismatch': 0.0004}


def tool(namespace, name, share, habit=None, fault=None, **policy):
    policy = {'name': name, 'namespace': namespace, 'class': 'irreversible', 'keep_key': '30d', 'keep_result': '30d',
              'lease': '60s', 'probe': {'exec': {'argv': [NEVER, '{provider_key}']}}, **policy}
    if policy['probe'] is None:
        del policy['probe']
    return {'namespace': namespace, 'name': name, 'share': share, 'policy': policy, 'fault': fault, **HABIT, **(habit or {})}


TOOLS = [
    tool('payments', 'refund_order', 0.18, key='refund:{/order_id}:{/line}', keep=['/amount', '/line', '/order_id']),
    tool('payments', 'charge_card', 0.13, turn_budget=3, turn_asks=40, key='charge:{/cart_id}', escalate_after='3d',
         probe_backoff=['2s', '1m', '30h']),
    tool('payments', 'payout', 0.05, {'unknown': 0.03}, key='payout:{/id}', on_unknown='retry', retry_window='10m'),
    tool('payments', 'settle_batch', 0.04, {'med_ms': 4000, 'sd': 0.45, 'unknown': 0.002}, fault='lease', key='batch:{/id}',
         lease='10s'),
    tool('mail', 'send_email', 0.20, key='mail:{/to}:{/subject}:{/memo}', business_key=['/to', '/subject'], probe=None,
         on_unknown='human', on_business_duplicate='report', habit={'unknown': 0.002}),
    tool('mail', 'send_sms', 0.09, {'far': 0.06, 'far_part': 0.97}, fault='memory', key='sms:{/to}:{/id}', keep_key='1d',
         keep_result='1d', business_key=['/to', '/id'], business_window='1d', on_business_duplicate='report'),
    tool('mail', 'newsletter', 0.06, {'peak': 0.1, 'swing': 0.9}, fault='result', key='news:{/issue}:{/to}', keep_result='5m'),
    tool('mail', 'post_message', 0.06, {'mismatch': 0.03}, fault='mismatch', key='post:{/channel}:{/day}', keep=['/channel', '/day', '/text'],
         **{'class': 'accumulate'}),
    tool('infra', 'deploy', 0.03, {'med_ms': 60000, 'sd': 0.5, 'unknown': 0.03, 'gave_up_ms': 90000}, fault='client',
         key='deploy:{/service}:{/version}', lease='15m', settle='10s'),
    tool('infra', 'create_ticket', 0.09, key='ticket:{/alert}:{/n}', keep_key='7d', keep_result='7d', fault='late'),
    tool('infra', 'scale_group', 0.07, {'far': 0.0}, fault='long', key='scale:{/group}:{/at}', keep_key='20d',
         keep_result='20d'),
    tool('infra', 'read_metrics', 0.0, **{'class': 'read'}),
]


def by_name(name):
    return next(t for t in TOOLS if t['name'] == name)


def policies():
    return [t['policy'] for t in TOOLS]


def number(name):
    return next(n for n, t in enumerate(TOOLS, 1) if t['name'] == name)


def ms(duration):
    """'30d' in milliseconds."""
    n, unit = (duration[:-2], 'ms') if duration.endswith('ms') else (duration[:-1], duration[-1])
    return int(n) * {'ms': 1, 's': S, 'm': M, 'h': H, 'd': D}[unit]


def table(only=None):
    """SQL that fills the temporary table `habit`. only: the one tool that all effects are of."""
    rows, at = [], 0.0
    for n, t in enumerate(TOOLS, 1):
        share = t['share'] if only is None else float(t['name'] == only)
        policy = t['policy']
        cells = [n, t['namespace'], t['name'], at, at + share, t['med_ms'], t['sd'], t['swing'], t['peak'], t['failed'],
                 t['released'], t['unknown'], t['gave_up_ms'], t['replays'], t['far'], t['far_part'], t['busy'], t['mismatch'],
                 ms(policy['keep_key']), ms(policy['keep_result']), ms(policy['lease']), 'business_key' in policy,
                 'turn_budget' in policy, 'probe' in policy, t['fault'] == 'late', policy.get('key', '').split(':')[0]]
        rows.append('(' + ', '.join(json.dumps(c) if not isinstance(c, str) else f"'{c}'" for c in cells) + ')')
        at += share
    return 'insert into habit values\n  ' + ',\n  '.join(rows) + ';\n'
