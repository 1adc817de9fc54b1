-- When a row's next probe is due, or null where none will come.
create or replace function effect.next_probe_at(p_row effect.ledger) returns timestamptz
language sql stable parallel safe
as $$
  select case when (p_row).state operator(pg_catalog.=) 'unknown'::effect.state
    and (p_row).due_at operator(pg_catalog.<) (p_row).deadline_at then (p_row).due_at end
$$;
