-- effect.stat_add: adds a daemon's counts. p_ms_log2: one array literal a row, such as '{0,3,17}': how many took less than
-- 1 ms, 2 ms, 4 ms ...
create or replace function effect.stat_add(
  p_minute timestamptz[], p_namespace text[], p_tool text[], p_decision text[], p_n bigint[], p_ms_log2 text[])
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform effect.enter(cardinality(p_minute), cardinality(p_namespace), cardinality(p_tool), cardinality(p_decision),
    cardinality(p_n), cardinality(p_ms_log2));
  insert into effect.stat as s (minute, namespace, tool, decision, n, ms_log2)
  select date_trunc('minute', u.minute), u.namespace, u.tool, u.decision, sum(u.n), effect.add_log2(u.ms_log2::bigint[])
  from unnest(p_minute, p_namespace, p_tool, p_decision, p_n, p_ms_log2)
    as u(minute, namespace, tool, decision, n, ms_log2)
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  on conflict (minute, namespace, tool, decision) do update set
    n = s.n + excluded.n, ms_log2 = effect.add_arrays(s.ms_log2, excluded.ms_log2);
end
$$;
