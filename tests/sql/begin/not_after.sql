-- A begin that is executed later than its caller can use grants nothing.
begin;
select no_plan();
create function pg_temp.late(p_key text, p_more jsonb default '{}') returns text language sql as $$
  select effect_test.begin(effect_test.e(p_key, 'x',
    jsonb_build_object('asked_at', effect.now() - interval '6 s', 'within_ms', 5000) || p_more)) ->> 'answer'
$$;
select is(pg_temp.late('new'), 'late', 'a new key: late');
select is(effect_test.row('new'), null, 'and no row');
select is(pg_temp.late('new', '{"resent": true}'), 'late', 'sent again, too');
select is(pg_temp.late('new', '{"within_ms": 6000}'), 'run', 'at the very instant it still runs');
select effect_test.begin(jsonb_agg(effect_test.e(k, 't1')))
  from unnest(array['pending', 'released', 'done', 'expired', 'again']) k \gset
select effect_test.release(effect_test.e('released', 't1')) \gset
select effect_test.complete(effect_test.e('done', 't1')) \gset
select is(pg_temp.late('pending'), 'busy', 'busy grants nothing and is told');
select is(pg_temp.late('done'), 'replay', 'so is replay');
select is(pg_temp.late('done', '{"fp": "other"}'), 'mismatch', 'so is mismatch');
select is(pg_temp.late('released'), 'late', 'no next attempt');
select is((effect_test.row('released') ->> 'attempt')::int, 1, 'the attempt is not used up');
select effect_test.begin(effect_test.e('q', 't1', jsonb_build_object('request', effect_test.uid('q')))) \gset
select is(pg_temp.late('q', jsonb_build_object('request', effect_test.uid('q'), 'regrant', true)), 'late', 'no re-grant');
select effect_test.advance('31 d') \gset
select is(pg_temp.late('done'), 'late', 'no renewal');
select is(effect_test.row('done') ->> 'state', 'done', 'the row stays');
select is((select jsonb_agg(x -> 'answer') from jsonb_array_elements(effect_test.begin(jsonb_build_array(
    effect_test.e('m1', 'x', jsonb_build_object('asked_at', effect.now() - interval '6 s')),
      effect_test.e('m2', 'x', '{"within_ms": 7000}'),
    effect_test.e('m3', 'x')))) x), '["late", "run", "late"]', 'each entry of a batch has its own instant');
select * from finish();
rollback;
