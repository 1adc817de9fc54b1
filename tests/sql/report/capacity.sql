-- capacity: rows, bytes, what it will come to, and what keeps vacuum from its work; for a role that is no superuser, too.
select no_plan();
select effect_test.set_now('2030-01-03 00:00:00+00') \gset
select effect_test.tool('daily', '{"keep_key": "10d"}'), effect_test.tool('mine', '{"keep_key": "1d"}', 'other') \gset
select effect_test.begin((select jsonb_agg(effect_test.e('k' || i, 't', '{"tool": "daily"}')) from generate_series(1, 300) i)) \gset
select effect_test.complete((select jsonb_agg(effect_test.e('k' || i, 't', '{"tool": "daily"}')) from generate_series(1, 200) i)) \gset
select effect_test.begin(effect_test.e('m', 't', '{"tool": "mine", "ns": "other"}')) \gset
analyze effect.ledger;
-- 100 a day, of which 10 were over an open attempt: 90 rows a day, kept for 10 days; and one tool that is new
select effect_test.stat('2030-01-01 00:00+00', 'default', 'daily', '{"run": 100, "retried": 10}'),
  effect_test.stat('2030-01-02 23:00+00', 'default', 'daily', '{"run": 100, "retried": 10, "replay": 50}'),
  effect_test.stat('2030-01-02 23:59+00', 'other', 'mine', '{"run": 1}') \gset
create function pg_temp.values(p_scope text default null) returns jsonb language sql as $$
  select jsonb_object_agg(concat_ws(' ', r ->> 'what', r ->> 'tool'), r -> 'value')
  from effect_test.report_rows(effect_test.report('capacity', p_scope, p_from => '2030-01-01 00:00+00')) r $$;
select is(effect_test.only(pg_temp.values(), 'ledger rows, pending', 'ledger rows, done', 'ledger rows, escalated', 'new rows a day', 'rows to expect daily', 'rows to expect mine',
  'prepared transactions'),
  '{"ledger rows, pending": 101, "ledger rows, done": 200, "ledger rows, escalated": 0, "new rows a day": 90, "rows to expect daily": 900, "prepared transactions": 0}',
  'rows by state, and what it will come to');
select is((pg_temp.values() ->> 'bytes of effect.ledger')::bigint, pg_total_relation_size('effect.ledger'), 'bytes');
select matches(r ->> 'note', '^[0-9]+ ([KM]iB|bytes) of it indexes, about 301 rows$', 'with the planner''s count of rows, where it has one')
  from effect_test.report_rows(effect_test.report('capacity')) r where r ->> 'what' = 'bytes of effect.ledger';
select matches(r ->> 'note', ', rows not counted yet$', 'else none')
  from effect_test.report_rows(effect_test.report('capacity')) r where r ->> 'what' = 'bytes of effect.past';
select ok((pg_temp.values() ->> 'bytes a row')::int between 200 and 2000, 'and of a row');
select is(pg_temp.values() ->> 'peak of calls a minute', '150', 'the busiest minute');
select is(effect_test.found(effect_test.report('capacity')), null, 'nothing deserves a look');
select is(effect_test.only(pg_temp.values('other'), 'ledger rows, pending', 'ledger rows, done', 'new rows a day', 'rows to expect daily'),
  '{"ledger rows, pending": 1, "ledger rows, done": 0, "new rows a day": 0}', 'rows and forecasts are one''s own');
-- Transactions of others: by the clock that this session has, they have been open for years. Without pg_read_all_stats the
-- owner of the functions is not told.
select effect_test.connect('old') \gset
select dblink_exec('old', 'begin'), dblink_exec('old', 'create temp table t (a int)') \gset
select is(effect_test.found(effect_test.report('capacity')), null, 'what may not be seen is no finding');
create function pg_temp.oldest() returns jsonb language sql as $$
  select r from effect_test.report_rows(effect_test.report('capacity')) r where r ->> 'what' = 'oldest transaction' $$;
select is(pg_temp.oldest() -> 'value', 'null', 'but null');
select matches(pg_temp.oldest() ->> 'note', '^none is seen; 1 session of another role cannot be seen into$', 'and the note says so');
grant pg_read_all_stats to effect_owner;
select is(effect_test.found(effect_test.report('capacity')), 'old_transaction warning', 'a transaction that has been open for long');
select is(pg_temp.oldest() ->> 'note', 'process ' || (effect_test.ask('old', 'select to_jsonb(pg_backend_pid())') #>> '{}'), 'whose it is');
select dblink_exec('old', 'rollback') \gset
revoke pg_read_all_stats from effect_owner;
select is(effect_test.found(effect_test.report('capacity')), null, 'until it ends');
select dblink_exec('old', 'begin'), dblink_exec('old', 'create table public.t (a int)'), dblink_exec('old', 'prepare transaction ''p''') \gset
select is(effect_test.found(effect_test.report('capacity')), 'old_prepared_transaction warning', 'one that was prepared');
select dblink_exec('old', 'rollback prepared ''p'''), dblink_disconnect('old') \gset
select * from finish();
