-- effect.resolve: a person decides. One row out per row in. attempt and state are as the person saw them: a row that moved
-- since answers conflict. Sending one's own resolve again is fine.
create or replace function effect.resolve(
  p_id uuid[], p_scope text[], p_verdict text[], p_attempt integer[], p_state text[], p_reason text[],
  p_evidence text[], p_policy bigint[], p_result text[], p_result_bytes bigint[], p_result_sha256 bytea[],
  p_redacted boolean[], p_by text[])
returns table (ord integer, answer text, state text, attempt integer, policy bigint, result_secret text,
  namespace text, tool text, counted text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  perform effect.enter(cardinality(p_id), cardinality(p_scope), cardinality(p_verdict), cardinality(p_attempt),
    cardinality(p_state), cardinality(p_reason), cardinality(p_evidence), cardinality(p_policy),
    cardinality(p_result), cardinality(p_result_bytes), cardinality(p_result_sha256), cardinality(p_redacted),
    cardinality(p_by));
  for v_i in 1 .. cardinality(p_id) loop
    return query select v_i, o.* from effect.resolve_one(p_id[v_i], p_scope[v_i], p_verdict[v_i], p_attempt[v_i],
      p_state[v_i], p_reason[v_i], p_evidence[v_i], p_policy[v_i], p_result[v_i], p_result_bytes[v_i],
      p_result_sha256[v_i], p_redacted[v_i], p_by[v_i]) o;
  end loop;
end
$$;
