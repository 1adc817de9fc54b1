-- effect.report_budgets: what turns used of their budgets in the window, and effects whose attempts are used up, per tool. A turn
-- is of the window if it had a begin in it, as far as is known: its first and its last one are. turn_budget and turn_asks are
-- those of the policy that was told last. A turn is spent that refused somebody.
create or replace function effect.report_budgets(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer)
returns table (
  namespace text, tool text, turns bigint, turns_spent bigint, grants_max integer, asks_max integer, turn_budget integer,
  turn_asks integer, refused bigint, run text, turn text, max_attempts integer, attempts_spent bigint, effect uuid, look json,
  of bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
begin
  return query
  with tool as materialized (
    select t.version, t.namespace, t.name, t.max_attempts from effect.tools_of(p_scope, p_namespace, p_tool) t
  ), turned as (
    -- due_at: 30 days after its last begin
    select n.namespace, n.tool, count(*) as turns, count(*) filter (where n.refused > 0) as spent, max(n.grants) as grants_max,
      max(n.asks) as asks_max, sum(n.refused)::bigint as refused,
      (array_agg(n.run order by n.refused desc, n.due_at desc) filter (where n.refused > 0))[1] as run,
      (array_agg(n.turn order by n.refused desc, n.due_at desc) filter (where n.refused > 0))[1] as turn
    from effect.turn n
    where n.first_at < p_to and n.due_at - interval '30 days' >= p_from and effect.in_scope(n.namespace, p_scope)
      and (p_namespace is null or n.namespace = p_namespace) and (p_tool is null or n.tool = p_tool)
    group by n.namespace, n.tool
  ), attempted as (
    select t.namespace, t.name, count(*) as spent, (array_agg(l.id order by l.done_at desc, l.id))[1] as effect
    from effect.ledger l join tool t on t.version = l.policy
    where l.state = 'released' and l.attempt - l.base >= t.max_attempts + l.extra and l.done_at >= p_from and l.done_at < p_to
    group by t.namespace, t.name
  ), joined as (
    select coalesce(n.namespace, a.namespace) as namespace, coalesce(n.tool, a.name) as tool, coalesce(n.turns, 0) as turns,
      coalesce(n.spent, 0) as spent, n.grants_max, n.asks_max, coalesce(n.refused, 0) as refused, n.run, n.turn,
      coalesce(a.spent, 0) as attempts_spent, a.effect
    from turned n full join attempted a on a.namespace = n.namespace and a.name = n.tool
  ), looked as (
    select j.*, t.turn_budget, t.turn_asks, t.max_attempts, effect.findings(
      effect.finding(j.spent > 0, 'budget_spent', 'warning',
        format('%s in %s of %s turns, as the budget was used up', case j.refused when 1 then '1 begin was refused'
          else j.refused || ' begins were refused' end, j.spent, j.turns),
        'effectctl list' || effect.tool_flags(j.namespace, j.tool)),
      effect.finding(j.attempts_spent > 0, 'attempts_spent', 'warning',
        case j.attempts_spent when 1 then '1 effect was given back and has no attempt left: it is not run again by itself'
          else format('%s effects were given back and have no attempt left: they are not run again by themselves', j.attempts_spent) end,
        'effectctl explain ' || j.effect)) as look
    from joined j
      left join lateral effect.tool_now(j.namespace, j.tool) t on true
  )
  select k.namespace, k.tool, k.turns, k.spent, k.grants_max, k.asks_max, k.turn_budget, k.turn_asks, k.refused, k.run, k.turn,
    k.max_attempts, k.attempts_spent, k.effect, k.look, count(*) over ()
  from looked k
  order by k.look is null, k.refused + k.attempts_spent desc, k.turns desc, k.namespace, k.tool
  limit p_limit;
end
$$;
