-- effect.complete: record an outcome. One row out per row in (sql/README.md has the shapes).
--
-- The hot path settles pending rows of one open attempt whose token speaks, in one update; everything else goes, one by one in ordinal
-- order, through effect.complete_one. Which result could be lost? None: a token that does not hold the claim leaves its
-- result in effect.event; the result's text and size never decide whether the outcome is recorded.
create or replace function effect.complete(
  p_id uuid[], p_token uuid[], p_scope text[], p_policy bigint[], p_outcome text[], p_result text[],
  p_result_bytes bigint[], p_result_sha256 bytea[], p_redacted boolean[])
returns table (ord integer, answer text, shape text, state text, outcome text, already boolean, attempt integer,
  next_probe_at timestamptz, policy bigint, result_secret text, namespace text, tool text, counted text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_n integer := coalesce(cardinality(p_id), 0);
  v_answered boolean[];
  v_n_answered integer := 0;
begin
  perform effect.enter(v_n, cardinality(p_token), cardinality(p_scope), cardinality(p_policy), cardinality(p_outcome),
    cardinality(p_result), cardinality(p_result_bytes), cardinality(p_result_sha256), cardinality(p_redacted));
  v_now := effect.now();
  v_answered := array_fill(false, array[v_n]);

  for ord, outcome, attempt, namespace, tool, counted in
    with u as (
      select distinct on (u.id) u.*
      from unnest(p_id, p_token, p_scope, p_policy, p_outcome, p_result, p_result_bytes, p_result_sha256, p_redacted)
        with ordinality as u(id, token, scope, policy, outcome, result, bytes, sha256, redacted, ord)
      order by u.id, u.ord
    ), held as materialized (
      select u.*, effect.result_fits(u.result, u.bytes, t.result_max, t.keep_result_ms) as fits,
        coalesce(u.result, 'null') as text, t.keep_result_ms, t.namespace, t.name as tool,
        greatest(l.keep_until, v_now + effect.ms(t.keep_key_ms)) as keep_until
      from u
        join effect.ledger l on l.id = u.id
        join effect.tool t on t.version = l.policy
      where l.token = u.token and l.state = 'pending' and l.open_from is null
        and (u.outcome = 'succeeded' or (u.outcome = 'failed' and l.attempt = 1))
        and (t.result_secret is null or u.policy = l.policy)
        and effect.in_scope(t.namespace, u.scope)
      order by u.id
      for update of l skip locked
    )
    update effect.ledger l set
      state = 'done', outcome = h.outcome::effect.outcome, decided_by = 'caller', done_at = v_now,
      keep_until = h.keep_until,
      due_at = case when h.fits then least(v_now + effect.ms(h.keep_result_ms), h.keep_until) else h.keep_until end,
      result = case when h.fits then h.text end,
      result_bytes = coalesce(h.bytes, octet_length(h.text)),
      result_sha256 = case when not h.fits then coalesce(h.sha256, sha256(convert_to(h.text, 'UTF8'))) end,
      result_state = (case when not h.fits then 'omitted' when h.redacted then 'redacted' else 'kept' end)::effect.result_state,
      lease_until = null, request = null, instance = null, boot = null
    from held h
    where l.id = h.id and l.token = h.token and l.state = 'pending'
    returning h.ord::integer, l.outcome::text, l.attempt, h.namespace, h.tool,
      effect.counted(case l.outcome when 'succeeded' then 'completed' else 'failed' end, l.claimed_at, v_now)
  loop
    answer := 'ok';
    shape := 'complete';
    state := 'done';
    already := false;
    v_answered[ord] := true;
    v_n_answered := v_n_answered + 1;
    return next;
  end loop;
  if v_n_answered = v_n then
    return;
  end if;

  for v_i in 1 .. v_n loop
    continue when v_answered[v_i];
    return query select v_i, o.* from effect.complete_one(p_id[v_i], p_token[v_i], p_scope[v_i], p_policy[v_i],
      p_outcome[v_i], p_result[v_i], p_result_bytes[v_i], p_result_sha256[v_i], p_redacted[v_i]) o;
  end loop;
end
$$;
