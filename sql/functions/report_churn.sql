-- effect.report_churn: runs that used p_keys_min keys or more for one business key, in the window: granted ones, whatever became
-- of them, and those that were held, of which a twin's history keeps at most one a minute. business: the values where the policy
-- keeps all of them, else the hash.
create or replace function effect.report_churn(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer, p_keys_min integer default 3)
returns table (
  namespace text, tool text, run text, business text, n_keys bigint, granted bigint, keys json, first_at timestamptz,
  last_at timestamptz, effect uuid, look json, of bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off set max_parallel_workers_per_gather = 0 set work_mem = '64MB'
as $$
#variable_conflict use_column
declare
  v_first bigint := effect.event_from(p_from);
begin
  return query
  with tool as materialized (
    select t.version, t.namespace, t.name, t.policy, dense_rank() over (order by t.namespace, t.name) as same
    from effect.tools_of(p_scope, p_namespace, p_tool) t
  ), held as materialized (
    select coalesce(l.business, p.business) as business, t.same, e.detail as run, substr(e.reason, 7) as key, e.at, e.effect
    from effect.event e
      left join effect.ledger l on l.id = e.effect
      left join lateral (select a.business, a.policy from effect.past a
        where a.id = e.effect and l.id is null order by a.claimed_at desc limit 1) p on true
      join tool t on t.version = coalesce(l.policy, p.policy)
    where e.id >= v_first and e.at >= p_from and e.at < p_to and e.kind = 'refused' and starts_with(e.reason, 'held: ')
      and e.detail is not null
  ), many as materialized (
    select u.business, u.same
    from (
      select l.business, t.same, count(*) as n
      from effect.ledger l join tool t on t.version = l.policy
      where l.business is not null and l.claimed_at >= p_from and l.claimed_at < p_to
      group by l.business, t.same
      union all
      select h.business, h.same, count(*) from held h group by h.business, h.same) u
    group by u.business, u.same
    having sum(u.n) >= p_keys_min
  ), one as (
    select m.business, m.same, l.run, l.key, l.claimed_at as at, l.id as effect, true as is_granted
    from many m join effect.ledger l on l.business = m.business join tool t on t.version = l.policy and t.same = m.same
    where l.business is not null and l.run is not null and l.claimed_at >= p_from and l.claimed_at < p_to
    union all
    select h.business, h.same, h.run, h.key, h.at, h.effect, false from many m join held h using (business, same)
  ), by_key as (
    select o.business, o.same, o.run, o.key, min(o.at) as first_at, max(o.at) as last_at, bool_or(o.is_granted) as is_granted,
      (array_agg(o.effect order by not o.is_granted, o.at desc))[1] as effect
    from one o
    group by 1, 2, 3, 4
  ), churned as (
    select b.business, b.same, b.run, count(*) as n, count(*) filter (where b.is_granted) as granted, min(b.first_at) as first_at,
      max(b.last_at) as last_at, (array_agg(b.key order by b.first_at, b.key))[1:5] as keys,
      (array_agg(b.effect order by not b.is_granted, b.last_at desc, b.effect))[1] as effect, count(*) over () as of
    from by_key b
    group by 1, 2, 3
    having count(*) >= p_keys_min
    order by count(*) desc, max(b.last_at) desc, b.business, b.run
    limit p_limit
  )
  select t.namespace, t.name, c.run, coalesce(
      (select effect.kept_business(l.kept, p.policy) from effect.ledger l join tool p on p.version = l.policy where l.id = c.effect),
      replace(c.business::text, '-', '')),
    c.n, c.granted, to_json(c.keys), c.first_at, c.last_at, c.effect,
    effect.findings(effect.finding(true, 'key_churn', 'warning',
      format('one run used %s keys for one business key in %s, %s of them granted: its keys are new where the effect is not', c.n,
        effect.span(effect.ms_between(c.first_at, c.last_at)), c.granted),
      -- what was held has no row, and is explained by its twin
      'effectctl explain ' || coalesce((select l.id from effect.ledger l where l.id = c.effect),
        (select l.id from effect.ledger l join tool o on o.version = l.policy and o.same = c.same
          where l.business = c.business and l.business is not null order by l.claimed_at desc limit 1)))),
    c.of
  from churned c join (select distinct on (o.same) o.* from tool o) t on t.same = c.same
  order by c.n desc, c.last_at desc, c.business, c.run;
end
$$;

-- The values of a policy's business key as a row keeps them, joined by colons; null where they are not all kept.
create or replace function effect.kept_business(p_kept text, p_policy text) returns text
language plpgsql immutable strict
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select case when count(*) = count(p_kept::json ->> b.pointer) then string_agg(p_kept::json ->> b.pointer, ':' order by b.i) end
    from json_array_elements_text(p_policy::json -> 'business_key') with ordinality as b(pointer, i));
exception
  when data_exception or program_limit_exceeded then
    return null;
end
$$;
