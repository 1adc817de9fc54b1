#!/usr/bin/python3
"""The package effectd as its users meet it, against a real daemon: guarded functions, methods, blocks and tasks; what is recorded of
what a function comes to, and what a repeat gets; keys, contexts, options, the plain methods, and the read tool of a model."""
import asyncio
import copy
import dataclasses
import functools
import http.client
import inspect
import pickle
import threading
import typing

from harness import *
from pyclient import *
import effectd

BOOK = "select ($1::json ->> 'order')::int as \"order\", ($1::json ->> 'n')::int * 2 as n"
TOOLS = [{'name': 'book', 'key': 'book:{/order}', 'execute': {'query': BOOK, 'user': 'clerk'}},
         {'name': 'long', 'key': 'long:{/order}', 'execute': {'query': "select repeat('x', 90000) from (select $1::json) a", 'user': 'clerk'}},
         tool(), tool('by_args', key='by:{/order_id}:{/line}', ignore=['/memo']), tool('by_place', key='{run}:{step}'),
         tool('fails', on_error='failed'), tool('again', on_error='released'), {'name': 'reads', 'class': 'read'},
         tool('twins', business_key=['/order_id'], business_window='1h', on_business_duplicate='hold'),
         tool('short', lease='1s'), tool('bounded', max_attempts=1), tool('keyed', key='k:{/order_id}', provider_key_to='/options/key')]


def error_of(call, *args, kind=BaseException, **kwargs):
    """What it raises."""
    try:
        call(*args, **kwargs)
    except kind as error:
        return error
    return None


def of_task(coroutine):
    return asyncio.run(coroutine)


def test_guarded(ledger, relay):
    calls = []

    @ledger.tool('by_args')
    def refund(order_id: int, line: int = 3, *, memo: str = '', effect: effectd.Claim) -> dict:
        """Pays back."""
        calls.append(effect)
        return {'refund': f're_{order_id}', 'provider_key': effect.provider_key}

    relay.clear()
    first = refund(1042)
    is_(methods(relay), ['begin', 'complete'], 'a guarded call is two lines out')
    is_(len(relay.answers), 2, 'and two lines in')
    is_(relay.requests[0]['params']['args'], {'order_id': 1042, 'line': 3, 'memo': ''},
        'its args are the arguments by name, defaults included, without the claim')
    is_(refund(1042, line=3, memo='worded anew'), first, 'a repeat gets the recorded value')
    is_(len(calls), 1, 'and nothing is called')
    claim = calls[0]
    is_((claim.key, claim.attempt, claim.provider_key, claim.id), ('by:1042:3', 1, first['provider_key'], claim.provider_key),
        'the function was told its claim')
    is_((refund.__name__, refund.__doc__, str(inspect.signature(refund)), sorted(typing.get_type_hints(refund))),
        ('refund', 'Pays back.', "(order_id: int, line: int = 3, *, memo: str = '') -> dict", ['line', 'memo', 'order_id', 'return']),
        'name, doc and signature are the function\'s, but for the claim')
    again = effectd.outcome(refund, 1042)
    is_((again.replayed, again.value, again.key), (True, first, 'by:1042:3'), 'outcome() says that it is a replay')
    like(again.raw.decode(), r'^\{"refund":"re_1042",', 'and has the recorded bytes')
    fresh = effectd.outcome(refund, 7)
    is_((fresh.replayed, fresh.raw, fresh.attempt), (False, None, 1), 'a fresh outcome says that it is none')
    is_(type(error_of(refund)), TypeError, 'a call that the function would not take is a TypeError')
    is_(type(error_of(refund, 1, effect=claim)), TypeError, 'and so is one that gives it a claim')
    error = error_of(refund, {1, 2})
    is_((type(error), error.pointer), (effectd.InvalidParams, '/args/order_id'), 'an argument that is no JSON is named')
    is_(len(calls), 2, 'none of these called anything')


