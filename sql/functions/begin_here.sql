-- effect.begin_here(namespace, tool, key, fingerprint): claim inside the caller's own transaction, or say why not, by the very
-- rules of effect.begin. For effects of that same transaction: its commit makes claim, effect and result (effect.complete_here)
-- true together, its rollback, also one to a savepoint, none of them. One row; what else a decision has stands in sql/README.md.
--
-- Who could be told `run` twice? Two callers while neither has committed: the key is locked by who inserts its row, the row of a
-- released one by who was granted it, both by try only, and the other one is told busy. After a rollback to a savepoint both
-- locks are gone with the row. After a commit everybody reads the row. Who could wait for this transaction? Nobody:
-- it holds no turn's and no business key's lock, no row but one that it was granted, and registers under a version that no
-- daemon has.
create or replace function effect.begin_here(
  p_namespace text, p_tool text, p_key text, p_fingerprint text default null,
  out decision text, out effect uuid, out token uuid, out attempt integer, out lease_until timestamptz,
  out protected_until timestamptz, out outcome text, out result text, out result_state text, out result_bytes bigint,
  out result_sha256 bytea, out done_at timestamptz, out decided_by text, out owner text, out claimed_at timestamptz,
  out since timestamptz, out next_probe_at timestamptz, out state text, out budget text, out budget_max integer)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  v_tool effect.tool;
  v_class text;
  v record;
  v_until timestamptz := clock_timestamp() + interval '1 second';
begin
  perform effect.enter(1, 1);
  perform effect.check_here(p_namespace, p_tool, p_key);
  v_tool := effect.tool_here(p_namespace, p_tool);
  v_class := v_tool.policy::jsonb ->> 'class';
  if v_tool.version is null or v_tool.business_window_ms is not null then
    raise exception 'tool "%" in namespace "%" %', p_tool, p_namespace, case when v_tool.version is null
      then 'has no policy that a daemon has told the ledger' else 'has a business key, which needs args: begin it over the socket' end
      using errcode = 'ZE008';
  elsif v_class in ('read', 'overwrite', 'natural') then
    decision := 'pass';
    return;
  end if;
  effect := effect.id(p_namespace, p_tool, p_key);
  loop
    v := effect.begin_one(effect, v_tool.version, p_key, p_fingerprint::uuid, effect.token_here(), null, null,
      effect.caller(), null, null, null, null, false, 'infinity', false, null, null, p_here => true);
    -- `retry`: a transaction of a daemon's is at the row, and will not be for long
    exit when v.answer <> 'retry' or clock_timestamp() > v_until;
    perform pg_sleep(0.005);
  end loop;
  if v.answer = 'run' then
    while not pg_try_advisory_xact_lock(effect.lock_of_here(effect)) loop
      perform pg_sleep(0.001); -- somebody is looking (effect.held_here)
    end loop;
    token := v.token;
  end if;
  decision := case v.answer when 'retry' then 'busy' else v.answer end;
  attempt := v.attempt;
  lease_until := v.lease_until;
  protected_until := v.protected_until;
  outcome := v.outcome;
  result := v.result;
  result_state := v.result_state;
  result_bytes := v.result_bytes;
  result_sha256 := v.result_sha256;
  done_at := v.done_at;
  decided_by := v.decided_by;
  owner := v.owner;
  claimed_at := v.claimed_at;
  since := v.since;
  next_probe_at := v.next_probe_at;
  state := v.state;
  budget := v.budget;
  budget_max := v.budget_max;
end
$$;
