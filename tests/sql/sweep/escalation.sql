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
select is(pg_temp.notified('a', 1, true), 'event', 'said again');
select is((select string_agg(e.reason, '; ') from effect.event e where e.kind = 'notified'),
  'the first notice, at try 2: exit 0', 'one event, that says which one and at which try');
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
select is((select string_agg(extract(epoch from gap)::int / 3600 || ' h', ', ' order by n) from gaps),
  '1 h, 2 h, 4 h, 8 h, 16 h, 24 h, 24 h, 24 h', 'reminders come at intervals that grow, up to a cap');
-- a sender that died: due again by itself
select pg_temp.wait('a') \gset
select is(pg_temp.notice('a'), '10', 'a reminder that nobody reports on');
select is(pg_temp.wait('a'), interval '2 min', 'is due again by itself, when whoever lives would have spoken');
select is(pg_temp.notice('a'), '10', 'under the same number');
-- not taken again and again: at intervals that grow, too
create table pg_temp.tries (n int, gap interval);
do $$
begin
  for i in 1 .. 9 loop
    perform pg_temp.notified('a', 10, false);
    insert into pg_temp.tries select i, pg_temp.wait('a');
    perform effect_test.must('try', pg_temp.notice('a'), '10');
  end loop;
end
$$;
select is((select string_agg(extract(epoch from gap)::int::text, ' ' order by n) from tries), '10 20 40 80 160 320 600 600 600',
  'a notice that nobody takes is sent again after seconds that double, up to ten minutes');
select is(pg_temp.notified('a', 10, true), 'ok', 'until it is taken');
select is((select e.reason from effect.event e where e.kind = 'notified' order by e.id desc limit 1),
  'reminder 9, at try 11: exit 0', 'and how often it was tried is told');
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

-- released by a person, and then an earlier attempt turns out to have landed: the same attempt is escalated once more. Its
-- first notice is the first again, and of another instant, by which its id differs.
select effect_test.begin(effect_test.e('c', 't1', '{"tool": "bare"}')) \gset
select effect_test.release(effect_test.e('c', 't1', '{"tool": "bare"}')) \gset
select effect_test.begin(effect_test.e('c', 't2', '{"tool": "bare"}')) \gset
select effect_test.unknown(effect_test.e('c', 't2', '{"tool": "bare"}')) \gset
select effect_test.advance('31 s') \gset
select effect_test.sweep() \gset
select is(pg_temp.notice('c'), '1', 'another one is escalated');
select effect_test.row('c', 'bare') as first \gset
select is(pg_temp.notified('c', 1, true), 'ok', 'its notice is taken');
select effect_test.resolve('{"key": "c", "tool": "bare", "verdict": "absent"}') \gset
select effect_test.advance('1 h') \gset
select effect_test.complete(effect_test.e('c', 't1', '{"tool": "bare"}')) \gset
select is(pg_temp.notice('c'), '1', 'escalated once more: a first notice');
select isnt(effect_test.row('c', 'bare') ->> 'since', :'first'::jsonb ->> 'since', 'of another instant');
select is(effect_test.row('c', 'bare') ->> 'attempt', :'first'::jsonb ->> 'attempt', 'and of the same attempt');
select is(pg_temp.notified('c', 1, true), 'ok', 'taken');
select is((select count(*) from effect.event e where e.effect = effect.id('default', 'bare', 'c') and e.kind = 'notified'), 2::bigint,
  'both are events');

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
