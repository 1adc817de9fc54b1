-- The newest other effect of the same business key that may have landed: open, however old, or succeeded within the window.
-- What was released, or failed for good, did not land. For a holder of the business key's lock. Only the tool's own effects
-- are looked at: a role that executes may say any business key, that of another namespace, too.
create or replace function effect.twin(p_id uuid, p_business uuid, p_tool effect.tool, p_now timestamptz,
  out twin uuid, out twin_key text, out twin_attempt integer)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  select l.id, l.key, l.attempt into twin, twin_key, twin_attempt
  from effect.ledger l join effect.tool t on t.version = l.policy
  where l.business = p_business and l.id <> p_id and t.namespace = p_tool.namespace and t.name = p_tool.name
    and (l.done_at is null or (l.state = 'done' and l.outcome = 'succeeded' and l.done_at > p_now - effect.ms(p_tool.business_window_ms)))
  order by l.claimed_at desc
  limit 1;
end
$$;
