-- Which budget of a turn stands against one more grant, and how much it is; null: none. For a holder of its lock.
-- p_asked: the asks that are the caller's own: counted, but not against it.
create or replace function effect.turn_spent(p_tool effect.tool, p_turn_id uuid, p_asked integer,
  out budget text, out budget_max integer)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_turn effect.turn;
begin
  select * into v_turn from effect.turn t where t.id = p_turn_id;
  if v_turn.grants >= p_tool.turn_budget then
    budget := 'turn';
    budget_max := p_tool.turn_budget;
  elsif v_turn.asks - p_asked >= p_tool.turn_asks then
    budget := 'asks';
    budget_max := p_tool.turn_asks;
  end if;
end
$$;
