-- effect.turn_id(namespace, run, turn, tool) -> uuid: the first 16 bytes of SHA-256 over the length-prefixed parts.
create or replace function effect.turn_id(p_namespace text, p_run text, p_turn text, p_tool text) returns uuid
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return encode(substring(sha256(
    int4send(octet_length(p_namespace)) || convert_to(p_namespace, 'UTF8')
    || int4send(octet_length(p_run)) || convert_to(p_run, 'UTF8')
    || int4send(octet_length(p_turn)) || convert_to(p_turn, 'UTF8')
    || int4send(octet_length(p_tool)) || convert_to(p_tool, 'UTF8')) for 16), 'hex')::uuid;
end
$$;
