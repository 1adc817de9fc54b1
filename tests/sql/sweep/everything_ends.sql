-- With nobody speaking, every open row ends: done, released or escalated by its deadline (promise 5). Seeded: printed.
begin;
select no_plan();
select setseed(0.42) \gset
select diag('seed 0.42');
select effect_test.tool('slow', '{"escalate_after": "5m", "settle": "45s", "absent_needed": 3, "max_attempts": 1000}') \gset
select effect_test.begin(jsonb_agg(effect_test.e('k' || i, 't1',
  jsonb_build_object('lease_ms', 1000 + (random() * 60000)::int, 'tool', (array['slow', 'probed', 'quick', 'bare'])[1 + i % 4]))))
from generate_series(1, 80) i \gset
select effect_test.unknown(jsonb_agg(effect_test.e('k' || i, 't1',
  jsonb_build_object('tool', (array['slow', 'probed', 'quick', 'bare'])[1 + i % 4], 'closed', i % 3 = 0))))
from generate_series(1, 80) i where i % 5 = 0 \gset
do $$
declare
  v_task jsonb;
begin
  for i in 1 .. 200 loop
    for v_task in select * from jsonb_array_elements(effect_test.sweep(15, 4, true)) loop
      if v_task ->> 'task' = 'probe' and random() < 0.9 then
        perform effect_test.verdict(jsonb_build_object('id', v_task ->> 'effect', 'attempt', v_task -> 'attempt', 'probe_no',
          v_task -> 'probe_no',
          'verdict', (array['absent', 'absent', 'absent', 'inconclusive', 'inconclusive', 'landed',
            'failed'])[1 + floor(random() * 7)]));
      end if;
    end loop;
    perform effect_test.advance('6 s');
  end loop;
end
$$;
select is((select count(*) from effect.ledger where state in ('pending', 'unknown')), 0::bigint,
  'after the longest deadline no row is pending or unknown');
select ok((select count(distinct state) from effect.ledger) = 3, 'some are done, some released, some escalated');
select is((select count(*) from effect.ledger where attempt <> 1), 0::bigint, 'and nobody was told run meanwhile');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
