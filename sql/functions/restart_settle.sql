-- The holder of an attempt of a locked row that is open, or will be, spoke: that attempt did not end before now. What was
-- counted as absent until here counts no more.
create or replace function effect.restart_settle(p_row effect.ledger) returns effect.ledger
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_row effect.ledger;
begin
  update effect.ledger l set ended_at = greatest(l.ended_at, effect.now()), absent_n = 0, absent_at = null
  where l.id = p_row.id and l.token = p_row.token and l.state = p_row.state
  returning * into strict v_row;
  return v_row;
end
$$;
