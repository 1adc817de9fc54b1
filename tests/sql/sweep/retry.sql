-- What is told to a probe of an effect that was retried: since when an attempt is open, and not since when the newest one is. A
-- question for what happened since the claim (`at >= {claimed_at}`) would else be absent of what the first one did.
begin;
select no_plan();
create function pg_temp.e(p_token text) returns jsonb language sql as $$ select effect_test.e('k', p_token, '{"tool": "again"}') $$;
select effect.id('default', 'again', 'k') as id \gset
select effect.now() as first \gset
select effect_test.begin(pg_temp.e('t1')) \gset
select effect_test.unknown(pg_temp.e('t1')) \gset
select is(effect_test.task(effect_test.sweep(), 'probe', :'id') ->> 'claimed_at', to_jsonb(:'first'::timestamptz) #>> '{}', 'the claim');
select effect_test.advance('1 min') \gset
select effect_test.begin(pg_temp.e('t2')) \gset
select is((select claimed_at from effect.probe_look(array[:'id'::uuid], array[null])), :'first'::timestamptz,
  'by hand: the claim of the first attempt that is open');
select effect_test.unknown(pg_temp.e('t2')) \gset
select is(effect_test.task(effect_test.sweep(), 'probe', :'id') ->> 'claimed_at', to_jsonb(:'first'::timestamptz) #>> '{}', 'in a sweep');
select effect_test.verdict('{"key": "k", "tool": "again", "verdict": "inconclusive"}') \gset
select effect_test.advance('10 s') \gset
select is((select claimed_at from effect.probe_now(array[:'id'::uuid], array[null], array[0])), :'first'::timestamptz, 'on demand');
select is((select claimed_at from effect.get(array[:'id'::uuid], array[null], array[0])), :'first'::timestamptz + interval '1 min',
  'the row''s own is the newest attempt''s, as ever');
-- a later life of the effect begins anew
select effect_test.resolve('{"key": "k", "tool": "again", "verdict": "absent", "attempt": 2, "state": "unknown", "reason": "none"}') \gset
select effect_test.advance('1 min') \gset
select effect_test.begin(pg_temp.e('t3')) \gset
select effect_test.unknown(pg_temp.e('t3')) \gset
select is((select claimed_at from effect.probe_look(array[:'id'::uuid], array[null])), effect.now(), 'what was given back is not looked for any more');
select * from finish();
rollback;
