-- on_unknown = retry: what an attempt did, whichever it was, is what was done, and the first success stands. What is only
-- an answer of an earlier attempt that is none of these is kept as evidence, as ever.
begin;
select no_plan();
create function pg_temp.e(p_key text, p_token text, p_more jsonb default '{}') returns jsonb language sql as
  $$ select effect_test.e(p_key, p_token, '{"tool": "again"}'::jsonb || p_more) $$;
create function pg_temp.row(p_key text) returns jsonb language sql as
  $$ select effect_test.only(effect_test.row(p_key, 'again'), 'state', 'outcome', 'decided_by', 'result', 'attempt') $$;
create function pg_temp.two(p_key text) returns void language plpgsql as $$
begin
  perform effect_test.begin(pg_temp.e(p_key, 't1'));
  perform effect_test.unknown(pg_temp.e(p_key, 't1'));
  perform effect_test.must('two', effect_test.begin(pg_temp.e(p_key, 't2')) ->> 'answer', 'run');
end
$$;

select pg_temp.two('a') \gset
select is(effect_test.complete(pg_temp.e('a', 't1', '{"result": "{\"id\":  1}"}')),
  '{"answer": "ok", "shape": "complete", "state": "done", "outcome": "succeeded", "already": false, "attempt": 2}', 'the first attempt''s success is taken');
select is(pg_temp.row('a'), '{"state": "done", "outcome": "succeeded", "decided_by": "caller", "result": "{\"id\":  1}", "attempt": 2}',
  'and recorded, byte for byte');
select is(effect_test.only(effect_test.row('a', 'again'), 'open_from', 'ended_at', 'since', 'deadline_at', 'lease_until'), '{}', 'nothing is open any more');
select is(effect_test.begin(pg_temp.e('a', 't3')) ->> 'result', '{"id":  1}', 'it is replayed');
select is(effect_test.only(effect_test.complete(pg_temp.e('a', 't2', '{"result": "{\"id\":  1}"}')), 'answer', 'already'),
  '{"answer": "ok", "already": true}', 'the holder who says the same is told that it stands already');
select is(effect_test.kinds('a', 'again'), 'unknown,granted,late', 'no incident');
select is(effect_test.only(effect_test.complete(pg_temp.e('a', 't2', '{"result": "{\"id\":2}"}')), 'answer', 'state'),
  '{"answer": "conflict", "state": "done"}', 'who says something else is in conflict');
select is(effect_test.kinds('a', 'again'), 'unknown,granted,late,late!', 'and a person is to look');
select is(pg_temp.row('a') ->> 'result', '{"id":  1}', 'the first one stands');

-- the other way round: the newest is first
select pg_temp.two('b') \gset
select effect_test.complete(pg_temp.e('b', 't2', '{"result": "2"}')) \gset
select is(effect_test.only(effect_test.row('b', 'again'), 'open_from', 'ended_at'), '{}', 'nothing is open, either');
select is(effect_test.only(effect_test.complete(pg_temp.e('b', 't1', '{"result": "2"}')), 'answer', 'already'),
  '{"answer": "ok", "already": true}', 'the earlier one agrees');
select is(effect_test.only(effect_test.complete(pg_temp.e('b', 't1', '{"result": "1"}')), 'answer'), '{"answer": "conflict"}', 'or not');
select is(effect_test.kinds('b', 'again'), 'unknown,granted,late!', 'which is an incident');

-- both in one batch: the first of them
select pg_temp.two('c') \gset
select is((select jsonb_agg(concat_ws(' ', x ->> 'answer', x ->> 'state', x ->> 'already')) from jsonb_array_elements(effect_test.complete(jsonb_build_array(
  pg_temp.e('c', 't1', '{"result": "1"}'), pg_temp.e('c', 't2', '{"result": "1"}'), pg_temp.e('c', 't2', '{"result": "3"}')))) x),
  '["ok done false", "ok done true", "conflict done false"]', 'one after another in a batch');

-- an earlier attempt under another policy handed out no key: evidence, for a person
select effect_test.tool('mixed', '{}') as asks \gset
select effect_test.tool('mixed', '{"on_unknown": "retry", "retry_window": "1h"}') as retries \gset
select effect_test.begin(effect_test.e('d', 't1', jsonb_build_object('tool', 'mixed', 'policy', :asks))) \gset
select effect_test.release(effect_test.e('d', 't1', '{"tool": "mixed"}')) \gset
select effect_test.begin(effect_test.e('d', 't2', jsonb_build_object('tool', 'mixed', 'policy', :retries))) \gset
select effect_test.unknown(effect_test.e('d', 't2', '{"tool": "mixed"}')) \gset
select effect_test.begin(effect_test.e('d', 't3', jsonb_build_object('tool', 'mixed', 'policy', :retries))) \gset
select is(effect_test.only(effect_test.complete(effect_test.e('d', 't1', '{"tool": "mixed"}')), 'answer', 'state'),
  '{"answer": "conflict", "state": "escalated"}', 'an earlier attempt under another policy escalates');
