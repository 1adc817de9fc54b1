-- News that an earlier attempt (p_attempt) landed: a success reported with its token, or a probe's verdict. Kept as
-- evidence. An open or released row is escalated and can from now on only become done; a done row keeps its outcome and
-- gets an incident, unless it is the very word on which it rests, said again. News of a former life of the key never touches
-- this one.
create or replace function effect.earlier_landed(
  p_row effect.ledger, p_tool effect.tool, p_attempt integer, p_kind text, p_by text, p_reason text, p_result text,
  p_bytes bigint, p_sha256 bytea, p_redacted boolean) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_former boolean := p_attempt <= p_row.base;
  v_text text := coalesce(p_result, case when p_bytes is null then 'null' end);
  v_event bigint;
begin
  if p_row.state = 'done' and exists (
      select from effect.event e
      where e.id = p_row.evidence and (e.attempt, e.kind, e.decided_by) = (p_attempt, p_kind, p_by)
        and e.result_bytes = coalesce(p_bytes, octet_length(v_text))
        and coalesce(e.result_sha256, sha256(convert_to(e.result, 'UTF8')))
          = coalesce(p_sha256, sha256(convert_to(v_text, 'UTF8')))) then
    return;
  end if;
  v_event := effect.note(p_row.id, p_kind, p_attempt, p_reason, v_former or p_row.state = 'done', p_by => p_by,
    p_outcome => 'succeeded', p_result => v_text,
    p_bytes => p_bytes, p_sha256 => p_sha256, p_max => effect.kept_max(p_tool),
    p_detail => case when p_redacted then 'redacted' end);
  if not v_former and p_row.state <> 'done' then
    perform effect.escalate(p_row, format('attempt %s landed', p_attempt), v_event);
  end if;
end
$$;
