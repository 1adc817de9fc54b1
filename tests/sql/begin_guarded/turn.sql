-- turn_budget: so many grants of a tool in one turn, whatever their keys; what is no new grant costs nothing (case 87).
begin;
select no_plan();
select effect_test.tool('three', '{"turn_budget": 3, "max_attempts": 2}') \gset
create function pg_temp.ask(p_key text, p_token text, p_more jsonb default '{}') returns jsonb language sql as $$
  select effect_test.begin_guarded(effect_test.e(p_key, p_token, '{"tool": "three", "run": "r", "turn": "1"}'::jsonb || p_more)) $$;
create function pg_temp.turn(p_turn text default '1', p_run text default 'r') returns text language sql as $$
  select format('%s grants, %s asks, %s refused', grants, asks, refused) from effect.turn where run = p_run and turn = p_turn $$;

select is(pg_temp.ask('a', 't1') ->> 'answer', 'run', 'the first grant of the turn');
select is(pg_temp.ask('a', 't2') ->> 'answer', 'busy', 'somebody else asks: busy') from generate_series(1, 20);
select effect_test.complete(effect_test.e('a', 't1', '{"tool": "three"}')) \gset
select is(pg_temp.ask('a', 't3') ->> 'answer', 'replay', 'and again: replay') from generate_series(1, 20);
select is(pg_temp.turn(), '1 grants, 41 asks, 0 refused', 'busy and replay used up nothing');
select is(pg_temp.ask('b', 't1') ->> 'answer', 'run', 'the second grant');
select effect_test.release(effect_test.e('b', 't1', '{"tool": "three", "not_told": true}')) \gset
select is(pg_temp.ask('b', 't2') ->> 'answer', 'run', 'a next attempt is a grant, too, and one that was given back stays counted');
select is(effect_test.only(pg_temp.ask('c', 't1'), 'answer', 'budget', 'budget_max', 'attempt', 'twin'),
  '{"answer": "exhausted", "budget": "turn", "budget_max": 3}', 'the fourth grant: exhausted, whatever its key');
select is(effect_test.row('c', 'three'), null, 'it left no row');
select is(effect_test.kinds('c', 'three'), '-', 'nor an event');
select is(pg_temp.turn(), '3 grants, 44 asks, 1 refused', 'the turn knows of it');

-- what is no grant is answered as ever, also in a spent turn
select is(pg_temp.ask('a', 't4') ->> 'answer', 'replay', 'spent: replay');
select is(pg_temp.ask('a', 't4', '{"fp": "other"}') ->> 'answer', 'mismatch', 'spent: mismatch');
select is(pg_temp.ask('b', 't3') ->> 'answer', 'busy', 'spent: busy');
select effect_test.unknown(effect_test.e('b', 't2', '{"tool": "three"}')) \gset
select is(pg_temp.ask('b', 't3') ->> 'answer', 'unknown', 'spent: unknown');
select effect_test.advance('16 min') \gset
select effect_test.sweep(100, 0) \gset
select is(pg_temp.ask('b', 't3') ->> 'answer', 'escalated', 'spent: escalated');

-- an operator's `absent` where max_attempts are used up, too, is a person's word for one attempt more
select effect_test.resolve('{"key": "b", "tool": "three", "verdict": "absent"}') \gset
select is(pg_temp.ask('b', 't4') ->> 'answer', 'run', 'an attempt that an operator granted is not refused by the turn');
select is(pg_temp.turn(), '4 grants, 50 asks, 1 refused', 'though it is counted');
-- the key's own budget comes first, as ever
select effect_test.release(effect_test.e('b', 't4', '{"tool": "three"}')) \gset
select is(effect_test.only(pg_temp.ask('b', 't5', '{"turn": "2"}'), 'answer', 'budget', 'budget_max'),
  '{"answer": "exhausted", "budget": "key", "budget_max": 3}', 'max_attempts in another turn');
