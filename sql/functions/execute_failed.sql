-- effect.execute_failed: a tool's statement raised, and took all of its transaction back, the begin's ask with it. An ask of a
-- turn counts whatever it was answered, so it is counted here: a loop over what fails comes to its end, too. One row
-- out per row in; answer ok or retry.
create or replace function effect.execute_failed(p_policy bigint[], p_run text[], p_turn text[])
returns table (ord integer, answer text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_tool effect.tool;
  v_turn uuid;
begin
  perform effect.enter(coalesce(cardinality(p_policy), 0), cardinality(p_run), cardinality(p_turn));
  for ord in 1 .. coalesce(cardinality(p_policy), 0) loop
    select * into v_tool from effect.tool t where t.version = p_policy[ord];
    v_turn := effect.turn_id(v_tool.namespace, coalesce(p_run[ord], ''), p_turn[ord], v_tool.name);
    if v_turn is null or coalesce(v_tool.turn_budget, v_tool.turn_asks) is null then
      answer := 'ok';
    elsif pg_try_advisory_xact_lock(effect.lock_of_turn(v_turn)) then
      perform effect.turn_count(v_turn, v_tool.namespace, v_tool.name, coalesce(p_run[ord], ''), p_turn[ord], effect.now(),
        1, 0, 0);
      answer := 'ok';
    else
      answer := 'retry';
    end if;
    return next;
  end loop;
end
$$;
