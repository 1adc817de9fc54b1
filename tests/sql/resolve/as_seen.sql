-- resolve: what an operator decides about the row as they saw it.
begin;
select no_plan();
create function pg_temp.open(p_key text, p_tool text default 'probed') returns void language plpgsql as $$
begin
  perform effect_test.begin(effect_test.e(p_key, 't1', jsonb_build_object('tool', p_tool)));
  perform effect_test.unknown(effect_test.e(p_key, 't1', jsonb_build_object('tool', p_tool)));
end
$$;
select pg_temp.open(k) from unnest(array['landed']) k \gset
select is(effect_test.resolve('{"key": "landed", "verdict": "landed", "reason": "seen in the books", "evidence": "re_77", "result": "{\"refund\":\"re_77\"}", "by": "uid 1000 (ops)"}') - 'attempt',
  '{"answer": "ok", "state": "done"}', 'landed');
select is(effect_test.only(effect_test.begin(effect_test.e('landed', 'x')), 'answer', 'outcome', 'decided_by', 'result'),
  '{"answer": "replay", "outcome": "succeeded", "decided_by": "operator", "result": "{\"refund\":\"re_77\"}"}',
    'replayed with the operator''s result');
select is((select e.reason || '; ' || e.decided_by || '; ' || e.attempt from effect.event e where e.kind = 'resolved'),
  'seen in the books; uid 1000 (ops); 1', 'who and why is in the history');
select is(effect_test.resolve('{"key": "landed", "verdict": "landed", "state": "unknown", "reason": "seen in the books", "evidence": "re_77", "result": "{\"refund\":\"re_77\"}", "by": "uid 1000 (ops)"}') ->> 'answer',
  'ok', 'one''s own sent again is fine');
select is((select count(*) from effect.event e where e.kind = 'resolved'), 1::bigint, 'and is not written twice');
select is(effect_test.resolve('{"key": "landed", "verdict": "absent", "state": "unknown", "reason": "seen in the books", "by": "uid 1000 (ops)"}') ->> 'answer',
  'conflict', 'another verdict on the state once seen: conflict');
select is(effect_test.resolve('{"key": "landed", "verdict": "absent"}') ->> 'answer', 'conflict', 'and on the state as it is');

select pg_temp.open('absent') \gset
select effect_test.resolve('{"key": "absent", "verdict": "absent"}') \gset
select is(effect_test.only(effect_test.begin(effect_test.e('absent', 't2')), 'answer', 'attempt'),
  '{"answer": "run", "attempt": 2}', 'absent: the next begin runs');
select is(effect_test.resolve('{"key": "absent", "verdict": "absent", "attempt": 1, "state": "unknown"}') ->> 'answer',
  'conflict', 'the same resolve once attempt 2 runs: conflict');
select is(effect_test.row('absent') ->> 'state', 'pending', 'attempt 2 is untouched');
select is(effect_test.only(effect_test.resolve('{"key": "absent", "verdict": "landed"}'), 'answer', 'state', 'attempt'),
  '{"answer": "conflict", "state": "pending", "attempt": 2}', 'a pending row is nobody''s to resolve; told state and attempt');

-- what the row has become since it was looked at is not decided
select effect_test.unknown(effect_test.e('absent', 't2')) \gset
select is(effect_test.only(effect_test.resolve('{"key": "absent", "verdict": "absent", "attempt": 1, "state": "unknown", "by": "uid 2"}'),
  'answer', 'state', 'attempt'), '{"answer": "conflict", "state": "unknown", "attempt": 2}',
  'attempt 1 was seen unknown, and attempt 2 is unknown now: conflict');
select pg_temp.open('older') \gset
select effect_test.advance('1 h') \gset
select effect_test.sweep() \gset
select is(effect_test.row('older') ->> 'state', 'escalated', 'another one is escalated meanwhile');
select is(effect_test.only(effect_test.resolve('{"key": "older", "verdict": "absent", "state": "unknown"}'), 'answer', 'state'),
  '{"answer": "conflict", "state": "escalated"}', 'it was seen unknown: conflict');
select is(effect_test.row('older') ->> 'state', 'escalated', 'and it stays with people');

select pg_temp.open('failed') \gset
select effect_test.resolve('{"key": "failed", "verdict": "failed", "result": "\"refused\""}') \gset
select is(effect_test.only(effect_test.begin(effect_test.e('failed', 'x')), 'answer', 'outcome', 'decided_by', 'result'),
  '{"answer": "replay", "outcome": "failed", "decided_by": "operator", "result": "\"refused\""}', 'failed');
select is(effect_test.resolve('{"key": "failed", "verdict": "landed"}') ->> 'answer', 'ok', 'landed over failed');
select is(effect_test.only(effect_test.begin(effect_test.e('failed', 'x')), 'outcome', 'decided_by', 'result'),
  '{"outcome": "succeeded", "decided_by": "operator", "result": "null"}', 'then it landed, and the failure''s result is gone')
;
-- an absent of long ago and a running probe: the verdict comes after it
select pg_temp.open('raced') \gset
select effect_test.sweep() \gset
select effect_test.resolve('{"key": "raced", "verdict": "absent"}') \gset
select is(effect_test.verdict('{"key": "raced", "verdict": "landed"}') ->> 'state', 'done', 'a probe that then finds it');
select is((select count(*) from effect.event e where e.effect = effect.id('default', 'probed', 'raced') and e.incident),
  1::bigint, 'is an incident: a human erred');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
