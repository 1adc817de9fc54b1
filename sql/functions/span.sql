-- How long something took or is ago, for people: '45 s', '12 min', '3 h 5 min', '4 d 2 h'.
create or replace function effect.span(p_ms bigint) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case
    when p_ms < 1000 then p_ms || ' ms'
    when p_ms < 60000 then p_ms / 1000 || ' s'
    when p_ms < 3600000 then p_ms / 60000 || ' min'
    when p_ms < 86400000 then p_ms / 3600000 || ' h' || coalesce(' ' || nullif(p_ms / 60000 % 60, 0) || ' min', '')
    else p_ms / 86400000 || ' d' || coalesce(' ' || nullif(p_ms / 3600000 % 24, 0) || ' h', '') end
$$;

-- From one instant to another, in milliseconds.
create or replace function effect.ms_between(p_from timestamptz, p_to timestamptz) returns bigint
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$ select round(extract(epoch from p_to - p_from) * 1000)::bigint $$;
