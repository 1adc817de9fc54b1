-- Counts of several daemons add up, minute by minute.
begin;
select no_plan();
create function pg_temp.add(p_no int, p_minute timestamptz[], p_decision text[], p_n bigint[], p_log2 text[], p_boot int default 1,
  p_at timestamptz default null) returns text language sql as $$
  select effect.stat_add(effect_test.boot(p_boot), effect_test.uid('instance'), 0, 'h', '1', p_no, 0, false, p_minute,
    array_fill('n'::text, array[cardinality(p_minute)]), array_fill('t'::text, array[cardinality(p_minute)]), p_decision, p_n, p_log2, p_at)
$$;
select is(pg_temp.add(1, array['2030-01-01 00:00:10+00', '2030-01-01 00:00:50+00', '2030-01-01 00:01:00+00']::timestamptz[], array['run', 'run', 'run'],
  array[1, 2, 4], array['{1}', '{0,2}', '{0,0,4}']), 'ok', 'two of one minute in one call');
select is((select jsonb_agg(jsonb_build_array(minute, n, ms_log2) order by minute) from effect.stat),
  '[["2030-01-01T00:00:00+00:00", 3, [1, 2]], ["2030-01-01T00:01:00+00:00", 4, [0, 0, 4]]]', 'are one row');
select is(pg_temp.add(1, array['2030-01-01 00:00:00+00']::timestamptz[], array['run'], array[10], array['{5,5,5}'], 2), 'ok',
  'another daemon''s');
select is((select jsonb_build_array(n, ms_log2) from effect.stat where minute = '2030-01-01 00:00:00+00'), '[13, [6, 7, 5]]',
  'are added');
select is(pg_temp.add(2, array['2030-01-01 00:00:00+00']::timestamptz[], array['busy'], array[1], array['{}']), 'ok', 'nothing measured');
select is((select count(*) from effect.stat), 3::bigint, 'another decision is another row');
select is(pg_temp.add(3, '{}', '{}', '{}', '{}'), 'ok', 'an empty flush');
select is((select count(*) from effect.stat), 3::bigint, 'counts nothing');

-- whose clock
select is(pg_temp.add(4, array['2029-12-31 23:00:00+00']::timestamptz[], array['skew'], array[1], array['{}'], 1, effect.now() - interval '1 hour'),
  'ok', 'a daemon whose clock is an hour behind');
select is((select minute from effect.stat where decision = 'skew'), effect.now(), 'counts in the ledger''s minute');
select is(pg_temp.add(5, array['2030-01-01 02:00:00+00']::timestamptz[], array['ahead'], array[1], array['{}'], 1, effect.now() + interval '2 hours'),
  'ok', 'and one that is ahead');
select is((select minute from effect.stat where decision = 'ahead'), effect.now(), 'too');
select is(pg_temp.add(6, array['2029-12-31 23:59:00+00']::timestamptz[], array['late'], array[1], array['{}'], 1, effect.now() - interval '20 seconds'),
  'ok', 'what was sent a while ago');
select is((select minute from effect.stat where decision = 'late'), effect.now() - interval '1 minute', 'stays in its minute');
select * from finish();
rollback;
