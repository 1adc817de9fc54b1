-- effect.probe_now: takes unknown rows for a probe out of turn, exactly as a sweep takes those that are due. One row out per
-- row in. p_waited_ms: how long the caller of begin, who met the row, has been waiting already; null: a person asks by hand.
-- answer:
--   probe      it is taken: start the probe, and answer by effect.verdict
--   wait       not now: ask again in in_ms; in_ms null: not again for this caller
--   none       no probe will tell: the policy has none, or people decide
--   moved      it is not unknown (any more)
--   not_found | retry
create or replace function effect.probe_now(p_id uuid[], p_scope text[], p_waited_ms integer[])
returns table (
  ord integer, answer text, effect uuid, state text, in_ms bigint, next_probe_at timestamptz, namespace text, tool text,
  key text, attempt integer, policy bigint, probe_no integer, probe_timeout_ms bigint, probe_at timestamptz, claimed_at timestamptz,
  since timestamptz, kept text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  perform effect.enter(cardinality(p_id), cardinality(p_scope), cardinality(p_waited_ms));
  for v_i in 1 .. cardinality(p_id) loop
    return query select v_i, o.* from effect.probe_now_one(p_id[v_i], p_scope[v_i], p_waited_ms[v_i]) o;
  end loop;
end
$$;
