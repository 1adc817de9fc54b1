-- churn: one run that used many keys for one business key, granted or held.
begin;
select no_plan();
select effect_test.set_now('2030-01-01 12:00:00+00') \gset
select effect_test.tool('pay', '{"business_key": ["/order", "/amount"], "keep": ["/order", "/amount"], "business_window": "1h", "on_business_duplicate": "report", "keep_key": "2h", "keep_result": "0s"}'),
  effect_test.tool('hold', '{"business_key": ["/order", "/amount"], "business_window": "1h", "on_business_duplicate": "hold", "keep_key": "2h", "keep_result": "0s"}'),
  effect_test.tool('pay', '{"business_window": "1h", "on_business_duplicate": "report"}', 'other') \gset
create function pg_temp.pay(p_key text, p_business text, p_run text, p_more jsonb default '{}') returns text language sql as $$
  select effect_test.begin_guarded(effect_test.e(p_key, 't1', jsonb_build_object('tool', 'pay', 'business', p_business, 'run', p_run) || p_more)) ->> 'answer' $$;
create function pg_temp.report(p_with jsonb default '{}') returns jsonb language sql as $$
  select effect_test.told('churn', jsonb_build_object('to', effect.now() + interval '1 s') || p_with) $$;
select is(effect_test.cells(pg_temp.report(), 'run'), '[]', 'of nothing: nothing');
select count(concat(pg_temp.pay('k' || i, '1', 'run 1'), effect_test.advance('1 s'))) from generate_series(1, 2) i \gset
select count(concat(pg_temp.pay('l' || i, '1', 'run ' || i), pg_temp.pay('m' || i, 'b' || i, 'run 1'), pg_temp.pay('n' || i, '1', 'run 1', '{"ns": "other"}'))) from generate_series(2, 3) i \gset
select is(effect_test.cells(pg_temp.report(), 'run'), '[]', 'two keys; of other runs, other business keys, another tool');
select count(concat(pg_temp.pay('o' || i, '9', null))) from generate_series(1, 5) i \gset
select is(effect_test.cells(pg_temp.report(), 'run'), '[]', 'without a run nobody knows');
select pg_temp.pay('k3', '1', 'run 1') \gset
select is(effect_test.cells(pg_temp.report(), 'tool', 'run', 'n_keys', 'granted', 'keys', 'first_at', 'last_at', 'business', 'effect'), jsonb_build_array(jsonb_build_array('pay', 'run 1', 3, 3, '["k1", "k2", "k3"]'::jsonb,
  '2030-01-01T12:00:00.000Z', '2030-01-01T12:00:02.000Z', replace(effect_test.uid('business 1')::text, '-', ''), effect.id('default', 'pay', 'k3'))), 'three keys');
select is((pg_temp.report() #> '{findings,0}') - 'effect' - 'report' - 'namespace' - 'tool', jsonb_build_object('code', 'key_churn', 'level', 'warning',
  'text', 'one run used 3 keys for one business key in 2 s, 3 of them granted: its keys are new where the effect is not',
  'next', 'effectctl explain ' || effect.id('default', 'pay', 'k3')), 'in words, and what to type');
select is(effect_test.cells(pg_temp.report('{"keys_min": 4}'), 'run'), '[]', 'not four');
select is(effect_test.cells(pg_temp.report('{"keys_min": 2, "ns": "default"}'), 'run'), '[["run 1"]]', 'and two, where that is asked for');
-- whatever became of it; a key that is run again is one
select effect_test.release(effect_test.e('k1', 't1', '{"tool": "pay"}')), effect_test.complete(effect_test.e('k2', 't1', '{"tool": "pay", "outcome": "failed"}')),
  effect_test.advance('1 s'), pg_temp.pay('k1', '1', 'run 1', jsonb_build_object('token', gen_random_uuid())) \gset
