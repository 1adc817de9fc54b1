-- What landed is remembered beyond its row, in a narrow row for each time, and that is forgotten in its turn.
begin;
select no_plan();
select effect_test.tool('short', '{"keep_result": "0s", "keep_key": "60s"}') \gset
select effect_test.tool('month', '{"keep_result": "0s", "keep_key": "60d"}') \gset
select effect_test.tool('years', '{"keep_result": "0s", "keep_key": "800d"}') \gset
select effect_test.tool('guard', '{"keep_key": "60s", "business_window": "60s", "on_business_duplicate": "report"}') \gset
create function pg_temp.past(p_key text, p_tool text default 'short') returns setof effect.past language sql as $$
  select p from effect.past p where p.id = effect.id('default', p_tool, p_key) order by p.claimed_at $$;
create function pg_temp.at(p_key text, p_token text, p_tool text default 'short') returns jsonb language sql as $$
  select effect_test.e(p_key, p_token, jsonb_build_object('tool', p_tool)) $$;

-- what is remembered, and what is not
select effect_test.begin(jsonb_agg(pg_temp.at(k, 't1'))) from unnest(array['landed', 'refused', 'given back', 'asked', 'open']) k \gset
select effect_test.begin_guarded(effect_test.e('guarded', 't1', '{"tool": "guard", "business": "7"}')) \gset
select effect.now() as claimed_at \gset
select effect_test.advance('5 s') \gset
select effect_test.complete(pg_temp.at('landed', 't1')) \gset
select effect_test.complete(pg_temp.at('refused', 't1') || '{"outcome": "failed"}') \gset
select effect_test.release(pg_temp.at('given back', 't1')) \gset
select effect_test.unknown(pg_temp.at('asked', 't1')) \gset
select effect_test.resolve('{"key": "asked", "tool": "short", "verdict": "landed"}') \gset
select effect_test.complete(effect_test.e('guarded', 't1', '{"tool": "guard"}')) \gset
select effect.now() as done_at \gset
select effect_test.advance('59 s') \gset
select effect.retain(100) \gset
select is_empty('select * from effect.past', 'as long as its row stands, nothing is remembered besides');
select effect_test.advance('2 s') \gset
select is((select deleted from effect.retain(100)), 5, 'keys are forgotten');
select is((select array_agg(l.key order by l.key) from unnest(array['landed', 'refused', 'given back', 'asked', 'open', 'guarded']) l(key),
    unnest(array['short', 'guard']) t, pg_temp.past(l.key, t)), '{asked,guarded,landed}',
  'of those which landed, whoever said so, something is remembered: not of what was refused, given back, or is open');
select is((select to_jsonb(p) - 'due_at' from pg_temp.past('landed') p),
  jsonb_build_object('id', effect.id('default', 'short', 'landed'), 'business', null, 'policy', t.version,
    'claimed_at', :'claimed_at'::timestamptz, 'done_at', :'done_at'::timestamptz, 'forgotten_at', effect.now()),
  'when it was claimed, done and forgotten, and under which policy') from effect_test.tool t where t.name = 'short';
select is((select business from pg_temp.past('guarded', 'guard')), effect_test.uid('business 7'), 'and the hash of its business key');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');

-- the same key again
select effect_test.begin(pg_temp.at('landed', 't2')) \gset
select effect_test.complete(pg_temp.at('landed', 't2')) \gset
select effect_test.advance('61 s') \gset
select effect.retain(100), effect.retain(100) \gset
select is((select count(*) from pg_temp.past('landed')), 2::bigint, 'a key that ran and was forgotten twice is remembered twice');
select effect_test.begin(pg_temp.at('landed', 't3')) \gset
select effect_test.complete(pg_temp.at('landed', 't3')) \gset
select effect_test.advance('61 s') \gset
select is(effect_test.begin(pg_temp.at('landed', 't4')) ->> 'answer', 'run', 'a row past its keeping is renewed before retention takes it');
select is((select array_agg(extract(epoch from p.claimed_at - :'claimed_at')::int order by p.claimed_at) from pg_temp.past('landed') p),
  '{0,66,127}', 'and its former life is remembered, too');
