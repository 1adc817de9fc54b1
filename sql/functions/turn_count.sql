-- Counts one begin in its turn, in the transaction that grants or refuses it: what is rolled back is not counted, and what
-- is told is. For a holder of the turn's lock, so that the insert waits for nobody. p_now: not after the grant itself.
create or replace function effect.turn_count(p_turn_id uuid, p_namespace text, p_tool text, p_run text, p_turn text,
  p_now timestamptz, p_asks integer, p_grants integer, p_refused integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into effect.turn as t (id, first_at, due_at, grants, asks, refused, namespace, tool, run, turn)
  values (p_turn_id, p_now, p_now + interval '30 days', p_grants, p_asks, p_refused, p_namespace, p_tool, p_run, p_turn)
  on conflict (id) do update set
    due_at = excluded.due_at, grants = t.grants + excluded.grants, asks = t.asks + excluded.asks,
    refused = t.refused + excluded.refused;
end
$$;
