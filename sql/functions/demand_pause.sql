-- How long after a probe ended it rests at least before another is started on demand: the first pause of the policy's
-- back-off, a second at least.
create or replace function effect.demand_pause(p_tool effect.tool) returns interval
language sql stable parallel safe
as $$
  select greatest(interval '1 second', effect.ms(coalesce((p_tool).probe_backoff_ms[1], 600000)))
$$;
