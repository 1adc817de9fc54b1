-- A share from 0 to 1; null where it would be of fewer than 20: that says nothing.
create or replace function effect.rate(p_n bigint, p_of bigint) returns float8
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$ select case when p_of >= 20 then round(p_n / p_of::numeric, 4)::float8 end $$;

-- 0.0312 -> '3.1 %'
create or replace function effect.percent(p_rate float8) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$ select round((p_rate * 100)::numeric, 1) || ' %' $$;
