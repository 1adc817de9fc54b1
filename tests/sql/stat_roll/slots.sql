-- Minutes become hours, hours days, days are dropped; what comes late is rolled up, too; and no sum is changed by it.
begin;
select no_plan();
select effect_test.set_now('2030-06-15 12:34:56+00') \gset
create function pg_temp.put(p_age interval, p_n bigint default 1, p_tool text default 't') returns void language sql as $$
  insert into effect.stat as s values (date_trunc('minute', effect.now() - p_age), 'n', p_tool, 'run', p_n, array[p_n])
  on conflict (minute, namespace, tool, decision) do update set n = s.n + excluded.n, ms_log2 = effect.add_arrays(s.ms_log2, excluded.ms_log2)
$$;
create function pg_temp.roll(p_rows int default 1000) returns int language plpgsql as $$
declare
  v record;
begin
  for i in 1 .. 10000 loop
    v := effect.stat_roll(p_rows);
    if v.moved + v.dropped = 0 then
      return i;
    end if;
  end loop;
end
$$;
create function pg_temp.slots(p_tool text default 't') returns jsonb language sql as $$
  select jsonb_agg(jsonb_build_array(to_char(s.minute at time zone 'UTC', 'MM-DD HH24:MI'), s.n) order by s.minute) from effect.stat s where s.tool = p_tool
$$;
select pg_temp.put('0 s') \gset
select pg_temp.put('47 h') \gset
select pg_temp.put('48 h', 2) \gset
select pg_temp.put('48 h 30 min', 10) \gset
select pg_temp.put('48 h 34 min', 100) \gset
select pg_temp.put('48 h 35 min', 1000) \gset
select pg_temp.put('49 h 35 min', 3) \gset
select pg_temp.roll() \gset
select is(pg_temp.slots(), '[["06-13 10:00", 3], ["06-13 11:00", 1000], ["06-13 12:00", 100], ["06-13 12:04", 10], ["06-13 12:34", 2], ["06-13 13:34", 1], ["06-15 12:34", 1]]',
  'hours that are over for 48 hours are one slot each, others stay minutes');
select effect_test.advance('1 h') \gset
select pg_temp.roll() \gset
select is(pg_temp.slots(), '[["06-13 10:00", 3], ["06-13 11:00", 1000], ["06-13 12:00", 112], ["06-13 13:34", 1], ["06-15 12:34", 1]]', 'an hour later the next one is');
select pg_temp.put('49 h 10 min', 5) \gset
select pg_temp.roll() \gset
select is(pg_temp.slots(), '[["06-13 10:00", 3], ["06-13 11:00", 1000], ["06-13 12:00", 117], ["06-13 13:34", 1], ["06-15 12:34", 1]]', 'what comes late is added to its slot');

-- days
delete from effect.stat;
select effect_test.set_now('2030-06-15 12:34:56+00') \gset
select pg_temp.put('89 d', 1) \gset
select pg_temp.put('90 d 13 h', 2) \gset
select pg_temp.put('90 d 20 h', 4) \gset
select pg_temp.put('799 d', 8) \gset
select pg_temp.put('801 d', 16) \gset
select pg_temp.put('805 d', 16) \gset
select pg_temp.roll() \gset
select is((select jsonb_agg(jsonb_build_array(to_char(s.minute at time zone 'UTC', 'YY-MM-DD HH24:MI'), s.n) order by s.minute) from effect.stat s),
  '[["28-04-07 00:00", 8], ["30-03-16 00:00", 6], ["30-03-18 12:00", 1]]', 'days after 90 days, nothing after 800');

-- any counts at all, in steps of any size: a step is bounded, and the sums stay
delete from effect.stat;
select setseed(0.42) \gset
\echo '# seed 0.42'
insert into effect.stat
select date_trunc('minute', effect.now() - random() ^ 3 * interval '700 days') as minute, (array['n', 'm'])[1 + i % 2], 't' || i % 3,
  (array['run', 'busy', 'late'])[1 + i % 3], sum(1 + i % 7), effect.add_log2(array[1, i % 7]::bigint[])
from generate_series(1, 3000) i group by 1, 2, 3, 4;
create temp table before as
select namespace, tool, decision, sum(n) as n, effect.add_log2(ms_log2) as ms_log2 from effect.stat group by 1, 2, 3;
select is((select r.moved <= 10 and r.moved > 0 from effect.stat_roll(10) r), true, 'a step is bounded');
select pg_temp.roll(17) \gset
select results_eq('select namespace, tool, decision, sum(n), effect.add_log2(ms_log2) from effect.stat group by 1, 2, 3 order by 1, 2, 3',
  'select * from before order by 1, 2, 3', 'no sum and no histogram is changed');
select is_empty($$ select * from effect.stat s where s.minute < date_trunc('hour', effect.now()) - interval '48 hours' and s.minute <> date_trunc('hour', s.minute) $$, 'no minutes are left');
select is_empty($$ select * from effect.stat s where s.minute < effect.now() - interval '91 days' and s.minute <> date_trunc('day', s.minute at time zone 'UTC') at time zone 'UTC' $$, 'and no hours');
select is(pg_temp.roll(), 1, 'then there is nothing to do');

-- whatever the session's zone
set timezone = 'Asia/Kolkata';
delete from effect.stat;
select pg_temp.put('100 d', 1) \gset
select pg_temp.put('100 d 5 h', 1) \gset
select pg_temp.roll() \gset
select is((select jsonb_agg(to_char(s.minute at time zone 'UTC', 'HH24:MI')) from effect.stat s), '["00:00"]', 'days are those of UTC');

-- starts of daemons that ended long ago
insert into effect.daemon (boot, instance, started_at, seen_at, ended_at, host, version) values
  (effect_test.boot(1), effect_test.uid('a'), effect.now() - interval '200 d', effect.now() - interval '91 d', effect.now() - interval '91 d', 'h', '1'),
  (effect_test.boot(2), effect_test.uid('a'), effect.now() - interval '200 d', effect.now() - interval '91 d', null, 'h', '1'),
  (effect_test.boot(3), effect_test.uid('a'), effect.now() - interval '200 d', effect.now() - interval '89 d', null, 'h', '1'),
  (effect_test.boot(4), effect_test.uid('a'), effect.now() - interval '200 d', effect.now(), null, 'h', '1');
select pg_temp.roll() \gset
select results_eq('select boot from effect.daemon order by 1', 'select effect_test.boot(i) from generate_series(3, 4) i', 'are forgotten after 90 days');
select * from finish();
rollback;
