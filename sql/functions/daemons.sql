-- effect.daemons: the daemons that share this ledger, the newest start of each, those heard of last first. state: up | ended
-- (it stopped in good order) | silent (not heard of for longer than its flushes take; killed, or cut off). policies: JSON array
-- [{"namespace", "tool", "version"}] of what is in force there, in namespaces that p_scope has; tool null is the policy
-- for unknown tools.
create or replace function effect.daemons(p_scope text)
returns table (
  instance uuid, boot uuid, host text, version text, state text, started_at timestamptz, seen_at timestamptz,
  ended_at timestamptz, flush_no bigint, dropped bigint, policies text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  select d.instance, d.boot, d.host, d.version,
    case when d.ended_at is not null then 'ended' when effect.is_silent(d.seen_at, effect.now()) then 'silent'
      else 'up' end,
    d.started_at, d.seen_at, d.ended_at, d.flush_no, d.dropped,
    coalesce((
      select json_agg(json_build_object('namespace', t.namespace, 'tool', nullif(t.name, ''), 'version', t.version::text)
        order by t.namespace, t.name)
      from effect.tool t
      where t.version = any (d.policies) and effect.in_scope(t.namespace, p_scope)), '[]')::text
  from effect.newest_starts() d
  order by d.seen_at desc, d.boot;
end
$$;
