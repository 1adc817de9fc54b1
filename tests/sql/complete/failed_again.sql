-- `failed` on an attempt after the first: the provider may be saying "already refunded", so a probe is asked first.
begin;
select no_plan();
create function pg_temp.second(p_key text) returns jsonb language sql as $$
  select effect_test.begin(effect_test.e(p_key, 't1'));
  select effect_test.release(effect_test.e(p_key, 't1'));
  select effect_test.begin(effect_test.e(p_key, 't2'));
  select effect_test.complete(effect_test.e(p_key, 't2', '{"outcome": "failed", "result": "{\"e\":\"already refunded\"}"}'));
$$;
select is(effect_test.only(pg_temp.second('a'), 'answer', 'shape', 'state', 'outcome', 'already'),
  '{"answer": "ok", "shape": "complete", "state": "unknown", "outcome": "failed", "already": false}',
    'told unknown, failed, not already');
select is((effect_test.row('a') ->> 'due_at')::timestamptz, effect.now(), 'due at once');
select is((select count(*) from effect.event e where e.effect = effect.id('default', 'probed', 'a')
  and e.result = '{"e":"already refunded"}' and e.outcome = 'failed'
  and not e.incident and e.attempt = 2), 1::bigint, 'an event holds the result');
select is(effect_test.begin(effect_test.e('a', 't3')) ->> 'answer', 'unknown', 'meanwhile it is unknown');
select is(effect_test.get('{"key": "a"}') -> 'outcome', null, 'and nobody is told an outcome');
select is(effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'probed', 'a')) ->> 'attempt', '2',
  'the sweep probes it');
select effect_test.verdict('{"key": "a", "verdict": "landed", "result": "{\"refund\":\"re_1\"}"}') \gset
select is(effect_test.only(effect_test.begin(effect_test.e('a', 't3')), 'answer', 'outcome', 'decided_by', 'result'),
  '{"answer": "replay", "outcome": "succeeded", "decided_by": "probe", "result": "{\"refund\":\"re_1\"}"}',
    'landed: done succeeded by the probe');

select pg_temp.second('b') \gset
select effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'probed', 'b')) \gset
select effect_test.verdict('{"key": "b", "verdict": "inconclusive"}') \gset
select is(effect_test.only(effect_test.begin(effect_test.e('b', 't3')), 'answer', 'outcome', 'decided_by', 'result'),
  '{"answer": "replay", "outcome": "failed", "decided_by": "caller", "result": "{\"e\":\"already refunded\"}"}',
    'anything else: done failed by the caller, with its result');

-- said twice with other words: both are kept
select pg_temp.second('k') \gset
select effect_test.complete(effect_test.e('k', 't2', '{"outcome": "failed", "result": "\"other\""}')) \gset
select effect_test.complete(effect_test.e('k', 't2', '{"outcome": "failed", "result": "\"other\""}')) ->> 'already' as again \gset
select is(:'again'::text, 'true', 'the second time is already');
select ok(exists (select from effect.event e where e.effect = effect.id('default', 'probed', 'k')
  and e.result = '"other"' and e.outcome = 'failed'), 'its other result is kept as an event');

-- a probe that was under way before the report asked too early: only what is final counts of it
select effect_test.begin(effect_test.e('j', 't1')) \gset
select effect_test.release(effect_test.e('j', 't1')) \gset
select effect_test.begin(effect_test.e('j', 't2')) \gset
select effect_test.unknown(effect_test.e('j', 't2')) \gset
select effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'probed', 'j')) ->> 'probe_no' as early \gset
select effect_test.complete(effect_test.e('j', 't2', '{"outcome": "failed"}')) \gset
select is(effect_test.only(effect_test.verdict(format('{"key": "j", "verdict": "absent", "probe_no": %s}', :early)::jsonb),
  'answer', 'state'), '{"state": "unknown", "answer": "event"}', 'an absent from before the report decides nothing');
select effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'probed', 'j')) \gset
select effect_test.verdict('{"key": "j", "verdict": "landed"}') \gset
select is(effect_test.begin(effect_test.e('j', 't3')) ->> 'outcome', 'succeeded', 'the probe after it does');

-- no verdict ever comes: the deadline ends it (promise 5)
select pg_temp.second('c') \gset
select effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'probed', 'c')) \gset
select effect_test.advance('15 min') \gset
select effect_test.sweep(100, 0) \gset
select isnt(effect_test.row('c') ->> 'state', 'unknown', 'with no verdict at all the deadline ends it');
-- the first attempt's failure is final at once
select effect_test.begin(effect_test.e('d', 't1')) \gset
select is(effect_test.complete(effect_test.e('d', 't1', '{"outcome": "failed"}')) ->> 'state', 'done',
  'on attempt 1 failed is final');
-- in a batch
select effect_test.begin(effect_test.e('f', 't1')) \gset
select effect_test.release(effect_test.e('f', 't1')) \gset
select effect_test.begin(jsonb_build_array(effect_test.e('f', 't2'), effect_test.e('g', 't1'), effect_test.e('h', 't1'))) \gset
select is((select jsonb_agg(x -> 'state')
  from jsonb_array_elements(effect_test.complete(jsonb_build_array(effect_test.e('g', 't1', '{"outcome": "failed"}'),
    effect_test.e('f', 't2', '{"outcome": "failed"}'), effect_test.e('h', 't1')))) x), '["done", "unknown", "done"]',
      'in a batch, too');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
