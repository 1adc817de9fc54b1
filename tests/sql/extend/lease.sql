-- extend: longer, never shorter, never past hold_max, never revived (case 16).
begin;
select no_plan();
create function pg_temp.lease(p_key text) returns interval language sql as $$ select (effect_test.row(p_key) ->> 'lease_until')::timestamptz - effect.now() $$;
select effect_test.begin(effect_test.e('a', 't1')) \gset
select is(effect_test.only(effect_test.extend(effect_test.e('a', 't1', '{"lease_ms": 120000}')), 'answer', 'state', 'lease_until',
  'attempt'),
  jsonb_build_object('answer', 'ok', 'state', 'pending', 'attempt', 1, 'lease_until', effect.now() + interval '120 s'), 'longer');
select is((effect_test.row('a') ->> 'due_at')::timestamptz, effect.now() + interval '120 s', 'the sweeper looks again then');
select is(effect_test.row('a') ->> 'extended', 'true', 'and the grant is in use from now on');
select is((effect_test.extend(effect_test.e('a', 't1', '{"lease_ms": 1000}')) ->> 'lease_until')::timestamptz,
  effect.now() + interval '120 s', 'never shorter');
select is(pg_temp.lease('a'), interval '120 s', 'not in the row either');
select effect_test.advance('119 s') \gset
select is((effect_test.extend(effect_test.e('a', 't1')) ->> 'lease_until')::timestamptz, effect.now() + interval '60 s',
  'without lease_ms: the policy''s lease, from now');
select is(effect_test.kinds('a'), '-', 'extends leave no events');
select effect_test.advance('60 s') \gset
select is(effect_test.only(effect_test.extend(effect_test.e('a', 't1')), 'answer', 'lease_until', 'attempt'),
  '{"answer": "not_owner", "attempt": 1}', 'over at its very instant: lost');
select isnt(effect_test.row('a') ->> 'lease_until' > effect.now()::text, true, 'not revived');
select is(effect_test.begin(effect_test.e('a', 't2')) ->> 'answer', 'unknown', 'a begin is told unknown');

-- hold_max: no chain of extends holds a claim for ever
select effect_test.tool('held', '{"hold_max": "100s"}') \gset
select effect_test.begin(effect_test.e('h', 't1', '{"tool": "held"}')) \gset
select effect_test.advance('50 s') \gset
select is((effect_test.extend(effect_test.e('h', 't1', '{"tool": "held", "lease_ms": 3600000}')) ->> 'lease_until')::timestamptz,
  effect.now() + interval '50 s', 'cut at hold_max after the claim');
select is((select jsonb_agg(jsonb_build_object(kind, reason)) from effect.event where effect = effect.id('default', 'held', 'h')),
  '[{"refused": "hold_max"}]', 'which leaves an event');
select effect_test.counted() \gset
select is(effect_test.extend(effect_test.e('h', 't1', '{"tool": "held", "lease_ms": 1000}')) ->> 'answer', 'ok', 'less than it');
select is(effect_test.counted(), '', 'is not cut');
select effect_test.advance('49 s') \gset
select is(effect_test.extend(effect_test.e('h', 't1', '{"tool": "held", "lease_ms": 3600000}')) ->> 'answer', 'ok', 'cut again');
select is(effect_test.counted(), 'hold_max:0', 'which is counted');
select is(effect_test.kinds('h', 'held'), 'refused', 'but leaves no other event within the minute');
select is((effect_test.row('h', 'held') ->> 'lease_until')::timestamptz, effect.now() + interval '1 s', 'and no further');
select effect_test.advance('1 s') \gset
select is(effect_test.extend(effect_test.e('h', 't1', '{"tool": "held"}')) ->> 'answer', 'not_owner', 'then it is lost');
-- a new attempt has a new hold
select effect_test.release(effect_test.e('h', 't1', '{"tool": "held"}')) \gset
select effect_test.begin(effect_test.e('h', 't2', '{"tool": "held"}')) \gset
select is((effect_test.extend(effect_test.e('h', 't2', '{"tool": "held", "lease_ms": 90000}')) ->> 'lease_until')::timestamptz,
  effect.now() + interval '90 s', 'hold_max counts from the attempt''s claim');
select is((select jsonb_agg(x -> 'answer')
  from jsonb_array_elements(effect_test.extend(jsonb_build_array(effect_test.e('h', 't2', '{"tool": "held"}'),
  effect_test.e('a', 't1'),
  effect_test.e('none', 'x')))) x), '["ok", "not_owner", "not_found"]', 'in a batch each is judged alone');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
