-- One begin, judged whole, in the one order of decisions. Looks by a plain read; what must change the row locks it without
-- waiting, looks again, and answers `retry` if anything moved in between. p_not_after: nothing is granted later.
--
-- p_turn_id, p_business: budgets of a turn and the business guard, for effect.begin_guarded, which holds their locks; null is
-- none. They judge new grants alone: whatever else an effect answers comes first. p_asked: its own asks counted so far.
--
-- p_here: for effect.begin_here, whose transaction is somebody's own and may stay open for long. It locks no row but one that
-- it is granted: a lease that is over it only reads, and leaves to the sweeper. Who meets the row that it was granted is
-- told `busy` at once, as by a key that it claimed, and not to ask again until that transaction ends.
create or replace function effect.begin_one(
  p_id uuid, p_policy bigint, p_key text, p_fingerprint uuid, p_token uuid, p_request uuid, p_lease_ms integer,
  p_owner text, p_run text, p_step text, p_turn text, p_kept text, p_regrant boolean, p_not_after timestamptz,
  p_resent boolean, p_instance uuid, p_boot uuid, p_turn_id uuid default null, p_asked integer default 0,
  p_business uuid default null, p_again text default null, p_here boolean default false,
  out answer text, out attempt integer, out token uuid, out lease_until timestamptz, out lease_ms bigint,
  out protected_until timestamptz, out on_error text, out state text, out claimed_at timestamptz,
  out since timestamptz, out next_probe_at timestamptz, out owner text, out outcome text, out decided_by text,
  out done_at timestamptz, out result text, out result_state text, out result_bytes bigint, out result_sha256 bytea,
  out kept text, out budget text, out budget_max integer, out twin uuid, out twin_key text, out window_ms bigint,
  out counted text, out granted boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_now timestamptz := effect.now();
  v_tool effect.tool;
  v_seen effect.ledger;
  v_row effect.ledger;
  v_over boolean := false; -- a re-sent entry whose first try was granted, and replaced since: its token is no new one
  v_change text; -- what must be done to the row: claim, renew, regrant, retry, lapse, grant
  v_detail text := effect.lock_of(p_token); -- by which what it did is known again when it is sent again
  v_twin uuid;
  v_twin_key text;
  v_twin_attempt integer;
begin
  select * into v_tool from effect.tool t where t.version = p_policy;
  if not found then
    answer := 'no_tool';
    return;
  end if;
  if p_resent then
    -- Its own first try may still be committing on a backend whose connection was lost: wait for it, bounded; not for
    -- a transaction of somebody's own.
    if not effect.held_here(p_id) then
      perform effect.await_lock(effect.lock_of(p_id));
      v_now := effect.now();
    end if;
    v_over := exists (select from effect.event e
      where e.effect = p_id and e.token = p_token and e.kind in ('granted', 'expired'));
  end if;

  select * into v_seen from effect.ledger l where l.id = p_id;
  if not found then
    v_change := 'claim';
  elsif v_seen.token = p_token then
    v_change := 'regrant'; -- only a re-sent entry can meet its own token: its first try was committed
  elsif effect.forgotten(v_seen.state, v_seen.keep_until, v_now) then
    v_change := 'renew';
  elsif v_seen.fingerprint is distinct from p_fingerprint then
    answer := 'mismatch';
  elsif v_seen.state = 'done' then
    answer := 'replay';
  elsif (v_seen.state = 'unknown' or (v_seen.state = 'pending' and v_seen.lease_until <= v_now))
    and not v_over and effect.may_retry(v_seen, v_tool, v_now) then
    v_change := 'retry';
  elsif v_seen.state = 'pending' and v_seen.lease_until <= v_now then
    v_change := 'lapse';
  elsif v_seen.state = 'pending' and v_seen.request = p_request and not v_seen.extended
    and v_seen.instance = p_instance
    and (case when v_seen.boot = p_boot
        then p_regrant or (p_resent and effect.regranted_by(p_id, v_seen.attempt, p_token))
        else v_seen.boot < p_boot end) then
    -- An earlier boot granted it, or this one and told nobody. A begin of an earlier boot that was held up until a later
    -- one has spoken is no re-grant: whoever asks the later one was told.
    v_change := 'regrant';
  elsif v_seen.state = 'pending' then
    answer := 'busy';
  elsif v_seen.state in ('unknown', 'escalated') then
    answer := v_seen.state::text;
  elsif v_over then
    answer := 'retry';
  elsif v_seen.attempt - v_seen.base >= v_tool.max_attempts + v_seen.extra then
    answer := 'exhausted';
    budget := 'key';
    budget_max := v_tool.max_attempts + v_seen.extra;
  else
    v_change := 'grant';
  end if;

  if p_here and v_change = 'lapse' then
    answer := 'unknown';
    v_change := null;
  end if;
  if v_change in ('claim', 'renew', 'regrant', 'retry', 'grant') and v_now > p_not_after then
    answer := 'late';
    return;
  end if;
  if v_change in ('claim', 'renew', 'retry', 'grant') and p_turn_id is not null
    and not (v_change = 'grant' and v_seen.attempt - v_seen.base >= v_tool.max_attempts) then
    -- (An attempt beyond max_attempts is an operator's word, which no turn's budget overrules.)
    select * into budget, budget_max from effect.turn_spent(v_tool, p_turn_id, p_asked);
    if budget is not null and v_change = 'retry' then
      budget := null; -- as where the key's attempts are spent: it may have landed, so it is unknown and not at its end
      budget_max := null;
      answer := 'unknown';
      v_change := case when v_seen.state = 'pending' then 'lapse' end;
    elsif budget is not null then
      answer := 'exhausted';
      v_change := null;
    end if;
  end if;
  if v_change in ('claim', 'renew', 'grant') and p_business is not null then
    select * into v_twin, v_twin_key, v_twin_attempt from effect.twin(p_id, p_business, v_tool, v_now);
    if v_twin is not null and v_tool.on_business_duplicate = 'hold' and p_again is null then
      answer := 'held';
      v_change := null;
      perform effect.note_refused(v_twin, v_twin_attempt, 'held', p_key, p_run);
    end if;
  end if;
  if v_change = 'claim' then
    answer := effect.claim(p_id, p_policy, p_key, p_fingerprint, p_token, p_request, coalesce(p_lease_ms,
      v_tool.lease_ms), p_owner, p_run, p_step, p_turn, p_kept, p_instance, p_boot, v_now, v_tool.keep_key_ms,
      p_resent, p_business);
    if answer <> 'run' then
      state := 'pending';
      return;
    end if;
  elsif v_change is not null then
    select * into v_row from effect.ledger l where l.id = p_id for update skip locked;
    if not found and v_change <> 'regrant' and not p_resent and effect.held_here(p_id) then
      answer := 'busy';
      state := 'pending';
      return;
    elsif not found or v_row is distinct from v_seen then
      answer := 'retry';
      return;
    end if;
    if v_change = 'lapse' then
      perform effect.turn_unknown(v_row, 'lapsed', null, p_detail => v_detail);
      counted := effect.counted('lapsed', v_row.claimed_at, v_now);
      answer := 'unknown';
    elsif v_change = 'regrant' then
      answer := effect.regrant(v_row, v_now, p_instance, p_boot, p_token);
      if answer = 'unknown' then
        counted := effect.counted('lapsed', v_row.claimed_at, v_now);
      end if;
    else
      if v_row.state = 'pending' then
        counted := effect.counted('lapsed', v_row.claimed_at, v_now);
        v_row := effect.turn_unknown(v_row, 'lapsed', null, p_detail => v_detail);
      end if;
      perform effect.grant(v_row, v_change, p_policy, p_fingerprint, p_token, p_request,
        coalesce(p_lease_ms, v_tool.lease_ms), p_owner, p_run, p_step, p_turn, p_kept, p_instance, p_boot, v_now,
        v_tool.keep_key_ms, p_business);
      answer := 'run';
    end if;
  end if;

  if v_change is not null then
    select * into v_seen from effect.ledger l where l.id = p_id;
  end if;
  granted := answer = 'run' and v_change is distinct from 'regrant';
  if granted or answer = 'held' then
    twin := v_twin;
    twin_key := v_twin_key;
    window_ms := v_tool.business_window_ms;
  end if;
  if granted and twin is not null then
    perform effect.note(p_id, 'duplicate', v_seen.attempt, format('of %s, %s', twin, twin_key) || coalesce(': ' || p_again, ''),
      p_by => case when p_again is not null then 'caller' end, p_detail => p_again);
  end if;
  if p_resent and counted is null then
    counted := effect.begun(v_seen, v_detail, v_change = 'regrant');
  end if;
  if answer in ('mismatch', 'unknown', 'escalated', 'exhausted') and v_seen.id is not null then
    perform effect.note_refused(p_id, v_seen.attempt, answer, p_run => p_run,
      p_kept => case when answer = 'mismatch' then v_seen.kept end, p_asked => p_kept);
  end if;
  attempt := v_seen.attempt;
  state := v_seen.state;
  claimed_at := v_seen.claimed_at;
  lease_until := v_seen.lease_until;
  protected_until := v_seen.keep_until;
  owner := v_seen.owner;
  since := coalesce(v_seen.since, case when answer = 'unknown' then v_seen.lease_until end);
  next_probe_at := effect.next_probe_at(v_seen);
  kept := v_seen.kept;
  if answer = 'run' then
    token := v_seen.token;
    since := case when granted or v_seen.token = p_token then v_seen.open_from end;
    lease_ms := ceil(extract(epoch from v_seen.lease_until - v_now) * 1000);
    on_error := (select t.on_error from effect.tool t where t.version = v_seen.policy);
  elsif answer = 'replay' then
    outcome := v_seen.outcome;
    decided_by := v_seen.decided_by;
    done_at := v_seen.done_at;
    result_state := effect.result_now(v_seen.result_state, v_seen.due_at, v_now);
    result := case when result_state <> 'expired' then v_seen.result end;
    counted := effect.counted('replay_age', done_at, v_now)
      || case when result_state = 'expired' then effect.counted(' expired', done_at, v_now) else '' end;
    result_bytes := v_seen.result_bytes;
    result_sha256 := v_seen.result_sha256;
  end if;
end
$$;
