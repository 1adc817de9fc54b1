-- Takes at most p_probes_max due unknown rows for a probe each, those whose turn it is (effect.probe_turns(), which explains
-- the arrays), and returns them as taken. What another sweeper has taken meanwhile is passed over.
create or replace function effect.sweep_probes(
  p_probes_max integer, p_tool_room integer, p_namespace text[], p_tool text[], p_running integer[], p_room integer[])
returns setof effect.ledger
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := effect.now();
  v_turn record;
  v_row effect.ledger;
  v_tool effect.tool;
  v_taken integer[] := '{}';
  v_n integer := 0;
begin
  for v_turn in
    select * from effect.probe_turns(v_now, p_probes_max, p_tool_room, p_namespace, p_tool, p_running, p_room)
  loop
    exit when v_n >= p_probes_max;
    continue when coalesce(v_taken[v_turn.tool_n], 0) >= v_turn.room;
    select * into v_row from effect.ledger l where l.id = v_turn.id for update skip locked;
    continue when not found or v_row.state <> 'unknown' or v_row.due_at > v_now or v_row.deadline_at <= v_now;
    select * into strict v_tool from effect.tool t where t.version = v_row.policy;
    return next effect.take_probe(v_row, v_tool, 1);
    v_taken[v_turn.tool_n] := coalesce(v_taken[v_turn.tool_n], 0) + 1;
    v_n := v_n + 1;
  end loop;
end
$$;
