-- duplicates: effects of one business key that may both have landed, and keys that ran again after they were forgotten: each that
-- was planted, and no other.
begin;
select no_plan();
select effect_test.set_now('2030-01-01 12:00:00+00') \gset
select effect_test.tool('pay', '{"business_window": "1h", "on_business_duplicate": "report", "keep_key": "2h"}'),
  effect_test.tool('hold', '{"business_window": "1h", "on_business_duplicate": "hold", "keep_key": "2h"}'),
  effect_test.tool('pay', '{"business_window": "1h", "on_business_duplicate": "report", "keep_key": "2h"}', 'other') \gset
create function pg_temp.pay(p_key text, p_business text, p_more jsonb default '{}') returns text language sql as $$
  select effect_test.begin_guarded(effect_test.e(p_key, 't1', jsonb_build_object('tool', 'pay', 'business', p_business, 'run', 'run of ' || p_key) || p_more)) ->> 'answer' $$;
create function pg_temp.done(p_key text, p_outcome text default 'succeeded', p_tool text default 'pay') returns text language sql as $$
  select effect_test.complete(effect_test.e(p_key, 't1', jsonb_build_object('tool', p_tool, 'outcome', p_outcome))) ->> 'answer' $$;
create function pg_temp.pairs(p_with jsonb default '{}') returns jsonb language sql as $$
  select effect_test.cells(effect_test.told('duplicates', jsonb_build_object('to', effect.now() + interval '1 s') || p_with), 'key', 'twin_key', 'how') $$;
create function pg_temp.found(p_with jsonb default '{}') returns text language sql as $$
  select effect_test.finds('duplicates', jsonb_build_object('to', effect.now() + interval '1 s') || p_with) $$;
create function pg_temp.nothing() returns void language sql as 'truncate effect.ledger, effect.event, effect.past';

select is(pg_temp.pairs(), '[]', 'of nothing: nothing');
-- no twins: one alone, another business key, another tool, what failed or was given back, before and after
select pg_temp.pay('alone', '1'), pg_temp.done('alone'), pg_temp.pay('other tool', '1', '{"ns": "other"}') \gset
select pg_temp.pay('failed', '2'), pg_temp.done('failed', 'failed'), pg_temp.pay('after failed', '2'), pg_temp.done('after failed') \gset
select pg_temp.pay('back', '3'), effect_test.release(effect_test.e('back', 't1', '{"tool": "pay"}')), pg_temp.pay('after back', '3') \gset
select pg_temp.pay('first', '4'), pg_temp.done('first'), effect_test.advance('1 min'), pg_temp.pay('second back', '4'),
  effect_test.release(effect_test.e('second back', 't1', '{"tool": "pay"}')), pg_temp.pay('second failed', '4'), pg_temp.done('second failed', 'failed') \gset
