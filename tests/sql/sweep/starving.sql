-- Rows that nothing can be done about never stand in the way of one that is due (case 88).
begin;
select no_plan();
select effect_test.begin(jsonb_agg(effect_test.e('wait' || i, 't1'))) from generate_series(1, 20) i \gset
select effect_test.unknown(jsonb_agg(effect_test.e('wait' || i, 't1'))) from generate_series(1, 20) i \gset
select effect_test.sweep(100, 100) \gset
select effect_test.verdict(jsonb_agg(jsonb_build_object('key', 'wait' || i, 'verdict', 'inconclusive')))
  from generate_series(1, 20) i \gset
select effect_test.begin(effect_test.e('due', 't1')) \gset
select effect_test.unknown(effect_test.e('due', 't1')) \gset
select is(effect_test.task(effect_test.sweep(20, 100), 'probe', effect.id('default', 'probed', 'due')) ->> 'task', 'probe',
  '20 rows in back-off, a batch of 20: the due one is probed in that sweep');
-- escalated rows without a notifier
select effect_test.begin(jsonb_agg(effect_test.e('esc' || i, 't1', '{"tool": "bare"}'))) from generate_series(1, 20) i \gset
select effect_test.unknown(jsonb_agg(effect_test.e('esc' || i, 't1', '{"tool": "bare"}'))) from generate_series(1, 20) i \gset
select effect_test.advance('31 s') \gset
select effect_test.sweep(100, 0, false) \gset
select effect_test.begin(effect_test.e('due2', 't1')) \gset
select effect_test.unknown(effect_test.e('due2', 't1')) \gset
create function pg_temp.sweeps(p_key text, p_rows int, p_probes int) returns int language plpgsql as $$
begin
  for i in 1 .. 20 loop
    if effect_test.task(effect_test.sweep(p_rows, p_probes), 'probe', effect.id('default', 'probed', p_key)) is not null then
      return i;
    end if;
    perform effect_test.advance('0.1 s');
  end loop;
  return null;
end
$$;
select ok(pg_temp.sweeps('due2', 10, 100) <= 4, 'escalated rows that nobody can tell about do not fill the batch');
-- more due rows than probes
select effect_test.begin(jsonb_agg(effect_test.e('many' || i, 't1'))) from generate_series(1, 30) i \gset
select effect_test.unknown(jsonb_agg(effect_test.e('many' || i, 't1'))) from generate_series(1, 30) i \gset
select is((select count(*) from jsonb_array_elements(effect_test.sweep(100, 3)) t where t ->> 'task' = 'probe'), 3::bigint,
  'no more probes than the caller can start');
select effect_test.begin(effect_test.e('lapse', 't1', '{"lease_ms": 1000}')) \gset
select effect_test.advance('1 s') \gset
do $$ begin for i in 1 .. 5 loop perform effect_test.sweep(20, 0); end loop; end $$;
select is(effect_test.row('lapse') ->> 'state', 'unknown', 'rows that wait for a probe do not keep others from lapsing');
select ok((select count(*) <= 10 from jsonb_array_elements(effect_test.sweep(5, 100)) t
  where t ->> 'task' in ('lapsed', 'probe')), 'a sweep takes no more rows than it is told');
-- all of them in the end
do $$ begin for i in 1 .. 60 loop perform effect_test.advance('1 s'); perform effect_test.sweep(20, 3); end loop; end $$;
select is((select count(*) from effect.ledger where key like 'many%' and probe_no = 0), 0::bigint,
  'each of them is probed in its turn');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
