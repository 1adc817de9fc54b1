-- effect.id(namespace, tool, key) -> uuid: the effect id, a UUID of version 8 made from the first 16 bytes of
-- SHA-256(u32be length || namespace || u32be length || tool || u32be length || key). The same rule stands in
-- daemon/protocol.md; vectors in tests/vectors/ids.json.
create or replace function effect.id(p_namespace text, p_tool text, p_key text) returns uuid
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hash bytea;
begin
  v_hash := sha256(
    int4send(octet_length(p_namespace)) || convert_to(p_namespace, 'UTF8')
    || int4send(octet_length(p_tool)) || convert_to(p_tool, 'UTF8')
    || int4send(octet_length(p_key)) || convert_to(p_key, 'UTF8'));
  v_hash := set_byte(v_hash, 6, (get_byte(v_hash, 6) & 15) | 128);
  v_hash := set_byte(v_hash, 8, (get_byte(v_hash, 8) & 63) | 128);
  return encode(substring(v_hash for 16), 'hex')::uuid;
end
$$;
