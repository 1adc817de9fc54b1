-- Does the provider take this former attempt and the newest one for one call? If both were claimed under on_unknown = retry:
-- then what either of them did is what was done, and the first success stands. `granted` of attempt n + 1 names the policy
-- of attempt n.
create or replace function effect.one_call(p_row effect.ledger, p_tool effect.tool, p_attempt integer) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  return p_tool.on_unknown = 'retry' and p_attempt > p_row.base and coalesce((
    select t.on_unknown = 'retry' from effect.tool t
    where t.version = (
      select e.detail::bigint from effect.event e
      where e.effect = p_row.id and e.kind = 'granted' and e.attempt = p_attempt + 1
      order by e.id desc limit 1)), false);
end
$$;
