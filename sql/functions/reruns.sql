-- effect.reruns: effects that were run in a window although they had landed before, since their key was forgotten in between
-- (effect.past), by tool; and how long after they were done the latest of them came. Not of policies that are to remember nothing.
create or replace function effect.reruns(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz)
returns table (namespace text, tool text, n bigint, longest_ms float8)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off set max_parallel_workers_per_gather = 0 set work_mem = '32MB'
as $$
#variable_conflict use_column
begin
  return query
  with run as (
    select l.id, l.claimed_at, p.done_at, p.policy
    from effect.past p join effect.ledger l on l.id = p.id
    where l.claimed_at >= p_from and l.claimed_at < p_to and l.claimed_at >= p.forgotten_at
    union all
    select a.id, a.claimed_at, p.done_at, p.policy
    from effect.past p join effect.past a on a.id = p.id
    where a.claimed_at >= p_from and a.claimed_at < p_to and a.claimed_at >= p.forgotten_at
  ), once as (
    -- of several former lives the last one
    select distinct on (r.id, r.claimed_at) r.* from run r order by r.id, r.claimed_at, r.done_at desc
  )
  select t.namespace, t.name, count(*), max(extract(epoch from o.claimed_at - o.done_at) * 1000)::float8
  from once o join effect.tool t on t.version = o.policy
  where t.keep_key_ms > 0 and effect.in_scope(t.namespace, p_scope)
    and (p_namespace is null or t.namespace = p_namespace)
    and (p_tool is null or t.name = p_tool)
  group by t.namespace, t.name;
end
$$;
