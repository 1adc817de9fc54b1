-- What each decision of begin carries, one after the other and all of them in one batch.
begin;
select no_plan();

-- run; a lease that is not given is the policy's (case 8); the attempt counts at begin (case 86)
select is(effect_test.begin(effect_test.e('a', 't1', '{"owner": "w1", "run": "r", "step": "s", "turn": "u"}'))
    - 'state' - 'claimed_at' - 'owner',
  jsonb_build_object('answer', 'run', 'attempt', 1, 'token', effect_test.uid('a t1'), 'lease_until',
    effect.now() + interval '60 s',
    'lease_ms', 60000, 'protected_until', effect.now() + interval '30 d', 'on_error', 'unknown'),
  'run tells attempt, token, lease, protection and on_error');
select is(effect_test.row('a') - 'policy' - 'id' - 'fingerprint',
  jsonb_build_object('token', effect_test.uid('a t1'), 'claimed_at', effect.now(), 'due_at', effect.now() + interval '60 s',
    'keep_until', effect.now() + interval '30 d', 'lease_until', effect.now() + interval '60 s', 'attempt', 1, 'base', 0,
    'extra', 0, 'probe_no', 0, 'tries', 0, 'absent_n', 0, 'notice_no', 0, 'notice_tries', 0, 'state', 'pending',
    'lost', false, 'extended', false, 'noticed', false, 'key', 'a', 'owner', 'w1', 'run', 'r', 'step', 's', 'turn', 'u'),
  'the claim is one pending row');
select is(effect_test.kinds('a'), '-', 'a first claim leaves no event');
select is(effect_test.only(effect_test.begin(effect_test.e('short', 't1', '{"lease_ms": 5000}')), 'lease_ms', 'lease_until'),
  jsonb_build_object('lease_ms', 5000, 'lease_until', effect.now() + interval '5 s'), 'the caller''s lease is kept');

-- busy, twenty times, uses up no attempt (case 87)
select effect_test.advance('5 s') \gset
select is(effect_test.only(effect_test.begin(effect_test.e('a', 't2')), 'answer', 'attempt', 'owner', 'claimed_at', 'lease_until',
  'token'),
  jsonb_build_object('answer', 'busy', 'attempt', 1, 'owner', 'w1', 'claimed_at', effect.now() - interval '5 s',
    'lease_until', effect.now() + interval '55 s'), 'busy tells who, since when and until when, and no token');
select is(array_agg(distinct effect_test.begin(effect_test.e('a', 'again' || i)) ->> 'answer'), '{busy}', 'busy each time')
from generate_series(1, 20) i;
select is((effect_test.row('a') ->> 'attempt')::int, 1, 'twenty busy begins used up no attempt');
select is(effect_test.kinds('a'), '-', 'busy leaves no event');

-- mismatch, before busy (case 20)
select is(effect_test.only(effect_test.begin(effect_test.e('a', 't2', '{"fp": "other"}')), 'answer', 'attempt', 'state',
  'claimed_at', 'token'),
  jsonb_build_object('answer', 'mismatch', 'attempt', 1, 'state', 'pending', 'claimed_at', effect.now() - interval '5 s'),
  'mismatch tells state and claimed_at');
select effect_test.begin(effect_test.e('kept', 't1', '{"kept": "{\"/line\":3}"}')) \gset
select is(effect_test.begin(effect_test.e('kept', 't2', '{"fp": "other", "kept": "{\"/line\":4}"}')) ->> 'kept', '{"/line":3}',
  'mismatch tells the args that the first claim kept');
select is(effect_test.row('kept') ->> 'kept', '{"/line":3}', 'and the refused caller''s are not stored');

-- replay, verbatim, twenty times (cases 22, 25, 87)
select effect_test.complete(effect_test.e('a', 't1', '{"result": "{\"b\":1.0,\"a\":1e2,\"c\":\"\\u003c\"}"}')) \gset
select effect_test.advance('5 s') \gset
select is(effect_test.only(effect_test.begin(effect_test.e('a', 't2')), 'answer', 'attempt', 'outcome', 'result', 'result_state',
    'result_bytes', 'done_at', 'decided_by', 'protected_until', 'token'),
  jsonb_build_object('answer', 'replay', 'attempt', 1, 'outcome', 'succeeded', 'result', '{"b":1.0,"a":1e2,"c":"\u003c"}',
    'result_state', 'kept', 'result_bytes', 30, 'done_at', effect.now() - interval '5 s', 'decided_by', 'caller',
    'protected_until', effect.now() - interval '5 s' + interval '30 d'),
      'replay tells the result verbatim, and by whom and when');
