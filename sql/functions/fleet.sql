-- effect.fleet: the daemons that share this ledger and were heard of within a day, the newest start of each, and are not known
-- to have ended; those heard of last first, at most 64. `silent`: for longer than its flushes take.
create or replace function effect.fleet()
returns table (
  instance uuid, host text, version text, silent boolean, started_at timestamptz, seen_at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_now timestamptz := effect.now();
begin
  return query
  select d.instance, d.host, d.version, effect.is_silent(d.seen_at, v_now), d.started_at, d.seen_at
  from effect.newest_starts() d
  where d.ended_at is null and d.seen_at > v_now - interval '1 day'
  order by d.seen_at desc, d.boot
  limit 64;
end
$$;
