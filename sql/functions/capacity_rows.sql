-- Of effect.report_capacity: rows by state, and by tool what it will come to. A key is kept for keep_key from when it is done, so
-- that of each tool as many rows stand, in the end, as it is granted in that time; what counts is since when it is counted.
create or replace function effect.capacity_rows(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz)
returns table (what text, namespace text, tool text, value numeric, unit text, note text, look json)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with size as materialized (
    select * from effect.ledger_sizes(p_scope, p_namespace, p_tool)
  ), granted as (
    -- a run over an open attempt has no row of its own
    select s.namespace, s.tool, sum(case s.decision when 'retried' then -s.n else s.n end) as n, min(s.first_at) as first_at
    from effect.stat_sums(p_scope, p_namespace, p_tool, p_from, p_to, '{run,ran,retried}') s
    group by s.namespace, s.tool
  ), pace as materialized (
    -- of less than an hour nothing is foretold
    select g.namespace, g.tool, g.n / (extract(epoch from p_to - greatest(g.first_at, p_from)) / 86400) as a_day, g.n
    from granted g
    where p_to - greatest(g.first_at, p_from) >= interval '1 hour'
  ), forecast as (
    select p.*, p.a_day * t.keep_key_ms / 86400e3 as rows, t.keep_key_ms,
      coalesce((select s.bytes / nullif(s.n, 0) from size s where s.namespace = p.namespace and s.tool = p.tool), 500) as row_bytes
    from pace p join lateral effect.tool_now(p.namespace, p.tool) t on true
  )
  select 'ledger rows, ' || s.state, null, null, coalesce(sum(s.n), 0), 'rows', null, null::json
  from (
    select x.state, x.n, x.i
    from size z cross join lateral (values ('pending', z.pending, 1), ('unknown', z.unknown, 2), ('escalated', z.escalated, 3),
      ('released', z.released, 4), ('done', z.done, 5)) as x(state, n, i)
    union all
    values ('pending', 0, 1), ('unknown', 0, 2), ('escalated', 0, 3), ('released', 0, 4), ('done', 0, 5)
  ) as s
  group by s.state, s.i
  union all
  select 'new rows a day', null, null, round(coalesce(sum(p.a_day), 0)), 'rows', 'in this window', null from pace p
  union all
  (select 'rows to expect', f.namespace, f.tool, round(f.rows), 'rows',
    format('%s a day, kept for %s, about %s MB', round(f.a_day), effect.duration_words(f.keep_key_ms),
      round(f.rows * f.row_bytes / 1e6)), null
  from forecast f
  order by f.rows desc)
  union all
  select 'bytes to expect', null, null, round(coalesce(sum(f.rows * f.row_bytes), 0)), 'bytes', 'of the ledger, all tools', null
  from forecast f
$$;
