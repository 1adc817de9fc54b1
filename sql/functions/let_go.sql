-- A locked open row becomes released: it is known that none of its attempts landed, so the next begin may run it.
create or replace function effect.let_go(p_row effect.ledger, p_tool effect.tool, p_kind text, p_reason text,
  p_by text default null, p_result text default null, p_bytes bigint default null, p_sha256 bytea default null,
  p_detail text default null, p_evidence text default null) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := effect.now();
  v_keep_until timestamptz := greatest(p_row.keep_until, v_now + effect.ms(p_tool.keep_key_ms));
begin
  if p_row.evidence is not null then
    raise exception 'effect % is proven to have landed and may not be released', p_row.id using errcode = 'ZE002';
  end if;
  update effect.ledger l set
    state = 'released', done_at = v_now, keep_until = v_keep_until, due_at = v_keep_until, lease_until = null,
    request = null, instance = null, boot = null, ended_at = null, since = null, deadline_at = null,
    absent_at = null, open_from = null, absent_n = 0, lost = false, outcome = null, result = null, result_bytes = null,
    result_sha256 = null, result_state = null
  where l.id = p_row.id and l.token = p_row.token and l.state = p_row.state;
  if not found then
    raise exception 'effect % moved under its lock', p_row.id using errcode = 'ZE002';
  end if;
  perform effect.note(p_row.id, p_kind, p_row.attempt, p_reason, p_by => p_by, p_result => p_result,
    p_bytes => p_bytes, p_sha256 => p_sha256, p_max => effect.kept_max(p_tool), p_detail => p_detail,
    p_evidence => p_evidence);
end
$$;
