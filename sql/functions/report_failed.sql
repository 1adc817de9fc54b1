-- The newest attempt, not the first, reports `failed`: a locked pending or unknown row waits, unknown and due at once, for
-- one probe's word. The report is kept on the row, to stand if the provider does not say otherwise, and as an event. A probe
-- under way was started before the report: its number is made old, so that only its `landed` or `failed` still counts.
create or replace function effect.report_failed(
  p_row effect.ledger, p_tool effect.tool, p_result text, p_bytes bigint, p_sha256 bytea, p_redacted boolean)
returns effect.ledger
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_row effect.ledger := p_row;
  v_fits boolean := effect.result_fits(p_result, p_bytes, p_tool.result_max, p_tool.keep_result_ms);
  v_text text := coalesce(p_result, 'null');
begin
  if p_row.state = 'pending' then
    v_row := effect.turn_unknown(p_row, 'unknown', 'reported failed, asking the provider first');
  end if;
  update effect.ledger l set
    outcome = 'failed', lost = false, probe_no = l.probe_no + 1, due_at = least(effect.now(), l.deadline_at),
    result = case when v_fits then v_text end,
    result_bytes = coalesce(p_bytes, octet_length(v_text)),
    result_sha256 = case when not v_fits then coalesce(p_sha256, sha256(convert_to(v_text, 'UTF8'))) end,
    result_state = (case when not v_fits then 'omitted' when p_redacted then 'redacted' else 'kept' end)::effect.result_state
  where l.id = v_row.id and l.token = v_row.token and l.state = 'unknown'
  returning * into strict v_row;
  perform effect.note(p_row.id, 'late', p_row.attempt, 'reported failed', p_by => 'caller', p_outcome => 'failed',
    p_result => v_text, p_bytes => p_bytes, p_sha256 => p_sha256, p_max => effect.kept_max(p_tool));
  return v_row;
end
$$;
