-- A rival's open transaction never makes anybody wait, and never its neighbours (case 3).
select no_plan();
create function pg_temp.told(p jsonb) returns text language sql as
  $$ select string_agg(coalesce(x ->> 'answer', '-'), ' ' order by i) from jsonb_array_elements(p) with ordinality e(x, i) $$;
-- nothing here may wait for a lock at all
set lock_timeout = '200ms';
select effect_test.connect('rival') \gset
select dblink_exec('rival', 'begin') \gset
select effect_test.ask('rival', $$ effect_test.begin(effect_test.e('k', 't1')) $$) \gset
select is(effect_test.begin(effect_test.e('k', 't2')) - 'state', '{"answer": "busy"}',
  'the rival''s insert is not committed: busy, nothing known of it');
select is(effect_test.begin(effect_test.e('k', 't2', '{"fp": "other"}')) ->> 'answer', 'busy', 'nor can a mismatch be known');
select is(pg_temp.told(effect_test.begin(jsonb_build_array(effect_test.e('n1', 'a'), effect_test.e('k', 'b'),
  effect_test.e('n2', 'c')))),
  'run busy run', 'its neighbours are served');
select dblink_exec('rival', 'commit') \gset
select is(effect_test.only(effect_test.begin(effect_test.e('k', 't2')), 'answer', 'attempt', 'lease_until'),
  jsonb_build_object('answer', 'busy', 'attempt', 1, 'lease_until', effect.now() + interval '60 s'),
    'committed: busy, with its lease');
select is(effect_test.begin(effect_test.e('k', 't2', '{"fp": "other"}')) ->> 'answer', 'mismatch', 'and a mismatch is one');

select dblink_exec('rival', 'begin') \gset
select effect_test.ask('rival', $$ effect_test.begin(effect_test.e('k2', 't1')) $$) \gset
select dblink_exec('rival', 'rollback') \gset
select is(effect_test.begin(effect_test.e('k2', 't2')) ->> 'answer', 'run', 'rolled back: run');

-- rows locked by somebody: retry for what must change them, plain reads for the rest
select effect_test.begin(jsonb_agg(effect_test.e(k, 't1')))
  from unnest(array['pending', 'released', 'done', 'unknown', 'over', 'n']) k \gset
select effect_test.release(effect_test.e('released', 't1')) \gset
select effect_test.complete(effect_test.e('done', 't1')) \gset
select effect_test.unknown(effect_test.e('unknown', 't1')) \gset
update effect.ledger set lease_until = effect.now() - interval '1 s', due_at = effect.now() - interval '1 s' where key = 'over';
select dblink_exec('rival', 'begin') \gset
select dblink_exec('rival',
  $$ update effect.ledger set owner = owner where key in ('pending', 'released', 'done', 'unknown', 'over') $$) \gset
select is(pg_temp.told(effect_test.begin(jsonb_build_array(effect_test.e('n3', 'x'), effect_test.e('released', 'x'),
  effect_test.e('n4', 'x')))),
  'run retry run', 'a released row that is locked: retry, its neighbours run');
select is(pg_temp.told(effect_test.begin(jsonb_build_array(effect_test.e('pending', 'x'), effect_test.e('done', 'x'),
  effect_test.e('unknown', 'x'),
    effect_test.e('pending', 'x', '{"fp": "other"}'), effect_test.e('done', 'x', '{"fp": "other"}'),
      effect_test.e('over', 'x')))),
  'busy replay unknown mismatch mismatch retry', 'busy, replay, unknown and mismatch are plain reads');
select is(pg_temp.told(effect_test.complete(jsonb_build_array(effect_test.e('pending', 't1'), effect_test.e('n', 't1')))),
  'retry ok', 'complete: retry');
select is(pg_temp.told(effect_test.release(jsonb_build_array(effect_test.e('pending', 't1'), effect_test.e('n3', 'x')))),
  'retry ok', 'release: retry');
select is(pg_temp.told(effect_test.unknown(jsonb_build_array(effect_test.e('pending', 't1'), effect_test.e('n4', 'x')))),
  'retry ok', 'unknown: retry');
select effect_test.begin(effect_test.e('n5', 'x')) \gset
select is(pg_temp.told(effect_test.extend(jsonb_build_array(effect_test.e('pending', 't1'), effect_test.e('n5', 'x')))),
  'retry ok', 'extend: retry');
select is(pg_temp.told(effect_test.verdict('[{"key": "unknown", "verdict": "landed"}, {"key": "n4", "verdict": "landed"}]')),
  'retry ok', 'verdict: retry');
select effect_test.unknown(effect_test.e('n5', 'x')) \gset
select is(pg_temp.told(effect_test.resolve('[{"key": "unknown", "verdict": "landed"}, {"key": "n5", "verdict": "landed"}]')),
  'retry ok', 'resolve: retry');
select is((select count(*) from jsonb_array_elements(effect_test.sweep()) t where t ->> 'key' in ('over', 'unknown')), 0::bigint,
  'sweep passes them over');
select dblink_exec('rival', 'rollback') \gset
select is(pg_temp.told(effect_test.complete(jsonb_build_array(effect_test.e('pending', 't1')))), 'ok', 'asked again: ok');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
