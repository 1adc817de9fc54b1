-- turn_asks: every begin of a turn counts, whatever it is answered, so that a loop gets loud; only grants are refused.
begin;
select no_plan();
select effect_test.tool('asked', '{"turn_asks": 3, "turn_budget": 2}') \gset
create function pg_temp.ask(p_key text, p_token text, p_more jsonb default '{}') returns jsonb language sql as $$
  select effect_test.begin_guarded(effect_test.e(p_key, p_token, '{"tool": "asked", "run": "r", "turn": "1"}'::jsonb || p_more)) $$;
create function pg_temp.asks() returns int language sql as $$ select asks from effect.turn where run = 'r' and turn = '1' $$;
select is(pg_temp.ask('a', 't1') ->> 'answer', 'run', 'one');
select is(pg_temp.ask('a', 't2') ->> 'answer', 'busy', 'two');
select is(pg_temp.ask('a', 't3', '{"fp": "other"}') ->> 'answer', 'mismatch', 'three');
select is(effect_test.only(pg_temp.ask('b', 't1'), 'answer', 'budget', 'budget_max'),
  '{"answer": "exhausted", "budget": "asks", "budget_max": 3}', 'the fourth is granted nothing');
select is(pg_temp.ask('a', 't4') ->> 'answer', 'busy', 'what is no grant is answered as ever');
select is(pg_temp.asks(), 5, 'all are counted');
-- a begin that waited for another's outcome asks again, and is counted once
select is(pg_temp.ask('w', 't1', '{"turn": "w"}') ->> 'answer', 'run', 'another turn: one');
select is(pg_temp.ask('w', 't2', '{"turn": "w"}') ->> 'answer', 'busy', 'two');
select is(pg_temp.ask('w', 't3', '{"turn": "w"}') ->> 'answer', 'busy', 'three, which waits');
select effect_test.release(effect_test.e('w', 't1', '{"tool": "asked"}')) \gset
select is(pg_temp.ask('w', 't3', '{"turn": "w", "counted": true}') ->> 'answer', 'run', 'and is not refused for its own sake');
select is((select asks from effect.turn where turn = 'w'), 3, 'nor counted twice');
-- sent again after its connection was lost
select is(pg_temp.ask('s', 't1', '{"turn": "s", "resent": true}') ->> 'answer', 'run', 'the first try was lost');
select is(pg_temp.ask('s', 't1', '{"turn": "s", "resent": true}') ->> 'answer', 'run', 'the first try was committed: the same grant');
select is((select (grants, asks)::text from effect.turn where turn = 's'), '(1,1)', 'counted once');
-- the same request again, by a later boot or where nobody was told: no grant, and an ask
select is(pg_temp.ask('q', 't1', jsonb_build_object('turn', 'q', 'request', effect_test.uid('q'))) ->> 'answer', 'run', 'with a request');
select is(pg_temp.ask('q', 't2', jsonb_build_object('turn', 'q', 'request', effect_test.uid('q'), 'regrant', true)) ->> 'answer', 'run',
  'told again, as nobody was');
select is((select (grants, asks)::text from effect.turn where turn = 'q'), '(1,2)', 'one grant, two asks');
-- too late is nothing at all
select is(pg_temp.ask('l', 't1', '{"turn": "l", "within_ms": -1}') ->> 'answer', 'late', 'past its deadline');
select is((select count(*) from effect.turn where turn = 'l'), 0::bigint, 'not counted: it is asked again, or given up');
-- asks alone
select effect_test.tool('only', '{"turn_asks": 1}') \gset
select is(effect_test.begin_guarded(effect_test.e('o', 't1', '{"tool": "only", "run": "r", "turn": "1"}')) ->> 'answer', 'run', 'asks alone: one');
select is(effect_test.begin_guarded(effect_test.e('p', 't1', '{"tool": "only", "run": "r", "turn": "1"}')) ->> 'budget', 'asks', 'and no more');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
