-- keep_result, then keep_key, both counted from the end: replay, replay as expired, forgotten (case 93).
begin;
select no_plan();
select effect_test.tool('short', '{"keep_result": "10s", "keep_key": "60s"}') \gset
select effect_test.begin(effect_test.e('a', 't1', '{"tool": "short"}')) \gset
select effect_test.advance('5 s') \gset
select effect_test.complete(effect_test.e('a', 't1', '{"tool": "short", "result": "{\"r\":1}"}')) \gset
create function pg_temp.replay() returns text language sql as $$ select concat_ws(' ', b ->> 'answer', b ->> 'result_state', b ->> 'result') from effect_test.begin(effect_test.e('a', 'x', '{"tool": "short"}')) b $$;
select effect_test.advance('9.999999 s') \gset
select is(to_jsonb(r), '{"dropped": 0, "deleted": 0}', 'a moment before: nothing') from effect.retain(100) r;
select is(pg_temp.replay(), 'replay kept {"r":1}', 'replayed');
select effect_test.advance('0.000001 s') \gset
select is(pg_temp.replay(), 'replay expired', 'keep_result after the end: expired, swept or not');
select is(effect_test.only(effect_test.get(effect_test.e('a', 'x', '{"tool": "short"}')), 'result', 'result_state', 'result_bytes'),
  '{"result_state": "expired", "result_bytes": 7}', 'get says so, too');
select is((select l.result_state from effect.list(null, null, 'short', null, null, null, 10, null, null) l), 'expired', 'and list');
select is(effect_test.complete(effect_test.e('a', 't1', '{"tool": "short", "result": "2"}')) ->> 'answer', 'ok',
  'the same token and outcome are then enough to be already');
select is(to_jsonb(r), '{"dropped": 1, "deleted": 0}', 'the result is dropped')
  from effect.retain(100) r;
select is(pg_temp.replay(), 'replay expired', 'and replayed as expired');
select is(effect_test.row('a', 'short') -> 'result', null, 'its text is gone from the row, not only from the answers');
select is(effect_test.only(effect_test.row('a', 'short'), 'result_bytes', 'due_at'),
  jsonb_build_object('result_bytes', 7, 'due_at', effect.now() + interval '50 s'), 'its size stays; next is the key');
select is(to_jsonb(r), '{"dropped": 0, "deleted": 0}', 'once') from effect.retain(100) r;
select effect_test.advance('49.999999 s') \gset
select effect.retain(100) \gset
select is(pg_temp.replay(), 'replay expired', 'a moment before keep_key: still known');
select effect_test.advance('0.000001 s') \gset
select is(effect_test.get(effect_test.e('a', 'x', '{"tool": "short"}')) ->> 'answer', 'not_found',
  'at keep_key get finds nothing, swept or not');
select is(to_jsonb(r), '{"dropped": 0, "deleted": 1}', 'keep_key after the end: forgotten') from effect.retain(100) r;
select is(effect_test.row('a', 'short'), null, 'the row is gone');
select is(split_part(pg_temp.replay(), ' ', 1), 'run', 'and the key runs again');
-- both past due at once
select effect_test.begin(effect_test.e('b', 't1', '{"tool": "short"}')) \gset
select effect_test.complete(effect_test.e('b', 't1', '{"tool": "short", "result": "1"}')) \gset
select effect_test.advance('100 s') \gset
select effect.retain(100) \gset
select is(effect_test.row('b', 'short'), null, 'a row past both goes at once');
-- the hash of an omitted result stays as long as the key
select effect_test.begin(effect_test.e('c', 't1', '{"tool": "small"}')) \gset
select effect_test.complete(effect_test.e('c', 't1', '{"tool": "small", "result": "\"0123456789\""}')) \gset
select effect_test.advance('25 h') \gset
select effect.retain(100) \gset
select is(effect_test.row('c', 'small') ->> 'result_state', 'omitted', 'omitted stays omitted');
select is(effect_test.only(effect_test.begin(effect_test.e('c', 'x', '{"tool": "small"}')), 'answer', 'result_state',
  'result_bytes'), '{"answer": "replay", "result_state": "omitted", "result_bytes": 12}', 'and is replayed so');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
