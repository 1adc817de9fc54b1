-- What was once told as protected_until is never undercut.
begin;
select no_plan();
select effect_test.tool('p', '{"keep_key": "60d"}') as long \gset
select effect_test.begin(effect_test.e('k', 't1', '{"tool": "p"}')) \gset
select effect_test.tool('p', '{"keep_key": "1d", "keep_result": "1h"}') as short \gset
select effect_test.release(effect_test.e('k', 't1', '{"tool": "p"}')) \gset
select is((effect_test.row('k', 'p') ->> 'keep_until')::timestamptz, effect.now() + interval '60 d',
  'released under the old policy');
select is((effect_test.begin(effect_test.e('k', 't2', '{"tool": "p"}')) ->> 'protected_until')::timestamptz,
  effect.now() + interval '60 d',
  'attempt 2 under a policy that keeps a day is told the old promise');
select is((effect_test.row('k', 'p') ->> 'policy')::bigint, :short, 'the row is under the new policy');
select effect_test.complete(effect_test.e('k', 't2', '{"tool": "p"}')) \gset
select is((effect_test.begin(effect_test.e('k', 'x', '{"tool": "p"}')) ->> 'protected_until')::timestamptz,
  effect.now() + interval '60 d', 'so is the replay');
select effect_test.advance('59 d') \gset
select effect.retain(100) \gset
select is(effect_test.begin(effect_test.e('k', 'x', '{"tool": "p"}')) ->> 'answer', 'replay', 'and it is kept');
-- keep_key counts from done_at, not from the claim
select effect_test.begin(effect_test.e('l', 't1', '{"tool": "p", "lease_ms": 3600000}')) \gset
select effect_test.advance('30 min') \gset
select effect_test.complete(effect_test.e('l', 't1', '{"tool": "p"}')) \gset
select is((effect_test.row('l', 'p') ->> 'keep_until')::timestamptz, effect.now() + interval '1 d',
  'a done key is kept from done_at');
select effect_test.begin(effect_test.e('m', 't1', '{"tool": "p", "lease_ms": 3600000}')) \gset
select effect_test.advance('30 min') \gset
select effect_test.release(effect_test.e('m', 't1', '{"tool": "p"}')) \gset
select is((effect_test.row('m', 'p') ->> 'keep_until')::timestamptz, effect.now() + interval '1 d',
  'a released one from its release');
select * from finish();
rollback;
