-- Attempt 2 reports `failed` and waits for the provider's word; then it turns out that attempt 1 landed. The row goes to people,
-- and the failure is no outcome of it any more, but an event: whatever comes then, it can only become done as landed.
begin;
select no_plan();
create function pg_temp.bring(p_key text) returns void language plpgsql as $$
begin
  perform effect_test.begin(effect_test.e(p_key, 't1'));
  perform effect_test.release(effect_test.e(p_key, 't1'));
  perform effect_test.begin(effect_test.e(p_key, 't2'));
  perform effect_test.complete(effect_test.e(p_key, 't2', '{"outcome": "failed", "result": "\"already refunded\""}'));
end
$$;
select pg_temp.bring('probe') \gset
select is(effect_test.verdict('{"key": "probe", "attempt": 1, "verdict": "landed", "result": "7"}') ->> 'answer', 'conflict', 'a probe says so');
select pg_temp.bring('caller') \gset
select is(effect_test.complete(effect_test.e('caller', 't1', '{"result": "7"}')) ->> 'answer', 'conflict', 'its caller says so');
select is(effect_test.only(effect_test.row(k), 'state', 'outcome', 'result'), '{"state": "escalated"}', k || ': escalated, without an outcome')
from unnest(array['probe', 'caller']) k;
select is((select e.result from effect.event e where e.effect = effect.id('default', 'probed', k) and e.reason = 'reported failed'),
  '"already refunded"', k || ': the report is kept') from unnest(array['probe', 'caller']) k;
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select is(effect_test.verdict('{"key": "probe", "verdict": "failed"}') ->> 'outcome', 'succeeded', 'a probe that says failed: done by the proof');
select is(effect_test.row('probe') ->> 'result', '7', 'with its result');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
