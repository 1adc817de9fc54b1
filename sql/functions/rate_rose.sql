-- Did a rate rise? Of at least 20 then and now, to twice as much and by a tenth, and by more than chance makes of it (three
-- standard errors of the difference).
create or replace function effect.rate_rose(p_n bigint, p_of bigint, p_n_before bigint, p_of_before bigint) returns boolean
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when p_of >= 20 and p_of_before >= 20 then (
    select now >= before * 2 and now - before >= 0.1
      and now - before > 3 * sqrt(all_n * (1 - all_n) * (1 / p_of::float8 + 1 / p_of_before::float8))
    from (select p_n / p_of::float8 as now, p_n_before / p_of_before::float8 as before,
      (p_n + p_n_before) / (p_of + p_of_before)::float8 as all_n) as r) end
$$;
