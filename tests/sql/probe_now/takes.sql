-- A row taken out of turn: one probe under way for an effect, whoever asks; at most one on demand for a caller, and a pause
-- between two. Policy of `probed`: back-off from 2 s, time-out 10 s, settle 30 s, two absents, 15 min to the deadline.
begin;
select no_plan();
create function pg_temp.now_(p_key text, p_waited_ms int default 0, p_tool text default 'probed', p_scope text default null) returns jsonb
language sql as $$
  select jsonb_strip_nulls(to_jsonb(n)) from effect.probe_now(array[effect.id('default', p_tool, p_key)], array[p_scope], array[p_waited_ms]) n
$$;
create function pg_temp.says(p_key text, p_waited_ms int default 0, p_tool text default 'probed') returns text language sql as $$
  select concat_ws(' ', n ->> 'answer', n ->> 'in_ms') from pg_temp.now_(p_key, p_waited_ms, p_tool) n
$$;
create function pg_temp.unknown(p_key text, p_tool text default 'probed') returns void language plpgsql as $$
begin
  perform effect_test.begin(effect_test.e(p_key, 't1', jsonb_build_object('tool', p_tool)));
  perform effect_test.unknown(effect_test.e(p_key, 't1', jsonb_build_object('tool', p_tool)));
end
$$;
create function pg_temp.verdict(p_key text, p_verdict text) returns text language sql as $$
  select a ->> 'answer' || ' ' || (a ->> 'state')
    from effect_test.verdict(jsonb_build_object('key', p_key, 'verdict', p_verdict)) a
$$;
create function pg_temp.due_in(p_key text) returns interval language sql as $$
  select (effect_test.row(p_key) ->> 'due_at')::timestamptz - effect.now() $$;

-- what is taken, and how
select pg_temp.unknown('a') \gset
select is(effect_test.only(pg_temp.now_('a'), 'answer', 'namespace', 'tool', 'key', 'attempt', 'probe_no', 'probe_timeout_ms', 'state'),
  '{"answer": "probe", "namespace": "default", "tool": "probed", "key": "a", "attempt": 1, "probe_no": 1, "probe_timeout_ms": 10000,
    "state": "unknown"}', 'an unknown row is taken, with all that its probe must know');
select ok(pg_temp.due_in('a') between '17 s' and '18 s', 'it is due again when the word could come no more: whoever took it may die');
select is(effect_test.row('a') -> 'tries', '0', 'which is no step of the back-off');
select is(effect_test.kinds('a'), 'unknown', 'and no event');
select is(pg_temp.says('a'), 'wait 15000', 'a second caller waits for the word of the first one''s probe');
select is(pg_temp.says('a', null), 'wait 15000', 'so does a person');
select is(effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'probed', 'a')), null::jsonb, 'and no sweep takes it');
select effect_test.advance('14.999 s') \gset
select is(pg_temp.says('a'), 'wait 1', 'until the word can come no more');
select effect_test.advance('1 ms') \gset
select is(effect_test.only(pg_temp.now_('a'), 'answer', 'probe_no'), '{"answer": "probe", "probe_no": 2}', 'then it is taken again');
select is(effect_test.verdict('{"key": "a", "probe_no": 1, "verdict": "absent"}') ->> 'answer', 'event', 'the word of the first comes too late to count');
select is(pg_temp.says('a'), 'wait 15000', 'and the second is still under way');

-- a sweep's probe is under way
select pg_temp.unknown('b') \gset
select effect_test.sweep() \gset
select is(pg_temp.says('b'), 'wait 15000', 'while a sweep''s probe is under way, a caller waits for it');
select effect_test.advance('3 s') \gset
select is(pg_temp.verdict('b', 'inconclusive'), 'ok unknown', 'its word is that nothing can be said');
select is(pg_temp.says('b', 3000), 'wait', 'to a caller who came before it was started: no more for him');
select is(pg_temp.says('b', 2999), 'wait 2000', 'one who came later has his own coming, but not at once');
select effect_test.advance('1999 ms') \gset
select is(pg_temp.says('b', 4998), 'wait 1', 'not before the pause is over');
select effect_test.advance('1 ms') \gset
select is(pg_temp.says('b', 4999), 'probe', 'then it is his');
select is(pg_temp.verdict('b', 'inconclusive'), 'ok unknown', 'whatever it brings');
select is(pg_temp.says('b', 4999), 'wait', 'is all that he gets');
select is(pg_temp.says('b', null), 'probe', 'a person is not held back by the pause');

-- many on demand: the back-off of the sweeps stays where it was
select pg_temp.unknown('c') \gset
select effect_test.sweep() \gset
select pg_temp.verdict('c', 'inconclusive') \gset
create function pg_temp.ask_often(p_key text) returns int language plpgsql as $$
declare
  v_n int := 0;