def test_methods_and_kinds(ledger):
    class Shop:
        @ledger.tool('by_args')
        def refund(self, order_id, line, *more, **named):
            return [order_id, line, list(more), named]

        @classmethod
        @ledger.tool('t', key=lambda cls, number: f'class {number}')
        def of_class(cls, number):
            return [cls.__name__, number]

        @staticmethod
        @ledger.tool('t', key='static')
        def of_none():
            return 'static'

    shop = Shop()
    is_(shop.refund(2, 1, 'a', memo='m'), [2, 1, ['a'], {'memo': 'm'}], 'a method is guarded without its self')
    is_(Shop().refund(2, 1, 'a', memo='n'), [2, 1, ['a'], {'memo': 'm'}], 'and is the same effect for another object')
    is_(Shop.of_class(1), ['Shop', 1], 'a class method')
    is_(shop.of_none(), 'static', 'a static method')
    is_(effectd.outcome(shop.refund, 2, 1, 'a', memo='o').replayed, True, 'outcome() takes a method')
    is_(effectd.override(shop.refund, wait=0)(2, 1, 'a', memo='p'), [2, 1, ['a'], {'memo': 'm'}], 'and so does override()')

    def numbers():
        yield 1

    async def later():
        yield 1

    for fn in (numbers, later):
        is_(type(error_of(ledger.tool('t'), fn)), TypeError, f'{fn.__name__}: generators are refused')

    async def coroutine():
        return 1

    lazy = ledger.tool('t', key='lazy', wait=0)(lambda: coroutine())  # pylint: disable=unnecessary-lambda
    is_(type(error_of(lazy)), TypeError, 'a function that returns a coroutine has done nothing yet')
    is_(type(error_of(lazy)), effectd.Unknown, 'and its outcome is unknown')
    is_(type(error_of(ledger.tool('t', key='map')(lambda: map(print, [1])))), TypeError, 'nor has one that returns an iterator')
    is_(ledger.tool('t', key='partial')(functools.partial(sum, [1, 2]))(), 3, 'a partial is guarded')
    is_(type(error_of(effectd.outcome, numbers)), TypeError, 'outcome() of a function that is not guarded is a TypeError')
    is_(type(error_of(ledger.tool('t', weight=1), sum)), TypeError, 'an option that there is not is a TypeError')


class Foreseen(Exception):
    pass


def ends_by(ledger, name, key, error, **more):
    """What the caller of a function gets that ends by this error, and what the next one gets."""
    def fn():
        raise error
    first = error_of(ledger.tool(name, key=key, **more)(fn))
    second = None
    try:
        second = ledger.tool(name, key=key, wait=0)(lambda: 'ran')()
    except effectd.EffectError as told:
        second = told
    return first, second


def test_endings(ledger):
    refused = effectd.Failed('card declined', {'code': 51})
    first, second = ends_by(ledger, 't', 'failed', refused)
    ok(first is refused, 'Failed reaches the caller as it is')
    is_((type(second), second.replayed, second.value), (effectd.Failed, True, {'code': 51}), 'and the next one as a replay')
    like(str(second), r'nothing was called now', 'which says so')
    like(second.at, r'^\d{4}-', 'and from when it is')
    _, second = ends_by(ledger, 't', 'failed plainly', effectd.Failed('no'))
    is_(second.value, {'error': 'Failed: no'}, 'without a value its text is recorded')
    for name, kind, want in (('fails', effectd.ToolError('x', 1), effectd.Failed), ('again', effectd.ToolError('x'), str),
                             ('t', effectd.ToolError('x'), effectd.Unknown)):
        first, second = ends_by(ledger, name, 'tool error', kind)
        is_((first, type(second)), (kind, want), f'ToolError means what the policy of {name} says')
    first, second = ends_by(ledger, 'again', 'foreseen', Foreseen('busy signal'), errors=(Foreseen,))
    is_((type(first), second), (Foreseen, 'ran'), 'a kind named in errors= is the tool\'s own error')
    first, second = ends_by(ledger, 't', 'not sent', effectd.NotSent('no such order'))
    is_((type(first), second), (effectd.NotSent, 'ran'), 'NotSent lets the next one run')
    _, second = ends_by(ledger, 't', 'own', ValueError('who knows'))
    is_(type(second), effectd.Unknown, 'any other error leaves the outcome unknown')
    like(str(second), r'.{20}', 'with the advice as its text')

    class ReadTimeout(Foreseen):
        pass

    class APIConnectionError(Foreseen):
        pass
    shown, hidden = Foreseen('no answer'), Foreseen('in its place')
    shown.__context__ = OSError(0, 'timed out')
    hidden.__cause__ = ConnectionResetError()
    for error in (TimeoutError(), ReadTimeout(), KeyboardInterrupt(), SystemExit(3), GeneratorExit(), asyncio.CancelledError(),
                  ConnectionResetError(), BrokenPipeError(), APIConnectionError(), http.client.RemoteDisconnected('cut'),
                  http.client.IncompleteRead(b''), Exception('the socket was closed'), shown, hidden):
        first, second = ends_by(ledger, 'again', repr(error), error, errors=(Exception,))
        is_((first, type(second)), (error, effectd.Unknown), f'{error!r} is unknown, whatever was foreseen')


