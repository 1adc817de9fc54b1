-- effect.log2_quantile: a quantile of durations that are known by how many took less than 1 ms, 2 ms, 4 ms ... (effect.stat),
-- in milliseconds, null of none. Within a place it goes by the logarithm, as durations do: the answer lies in the place of
-- the true one, so it is less than twice, and more than half of it; the last place has no upper end, and is told as if it
-- were as wide as any.
create or replace function effect.log2_quantile(p_ms_log2 bigint[], p_quantile float8) returns float8
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_n bigint := (select sum(u.n) from unnest(p_ms_log2) as u(n));
  v_rank float8 := greatest(p_quantile * v_n, 1);
  v_before bigint := 0;
  v_here bigint;
begin
  if coalesce(v_n, 0) = 0 then
    return null;
  end if;
  for v_place in 1 .. cardinality(p_ms_log2) loop
    v_here := coalesce(p_ms_log2[v_place], 0);
    if v_here > 0 and v_before + v_here >= v_rank then
      return case v_place when 1 then (v_rank - v_before) / v_here
        else 2.0 ^ (v_place - 2 + (v_rank - v_before) / v_here) end;
    end if;
    v_before := v_before + v_here;
  end loop;
  return null;
end
$$;
