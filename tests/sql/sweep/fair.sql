-- No tool's backlog stands before another tool's row (case 88): slots are shared by the tools that have due rows, a tool
-- that may not be asked takes none, and no row stays open beyond its deadline for it.
begin;
select no_plan();
select effect_test.tool('slow') \gset
select effect_test.tool('b') \gset
create function pg_temp.open(p_tool text, p_from int, p_to int) returns void language sql as $$
  select effect_test.begin(jsonb_agg(effect_test.e(p_tool || i, 't1', jsonb_build_object('tool', p_tool, 'lease_ms', 3600000))))
    from generate_series(p_from, p_to) i;
  select effect_test.unknown(jsonb_agg(effect_test.e(p_tool || i, 't1', jsonb_build_object('tool', p_tool))))
    from generate_series(p_from, p_to) i;
$$;
-- {tool: number of probes} of a sweep
create function pg_temp.probes(p_tasks jsonb) returns jsonb language sql as $$
  select coalesce(jsonb_object_agg(tool, n), '{}')
  from (select t ->> 'tool' as tool, count(*) as n from jsonb_array_elements(p_tasks) t where t ->> 'task' = 'probe' group by 1) x
$$;
create function pg_temp.open_for(p_tool text, p_running int, p_room int, p_why text default null) returns jsonb language sql as $$
  select jsonb_build_object('tool', p_tool, 'running', p_running, 'room', p_room, 'why', p_why)
$$;

-- case 88: many rows, all due before the one
select pg_temp.open('slow', 1, 300) \gset
select effect_test.advance('1 s') \gset
select pg_temp.open('b', 1, 1) \gset
select is(pg_temp.probes(effect_test.sweep(20, 20, false, 15)), '{"slow": 15, "b": 1}',
  'case 88: 300 due rows of one tool, then one of another: it is probed in that cycle, and the first has all that one tool may have');
select is(pg_temp.probes(effect_test.sweep(20, 20, false, 15, pg_temp.open_for('slow', 15, 0))), '{}',
  'a tool without room is not probed');
select is((select count(*) from effect.ledger l where l.key like 'slow%' and l.probe_no = 0 and l.due_at = effect.now() - interval '1 s'), 285::bigint,
  'and its rows are not written: they stay due');
select pg_temp.open('b', 2, 3) \gset
select is(pg_temp.probes(effect_test.sweep(20, 2, false, 15, pg_temp.open_for('slow', 15, 0))), '{"b": 2}',
  'the backlog of a full tool uses up no slot');
select is(pg_temp.probes(effect_test.sweep(20, 1, false, 15, pg_temp.open_for('slow', 14, 1))), '{"slow": 1}', 'a slot that gets free is used');

-- two backlogs
select pg_temp.open('b', 4, 300) \gset
select is(pg_temp.probes(effect_test.sweep(100, 32, false, 24)), '{"slow": 16, "b": 16}', 'two tools with due rows share the slots');
select is(pg_temp.probes(effect_test.sweep(100, 8, false, 24, pg_temp.open_for('slow', 24, 0))), '{"b": 8}', 'the later one gets what is free');
select is(pg_temp.probes(effect_test.sweep(100, 6, false, 24, jsonb_build_array(pg_temp.open_for('slow', 20, 4), pg_temp.open_for('b', 8, 16)))),
  '{"b": 6}', 'and more, until both have as many');
select is(pg_temp.probes(effect_test.sweep(100, 7, false, 24, jsonb_build_array(pg_temp.open_for('slow', 12, 12), pg_temp.open_for('b', 13, 11)))),
  '{"slow": 4, "b": 3}', 'then they take turns');
select is(pg_temp.probes(effect_test.sweep(100, 32, false, 24, pg_temp.open_for('slow', 0, 1))), '{"slow": 1, "b": 24}',
  'a room of one is one probe');
-- over many rounds, some probes ending in each: as many for the one as for the other
do $$
declare
  v_running jsonb := '{"slow": 24, "b": 0}';
  v_probes jsonb;
  v_done jsonb := '{"slow": 0, "b": 0}';