def test_stopped(ledger):
    """One that stops because its claim is lost has had no answer of the tool."""
    def fn(*, effect):
        effect._grant.lost = True  # as the keeper says
        raise Foreseen('it was told to stop')
    is_(type(error_of(ledger.tool('again', key='stopped', errors=(Foreseen,))(fn))), Foreseen, 'a lost claim: the caller gets the error')
    is_(type(error_of(ledger.tool('again', key='stopped', wait=0)(lambda: 'ran'))), effectd.Unknown, 'and its outcome is unknown')


def test_collected(ledger):
    """The collector takes a claim away in the midst of anything, in a thread that may hold any lock."""
    with ledger.claim('t', key='collected') as claim:
        keeper = ledger._keeper
        with keeper.lock:
            thread = threading.Thread(target=keeper.remove, args=(claim._grant,), daemon=True)
            thread.start()
            thread.join(2 * SLOW)
            ok(not thread.is_alive(), 'who takes a claim away waits for nobody')
        claim.done(1)


def test_nested(ledger):
    inner = ledger.tool('t', key='inner')(lambda: (_ for _ in ()).throw(effectd.NotSent('inner sent nothing')))
    outer = ledger.tool('t', key='outer', wait=0)(inner)
    is_(type(error_of(outer)), effectd.NotSent, 'an error of a call within reaches the outer caller')
    is_(type(error_of(outer)), effectd.Unknown, 'and says nothing about the outer call')
    reused = effectd.Failed('the same object again')
    for key in ('reused 1', 'reused 2'):
        _, second = ends_by(ledger, 't', key, reused)
        is_(type(second), effectd.Failed, f'{key}: an error that is raised twice is told twice')


@dataclasses.dataclass
class Receipt:
    number: int


def test_lost_and_late(ledger, relay, daemon):
    asked = ledger.tool('t', key='lost')(lambda: 'value')
    relay.clear()
    relay.lose = 1
    is_(asked(), 'value', 'begin is lost on its way: it is sent again')
    is_(methods(relay), ['begin', 'begin', 'complete'], 'by one more line')
    is_(relay.requests[0], relay.requests[1], 'the same to the letter')
    with ledger.claim('t', key='lost record') as claim:
        relay.lose = 1
        claim.done('value')
    is_(effectd.outcome(ledger.tool('t', key='lost record')(lambda: 0)).value, 'value', 'complete is lost on its way: the value is recorded')
    relay.go.clear()
    told = []
    thread = threading.Thread(target=lambda: told.append(error_of(ledger.tool('short', key='late')(lambda: told.append('called')))))
    thread.start()
    wait_until(lambda: state_at(daemon, 'late', 'short') == 'unknown', 20, 'the lease of what nobody was told is over')
    relay.go.set()
    thread.join()
    is_([type(one) for one in told], [effectd.Late], 'a run that comes after its lease is not started')
    is_(state_at(daemon, 'late', 'short'), 'released', 'and given back')