select pg_temp.pay('was open', '5'), pg_temp.pay('beside it', '5'), pg_temp.done('beside it'), effect_test.release(effect_test.e('was open', 't1', '{"tool": "pay"}')) \gset
select is(pg_temp.pairs(), '[]', 'what failed or was given back is no twin and has none; nor has what is of another business key or tool');
-- a pair, by its gap
select pg_temp.nothing() \gset
select pg_temp.pay('a', '1'), effect_test.advance('30 min'), pg_temp.done('a') \gset
select effect_test.advance('1 h'), pg_temp.pay('b', '1'), pg_temp.done('b') \gset
select is(pg_temp.pairs(), '[["b", "a", "business"]]', 'an hour after the end of the other: a pair');
select is(effect_test.only(effect_test.told('duplicates', jsonb_build_object('to', effect.now() + interval '1 s')) #> '{rows,0}', 'claimed_at', 'twin_claimed_at', 'gap_ms', 'run', 'outcome', 'again'),
  '{"claimed_at": "2030-01-01T13:31:00.000Z", "twin_claimed_at": "2030-01-01T12:01:00.000Z", "gap_ms": 3600000, "run": "run of b", "outcome": "succeeded"}', 'what is known of it');
select is((effect_test.told('duplicates', jsonb_build_object('to', effect.now() + interval '1 s')) #> '{findings,0}') - 'effect', jsonb_build_object('report', 'duplicates', 'code', 'duplicate',
  'level', 'warning', 'namespace', 'default', 'tool', 'pay', 'text', 'another effect of its business key was done 1 h before: both may have landed',
  'next', 'effectctl explain ' || effect.id('default', 'pay', 'b')), 'in words, and what to type');
select is(pg_temp.pairs('{"within_ms": 3599999}'), '[]', 'not within a moment less');
select effect_test.advance('1 h 1 ms'), pg_temp.pay('c', '1'), pg_temp.done('c') \gset
select is(pg_temp.pairs(), '[["b", "a", "business"]]', 'nor beyond the window of the policy');
select is(pg_temp.pairs('{"within_ms": 3600001}'), '[["c", "b", "business"], ["b", "a", "business"]]', 'but within more, where that is asked for: three of a kind are two pairs');
-- the window of the report
select is(pg_temp.pairs('{"from": "2030-01-01T13:31:00Z", "to": "2030-01-01T13:31:00.001Z"}'), '[["b", "a", "business"]]', 'who was claimed in it, at its beginning');
select is(pg_temp.pairs('{"from": "2030-01-01T12:31:00Z", "to": "2030-01-01T13:31:00Z"}'), '[]', 'not at its end');
select is(pg_temp.pairs('{"from": "2030-01-01T13:32:00Z"}'), '[]', 'nor before it');
-- open ones, and who ended last
select pg_temp.nothing() \gset
select pg_temp.pay('open', '1'), effect_test.advance('5 h'), pg_temp.pay('beside', '1') \gset
select is(effect_test.cells(effect_test.told('duplicates', jsonb_build_object('to', effect.now() + interval '1 s')), 'key', 'twin_key', 'gap_ms', 'outcome'), '[["beside", "open", 0, "pending"]]',
  'one that is open is a twin at any age');
select pg_temp.done('beside'), effect_test.advance('2 h'), pg_temp.pay('third', '1') \gset
select is(pg_temp.pairs(), '[["third", "open", "business"], ["beside", "open", "business"]]', 'the twin is who has not ended, not who was claimed last');
select effect_test.unknown(effect_test.e('third', 't1', '{"tool": "pay"}')), effect_test.release(effect_test.e('open', 't1', '{"tool": "pay"}')) \gset
select is(pg_temp.pairs(), '[]', 'when it was given back, it was none');
-- meant
select pg_temp.nothing() \gset
select pg_temp.pay('a', '1', '{"tool": "hold"}'), pg_temp.done('a', 'succeeded', 'hold') \gset
select is(pg_temp.pay('b', '1', '{"tool": "hold"}'), 'held', 'a guard holds');
select is(pg_temp.pairs(), '[]', 'what was held did not run');
select is(pg_temp.pay('b', '1', '{"tool": "hold", "again": "goodwill: the second of, two"}'), 'run', 'one that is meant');
select is(effect_test.cells(effect_test.told('duplicates', jsonb_build_object('to', effect.now() + interval '1 s')), 'key', 'twin_key', 'again'), '[["b", "a", "goodwill: the second of, two"]]', 'is told with its reason');
select is(pg_temp.found(), null, 'and is no finding');
select pg_temp.pay('c', '2'), effect_test.advance('1 s'), pg_temp.pay('d', '2') \gset
select is(effect_test.cells(effect_test.told('duplicates', jsonb_build_object('to', effect.now() + interval '1 s')), 'key', 'again'), '[["d", null], ["b", "goodwill: the second of, two"]]', 'what was not meant stands first');
select is(pg_temp.found(), 'pay duplicate', 'and alone is one');
-- across expiry
select pg_temp.nothing() \gset
select pg_temp.pay('a', '1'), pg_temp.done('a'), effect_test.advance('2 h 1 s') \gset
select effect.retain(100), effect.retain(100) \gset
select is((select count(*) from effect.ledger), 0::bigint, 'it is forgotten');
select effect_test.advance('1 h'), pg_temp.pay('b', '1'), pg_temp.done('b') \gset
select is(effect_test.cells(effect_test.told('duplicates', jsonb_build_object('to', effect.now() + interval '1 s')), 'key', 'twin', 'how', 'gap_ms'),
  jsonb_build_array(jsonb_build_array('b', effect.id('default', 'pay', 'a'), 'business_expired', 10801000)), 'within the window after it was forgotten: its twin is known');
update effect.past set forgotten_at = forgotten_at - interval '1 ms';
select is(pg_temp.pairs(), '[]', 'not beyond it');
select is(jsonb_build_array(pg_temp.pairs('{"within_ms": 10801000}') #> '{0,2}', pg_temp.pairs('{"within_ms": 10800999}')), '["business_expired", []]', 'where a gap is asked for, that is from its end');
select is(effect_test.told('duplicates', jsonb_build_object('to', effect.now() + interval '1 s', 'within_ms', 10801000)) #>> '{findings,0,text}',
  'another effect of its business key was done 3 h before and was forgotten: both may have landed', 'in words');
select pg_temp.pay('c', '1'), pg_temp.done('c'), effect_test.advance('2 h 1 s') \gset
select effect.retain(100), effect.retain(100) \gset
select is(effect_test.cells(effect_test.told('duplicates'), 'twin', 'how', 'outcome'), jsonb_build_array(jsonb_build_array(effect.id('default', 'pay', 'b'), 'business', 'succeeded')),
  'two that are both forgotten now, and were not when the second was claimed');
select is(pg_temp.found(), 'pay duplicate', 'are found');
select is(effect_test.told('duplicates') #> '{findings,0}' -> 'next', null, 'with no story to read');
select ok(effect_test.told('duplicates') #>> '{findings,0,text}' ~ 'it is forgotten by now, and its effect id is what the provider knows it by', 'but what to look for');
-- the same key again
select pg_temp.nothing() \gset
select effect_test.tool('short', '{"keep_key": "60s", "keep_result": "0s"}') \gset
select effect_test.begin(effect_test.e('k', 't1', '{"tool": "short"}')), pg_temp.done('k', 'succeeded', 'short'), effect_test.advance('61 s') \gset
select effect.retain(100) \gset
select is(pg_temp.pairs(), '[]', 'a key that was forgotten, and not run again');
select effect_test.begin(effect_test.e('k', 't2', '{"tool": "short"}')) \gset
select is(effect_test.cells(effect_test.told('duplicates', jsonb_build_object('to', effect.now() + interval '1 s', 'within_ms', 1)), 'key', 'twin_key', 'how', 'gap_ms', 'outcome'),
  '[["k", "k", "key_expired", 61000, "pending"]]', 'run again: found, however long after');
select is(effect_test.told('duplicates', jsonb_build_object('to', effect.now() + interval '1 s')) #>> '{findings,0,text}',
  'the same key ran again 1 min after it was done, when it was forgotten: both may have landed', 'in words');
select is(pg_temp.found(), 'short key_expired', 'by its code');
select effect_test.release(effect_test.e('k', 't2', '{"tool": "short"}')) \gset
select is(pg_temp.pairs(), '[]', 'given back: it did not land twice');
select effect_test.begin(effect_test.e('k', 't3', '{"tool": "short"}')), effect_test.complete(effect_test.e('k', 't3', '{"tool": "short"}')), effect_test.advance('61 s') \gset
select effect_test.begin(effect_test.e('k', 't4', '{"tool": "short"}')), effect_test.complete(effect_test.e('k', 't4', '{"tool": "short"}')) \gset
select is(effect_test.cells(effect_test.told('duplicates', jsonb_build_object('to', effect.now() + interval '1 s')), 'how', 'gap_ms'), '[["key_expired", 61000], ["key_expired", 61000]]', 'three lives are two pairs');
select is(effect_test.told('duplicates', jsonb_build_object('to', effect.now() + interval '1 s', 'limit', 1)) -> 'n', '2', 'a limit cuts rows, not what there is of them');
select effect_test.tool('none', '{"keep_key": "0s", "keep_result": "0s"}') \gset
select effect_test.begin(effect_test.e('n', 't1', '{"tool": "none"}')), pg_temp.done('n', 'succeeded', 'none'), effect_test.advance('1 s'),
  effect_test.begin(effect_test.e('n', 't2', '{"tool": "none"}')) \gset
select is(pg_temp.pairs('{"tool": "none"}'), '[]', 'a tool that is to remember nothing has none');
-- nor does a former life of its own hide another effect from whoever asks for a wider gap than such a policy may have
select effect_test.tool('none', '{"keep_key": "0s", "keep_result": "0s", "business_window": "0s", "on_business_duplicate": "report"}') \gset
select pg_temp.nothing() \gset
select pg_temp.pay('a', '1', '{"tool": "none"}'), pg_temp.done('a', 'succeeded', 'none'), effect_test.advance('1 s'),
  pg_temp.pay('b', '1', '{"tool": "none"}'), pg_temp.done('b', 'succeeded', 'none'), effect_test.advance('1 s'),
  pg_temp.pay('b', '1', jsonb_build_object('tool', 'none', 'token', gen_random_uuid())) \gset
select is(effect_test.cells(effect_test.told('duplicates', jsonb_build_object('to', effect.now() + interval '1 s', 'tool', 'none', 'within_ms', 60000)), 'key', 'twin', 'gap_ms'),
  jsonb_build_array(jsonb_build_array('b', effect.id('default', 'none', 'a'), 2000), jsonb_build_array('b', effect.id('default', 'none', 'a'), 1000)),
  'of a tool that is to remember nothing, too: each life that has a twin');
-- one of both kinds is one row
select pg_temp.nothing() \gset
select pg_temp.pay('k', '1'), pg_temp.done('k'), effect_test.advance('2 h 1 s'), pg_temp.pay('k', '1', jsonb_build_object('token', gen_random_uuid())) \gset
select is(pg_temp.pairs('{"within_ms": 86400000}'), '[["k", "k", "key_expired"]]', 'a key of a business key, again: once');
-- whose
select pg_temp.nothing() \gset
select pg_temp.pay('a', '1', '{"ns": "other"}'), effect_test.advance('1 s'), pg_temp.pay('b', '1', '{"ns": "other"}'), pg_temp.pay(E'\'"; rm -rf ~', '1'), pg_temp.pay(E'$(reboot) \u202e', '1') \gset
select is(pg_temp.pairs('{"scope": "other"}'), '[["b", "a", "business"]]', 'a namespace sees its own');
select is(pg_temp.pairs('{"scope": "other", "ns": "default"}'), '[]', 'and none that it names');
select is(jsonb_array_length(pg_temp.pairs('{"tool": "pay"}')), 2, 'who has all sees all');
select ok(pg_temp.pairs('{"ns": "default"}') #>> '{0,0}' = any (array[E'\'"; rm -rf ~', E'$(reboot) \u202e']), 'keys are as they were given');
select * from finish();
rollback;
