-- A key past its keeping starts a new life on the same row: attempts go on, budgets start anew (case 93).
begin;
select no_plan();
select effect_test.tool('short', '{"keep_result": "10s", "keep_key": "60s", "max_attempts": 2}') \gset
create function pg_temp.begin(p_token text, p_more jsonb default '{}') returns jsonb language sql as
  $$ select effect_test.begin(effect_test.e('k', p_token, '{"tool": "short"}' || p_more)) $$;
create function pg_temp.at(p_token text) returns jsonb language sql as $$ select effect_test.e('k', p_token, '{"tool": "short"}') $$;

select is((pg_temp.begin('t1') ->> 'protected_until')::timestamptz, effect.now() + interval '60 s',
  'run tells until when the key is remembered');
select effect_test.release(pg_temp.at('t1')) \gset
select pg_temp.begin('t2') \gset
select effect_test.advance('5 s') \gset
select effect_test.complete(pg_temp.at('t2')) \gset
select effect_test.advance('59 s') \gset
select is(pg_temp.begin('x') ->> 'answer', 'replay', '59 s after it was done: replay');
select effect_test.advance('2 s') \gset
select is(effect_test.only(pg_temp.begin('t3', '{"fp": "new args"}'), 'answer', 'attempt', 'token', 'protected_until'),
  jsonb_build_object('answer', 'run', 'attempt', 3, 'token', effect_test.uid('k t3'), 'protected_until',
    effect.now() + interval '60 s'),
  '61 s after: a new life, and attempts go on');
select is(effect_test.only(effect_test.row('k', 'short'), 'attempt', 'base', 'extra', 'state', 'outcome', 'result',
  'result_state', 'done_at', 'evidence'),
  '{"attempt": 3, "base": 2, "extra": 0, "state": "pending"}', 'nothing of the former life is left');
select is((select jsonb_build_object('token', e.token, 'attempt', e.attempt) from effect.event e where e.kind = 'expired'),
  jsonb_build_object('token', effect_test.uid('k t2'), 'attempt', 2), 'its last token was written first');
select effect_test.release(pg_temp.at('t3')) \gset
select is(effect_test.only(pg_temp.begin('t4', '{"fp": "new args"}'), 'answer', 'attempt'), '{"answer": "run", "attempt": 4}',
  'max_attempts counts from the renewal');
select effect_test.release(pg_temp.at('t4')) \gset
select is(pg_temp.begin('t5', '{"fp": "new args"}') ->> 'answer', 'exhausted', 'and ends there');
-- a former life's tokens: kept, never harmful
select is(effect_test.complete(pg_temp.at('t1')) ->> 'answer', 'conflict', 'a success from a former life is told conflict');
select is(effect_test.complete(pg_temp.at('t2')) ->> 'answer', 'conflict', 'also that of its last token');
select is(effect_test.only(effect_test.row('k', 'short'), 'state', 'evidence'), '{"state": "released"}',
  'this life is not touched');
select is((select string_agg(e.kind || e.attempt || e.incident, ' ' order by e.id) from effect.event e where e.kind = 'late'),
  'late1true late2true', 'each is an incident');
-- renewal of a released row with extra attempts
select effect_test.resolve('{"key": "k", "tool": "short", "verdict": "absent"}') \gset
select is((effect_test.row('k', 'short') ->> 'extra')::int, 1, 'an operator gave one more');
select effect_test.advance('61 s') \gset
select is(effect_test.only(pg_temp.begin('t6'), 'answer', 'attempt'), '{"answer": "run", "attempt": 5}', 'renewed from released');
select is(effect_test.only(effect_test.row('k', 'short'), 'base', 'extra'), '{"base": 4, "extra": 0}', 'extra starts anew');

-- open rows have no expiry, whatever their age (case 95)
select effect_test.advance('10 d') \gset
select is(pg_temp.begin('x') ->> 'answer', 'unknown', 'a pending row of long ago is unknown, not renewed');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