def test_values(ledger, relay):
    odd = ledger.tool('t', key='odd')(lambda: {1, 2})
    is_(odd(), {1, 2}, 'a value that is no JSON reaches the caller')
    is_(type(error_of(odd)), effectd.ResultGone, 'the next one is told that it was done, and that its value is gone')
    kept = ledger.tool('t', key='hooks', encode=dataclasses.asdict, decode=lambda kept: Receipt(**kept))(lambda: Receipt(7))
    is_((kept(), kept()), (Receipt(7), Receipt(7)), 'encode and decode make both ends the same')
    bad = ledger.tool('t', key='hooks', decode=lambda kept: kept['nothing'])(lambda: 1)
    error = error_of(bad)
    is_((type(error), error.raw, type(error.__cause__)), (effectd.ResultGone, b'{"number":7}', KeyError),
        'a decode that fails leaves the bytes')
    for number, value in enumerate((None, 2 ** 70, 1.5, 'a\0b\ud800', [[]], {'x': {'y': [1]}}, 'ä\u2028', True)):
        with ledger.claim('t', key=f'value {number}') as claim:
            claim.result = value
        is_(effectd.outcome(ledger.tool('t', key=f'value {number}')(lambda: 0)).value, value, f'{value!r} comes back')
    with relay.connect() as conn:
        for name, text in (('deep', b'[' * 20000 + b']' * 20000), ('long', b'1' * 6000), ('spaced', b'{ "a" : 1.0,"b":[1e2 ] }')):
            run = conn.call('begin', tool='t', key=name)
            conn.send_raw(b'{"jsonrpc":"2.0","id":99,"method":"complete","params":{"effect":"%s","token":"%s","result":%s}}\n' % (
                run['effect'].encode(), run['token'].encode(), text))
            conn.recv(99)
    nothing = lambda key: ledger.tool('t', key=key)(lambda: 0)  # noqa: E731
    error = error_of(nothing('deep'))
    is_((type(error), error.raw), (effectd.ResultGone, b'[' * 20000 + b']' * 20000), 'a result too deep for Python is at hand as bytes')
    is_(int(effectd.outcome(nothing('long')).value) % 10, 1, 'a number of 6000 digits comes back exactly')
    is_(effectd.outcome(nothing('spaced')).raw, b'{ "a" : 1.0,"b":[1e2 ] }', 'the bytes of a replay are those recorded')
    big = ledger.tool('t', key='big')(lambda: 'x' * 1100000)
    is_(len(big()), 1100000, 'a value longer than a line reaches its caller')
    is_(type(error_of(big)), effectd.ResultGone, 'and is recorded by its size')


def test_blocks(ledger):
    with ledger.claim('t', key='block') as claim:
        ok(claim.run and not claim.replayed, 'a block is told that it runs')
        claim.result = {'n': 1}
    with ledger.claim('t', key='block') as claim:
        is_((claim.run, claim.result, claim.raw), (False, {'n': 1}, b'{"n":1}'), 'the next one has the result')
    with ledger.claim('t', key='early') as claim:
        claim.done('at once')
        is_(ledger.get(tool='t', key='early')['state'], 'done', 'done() records at once')

    def silent():
        with ledger.claim('t', key='silent'):
            pass
    is_(type(error_of(silent)), RuntimeError, 'a block without a result says so')
    is_(ledger.get(tool='t', key='silent')['state'], 'unknown', 'and leaves the outcome unknown')

    def after():
        with ledger.claim('t', key='after') as claim:
            claim.result = 1
            raise ValueError('later')
    is_((type(error_of(after)), ledger.get(tool='t', key='after')['outcome']), (ValueError, 'succeeded'),
        'an error after the result does not unmake it')
    for method, state in (('failed', 'done'), ('not_sent', 'released')):
        def ends(method=method):
            with ledger.claim('t', key=method) as claim:
                raise getattr(claim, method)('no')
        error_of(ends)
        is_(ledger.get(tool='t', key=method)['state'], state, f'claim.{method}() makes it {state}')
    with ledger.claim('reads', {'x': 1}) as claim:
        is_((claim.run, claim.id), (True, None), 'a read runs without a claim')
    is_([ledger.tool('reads')(lambda: 5)() for _ in range(2)], [5, 5], 'and each time anew')
    with ledger.claim('t', key='longer') as claim:
        ok(3590 < claim.extend(3600) <= 3600, 'a claim can be extended by hand')
        claim.result = None


