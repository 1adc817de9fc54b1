-- A flush is added once, however often it is sent, and the newest is known of each start of a daemon.
begin;
select no_plan();
create function pg_temp.add(p_no bigint, p_n bigint, p_boot int default 1, p_dropped bigint default 0, p_end boolean default false) returns text
language sql as $$
  select effect.stat_add(effect_test.boot(p_boot), effect_test.uid('instance'), 5000, 'h', '1', p_no, p_dropped, p_end,
    array[effect.now()], array['n'], array['t'], array['run'], array[p_n], array['{1}'])
$$;
create function pg_temp.n() returns bigint language sql as $$ select coalesce(sum(n), 0)::bigint from effect.stat $$;
select is(pg_temp.add(1, 1), 'ok', 'the first flush');
select is((select d.started_at from effect.daemon d), effect.now() - interval '5 seconds', 'makes its daemon known, since it started');
select is(pg_temp.add(1, 1), 'already', 'sent again');
select is(pg_temp.n(), 1::bigint, 'is counted once');
select is(pg_temp.add(2, 10), 'ok', 'the next');
select is(pg_temp.n(), 11::bigint, 'is added');
select is(pg_temp.add(1, 100), 'already', 'one that was held up on its way');
select is(pg_temp.n(), 11::bigint, 'is not added after the next');
select is(pg_temp.add(1, 1000, 2), 'ok', 'another start has numbers of its own');
select is(pg_temp.n(), 1011::bigint, 'which are added');

-- what else a flush says
select effect_test.advance('10 s') \gset
select pg_temp.add(3, 1) \gset
select is((select array[d.seen_at, d.ended_at] from effect.daemon d where d.boot = effect_test.boot(1)), array[effect.now(), null],
  'that it is alive');
select effect_test.advance('10 s') \gset
select is(pg_temp.add(3, 1), 'already', 'the same again');
select is((select d.seen_at from effect.daemon d where d.boot = effect_test.boot(1)), effect.now(), 'says so, too');
select pg_temp.add(4, 1, p_dropped => 7) \gset
select is((select row(d.dropped, d.dropped_at) from effect.daemon d where d.boot = effect_test.boot(1)), row(7::bigint, effect.now()),
  'what it had no room for');
select effect_test.advance('10 s') \gset
select pg_temp.add(5, 1, p_dropped => 7) \gset
select is((select d.dropped_at from effect.daemon d where d.boot = effect_test.boot(1)), effect.now() - interval '10 s', 'when that was last');
select pg_temp.add(6, 1, p_end => true) \gset
select is((select d.ended_at from effect.daemon d where d.boot = effect_test.boot(1)), effect.now(), 'that it ends');
select effect_test.advance('10 s') \gset
select is(pg_temp.add(6, 1, p_end => true), 'already', 'said again');
select is((select d.ended_at from effect.daemon d where d.boot = effect_test.boot(1)), effect.now() - interval '10 s', 'it ended when it said so first');
select is(pg_temp.add(7, 1), 'ok', 'and if it still counted something');
select is((select d.ended_at from effect.daemon d where d.boot = effect_test.boot(1)), null, 'it had not ended');
select is(pg_temp.add(8, 1, p_end => true), 'ok', 'until it says so');

-- a hostile name is a name
select effect.stat_add(effect_test.boot(3), effect_test.uid('instance'), 0, 'h', '1', 1, 0, false, array[effect.now()], array['n'],
  array[E'\'; drop table effect.stat; --\u202e{},"\\']::text[], array['run'], array[1]::bigint[], array['{1}']) \gset
select is((select s.n from effect.stat s where s.tool = E'\'; drop table effect.stat; --\u202e{},"\\'), 1::bigint, 'any name is stored as it is');
select * from finish();
rollback;
