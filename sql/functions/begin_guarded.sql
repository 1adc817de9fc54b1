-- effect.begin_guarded: begin for tools whose policy has turn budgets or a business key; the arrays and rows are those of
-- effect.begin and a few more (sql/README.md). Entry by entry, in ordinal order, each judged whole by effect.begin_one.
--
-- What an entry is judged against is more than its own row: the counts of its turn, and the other effects of its business
-- key. Each of the two has a lock, kept to the commit, and taken by try only and before all locks of ids: who does not get it
-- is told `retry`, and is asked again when the other's transaction has ended and can be seen. So the last grant of a budget is
-- given to one, and of two effects of one business key the second sees the first.
--
-- Which grant could be counted twice, or not at all? It is counted by the transaction that makes it. An entry that is sent
-- again finds its own token, and is neither a grant nor an ask for the second time. Where its first try granted nothing, nobody
-- can know whether that was counted: then an ask too many is, never one too few. p_counted: asked before by the same begin
-- (it waited for another's outcome), and counted then.
create or replace function effect.begin_guarded(
  p_id uuid[], p_policy bigint[], p_key text[], p_fingerprint uuid[], p_token uuid[], p_request uuid[],
  p_lease_ms integer[], p_owner text[], p_run text[], p_step text[], p_turn text[], p_kept text[],
  p_regrant boolean[], p_within_ms integer[], p_resent boolean[], p_business uuid[], p_again text[], p_counted boolean[],
  p_asked_at timestamptz, p_instance uuid, p_boot uuid)
returns table (
  ord integer, answer text, attempt integer, token uuid, lease_until timestamptz, lease_ms bigint,
  protected_until timestamptz, on_error text, state text, claimed_at timestamptz, since timestamptz,
  next_probe_at timestamptz, owner text, outcome text, decided_by text, done_at timestamptz, result text,
  result_state text, result_bytes bigint, result_sha256 bytea, kept text, budget text, budget_max integer,
  twin uuid, twin_key text, window_ms bigint, counted text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_n integer := coalesce(cardinality(p_id), 0);
  v_turns uuid[];
  v_locked boolean[];
  v_tool effect.tool;
  v_asked integer;
  v_granted boolean;
begin
  perform effect.enter(v_n, cardinality(p_policy), cardinality(p_key), cardinality(p_fingerprint), cardinality(p_token),
    cardinality(p_request), cardinality(p_lease_ms), cardinality(p_owner), cardinality(p_run), cardinality(p_step),
    cardinality(p_turn), cardinality(p_kept), cardinality(p_regrant), cardinality(p_within_ms), cardinality(p_resent),
    cardinality(p_business), cardinality(p_again), cardinality(p_counted));
  v_now := effect.now();
  v_turns := array_fill(null::uuid, array[v_n]);
  v_locked := array_fill(false, array[v_n]);
  for v_i in 1 .. v_n loop
    select * into v_tool from effect.tool t where t.version = p_policy[v_i];
    if not found then
      -- at once: it may be registered by somebody before it is looked for again, and then its budgets would not be judged
      ord := v_i;
      answer := 'no_tool';
      return next;
      continue;
    end if;
    if coalesce(v_tool.turn_budget, v_tool.turn_asks) is not null then
      v_turns[v_i] := effect.turn_id(v_tool.namespace, coalesce(p_run[v_i], ''), p_turn[v_i], v_tool.name);
    end if;
    v_locked[v_i] := (p_business[v_i] is null or pg_try_advisory_xact_lock(effect.lock_of_business(p_business[v_i])))
      and (v_turns[v_i] is null or pg_try_advisory_xact_lock(effect.lock_of_turn(v_turns[v_i])));
    if not v_locked[v_i] then
      ord := v_i;
      answer := 'retry';
      return next;
    end if;
  end loop;

  for v_i in 1 .. v_n loop
    continue when not v_locked[v_i];
    v_asked := p_counted[v_i]::integer;
    for ord, answer, attempt, token, lease_until, lease_ms, protected_until, on_error, state, claimed_at, since,
        next_probe_at, owner, outcome, decided_by, done_at, result, result_state, result_bytes, result_sha256, kept, budget,
        budget_max, twin, twin_key, window_ms, counted, v_granted in
      select v_i, o.* from effect.begin_one(p_id[v_i], p_policy[v_i], p_key[v_i], p_fingerprint[v_i], p_token[v_i],
        p_request[v_i], p_lease_ms[v_i], p_owner[v_i], p_run[v_i], p_step[v_i], p_turn[v_i], p_kept[v_i], p_regrant[v_i],
        p_asked_at + effect.ms(p_within_ms[v_i]), p_resent[v_i], p_instance, p_boot, v_turns[v_i], v_asked,
        p_business[v_i], p_again[v_i]) o
    loop
      if v_turns[v_i] is not null and answer not in ('retry', 'late') then
        if token = p_token[v_i] and not v_granted then
          v_asked := 1; -- its own first try was committed, and counted
        end if;
        select * into v_tool from effect.tool t where t.version = p_policy[v_i];
        perform effect.turn_count(v_turns[v_i], v_tool.namespace, v_tool.name, coalesce(p_run[v_i], ''), p_turn[v_i],
          v_now, 1 - v_asked, coalesce(v_granted, false)::integer, (answer = 'exhausted' and budget <> 'key')::integer);
      end if;
      return next;
    end loop;
  end loop;
end
$$;
