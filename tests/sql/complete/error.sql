-- The tool's own error, mapped by the policy version of the row (case 24).
begin;
select no_plan();
select effect_test.begin(jsonb_build_array(effect_test.e('a', 't1'), effect_test.e('b', 't1', '{"tool": "fails"}'),
  effect_test.e('c', 't1', '{"tool": "frees"}'))) \gset
select effect_test.complete(jsonb_build_array(effect_test.e('a', 't1', '{"outcome": "error", "result": "{\"e\":1}"}'),
  effect_test.e('b', 't1', '{"tool": "fails", "outcome": "error", "result": "{\"e\":2}"}'),
  effect_test.e('c', 't1', '{"tool": "frees", "outcome": "error", "result": "{\"e\":3}"}'))) as told \gset
select is(effect_test.only(:'told'::jsonb -> 0, 'answer', 'shape', 'state', 'next_probe_at'),
  jsonb_build_object('answer', 'ok', 'shape', 'unknown', 'state', 'unknown', 'next_probe_at', effect_test.row('a') -> 'due_at'),
    'on_error unknown: it is the message unknown');
select is(effect_test.only(:'told'::jsonb -> 1, 'answer', 'shape', 'state', 'outcome', 'already'),
  '{"answer": "ok", "shape": "complete", "state": "done", "outcome": "failed", "already": false}',
    'on_error failed: complete failed');
select is(effect_test.only(:'told'::jsonb -> 2, 'answer', 'shape', 'state', 'already'),
  '{"answer": "ok", "shape": "release", "state": "released", "already": false}', 'on_error released: release');
select is((select e.kind || ' ' || e.result from effect.event e where e.effect = effect.id('default', 'probed', 'a')
  and e.result is not null), 'unknown {"e":1}', 'unknown keeps the result as an event');
select is((select e.kind || ' ' || e.result from effect.event e where e.effect = effect.id('default', 'frees', 'c')
  and e.result is not null), 'released {"e":3}', 'so does release');
select is(effect_test.begin(effect_test.e('b', 'x', '{"tool": "fails"}')) ->> 'result', '{"e":2}',
  'failed keeps it as the result');
select is(effect_test.begin(effect_test.e('a', 'x')) ->> 'answer', 'unknown', 'then: unknown');
select is(effect_test.only(effect_test.begin(effect_test.e('c', 't2', '{"tool": "frees"}')), 'answer', 'attempt'),
  '{"answer": "run", "attempt": 2}', 'then: run, within the budget');
-- the version the row was claimed under, not the newest one
select effect_test.begin(effect_test.e('d', 't1', '{"tool": "frees"}')) \gset
select effect_test.tool('frees', '{"on_error": "failed"}') \gset
select is(effect_test.complete(effect_test.e('d', 't1', '{"tool": "frees", "outcome": "error"}')) ->> 'state', 'released',
  'a row keeps the policy it was claimed under');
select effect_test.begin(effect_test.e('c2', 't1', '{"tool": "frees"}')) \gset
select is(effect_test.complete(effect_test.e('c2', 't1', '{"tool": "frees", "outcome": "error"}')) ->> 'state', 'done',
  'a new claim has the new one');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