select is(array_agg(distinct effect_test.begin(effect_test.e('a', 'again' || i)) ->> 'answer'), '{replay}', 'replay each time')
from generate_series(1, 20) i;
select is((effect_test.row('a') ->> 'attempt')::int, 1, 'replays used up no attempt');
select effect_test.begin(effect_test.e('f', 't1')) \gset
select effect_test.complete(effect_test.e('f', 't1', '{"outcome": "failed", "result": "\"no such order\""}')) \gset
select is(effect_test.only(effect_test.begin(effect_test.e('f', 't2')), 'answer', 'outcome', 'result', 'attempt'),
  '{"answer": "replay", "outcome": "failed", "result": "\"no such order\"", "attempt": 1}', 'a failure is replayed as one');

-- unknown: told since when and when the next probe is due (cases 29, 54)
select effect_test.begin(effect_test.e('u', 't1')) \gset
select effect_test.unknown(effect_test.e('u', 't1')) \gset
select effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'probed', 'u')) as probe \gset
select effect_test.verdict('{"key": "u", "verdict": "inconclusive"}') \gset
select is(effect_test.only(effect_test.begin(effect_test.e('u', 't2')), 'answer', 'attempt', 'since', 'next_probe_at'),
  jsonb_build_object('answer', 'unknown', 'attempt', 1, 'since', effect.now(), 'next_probe_at', effect_test.row('u') -> 'due_at'),
  'unknown tells since when, and when the next probe is due');
select effect_test.begin('{"key": "b", "tool": "bare", "token": "00000000-0000-0000-0000-000000000001"}') \gset
select effect_test.unknown('{"key": "b", "tool": "bare", "token": "00000000-0000-0000-0000-000000000001"}') \gset
select is(effect_test.begin('{"key": "b", "tool": "bare"}') -> 'next_probe_at', null, 'no probe, no next probe');

-- a pending row whose lease ran out is unknown, swept or not (cases 13, 62)
select effect_test.begin(effect_test.e('lapsed', 't1')) \gset
select effect_test.advance('60 s') \gset
select is(effect_test.begin(effect_test.e('lapsed', 't2')) ->> 'answer', 'unknown', 'a lease ends at its very instant');
select is(effect_test.only(effect_test.row('lapsed'), 'state', 'lost', 'attempt', 'token', 'ended_at'),
  jsonb_build_object('state', 'unknown', 'lost', true, 'attempt', 1, 'token', effect_test.uid('lapsed t1'), 'ended_at',
    effect.now()),
  'a begin that finds it makes it unknown, and takes nothing over');

-- escalated (case 82)
select is(effect_test.task(effect_test.sweep(), 'escalated', effect.id('default', 'bare', 'b')) ->> 'task', 'escalated',
  'without a probe it is escalated at its deadline');
select is(effect_test.only(effect_test.begin('{"key": "b", "tool": "bare"}'), 'answer', 'since', 'attempt', 'token'),
  jsonb_build_object('answer', 'escalated', 'since', effect.now(), 'attempt', 1), 'escalated tells since when');

-- released: the next attempt
select effect_test.begin(effect_test.e('r', 't1', '{"owner": "w1", "run": "r1"}')) \gset
select effect_test.release(effect_test.e('r', 't1')) \gset
select is(effect_test.only(effect_test.begin(effect_test.e('r', 't2', '{"owner": "w2", "run": "r2"}')), 'answer', 'attempt',
  'token', 'lease_ms'),
  jsonb_build_object('answer', 'run', 'attempt', 2, 'token', effect_test.uid('r t2'), 'lease_ms', 60000),
    'a released key runs again as attempt 2');
select is(effect_test.only(effect_test.row('r'), 'owner', 'run', 'done_at', 'extra', 'base'),
  '{"owner": "w2", "run": "r2", "extra": 0, "base": 0}', 'the row now tells of the new caller');
