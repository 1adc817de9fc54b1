-- effect.unknown: the wrapper does not know whether the effect landed. One row out per row in. p_closed: said for it by
-- the daemon, because the connection that the claim was bound to was closed by its peer.
create or replace function effect.unknown(
  p_id uuid[], p_token uuid[], p_scope text[], p_reason text[], p_closed boolean[])
returns table (ord integer, answer text, state text, next_probe_at timestamptz, attempt integer, namespace text, tool text,
  counted text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  perform effect.enter(cardinality(p_id), cardinality(p_token), cardinality(p_scope), cardinality(p_reason),
    cardinality(p_closed));
  for v_i in 1 .. cardinality(p_id) loop
    return query select v_i, o.* from effect.unknown_one(p_id[v_i], p_token[v_i], p_scope[v_i], p_reason[v_i],
      p_closed[v_i]) o;
  end loop;
end
$$;
