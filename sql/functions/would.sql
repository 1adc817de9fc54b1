-- effect.would: what the word of a probe would decide if it were recorded now as that of the newest probe; nothing changes.
-- One row out per row in. p_started_at: when that probe was started. answer ok or not_found; state and attempt are the row's.
create or replace function effect.would(
  p_id uuid[], p_scope text[], p_attempt integer[], p_started_at timestamptz[], p_verdict text[])
returns table (
  ord integer, answer text, state text, attempt integer, then_state text, then_outcome text, counts boolean,
  absent_n integer, absent_needed integer, why text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  v_row effect.ledger;
  v_tool effect.tool;
begin
  for v_i in 1 .. cardinality(p_id) loop
    ord := v_i;
    answer := 'not_found';
    state := null; attempt := null; then_state := null; then_outcome := null; counts := null; absent_n := null;
    absent_needed := null; why := null;
    select * into v_row from effect.ledger l where l.id = p_id[v_i];
    select * into v_tool from effect.tool t where t.version = v_row.policy;
    if found and effect.in_scope(v_tool.namespace, p_scope[v_i]) then
      answer := 'ok';
      state := v_row.state;
      attempt := v_row.attempt;
      absent_needed := v_tool.absent_needed;
      select j.state, j.outcome, j.counts, j.absent_n, j.why
      into then_state, then_outcome, counts, absent_n, why
      from effect.judge_verdict(v_row, v_tool, p_attempt[v_i], true, p_started_at[v_i], p_verdict[v_i]) j;
    end if;
    return next;
  end loop;
end
$$;
