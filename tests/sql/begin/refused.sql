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
select * from finish();
rollback;
