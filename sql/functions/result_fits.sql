-- Is a result stored verbatim (true), or only its size and SHA-256 (false)? p_bytes is set where the caller kept the
-- text to itself (over its line limit, not UTF-8). A null text without bytes is the JSON value null.
create or replace function effect.result_fits(p_result text, p_bytes bigint, p_max bigint, p_keep_ms bigint)
returns boolean
language sql immutable parallel safe
as $$
  select p_bytes is null and p_keep_ms > 0
    and pg_catalog.octet_length(coalesce(p_result, 'null')) operator(pg_catalog.<=) p_max
$$;
