-- Probes follow the policy's back-off, in order, the last step repeated, never past the deadline, which never moves (case 79).
begin;
select no_plan();
select effect_test.tool('probed', '{"escalate_after": "1h"}') \gset
select effect_test.begin(effect_test.e('a', 't1')) \gset
select effect_test.unknown(effect_test.e('a', 't1')) \gset
create function pg_temp.next() returns interval language plpgsql as $$
declare
  v_at timestamptz;
begin
  v_at := (effect_test.row('a') ->> 'due_at')::timestamptz;
  perform effect_test.set_now(greatest(effect.now(), v_at));
  if effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'probed', 'a')) is null then
    return null;
  end if;
  perform effect_test.verdict('{"key": "a", "verdict": "inconclusive", "reason": "exit 1"}');
  return (effect_test.row('a') ->> 'due_at')::timestamptz - effect.now();
end
$$;
select ok(gap between step and step * 1.25, format('after probe %s: %s, the policy says %s', n, gap, step))
from (select n, step::interval,
  pg_temp.next() as gap from unnest(array['2s', '8s', '30s', '2min', '10min', '10min', '10min']) with ordinality s(step, n)
  order by n) x;
select is((effect_test.row('a') ->> 'deadline_at')::timestamptz, '2030-01-01 01:00:00+00'::timestamptz,
  'the deadline stands where it was');
select is((effect_test.row('a') ->> 'probe_no')::int, 7, 'probes are counted');
select is((select count(*) from effect.event e where e.kind in ('probe', 'verdict') and e.reason like '%exit 1%'), 7::bigint,
  'each left an event with its reason');
select is(effect_test.row('a') ->> 'state', 'unknown', 'an error is never absence');
select pg_temp.next() \gset
-- seconds before the deadline
select effect_test.set_now('2030-01-01 00:59:50+00') \gset
select effect_test.sweep() \gset
select is((effect_test.row('a') ->> 'due_at')::timestamptz, '2030-01-01 01:00:00+00'::timestamptz, 'a probe under way never ends past the deadline');
select effect_test.verdict('{"key": "a", "verdict": "inconclusive"}') \gset
select is((effect_test.row('a') ->> 'due_at')::timestamptz, '2030-01-01 01:00:00+00'::timestamptz, 'nor is the next one appointed past it');
select effect_test.set_now('2030-01-01 01:00:00+00') \gset
select is(effect_test.task(effect_test.sweep(), 'escalated', effect.id('default', 'probed', 'a')) ->> 'task', 'escalated',
  'at the deadline: escalated, never released by a failing probe');

-- rows that lapsed together do not stay together
select effect_test.begin(jsonb_agg(effect_test.e('together' || i, 't1'))) from generate_series(1, 30) i \gset
select effect_test.unknown(jsonb_agg(effect_test.e('together' || i, 't1'))) from generate_series(1, 30) i \gset
select effect_test.sweep() \gset
select effect_test.verdict(jsonb_agg(jsonb_build_object('key', 'together' || i, 'verdict', 'inconclusive'))) from generate_series(1, 30) i \gset
select cmp_ok(count(distinct l.due_at), '>', 20::bigint, 'the pauses of 30 rows differ') from effect.ledger l where l.key like 'together%';
select ok(bool_and(l.due_at - effect.now() between '2 s' and '2.4 s'), 'by a fifth at most') from effect.ledger l where l.key like 'together%';

-- a probe whose verdict never comes: due again by itself
select effect_test.begin(effect_test.e('lost', 't1')) \gset
select effect_test.unknown(effect_test.e('lost', 't1')) \gset
select effect_test.sweep() \gset
select ok((effect_test.row('lost') ->> 'due_at')::timestamptz > effect.now() + interval '10 s', 'not before its time-out');
select ok((effect_test.row('lost') ->> 'due_at')::timestamptz < effect.now() + interval '1 min', 'but soon after');
select effect_test.advance('1 min') \gset
select is(effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'probed', 'lost')) ->> 'probe_no', '2',
  'probed again');
-- the next attempt starts the list anew
select effect_test.tool('brisk', '{"settle": "0s", "absent_needed": 1}') \gset
select effect_test.begin(effect_test.e('n', 't1', '{"tool": "brisk"}')) \gset
select effect_test.unknown(effect_test.e('n', 't1', '{"tool": "brisk"}')) \gset
select effect_test.sweep() \gset
select effect_test.verdict('{"key": "n", "tool": "brisk", "verdict": "absent"}') \gset
select effect_test.begin(effect_test.e('n', 't2', '{"tool": "brisk"}')) \gset
select effect_test.unknown(effect_test.e('n', 't2', '{"tool": "brisk"}')) \gset
select is(effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'brisk', 'n')) ->> 'probe_no', '2',
  'probe numbers go on over attempts');
select effect_test.verdict('{"key": "n", "tool": "brisk", "verdict": "inconclusive"}') \gset
select ok((effect_test.row('n', 'brisk') ->> 'due_at')::timestamptz - effect.now() < interval '3 s', 'the back-off starts anew');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
