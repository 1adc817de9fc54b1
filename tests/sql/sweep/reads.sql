-- A sweep reads what it takes, however many rows are due, however many others there are, and whatever the table was like when
-- its plans were made: 1,000 due ones of each state among 150,000 rows (10,000 among 1,500,000 with EFFECTD_TORTURE). Counted are the rows of the ledger that were read, the
-- entries of its indexes that were walked over, and sequential scans.
\set big 150000
\getenv torture EFFECTD_TORTURE
\if :{?torture}
\set big 1500000
\endif
select no_plan();
-- the plans of this session are those for a page of a few rows, all of them due
call effect_test.fill(1, 150);
update effect.ledger set due_at = effect.now() where state = 'escalated';
analyze effect.ledger;
select effect_test.sweep(256, 32, true) from generate_series(1, 6) limit 1 \gset
truncate effect.ledger;
call effect_test.fill(1, :big);
create function public.reads(out n_rows bigint, out n_entries bigint, out n_scans bigint) language sql as $$
  select coalesce(t.idx_tup_fetch, 0) + t.seq_tup_read,
    (select sum(pg_stat_get_xact_tuples_returned(i.indexrelid))::bigint from pg_index i where i.indrelid = t.relid), t.seq_scan
  from pg_stat_xact_user_tables t where t.schemaname = 'effect' and t.relname = 'ledger'
$$;
create table public.seen (what text, n_tasks bigint, n_rows bigint, n_entries bigint, n_scans bigint);
create procedure public.look(p_what text, p_rows int, p_probes int, p_notify bool, p_tools jsonb default '[]') language plpgsql as $$
declare
  v_before record;
  v_n bigint;
begin
  commit;
  v_before := public.reads();
  v_n := jsonb_array_length(effect_test.sweep(p_rows, p_probes, p_notify, null, p_tools));
  insert into public.seen select p_what, v_n, r.n_rows - v_before.n_rows, r.n_entries - v_before.n_entries, r.n_scans - v_before.n_scans
    from public.reads() r;
end
$$;
call public.look('nothing is due', 256, 32, true);
-- every unknown row's probe is due, then every notice, every lease and every deadline (of leases and deadlines 256 each)
update effect.ledger l set due_at = effect.now() - interval '1 h' + random() * interval '1 h', deadline_at = effect.now() + interval '1 h'
  where l.state = 'unknown';
select is(count(*), (:big / 150)::bigint, format('%s rows are due for a probe', count(*))) from effect.ledger where state = 'unknown' and due_at <= effect.now();
call public.look('probes are due, and there is room', 256, 32, true);
call public.look('probes are due, and there is none', 256, 0, true);
call public.look('probes are due, and the tool may not be asked', 256, 32, true, '{"tool": "probed", "room": 0}');
call public.look('one slot is free', 256, 1, true, '{"tool": "probed", "running": 23, "room": 1}');
update effect.ledger l set due_at = effect.now() - interval '1 s' where l.state = 'escalated';
call public.look('notices are due, and there is no notifier', 256, 0, false);
call public.look('notices are due', 256, 0, true);
update effect.ledger l set due_at = effect.now() - interval '1 s', lease_until = effect.now() - interval '1 s' where l.state = 'pending';
call public.look('leases have ended', 256, 0, false);
update effect.ledger l set deadline_at = effect.now() - interval '1 s', due_at = effect.now() - interval '1 s' where l.state = 'unknown';
call public.look('deadlines have passed', 256, 0, false);

select is(n_tasks, want::bigint, format('%s: %s tasks', what, want)) from public.seen join (values ('nothing is due', 0),
  ('probes are due, and there is room', 32), ('probes are due, and there is none', 0), ('probes are due, and the tool may not be asked', 0),
  ('one slot is free', 1), ('notices are due, and there is no notifier', 0), ('notices are due', 256), ('leases have ended', 256),
  ('deadlines have passed', 512)) x(what, want) using (what);
-- each row that is taken is read a few times, by its id; the due ones of whom only some have room, 64 at most
select cmp_ok(n_rows, '<=', 10 + 64 + 8 * n_tasks, format('%s: %s rows are read', what, n_rows)) from public.seen;
select cmp_ok(n_entries, '<=', 10 + 64 + 8 * n_tasks, format('%s: %s entries of indexes are walked over', what, n_entries)) from public.seen;
select is(n_scans, 0::bigint, format('%s: no sequential scan', what)) from public.seen;
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
