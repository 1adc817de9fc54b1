-- The same id several times in one batch: decided in the order of the batch, one answer each.
begin;
select no_plan();
create function pg_temp.told(p jsonb, p_member text default 'answer') returns text language sql as
  $$ select string_agg(coalesce(x ->> p_member, '-'), ' ' order by i) from jsonb_array_elements(p) with ordinality e(x, i) $$;

select is(pg_temp.told(effect_test.begin(jsonb_build_array(effect_test.e('a', 't1'), effect_test.e('n', 'n'),
  effect_test.e('a', 't2'),
    effect_test.e('a', 't3', '{"fp": "other"}')))), 'run run busy mismatch', 'of one new key the first runs');
select is(effect_test.row('a') ->> 'token', effect_test.uid('a t1')::text, 'and holds it');
select is(pg_temp.told(effect_test.complete(jsonb_build_array(effect_test.e('a', 't1', '{"result": "1"}'),
  effect_test.e('a', 't1', '{"result": "1"}'),
    effect_test.e('a', 't1', '{"result": "2"}'), effect_test.e('a', 'nobody', '{"result": "3"}')))), 'ok ok conflict not_owner',
  'complete: recorded, already, conflict, not the owner');
select is(effect_test.row('a') ->> 'result', '1', 'the first result stands');

select effect_test.begin(effect_test.e('b', 't1')) \gset
select is(pg_temp.told(effect_test.complete(jsonb_build_array(effect_test.e('b', 'nobody', '{"result": "1"}'),
  effect_test.e('b', 't1', '{"result": "2"}')))),
  'not_owner ok', 'a stranger before the holder in one batch does not stop it');
select is(effect_test.row('b') ->> 'result', '2', 'the holder''s result stands');

select effect_test.begin(effect_test.e('c', 't1')) \gset
select is(pg_temp.told(effect_test.release(jsonb_build_array(effect_test.e('c', 't1'), effect_test.e('c', 't1'))), 'already'),
  'false true',
  'release twice: the second is already');
select is(pg_temp.told(effect_test.begin(jsonb_build_array(effect_test.e('c', 't2'), effect_test.e('c', 't3')))), 'run busy',
  'of a released key the first runs');
select is((effect_test.row('c') ->> 'attempt')::int, 2, 'one attempt more, not two');
select is(pg_temp.told(effect_test.unknown(jsonb_build_array(effect_test.e('c', 't1'), effect_test.e('c', 't2'),
  effect_test.e('c', 't2')))),
  'not_owner ok ok', 'unknown: former holder, holder, holder again');
select effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'probed', 'c')) \gset
select is(pg_temp.told(effect_test.verdict('[{"key": "c", "verdict": "landed"}, {"key": "c", "verdict": "landed"}]')), 'ok event',
  'verdict twice: the second is an event');
select effect_test.begin(effect_test.e('d', 't1')) \gset
select effect_test.unknown(effect_test.e('d', 't1')) \gset
select is(pg_temp.told(effect_test.resolve('[{"key": "d", "verdict": "landed"}, {"key": "d", "verdict": "failed"}]')),
  'ok conflict',
  'resolve: the second contradicts');
select effect_test.begin(effect_test.e('e', 't1', '{"lease_ms": 10000}')) \gset
select is(pg_temp.told(effect_test.extend(jsonb_build_array(effect_test.e('e', 't1', '{"lease_ms": 90000}'),
  effect_test.e('e', 't1', '{"lease_ms": 30000}')))),
  'ok ok', 'extend twice');
select is((effect_test.row('e') ->> 'lease_until')::timestamptz, effect.now() + interval '90 s', 'the longer one stands');
select effect_test.begin(effect_test.e('f', 't1')) \gset
select lives_ok($$ select effect_test.begin(jsonb_build_array(effect_test.e('f', 't1'), effect_test.e('f', 't2'))) $$,
  'the row''s own token, not marked as sent again: one row for it all the same');
select lives_ok($$ select effect_test.begin(jsonb_build_array(effect_test.e('g', 't1'), effect_test.e('g', 't1'))) $$,
  'one token twice: one row for each');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
