-- What was said too late is kept once, however often it is said; anything that differs is kept beside it.
begin;
select no_plan();
create function pg_temp.lates(p_key text) returns bigint language sql as $$
  select count(*) from effect.event where effect = effect_test.id_of(effect_test.e(p_key, '')) and kind = 'late'
$$;

-- another outcome stands
select effect_test.begin(effect_test.e('a', 't1')) \gset
select effect_test.complete(effect_test.e('a', 't1', '{"result": "1"}')) \gset
select is((select jsonb_agg(distinct effect_test.complete(effect_test.e('a', 't1', '{"result": "2"}')) ->> 'answer')
  from generate_series(1, 50)), '["conflict"]', 'another result is a conflict each time');
select is(pg_temp.lates('a'), 1::bigint, 'and one event, with its incident');
select effect_test.complete(effect_test.e('a', 't1', '{"result": "3"}')) \gset
select effect_test.complete(effect_test.e('a', 't1', '{"result": "2", "outcome": "failed"}')) \gset
select is(pg_temp.lates('a'), 3::bigint, 'another result and another outcome are kept');
select effect_test.complete(effect_test.e('a', 't1', '{"result": "2"}')) \gset
select is(pg_temp.lates('a'), 3::bigint, 'what was said before the last word is known, too');

-- a former attempt's token
select effect_test.begin(effect_test.e('b', 't1')) \gset
select effect_test.release(effect_test.e('b', 't1')) \gset
select effect_test.begin(effect_test.e('b', 't2')) \gset
select is((select jsonb_agg(distinct effect_test.release(effect_test.e('b', 't1')) ->> 'answer') from generate_series(1, 20)),
  '["not_owner"]', 'a former holder is not the owner each time');
select is((select jsonb_agg(distinct effect_test.complete(effect_test.e('b', 't1', '{"outcome": "failed"}')) ->> 'answer')
  from generate_series(1, 20)), '["conflict"]', 'and its failure a conflict each time');
select is(pg_temp.lates('b'), 2::bigint, 'one event each');
select effect_test.complete(effect_test.e('b', 't1', '{"result": "1"}')) \gset
select effect_test.complete(effect_test.e('b', 't1', '{"result": "1"}')) \gset
select is(effect_test.row('b') ->> 'state', 'escalated', 'its success escalates the row');
select is(pg_temp.lates('b'), 3::bigint, 'and is one event, too');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
