#!/usr/bin/python3
"""Where the key comes from: what breaks it, and the cure. For each kind the same two calls are made by a policy whose key breaks
and by one whose key does not; the provider's own book is the judge, and `effectctl tools lint` must have said so beforehand."""
import collections
import json
import os
import subprocess

from harness import *

SOUND = {'class': 'accumulate', 'escalate_after': '1h'}  # nothing that lint would say of it besides its key
ORDER = {'order_id': 1042, 'amount': '12.50'}
CURE = {'key': 'pay:{/order_id}'}


def kind(name, code, broken, first, again, cure=None, want=2, **more):
    """first, again: params of begin beside the tool; again is a repeat of the first (want: how often it is done by the broken
    policy), or another effect where its policy does it too seldom (want 1, and `cured` 2)."""
    return {'name': name, 'code': code, 'broken': broken, 'first': first, 'again': again, 'cure': cure or CURE, 'want': want,
            'cured': 1, **more}


def args(**more):
    return {'args': {**ORDER, **more}}


KINDS = [
    kind('a tool-call id', 'key_call_id', {'key': 'pay:{/tool_call_id}'}, args(tool_call_id='c1'), args(tool_call_id='c3'),
         {**CURE, 'ignore': ['/tool_call_id']}),
    kind('a uuid that the client makes', 'key_call_id', {'key': 'pay:{/uuid}'}, args(uuid='0b0f'), args(uuid='77aa'), {**CURE, 'ignore': ['/uuid']}),
    kind('a text that the model words', 'key_free_text', {'key': 'pay:{/order_id}:{/memo}'}, args(memo='late parcel'), args(memo='parcel was late'),
         {**CURE, 'ignore': ['/memo']}),
    kind('all args, one of them worded anew', 'key_all_args', {'key': '{run}:{args}'}, {'run': 'r', **args(memo='late parcel')},
         {'run': 'r', **args(memo='parcel was late')}, {'key': '{run}:{args}', 'ignore': ['/memo']}),
    kind('the default key, asked again in other words', 'no_key', {}, {'run': 'r', 'step': 1, **args(memo='late parcel')},
         {'run': 'r', 'step': 1, **args(memo='parcel was late')}, {**CURE, 'ignore': ['/memo']}),
    kind('a bucket of the clock, at its edge', 'key_clock', {'key': 'pay:{/order_id}:{/minute}'}, args(minute='12:00'), args(minute='12:01'),
         {**CURE, 'ignore': ['/minute']}),
    kind('a credential that is good for a short while', 'key_token', {'key': 'pay:{/order_id}:{/payment_token}'}, args(payment_token='p1'),
         args(payment_token='p2'), {**CURE, 'secret': ['/payment_token']}),
    kind('the turn', 'key_per_turn', {'key': 'pay:{turn}:{/order_id}'}, {'turn': 1, **args()}, {'turn': 2, **args()}),
    # the other way round: an effect that is not done, since it is taken for another one
    kind('a step without its run', 'key_step_without_run', {'key': 'nightly:{step}'}, {'run': 'monday', 'step': 1, **args()},
         {'run': 'tuesday', 'step': 1, **args()}, {'key': 'nightly:{run}:{step}'}, want=1, cured=2),
    kind('nothing of the call', 'key_constant', {'key': 'pay:{tool}'}, args(), args(), {'key': 'pay:{run}:{step}'}, want=1, cured=2,
         extra=({'run': 'r', 'step': 1}, {'run': 'r', 'step': 2})),
    kind('the run alone', 'key_per_run', {'key': 'pay:{run}'}, {'run': 'r', **args()}, {'run': 'r', **args()}, {'key': 'pay:{run}:{step}'}, want=1,
         cured=2, extra=({'step': 1}, {'step': 2})),
]


def findings(policy):
    where = folder()
    with open(os.path.join(where, 'tools.json'), 'w', encoding='utf-8') as out:
        json.dump(policy, out)
    told = subprocess.run([program('effectctl'), '--json', 'tools', 'lint', where], capture_output=True, text=True, check=False)
    return [(f['code'], f['pointer']) for f in json.loads(told.stdout)['findings'] if f['level'] != 'advice']


class Provider:
    """Does what it is told; `book` says how often."""

    def __init__(self, dedups=False):
        self.book, self.dedups, self.known = collections.Counter(), dedups, set()

    def pay(self, what, key=None):
        if self.dedups and key in self.known:
            return
        self.known.add(key)
        self.book[what] += 1


def guarded(conn, provider, what, params):
    """A wrapper's work; what it was told."""
    told = conn.call('begin', params)
    if told['decision'] == 'run':
        provider.pay(what)
        conn.call('complete', effect=told['effect'], token=told['token'], result={'paid': what})
    return told['decision']


