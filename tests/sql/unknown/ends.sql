-- unknown: when the attempt ended, when it is escalated, what is due next.
begin;
select no_plan();
select effect_test.begin(effect_test.e('own', 't1')) \gset
select effect_test.begin(effect_test.e('close', 't1')) \gset
select effect_test.begin(effect_test.e('lapse', 't1')) \gset
select effect_test.begin(effect_test.e('slow', 't1', '{"lease_ms": 3600000}')) \gset
select effect_test.begin(effect_test.e('late', 't1')) \gset
select effect_test.begin(effect_test.e('bare', 't1', '{"tool": "bare"}')) \gset
select effect_test.advance('10 s') \gset
select is(effect_test.only(effect_test.unknown(effect_test.e('own', 't1', '{"reason": "504"}')), 'answer', 'state',
  'next_probe_at'),
  jsonb_build_object('answer', 'ok', 'state', 'unknown', 'next_probe_at', effect.now()), 'told when the next probe is due');
select is(effect_test.only(effect_test.row('own'), 'ended_at', 'since', 'due_at', 'deadline_at', 'lost', 'lease_until',
  'request'),
  jsonb_build_object('ended_at', effect.now(), 'since', effect.now(), 'due_at', effect.now(), 'deadline_at',
    effect.now() + interval '15 min', 'lost', false),
  'the wrapper''s own word ends the attempt now');
select is((select e.reason || ' ' || e.attempt from effect.event e where e.kind = 'unknown'), '504 1', 'its reason is kept');

select effect_test.unknown(effect_test.e('close', 't1', '{"closed": true}')) \gset
select is(effect_test.only(effect_test.row('close'), 'ended_at', 'since', 'due_at', 'deadline_at', 'lost'),
  jsonb_build_object('ended_at', effect.now() + interval '50 s', 'since', effect.now(), 'due_at', effect.now(), 'deadline_at',
    effect.now() + interval '50 s 15 min', 'lost', true),
  'a close: probed at once, but the attempt ends with its lease, and the deadline counts from there');
select is(effect_test.kinds('close'), 'closed', 'and its own kind of event');
select effect_test.unknown(effect_test.e('slow', 't1', '{"closed": true}')) \gset
select is((effect_test.row('slow') ->> 'deadline_at')::timestamptz, effect.now() - interval '10 s' + interval '1 h 15 min',
  'a long lease puts the deadline off');

select effect_test.advance('55 s') \gset
select effect_test.sweep(100, 0) \gset
select is(effect_test.only(effect_test.row('lapse'), 'ended_at', 'since', 'deadline_at', 'lost', 'state'),
  jsonb_build_object('state', 'unknown', 'ended_at', effect.now() - interval '5 s', 'since', effect.now(), 'deadline_at',
    effect.now() + interval '15 min', 'lost', true),
  'a lapse: the attempt ended with its lease, the deadline counts from when it was found');
select is(effect_test.unknown(effect_test.e('lapse', 't1')) ->> 'state', 'unknown', 'the wrapper''s word after the lapse');
select is((effect_test.row('lapse') ->> 'deadline_at')::timestamptz, effect.now() + interval '15 min',
  'the deadline stays where it was fixed');
-- by a close after somebody else's word: nothing
select effect_test.row('own') as before \gset
select is(effect_test.unknown(effect_test.e('own', 't1', '{"closed": true}')) ->> 'answer', 'ok',
  'a close of a row that is unknown already');
select is(effect_test.only(effect_test.row('own'), 'ended_at', 'lost', 'since', 'deadline_at'),
  effect_test.only(:'before'::jsonb, 'ended_at', 'lost', 'since', 'deadline_at'), 'changes nothing');
-- an old connection's close does not touch the next attempt
select effect_test.begin(effect_test.e('re', 't1')) \gset
select effect_test.release(effect_test.e('re', 't1')) \gset
select effect_test.begin(effect_test.e('re', 't2')) \gset
select is(effect_test.unknown(effect_test.e('re', 't1', '{"closed": true}')) ->> 'answer', 'not_owner',
  'a former attempt''s close');
select is(effect_test.row('re') ->> 'state', 'pending', 'changes nothing');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
