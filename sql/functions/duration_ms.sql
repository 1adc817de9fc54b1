-- effect.duration_ms('60s') -> 60000. Policies' spelling of durations: [0-9]{1,9}(ms|s|m|h|d). Raises ZE003 otherwise.
create or replace function effect.duration_ms(p_text text) returns bigint
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[] := regexp_match(p_text, '^([0-9]{1,9})(ms|s|m|h|d)$');
begin
  if v_parts is null then
    raise exception 'duration "%" is malformed', p_text using errcode = 'ZE003';
  end if;
  return v_parts[1]::bigint * case v_parts[2]
    when 'ms' then 1 when 's' then 1000 when 'm' then 60000 when 'h' then 3600000 else 86400000 end;
end
$$;
