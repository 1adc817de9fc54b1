-- A complete that belongs to nobody's claim is kept, bounded, and changes nothing (promise 3; case 10).
begin;
select no_plan();
-- where no policy has secret results, nobody need look before one is kept
delete from effect.tool where result_secret is not null;
select effect_test.begin(effect_test.e('a', 't1')) \gset
select effect_test.row('a') as before \gset
select is(effect_test.only(effect_test.complete(effect_test.e('a', 'nobody', '{"result": "{\"r\":9}"}')), 'answer', 'state',
  'attempt'),
  '{"answer": "not_owner", "state": "pending", "attempt": 1}', 'a token that nobody has: not_owner');
select is((select e.kind || ' ' || e.incident || ' ' || e.result || ' ' || e.outcome from effect.event e),
  'orphan true {"r":9} succeeded', 'kept with its result as an incident');
select is(effect_test.row('a'), :'before'::jsonb, 'the claim stands');
-- an orphan's token does not become known by being kept
select is(effect_test.complete(effect_test.e('a', 'nobody')) ->> 'answer', 'not_owner', 'again: still nobody''s');
select is(effect_test.release(effect_test.e('a', 'nobody')) ->> 'answer', 'not_owner', 'nor may it release');
select is(effect_test.complete(effect_test.e('never', 't1', '{"result": "{\"r\":1}"}')) - 'shape', '{"answer": "not_found"}',
  'no such effect: not_found');
select is((select e.kind || ' ' || e.incident || ' ' || e.result from effect.event e
  where e.effect = effect.id('default', 'probed', 'never')), 'orphan true {"r":1}', 'kept, too');
-- a row that is gone: a late result is still kept
select effect_test.begin(effect_test.e('b', 't1')) \gset
select effect_test.complete(effect_test.e('b', 't1')) \gset
select effect_test.advance('31 d') \gset
select effect.retain(100) \gset
select effect.retain(100) \gset
select is(effect_test.row('b'), null, 'the key is forgotten');
select is(effect_test.complete(effect_test.e('b', 't1', '{"result": "{\"late\":1}"}')) ->> 'answer', 'not_found',
  'its complete: not_found');
select is((select e.result from effect.event e where e.effect = effect.id('default', 'probed', 'b') and e.kind = 'orphan'),
  '{"late":1}', 'its result is kept');
-- bounded per minute
select count(effect_test.complete(effect_test.e('flood' || i, 't1'))) from generate_series(1, 300) i \gset f_
select ok((select count(*) from effect.event e where e.kind = 'orphan') < 150, 'a flood of them is bounded');
select effect_test.advance('2 min') \gset
select effect_test.complete(effect_test.e('later', 't1')) \gset
select is((select count(*) from effect.event e where e.effect = effect.id('default', 'probed', 'later')), 1::bigint,
  'a minute later they are kept again');
select * from finish();
rollback;
