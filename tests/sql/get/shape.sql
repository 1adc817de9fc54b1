-- get: everything that is recorded, and never a token.
begin;
select no_plan();
select effect_test.begin(effect_test.e('a', 't1', '{"owner": "w", "run": "r", "step": "s", "kept": "{\"/n\":1}"}')) \gset
select is(effect_test.get('{"key": "a"}') - 'answer',
  jsonb_build_object('effect', effect.id('default', 'probed', 'a'), 'namespace', 'default', 'tool', 'probed', 'key', 'a',
  'fingerprint', effect_test.uid('args'), 'state', 'pending', 'attempt', 1, 'owner', 'w', 'run', 'r', 'step', 's', 'claimed_at',
    effect.now(), 'lease_until', effect.now() + interval '60 s',
  'due_at', effect.now() + interval '60 s', 'protected_until', effect.now() + interval '30 d', 'kept', '{"/n":1}', 'events',
    '[]'), 'a pending row');
select effect_test.advance('1 s') \gset
select effect_test.release(effect_test.e('a', 't1', '{"reason": "no \"route\"\n"}')) \gset
select effect_test.advance('1.5 s') \gset
select effect_test.begin(effect_test.e('a', 't2')) \gset
select effect_test.begin(effect_test.e('a', 'x', '{"fp": "other"}')) \gset
select effect_test.complete(effect_test.e('a', 'nobody', '{"result": "\"orphan''s\""}')) \gset
select is((effect_test.get('{"key": "a"}') ->> 'events')::jsonb, '[{"at": "2030-01-01T00:00:01.000Z", "kind": "released", "attempt": 1, "by": "caller", "reason": "no \"route\"\n"},
  {"at": "2030-01-01T00:00:02.500Z", "kind": "granted", "attempt": 2}, {"at": "2030-01-01T00:00:02.500Z", "kind": "refused",
    "attempt": 2, "reason": "mismatch"},
  {"at": "2030-01-01T00:00:02.500Z", "kind": "orphan", "attempt": 2, "by": "caller", "reason": "complete with an unknown token",
    "outcome": "succeeded", "result_text": "\"orphan''s\"", "result_bytes": 10, "incident": true}]'::jsonb, 'its history, oldest first, instants with milliseconds');
select is(jsonb_array_length((effect_test.get('{"key": "a", "events": 2}') ->> 'events')::jsonb), 2, 'the newest two');
select is((effect_test.get('{"key": "a", "events": 2}') ->> 'events')::jsonb -> 1 ->> 'kind', 'orphan', 'ending with the newest');
select is(effect_test.get('{"key": "a", "events": 0}') ->> 'events', '[]', 'none');
select effect_test.complete(effect_test.e('a', 't2', '{"result": "{\"r\":1}"}')) \gset
select is(effect_test.only(effect_test.get('{"key": "a"}'), 'state', 'outcome', 'decided_by', 'result', 'result_state',
  'result_bytes', 'done_at', 'due_at', 'lease_until'),
  jsonb_build_object('state', 'done', 'outcome', 'succeeded', 'decided_by', 'caller', 'result', '{"r":1}', 'result_state', 'kept',
    'result_bytes', 7, 'done_at', effect.now(), 'due_at', effect.now() + interval '24 h'), 'a done row');
select ok(effect_test.get('{"key": "a", "events": 1000}')::text not like '%' || t || '%', 'no token of it is shown')
  from (select token::text from effect.ledger union select token::text from effect.event where token is not null) x(t);
select is((select jsonb_agg(x -> 'answer')
  from jsonb_array_elements(effect_test.get('[{"key": "none"}, {"key": "a"}, {"key": "a"}]')) x), '["not_found", "ok", "ok"]',
  'in a batch');
select is((select jsonb_agg(p.answer order by p.ord)
  from effect.peek(array[effect.id('default', 'probed', 'a'), effect_test.uid('none'), effect.id('default', 'probed', 'a')]) p),
  '["done", "none", "done"]', 'peek');
select effect_test.begin('[{"key": "p"}, {"key": "u"}]') \gset
select effect_test.advance('60 s') \gset
select is((select answer from effect.peek(array[effect.id('default', 'probed', 'p')])), 'lapsed',
  'peek: a lease that ran out, before the sweep');
select is((select jsonb_object_agg(c.state, c.n) from effect.open_counts() c), '{"pending": 2, "unknown": 0, "escalated": 0}', 'open_counts');
select effect_test.sweep(100, 0) \gset
select is((select jsonb_object_agg(c.state, c.n) from effect.open_counts() c), '{"pending": 0, "unknown": 2, "escalated": 0}',
  'open_counts after the sweep');
select * from finish();
rollback;
