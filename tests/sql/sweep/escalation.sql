-- Escalation and its notices: claimed before they are sent, one stable number a notice, reminders at growing intervals.
begin;
select no_plan();
create function pg_temp.notice(p_key text, p_tool text default 'bare') returns text language sql as $$
  select effect_test.task(effect_test.sweep(100, 100, true), 'notify', effect.id('default', p_tool, p_key)) ->> 'notice_no'
$$;
create function pg_temp.notified(p_key text, p_no int, p_taken bool) returns text language sql as $$
  select answer from effect.notified(array[effect.id('default', 'bare', p_key)], array[p_no], array[p_taken], array['exit 0'])
$$;
-- goes to the instant at which the row is due, and says how far it was
create function pg_temp.wait(p_key text) returns interval language plpgsql as $$
declare
  v_from timestamptz := effect.now();
begin
  perform effect_test.set_now(greatest(v_from, (effect_test.row(p_key, 'bare') ->> 'due_at')::timestamptz));
  return effect.now() - v_from;
end
$$;
select effect_test.begin(effect_test.e('a', 't1', '{"tool": "bare"}')) \gset
select effect_test.advance('60 s') \gset
select effect_test.sweep() \gset
select effect_test.advance('30 s') \gset
select effect_test.sweep(100, 100, true) as tasks \gset
select is(effect_test.row('a', 'bare') ->> 'state', 'escalated', 'without a probe: escalated by the deadline (case 82)');
select is(effect_test.kinds('a', 'bare'), 'lapsed,escalated', 'an event');
select is((select count(*) from jsonb_array_elements(:'tasks'::jsonb) t where t ->> 'task' = 'probe'), 0::bigint, 'and no probe');
select is(effect_test.begin(effect_test.e('a', 't2', '{"tool": "bare"}')) ->> 'answer', 'escalated', 'never run by itself');
-- the first notice
select is(coalesce(effect_test.task(:'tasks', 'notify', effect.id('default', 'bare', 'a')) ->> 'notice_no', pg_temp.notice('a')),
  '1', 'a notice is due at once');
select is(pg_temp.notice('a'), null, 'once');
-- not taken: the same number again
select is(pg_temp.notified('a', 1, false), 'ok', 'the notifier failed');
select ok(pg_temp.wait('a') between '1 s' and '1 min', 'tried again soon');
select is(pg_temp.notice('a'), '1', 'the same notice, by its number');
select is(pg_temp.notified('a', 1, true), 'ok', 'taken');
select is(pg_temp.notified('a', 1, true), 'event', 'taken twice: an event');
select ok(position('notified' in effect_test.kinds('a', 'bare')) > 0, 'the notice is an event');
-- reminders
create table pg_temp.gaps (n int, gap interval);
do $$
begin
  for i in 2 .. 9 loop
    insert into pg_temp.gaps select i, pg_temp.wait('a');
    perform effect_test.must('reminder', pg_temp.notice('a'), i::text);
    perform pg_temp.notified('a', i, true);
  end loop;
end
$$;
select ok((select bool_and(later.gap >= g.gap) from gaps g join gaps later on later.n = g.n + 1),
  'reminders come at intervals that grow');
select ok((select (select gap from gaps where n = 4) > (select gap from gaps where n = 2)), 'and grow indeed');
select is((select count(distinct gap) from gaps where n >= 8), 1::bigint, 'up to a cap');
-- a sender that died: due again by itself
select pg_temp.wait('a') \gset
select is(pg_temp.notice('a'), '10', 'a reminder that nobody reports on');
select ok(pg_temp.wait('a') between '1 s' and '10 min', 'is due again by itself');
select is(pg_temp.notice('a'), '10', 'under the same number');
-- without a notifier the row waits for one
select effect_test.begin(effect_test.e('b', 't1', '{"tool": "bare"}')) \gset
select effect_test.unknown(effect_test.e('b', 't1', '{"tool": "bare"}')) \gset
select effect_test.advance('31 s') \gset
select effect_test.sweep(100, 100, false) \gset
select effect_test.sweep(100, 100, false) \gset
select is(pg_temp.notice('b'), '1', 'a sweep without a notifier takes no notice away');
-- settled: no more notices
select effect_test.resolve('{"key": "b", "tool": "bare", "verdict": "landed"}') \gset
select effect_test.advance('2 d') \gset
select is(pg_temp.notice('b'), null, 'a resolved row is not spoken of');
select is(pg_temp.notified('b', 1, true), 'event', 'a notice that was taken meanwhile is an event');
select is(pg_temp.notified('none', 1, true), 'not_found', 'or not found');

-- the policy asks people: no probe is asked
select effect_test.tool('human', '{"on_unknown": "human"}') \gset
select effect_test.begin(effect_test.e('h', 't1', '{"tool": "human"}')) \gset
select effect_test.unknown(effect_test.e('h', 't1', '{"tool": "human"}')) \gset
select is(effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'human', 'h')), null,
  'on_unknown = human: not probed');
select effect_test.advance('15 min') \gset
select is(effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'human', 'h')), null, 'not later either');
select is(effect_test.row('h', 'human') ->> 'state', 'escalated', 'but escalated');
-- an escalated row is not probed and takes a late verdict
select effect_test.begin(effect_test.e('p', 't1')) \gset
select effect_test.unknown(effect_test.e('p', 't1')) \gset
select effect_test.sweep() \gset
select effect_test.advance('15 min') \gset
select effect_test.sweep(100, 100, true) \gset
select effect_test.advance('1 d') \gset
select is(effect_test.task(effect_test.sweep(100, 100, true), 'probe', effect.id('default', 'probed', 'p')), null,
  'escalated: no more probes');
select is(effect_test.verdict('{"key": "p", "verdict": "landed"}') ->> 'state', 'done',
  'but the word of one that was under way counts');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
