-- Appends one event. Returns its id. A result that is too long for the policy is kept as size and SHA-256.
create or replace function effect.note(
  p_effect uuid, p_kind text, p_attempt integer, p_reason text default null, p_incident boolean default false,
  p_token uuid default null, p_by text default null, p_outcome effect.outcome default null,
  p_result text default null, p_bytes bigint default null, p_sha256 bytea default null, p_max bigint default null,
  p_detail text default null, p_evidence text default null) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id bigint;
  v_fits boolean := p_result is not null and p_bytes is null
    and octet_length(p_result) <= coalesce(p_max, 65536);
begin
  insert into effect.event (effect, token, at, attempt, incident, kind, decided_by, outcome, reason, detail, evidence,
    result, result_bytes, result_sha256)
  values (p_effect, p_token, effect.now(), p_attempt, p_incident, p_kind, p_by, p_outcome, p_reason, p_detail,
    p_evidence, case when v_fits then p_result end, coalesce(p_bytes, octet_length(p_result)),
    case when p_sha256 is not null then p_sha256
      when p_result is not null and not v_fits then sha256(convert_to(p_result, 'UTF8')) end)
  returning id into v_id;
  return v_id;
end
$$;
