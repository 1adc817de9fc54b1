-- The newest p_n events of an effect, oldest first, as the JSON text of `get`. Never a token, never a result.
create or replace function effect.events(p_id uuid, p_n integer) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  return coalesce((
    select '[' || string_agg(
      '{"at":"' || effect.rfc3339(e.at) || '","kind":"' || e.kind || '","attempt":' || e.attempt
      || coalesce(',"by":' || to_json(e.decided_by)::text, '')
      || coalesce(',"reason":' || to_json(e.reason)::text, '')
      || case when e.incident then ',"incident":true' else '' end || '}', ',' order by e.id) || ']'
    from (select * from effect.event n where n.effect = p_id order by n.id desc limit p_n) as e), '[]');
end
$$;
