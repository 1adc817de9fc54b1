-- A locked row becomes done: the one place where an outcome is written off the hot path of effect.complete. Whether the
-- result is stored verbatim is the policy's decision; the outcome is recorded in any case.
create or replace function effect.settle(
  p_row effect.ledger, p_tool effect.tool, p_outcome effect.outcome, p_by effect.decider, p_result text,
  p_bytes bigint, p_sha256 bytea, p_redacted boolean) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := effect.now();
  v_keep_until timestamptz := greatest(p_row.keep_until, v_now + effect.ms(p_tool.keep_key_ms));
  v_kept record := effect.stored_result(p_tool, p_result, p_bytes, p_sha256, p_redacted);
begin
  update effect.ledger l set
    state = 'done', outcome = p_outcome, decided_by = p_by, done_at = v_now, keep_until = v_keep_until,
    due_at = case when v_kept.state = 'omitted' then v_keep_until
      else least(v_now + effect.ms(p_tool.keep_result_ms), v_keep_until) end,
    result = v_kept.result, result_bytes = v_kept.bytes, result_sha256 = v_kept.sha256, result_state = v_kept.state,
    lease_until = null, request = null, instance = null, boot = null, ended_at = null, since = null,
    deadline_at = null, absent_at = null, open_from = null, absent_n = 0, lost = false
  where l.id = p_row.id and l.token = p_row.token and l.state = p_row.state;
  if not found then
    raise exception 'effect % moved under its lock', p_row.id using errcode = 'ZE002';
  end if;
end
$$;
