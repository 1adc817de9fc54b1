-- Fifty connections at the same moment: keys of their own in one turn whose budget is 3, and keys of their own with one
-- business key. Exactly three, and one, are told run; a rollback spends nothing; nobody waits (case 100).
select no_plan();
select effect_test.tool('both', '{"turn_budget": 3, "business_window": "1h", "on_business_duplicate": "hold"}') \gset
select count(effect_test.connect('c' || i)) from generate_series(1, 50) i \gset
create function effect_test.who(p_round int, p_i int, p_what jsonb) returns text language sql as $$
  select effect_test.begin_guarded(effect_test.e(format('k%s %s', p_round, p_i), 't', jsonb_build_object('tool', 'both', 'run', 'r')
    || p_what)) ->> 'answer' $$;
-- Whoever is told `retry` asks again, as the daemon does. At most half of them end by a rollback.
create function pg_temp.round(p_round int, p_what jsonb) returns text language plpgsql as $$
declare
  v_told jsonb := '{}';
  v_left int[] := array(select generate_series(1, 50));
  v_again int[];
  v_answer text;
  i int;
begin
  while cardinality(v_left) > 0 loop
    foreach i in array v_left loop
      perform dblink_send_query('c' || i, format('select effect_test.who(%s, %s, %L)', p_round, i, p_what));
    end loop;
    v_again := '{}';
    foreach i in array v_left loop
      select x.a into v_answer from dblink_get_result('c' || i) as x(a text);
      perform from dblink_get_result('c' || i) as x(a text);
      if v_answer = 'retry' then
        v_again := v_again || i;
      else
        v_told := jsonb_set(v_told, array[coalesce(v_answer, 'nothing')],
          to_jsonb(coalesce((v_told ->> coalesce(v_answer, 'nothing'))::int, 0) + 1));
      end if;
    end loop;
    v_left := v_again;
  end loop;
  return v_told::text;
end
$$;
select is(pg_temp.round(i, jsonb_build_object('turn', i)), '{"run": 3, "exhausted": 47}', format('one turn, round %s', i)) from generate_series(1, 20) i;
select is((select string_agg(distinct format('%s %s %s', grants, asks, refused), ',') from effect.turn), '3 50 47', 'each begin is counted once');
select is(pg_temp.round(i, jsonb_build_object('business', i)), '{"run": 1, "held": 49}', format('one business key, round %s', i))
  from generate_series(21, 40) i;
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');

set lock_timeout = '5s';
-- what is not committed: a rival of the turn or of the business key is told to ask again, at once; a rollback spends nothing
select dblink_exec('c1', 'begin') \gset
select effect_test.ask('c1', $$ to_jsonb(effect_test.who(50, 1, '{"turn": "open", "business": "open"}')) $$) as one \gset
select is(:'one'::jsonb, '"run"', 'a grant, not committed');
select is(effect_test.who(50, 2, '{"turn": "open"}'), 'retry', 'the same turn: ask again');
select is(effect_test.who(50, 2, '{"business": "open"}'), 'retry', 'the same business key: ask again');
select is(effect_test.who(50, 2, '{"turn": "other", "business": "other"}'), 'run', 'neither: run');
select is((select jsonb_agg(x -> 'answer') from jsonb_array_elements(effect_test.begin_guarded(jsonb_build_array(
  effect_test.e('n1', 't', '{"tool": "both"}'), effect_test.e('n2', 't', '{"tool": "both", "business": "open"}'),
  effect_test.e('n3', 't', '{"tool": "both", "run": "r", "turn": "n"}')))) x), '["run", "retry", "run"]', 'neighbours in a batch go on');
select dblink_exec('c1', 'rollback') \gset
select is(effect_test.who(50, i, '{"turn": "open"}'), case when i < 6 then 'run' else 'exhausted' end, 'it spent nothing') from generate_series(3, 6) i;
select is(effect_test.who(50, 7, '{"business": "open"}'), 'run', 'and is nobody''s twin');
-- a turn that is begun in is not forgotten meanwhile, and nobody waits for who forgets
select effect_test.advance('31 d') \gset
select dblink_exec('c1', format('set effect_test.now = %L', effect.now())) \gset
select dblink_exec('c1', 'begin') \gset
select effect_test.ask('c1', $$ to_jsonb(effect_test.who(60, 1, '{"turn": "open"}')) $$) as one \gset
select is(:'one'::jsonb, '"exhausted"', 'a spent turn is asked for after 31 days, not committed');
select effect.retain(1000) \gset
select is((select string_agg(turn, ',') from effect.turn), 'open', 'all the others are forgotten');
select dblink_exec('c1', 'commit') \gset
select effect.retain(1000) \gset
select is((select string_agg(turn, ',') from effect.turn), 'open', 'it stays');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
