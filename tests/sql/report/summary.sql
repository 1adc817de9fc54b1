-- summary: what was counted, per tool, in the window and nowhere else; rates from 20 calls on; what deserves a look, and
-- nothing else.
begin;
select no_plan();
-- now is 00:00 of 2030-01-02; the window is the day before it
select effect_test.set_now('2030-01-02 00:00:00+00') \gset
create function pg_temp.report(p_scope text default null, p_ns text default null, p_tool text default null,
  p_limit int default 100, p_from timestamptz default null, p_to timestamptz default null) returns jsonb language sql as $$
  select effect_test.report('summary', p_scope, p_ns, p_tool, p_from, p_to, p_limit) $$;
-- a cell of a report by its column's name
create function pg_temp.cell(p jsonb, p_row int, p_column text) returns jsonb language sql as $$
  select p -> 'rows' -> p_row -> (select i::int - 1 from jsonb_array_elements_text(p -> 'columns') with ordinality as c(name, i)
    where name = p_column) $$;
select is(pg_temp.report() - 'columns', '{"counts": {"exact": true, "missing": []}, "name": "summary", "from": "2030-01-01T00:00:00.000Z", "to": "2030-01-02T00:00:00.000Z",
  "rows": [], "n": 0, "findings": []}', 'of nothing: no rows, and the last 24 hours');
select effect_test.stat('2030-01-01 12:00+00', 'a', 'quiet', '{"run": 100, "replay": 10, "completed": 99, "failed": 1, "pass": 7}') \gset
select is(pg_temp.cell(pg_temp.report(), 0, c), v, c) from jsonb_each('{"namespace": "a", "tool": "quiet", "calls": 117, "runs": 100,
  "replays": 10, "busy": 0, "passed": 7, "n": 110, "dedup_rate": 0.0909, "dedup_rate_before": null, "busy_rate": 0,
  "completed": 99, "failed": 1, "resolved": 0, "resolve_p50_ms": null}') x(c, v);
select ok(pg_temp.cell(pg_temp.report(), 0, 'answer_p50_ms')::int between 8 and 16, 'durations are of their place');
select is(pg_temp.report() -> 'findings', '[]', 'nothing deserves a look');
-- the edges of the window: its first minute counts, the one at its end does not
select effect_test.stat('2030-01-01 00:00+00', 'a', 'edge', '{"run": 1}'), effect_test.stat('2029-12-31 23:59+00', 'a', 'edge', '{"run": 20}'),
  effect_test.stat('2030-01-02 00:00+00', 'a', 'edge', '{"run": 300}') \gset
select is(pg_temp.cell(pg_temp.report(p_tool => 'edge'), 0, 'calls'), '1', 'what begins in the window counts');
select is(pg_temp.cell(pg_temp.report(p_tool => 'edge', p_from => '2029-12-31 23:59:59+00', p_to => '2030-01-02 00:00:01+00'), 0, 'calls'),
  '321', 'the window begins with a whole minute');
select is(pg_temp.report(p_tool => 'edge', p_from => '2029-12-31 23:59:59+00') ->> 'from', '2029-12-31T23:59:00.000Z', 'and says so');
-- n = 19 has no rate, 20 has
select effect_test.stat('2030-01-01 12:00+00', 'a', 'few', '{"run": 18, "busy": 1}') \gset
select is(jsonb_build_array(pg_temp.cell(pg_temp.report(p_tool => 'few'), 0, 'n'), pg_temp.cell(pg_temp.report(p_tool => 'few'), 0, 'busy_rate')),
  '[19, null]', 'a rate of 19 is none');
update effect.stat set n = 2 where tool = 'few' and decision = 'busy';
select is(pg_temp.cell(pg_temp.report(p_tool => 'few'), 0, 'busy_rate'), '0.1', 'of 20 it is one');
-- what deserves a look
select effect_test.stat('2030-01-01 12:00+00', 'a', 'bad', '{"run": 600, "replay": 200, "busy": 300, "mismatch": 20, "unknown": 20, "escalated": 5}'),
  effect_test.stat('2029-12-31 12:00+00', 'a', 'bad', '{"run": 900, "replay": 30}'),
  effect_test.stat('2030-01-01 12:00+00', 'b', 'it''s', '{"run": 60, "busy": 40}'),
  effect_test.stat('2029-12-31 12:00+00', 'a', 'quiet', '{"run": 100, "replay": 5}') \gset