select is((select jsonb_build_object('kind', e.kind, 'attempt', e.attempt, 'token', e.token, 'incident', e.incident)
    from effect.event e where e.effect = effect.id('default', 'probed', 'r') and e.kind = 'granted'),
  jsonb_build_object('kind', 'granted', 'attempt', 2, 'token', effect_test.uid('r t1'), 'incident', false),
  'the grant of attempt 2 wrote the token that it replaced');

-- exhausted
select effect_test.begin('{"key": "o", "tool": "once", "token": "00000000-0000-0000-0000-000000000002"}') \gset
select effect_test.release('{"key": "o", "tool": "once", "token": "00000000-0000-0000-0000-000000000002"}') \gset
select is(effect_test.only(effect_test.begin('{"key": "o", "tool": "once"}'), 'answer', 'budget', 'budget_max', 'attempt',
  'token'),
  '{"answer": "exhausted", "budget": "key", "budget_max": 1, "attempt": 1}', 'exhausted tells which budget and how large');

-- a fingerprint is compared as a value, null too
select effect_test.begin(effect_test.e('nofp', 't1', '{"fp": "null"}')) \gset
select is(effect_test.begin(effect_test.e('nofp', 't2', '{"fp": "null"}')) ->> 'answer', 'busy', 'no fingerprint equals none');
select is(effect_test.begin(effect_test.e('nofp', 't2')) ->> 'answer', 'mismatch', 'no fingerprint differs from one');

-- all of it in one batch, neighbours of each other (case 27)
select effect_test.begin(effect_test.e('p', 't1')) \gset
select is((select jsonb_agg(x -> 'answer') from jsonb_array_elements(effect_test.begin(jsonb_build_array(
    effect_test.e('new1', 'n1'), effect_test.e('p', 'n2'), effect_test.e('a', 'n3'), effect_test.e('a', 'n4', '{"fp": "other"}'),
    effect_test.e('u', 'n5'), effect_test.e('b', 'n6', '{"tool": "bare"}'), effect_test.e('o', 'n7', '{"tool": "once"}'),
    effect_test.e('f', 'n8'), effect_test.e('new2', 'n9'), effect_test.e('x', 'n10', '{"policy": 42}'),
    effect_test.e('u', 'n11', '{"fp": "other"}'), effect_test.e('b', 'n12', '{"tool": "bare", "fp": "other"}'),
    effect_test.e('o', 'n13', '{"tool": "once", "fp": "other"}'), effect_test.e('p', 'n14', '{"fp": "other"}')))) x),
  '["run", "busy", "replay", "mismatch", "unknown", "escalated", "exhausted", "replay", "run", "no_tool", "mismatch", "mismatch", "mismatch", "mismatch"]',
  'a batch answers each entry as alone');
select is(effect_test.row('x'), null, 'an unregistered policy claims nothing');

-- another namespace or tool is another effect (case 39); a step is not an identity (case 40)
select effect_test.tool('probed', '{}', 'other') \gset
select is(effect_test.begin('[{"key": "a", "ns": "other"}, {"key": "a", "tool": "quick", "fp": "other"}]') @> '[{"answer": "run"}, {"answer": "run"}]',
  true, 'equal keys of two namespaces or tools are two rows');
select effect_test.begin(effect_test.e('A(x)', 't1', '{"run": "R", "step": "3"}')) \gset
select effect_test.complete(effect_test.e('A(x)', 't1')) \gset
select is(effect_test.begin(effect_test.e('B(y)', 't2', '{"run": "R", "step": "3", "tool": "quick", "fp": "y"}')) ->> 'answer',
  'run',
  'another call at the same step is another row');

-- a resumed superstep: two done, one still open (cases 53, 57)
select effect_test.begin('[{"key": "mail"}, {"key": "db"}, {"key": "notify"}]') \gset
select effect_test.complete(jsonb_agg(jsonb_build_object('key', k, 'token', effect_test.row(k) ->> 'token')))
from unnest(array['mail', 'db']) k \gset
select is((select jsonb_agg(x -> 'answer')
  from jsonb_array_elements(effect_test.begin('[{"key": "mail"}, {"key": "db"}, {"key": "notify"}]')) x),
  '["replay", "replay", "busy"]', 'siblings that finished are replayed, the open one is busy');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
