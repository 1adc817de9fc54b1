-- The business guard: another key with the same business key, open at any age, or succeeded within the window. Reported, or
-- held until the caller says `again`.
begin;
select no_plan();
select effect_test.tool('hold', '{"business_window": "1h", "on_business_duplicate": "hold"}') \gset
select effect_test.tool('report', '{"business_window": "1h", "on_business_duplicate": "report"}') \gset
create function pg_temp.ask(p_key text, p_token text, p_more jsonb default '{}') returns jsonb language sql as $$
  select effect_test.begin_guarded(effect_test.e(p_key, p_token, '{"tool": "hold", "business": "o1"}'::jsonb || p_more)) $$;
create sequence pg_temp.n;
-- what it is told; a grant is given back at once
create function pg_temp.answers(p_key text, p_more jsonb default '{}') returns text language plpgsql as $$
declare
  v_token text := 'x' || nextval('pg_temp.n');
  v text := pg_temp.ask(p_key, v_token, p_more) ->> 'answer';
begin
  if v = 'run' then
    perform effect_test.release(effect_test.e(p_key, v_token, '{"tool": "hold"}'));
  end if;
  return v;
end
$$;
-- the twin in every state, and what the second is told then (case 37: reworded, another key, the same business)
select is(pg_temp.ask('a', 't1') ->> 'answer', 'run', 'the first of its business key runs');
select is(effect_test.only(pg_temp.ask('b', 't1'), 'answer', 'twin', 'twin_key', 'window_ms', 'attempt', 'budget'),
  jsonb_build_object('answer', 'held', 'twin', effect.id('default', 'hold', 'a'), 'twin_key', 'a', 'window_ms', 3600000),
  'twin pending: held, which names it');
select is(effect_test.row('b', 'hold'), null, 'what is held leaves no row');
select is((select string_agg(reason, ',') from effect.event where effect = effect.id('default', 'hold', 'a')), 'held: b',
  'and an event with its twin');
select count(pg_temp.ask('b' || i, 't1')) from generate_series(1, 5) i \gset
select is(effect_test.kinds('a', 'hold'), 'refused', 'one a minute');
select effect_test.advance('61 s') \gset
select is(pg_temp.answers('b'), 'held', 'twin pending, its lease over: held');
select effect_test.sweep(100, 0) \gset
select effect_test.advance('16 min') \gset
select is(effect_test.row('a', 'hold') ->> 'state', 'unknown', 'the twin is unknown');
select is(pg_temp.answers('b'), 'held', 'twin unknown: held');
select effect_test.sweep(100, 0) \gset
select effect_test.advance('300 d') \gset
select is(effect_test.row('a', 'hold') ->> 'state', 'escalated', 'the twin is escalated');
select is(pg_temp.answers('b'), 'held', 'twin escalated for 300 days: held');
select effect_test.resolve('{"key": "a", "tool": "hold", "verdict": "absent"}') \gset
select is(pg_temp.answers('b'), 'run', 'twin released: runs');
select is(pg_temp.ask('a', 't2') ->> 'answer', 'run', 'a next attempt is judged, too: nobody else is open');
select effect_test.complete(effect_test.e('a', 't2', '{"tool": "hold", "outcome": "failed"}')) \gset
select effect_test.verdict('{"key": "a", "tool": "hold", "verdict": "inconclusive"}') \gset
select is(effect_test.row('a', 'hold') ->> 'outcome', 'failed', 'it failed for good');
select is(pg_temp.answers('b'), 'run', 'twin failed: runs');
select is(pg_temp.ask('c', 't1') ->> 'answer', 'run', 'a third key');
select is(effect_test.only(pg_temp.ask('b', 't9'), 'answer', 'twin_key', 'attempt'), '{"answer": "held", "twin_key": "c", "attempt": 2}',
  'the next attempt of a released row is held as well');
select is(effect_test.row('b', 'hold') ->> 'state', 'released', 'and stays released');
select effect_test.advance('30 s') \gset
select effect_test.complete(effect_test.e('c', 't1', '{"tool": "hold", "result": "1"}')) \gset
select is(pg_temp.answers('d'), 'held', 'twin succeeded: held');
select effect_test.advance('59 min 59 s') \gset
select is(pg_temp.answers('d'), 'held', 'within the window');
select effect_test.advance('1 s') \gset
select is(pg_temp.answers('d'), 'run', 'outside the window: runs');

