-- effect.execute_begin: the claim of a tool whose call is a statement of this very transaction, and whose record is, too. By
-- effect.begin_guarded, so that not one rule stands here; rows are its rows. For the role that the policy names, in a
-- transaction that goes on, where it is told `run`, with the tool's statement and effect.execute_done, and else ends.
--
-- Who could see it pending? Nobody: it is committed done or not at all. Others are told `busy` at once, by the locks of
-- effect.begin_here; the same request is told `retry`, as it is not busy against itself. Nobody is told a grant again either
-- (p_regrant is false): what is pending here was granted by begin, to somebody who makes the call himself.
--
-- p_resent: its COMMIT was sent before, on a connection that was lost. Its backend is waited for, bounded, and while its lock
-- is there the answer is `retry`. Then the row decides: `ran`, written once more so that this commit waits for a
-- synchronous standby as that one did; or nothing of it was committed, and it is judged as a new one.
create or replace function effect.execute_begin(
  p_id uuid, p_policy bigint, p_key text, p_fingerprint uuid, p_token uuid, p_request uuid, p_owner text, p_run text,
  p_step text, p_turn text, p_kept text, p_business uuid, p_again text, p_counted boolean, p_resent boolean)
returns table (
  ord integer, answer text, attempt integer, token uuid, lease_until timestamptz, lease_ms bigint,
  protected_until timestamptz, on_error text, state text, claimed_at timestamptz, since timestamptz,
  next_probe_at timestamptz, owner text, outcome text, decided_by text, done_at timestamptz, result text,
  result_state text, result_bytes bigint, result_sha256 bytea, kept text, budget text, budget_max integer,
  twin uuid, twin_key text, window_ms bigint, counted text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_tool effect.tool;
begin
  perform effect.enter(1, 1);
  ord := 1;
  select * into v_tool from effect.tool t where t.version = p_policy;
  if not found then
    answer := 'no_tool';
    return next;
    return;
  end if;
  perform effect.check_here(v_tool.namespace, v_tool.name, p_key);
  if v_tool.policy::jsonb -> 'execute' ->> 'user' is distinct from effect.caller() then
    raise exception 'role "%" may not execute tool "%" in namespace "%"', effect.caller(), v_tool.name, v_tool.namespace
      using errcode = 'ZE006';
  end if;
  if p_id is distinct from effect.id(v_tool.namespace, v_tool.name, p_key) then
    raise exception 'effect % is not that of its key', p_id using errcode = 'ZE003';
  end if;
  -- A role may send what no daemon would, and others are told it.
  if greatest(octet_length(p_owner), octet_length(p_run), octet_length(p_step), octet_length(p_turn)) > 255
    or octet_length(p_again) > 1000 or json_typeof(p_kept::json) <> 'object' then
    raise exception 'words of at most 255 bytes, a reason of at most 1000, and an object' using errcode = 'ZE003';
  end if;
  if p_resent then
    perform effect.await_lock(effect.lock_of(p_id));
  end if;
  -- one look: the first try may be committed at any moment
  select l.attempt, l.keep_until, l.done_at, l.result_state::text, l.state::text
  into attempt, protected_until, done_at, result_state, state
  from effect.ledger l where l.id = p_id and l.token = p_token;
  if found and p_resent and state = 'done' then
    perform effect.touch(p_id);
    state := null;
    answer := 'ran';
    return next;
    return;
  elsif found then
    raise exception 'the token of effect % is not a new one', p_id using errcode = 'ZE003';
  end if;
  if p_request is not null and not pg_try_advisory_xact_lock(effect.lock_of(p_id, p_request)) then
    answer := 'retry';
    return next;
    return;
  end if;
  return query select * from effect.begin_guarded(array[p_id], array[p_policy], array[p_key], array[p_fingerprint],
    array[p_token], array[p_request], array[null::integer], array[p_owner], array[p_run], array[p_step], array[p_turn],
    array[p_kept], array[false], array[null::integer], array[p_resent], array[p_business], array[p_again],
    array[p_counted], effect.now(), null, null);
  if exists (select from effect.ledger l where l.id = p_id and l.token = p_token) then
    while not pg_try_advisory_xact_lock(effect.lock_of_here(p_id)) loop
      perform pg_sleep(0.001); -- somebody is looking (effect.held_here)
    end loop;
  end if;
end
$$;
