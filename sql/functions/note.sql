-- Appends one event. Returns its id. A result that is too long for the policy is kept as size and SHA-256. What was said
-- too late, and what p_once says of, is kept once: saying the very same again adds nothing to it. p_scope: the sender's, of an
-- incident whose effect may be gone.
create or replace function effect.note(
  p_effect uuid, p_kind text, p_attempt integer, p_reason text default null, p_incident boolean default false,
  p_token uuid default null, p_by text default null, p_outcome effect.outcome default null,
  p_result text default null, p_bytes bigint default null, p_sha256 bytea default null, p_max bigint default null,
  p_detail text default null, p_evidence text default null, p_once boolean default false,
  p_scope text default null) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_id bigint;
  v_scope text;
  v_tool text;
  v_key text;
  v_fits boolean := p_result is not null and p_bytes is null
    and octet_length(p_result) <= coalesce(p_max, 65536);
  v_bytes bigint := coalesce(p_bytes, octet_length(p_result));
  v_sha256 bytea := case when p_sha256 is not null then p_sha256
    when p_result is not null and not v_fits then sha256(convert_to(p_result, 'UTF8')) end;
begin
  if p_kind = 'late' or p_once then
    select e.id into v_id
    from effect.event e
    where e.effect = p_effect and e.kind = p_kind and e.attempt = p_attempt and e.incident = p_incident
      and (e.decided_by, e.outcome, e.reason, e.detail, e.result_bytes, e.result_sha256)
        is not distinct from (p_by, p_outcome, p_reason, p_detail, v_bytes, v_sha256)
      and e.result is not distinct from case when v_fits then p_result end
    order by e.id desc
    limit 1;
    if found then
      return v_id;
    end if;
  end if;
  if p_incident then
    select w.scope, w.tool, w.key into v_scope, v_tool, v_key from effect.whose(p_effect, p_scope) w;
  end if;
  insert into effect.event (effect, token, at, attempt, incident, kind, decided_by, outcome, reason, detail, evidence,
    result, result_bytes, result_sha256, scope, tool, key)
  values (p_effect, p_token, effect.now(), p_attempt, p_incident, p_kind, p_by, p_outcome, p_reason, p_detail,
    p_evidence, case when v_fits then p_result end, v_bytes, v_sha256, v_scope, v_tool, v_key)
  returning id into v_id;
  return v_id;
end
$$;