-- what is no grant is never held, and one's own row is nobody's twin
select is(pg_temp.ask('c', 't2') ->> 'answer', 'replay', 'one''s own outcome is replayed');
select is(pg_temp.ask('c', 't2', '{"fp": "other"}') ->> 'answer', 'mismatch', 'other args: mismatch');
select is(pg_temp.ask('e', 't1', '{"business": "o2"}') ->> 'answer', 'run', 'another business key');
select is(pg_temp.ask('e', 't2', '{"business": "o2"}') ->> 'answer', 'busy', 'its repeat: busy, not held');
select effect_test.tool('hold', '{"business_window": "1h", "on_business_duplicate": "hold"}', 'other') \gset
select is(pg_temp.ask('n', 't1', '{"business": null}') ->> 'answer', 'run', 'no business key');
select is(pg_temp.ask('n2', 't1', '{"business": null}') ->> 'answer', 'run', 'is nobody''s twin');

-- again
select is(effect_test.only(pg_temp.ask('f', 't1', '{"business": "o2", "again": "the customer ordered two"}'), 'answer', 'twin_key', 'attempt'),
  '{"answer": "run", "twin_key": "e", "attempt": 1}', 'again: runs');
select is((select format('%s by %s: %s', kind, decided_by, reason) from effect.event where effect = effect.id('default', 'hold', 'f')),
  format('duplicate by caller: of %s, e: the customer ordered two', effect.id('default', 'hold', 'e')), 'its reason is kept');
select is(pg_temp.ask('g', 't1', '{"business": "o2"}') ->> 'answer', 'held', 'a third is asked anew');
select is(pg_temp.ask('h', 't1', '{"business": "o3", "again": "whatever"}') ->> 'answer', 'run', 'again without a twin: runs');
select is(effect_test.kinds('h', 'hold'), '-', 'and has nothing to tell');

-- report
create function pg_temp.report(p_key text, p_more jsonb default '{}', p_token text default 't1') returns jsonb language sql as $$
  select effect_test.only(pg_temp.ask(p_key, p_token, '{"tool": "report"}'::jsonb || p_more), 'answer', 'twin_key') $$;
select is(pg_temp.report('ra'), '{"answer": "run"}', 'report: the first');
select is(pg_temp.report('rb'), '{"answer": "run", "twin_key": "ra"}', 'the second runs, and says whose twin it is');
select is((select format('%s by %s: %s', kind, decided_by, reason) from effect.event where effect = effect.id('default', 'report', 'rb')),
  format('duplicate by : of %s, ra', effect.id('default', 'report', 'ra')), 'with an event');
select is(pg_temp.report('rb', '{}', 't2'), '{"answer": "busy"}', 'its repeat: busy, no duplicate');
select is(effect_test.kinds('rb', 'report'), 'duplicate', 'and no second event');
select is(pg_temp.report('rc', '{"again": "two"}') ->> 'twin_key', 'rb', 'of several the newest claim is the twin');

-- in one batch the second sees the first; a renewed key is judged as well
select is((select jsonb_agg(x -> 'answer') from jsonb_array_elements(effect_test.begin_guarded(jsonb_build_array(
  effect_test.e('p', 't1', '{"tool": "hold", "business": "o4"}'), effect_test.e('q', 't1', '{"tool": "hold", "business": "o4"}'),
  effect_test.e('r', 't1', '{"tool": "hold", "business": "o5"}')))) x), '["run", "held", "run"]', 'two of one business key in one batch');
select is(pg_temp.ask('old', 't1', '{"business": "o6"}') ->> 'answer', 'run', 'a key');
select effect_test.complete(effect_test.e('old', 't1', '{"tool": "hold", "result": "1"}')) \gset
select effect_test.advance('31 d') \gset
select is(pg_temp.ask('new', 't1', '{"business": "o6"}') ->> 'answer', 'run', 'a month later another one');
select is(pg_temp.ask('old', 't2', '{"business": "o6"}') ->> 'answer', 'held', 'the forgotten key, asked anew: held');
select is(effect_test.row('old', 'hold') ->> 'state', 'done', 'and not renewed');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');

-- by its index, and with its own id: nothing else is read
select is(count(*), 3::bigint, 'list by business key')
  from effect.list(null, null, 'report', 'default', null, null, 100, null, null, effect_test.uid('business o1'));
select * from finish();
rollback;
