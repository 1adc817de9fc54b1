-- incidents: newest first, filters, a cursor that neither skips nor repeats, and what each of them says.
begin;
select no_plan();
create function pg_temp.incidents(p_scope text default null, p_tool text default null, p_namespace text default null,
  p_older bigint default null, p_limit int default 100) returns jsonb language sql as $$
  select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(i)) - 'id' order by i.at desc, i.id desc), '[]')
  from effect.incidents(p_scope, p_tool, p_namespace, p_older, p_limit, null, null) i $$;
select is(pg_temp.incidents(), '[]', 'a sound ledger has none');
-- two attempts that both landed: the later word is an incident with its result, and says of whom
select effect_test.begin(effect_test.e('twice', 't1')) \gset
select effect_test.release(effect_test.e('twice', 't1')) \gset
select effect_test.begin(effect_test.e('twice', 't2')) \gset
select effect_test.complete(effect_test.e('twice', 't2', '{"result": "{\"refund\":\"re_2\"}"}')) \gset
select effect_test.advance('1 s') \gset
select is(effect_test.complete(effect_test.e('twice', 't1', '{"result": "{\"refund\":\"re_1\"}"}')) ->> 'answer', 'conflict',
  'the first attempt had landed, too: conflict');
select is(pg_temp.incidents(), jsonb_build_array(jsonb_build_object('at', effect.now(), 'effect',
    effect.id('default', 'probed', 'twice'), 'namespace', 'default', 'tool', 'probed', 'key', 'twice', 'state', 'done',
    'attempt', 1, 'kind', 'late', 'decided_by', 'caller', 'outcome', 'succeeded', 'reason', 'attempt 1 reported success late',
    'result_text', '{"refund":"re_1"}', 'result_bytes', 17)),
  'one incident: when, of whom, what was said, and the result that a person has to undo');
-- said again and again: once
select count(effect_test.complete(effect_test.e('twice', 't1', '{"result": "{\"refund\":\"re_1\"}"}'))) from generate_series(1, 3) \gset
select is(jsonb_array_length(pg_temp.incidents()), 1, 'said again: still one');
-- an orphan of an effect that is there, and a long result
select effect_test.advance('1 s') \gset
select effect_test.begin(effect_test.e('open', 't1', '{"tool": "bare"}')) \gset
select effect_test.complete(effect_test.e('open', 'nobody', jsonb_build_object('tool', 'bare', 'result',
  to_json(repeat('x', 5000))::text))) \gset
select is(effect_test.only(pg_temp.incidents() -> 0, 'tool', 'key', 'state', 'kind', 'result_bytes')
    || jsonb_build_object('said', length(pg_temp.incidents() -> 0 ->> 'result_text')),
  '{"tool": "bare", "key": "open", "state": "pending", "kind": "orphan", "result_bytes": 5002, "said": 1000}',
  'of a long result the beginning, and how long it is');
-- filters
select is(jsonb_array_length(pg_temp.incidents(p_tool => 'bare')), 1, 'by tool');
select is(jsonb_array_length(pg_temp.incidents(p_namespace => 'default')), 2, 'by namespace');
select is(jsonb_array_length(pg_temp.incidents(p_namespace => 'other')), 0, 'by another');
select is(pg_temp.incidents(p_older => 500) -> 0 ->> 'key', 'twice', 'by age');
select is(jsonb_array_length(pg_temp.incidents(p_limit => 1)), 1, 'so many');
-- a row that is gone is named all the same, as long as its history stands
select effect_test.advance('31 d') \gset
select effect.retain(100) \gset
select effect.retain(100) \gset
select is(effect_test.row('twice'), null, 'the key is forgotten');
select is(effect_test.only(pg_temp.incidents(p_tool => 'probed') -> 0, 'namespace', 'tool', 'key', 'state'),
  '{"namespace": "default", "tool": "probed", "key": "twice"}', 'its incident is still told, without a state');
select effect_test.complete(effect_test.e('twice', 't1', '{"bytes": 5, "sha256": "00"}')) \gset
select is(effect_test.only(pg_temp.incidents(p_limit => 1) -> 0, 'namespace', 'tool', 'key', 'kind', 'state'),
  '{"namespace": "default", "tool": "probed", "key": "twice", "kind": "orphan"}', 'and what comes after the deletion, too');
-- pages of 3 give each incident once, newest first, many of one instant among them
do $$ begin for i in 1 .. 10 loop
  perform effect_test.complete(effect_test.e('page ' || i, 'nobody', '{"scope": "default"}'));
  if i % 5 = 0 then perform effect_test.advance('1 s'); end if;
end loop; end $$;
create function pg_temp.pages() returns bigint[] language plpgsql as $$
declare
  v_all bigint[] := '{}';
  v_page record;
  v_before timestamptz;
  v_id bigint;
  v_n int;
begin
  for i in 1 .. 20 loop
    v_n := 0;
    for v_page in select * from effect.incidents(null, null, null, null, 3, v_before, v_id) loop
      v_all := v_all || v_page.id;
      v_before := v_page.at;
      v_id := v_page.id;
      v_n := v_n + 1;
    end loop;
    exit when v_n = 0;
    perform effect_test.must('page', (v_n <= 3)::text, 'true');
  end loop;
  return v_all;
end
$$;
select is(pg_temp.pages(), (select array_agg(id order by at desc, id desc) from effect.event where incident),
  'pages hold each once, newest first');
-- a page reads its own index and no more of it than it tells
select effect_test.begin(jsonb_agg(effect_test.e('many ' || i, 't1'))) from generate_series(1, 50) i \gset
insert into effect.event (effect, at, attempt, kind, incident, scope, tool, key)
  select effect.id('default', 'probed', 'many ' || i % 50), effect.now(), 1, 'late', i % 10 = 0, 'default', 'probed', 'many ' || i % 50
  from generate_series(1, 20000) i;
analyze effect.event;
create function pg_temp.plan() returns text language plpgsql as $$
declare
  v_line text;
  v_all text := '';
begin
  for v_line in execute 'explain (costs off) select e.id from effect.event e
    where e.incident and (e.at, e.id) < (timestamptz ''2040-01-01'', 1::bigint) order by e.at desc, e.id desc limit 100' loop
    v_all := v_all || v_line || E'\n';
  end loop;
  return v_all;
end
$$;
select matches(pg_temp.plan(), 'Index.*Backward using event_incident', 'a page walks the index of incidents backwards');
select doesnt_match(pg_temp.plan(), 'Sort', 'and sorts nothing');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
