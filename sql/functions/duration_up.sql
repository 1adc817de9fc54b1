-- effect.duration_up(5230) -> '10s': the next duration that a person would write in a policy, at most 3650d.
create or replace function effect.duration_up(p_ms float8) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select coalesce((
    select d.text
    from unnest('{1s,2s,5s,10s,15s,20s,30s,45s,1m,90s,2m,3m,5m,10m,15m,20m,30m,45m,1h,2h,3h,6h,12h,1d,2d,3d,7d,14d,20d,30d,45d,60d,
      90d,120d,180d,365d,730d,1095d,1825d}'::text[]) with ordinality as d(text, i)
    where effect.duration_ms(d.text) >= p_ms
    order by d.i
    limit 1), '3650d')
$$;

-- A duration as a sentence has it: '420 ms', '5.2 s', '14 min', '36 h', '12 d'.
create or replace function effect.duration_words(p_ms float8) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case
    when p_ms < 1000 then round(p_ms) || ' ms'
    when p_ms < 120e3 then trim_scale(round((p_ms / 1e3)::numeric, 1)) || ' s'
    when p_ms < 120 * 60e3 then round(p_ms / 60e3) || ' min'
    when p_ms < 48 * 3600e3 then round(p_ms / 3600e3) || ' h'
    else round(p_ms / 86400e3) || ' d' end
$$;
