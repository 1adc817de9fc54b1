-- max_attempts: counted at begin, so that crashes count (cases 85, 86); an operator's absent gives one more.
begin;
select no_plan();
create function pg_temp.crash(p_token text) returns text language plpgsql as $$
declare
  v_told jsonb := effect_test.begin(effect_test.e('k', p_token));
begin
  if v_told ->> 'answer' <> 'run' then
    return v_told ->> 'answer';
  end if;
  perform effect_test.advance('61 s');
  perform effect_test.sweep(100, 0);
  for i in 1 .. 2 loop
    perform effect_test.advance('3 min');
    perform effect_test.must('probe',
      effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'probed', 'k')) ->> 'task', 'probe');
    perform effect_test.verdict('{"key": "k", "verdict": "absent"}');
  end loop;
  return format('run %s, then %s', v_told ->> 'attempt', effect_test.row('k') ->> 'state');
end
$$;
select is(pg_temp.crash('t1'), 'run 1, then released', 'first crash, probe says absent');
select is(pg_temp.crash('t2'), 'run 2, then released', 'second');
select is(pg_temp.crash('t3'), 'run 3, then released', 'third');
select is(effect_test.only(effect_test.begin(effect_test.e('k', 't4')), 'answer', 'budget', 'budget_max'),
  '{"answer": "exhausted", "budget": "key", "budget_max": 3}', 'the fourth begin: exhausted');
select is(effect_test.only(effect_test.row('k'), 'state', 'attempt'), '{"state": "released", "attempt": 3}',
  'it used up nothing');
select is(effect_test.resolve('{"key": "k", "verdict": "absent"}') ->> 'answer', 'ok',
  'an operator''s absent on the spent budget');
select is(effect_test.resolve('{"key": "k", "verdict": "absent"}') ->> 'answer', 'ok', 'sent twice');
select is((effect_test.row('k') ->> 'extra')::int, 1, 'grants one attempt, not two');
select is(pg_temp.crash('t5'), 'run 4, then released', 'one more');
select is(pg_temp.crash('t6'), 'exhausted', 'and no more');
-- on an escalated row whose budget is spent, the operator's absent has the same effect
select effect_test.begin(effect_test.e('o', 't1', '{"tool": "once"}')) \gset
select effect_test.unknown(effect_test.e('o', 't1', '{"tool": "once"}')) \gset
select effect_test.advance('16 min') \gset
select effect_test.sweep(100, 0) \gset
select is(effect_test.resolve('{"key": "o", "tool": "once", "verdict": "absent"}') ->> 'state', 'released',
  'absent on an escalated row');
select is(effect_test.begin(effect_test.e('o', 't2', '{"tool": "once"}')) ->> 'answer', 'run',
  'gives one more attempt where the budget was spent');
select effect_test.release(effect_test.e('o', 't2', '{"tool": "once"}')) \gset
select is(effect_test.begin(effect_test.e('o', 't3', '{"tool": "once"}')) ->> 'answer', 'exhausted', 'one');
-- not where it was not spent
select effect_test.begin(effect_test.e('p', 't1')) \gset
select effect_test.unknown(effect_test.e('p', 't1')) \gset
select effect_test.resolve('{"key": "p", "verdict": "absent"}') \gset
select is((effect_test.row('p') ->> 'extra')::int, 0, 'absent with attempts left grants none');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
