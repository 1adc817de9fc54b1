-- effect.release: the wrapper knows that nothing was sent. One row out per row in. p_not_told: the daemon releases a
-- claim whose `run` nobody was told; p_boot says which start of it, because a later one may have told it since.
create or replace function effect.release(
  p_id uuid[], p_token uuid[], p_scope text[], p_reason text[], p_not_told boolean[],
  p_boot uuid default null)
returns table (ord integer, answer text, state text, already boolean, attempt integer, namespace text, tool text, counted text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  perform effect.enter(cardinality(p_id), cardinality(p_token), cardinality(p_scope), cardinality(p_reason),
    cardinality(p_not_told));
  for v_i in 1 .. cardinality(p_id) loop
    return query select v_i, o.* from effect.release_one(p_id[v_i], p_token[v_i], p_scope[v_i], p_reason[v_i],
      p_not_told[v_i], p_boot => p_boot) o;
  end loop;
end
$$;
