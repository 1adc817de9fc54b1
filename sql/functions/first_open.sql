-- The first of the attempts that were granted one over the other and lead to the newest: what is open of an open row began
-- with it, and of every attempt before it somebody said that it did not land. Only the `granted` of a retry gives a reason.
create or replace function effect.first_open(p_row effect.ledger) returns integer
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  return coalesce((
    select max(e.attempt) from effect.event e
    where e.effect = p_row.id and e.kind = 'granted' and e.attempt > p_row.base and e.reason is null), p_row.base + 1);
end
$$;
