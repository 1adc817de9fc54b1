-- A result that nobody's claim waits for: kept as an event with an incident, at most 60 a minute from callers of one scope,
-- so that a confused or hostile one can neither fill the disk nor crowd out what others have to say.
create or replace function effect.orphan(p_id uuid, p_attempt integer, p_outcome text, p_result text, p_bytes bigint,
  p_sha256 bytea, p_reason text, p_looked boolean, p_scope text) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_scope text := (select w.scope from effect.whose(p_id, p_scope) w);
begin
  if (select count(*) from (select from effect.event e
      where e.incident and e.at > effect.now() - interval '1 minute' and e.kind = 'orphan'
        and e.scope is not distinct from v_scope
      limit 60) as o) >= 60 then
    return;
  end if;
  if not p_looked and exists (select from effect.tool t where t.result_secret is not null) then
    -- Nobody could say which policy this result falls under: it may hold a secret, so only size and hash are kept.
    p_bytes := coalesce(p_bytes, octet_length(p_result));
    p_sha256 := coalesce(p_sha256, sha256(convert_to(p_result, 'UTF8')));
    p_result := null;
  end if;
  perform effect.note(p_id, 'orphan', p_attempt, p_reason, true, p_by => 'caller',
    p_outcome => nullif(p_outcome, 'error')::effect.outcome, p_result => p_result, p_bytes => p_bytes,
    p_sha256 => p_sha256, p_scope => p_scope);
end
$$;
