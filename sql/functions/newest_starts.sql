-- The newest start of each daemon that shares this ledger.
create or replace function effect.newest_starts() returns setof effect.daemon
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select distinct on (d.instance) d.* from effect.daemon d order by d.instance, d.started_at desc, d.boot desc
$$;
