-- effect.policies_differ: the tools of which not all daemons that are up have the same policy in force, each with what each of
-- them has, null where it has none; at most p_limit rows. A daemon that has no policy at all in a namespace does not serve it,
-- and counts there for nothing. Name '' is the policy for unknown tools.
create or replace function effect.policies_differ(p_limit integer)
returns table (namespace text, tool text, host text, version text, policy bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  with up as (
    select d.*
    from effect.newest_starts() d
    where d.ended_at is null and not effect.is_silent(d.seen_at, effect.now())
  ), has as (
    select u.boot, t.namespace, t.name, t.version
    from up u cross join lateral unnest(u.policies) p(version) join effect.tool t on t.version = p.version
  ), serves as (
    select distinct h.boot, h.namespace from has h
  ), differ as (
    select h.namespace, h.name
    from has h
    group by h.namespace, h.name
    having count(distinct h.version) > 1
      or count(*) < (select count(*) from serves s where s.namespace = h.namespace)
  )
  select d.namespace, d.name, u.host, u.version, h.version
  from differ d
    join serves s on s.namespace = d.namespace
    join up u on u.boot = s.boot
    left join has h on h.boot = s.boot and h.namespace = d.namespace and h.name = d.name
  order by d.namespace, d.name, u.host, u.boot
  limit p_limit;
end
$$;
