-- Counts of several daemons add up, minute by minute.
begin;
select no_plan();
select lives_ok($$ select effect.stat_add(array['2030-01-01 00:00:10+00', '2030-01-01 00:00:50+00', '2030-01-01 00:01:00+00']::timestamptz[], array['n', 'n', 'n'], array['t', 't', 't'], array['run', 'run', 'run'],
  array[1, 2, 4]::bigint[], array['{1}', '{0,2}', '{0,0,4}']) $$, 'two of one minute in one call');
select is((select jsonb_agg(jsonb_build_array(minute, n, ms_log2) order by minute) from effect.stat),
  '[["2030-01-01T00:00:00+00:00", 3, [1, 2]], ["2030-01-01T00:01:00+00:00", 4, [0, 0, 4]]]', 'are one row');
select effect.stat_add(array['2030-01-01 00:00:00+00']::timestamptz[], array['n'], array['t'], array['run'], array[10]::bigint[],
  array['{5,5,5}']) \gset
select is((select jsonb_build_array(n, ms_log2) from effect.stat where minute = '2030-01-01 00:00:00+00'), '[13, [6, 7, 5]]',
  'another daemon''s are added');
select effect.stat_add(array['2030-01-01 00:00:00+00']::timestamptz[], array['n'], array['t'], array['busy'], array[1]::bigint[],
  array['{}']) \gset
select is((select count(*) from effect.stat), 3::bigint, 'another decision is another row');
select * from finish();
rollback;
