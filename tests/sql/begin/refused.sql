-- A refused begin leaves an event, at most one a minute for each effect and decision.
begin;
select no_plan();
select effect_test.begin(effect_test.e('a', 't1')) \gset
select count(effect_test.begin(effect_test.e('a', 't', '{"fp": "other"}'))) from generate_series(1, 5) \gset
select is(effect_test.kinds('a'), 'refused', 'five mismatches within a minute leave one event');
select is((select e.reason || ' ' || e.attempt || ' ' || e.incident from effect.event e where e.kind = 'refused'),
  'mismatch 1 false',
  'it names the decision and the attempt');
select is((select e.token from effect.event e where e.kind = 'refused'), null, 'and holds no token');
select effect_test.unknown(effect_test.e('a', 't1')) \gset
select count(effect_test.begin(effect_test.e('a', 't'))) from generate_series(1, 5) \gset
select is(effect_test.kinds('a'), 'refused,unknown,refused', 'another decision leaves its own');
select effect_test.advance('61 s') \gset
select count(effect_test.begin(effect_test.e('a', 't'))) from generate_series(1, 5) \gset
select is(effect_test.kinds('a'), 'refused,unknown,refused,refused', 'and again a minute later');
select effect_test.begin(effect_test.e('b', 't1')) \gset
select effect_test.begin(jsonb_agg(effect_test.e('b', 'x' || i, '{"fp": "other"}'))) from generate_series(1, 5) i \gset
select is(effect_test.kinds('b'), 'refused', 'five in one batch leave one event');

-- a mismatch says which of the values that are kept differ, never what they are, and which run asked
create function pg_temp.mismatch(p_key text, p_kept text, p_other text) returns text language plpgsql as $$
begin
  perform effect_test.begin(effect_test.e(p_key, 't1', jsonb_build_object('kept', p_kept)));
  perform effect_test.begin(effect_test.e(p_key, 't2', jsonb_build_object('kept', p_other, 'fp', 'other', 'run', 'run of ' || p_key)));
  return (select e.reason || ' by ' || e.detail from effect.event e where e.effect = effect.id('default', 'probed', p_key));
end
$$;
select is(pg_temp.mismatch('c1', '{"/amount":"12.50","/line":3,"/order":7}', '{"/amount":"12.51","/line":4,"/order":7}'),
  'mismatch: /amount, /line by run of c1', 'pointers, in one order, of what differs');
select is(pg_temp.mismatch('c2', '{"/amount":1,"/gone":2}', '{"/amount":"1","/new":null}'), 'mismatch: /amount, /gone, /new by run of c2',
  'a value of another type differs, and one that is on one side only');
select is(pg_temp.mismatch('c3', '{"/memo":"a\u0000b","/n":9007199254740993}', '{"/memo":"a\u0000c","/n":9007199254740992}'),
  'mismatch: /memo, /n by run of c3', 'a NUL is as good as any, and digits are not rounded');
select is(effect.differs(f, t), d, format('%s against %s: %s', f, t, coalesce(d, 'nothing'))) from (values
  ('{"/m":"\u0000"}', '{"/m":"\u0000"}', null), ('{"/m":"\u0000\u0000"}', '{"/m":"\u0000"}', '/m'),
  ('{"/m":"\\\u0000"}', '{"/m":"\\\\u0000"}', '/m'), ('{"/m":"\\\\u0000"}', '{"/m":"\\\\u0000"}', null),
  ('{"/m":"\u0000"}', '{"/m":"' || U&'\FFFE' || '"}', '/m'), ('{"/m":"\u0000"}', '{"/m":"\\u0000"}', '/m')) v(f, t, d);
select is(pg_temp.mismatch('c4', '{"/a":{"x":[1,2]}}', '{"/a":{"x":[1,2]}}'), 'mismatch by run of c4', 'what is not kept differs: nothing is said');
select is(pg_temp.mismatch('c5', null, null), 'mismatch by run of c5', 'nothing is kept: nothing is said');
select is(pg_temp.mismatch('c6', '{"/a":1}', 'no JSON'), 'mismatch by run of c6', 'what is no JSON hurts nobody');
select is(pg_temp.mismatch('c7', '{"/a\ud800":1}', '{"/a":1}'), 'mismatch by run of c7', 'nor does a name that no text can be');
select is(pg_temp.mismatch('c8', repeat('[', 100000), '{"/a":1}'), 'mismatch by run of c8', 'nor what is too deep');
select is(effect.differs('{"/m":"' || repeat(E'\\u0000', 6000) || '"}', '{"/m":1}') || '/' ||
  coalesce(effect.differs('{"/m":"' || repeat(E'\\u0000', 12000) || '"}', '{"/m":1}'), 'nothing'), '/m/nothing',
  'of many NULs nothing is said, as a begin waits for it');
select cmp_ok(length(pg_temp.mismatch('c9', (select json_object_agg('/' || i, i)::text from generate_series(1, 5000) i), '{}')), '<', 600,
  'nor what is endless');
select effect_test.begin(effect_test.e('c1', 't3', '{"kept": "{\"/other\":1}", "fp": "third"}')) \gset
select is(effect_test.kinds('c1'), 'refused', 'one a minute, whatever differs');
select effect_test.advance('61 s') \gset
select effect_test.begin(effect_test.e('c1', 't3', '{"kept": "{\"/other\":1}", "fp": "third"}')) \gset
select is(effect_test.kinds('c1'), 'refused,refused', 'and the next a minute later');
select is(effect_test.get('{"key": "c1"}') ->> 'events' ~ '12.5', false, 'no value is told');
select * from finish();
rollback;
