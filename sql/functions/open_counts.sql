-- effect.open_counts: how many rows are open, by state; counted along the index of open rows.
create or replace function effect.open_counts(out pending bigint, out unknown bigint, out escalated bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  select count(*) filter (where l.state = 'pending'), count(*) filter (where l.state = 'unknown'),
    count(*) filter (where l.state = 'escalated')
  into pending, unknown, escalated
  from effect.ledger l where l.done_at is null;
end
$$;
