-- The sweep lapses rows whose lease ran out, and no other, and probes them at once.
begin;
select no_plan();
select effect_test.begin(jsonb_build_array(effect_test.e('a', 't1', '{"kept": "{\"/n\":1}"}'),
  effect_test.e('live', 't1', '{"lease_ms": 61000}'),
  effect_test.e('bare', 't1', '{"tool": "bare"}'))) \gset
select effect_test.advance('59.999999 s') \gset
select is(effect_test.sweep(), '[]', 'before the lease''s end: nothing to do');
select effect_test.advance('0.000001 s') \gset
select effect_test.sweep() as tasks \gset
select is(effect_test.task(:'tasks', 'lapsed', effect.id('default', 'probed', 'a')) ->> 'attempt', '1', 'at its end: lapsed');
select is(effect_test.task(:'tasks', 'probe', effect.id('default', 'probed', 'a')) - 'policy' - 'effect',
  jsonb_build_object('task', 'probe', 'namespace', 'default', 'tool', 'probed', 'key', 'a', 'attempt', 1, 'probe_no', 1,
    'probe_timeout_ms', 10000,
    'claimed_at', effect.now() - interval '60 s', 'since', effect.now(), 'kept', '{"/n":1}'),
      'and probed at once, with all that a probe is told');
select is(effect_test.task(:'tasks', 'probe', effect.id('default', 'bare', 'bare')), null,
  'a tool without a probe is not probed');
select is(effect_test.row('live') ->> 'state', 'pending', 'a live lease is left alone (case 60)');
select is(effect_test.kinds('a'), 'lapsed', 'the lapse is an event');
select is(effect_test.complete(effect_test.e('live', 't1')) ->> 'state', 'done', 'its owner completes');
select is(effect_test.sweep(), '[]', 'a task is handed out once');
-- the owner's late complete is truth
select is(effect_test.complete(effect_test.e('a', 't1', '{"result": "1"}')) ->> 'state', 'done',
  'a late complete is recorded (case 13)');
select is(effect_test.verdict('{"key": "a", "verdict": "absent"}') ->> 'answer', 'event', 'the probe''s word comes after it');
select is(effect_test.begin(effect_test.e('a', 't2')) ->> 'result', '1', 'the owner''s result stands');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