def kinds(daemon):
    policies = []
    for n, k in enumerate(KINDS):
        k['bad'], k['good'] = ({'name': f'{word} {n}', **SOUND, **k[of]} for word, of in (('broken', 'broken'), ('cured', 'cure')))
        policies += [k['bad'], k['good']]
    daemon.set_tools(policies)
    daemon.hup()
    daemon.wait_log('config and policies are in force')
    with daemon.connect() as conn:
        for k in KINDS:
            is_(findings(k['bad']), [(k['code'], '/key')], f'{k["name"]}: lint finds it')
            is_(findings(k['good']), [], f'{k["name"]}: and nothing in its cure')
            for policy, want, how in ((k['bad'], k['want'], 'broken'), (k['good'], k['cured'], 'cured')):
                provider = Provider()
                for call, extra in zip((k['first'], k['again']), k.get('extra', ({}, {}))):
                    guarded(conn, provider, 'it', {'tool': policy['name'], **call, **extra})
                is_(provider.book['it'], want, f'{k["name"]}, {how}: done {want} times by the provider\'s book')


def steps(conn):
    """case 40: ordinal steps under parallel branches, drawn in another order after a resume."""
    def branches(tool, order):
        for step, what in enumerate(order):
            guarded(conn, provider, what, {'tool': tool, 'run': f'of {tool}', 'step': step, 'args': {'order_id': what}})

    for tool, want in (('by step', 2), ('by order', 1)):
        provider = Provider()
        branches(tool, ['A', 'B', 'C'])
        branches(tool, ['B', 'C', 'A'])  # resumed
        is_(set(provider.book.values()), {want}, f'case 40: ordinal steps, {tool}: each branch is done {want} times')


def checkpoint(daemon, conn):
    """What a checkpoint may hold: the key and the args, persisted before the call; never the request."""
    provider = Provider()
    saved = {'tool': 'by order', 'key': 'checkpoint 1', 'args': ORDER, 'request': request_id()}
    told = conn.call('begin', saved)
    provider.pay('it')  # and dies; effectd is restarted meanwhile
    daemon.kill()
    daemon.start().ready()
    with daemon.connect() as again:
        told = again.call('begin', saved)
        if told['decision'] == 'run':
            provider.pay('it')
        is_(provider.book['it'], 2, 'a request that came out of a checkpoint is told the same grant again: done twice')
        provider = Provider()
        saved = {'tool': 'by step', 'run': 'c', 'step': 7, 'args': {'order_id': 1, 'memo': 'as it was said'}}
        saved['key'] = again.call('key', saved)['key']  # persisted before the call
        is_(guarded(again, provider, 'it', {**saved, 'request': request_id()}), 'run', 'a key that was persisted before the call')
        worded = {**saved, 'step': 9, 'args': {**saved['args'], 'memo': 'in other words'}}
        is_([guarded(again, provider, 'it', {**params, 'request': request_id()}) for params in (saved, worded)], ['replay', 'mismatch'],
            'is found again after a resume, in whatever step; other words under it are told, and not done')
        is_(provider.book['it'], 1, 'done once')
        provider = Provider()
        told = [guarded(again, provider, 'it', {'tool': 'by step', 'run': f'worker {n}', 'step': n, 'key': 'order message 4711', 'args': ORDER})
                for n in range(2)]
        is_((told, provider.book['it']), (['run', 'replay'], 1), 'a key that was handed out of band: a message that is delivered twice is done once')


def providers_key(conn):
    """case 38, at a provider that deduplicates, under on_unknown = retry: by the model's key, and by ours."""
    for tool, want in (('models key', 2), ('our key', 1)):
        provider = Provider(dedups=True)
        for n in range(2):
            call_args = {**ORDER, 'idempotency_key': f'made up {n}'}
            told = conn.call('begin', tool=tool, args=call_args, lease_ms=1000)
            is_((told['decision'], told['attempt']), ('run', n + 1), f'{tool}: attempt {n + 1}')
            if 'provider_key_to' in told:
                call_args[told['provider_key_to'][1:]] = told['provider_key']
            provider.pay('it', call_args['idempotency_key'])
            conn.call('unknown', effect=told['effect'], token=told['token'], reason='the reply was lost')
        is_(provider.book['it'], want, f'case 38: {tool}: done {want} times by the provider\'s book')


RETRY = {'class': 'accumulate', 'key': 'pay:{/order_id}', 'on_unknown': 'retry', 'retry_window': '1h', 'escalate_after': '1h'}
MORE = [{'name': 'by step', **SOUND, 'key': '{run}/{step}/{/order_id}'}, {'name': 'by order', **SOUND, 'key': '{run}/{/order_id}'},
        {'name': 'models key', **RETRY, 'ignore': ['/idempotency_key']}, {'name': 'our key', **RETRY, 'provider_key_to': '/idempotency_key'}]
with Cluster() as the_cluster, Daemon(the_cluster, tools=MORE) as the_daemon:
    the_daemon.ready()
    with the_daemon.connect() as the_conn:
        steps(the_conn)
        providers_key(the_conn)
        checkpoint(the_daemon, the_conn)
    is_([findings(policy) for policy in MORE], [[], [], [('retry_unkeyed', '/on_unknown')], []], 'lint knows which of them hands the key out')
    kinds(the_daemon)
    is_(the_cluster.invariants(), [], 'no invariant is hurt')
done()
