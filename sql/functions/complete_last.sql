-- A complete by the newest token, on a locked row: the first line of the table of states. p_attempt: by the token of this former
-- attempt, which the provider takes for one call with the newest (effect.one_call); it succeeded.
create or replace function effect.complete_last(
  p_row effect.ledger, p_tool effect.tool, p_outcome effect.outcome, p_result text, p_bytes bigint, p_sha256 bytea,
  p_redacted boolean, p_attempt integer default null,
  out answer text, out state text, out outcome text, out already boolean, out next_probe_at timestamptz,
  out counted text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_attempt integer := coalesce(p_attempt, p_row.attempt);
  v_same boolean;
  v_given_back boolean;
  v_row effect.ledger;
  v_claimed_at timestamptz := p_row.claimed_at;
begin
  answer := 'ok';
  already := false;
  if p_row.state = 'done' then
    v_same := effect.same_result(p_row, p_result, p_bytes, p_sha256);
    if p_row.outcome = p_outcome and (v_same or p_row.decided_by <> 'caller') then
      if not v_same then
        -- It agrees with a probe or a person; the caller's own words are kept beside theirs.
        perform effect.note(p_row.id, 'late', v_attempt, 'the caller agrees', p_by => 'caller',
          p_outcome => p_outcome, p_result => p_result, p_bytes => p_bytes, p_sha256 => p_sha256,
          p_max => effect.kept_max(p_tool));
      end if;
      if p_row.evidence is not null and p_row.decided_by <> 'caller' and p_outcome = 'succeeded' then
        perform effect.both_landed(p_row, v_attempt);
      end if;
      if p_attempt is not null and effect.given_back(p_row.id, p_attempt) then
        perform effect.note(p_row.id, 'late', p_attempt, 'reported after the release', true, p_by => 'caller',
          p_outcome => p_outcome, p_result => p_result, p_bytes => p_bytes, p_sha256 => p_sha256,
          p_max => effect.kept_max(p_tool));
      end if;
      if p_row.decided_by = 'caller' and p_attempt is null then
        counted := effect.counted_before(case p_outcome when 'succeeded' then 'completed' else 'failed' end, p_row.claimed_at,
          p_row.done_at, effect.resolved_before(p_row, 'caller', true));
      end if;
      perform effect.touch(p_row.id);
      state := 'done';
      outcome := p_row.outcome;
      already := true;
      return;
    end if;
    answer := 'conflict';
    state := 'done';
    perform effect.note(p_row.id, 'late', v_attempt, 'another outcome stands', true, p_by => 'caller',
      p_outcome => p_outcome, p_result => p_result, p_bytes => p_bytes, p_sha256 => p_sha256,
      p_max => effect.kept_max(p_tool));
    return;
  end if;

  if p_outcome = 'failed' and p_row.evidence is not null then
    -- An earlier attempt landed: a refusal of this one ("already refunded") does not undo that.
    perform effect.note(p_row.id, 'late', p_row.attempt, 'refused, but an earlier attempt landed', p_by => 'caller',
      p_outcome => p_outcome, p_result => p_result, p_bytes => p_bytes, p_sha256 => p_sha256,
      p_max => effect.kept_max(p_tool));
    counted := effect.resolved(p_row, 'caller');
    perform effect.settle_by_evidence(p_row, p_tool);
    answer := 'conflict';
    state := 'done';
    return;
  end if;

  if p_outcome = 'failed' and p_row.open_from is not null and p_row.state = 'escalated' then
    -- An earlier attempt may have landed, and a person has been asked: this is for the person.
    perform effect.note(p_row.id, 'late', p_row.attempt, 'reported failed, but an earlier attempt is open', p_by => 'caller',
      p_outcome => p_outcome, p_result => p_result, p_bytes => p_bytes, p_sha256 => p_sha256,
      p_max => effect.kept_max(p_tool));
    answer := 'conflict';
    state := 'escalated';
    return;
  end if;

  if p_outcome = 'failed' and p_row.attempt > 1 and (p_tool.has_probe or p_row.open_from is not null)
    and p_row.state in ('pending', 'unknown') then
    -- The provider may be saying "already refunded": it is asked once before the refusal stands. Where it may be saying so
    -- of an attempt that is open, the refusal does not stand before that one is settled, too.
    already := p_row.outcome is not null;
    if already then
      if not effect.same_result(p_row, p_result, p_bytes, p_sha256) then
        perform effect.note(p_row.id, 'late', p_row.attempt, 'reported failed again', p_by => 'caller',
          p_outcome => p_outcome, p_result => coalesce(p_result, case when p_bytes is null then 'null' end),
          p_bytes => p_bytes, p_sha256 => p_sha256, p_max => effect.kept_max(p_tool));
      end if;
      counted := effect.counted_before('failed', p_row.claimed_at, p_row.since);
      perform effect.touch(p_row.id);
      v_row := p_row;
    else
      counted := concat_ws(' ', effect.counted('failed', p_row.claimed_at, effect.now()),
        case when p_row.state = 'unknown' then effect.counted('late', p_row.claimed_at, effect.now()) end);
      v_row := effect.report_failed(p_row, p_tool, p_result, p_bytes, p_sha256, p_redacted);
    end if;
    state := 'unknown';
    outcome := 'failed';
    next_probe_at := effect.next_probe_at(v_row);
    return;
  end if;

  if p_attempt is not null then
    v_claimed_at := effect.attempt_at(p_row, p_attempt);
  end if;
  counted := concat_ws(' ', effect.counted(case p_outcome when 'succeeded' then 'completed' else 'failed' end, v_claimed_at,
    effect.now()), effect.resolved(p_row, 'caller', true));
  v_given_back := p_row.state = 'released' or ((p_attempt is not null or p_row.open_from is not null)
    and effect.given_back(p_row.id, v_attempt));
  if v_given_back then
    perform effect.note(p_row.id, 'late', v_attempt, 'reported after the release', true, p_by => 'caller',
      p_outcome => p_outcome, p_result => p_result, p_bytes => p_bytes, p_sha256 => p_sha256,
      p_max => effect.kept_max(p_tool));
  elsif p_row.evidence is not null then
    perform effect.both_landed(p_row, v_attempt);
  elsif p_row.state in ('unknown', 'escalated') or p_attempt is not null then
    perform effect.note(p_row.id, 'late', v_attempt, format('reported while %s', p_row.state), p_by => 'caller',
      p_outcome => p_outcome);
  end if;
  perform effect.settle(p_row, p_tool, p_outcome, 'caller', p_result, p_bytes, p_sha256, p_redacted);
  state := 'done';
  outcome := p_outcome;
end
$$;