select is(effect_test.only(effect_test.complete(effect_test.e('d', 't2', '{"tool": "mixed"}')), 'answer', 'state'),
  '{"answer": "ok", "state": "done"}', 'one of the same provider''s call settles it');

-- Both attempts were said not to have landed, so a third ran, however late: nobody promised that the provider takes it for one
-- with them. Whichever speaks first, and though all say the same, a person is told.
create function pg_temp.three(p_key text) returns void language plpgsql as $$
begin
  perform pg_temp.two(p_key);
  perform effect_test.unknown(pg_temp.e(p_key, 't2'));
  perform effect_test.must('absent', effect_test.resolve(jsonb_build_object('key', p_key, 'tool', 'again', 'verdict', 'absent',
    'attempt', 2, 'state', 'unknown', 'reason', 'none')) ->> 'state', 'released');
  perform effect_test.must('three', effect_test.begin(pg_temp.e(p_key, 't3')) ->> 'answer', 'run');
end
$$;
select pg_temp.three('g') \gset
select is(effect_test.only(effect_test.complete(pg_temp.e('g', 't1')), 'answer', 'state', 'already'),
  '{"answer": "ok", "state": "done", "already": false}', 'a success of the first is the outcome');
select is(effect_test.kinds('g', 'again'), 'unknown,granted,unknown,resolved,granted,late!', 'and an incident');
select is(effect_test.only(effect_test.complete(pg_temp.e('g', 't3')), 'answer', 'already'), '{"answer": "ok", "already": true}', 'the third agrees');
select pg_temp.three('h') \gset
select effect_test.complete(pg_temp.e('h', 't3')) \gset
select is(effect_test.only(effect_test.complete(pg_temp.e('h', 't1')), 'answer', 'state', 'already'),
  '{"answer": "ok", "state": "done", "already": true}', 'behind the third it stands already');
select is(effect_test.kinds('h', 'again'), 'unknown,granted,unknown,resolved,granted,late!', 'which is an incident, too');
select effect_test.complete(pg_temp.e('h', 't1')) \gset
select is(effect_test.kinds('h', 'again'), 'unknown,granted,unknown,resolved,granted,late!', 'once');

-- the newest refused, an earlier one open: it does not stand by itself, with a probe or without
select pg_temp.two('f') \gset
select is(effect_test.only(effect_test.complete(pg_temp.e('f', 't2', '{"outcome": "failed", "result": "\"no\""}')), 'state', 'outcome', 'already', 'next_probe_at'),
  jsonb_build_object('state', 'unknown', 'outcome', 'failed', 'already', false, 'next_probe_at', effect.now()), 'it is probed at once');
select is(effect_test.only(effect_test.complete(pg_temp.e('f', 't2', '{"outcome": "failed", "result": "\"no\""}')), 'state', 'already'),
  '{"state": "unknown", "already": true}', 'said again, it is so already');
select effect_test.sweep() \gset
select is(effect_test.only(effect_test.verdict('{"key": "f", "tool": "again", "verdict": "inconclusive"}'), 'answer', 'state'),
  '{"answer": "ok", "state": "unknown"}', 'who cannot tell does not decide it');
select is(effect_test.begin(pg_temp.e('f', 't3')) ->> 'answer', 'unknown', 'and nobody calls again');
select effect_test.set_now((effect_test.row('f', 'again') ->> 'deadline_at')::timestamptz) \gset
select is(effect_test.task(effect_test.sweep(), 'escalated', effect.id('default', 'again', 'f')) ->> 'task', 'escalated', 'at the deadline a person is asked');
select is(effect_test.only(effect_test.complete(pg_temp.e('f', 't2', '{"outcome": "failed", "result": "\"no\""}')), 'answer', 'state'),
  '{"answer": "conflict", "state": "escalated"}', 'the refusal said again does not decide it then, either');
select is(pg_temp.row('f'), '{"state": "escalated", "attempt": 2}', 'it stands in the history');
select is(effect_test.only(effect_test.complete(pg_temp.e('f', 't1', '{"result": "1"}')), 'state', 'outcome'), '{"state": "done", "outcome": "succeeded"}',
  'until the earlier attempt says that it landed');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