select is(effect_test.kinds('b', 'three') ~ ',refused$', true, 'which leaves its event');
-- and `absent` on a row with attempts left gives the turn nothing
select is(pg_temp.ask('d', 't1', '{"turn": "2"}') ->> 'answer', 'run', 'claimed in another turn');
select effect_test.unknown(effect_test.e('d', 't1', '{"tool": "three"}')) \gset
select effect_test.resolve('{"key": "d", "tool": "three", "verdict": "absent"}') \gset
select is(pg_temp.ask('d', 't2') ->> 'answer', 'exhausted', 'an attempt that max_attempts allow is the turn''s');
select is(effect_test.kinds('d', 'three'), 'unknown,resolved,refused', 'refused, with an event, as there is a row');
select is(effect_test.row('d', 'three') ->> 'state', 'released', 'which stays as it was');

-- a retry of an open attempt (on_unknown = retry) is a grant, too; in a spent turn it is unknown, as it may have landed
select effect_test.tool('retries', '{"on_unknown": "retry", "retry_window": "1h", "turn_budget": 1}') \gset
select is(pg_temp.ask('u', 't1', '{"tool": "retries"}') ->> 'answer', 'run', 'a tool that retries');
select effect_test.unknown(effect_test.e('u', 't1', '{"tool": "retries"}')) \gset
select is(effect_test.only(pg_temp.ask('u', 't2', '{"tool": "retries"}'), 'answer', 'budget'), '{"answer": "unknown"}',
  'its turn is spent: unknown, and not run again');
select is(pg_temp.ask('u', 't3', '{"tool": "retries", "turn": "2"}') ->> 'answer', 'run', 'another turn: run again');
select is((select string_agg(format('turn %s: %s of %s', turn, grants, asks), ', ' order by turn) from effect.turn where tool = 'retries'),
  'turn 1: 1 of 2, turn 2: 1 of 1', 'and counted there');

-- whose turn it is: namespace, run, turn, tool
select is(pg_temp.ask('e', 't1', '{"turn": "2"}') ->> 'answer', 'run', 'another turn');
select is(pg_temp.ask('f', 't1', '{"run": "s"}') ->> 'answer', 'run', 'another run');
select effect_test.tool('two', '{"turn_budget": 1}') \gset
select is(pg_temp.ask('g', 't1', '{"tool": "two"}') ->> 'answer', 'run', 'another tool');
select effect_test.tool('three', '{"turn_budget": 1}', 'other') \gset
select is(pg_temp.ask('h', 't1', '{"ns": "other"}') ->> 'answer', 'run', 'another namespace');
select is(pg_temp.ask('x', 't1', jsonb_build_object('run', 'r1', 'turn', '')) ->> 'answer', 'run', 'run and turn');
select is(pg_temp.ask('y', 't1', jsonb_build_object('run', 'r', 'turn', '1')) ->> 'answer', 'exhausted', 'do not run together');
-- no turn, no budget
select is((effect_test.begin_guarded(effect_test.e('n' || i, 't', '{"tool": "three", "run": "r"}'))) ->> 'answer', 'run', 'no turn')
  from generate_series(1, 4) i;

-- in one batch
select is((select jsonb_agg(x -> 'answer') from jsonb_array_elements(effect_test.begin_guarded((select jsonb_agg(
  effect_test.e('k' || i, 't', '{"tool": "three", "run": "batch", "turn": "1"}')) from generate_series(1, 5) i))) x),
  '["run", "run", "run", "exhausted", "exhausted"]', 'five of one turn in one batch: three run');
select is((select jsonb_agg(x -> 'answer') from jsonb_array_elements(effect_test.begin_guarded((select jsonb_agg(
  effect_test.e('k', 't' || i, '{"tool": "three", "run": "batch", "turn": "2"}')) from generate_series(1, 3) i))) x),
  '["run", "busy", "busy"]', 'one key three times');
select is(pg_temp.turn('2', 'batch'), '1 grants, 3 asks, 0 refused', 'is one grant');

-- it is forgotten 30 days after its last begin, and not before
select effect_test.advance('29 d') \gset
select is(pg_temp.ask('late', 't1') ->> 'answer', 'exhausted', '29 days later: exhausted');
select effect_test.advance('29 d') \gset
select effect.retain(1000) \gset
select is(pg_temp.ask('late', 't1') ->> 'answer', 'exhausted', '29 days after that: exhausted');
select effect_test.advance('30 d') \gset
select effect.retain(1000) \gset
select is(count(*), 0::bigint, 'nobody began for 30 days: forgotten') from effect.turn;
select is(pg_temp.ask('late', 't1') ->> 'answer', 'run', 'and begun anew');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
