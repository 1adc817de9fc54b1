-- The form in which a policy lets a ledger row keep a result: verbatim, or (too long, withheld by the caller, or a tool that
-- keeps no results) only its size and SHA-256. effect.complete has the same on its hot path, for many rows at once.
create or replace function effect.stored_result(
  p_tool effect.tool, p_result text, p_bytes bigint, p_sha256 bytea, p_redacted boolean,
  out result text, out bytes bigint, out sha256 bytea, out state effect.result_state)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := coalesce(p_result, 'null');
begin
  bytes := coalesce(p_bytes, octet_length(v_text));
  if effect.result_fits(p_result, p_bytes, p_tool.result_max, p_tool.keep_result_ms) then
    result := v_text;
    state := case when p_redacted then 'redacted' else 'kept' end;
  else
    sha256 := coalesce(p_sha256, pg_catalog.sha256(convert_to(v_text, 'UTF8')));
    state := 'omitted';
  end if;
end
$$;
