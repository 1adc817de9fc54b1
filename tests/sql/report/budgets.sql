-- budgets: what turns used, what was refused for it, and effects without an attempt left.
begin;
select no_plan();
select effect_test.set_now('2030-01-01 12:00:00+00') \gset
select effect_test.tool('few', '{"turn_budget": 2, "turn_asks": 9}'), effect_test.tool('few', '{"turn_budget": 3, "turn_asks": 9}', 'other') \gset
create function pg_temp.call(p_key text, p_turn text, p_tool text default 'few', p_ns text default 'default') returns text language sql as $$
  select effect_test.begin_guarded(effect_test.e(p_key, 't1', jsonb_build_object('tool', p_tool, 'run', 'r', 'turn', p_turn, 'ns', p_ns))) ->> 'answer' $$;
create function pg_temp.report(p_with jsonb default '{}') returns jsonb language sql as $$
  select effect_test.told('budgets', jsonb_build_object('to', effect.now() + interval '1 s') || p_with) $$;
create function pg_temp.row(p_with jsonb default '{}') returns jsonb language sql as $$
  select effect_test.only(pg_temp.report(p_with) #> '{rows,0}', 'tool', 'turns', 'turns_spent', 'grants_max', 'asks_max', 'turn_budget', 'turn_asks', 'refused', 'turn', 'attempts_spent') $$;
select is(pg_temp.row(), '{}', 'of nothing: nothing');
select pg_temp.call('a', '1'), pg_temp.call('b', '1'), effect_test.begin_guarded(effect_test.e('a', 't2', '{"tool": "few", "run": "r", "turn": "1"}')), pg_temp.call('c', '2') \gset
select is(pg_temp.row(), '{"tool": "few", "turns": 2, "turns_spent": 0, "grants_max": 2, "asks_max": 3, "turn_budget": 2, "turn_asks": 9, "refused": 0, "attempts_spent": 0}',
  'a budget that was used to its end, and asked for no more, is not spent');
select is(pg_temp.report() -> 'findings', '[]', 'nor found');
select is(pg_temp.call('d', '1') || ' ' || pg_temp.call('e', '1'), 'exhausted exhausted', 'two more');
select is(pg_temp.row(), '{"tool": "few", "turns": 2, "turns_spent": 1, "grants_max": 2, "asks_max": 5, "turn_budget": 2, "turn_asks": 9, "refused": 2, "turn": "1", "attempts_spent": 0}',
  'are refused, and told: which turn it was');
select is((pg_temp.report() #> '{findings,0}') - 'report' - 'namespace' - 'tool', '{"code": "budget_spent", "level": "warning",
  "text": "2 begins were refused in 1 of 2 turns, as the budget was used up", "next": "effectctl list --namespace default --tool few"}', 'in words, and what to type');
select effect_test.tool('few', '{"turn_budget": 5}') \gset
update effect.tool set registered_at = registered_at + interval '1 s' where version = (select version from effect_test.tool where name = 'few' and namespace = 'default');
select is(effect_test.only(pg_temp.row(), 'turn_budget', 'turn_asks'), '{"turn_budget": 5}', 'the policy that was told last');
-- the window
select effect_test.advance('1 h') \gset
select is(pg_temp.row('{"from": "2030-01-01T12:00:00Z"}') -> 'turns', '2', 'a turn whose last begin lies at the beginning of the window');
select is(pg_temp.row('{"from": "2030-01-01T12:01:00Z"}'), '{}', 'not before it');
select is(pg_temp.row('{"to": "2030-01-01T12:00:00Z"}'), '{}', 'nor one whose first lies at its end');
-- attempts
select effect_test.begin(effect_test.e('x', 't1', '{"tool": "once"}')), effect_test.begin(effect_test.e('y', 't1', '{"tool": "once"}')), effect_test.begin(effect_test.e('z', 't1')) \gset
select effect_test.release(effect_test.e('x', 't1', '{"tool": "once"}')), effect_test.complete(effect_test.e('y', 't1', '{"tool": "once"}')), effect_test.release(effect_test.e('z', 't1')) \gset
select is(effect_test.cells(pg_temp.report('{"tool": "once"}'), 'attempts_spent', 'max_attempts', 'turns', 'effect'), jsonb_build_array(jsonb_build_array(1, 1, 0, effect.id('default', 'once', 'x'))),
  'an effect that was given back and has no attempt left');
select is(effect_test.cells(pg_temp.report('{"tool": "probed"}'), 'attempts_spent'), '[]', 'not one that has');
select is((pg_temp.report('{"tool": "once"}') #> '{findings,0}') - 'report' - 'namespace' - 'tool' - 'effect', jsonb_build_object('code', 'attempts_spent', 'level', 'warning',
  'text', '1 effect was given back and has no attempt left: it is not run again by itself', 'next', 'effectctl explain ' || effect.id('default', 'once', 'x')), 'in words');
select effect_test.resolve('{"key": "x", "tool": "once", "verdict": "absent"}') \gset
select is(effect_test.cells(pg_temp.report('{"tool": "once"}'), 'attempts_spent'), '[]', 'nor one that was granted one more');
-- whose
select count(pg_temp.call('f' || i, '1', 'few', 'other')) from generate_series(1, 4) i \gset
select is(effect_test.cells(pg_temp.report('{"scope": "other"}'), 'namespace', 'refused'), '[["other", 1]]', 'a namespace sees its own');
select is(effect_test.cells(pg_temp.report('{"scope": "other", "ns": "default"}'), 'namespace'), '[]', 'and none that it names');
select is(effect_test.cells(pg_temp.report('{"from": "2030-01-01T12:00:00Z"}'), 'namespace', 'refused'), '[["default", 2], ["other", 1]]', 'the most refused first');
select * from finish();
rollback;
