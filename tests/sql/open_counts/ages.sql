-- open_counts: by state, by how long they are in it, and what a sweep should have taken.
begin;
select no_plan();
create function pg_temp.counts() returns jsonb language sql as $$
  select jsonb_object_agg(c.state, jsonb_build_array(c.n, c.n_1m, c.n_15m, c.n_1h, c.n_1d, c.n_older, c.due, c.due_since is null))
  from effect.open_counts() c
$$;
select is((select array_agg(c.state::text) from effect.open_counts() c), '{pending,unknown,escalated}', 'a row for each open state');
select effect_test.begin('[{"key": "a"}, {"key": "b"}]') \gset
select is(pg_temp.counts() -> 'pending', '[2, 2, 0, 0, 0, 0, 0, true]', 'two new ones');
select effect_test.advance('59.999 s') \gset
select is(pg_temp.counts() -> 'pending', '[2, 2, 0, 0, 0, 0, 0, true]', 'a minute less a millisecond later');
select effect_test.advance('1 ms') \gset
select effect_test.begin('{"key": "c"}') \gset
select is(pg_temp.counts() -> 'pending', '[3, 1, 2, 0, 0, 0, 2, false]', 'a minute later two are due: their leases are over');
select is((select due_since from effect.open_counts() where state = 'pending'), effect.now(), 'since now');
select effect_test.advance('14 min') \gset
select is(pg_temp.counts() -> 'pending', '[3, 0, 1, 2, 0, 0, 3, false]', 'after 15 minutes');
select is((select due_since from effect.open_counts() where state = 'pending'), effect.now() - interval '14 min',
  'due since the first of them');
select effect_test.advance('45 min') \gset
select is(pg_temp.counts() -> 'pending', '[3, 0, 0, 1, 2, 0, 3, false]', 'after an hour');
select effect_test.advance('23 h') \gset
select is(pg_temp.counts() -> 'pending', '[3, 0, 0, 0, 1, 2, 3, false]', 'after a day');
select effect_test.sweep(100, 0) \gset
select is(pg_temp.counts() -> 'pending', '[0, 0, 0, 0, 0, 0, 0, true]', 'the sweep takes them');
select is((pg_temp.counts() -> 'unknown') - 6 - 6, '[3, 3, 0, 0, 0, 0]', 'an age is that of the state');
select effect_test.advance('2 d') \gset
select effect_test.sweep(100, 0) \gset
select is((pg_temp.counts() -> 'escalated') - 6 - 6, '[3, 3, 0, 0, 0, 0]', 'so is that of the escalated');
select effect_test.advance('30 d') \gset
select is(pg_temp.counts() -> 'escalated', '[3, 0, 0, 0, 0, 3, 0, true]', 'whose notice waits for a notifier, and is not due');
select * from finish();
rollback;
