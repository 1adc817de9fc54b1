-- Arrays of different lengths are refused; empty ones are no work.
begin;
select no_plan();
select effect_test.begin(effect_test.e('a', 't1')) \gset
select effect.id('default', 'probed', 'a') as id \gset
select throws_ok(format($$ select * from effect.release(array[%L]::uuid[], array[%L, %L]::uuid[], array[null]::text[], array['r'], array[false]) $$,
  :'id', :'id', :'id'), 'ZE003', null, 'a longer array');
select throws_ok(format($$ select * from effect.release(array[%L]::uuid[], '{}'::uuid[], array[null]::text[], array['r'], array[false]) $$,
  :'id'), 'ZE003', null, 'an empty one');
select throws_ok(format($$ select * from effect.complete(array[%L]::uuid[], array[%L]::uuid[], array[null]::text[], array[null]::bigint[], array['succeeded'], array['1', '2'], array[null]::bigint[], array[null]::bytea[], array[false]) $$,
  :'id', :'id'), 'ZE003', null, 'complete with two results');
select is(effect_test.row('a') ->> 'state', 'pending', 'nothing was done');
select is((select count(*)
  from effect.begin('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', effect.now(), null,
  null)), 0::bigint, 'begin of nothing');
select is((select count(*) from effect.complete('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')), 0::bigint,
  'complete of nothing');
select is((select count(*) from effect.release('{}', '{}', '{}', '{}', '{}')), 0::bigint, 'release of nothing');
select is((select count(*) from effect.unknown('{}', '{}', '{}', '{}', '{}')), 0::bigint, 'unknown of nothing');
select is((select count(*) from effect.extend('{}', '{}', '{}', '{}')), 0::bigint, 'extend of nothing');
select is((select count(*) from effect.verdict('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')), 0::bigint,
  'verdict of nothing');
select is((select count(*) from effect.resolve('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')),
  0::bigint, 'resolve of nothing');
select is((select count(*) from effect.get('{}', '{}', '{}')), 0::bigint, 'get of nothing');
-- a large batch: one row each
select is((select count(*)
  from jsonb_array_elements(effect_test.begin((select jsonb_agg(effect_test.e('k' || i, 't1'))
  from generate_series(1, 1000) i))) x where x ->> 'answer' = 'run'), 1000::bigint, 'a thousand in one batch');
select is((select count(*)
  from jsonb_array_elements(effect_test.complete((select jsonb_agg(effect_test.e('k' || i, 't1'))
  from generate_series(1000, 1, -1) i))) x where x ->> 'answer' = 'ok'), 1000::bigint, 'and their completes in the other order');
select * from finish();
rollback;
