-- effect.report_capacity: what the ledger takes of its database, what it will take when as much is forgotten as comes, and what
-- keeps the database from cleaning up. Rows and forecasts are of p_scope, the rest is of the whole database. What the owner of
-- these functions may not see is null, and its note says so: nothing here needs a superuser.
create or replace function effect.report_capacity(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer)
returns table (what text, namespace text, tool text, value numeric, unit text, note text, look json, of bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
begin
  return query
  with line as (
    select 1 as part, r.* from effect.capacity_rows(p_scope, p_namespace, p_tool, p_from, p_to) r
    union all
    select 2, s.* from effect.capacity_storage() s
    union all
    select 3, s.* from effect.capacity_server(p_from, p_to) s
  ), ordered as (
    select l.*, row_number() over () as i from line l
  )
  select o.what, o.namespace, o.tool, trim_scale(o.value), o.unit, o.note, o.look, count(*) over ()
  from ordered o
  order by effect.finding_rank(o.look), o.part, o.i
  limit p_limit;
end
$$;
