-- The newest attempt, not the first, reports `failed`: a locked pending or unknown row waits, unknown and due at once, for
-- one probe's word. The report is kept on the row, to stand if the provider does not say otherwise, and as an event. A probe
-- under way was started before the report: its number is made old, so that only its `landed` or `failed` still counts.
-- Where an earlier attempt is still open, only a word that would settle that one, too, lets the report stand.
create or replace function effect.report_failed(
  p_row effect.ledger, p_tool effect.tool, p_result text, p_bytes bigint, p_sha256 bytea, p_redacted boolean)
returns effect.ledger
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_row effect.ledger := p_row;
  v_kept record := effect.stored_result(p_tool, p_result, p_bytes, p_sha256, p_redacted);
begin
  if p_row.state = 'pending' then
    v_row := effect.turn_unknown(p_row, 'unknown', case when p_tool.has_probe
      then 'reported failed, asking the provider first' else 'reported failed, but an earlier attempt is open' end);
  end if;
  update effect.ledger l set
    outcome = 'failed', lost = false, probe_no = l.probe_no + 1,
    due_at = case when p_tool.has_probe then least(effect.now(), l.deadline_at) else l.deadline_at end,
    result = v_kept.result, result_bytes = v_kept.bytes, result_sha256 = v_kept.sha256, result_state = v_kept.state
  where l.id = v_row.id and l.token = v_row.token and l.state = 'unknown'
  returning * into strict v_row;
  perform effect.note(p_row.id, 'late', p_row.attempt, 'reported failed', p_by => 'caller', p_outcome => 'failed',
    p_result => coalesce(p_result, 'null'), p_bytes => p_bytes, p_sha256 => p_sha256, p_max => effect.kept_max(p_tool));
  return v_row;
end
$$;
