-- Verdicts are fenced by attempt and probe number: an old word never moves what came after it (case 11).
begin;
select no_plan();
select effect_test.begin(effect_test.e('a', 't1', '{"tool": "quick"}')) \gset
select effect_test.unknown(effect_test.e('a', 't1', '{"tool": "quick"}')) \gset
select effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'quick', 'a')) \gset
select effect_test.advance('1 min') \gset
select is(effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'quick', 'a')) ->> 'probe_no', '2',
  'a second probe, the first never answered');
select is(effect_test.verdict('{"key": "a", "tool": "quick", "probe_no": 1, "verdict": "absent"}') ->> 'answer', 'event',
  'the first one''s absent is an event');
select is(effect_test.row('a', 'quick') ->> 'state', 'unknown', 'and releases nothing');
select is(effect_test.verdict('{"key": "a", "tool": "quick", "probe_no": 1, "verdict": "inconclusive"}') ->> 'answer', 'event',
  'so is its inconclusive');
select is(effect_test.verdict('{"key": "a", "tool": "quick", "probe_no": 2, "verdict": "absent"}') ->> 'state', 'released',
  'the second one''s counts');
-- the owner released meanwhile and attempt 2 runs: the verdict about attempt 1 does not touch it (case 11)
select effect_test.begin(effect_test.e('b', 't1')) \gset
select effect_test.advance('61 s') \gset
select effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'probed', 'b')) ->> 'probe_no' as probe_no \gset
select effect_test.release(effect_test.e('b', 't1')) \gset
select effect_test.begin(effect_test.e('b', 't2')) \gset
select effect_test.row('b') as before \gset
select is(effect_test.verdict(jsonb_build_object('key', 'b', 'attempt', 1, 'probe_no', :probe_no, 'verdict', v)) ->> 'answer',
  'event', v || ' about attempt 1 is an event') from unnest(array['absent', 'failed', 'inconclusive']) v;
select is(effect_test.row('b'), :'before'::jsonb, 'attempt 2 is untouched');
select is((select count(*) from effect.event e where e.effect = effect.id('default', 'probed', 'b') and e.attempt = 1
  and e.kind in ('verdict', 'probe') and not e.incident), 3::bigint, 'each is an event of attempt 1');
-- landed about attempt 1: evidence; the running holder keeps attempt and token (case 16)
select is(effect_test.only(effect_test.verdict(jsonb_build_object('key', 'b', 'attempt', 1, 'probe_no', :probe_no, 'verdict',
  'landed', 'result', '{"id":1}')), 'answer', 'state'),
  '{"answer": "conflict", "state": "escalated"}', 'landed about attempt 1');
select is(effect_test.only(effect_test.row('b'), 'state', 'attempt', 'token'),
  jsonb_build_object('state', 'escalated', 'attempt', 2, 'token', effect_test.uid('b t2')), 'escalated; attempt and token stay');
select is((select e.result || e.kind from effect.event e where e.id = (effect_test.row('b') ->> 'evidence')::bigint),
  '{"id":1}verdict', 'the row points to its evidence');
select is(effect_test.begin(effect_test.e('b', 't3')) ->> 'answer', 'escalated', 'nobody is told run');
select is(effect_test.only(effect_test.complete(effect_test.e('b', 't2', '{"result": "{\"id\":2}"}')), 'answer', 'state'),
  '{"answer": "ok", "state": "done"}', 'the running holder''s complete is accepted');
-- evidence and release: done by it
select effect_test.begin(effect_test.e('c', 't1')) \gset
select effect_test.release(effect_test.e('c', 't1')) \gset
select effect_test.begin(effect_test.e('c', 't2')) \gset
select effect_test.complete(effect_test.e('c', 't1', '{"result": "{\"first\":1}"}')) \gset
select is(effect_test.only(effect_test.release(effect_test.e('c', 't2')), 'answer', 'state'),
  '{"answer": "conflict", "state": "done"}', 'the running holder says not sent, but attempt 1 landed');
select is(effect_test.only(effect_test.begin(effect_test.e('c', 't3')), 'answer', 'outcome', 'result', 'decided_by'),
  '{"answer": "replay", "outcome": "succeeded", "result": "{\"first\":1}", "decided_by": "caller"}',
  'done by the evidence, with its result');
-- a verdict in a batch
select effect_test.begin(jsonb_agg(effect_test.e(k, 't1'))) from unnest(array['d', 'e', 'f']) k \gset
select effect_test.unknown(jsonb_agg(effect_test.e(k, 't1'))) from unnest(array['d', 'e']) k \gset
select effect_test.sweep() \gset
select is((select jsonb_agg(effect_test.only(x, 'answer', 'state'))
  from jsonb_array_elements(effect_test.verdict('[{"key": "d", "verdict": "landed"}, {"key": "f", "verdict": "absent"}, {"key": "none", "attempt": 1, "probe_no": 1, "verdict": "landed"}, {"key": "e", "verdict": "failed"}]')) x),
  '[{"answer": "ok", "state": "done"}, {"answer": "event", "state": "pending"}, {"answer": "not_found"}, {"answer": "ok", "state": "done"}]',
    'in a batch each is judged alone');
-- limits hold for a probe's result, too
select effect_test.begin(effect_test.e('g', 't1', '{"tool": "small"}')) \gset
select effect_test.unknown(effect_test.e('g', 't1', '{"tool": "small"}')) \gset
select effect_test.sweep() \gset
select effect_test.verdict('{"key": "g", "tool": "small", "verdict": "landed", "result": "\"0123456789\""}') \gset
select is(effect_test.only(effect_test.row('g', 'small'), 'state', 'result_state', 'result_bytes', 'result'),
  '{"state": "done", "result_state": "omitted", "result_bytes": 12}', 'a probe''s result over the limit is omitted');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
