-- Element-wise sum of two arrays, a missing element counting as 0; and the aggregate of it.
create or replace function effect.add_arrays(p_a bigint[], p_b bigint[]) returns bigint[]
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select coalesce(a.v, 0) + coalesce(b.v, 0)
    from unnest(p_a) with ordinality as a(v, i) full join unnest(p_b) with ordinality as b(v, i) on a.i = b.i
    order by coalesce(a.i, b.i));
end
$$;

create or replace aggregate effect.add_log2(bigint[]) (
  sfunc = effect.add_arrays, stype = bigint[], initcond = '{}'
);