select is((select p.forgotten_at from pg_temp.past('landed') p order by p.claimed_at desc limit 1), effect.now(), 'as forgotten then');
select effect_test.release(pg_temp.at('landed', 't4')) \gset
select effect_test.advance('61 s') \gset
select effect_test.begin(pg_temp.at('landed', 't5')) \gset
select is((select count(*) from pg_temp.past('landed')), 3::bigint, 'a life that did not land is not');
select effect.remember(array[effect.id('default', 'short', 'landed')], effect.now()) \gset
select is((select count(*) from pg_temp.past('landed')), 3::bigint, 'a row that stands is not remembered, whoever asks');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');

-- how long
truncate effect.past;
select effect_test.begin(pg_temp.at('m', 't1', 'month')), effect_test.begin(pg_temp.at('y', 't1', 'years')), effect_test.begin(pg_temp.at('s', 't1')) \gset
select effect_test.complete(pg_temp.at('m', 't1', 'month')), effect_test.complete(pg_temp.at('y', 't1', 'years')), effect_test.complete(pg_temp.at('s', 't1')) \gset
select effect_test.advance('801 d') \gset
select effect.retain(100), effect.retain(100) \gset
select is((select array_agg(t.name || ' ' || extract(day from p.due_at - p.forgotten_at) order by t.name)
    from effect.past p join effect.tool t on t.version = p.policy), '{"month 60","short 30","years 90"}',
  'as long again as the key was kept, at least 30 days, at most 90');
select effect_test.advance('30 d -1 s') \gset
select effect.retain(100) \gset
select is((select count(*) from effect.past), 3::bigint, 'a second before: still there');
select effect_test.advance('1 s') \gset
select effect.retain(100) \gset
select is((select count(*) from pg_temp.past('s')), 0::bigint, 'and forgotten then');
select is((select count(*) from effect.past), 2::bigint, 'alone');

-- in bounded steps
truncate effect.past, effect.ledger, effect.event;
select effect_test.begin(jsonb_agg(pg_temp.at('k' || i, 't1'))) from generate_series(1, 90) i \gset
select effect_test.complete(jsonb_agg(pg_temp.at('k' || i, 't1'))) from generate_series(1, 90) i \gset
select effect_test.advance('61 s') \gset
select effect.retain(1000), effect.retain(1000) \gset
select is((select count(*) from effect.past), 90::bigint, 'ninety are remembered');
select effect_test.advance('31 d') \gset
select is((select deleted from effect.retain(40)), 40, 'a step forgets no more than it is told, and says so');
select is((select count(*) from effect.past), 50::bigint, 'the rest is there');
select effect.retain(40), effect.retain(40) \gset
select is((select count(*) from effect.past), 0::bigint, 'and more steps forget all');
select * from finish();
rollback;

-- A purge that is under way, and one whose connection was lost, disturb nobody and double nothing.
begin;
select no_plan();
select effect_test.tool('short', '{"keep_result": "0s", "keep_key": "60s"}') \gset
select effect_test.begin(jsonb_agg(effect_test.e('k' || i, 't1', '{"tool": "short"}'))) from generate_series(1, 30) i \gset
select effect_test.complete(jsonb_agg(effect_test.e('k' || i, 't1', '{"tool": "short"}'))) from generate_series(1, 30) i \gset
commit;
select effect_test.advance('61 s') \gset
set lock_timeout = '200ms';
select effect_test.connect('purge') \gset
select dblink_exec('purge', 'begin') \gset
select effect_test.ask('purge', '(select to_jsonb(r) from effect.retain(20) r)') \gset
select is((select deleted from effect.retain(20)), 10, 'a second purge takes the rows that the first one left');
select dblink_exec('purge', 'rollback') \gset
select is((select count(*) from effect.past), 10::bigint, 'what a lost purge remembered is not there, nor are its rows gone');
select is((select deleted from effect.retain(20)), 20, 'they are forgotten by the next');
select is((select count(*) from effect.past), 30::bigint, 'and remembered once');
select effect_test.advance('31 d') \gset
select dblink_disconnect('purge'), effect_test.connect('purge') \gset
select dblink_exec('purge', 'begin') \gset
select effect_test.ask('purge', '(select to_jsonb(r) from effect.retain(20) r)') \gset
select effect.retain(20) \gset
select dblink_exec('purge', 'commit') \gset
select is((select count(*) from effect.past), 0::bigint, 'two that forget the past take different rows, and wait for none');
select dblink_disconnect('purge') \gset
select * from finish();