def test_decisions(ledger):
    raised = {}

    def holding():
        raised['busy'] = error_of(ledger.tool('t', key='held', wait=0)(lambda: 0))
    ledger.tool('t', key='held')(holding)()
    is_((type(raised['busy']), raised['busy'].retry_after > 0), (effectd.Busy, True), 'Busy while somebody holds it')
    ledger.tool('by_args')(lambda order_id, line: 1)(9, 9)
    error = error_of(ledger.tool('by_args')(lambda order_id, line: 1), '9', 9)
    is_((type(error), error.key), (effectd.Mismatch, 'by:9:9'), 'Mismatch for other arguments under one key')
    error = error_of(ledger.tool('by_place')(lambda: 1))
    is_((type(error), bool(error.why)), (effectd.InvalidParams, True), 'InvalidParams where no key can be derived')
    one = ledger.tool('bounded', key='once')
    error_of(one(lambda: (_ for _ in ()).throw(effectd.NotSent(''))))
    is_(type(error_of(one(lambda: 1))), effectd.Exhausted, 'Exhausted when the attempts are used up')
    buy = ledger.tool('twins')(lambda order_id, nth: nth)
    with effectd.run('r', step=1):
        buy(1, nth=1)
    with effectd.run('r', step=2):
        error = error_of(buy, 1, nth=2)
        is_(type(error), effectd.Held, 'Held for a second one of the same business')
        is_(effectd.override(buy, again='the customer asked for two')(1, nth=2), 2, 'which a person\'s reason lets run')
    foreign = effectd.Ledger(ledger._socket, namespace='not_mine')
    is_(type(error_of(foreign.tool('t', key='x')(lambda: 0))), effectd.Denied, 'Denied in another\'s namespace')
    for error in (raised['busy'], error, effectd.Failed('x', {'y': 1}), effectd.NotRecorded('z', [1])):
        for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            is_((type(twin), str(twin), vars(twin)), (type(error), str(error), vars(error)),
                f'{type(error).__name__} survives pickling and copying')
    foreign.close()


def test_provider_key(ledger):
    """case 38"""
    @ledger.tool('keyed')
    def pay(order_id, options):
        return [order_id, options]
    given = {'key': 'made up by a model', 'note': [1]}
    first = pay(1, given)
    is_(first, [1, {'key': ledger.get(tool='keyed', key='k:1')['effect'], 'note': [1]}], 'provider_key_to: the args hold the effect\'s key')
    is_(given['key'], 'made up by a model', 'in a copy of them')
    is_(pay(1, {'key': 'another one', 'note': [1]}), first, 'what a model writes there is no part of the call')
    is_(pay(2, {})[1], {'key': ledger.get(tool='keyed', key='k:2')['effect']}, 'a member that is missing is made')
    is_(ledger.tool('keyed')(lambda **named: named)(order_id=3)['options'], {'key': ledger.get(tool='keyed', key='k:3')['effect']},
        'with the objects on the way to it')
    for number, options in enumerate(([], 'text', [1], None), 4):
        error = error_of(pay, number, options)
        is_((type(error), error.pointer), (effectd.InvalidParams, '/args/options/key'), f'{options!r} takes no key: nothing is called')
        is_(ledger.get(tool='keyed', key=f'k:{number}')['state'], 'released', 'and the claim is given back')
    error = error_of(ledger.tool('keyed')(lambda order_id: 1), 8)
    is_((type(error), ledger.get(tool='keyed', key='k:8')['state']), (effectd.InvalidParams, 'released'), 'nor does a function without it')
    seen = ledger.tool('keyed', args=lambda bound: {'order_id': bound['order']['id'], 'options': {}})(lambda order, *, effect: effect.key)
    is_(seen({'id': 9}), 'k:9', 'a function whose args are made by a hook has the key from its claim')


def test_places(ledger, relay):
    @ledger.tool('by_place')
    def step():
        return 'done'
    relay.clear()
    with effectd.run('run-7'):
        with effectd.run(step=3, turn=2, call='toolu_1'):
            step()
            thread = threading.Thread(target=error_of, args=(step,))
            thread.start()
            thread.join()
            asyncio.run(asyncio.to_thread(step))
    asked = [request['params'] for request in relay.requests if request['method'] == 'begin']
    is_([[one.get(name) for name in ('run', 'step', 'turn', 'call')] for one in asked],
        [['run-7', 3, 2, 'toolu_1'], [None] * 4, ['run-7', 3, 2, 'toolu_1']],
        'run, step, turn and call come from the context, and go along where contexts do')
    is_(effectd.override(step, run='run-7', step=3)(), 'done', 'they can be given for one call')
    with effectd.run('a', step=1, turn=1):
        with effectd.run('b'):
            relay.clear()
            error_of(step)
            is_(relay.requests[0]['params'].get('step'), None, 'a new run has no step')


