-- retention: how old what is repeated is, against how long it is remembered: memory that is too short or too long is found,
-- and a window that is too short to know says nothing.
begin;
select no_plan();
select effect_test.set_now('2030-03-01 00:00:00+00') \gset
select count(effect_test.tool(t, jsonb_build_object('keep_key', k, 'keep_result', r))) from (values ('fine', '7d', '1d'),
  ('near', '1h', '1h'), ('short', '7d', '1d'), ('again', '7d', '7d'), ('results', '20d', '1h'), ('nothing', '20d', '0s'),
  ('long', '30d', '1d'), ('young', '30d', '1d'), ('few', '30d', '1d'), ('half', '30d', '1d')) x(t, k, r) \gset
create function pg_temp.seen(p_tool text, p_since text default '2030-01-02 00:00+00') returns void language sql as $$
  select effect_test.stat(p_since, 'default', p_tool, '{"run": 1}'), effect_test.stat('2030-02-20 00:00+00', 'default', p_tool, '{"run": 100}') $$;
select count(pg_temp.seen(t)::text) from unnest('{fine,near,short,again,results,nothing,long,few,half}'::text[]) t \gset
select pg_temp.seen('young', '2030-02-10 00:00+00') \gset
select effect_test.stat('2030-02-20 01:00+00', 'default', 'fine', '{"replay_age": 100}', 3600000 * 20),
  effect_test.stat('2030-02-20 01:00+00', 'default', 'near', '{"replay_age": 100}', 60000 * 50),
  effect_test.stat('2030-02-20 01:00+00', 'default', 'results', '{"replay_age": 100, "expired": 30}', 3600000 * 50),
  effect_test.stat('2030-02-20 01:00+00', 'default', 'nothing', '{"replay_age": 100, "expired": 100}', 3600000 * 50),
  effect_test.stat('2030-02-20 01:00+00', 'default', 'long', '{"replay_age": 100}', 60000 * 50),
  effect_test.stat('2030-02-20 01:00+00', 'default', 'young', '{"replay_age": 100}', 60000 * 50),
  effect_test.stat('2030-02-20 01:00+00', 'default', 'half', '{"replay_age": 64}', 86400000::bigint * 13),
  effect_test.stat('2030-02-20 01:00+00', 'default', 'few', '{"replay_age": 19}', 60000 * 50) \gset
-- rows: two of `fine`, and two of `again`, one of which had landed before and was forgotten
select effect_test.set_now('2030-02-25 00:00:00+00') \gset
select count(effect_test.begin(effect_test.e(k, 't', jsonb_build_object('tool', t))))
from (values ('a', 'fine'), ('b', 'fine'), ('a', 'again'), ('b', 'again')) x(k, t) \gset
select effect_test.complete(effect_test.e('a', 't', '{"tool": "fine"}')) \gset
insert into effect.past (id, policy, claimed_at, done_at, forgotten_at, due_at)
select effect.id('default', 'again', 'a'), (select version from effect.tool_now('default', 'again')), at, at + '1 min', at + '7 d', '2031-01-01'
from unnest('{2030-02-05 00:00+00,2030-02-14 00:00+00}'::timestamptz[]) at;
select effect_test.set_now('2030-03-01 00:00:00+00') \gset
create function pg_temp.report(p_scope text default null, p_tool text default null, p_from text default '2030-01-02 00:00+00') returns jsonb
language sql as $$ select effect_test.report('retention', p_scope, null, p_tool, p_from::timestamptz) $$;
create temp view report as select pg_temp.report() as j;
select is(effect_test.found(j), 'near memory_short warning, again memory_short warning, long memory_long advice, results result_short advice',
  'too short, too long, and nothing else') from report;
select is(effect_test.only(effect_test.report_row(j, 'again'), 'reruns', 'rows', 'n', 'keep_key_ms', 'keep_result_ms', 'p99_ms'),
  '{"reruns": 2, "rows": 2, "n": 0, "p99_ms": null, "keep_key_ms": 604800000, "keep_result_ms": 604800000}',
  'what ran again after it was forgotten, each time once') from report;
select is((select f ->> 'text' from jsonb_array_elements(j -> 'findings') f where f ->> 'tool' = 'again'),
  '2 effects were run again after their key was forgotten, the latest 11 d after it was done; keys are kept for 7 d, "keep_key": "14d" would have caught them',
  'with what would have caught them') from report;
select is((select f ->> 'next' from jsonb_array_elements(j -> 'findings') f where f ->> 'tool' = 'again'),
  'effectctl report duplicates --namespace default --tool again', 'and where to see them') from report;
select is(effect_test.only(effect_test.report_row(j, 'fine'), 'n', 'under_1m', 'under_1h', 'under_7d', 'under_30d', 'over_30d', 'rows', 'reruns', 'expired'),
  '{"n": 100, "rows": 2, "reruns": 0, "expired": 0, "under_1m": 0, "under_1h": 0, "under_7d": 64, "under_30d": 0, "over_30d": 0}',
  'ages by what people count in') from report;
select is((select sum((r ->> 'under_1m')::int + (r ->> 'under_1h')::int + (r ->> 'under_1d')::int + (r ->> 'under_7d')::int + (r ->> 'under_30d')::int
  + (r ->> 'over_30d')::int - (r ->> 'n')::int) from effect_test.report_rows(j) r), 0::bigint, 'each repeat once') from report;
select ok(abs((select sum((r ->> 'bytes')::bigint) from effect_test.report_rows(j) r) - pg_total_relation_size('effect.ledger')) < 5,
  'the bytes of all tools are those of the ledger') from report;
select is(effect_test.found(pg_temp.report(p_from => '2030-02-05 00:00+00')),
  'near memory_short warning, again memory_short warning, results result_short advice', 'a window shorter than the memory does not call it long');
select is(effect_test.found(pg_temp.report(p_tool => 'again', p_from => '2030-02-26 00:00+00')), null, 'reruns count in the window in which they ran');
-- whose it is
select effect_test.tool('mine', '{}', 'other'), effect_test.begin(effect_test.e('a', 't', '{"tool": "mine", "ns": "other"}')) \gset
select is((select string_agg(r ->> 'tool', ' ') from effect_test.report_rows(pg_temp.report('other')) r), 'mine', 'a namespace sees its own rows');
select is(pg_temp.report('none') -> 'n', '0', 'another none');
select is(effect_test.found(pg_temp.report('other')), null, 'and no finding of others');
select * from finish();
rollback;
