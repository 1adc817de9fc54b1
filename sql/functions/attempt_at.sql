-- When a former attempt of a row's life was claimed: its `granted` says so, and of the first one of those that are open
-- beneath a retry the row itself. Null where nobody knows any more.
create or replace function effect.attempt_at(p_row effect.ledger, p_attempt integer) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  return coalesce((
    select e.at from effect.event e
    where e.effect = p_row.id and e.kind = 'granted' and e.attempt = p_attempt
    order by e.id desc limit 1), p_row.open_from);
end
$$;