def test_plain(ledger):
    run = ledger.begin('t', 'plain', {'a': 1})
    is_(run['decision'], 'run', 'begin')
    is_(ledger.begin('t', 'plain', {'a': 1})['decision'], 'busy', 'is asked by another request each time')
    ok(ledger.extend(run['effect'], run['token'], 120)['lease_until'], 'extend')
    is_(ledger.complete(run['effect'], run['token'], {'x': 1})['state'], 'done', 'complete')
    is_(ledger.complete(run['effect'], run['token'], {'x': 1})['already'], True, 'may be said again')
    error = error_of(ledger.complete, run['effect'], run['token'], {'x': 2})
    is_((type(error), error.value), (effectd.Conflict, {'x': 2}), 'another result is a Conflict, which has it')
    for method, state in (('release', 'released'), ('unknown', 'unknown')):
        run = ledger.begin('t', method)
        is_(getattr(ledger, method)(run['effect'], run['token'], 'a reason')['state'], state, method)
    named = ledger.key('by_args', {'order_id': 5, 'line': 6})
    is_((named['key'], sorted(named)), ('by:5:6', ['effect', 'fingerprint', 'key', 'provider_key']), 'key')
    is_(ledger.get(tool='t', key='plain')['result'], {'x': 1}, 'get by key')
    is_(type(error_of(ledger.get, tool='t', key='never')), effectd.NotFound, 'what is not there is NotFound')
    ok(len(ledger.list(tool='t', limit=2)['effects']) == 2, 'list')
    is_(ledger.call('info')['protocol'], 1, 'call')
    is_(ledger.call('begin', {'tool': 't', 'key': 'called'})['decision'], 'run', 'call of begin makes a request of its own')
    is_(type(error_of(ledger.call, 'no_such_method')), effectd.Refused, 'an error is Refused by its name')
    twin = pickle.loads(pickle.dumps(ledger))
    is_(twin.call('info')['protocol'], 1, 'a ledger can be pickled')
    twin.close()
    twin.close()
    is_(twin.call('info')['protocol'], 1, 'and used after it was closed')
    twin.close()


def test_execute(ledger):
    first = ledger.execute('book', {'order': 1, 'n': 2})
    is_((first.value, first.replayed, first.key), ({'order': 1, 'n': 4}, False, 'book:1'), 'execute runs a tool that is SQL')
    again = ledger.execute('book', {'order': 1, 'n': 2})
    is_((again.value, again.replayed), ({'order': 1, 'n': 4}, True), 'once')
    is_(type(error_of(ledger.execute, 'book', {'order': 1, 'n': 3})), effectd.Mismatch, 'and says what else is decided')
    error = error_of(ledger.execute, 'book', {'order': 2, 'n': 'x'})
    is_((type(error), error.sqlstate), (effectd.ToolFailed, '22P02'), 'SQL that raises is ToolFailed')
    long = ledger.execute('long', {'order': 1})
    is_(len(long.value), 90000, 'a result that is too long to be kept is had once')
    is_(type(error_of(ledger.execute, 'long', {'order': 1})), effectd.ResultGone, 'and is gone then')
    is_(type(error_of(ledger.tool('book')(lambda order, n: 1), 1, 2)), effectd.InvalidParams, 'such a tool cannot be guarded')


def test_lookup(ledger):
    look = effectd.lookup_tool(ledger)
    is_((look.name, look.parameters['type']), ('effect_lookup', 'object'), 'the read tool has a name and a schema')
    ledger.tool('by_args')(lambda order_id, line: {'refund': 1})(77, 1)
    found = look(tool='by_args', args={'order_id': 77, 'line': 1})
    is_((found['state'], found['result']), ('done', {'refund': 1}), 'it finds a call by its arguments')
    like(found['advice'], 'do not make it again', 'and says what that means')
    ok('token' not in found, 'it tells no token')
    is_(look(tool='by_args', args={'order_id': 78, 'line': 1})['found'], False, 'what is not there is not found')
    like(look(tool='by_args', args={})['advice'], r'/args', 'a wrong question is answered by what is wrong')
    is_(type(error_of(look, name='x')), TypeError, 'it has no other parameters')
    like(effectd.INSTRUCTIONS, 'effect_lookup', 'the sentence for the model names it')


