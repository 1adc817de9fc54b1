-- Where a window of time begins on effect.event: nothing of it lies before, and little of what lies before is read.
begin;
select no_plan();
select is(effect.event_from(effect.now()), 1::bigint, 'no event: from the first on');
-- one every ten minutes, with gaps where others were forgotten
insert into effect.event (effect, at, attempt, kind)
select gen_random_uuid(), effect.now() + i * interval '10 minutes', 1, 'unknown' from generate_series(1, 2000) i;
delete from effect.event where id % 7 in (0, 1, 2) or id between 900 and 1100 or id < 50;
create function pg_temp.missed(p_from timestamptz) returns bigint language sql as $$
  select count(*) from effect.event e where e.at >= p_from and e.id < effect.event_from(p_from) $$;
create function pg_temp.before(p_from timestamptz) returns bigint language sql as $$
  select count(*) from effect.event e where e.at < p_from and e.id >= effect.event_from(p_from) $$;
select is(sum(pg_temp.missed(effect.now() + i * interval '37 minutes')), 0::numeric, 'nothing of a window lies before its beginning')
  from generate_series(-10, 600) i;
select cmp_ok(max(pg_temp.before(effect.now() + i * interval '37 minutes')), '<=', 7::bigint, 'what is read besides is of one hour')
  from generate_series(-10, 600) i;
select is(effect.event_from('-infinity'), (select min(id) from effect.event), 'from ever: all');
select is((select count(*) from effect.event where id >= effect.event_from('infinity')), 0::bigint, 'from never: none');
-- a clock that was set back by less than an hour
insert into effect.event (effect, at, attempt, kind)
select gen_random_uuid(), effect.now() + interval '2000 minutes' * 10 + case when i > 100 then i * interval '1 minute' - interval '59 minutes' else i * interval '1 minute' end, 1, 'unknown'
from generate_series(1, 200) i;
select is(sum(pg_temp.missed(effect.now() + interval '20000 minutes' + i * interval '30 seconds')), 0::numeric, 'nor after a clock was set back')
  from generate_series(1, 400) i;
select * from finish();
rollback;
