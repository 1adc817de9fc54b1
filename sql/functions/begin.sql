-- effect.begin: claim, or say why not. One row out per row in (sql/README.md has the shapes).
--
-- A key without a row goes on numbering the attempts of its former lives, as far as their events are still kept, so that
-- a token or a verdict of a former life is never taken for one of this.
--
-- Three passes, each over what the one before left: (1) effects without a row are claimed in one insert; (2) what a
-- plain read can answer is read: replay and busy; (3) the rest, one by one in ordinal order, by effect.begin_one, which
-- judges every case by itself and is what a single begin goes through too.
--
-- Who could be told `run` twice? Two inserts of one id: the primary key lets one in. An insert and a re-sent insert: the
-- re-sent one never goes through pass 1 and must find its own token. Two grants of a released row: begin_one holds
-- the row's lock and looks again under it. The same id twice in one batch: pass 1 takes the first only, pass 3 sees
-- what pass 1 wrote.
create or replace function effect.begin(
  p_id uuid[], p_policy bigint[], p_key text[], p_fingerprint uuid[], p_token uuid[], p_request uuid[],
  p_lease_ms integer[], p_owner text[], p_run text[], p_step text[], p_turn text[], p_kept text[],
  p_regrant boolean[], p_within_ms integer[], p_resent boolean[],
  p_asked_at timestamptz, p_instance uuid, p_boot uuid)
returns table (
  ord integer, answer text, attempt integer, token uuid, lease_until timestamptz, lease_ms bigint,
  protected_until timestamptz, on_error text, state text, claimed_at timestamptz, since timestamptz,
  next_probe_at timestamptz, owner text, outcome text, decided_by text, done_at timestamptz, result text,
  result_state text, result_bytes bigint, result_sha256 bytea, kept text, budget text, budget_max integer, counted text)
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
  v_rest integer[] := '{}';
  v_i integer;
  v_policy bigint;
  v_tool effect.tool;
begin
  perform effect.enter(v_n, cardinality(p_policy), cardinality(p_key), cardinality(p_fingerprint), cardinality(p_token),
    cardinality(p_request), cardinality(p_lease_ms), cardinality(p_owner), cardinality(p_run), cardinality(p_step),
    cardinality(p_turn), cardinality(p_kept), cardinality(p_regrant), cardinality(p_within_ms),
    cardinality(p_resent));
  v_now := effect.now();
  v_answered := array_fill(false, array[v_n]);

  -- No join back to the input: its place among the ids says which entry a row came from. The look for a row is no `exists`:
  -- planned on a small table that becomes a hash of all ids, and stays one.
  for ord, attempt, token, lease_until, protected_until, claimed_at, v_policy in
    insert into effect.ledger as l (id, token, fingerprint, request, instance, boot, policy, claimed_at, due_at,
      keep_until, lease_until, attempt, base, state, key, owner, run, step, turn, kept)
    select f.id, f.token, f.fingerprint, f.request, case when f.request is not null then p_instance end,
      case when f.request is not null then p_boot end, f.policy, v_now, v_now + effect.ms(f.lease_ms),
      v_now + effect.ms(f.keep_key_ms), v_now + effect.ms(f.lease_ms), f.base + 1, f.base, 'pending', f.key,
      f.owner, f.run, f.step, f.turn, f.kept
    from (
      select u.id, u.policy, u.key, u.fingerprint, u.token, u.request, coalesce(u.lease_ms, t.lease_ms) as lease_ms,
        u.owner, u.run, u.step, u.turn, u.kept, t.keep_key_ms,
        coalesce((select max(e.attempt) from effect.event e where e.effect = u.id), 0) as base
      from unnest(p_id, p_policy, p_key, p_fingerprint, p_token, p_request, p_lease_ms, p_owner, p_run, p_step, p_turn,
          p_kept, p_within_ms, p_resent)
        with ordinality as u(id, policy, key, fingerprint, token, request, lease_ms, owner, run, step, turn, kept,
          within_ms, resent, ord)
        join effect.tool t on t.version = u.policy
      where case
        when u.resent or u.ord <> array_position(p_id, u.id) or v_now > p_asked_at + effect.ms(u.within_ms)
          or (select true from effect.ledger r where r.id = u.id) then false
        else pg_try_advisory_xact_lock(effect.lock_of(u.id))
          and (u.request is null or pg_try_advisory_xact_lock(effect.lock_of(u.id, u.request)))
        end
      order by u.id
      offset 0) as f
    on conflict (id) do nothing
    returning array_position(p_id, l.id), l.attempt, l.token, l.lease_until, l.keep_until, l.claimed_at, l.policy
  loop
    if v_policy is distinct from v_tool.version then
      select * into v_tool from effect.tool t where t.version = v_policy;
    end if;
    answer := 'run';
    state := 'pending';
    lease_ms := coalesce(p_lease_ms[ord], v_tool.lease_ms);
    on_error := v_tool.on_error;
    v_answered[ord] := true;
    v_n_answered := v_n_answered + 1;
    return next;
  end loop;
  if v_n_answered = v_n then
    return;
  end if;

  token := null;
  lease_ms := null;
  on_error := null;
  for ord, answer, attempt, protected_until, state, claimed_at, lease_until, owner, outcome, decided_by, done_at,
      result, result_state, result_bytes, result_sha256, counted in
    select u.ord::integer,
      case
        when u.resent or l.id is null or effect.forgotten(l.state, l.keep_until, v_now)
          or l.fingerprint is distinct from u.fingerprint or l.request = u.request then null
        when l.state = 'done' then 'replay'
        when l.state = 'pending' and l.lease_until > v_now then 'busy'
      end,
      l.attempt, l.keep_until, l.state::text, l.claimed_at, l.lease_until, l.owner, l.outcome::text, l.decided_by::text,
      l.done_at, l.result, effect.result_now(l.result_state, l.due_at, v_now), l.result_bytes, l.result_sha256,
      case when l.state = 'done' then effect.counted('replay_age', l.done_at, v_now) end
    from unnest(p_id, p_fingerprint, p_request, p_resent)
        with ordinality as u(id, fingerprint, request, resent, ord)
      left join effect.ledger l on l.id = u.id
    where not v_answered[u.ord]
    order by u.ord
  loop
    if answer is null then
      v_rest := v_rest || ord;
    else
      if result_state = 'expired' then
        result := null;
        counted := counted || effect.counted(' expired', done_at, v_now);
      end if;
      return next;
    end if;
  end loop;

  foreach v_i in array v_rest loop
    return query select v_i, o.answer, o.attempt, o.token, o.lease_until, o.lease_ms, o.protected_until, o.on_error, o.state,
      o.claimed_at, o.since, o.next_probe_at, o.owner, o.outcome, o.decided_by, o.done_at, o.result, o.result_state,
      o.result_bytes, o.result_sha256, o.kept, o.budget, o.budget_max, o.counted
    from effect.begin_one(p_id[v_i], p_policy[v_i], p_key[v_i], p_fingerprint[v_i],
      p_token[v_i], p_request[v_i], p_lease_ms[v_i], p_owner[v_i], p_run[v_i], p_step[v_i], p_turn[v_i], p_kept[v_i],
      p_regrant[v_i], p_asked_at + effect.ms(p_within_ms[v_i]), p_resent[v_i], p_instance, p_boot) o;
  end loop;
end
$$;