async def tasks(path):
    async with effectd.AsyncLedger(path) as ledger:
        calls = []

        @ledger.tool('by_args')
        async def refund(order_id: int, line: int, *, effect: effectd.AsyncClaim) -> dict:
            calls.append(effect.key)
            await asyncio.sleep(0)
            return {'refund': order_id}

        answers = await asyncio.gather(*(refund(5000, 1) for _ in range(20)))
        is_((answers, len(calls)), ([{'refund': 5000}] * 20, 1), '20 tasks with one key: one calls, all have its value')
        is_((await effectd.outcome(refund, 5000, 1)).replayed, True, 'outcome() of an async function is awaited')
        async with ledger.claim('t', key='async block') as claim:
            claim.result = 1
        async with ledger.claim('t', key='async block') as claim:
            is_((claim.run, claim.result), (False, 1), 'a block of a task')
            is_(repr(claim), "<AsyncClaim t 'async block' replay>", 'a claim tells what it is of')
        is_((await ledger.key('by_args', {'order_id': 1, 'line': 2}))['key'], 'by:1:2', 'the plain methods are awaited')
        run = await ledger.begin('t', 'async plain')
        is_((await ledger.complete(run['effect'], run['token'], 5))['state'], 'done', 'begin and complete')
        is_((await effectd.lookup_tool(ledger)(tool='t', key='async plain'))['result'], 5, 'the read tool, too')
        await asyncio.gather(*(ledger.tool('t', key=f'wide {n}')(refund_like(n))() for n in range(400)))
        is_((await ledger.list(tool='t', key_prefix='wide ', state='done', limit=1000)).get('cursor'), None, '400 tasks at once')
        is_(type(error_of(ledger.tool('t'), lambda: 1)), TypeError, 'a function that is not async is refused')


def refund_like(number):
    async def fn():
        await asyncio.sleep(0)
        return number
    return fn


async def waiting_herd(path):
    """300 begins wait for one outcome; the daemon reads 256 from a connection, and must read the report all the same."""
    relay = Relay(path)
    async with effectd.AsyncLedger(relay.path, wait=50) as ledger:
        go, n = asyncio.Event(), 0

        @ledger.tool('t', key='herd')
        async def once():
            nonlocal n
            n += 1
            await go.wait()
            return 'one'
        herd = [asyncio.ensure_future(once()) for _ in range(300)]
        await comes_true(lambda: n and len(relay.lines) >= 300, 'all 300 ask')
        go.set()
        answers = await asyncio.gather(*herd)
        is_((set(answers), n), ({'one'}, 1), '300 tasks wait for one outcome: all have it, one has called')


def with_daemon(cluster, daemon):
    relay = Relay(daemon.socket)
    with effectd.Ledger(relay.path) as ledger:
        test_guarded(ledger, relay)
        test_methods_and_kinds(ledger)
        test_endings(ledger)
        test_stopped(ledger)
        test_collected(ledger)
        test_nested(ledger)
        test_lost_and_late(ledger, relay, daemon)
        test_values(ledger, daemon)
        test_blocks(ledger)
        test_decisions(ledger)
        test_provider_key(ledger)
        test_places(ledger, relay)
        test_plain(ledger)
        test_lookup(ledger)
        test_execute(ledger)

        async def guarded():
            return 'async'
        is_(of_task(ledger.tool('t', key='of a ledger')(guarded)()), 'async', 'Ledger guards async functions, too')
    of_task(tasks(daemon.socket))
    of_task(waiting_herd(daemon.socket))
    is_(cluster.invariants(), [], 'no invariant is hurt')


def main():
    with Cluster() as cluster:
        cluster.psql('create role clerk login')
        with Daemon(cluster, tools=TOOLS).ready() as daemon:
            cluster.psql("select effect.allow('clerk', 'default')")
            with_daemon(cluster, daemon)
    done()


main()
