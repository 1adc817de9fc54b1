-- effect.extend: the holder works on and asks for more time. One row out per row in. p_lease_ms null = the policy's lease.
create or replace function effect.extend(p_id uuid[], p_token uuid[], p_scope text[], p_lease_ms integer[])
returns table (
  ord integer, answer text, state text, lease_until timestamptz, attempt integer, namespace text, tool text, counted text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  perform effect.enter(cardinality(p_id), cardinality(p_token), cardinality(p_scope), cardinality(p_lease_ms));
  for v_i in 1 .. cardinality(p_id) loop
    return query select v_i, o.* from effect.extend_one(p_id[v_i], p_token[v_i], p_scope[v_i], p_lease_ms[v_i]) o;
  end loop;
end
$$;
