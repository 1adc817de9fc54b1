-- effect.verdict: what a probe found out. One row out per row in. p_verdict: landed, failed, absent, inconclusive; or, where
-- the probe was taken and nobody was asked: unasked (no room now: its turn comes again in a moment) and unstarted (it could
-- not be started, for this reason: a step of the back-off).
-- answer: ok (the row was decided or its probe counted) | event (kept, nothing changed) | conflict (an earlier attempt
-- landed) | not_found | retry. counts: it is an absent that counts, the absent_n-th in a row of absent_needed; why: in words.
create or replace function effect.verdict(
  p_id uuid[], p_attempt integer[], p_probe_no integer[], p_verdict text[], p_reason text[], p_result text[],
  p_result_bytes bigint[], p_result_sha256 bytea[], p_redacted boolean[])
returns table (
  ord integer, answer text, state text, outcome text, counts boolean, absent_n integer, absent_needed integer, why text,
  counted text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  perform effect.enter(cardinality(p_id), cardinality(p_attempt), cardinality(p_probe_no), cardinality(p_verdict),
    cardinality(p_reason), cardinality(p_result), cardinality(p_result_bytes), cardinality(p_result_sha256),
    cardinality(p_redacted));
  for v_i in 1 .. cardinality(p_id) loop
    return query select v_i, o.* from effect.verdict_one(p_id[v_i], p_attempt[v_i], p_probe_no[v_i], p_verdict[v_i],
      p_reason[v_i], p_result[v_i], p_result_bytes[v_i], p_result_sha256[v_i], p_redacted[v_i]) o;
  end loop;
end
$$;