begin
  for i in 1 .. 40 loop
    v_probes := pg_temp.probes(effect_test.sweep(100, 32 - (v_running ->> 'slow')::int - (v_running ->> 'b')::int, false, 24,
      jsonb_build_array(pg_temp.open_for('slow', (v_running ->> 'slow')::int, 24 - (v_running ->> 'slow')::int),
        pg_temp.open_for('b', (v_running ->> 'b')::int, 24 - (v_running ->> 'b')::int))));
    v_running := (select jsonb_object_agg(k, (v_running ->> k)::int + coalesce((v_probes ->> k)::int, 0)) from unnest('{slow,b}'::text[]) k);
    -- a quarter of each ends
    v_done := (select jsonb_object_agg(k, (v_done ->> k)::int + (v_running ->> k)::int / 4) from unnest('{slow,b}'::text[]) k);
    v_running := (select jsonb_object_agg(k, (v_running ->> k)::int - (v_running ->> k)::int / 4) from unnest('{slow,b}'::text[]) k);
  end loop;
  perform set_config('effect_test.done', v_done::text, true);
end
$$;
select ok(abs((d ->> 'slow')::int - (d ->> 'b')::int) <= (d ->> 'b')::int / 4, 'over many rounds both backlogs end alike: ' || d::text)
from (select current_setting('effect_test.done')::jsonb) x(d);

-- what one tool is: a name in a namespace, whatever the version of its policy
select effect_test.tool('slow', '{"settle": "31s"}') \gset
select pg_temp.open('slow', 301, 330) \gset
select is((select count(distinct l.policy) from effect.ledger l where l.key like 'slow%' and l.due_at <= effect.now()), 2::bigint, 'two versions of a policy');
select is(pg_temp.probes(effect_test.sweep(100, 32, false, 5, pg_temp.open_for('b', 0, 0))), '{"slow": 5}', 'share one room');
select effect_test.tool('b', '{}', 'other') \gset
select effect_test.begin(jsonb_agg(effect_test.e('o' || i, 't1', '{"tool": "b", "ns": "other"}'))) from generate_series(1, 9) i \gset
update effect.ledger l set policy = t.version from effect.tool t
  where l.id = any (array(select effect.id('other', 'b', 'o' || i) from generate_series(1, 9) i)) and t.namespace = 'other';
select effect_test.unknown(jsonb_agg(effect_test.e('o' || i, 't1', '{"tool": "b", "ns": "other"}'))) from generate_series(1, 9) i \gset
select is((select count(*) from jsonb_array_elements(effect_test.sweep(100, 32, false, 24,
    jsonb_build_array(pg_temp.open_for('slow', 0, 0), pg_temp.open_for('b', 0, 0)))) t where t ->> 'namespace' = 'other'), 9::bigint,
  'the tool of that name in another namespace has a room of its own');

-- who may not be asked at all: no probe number, no step of the back-off, but the deadline holds and says why
select effect_test.begin(effect_test.e('last', 't1', '{"tool": "b"}')) \gset
select effect_test.unknown(effect_test.e('last', 't1', '{"tool": "b"}')) \gset
select effect_test.advance('14 min 59 s') \gset
select is(effect_test.sweep(1000, 32, true, 24, jsonb_build_array(pg_temp.open_for('slow', 0, 0), pg_temp.open_for('b', 0, 0, 'no answer')))
  @> jsonb_build_array(jsonb_build_object('effect', effect.id('default', 'b', 'last'))), false, 'before its deadline nothing is done about it');
select effect_test.advance('1 s') \gset
select ok(effect_test.task(effect_test.sweep(1000, 0, true, 24, jsonb_build_array(pg_temp.open_for('slow', 0, 0, 'no answer'), pg_temp.open_for('b', 0, 0, 'no answer since noon'))),
  'escalated', effect.id('default', 'b', 'last')) is not null, 'at its deadline it is escalated, though nobody could be asked');
select is(effect_test.only(effect_test.row('last', 'b'), 'state', 'probe_no', 'tries'), '{"state": "escalated", "probe_no": 0, "tries": 0}', 'it took no probe');
select is((select e.reason from effect.event e where e.effect = effect.id('default', 'b', 'last') and e.kind = 'escalated'),
  'no probe could tell by the deadline: no answer since noon', 'and people are told why');
select effect_test.sweep(1000, 0, true, 0) \gset
select effect_test.sweep(1000, 0, true, 0) \gset
select effect_test.advance('1 min') \gset
select effect_test.sweep(1000, 0, true, 0) \gset
select is((select count(*) from effect.ledger l where l.state = 'unknown' and l.deadline_at <= effect.now()), 0::bigint,
  'no row is unknown beyond its deadline, whatever had no room');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
