-- Does a repeated complete say what a done row says? After the result was dropped or omitted, what is left decides: the
-- size and SHA-256 where they are kept, else the outcome alone.
create or replace function effect.same_result(p_row effect.ledger, p_result text, p_bytes bigint, p_sha256 bytea)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := coalesce(p_result, 'null');
begin
  if (p_row.state = 'done' and effect.result_now(p_row.result_state, p_row.due_at, effect.now()) = 'expired')
    or (p_row.result_state = 'redacted' and p_bytes is not null) then
    return true; -- what is left cannot be compared: same token and outcome suffice
  elsif p_row.result_state in ('kept', 'redacted') and p_bytes is null then
    return v_text = p_row.result collate "C";
  elsif p_row.result_state = 'kept' then
    return p_bytes = p_row.result_bytes and p_sha256 = sha256(convert_to(p_row.result, 'UTF8'));
  end if;
  return coalesce(p_bytes, octet_length(v_text)) = p_row.result_bytes
    and coalesce(p_sha256, sha256(convert_to(v_text, 'UTF8'))) = p_row.result_sha256;
end
$$;
