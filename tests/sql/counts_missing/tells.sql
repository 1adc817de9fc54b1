-- What the counts of a window may lack: of starts that ended without a word, are not heard of, or had no room.
begin;
select no_plan();
create function pg_temp.flush(p_instance text, p_boot int, p_no int, p_end boolean default false, p_dropped int default 0) returns text language sql as $$
  select effect.stat_add(effect_test.boot(p_boot), effect_test.uid(p_instance), 0, 'host-' || p_instance, '1', p_no, p_dropped, p_end,
    '{}', '{}', '{}', '{}', '{}', '{}')
$$;
create function pg_temp.missing(p_from interval default '1 d', p_to interval default '0 s') returns jsonb language sql as $$
  select coalesce(jsonb_agg(jsonb_build_array(m.host, m.why, extract(epoch from effect.now() - m.after)::int, extract(epoch from m.until - m.after)::int)
    order by m.after, m.why), '[]') from effect.counts_missing(effect.now() - p_from, effect.now() - p_to) m
$$;
select is(pg_temp.missing(), '[]', 'without daemons nothing is missing');
select pg_temp.flush('a', 1, 1) \gset
select effect_test.advance('29 s') \gset
select is(pg_temp.missing(), '[]', 'of one that flushes nothing is');
select effect_test.advance('2 s') \gset
select is(pg_temp.missing(), '[["host-a", "silent", 31, 31]]', 'one that is not heard of may have counted since');
select is(pg_temp.missing('1 d', '32 s'), '[]', 'what was before is there');
select pg_temp.flush('a', 1, 2) \gset
select is(pg_temp.missing(), '[]', 'and all of it is when it is heard of again');

-- killed, and started again
select effect_test.advance('5 s') \gset
select pg_temp.flush('a', 2, 1) \gset
select is(pg_temp.missing(), '[["host-a", "killed", 5, 5]]', 'a start that did not say that it ended was killed, its successor shows');
select effect_test.advance('1 h') \gset
select pg_temp.flush('a', 2, 2) \gset
select is(pg_temp.missing(), '[["host-a", "killed", 3605, 5]]', 'since its last flush, until the next start');
select is(pg_temp.missing('30 min'), '[]', 'and not after');
select is(pg_temp.missing('2 h', '65 min'), '[]', 'nor before');
-- in good order
select pg_temp.flush('a', 2, 3, true) \gset
select effect_test.advance('1 h') \gset
select pg_temp.flush('a', 3, 1) \gset
select is(pg_temp.missing('90 min'), '[]', 'one that said that it ended lacks nothing');
select pg_temp.flush('a', 3, 2, true) \gset

-- a host that does not come back
select pg_temp.flush('b', 1001, 1) \gset
select effect_test.advance('12 h') \gset
select is(pg_temp.missing('6 h'), '[["host-b", "silent", 43200, 43200]]', 'one that is silent for hours may still count');
select effect_test.advance('36 h') \gset
select is(pg_temp.missing('6 h'), '[]', 'after a day it does not');
select is(pg_temp.missing('40 h'), '[["host-b", "silent", 172800, 86400]]', 'but the day is told');

-- no room
select pg_temp.flush('c', 2001, 1) \gset
select effect_test.advance('10 s') \gset
select pg_temp.flush('c', 2001, 2, p_dropped => 5) \gset
select effect_test.advance('10 s') \gset
select pg_temp.flush('c', 2001, 3, p_dropped => 5) \gset
select is(pg_temp.missing('1 h'), '[["host-c", "dropped", 20, 10]]', 'one that had no room, between its start and when it said so');
select is((select m.dropped from effect.counts_missing(effect.now() - interval '1 h', effect.now()) m), 5::bigint, 'and for how many');
select is(pg_temp.missing('5 s'), '[]', 'and not later');
select * from finish();
rollback;
