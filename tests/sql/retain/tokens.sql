-- The last token of a released row outlives the row by 30 days, so that its holder's late success is known for what it is.
begin;
select no_plan();
select effect_test.tool('short', '{"keep_result": "0s", "keep_key": "60s"}') \gset
select effect_test.begin(effect_test.e('a', 't1', '{"tool": "short"}')) \gset
select effect_test.release(effect_test.e('a', 't1', '{"tool": "short"}')) \gset
select effect_test.advance('61 s') \gset
select is((select deleted from effect.retain(100)), 1, 'a released row past its keeping is deleted');
select is((select jsonb_build_object('token', e.token, 'attempt', e.attempt, 'incident', e.incident) from effect.event e
  where e.kind = 'expired'),
  jsonb_build_object('token', effect_test.uid('a t1'), 'attempt', 1, 'incident', false), 'its last token was written first');
-- walks all of effect.event in small steps
create function pg_temp.forget() returns int language plpgsql as $$
declare
  v_next bigint := 0;
  v_deleted int;
  v_all int := 0;
begin
  for i in 1 .. 1000 loop
    select next_after, deleted into v_next, v_deleted from effect.forget_events(v_next, 2);
    v_all := v_all + v_deleted;
    exit when v_next = 0;
  end loop;
  perform effect_test.must('the walk ends', v_next::text, '0');
  return v_all;
end
$$;
select effect_test.advance('29 d') \gset
select is(pg_temp.forget(), 0, '29 days later it is still there');
select effect_test.begin(effect_test.e('a', 't2', '{"tool": "short"}')) \gset
select is(effect_test.complete(effect_test.e('a', 't1', '{"tool": "short"}')) ->> 'answer', 'conflict',
  'the former holder''s success is told conflict, not that it is a stranger''s');
select is(effect_test.row('a', 'short') ->> 'state', 'pending', 'the new life is not touched');
select effect_test.advance('60 d') \gset
select is(pg_temp.forget(), 0, 'events of a row that stands are never forgotten');
-- a row that is gone
select effect_test.begin(effect_test.e('b', 't1', '{"tool": "short"}')) \gset
select effect_test.unknown(effect_test.e('b', 't1', '{"tool": "short"}')) \gset
select effect_test.resolve('{"key": "b", "tool": "short", "verdict": "absent"}') \gset
select effect_test.advance('61 s') \gset
select effect.retain(100) \gset
select is(effect_test.row('b', 'short'), null, 'gone');
select effect_test.advance('29 d 23 h') \gset
select is(pg_temp.forget(), 0, 'its history is kept for 30 days');
select effect_test.advance('2 h') \gset
select ok(pg_temp.forget() >= 3, 'and forgotten then');
select is(effect_test.kinds('b', 'short'), '-', 'all of it');
select ok(effect_test.kinds('a', 'short') <> '-', 'that of the standing row is not');
-- a done row leaves no token that could do harm
select effect_test.begin(effect_test.e('c', 't1', '{"tool": "short"}')) \gset
select effect_test.complete(effect_test.e('c', 't1', '{"tool": "short"}')) \gset
select effect_test.advance('61 s') \gset
select effect.retain(100) \gset
select effect_test.begin(effect_test.e('c', 't2', '{"tool": "short"}')) \gset
select ok(c ->> 'answer' in ('not_owner', 'conflict'), 'the complete of a done and forgotten attempt: ' || (c ->> 'answer'))
  from effect_test.complete(effect_test.e('c', 't1', '{"tool": "short"}')) c;
select is(effect_test.row('c', 'short') ->> 'state', 'pending', 'changes nothing');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
