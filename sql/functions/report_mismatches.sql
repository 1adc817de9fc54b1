-- effect.report_mismatches: in which of the kept values calls of one key differed, in the window: by tool and by what differs,
-- the most effects first. n counts events, of which an effect leaves at most one a minute. fields is null where nothing that the
-- policy keeps differed. A few of very many calls are no fault of the key: effects_rate is their share of what ran.
create or replace function effect.report_mismatches(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer)
returns table (
  namespace text, tool text, fields text, n bigint, effects bigint, effects_rate float8, first_at timestamptz, last_at timestamptz, effect uuid,
  key text, run text, look json, of bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
declare
  v_first bigint := effect.event_from(p_from);
begin
  return query
  with refused as (
    -- the last run that asked stands behind the last event
    select e.effect, nullif(substr(e.reason, 11), '') as fields, count(*) as n, min(e.at) as first_at, max(e.at) as last_at,
      (array_agg(e.detail order by e.id desc))[1] as run
    from effect.event e
    where e.id >= v_first and e.at >= p_from and e.at < p_to and e.kind = 'refused'
      and (e.reason = 'mismatch' or starts_with(e.reason, 'mismatch: '))
    group by 1, 2
  ), known as (
    select r.*, w.scope, w.tool, w.key
    from refused r cross join lateral effect.whose(r.effect, null) w
    where w.tool is not null and effect.in_scope(w.scope, p_scope) and (p_namespace is null or w.scope = p_namespace)
      and (p_tool is null or w.tool = p_tool)
  ), grouped as (
    select k.scope, k.tool, k.fields, sum(k.n)::bigint as n, count(*) as effects, min(k.first_at) as first_at,
      max(k.last_at) as last_at, (array_agg(k.effect order by k.last_at desc, k.effect))[1] as effect,
      (array_agg(k.key order by k.last_at desc, k.effect))[1] as key, (array_agg(k.run order by k.last_at desc, k.effect))[1] as run
    from known k
    group by k.scope, k.tool, k.fields
  ), ran as (
    select s.namespace, s.tool, sum(s.n)::bigint as n
    from effect.stat_sums(p_scope, p_namespace, p_tool, p_from, p_to, '{run,ran}') s
    group by s.namespace, s.tool
  ), rated as (
    select g.*, effect.rate(g.effects, r.n) as rate
    from grouped g left join ran r on r.namespace = g.scope and r.tool = g.tool
  ), looked as (
    select g.*, effect.findings(effect.finding(g.effects >= 3 and coalesce(g.rate >= 0.005, true), 'mismatch_field', 'warning',
      case when g.fields is null
        then format('calls of %s effects differ from the first in what the policy does not keep: let it keep what they may differ in',
          g.effects)
        else format('calls of %s effects differ from the first in %s: the key lacks it, or it says nothing of the effect and belongs into `ignore`',
          g.effects, g.fields) end, (select 'effectctl explain ' || l.id from effect.ledger l where l.id = g.effect))) as look
    from rated g
  )
  select l.scope, l.tool, l.fields, l.n, l.effects, l.rate, l.first_at, l.last_at, l.effect, l.key, l.run, l.look, count(*) over ()
  from looked l
  order by l.look is null, l.effects desc, l.n desc, l.scope, l.tool, l.fields
  limit p_limit;
end
$$;
