-- effect.stat_sums: what was counted in a window, by namespace, tool and decision (of p_decisions; null: of all), since when,
-- and the histogram of it all: one pass over effect.stat. A slot counts where its beginning lies in the window. Groups are few
-- and rows are wide, so that nothing is to be sorted.
create or replace function effect.stat_sums(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_decisions text[] default null)
returns table (namespace text, tool text, decision text, n bigint, first_at timestamptz, ms_log2 bigint[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off set max_parallel_workers_per_gather = 0 set enable_sort = off
as $$
#variable_conflict use_column
begin
  return query
  select s.namespace, s.tool, s.decision, sum(s.n)::bigint, min(s.minute),
    array[sum(s.ms_log2[1]), sum(s.ms_log2[2]), sum(s.ms_log2[3]), sum(s.ms_log2[4]), sum(s.ms_log2[5]), sum(s.ms_log2[6]),
      sum(s.ms_log2[7]), sum(s.ms_log2[8]), sum(s.ms_log2[9]), sum(s.ms_log2[10]), sum(s.ms_log2[11]), sum(s.ms_log2[12]),
      sum(s.ms_log2[13]), sum(s.ms_log2[14]), sum(s.ms_log2[15]), sum(s.ms_log2[16]), sum(s.ms_log2[17]),
      sum(s.ms_log2[18]), sum(s.ms_log2[19]), sum(s.ms_log2[20]), sum(s.ms_log2[21]), sum(s.ms_log2[22]),
      sum(s.ms_log2[23]), sum(s.ms_log2[24]), sum(s.ms_log2[25]), sum(s.ms_log2[26]), sum(s.ms_log2[27]),
      sum(s.ms_log2[28]), sum(s.ms_log2[29]), sum(s.ms_log2[30]), sum(s.ms_log2[31]), sum(s.ms_log2[32]),
      sum(s.ms_log2[33]), sum(s.ms_log2[34]), sum(s.ms_log2[35]), sum(s.ms_log2[36]), sum(s.ms_log2[37]),
      sum(s.ms_log2[38]), sum(s.ms_log2[39]), sum(s.ms_log2[40])]::bigint[]
  from effect.stat s
  where s.minute >= p_from and s.minute < p_to
    and (p_decisions is null or s.decision = any (p_decisions))
    and effect.in_scope(s.namespace, p_scope)
    and (p_namespace is null or s.namespace = p_namespace)
    and (p_tool is null or s.tool = p_tool)
  group by s.namespace, s.tool, s.decision;
end
$$;