begin
  for i in 1 .. 20 loop
    perform effect_test.advance('2.5 s');
    if pg_temp.says(p_key) = 'probe' then
      v_n := v_n + 1;
      perform pg_temp.verdict(p_key, 'inconclusive');
    end if;
  end loop;
  return v_n;
end
$$;
select is(pg_temp.ask_often('c'), 20, 'who asks again and again gets one each time that the pause is over');
select is(effect_test.row('c') -> 'tries', '1', 'and the back-off has not grown by it');
select ok(pg_temp.due_in('c') < '3 s', 'so that the next sweep is as near as before');

-- a caller who asks too often gets none: pause of at least a second, and the policy's own where it is longer
select effect_test.tool('fast', '{"probe_backoff": ["1ms"]}') \gset
select effect_test.tool('slow', '{"probe_backoff": ["5m"]}') \gset
select effect_test.tool('never', '{"probe_backoff": []}') \gset
select is((select array_agg(effect.demand_pause(t) order by t.name) from effect.tool t where t.name in ('fast', 'slow', 'never', 'probed')),
  array['1 s', '10 min', '2 s', '5 min']::interval[], 'the pause: fast, never, probed, slow');

-- an absent on demand counts as any: never before settle
select pg_temp.unknown('d') \gset
select effect_test.advance('29.999 s') \gset
select is(pg_temp.says('d'), 'probe', 'on demand, a moment before it is settled');
select is(pg_temp.verdict('d', 'absent'), 'ok unknown', 'absent');
select is(effect_test.row('d') -> 'absent_n', '0', 'does not count');
select effect_test.advance('3 s') \gset
select pg_temp.says('d', null) \gset
select pg_temp.verdict('d', 'absent') \gset
select is(effect_test.row('d') -> 'absent_n', '1', 'later it does');
select effect_test.advance('29 s') \gset
select pg_temp.says('d', null) \gset
select is(pg_temp.verdict('d', 'absent'), 'ok unknown', 'the second not before settle after the first');
select effect_test.advance('1 s') \gset
select pg_temp.says('d', null) \gset
select is(pg_temp.verdict('d', 'absent'), 'ok released', 'then it releases');

-- the failure of a second attempt waits for the same word
select is(pg_temp.says('d'), 'moved', 'a released row is not taken');
select effect_test.begin(effect_test.e('d', 't2')) \gset
select is(pg_temp.says('d'), 'moved', 'nor a pending one');
select effect_test.complete(effect_test.e('d', 't2', '{"outcome": "failed"}')) \gset
select is(pg_temp.says('d'), 'probe', 'a failure on attempt 2 is probed on demand, too');
select is(pg_temp.verdict('d', 'landed'), 'ok done', 'and its word decides');
select is(pg_temp.says('d'), 'moved', 'a done row is not taken');

-- who is not asked
select pg_temp.unknown('e', 'bare') \gset
select is(pg_temp.says('e', 0, 'bare'), 'none', 'no probe in the policy');
select is(pg_temp.says('e', null, 'bare'), 'none', 'by hand neither');
select effect_test.tool('people', '{"on_unknown": "human"}') \gset
select pg_temp.unknown('f', 'people') \gset
select is(pg_temp.says('f', 0, 'people'), 'none', 'people decide');
select is(pg_temp.says('f', null, 'people'), 'probe', 'but a person may ask');
select pg_temp.unknown('g') \gset
select effect_test.advance('15 min') \gset
select is(pg_temp.says('g'), 'none', 'its deadline is over: the next sweep escalates it');
select effect_test.sweep() \gset
select is(pg_temp.says('g'), 'moved', 'an escalated row is not taken');
select is(pg_temp.says('g', null), 'moved', 'by nobody');
select is(pg_temp.says('nobody'), 'not_found', 'no such row');
select is(pg_temp.now_('c', null, 'probed', 'other') - 'ord', '{"answer": "not_found"}', 'nor one of a foreign namespace, of which nothing is told');

-- a batch: the same row twice, and one row out for each row in
select pg_temp.unknown('h') \gset
select results_eq($$ select ord, answer from effect.probe_now(array[effect.id('default', 'probed', 'h'), effect_test.uid('x'),
    effect.id('default', 'probed', 'h')], array[null, null, null], array[0, 0, 0]) $$,
  $$ values (1, 'probe'), (2, 'not_found'), (3, 'wait') $$, 'twice in a batch: once');
select throws_ok($$ select * from effect.probe_now(array[effect_test.uid('x')], array[null], '{}') $$, 'ZE003', null, 'arrays of one length');
-- near its deadline it is due no later than that
select pg_temp.unknown('i') \gset
select effect_test.advance('14 min 59 s') \gset
select is(pg_temp.says('i'), 'probe', 'a second before its deadline');
select is(pg_temp.due_in('i'), '1 s', 'it is due at its deadline all the same');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
