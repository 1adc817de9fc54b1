-- on_unknown = retry beside the guards: a retry is a grant of its turn, and where the turn has none left it is unknown, not
-- exhausted, since the open attempt may have landed. It is no business duplicate of anything: it is the same effect.
begin;
select no_plan();
select effect_test.tool('thrice', '{"on_unknown": "retry", "retry_window": "1h", "turn_budget": 2, "max_attempts": 9, "business_window": "1h",
  "on_business_duplicate": "hold"}') \gset
create function pg_temp.e(p_token text, p_more jsonb default '{}') returns jsonb language sql as
  $$ select effect_test.e('a', p_token, '{"tool": "thrice", "run": "r", "turn": "1"}'::jsonb || p_more) $$;
create function pg_temp.turn(p_turn text) returns text language sql as $$
  select format('%s grants, %s asks, %s refused', grants, asks, refused) from effect.turn where turn = p_turn $$;
select is(effect_test.begin_guarded(pg_temp.e('t1')) ->> 'answer', 'run', 'the first attempt');
select effect_test.unknown(pg_temp.e('t1')) \gset
select is(effect_test.only(effect_test.begin_guarded(pg_temp.e('t2')), 'answer', 'attempt'), '{"answer": "run", "attempt": 2}', 'its retry');
select is(pg_temp.turn('1'), '2 grants, 2 asks, 0 refused', 'both are grants of the turn');
select effect_test.advance('61 s') \gset
select is(effect_test.only(effect_test.begin_guarded(pg_temp.e('t3')), 'answer', 'state', 'budget', 'attempt'),
  '{"answer": "unknown", "state": "unknown", "attempt": 2}', 'the turn is spent and the lease over: unknown');
select is(effect_test.kinds('a', 'thrice'), 'unknown,granted,lapsed,refused', 'it lapsed');
select is(effect_test.begin_guarded(pg_temp.e('t3')) ->> 'answer', 'unknown', 'and stays so');
select is(pg_temp.turn('1'), '2 grants, 4 asks, 0 refused', 'which is no refusal by the turn');
select is(effect_test.only(effect_test.begin_guarded(pg_temp.e('t3', '{"turn": "2"}')), 'answer', 'attempt'), '{"answer": "run", "attempt": 3}',
  'another turn has its own budget');
select is(pg_temp.turn('2'), '1 grants, 1 asks, 0 refused', 'and counts it');
-- a twin of another key stands against new effects, not against a retry
select effect_test.begin_guarded(effect_test.e('x', 't1', '{"tool": "thrice", "turn": "3", "business": "order 1"}')) \gset
select effect_test.unknown(effect_test.e('x', 't1', '{"tool": "thrice"}')) \gset
select is(effect_test.begin_guarded(effect_test.e('y', 't1', '{"tool": "thrice", "turn": "3", "business": "order 1"}')) ->> 'answer', 'held',
  'another key of the same business is held');
select is(effect_test.begin_guarded(effect_test.e('y', 't1', '{"tool": "thrice", "turn": "3", "business": "order 1", "again": "two lines"}')) ->> 'answer',
  'run', 'until it is meant');
select is(effect_test.begin_guarded(effect_test.e('x', 't2', '{"tool": "thrice", "turn": "4", "business": "order 1"}')) ->> 'answer', 'run',
  'a retry of the first is not held by the second');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