select is(effect_test.cells(pg_temp.report(), 'n_keys', 'keys'), '[[3, ["k2", "k3", "k1"]]]', 'given back, refused, run again: still three');
select count(concat(pg_temp.pay('k' || i, '1', 'run 1'), effect_test.advance('1 s'))) from generate_series(4, 9) i \gset
select is(effect_test.cells(pg_temp.report(), 'n_keys', 'keys'), '[[9, ["k2", "k3", "k1", "k4", "k5"]]]', 'of many keys five are told');
-- the window
select is(effect_test.cells(pg_temp.report('{"to": "2030-01-01T12:00:03Z", "keys_min": 2, "ns": "default"}'), 'keys'), '[[["k2", "k3"]]]', 'from its beginning on, until before its end') ;
-- held
truncate effect.ledger, effect.event;
select pg_temp.pay('first', '1', 'run 1', '{"tool": "hold"}') \gset
select count(concat(pg_temp.pay('h' || i, '1', 'run 1', '{"tool": "hold"}'), effect_test.advance('61 s'))) from generate_series(1, 2) i \gset
select is(effect_test.cells(pg_temp.report(), 'n_keys', 'granted', 'keys', 'effect'), jsonb_build_array(jsonb_build_array(3, 1, '["first", "h1", "h2"]'::jsonb, effect.id('default', 'hold', 'first'))),
  'keys that were held count, and the effect is one that there is');
select pg_temp.pay('h2', '1', 'run 1', '{"tool": "hold", "again": "meant"}') \gset
select is(effect_test.cells(pg_temp.report(), 'n_keys', 'granted'), '[[3, 2]]', 'one that was held and then granted is one');
truncate effect.ledger, effect.event;
select pg_temp.pay('first', '1', 'run 0', '{"tool": "hold"}') \gset
select count(concat(pg_temp.pay('h' || i, '1', 'run ' || i % 2, '{"tool": "hold"}'), effect_test.advance('61 s'))) from generate_series(1, 6) i \gset
select is(effect_test.cells(pg_temp.report(), 'run', 'n_keys', 'granted', 'keys'), '[["run 0", 4, 1, ["first", "h2", "h4", "h6"]], ["run 1", 3, 0, ["h1", "h3", "h5"]]]', 'each run by itself, also one that was granted none');
select is(pg_temp.report() #>> '{findings,1,next}', 'effectctl explain ' || effect.id('default', 'hold', 'first'), 'which is explained by the twin, as what was held has no row');
select effect_test.complete(effect_test.e('first', 't1', '{"tool": "hold"}')), effect_test.advance('2 h'), effect.retain(100) \gset
select is(effect_test.row('first', 'hold'), null, 'the twin is gone');
select is(effect_test.cells(pg_temp.report(), 'run', 'n_keys'), '[["run 0", 3], ["run 1", 3]]', 'what was held against it is known');
select is(pg_temp.report() #> '{findings,1,next}', null, 'and there is nothing left to explain');
-- what is kept of it
truncate effect.ledger, effect.event;
select count(concat(pg_temp.pay('a' || i, '1', 'r', '{"kept": "{\"/amount\":\"12.50\",\"/order\":1042}"}'), pg_temp.pay('b' || i, '2', 'r', '{"kept": "{\"/order\":1042}"}'),
  pg_temp.pay('c' || i, '3', 'r', '{"kept": "{\"/amount\":\"\\u0000\",\"/order\":1}"}'))) from generate_series(1, 3) i \gset
select is(jsonb_agg(b order by b), jsonb_build_array('1042:12.50') || (select jsonb_agg(x order by x) from unnest(array[replace(effect_test.uid('business 2')::text, '-', ''), replace(effect_test.uid('business 3')::text, '-', '')]) x),
  'the values where all of them are kept, else the hash') from (select jsonb_array_elements(effect_test.cells(pg_temp.report(), 'business')) ->> 0 as b) x;
-- whose
select count(concat(pg_temp.pay('n' || i, '1', E'\'"; rm -rf ~ \u202e', '{"ns": "other"}'))) from generate_series(1, 3) i \gset
select is(effect_test.cells(pg_temp.report('{"scope": "other"}'), 'run'), jsonb_build_array(jsonb_build_array(E'\'"; rm -rf ~ \u202e')), 'a namespace sees its own, names as they were given');
select is(effect_test.cells(pg_temp.report('{"scope": "other", "ns": "default"}'), 'run'), '[]', 'and none that it names');
select is(pg_temp.report('{"limit": 1}') -> 'n', '4', 'a limit cuts rows, not what there is of them');
select * from finish();
rollback;
