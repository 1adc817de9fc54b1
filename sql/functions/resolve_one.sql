-- One resolve, judged whole. unknown and escalated rows take any verdict, but a row proven to have landed is not declared
-- absent. A released row takes landed, and absent only where its attempts are spent: it then gets one more. A done row
-- takes landed over failed only.
create or replace function effect.resolve_one(
  p_id uuid, p_scope text, p_verdict text, p_attempt integer, p_state text, p_reason text, p_evidence text,
  p_policy bigint, p_result text, p_bytes bigint, p_sha256 bytea, p_redacted boolean, p_by text,
  out answer text, out state text, out attempt integer, out policy bigint, out result_secret text,
  out namespace text, out tool text, out counted text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_hold record;
  v_standing text;
  v_row effect.ledger;
  v_tool effect.tool;
  v_outcome effect.outcome := case p_verdict when 'landed' then 'succeeded' when 'failed' then 'failed' end;
  v_detail text := p_verdict || ' of ' || p_state; -- by which one's own resolve is known again
  v_spent boolean;
begin
  if p_verdict not in ('landed', 'failed', 'absent') then
    raise exception 'verdict "%" is none', p_verdict using errcode = 'ZE003';
  end if;
  v_hold := effect.hold(p_id, null, p_scope);
  v_standing := v_hold.standing;
  v_row := v_hold.held;
  v_tool := v_hold.tool;
  if v_standing = 'retry' then
    answer := 'retry';
    return;
  elsif v_standing in ('gone', 'foreign') then
    answer := 'not_found';
    return;
  end if;
  state := v_row.state;
  attempt := v_row.attempt;
  namespace := v_tool.namespace;
  tool := v_tool.name;
  if p_result is not null and v_tool.result_secret is not null and p_policy is distinct from v_row.policy then
    answer := 'policy';
    policy := v_row.policy;
    result_secret := v_tool.result_secret;
    return;
  end if;

  if effect.resolved_so(v_row, p_attempt, v_detail, p_by, p_reason) then
    if v_row.done_at is not null then
      counted := '?' || effect.resolved_before(v_row, 'operator');
    end if;
    perform effect.touch(p_id);
    answer := 'ok';
    return;
  end if;
  v_spent := v_row.attempt - v_row.base >= v_tool.max_attempts + v_row.extra;
  answer := 'conflict';
  if p_attempt <> v_row.attempt or p_state <> v_row.state::text then
    return;
  end if;

  if v_outcome is not null and (v_row.state in ('unknown', 'escalated')
      or (p_verdict = 'landed' and (v_row.state = 'released'
        or (v_row.state = 'done' and v_row.outcome = 'failed')))) then
    perform effect.note(p_id, 'resolved', p_attempt, p_reason, p_by => p_by, p_outcome => v_outcome,
      p_detail => v_detail, p_evidence => p_evidence);
    counted := effect.resolved(v_row, 'operator');
    perform effect.settle(v_row, v_tool, v_outcome, 'operator', p_result, p_bytes, p_sha256, p_redacted);
    answer := 'ok';
    state := 'done';
  elsif p_verdict = 'absent' and v_row.state in ('unknown', 'escalated') and v_row.evidence is null then
    counted := effect.resolved(v_row, 'operator');
    perform effect.let_go(v_row, v_tool, 'resolved', p_reason, p_by, p_detail => v_detail, p_evidence => p_evidence);
    if v_spent then
      perform effect.one_more(p_id);
    end if;
    answer := 'ok';
    state := 'released';
  elsif p_verdict = 'absent' and v_row.state = 'released' and v_spent then
    perform effect.note(p_id, 'resolved', p_attempt, p_reason, p_by => p_by, p_detail => v_detail,
      p_evidence => p_evidence);
    perform effect.one_more(p_id);
    answer := 'ok';
  end if;
end
$$;
