-- effect.log2_under: how many of the durations of a histogram (see effect.log2_quantile) are under p_ms, of a place that p_ms
-- lies in the share that goes by the logarithm.
create or replace function effect.log2_under(p_ms_log2 bigint[], p_ms float8) returns bigint
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(round(sum(u.n * case
    when u.i = 1 then least(p_ms, 1)
    else least(greatest(log(2, greatest(p_ms, 0.5)::numeric) - (u.i - 2), 0), 1) end)), 0)::bigint
  from unnest(p_ms_log2) with ordinality as u(n, i)
$$;
