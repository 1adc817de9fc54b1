-- daily: a row for each report, the findings of all; one that fails hides no other.
begin;
select no_plan();
select effect_test.set_now('2030-01-02 00:00:00+00') \gset
select effect_test.tool('short', '{"lease": "10s"}') \gset
select is((select string_agg(r ->> 'warnings', ' ') from effect_test.report_rows(effect_test.report('daily')) r) ~ '^0( 0)*$', true, 'of nothing: nothing');
select effect_test.stat('2030-01-01 10:00+00', 'default', 'short', '{"completed": 900, "late": 100, "run": 900, "busy": 400}', 100000) \gset
create temp view report as select effect_test.report('daily') as j;
select is(effect_test.found(j), 'short busy_high warning, short lease_below_p99 warning', 'findings of all, each with its tool') from report;
select is((select jsonb_agg(jsonb_build_array(f -> 'report', f -> 'namespace') order by i) from jsonb_array_elements(j -> 'findings') with ordinality as x(f, i)),
  '[["summary", "default"], ["timeouts", "default"]]', 'and its own report') from report;
select is((select jsonb_object_agg(r ->> 'report', r -> 'warnings') from effect_test.report_rows(j) r where r ->> 'report' in ('summary', 'timeouts', 'retention')),
  '{"summary": 1, "timeouts": 1, "retention": 0}', 'counted where they are') from report;
select is(effect_test.found(effect_test.report('daily', 'other')), null, 'another namespace sees none');
-- one that raises, and one that takes too long
create or replace function effect.report_timeouts(p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer)
returns table (namespace text, tool text, n bigint, p50_ms bigint, p99_ms bigint, lease_ms bigint, lapsed bigint, gave_up bigint,
  gave_up_p50_ms bigint, late bigint, look json, of bigint)
language plpgsql as $$ begin perform 'secret'::int; end $$;
select is(effect_test.found(j), 'short busy_high warning, report_failed warning', 'one that raises is a finding, the others are there') from report;
select is(j #>> '{findings,1,text}', 'the report timeouts could not be made: it raised 22P02', 'without a word of what it raised on') from report;
create or replace function effect.report_timeouts(p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer)
returns table (namespace text, tool text, n bigint, p50_ms bigint, p99_ms bigint, lease_ms bigint, lapsed bigint, gave_up bigint,
  gave_up_p50_ms bigint, late bigint, look json, of bigint)
language plpgsql as $$ begin perform pg_sleep(60); end $$;
set local statement_timeout = '2s';
create temp table slow as select j from report;
set local statement_timeout = 0;
select matches((select string_agg(f ->> 'text', ', ') from jsonb_array_elements(j -> 'findings') f), 'the report timeouts could not be made: it took too long, '
  'the report retention could not be made: there was no time left for it', 'the end of the statement''s time hides nothing that is there') from slow;
select is((select r -> 'warnings' from effect_test.report_rows(j) r where r ->> 'report' = 'summary'), '1', 'of the reports before it') from slow;
select * from finish();
rollback;
