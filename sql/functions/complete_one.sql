-- One complete, judged whole. Outcome `error` is the tool's own error: the row's policy says what it means, and it then is
-- exactly the message unknown, release or complete failed, its result kept as an event; but it is counted as what it was.
create or replace function effect.complete_one(
  p_id uuid, p_token uuid, p_scope text, p_policy bigint, p_outcome text, p_result text, p_bytes bigint,
  p_sha256 bytea, p_redacted boolean,
  out answer text, out shape text, out state text, out outcome text, out already boolean, out attempt integer,
  out next_probe_at timestamptz, out policy bigint, out result_secret text, out namespace text, out tool text,
  out counted text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_hold record;
  v_standing text;
  v_token_attempt integer;
  v_row effect.ledger;
  v_tool effect.tool;
  v_outcome effect.outcome;
begin
  v_hold := effect.hold(p_id, p_token, p_scope);
  v_standing := v_hold.standing;
  v_token_attempt := v_hold.token_attempt;
  v_row := v_hold.held;
  v_tool := v_hold.tool;
  shape := 'complete';
  if v_standing = 'retry' then
    answer := 'retry';
    return;
  elsif v_standing in ('gone', 'foreign') then
    answer := 'not_found';
    if v_standing = 'gone' then
      perform effect.orphan(p_id, 0, p_outcome, p_result, p_bytes, p_sha256, 'complete for an effect that is gone',
        p_policy is not null, p_scope);
    end if;
    return;
  end if;
  attempt := v_row.attempt;
  state := v_row.state;
  namespace := v_tool.namespace;
  tool := v_tool.name;
  if v_tool.result_secret is not null and p_policy is distinct from v_row.policy and p_result is not null then
    answer := 'policy';
    policy := v_row.policy;
    result_secret := v_tool.result_secret;
    return;
  end if;
  if v_standing = 'other' then
    answer := 'not_owner';
    perform effect.orphan(p_id, v_row.attempt, p_outcome, p_result, p_bytes, p_sha256, 'complete with an unknown token',
      true, p_scope);
    return;
  end if;

  if p_outcome = 'error' and v_tool.on_error <> 'failed' then
    if v_tool.on_error = 'unknown' then
      shape := 'unknown';
      select o.answer, o.state, o.next_probe_at, o.attempt, o.counted into answer, state, next_probe_at, attempt, counted
      from effect.unknown_one(p_id, p_token, p_scope, 'the tool reported an error', false, p_result, p_bytes, p_sha256) o;
    else
      shape := 'release';
      select o.answer, o.state, o.already, o.attempt, o.counted into answer, state, already, attempt, counted
      from effect.release_one(p_id, p_token, p_scope, 'the tool reported an error', false, p_result, p_bytes, p_sha256) o;
    end if;
    counted := replace(replace(counted, 'gave_up:', 'error:'), 'released:', 'error:');
    return;
  end if;
  v_outcome := (case p_outcome when 'error' then 'failed' else p_outcome end)::effect.outcome;

  if v_standing = 'earlier' and v_outcome = 'succeeded' and effect.one_call(v_row, v_tool, v_token_attempt) then
    select o.answer, o.state, o.outcome, o.already, o.counted
    into answer, state, outcome, already, counted
    from effect.complete_last(v_row, v_tool, v_outcome, p_result, p_bytes, p_sha256, p_redacted, v_token_attempt) o;
    return;
  elsif v_standing <> 'last' then
    answer := 'conflict';
    if v_outcome = 'succeeded' then
      perform effect.earlier_landed(v_row, v_tool, v_token_attempt, 'late', 'caller',
        format('attempt %s reported success late', v_token_attempt), p_result, p_bytes, p_sha256, p_redacted);
      counted := effect.escalated_by(v_row);
      state := (select l.state from effect.ledger l where l.id = p_id);
    else
      perform effect.note(p_id, 'late', v_token_attempt, format('attempt %s reported failure late', v_token_attempt),
        v_standing = 'former', p_by => 'caller', p_outcome => v_outcome, p_result => p_result, p_bytes => p_bytes,
        p_sha256 => p_sha256, p_max => effect.kept_max(v_tool));
    end if;
    return;
  end if;
  select o.answer, o.state, o.outcome, o.already, o.next_probe_at, o.counted
  into answer, state, outcome, already, next_probe_at, counted
  from effect.complete_last(v_row, v_tool, v_outcome, p_result, p_bytes, p_sha256, p_redacted) o;
  if p_outcome = 'error' then
    counted := replace(counted, 'failed:', 'error:');
  end if;
end
$$;