select is((select jsonb_agg(jsonb_build_array(f ->> 'namespace', f ->> 'tool', f ->> 'code', f ->> 'level'))
  from jsonb_array_elements(pg_temp.report() -> 'findings') f),
  '[["a", "bad", "dedup_rose", "warning"], ["a", "bad", "busy_high", "warning"], ["a", "bad", "mismatch_high", "warning"],
    ["a", "bad", "unknown_high", "warning"], ["b", "it''s", "busy_high", "warning"]]', 'each that was planted, and no other');
select is(pg_temp.report() #>> '{findings,0,text}', '17.5 % of 1145 calls repeat one that is done, and 3.2 % did in as long a time before', 'in a sentence');
select is(pg_temp.report() #>> '{findings,4,next}', 'effectctl list --state pending --namespace b --tool ''it''"''"''s''',
  'with what to type, quoted for a shell');
select is(pg_temp.report(p_limit => 1) - 'columns' - 'findings' - 'counts' - 'from' - 'to' #- '{rows,0}', '{"name": "summary", "rows": [], "n": 5}',
  'a limit cuts rows, not what there is of them');
select is(jsonb_array_length(pg_temp.report(p_limit => 1) -> 'findings'), 5, 'and no finding');
-- whose it is
select is((select jsonb_agg(r -> 1) from jsonb_array_elements(pg_temp.report('b') -> 'rows') r), '["it''s"]', 'a namespace sees its own');
select is(jsonb_array_length(pg_temp.report('b') -> 'findings'), 1, 'also of findings');
select is(pg_temp.report('c') -> 'n', '0', 'another sees nothing');
select is(pg_temp.report('b,a') -> 'n', '5', 'who has both sees both');
select is(pg_temp.report('b,a', 'b') -> 'n', '1', 'or the one he names');
select is(pg_temp.report('a', 'b') -> 'n', '0', 'never one that is not his');
-- windows
select is(pg_temp.report(p_from => '2030-01-02 00:00:00+00'), '"window"', 'an empty window is refused');
select is(pg_temp.report(p_from => '2027-01-01 00:00:00+00'), '"window"', 'and one of years');
select is(pg_temp.report(p_from => '2027-10-25 00:00:00+00') ->> 'name', 'summary', 'one of 800 days is not');
-- what the counts may lack: a daemon was killed in the window
insert into effect.daemon (boot, instance, started_at, seen_at, host, version)
values (effect_test.boot(1), effect_test.uid('d'), '2030-01-01 06:00+00', '2030-01-01 10:00:05.5+00', 'h', '1'),
  (effect_test.boot(2), effect_test.uid('d'), '2030-01-01 10:00:09+00', effect.now(), 'h', '1');
select is(pg_temp.report() -> 'counts', jsonb_build_object('exact', false, 'missing', jsonb_build_array(jsonb_build_object('instance', effect_test.uid('d'),
  'host', 'h', 'why', 'killed', 'after', '2030-01-01T10:00:05.500Z', 'until', '2030-01-01T10:00:09.000Z'))), 'counts that are missing are said to be');
select is(pg_temp.report(p_from => '2030-01-01 11:00+00') #> '{counts,exact}', 'true', 'in the window they are missing from');
-- findings of a thousand rows at most
select count(effect_test.stat('2030-01-01 12:00+00', 'z', 'z' || i, '{"run": 20, "busy": 20}')::text) from generate_series(1, 1001) i \gset
select is(jsonb_build_array(jsonb_array_length(j -> 'rows'), j -> 'n', jsonb_array_length(j -> 'findings')), '[2, 1001, 1000]', 'findings of the 1,000 most important rows')
from pg_temp.report('z', p_limit => 2) j;
select * from finish();
rollback;
