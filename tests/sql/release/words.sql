-- release: what the wrapper knows, and what nobody but the holder may say (cases 10, 11).
begin;
select no_plan();
select effect_test.begin(effect_test.e('a', 't1')) \gset
select is(effect_test.release(effect_test.e('a', 't1', '{"reason": "refused to connect"}')) - 'attempt',
  '{"answer": "ok", "state": "released", "already": false}', 'released');
select is((select e.kind || ' ' || e.reason || ' ' || e.attempt || ' ' || e.decided_by from effect.event e),
  'released refused to connect 1 caller', 'with its reason, attempt and who');
select is(effect_test.release(effect_test.e('a', 't1')) - 'attempt', '{"answer": "ok", "state": "released", "already": true}',
  'again: already');
select is(effect_test.kinds('a'), 'released', 'and no second event');
select is(effect_test.only(effect_test.row('a'), 'lease_until', 'done_at', 'due_at', 'keep_until', 'state'),
  jsonb_build_object('state', 'released', 'done_at', effect.now(),
  'due_at', effect.now() + interval '30 d', 'keep_until', effect.now() + interval '30 d'), 'the row waits for its expiry');
select effect_test.begin(effect_test.e('a', 't2')) \gset
select is(effect_test.only(effect_test.release(effect_test.e('a', 't1')), 'answer', 'state', 'attempt'),
  '{"answer": "not_owner", "state": "pending", "attempt": 2}',
  'the former holder is told state and attempt');
select is(effect_test.only(effect_test.row('a'), 'state', 'attempt', 'token'),
  jsonb_build_object('state', 'pending', 'attempt', 2, 'token', effect_test.uid('a t2')), 'attempt 2 is untouched');
select is((select e.attempt from effect.event e where e.kind = 'late'), 1, 'its word is an event of its own attempt');
-- the daemon itself lets go of a claim whose caller was told something else
select effect_test.begin(effect_test.e('b', 't1')) \gset
select is(effect_test.release(effect_test.e('b', 't1', '{"not_told": true}')) ->> 'state', 'released', 'not told');
select is(effect_test.kinds('b'), 'not_told', 'leaves its own kind of event');
select is((select jsonb_agg(x -> 'answer')
  from jsonb_array_elements(effect_test.release(jsonb_build_array(effect_test.e('a', 't2'), effect_test.e('a', 't1'),
  effect_test.e('none', 't')))) x),
  '["ok", "not_owner", "not_found"]', 'in a batch each is judged alone');
-- after mismatch: the refused caller holds nothing (case 10)
select effect_test.begin(effect_test.e('c', 't1')) \gset
select effect_test.complete(effect_test.e('c', 't1')) \gset
select effect_test.begin(effect_test.e('c', 't2', '{"fp": "other"}')) \gset
select is(effect_test.release(effect_test.e('c', 't2')) ->> 'answer', 'not_owner', 'a refused caller releases nothing');
select is(effect_test.begin(effect_test.e('c', 't3')) ->> 'answer', 'replay', 'the completed row stands');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
