-- Of effect.report_capacity: bytes on disk of each table, and whether vacuum keeps up. Rows are the planner's estimate.
create or replace function effect.capacity_storage()
returns table (what text, namespace text, tool text, value numeric, unit text, note text, look json)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with held as materialized (
    select c.relname::text as name, c.oid, nullif(c.reltuples, -1)::numeric as n_rows, pg_total_relation_size(c.oid) as bytes,
      pg_indexes_size(c.oid) as index_bytes, s.n_live_tup, s.n_dead_tup, s.last_autovacuum,
      greatest(s.last_vacuum, s.last_autovacuum) as last_vacuum
    from pg_class c left join pg_stat_all_tables s on s.relid = c.oid
    where c.relnamespace = 'effect'::regnamespace and c.relkind = 'r'
  ), dead as (
    select h.*, h.n_dead_tup::numeric / nullif(h.n_live_tup + h.n_dead_tup, 0) as share from held h
    where h.name in ('ledger', 'event', 'stat', 'past')
  )
  (select 'bytes of effect.' || h.name, null, null, h.bytes::numeric, 'bytes',
    format('%s of it indexes, %s', replace(replace(pg_size_pretty(h.index_bytes), 'B', 'iB'), 'k', 'K'),
      coalesce('about ' || h.n_rows || case h.n_rows when 1 then ' row' else ' rows' end, 'rows not counted yet')), null::json
  from held h
  order by h.bytes desc, h.name)
  union all
  select 'bytes a row', null, null, round(h.bytes / h.n_rows), 'bytes', 'of effect.ledger, with indexes, results and dead rows', null
  from held h
  where h.name = 'ledger' and h.n_rows > 0
  union all
  (select 'dead rows of effect.' || d.name, null, null, round(coalesce(d.share, 0), 4), 'share',
    format('%s dead, last vacuum %s', d.n_dead_tup, coalesce(effect.rfc3339(d.last_vacuum), 'never')),
    effect.findings(effect.finding(d.share > 0.3 and d.n_dead_tup >= 100000, 'vacuum_behind', 'warning',
      format('%s of the rows of effect.%s are dead (%s), last vacuum %s', effect.percent(d.share::float8), d.name, d.n_dead_tup,
        coalesce('at ' || effect.rfc3339(d.last_vacuum), 'never')),
      format('psql -c ''vacuum (verbose, analyze) effect.%s''', d.name)))
  from dead d
  order by d.name)
$$;
