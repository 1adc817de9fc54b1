-- effect.report_incidents: what was noted in the window and contradicts what stands, or belongs to no claim; the newest first.
-- Each is a warning. Told to whom effect.incidents tells it. What is explained is what has a row: of a bypass there never was one.
create or replace function effect.report_incidents(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer)
returns table (
  namespace text, tool text, effect uuid, key text, state text, noted_at timestamptz, attempt integer, kind text,
  by text, outcome text, reason text, result_bytes bigint, look json, of bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
declare
  v_now timestamptz := effect.now();
  v_scope text[] := string_to_array(p_scope, ',');
begin
  return query
  with noted as (
    select e.*, count(*) over () as of
    from effect.event e
    where e.incident and e.at >= p_from and e.at < p_to
      and (p_scope is null or string_to_array(e.scope, ',') <@ v_scope)
      and (p_namespace is null or e.scope = p_namespace)
      and (p_tool is null or e.tool = p_tool)
    order by e.at desc, e.id desc
    limit p_limit
  )
  select case when n.scope !~ ',' then n.scope end, n.tool, n.effect, n.key, s.state,
    n.at, nullif(n.attempt, 0), n.kind, n.decided_by, n.outcome::text, n.reason, n.result_bytes,
    effect.findings(effect.finding(true, 'incident', 'warning',
      concat_ws(': ', case when n.tool is null then 'of an effect that nobody knows'
          when n.kind = 'reconcile' then 'against the provider''s own list' else 'against what stands' end,
        coalesce(n.reason, n.kind)),
      case when s.state is not null then 'effectctl explain ' || n.effect
        else 'effectctl list --incidents' || case when n.tool is null then '' else effect.tool_flags(n.scope, n.tool) end end)),
    n.of
  from noted n
    left join lateral (
      select l.state::text as state
      from effect.ledger l
      where l.id = n.effect and n.tool is not null and not effect.forgotten(l.state, l.keep_until, v_now)) s on true
  order by n.at desc, n.id desc;
end
$$;
