-- The newest p_n events of an effect, oldest first, as the JSON text of `get`. Never a token. A result only of incidents
-- and of the evidence on which the row rests, as a text and in its beginning: it is for people, and need not be good JSON to
-- whoever reads the line. What an outsider sent for the id before its effect was there is none of its people's.
create or replace function effect.events(p_id uuid, p_namespace text, p_evidence bigint, p_n integer) returns text
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
      || coalesce(',"outcome":"' || e.outcome || '"', '')
      || case when e.kind = 'resolved' then coalesce(',"verdict":"' || split_part(e.detail, ' ', 1) || '"', '') else '' end
      || coalesce(',"evidence":' || to_json(e.evidence)::text, '')
      || case when e.incident or e.id = p_evidence
        then coalesce(',"result_text":' || to_json(effect.beginning(e.result))::text, '')
          || coalesce(',"result_bytes":' || e.result_bytes, '') else '' end
      || case when e.incident then ',"incident":true' else '' end || '}', ',' order by e.id) || ']'
    from (select * from effect.event n
      where n.effect = p_id and (n.tool is not null or coalesce(n.scope, p_namespace) = p_namespace)
      order by n.id desc limit p_n) as e), '[]');
end
$$;
