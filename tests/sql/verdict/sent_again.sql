-- A verdict whose answer was lost with its connection is sent again: it counts once, and leaves one event.
begin;
select no_plan();
select effect_test.tool('hasty', '{"settle": "0s", "absent_needed": 2, "probe_backoff": ["1s"]}') \gset
create function pg_temp.absent(p_no int) returns text language sql as $$
  select effect_test.verdict(jsonb_build_object('key', 'a', 'tool', 'hasty', 'verdict', 'absent', 'probe_no', p_no)) ->> 'state'
$$;
select effect_test.begin(effect_test.e('a', 't1', '{"tool": "hasty"}')) \gset
select effect_test.unknown(effect_test.e('a', 't1', '{"tool": "hasty"}')) \gset
select effect_test.advance('1 s') \gset
select effect_test.sweep() \gset
select is(pg_temp.absent(1), 'unknown', 'the first absent');
select is(pg_temp.absent(1), 'unknown', 'sent again, it is no second one');
select is((effect_test.row('a', 'hasty') ->> 'absent_n')::int, 1, 'one is counted');
select effect_test.advance('3 s') \gset
select effect_test.sweep() \gset
select is(pg_temp.absent(2), 'released', 'the second probe releases');
select is(pg_temp.absent(2), 'released', 'sent again, it changes nothing');

select effect_test.begin(effect_test.e('b', 't1')) \gset
select effect_test.unknown(effect_test.e('b', 't1')) \gset
select effect_test.sweep() \gset
select is((select jsonb_agg(distinct effect_test.verdict('{"key": "b", "verdict": "landed", "result": "1"}') ->> 'state')
  from generate_series(1, 3)), '["done"]', 'landed, three times');
select is(effect_test.kinds('b'), 'unknown,verdict', 'is one event');
select is((select jsonb_agg(distinct effect_test.verdict('{"key": "b", "verdict": "landed", "result": "2"}') ->> 'answer')
  from generate_series(1, 2)), '["event"]', 'landed with another result, twice');
select is((select jsonb_agg(e.result) from effect.event e
  where e.effect = effect_test.id_of(effect_test.e('b', '')) and e.result is not null), '["2"]', 'is kept beside it, once');
select effect_test.begin(effect_test.e('c', 't1')) \gset
select effect_test.complete(effect_test.e('c', 't1', '{"result": "1"}')) \gset
select effect_test.verdict('{"key": "c", "verdict": "landed", "result": "2"}') \gset
select effect_test.verdict('{"key": "c", "verdict": "landed", "result": "3"}') \gset
select is((select jsonb_agg(e.result order by e.id) from effect.event e
  where e.effect = effect_test.id_of(effect_test.e('c', ''))), '["2", "3"]', 'whatever probes found beside a record is kept');
select is(effect_test.verdict('{"key": "b", "verdict": "failed"}') ->> 'answer', 'event', 'another word of the provider');
select is(effect_test.kinds('b'), 'unknown,verdict,verdict,verdict!', 'is kept beside it, an incident');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
