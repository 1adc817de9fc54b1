-- A replay is the same on every path: alone, in a batch, twice in one batch, from the hot path or the careful one (cases 22, 25, 27).
begin;
select no_plan();
select effect_test.begin(jsonb_agg(effect_test.e('k' || i, 't1'))) from generate_series(1, 6) i \gset
create temp table outcomes (key text, outcome text, result text);
insert into outcomes values ('k1', 'succeeded', '{"b":1.0,"a":1e2,"c":"\u003c"}'), ('k2', 'failed', '"no \u0000 such order"'),
  ('k3', 'succeeded', '[9007199254740993, 1E400]'), ('k4', 'succeeded', '{"a":1,"a":2}'), ('k5', 'failed', 'null');
select effect_test.complete(jsonb_agg(effect_test.e(key, 't1', jsonb_build_object('outcome', outcome, 'result', result)))) from outcomes \gset
create function pg_temp.told(p jsonb) returns text language sql as $$
  select concat_ws(' ', p ->> 'answer', p ->> 'outcome', p ->> 'result_state', p ->> 'decided_by', p ->> 'attempt', p ->> 'done_at', p ->> 'result')
$$;
select is(pg_temp.told(effect_test.begin(effect_test.e(key, 'x'))),
  format('replay %s kept caller 1 2030-01-01T00:00:00+00:00 %s', outcome, result), 'alone: ' || key) from outcomes;
-- two of each in one batch, between a key that runs and one that is busy
select effect_test.begin((select jsonb_agg(effect_test.e(key, 'x' || n) order by n, key)
  from (select key, n from outcomes, generate_series(1, 2) n union all select 'new', 1 union all select 'k6', 2) x)) as batch \gset
select is((select count(*) from jsonb_array_elements(:'batch'::jsonb) b join outcomes o
    on pg_temp.told(b) = format('replay %s kept caller 1 2030-01-01T00:00:00+00:00 %s', o.outcome, o.result)), 10::bigint,
  'in a batch: the same, each of them twice');
select is((select string_agg(b ->> 'answer', ' ') from jsonb_array_elements(:'batch'::jsonb) b where b ->> 'answer' <> 'replay'), 'run busy',
  'and its neighbours what they are');
-- the careful path: sent again, and with the request of the attempt that is done
select is(pg_temp.told(effect_test.begin(effect_test.e(key, 'x', '{"resent": true}'))),
  format('replay %s kept caller 1 2030-01-01T00:00:00+00:00 %s', outcome, result), 'sent again: ' || key) from outcomes;
select is((select count(*) from effect.event), 0::bigint, 'replays leave no event');
select * from finish();
rollback;
