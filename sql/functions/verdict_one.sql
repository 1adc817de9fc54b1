-- One verdict: judged by effect.judge_verdict under the row's lock, and done.
create or replace function effect.verdict_one(
  p_id uuid, p_attempt integer, p_probe_no integer, p_verdict text, p_reason text, p_result text, p_bytes bigint,
  p_sha256 bytea, p_redacted boolean,
  out answer text, out state text, out outcome text, out counts boolean, out absent_n integer, out absent_needed integer,
  out why text, out counted text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_hold record;
  v_standing text;
  v_row effect.ledger;
  v_tool effect.tool;
  v_judged record;
  v_again boolean; -- it landed, was said not to have, and so another attempt was granted
  v_outcome effect.outcome := case p_verdict when 'landed' then 'succeeded' when 'failed' then 'failed' end;
  v_text text := case when v_outcome is not null and p_bytes is null then coalesce(p_result, 'null') end;
  v_kind text := case when p_verdict in ('inconclusive', 'unstarted') then 'probe' else 'verdict' end;
begin
  if p_verdict not in ('landed', 'failed', 'absent', 'inconclusive', 'unasked', 'unstarted') then
    raise exception 'verdict "%" is none', p_verdict using errcode = 'ZE003';
  end if;
  v_hold := effect.hold(p_id, null, null);
  v_standing := v_hold.standing;
  v_row := v_hold.held;
  v_tool := v_hold.tool;
  if v_standing = 'retry' then
    answer := 'retry';
    return;
  elsif v_standing = 'gone' or p_attempt > v_row.attempt then
    answer := 'not_found';
    return;
  end if;

  answer := 'event';
  if p_verdict = 'unasked' then
    update effect.ledger l set
      tries = greatest(l.tries - 1, 0), probed_at = effect.now(),
      due_at = least(effect.now() + interval '1 second' * (1 + random()), l.deadline_at)
    where l.id = p_id and l.attempt = p_attempt and l.state = 'unknown' and l.probe_no = p_probe_no;
    answer := case when found then 'ok' else 'event' end;
    select l.state::text, l.outcome::text into state, outcome from effect.ledger l where l.id = p_id;
    return;
  end if;

  v_judged := effect.judge_verdict(v_row, v_tool, p_attempt, p_probe_no = v_row.probe_no, v_row.probe_at, p_verdict);
  v_again := v_judged.mine and p_attempt < v_row.attempt and effect.given_back(v_row.id, p_attempt);
  if v_judged.act = 'earlier_landed' then
    perform effect.earlier_landed(v_row, v_tool, p_attempt, 'verdict', 'probe', p_reason, p_result, p_bytes, p_sha256,
      p_redacted);
    answer := 'conflict';
    counted := effect.escalated_by(v_row);
  elsif v_judged.act in ('settle', 'reported', 'evidence') then
    perform effect.note(p_id, v_kind, p_attempt, concat_ws(': ', p_verdict, p_reason), v_row.state = 'released' or v_again,
      p_by => 'probe', p_outcome => v_outcome);
    counted := effect.resolved(v_row, 'probe');
    if v_judged.act = 'reported' then
      perform effect.settle_reported(v_row, v_tool);
    elsif v_judged.act = 'evidence' then
      perform effect.settle_by_evidence(v_row, v_tool);
    else
      perform effect.settle(v_row, v_tool, v_outcome, 'probe', p_result, p_bytes, p_sha256, p_redacted);
    end if;
    answer := 'ok';
  elsif v_judged.act in ('count', 'release') then
    if v_judged.act = 'release' then
      counted := effect.resolved(v_row, 'probe');
    end if;
    perform effect.count_probe(v_row, v_tool, p_verdict, p_reason, v_judged.act, v_judged.counts, v_judged.absent_n);
    answer := 'ok';
  elsif v_row.state = 'done' and v_row.decided_by = 'probe' and v_judged.mine and v_row.outcome = v_outcome
    and effect.same_result(v_row, p_result, p_bytes, p_sha256) then
    -- what it has decided itself, sent again after a lost connection
    counted := '?' || effect.resolved_before(v_row, 'probe');
  else
    if v_row.done_at is not null and p_probe_no = v_row.probe_no and exists (select from effect.event e
        where e.effect = p_id and e.kind = v_kind and e.attempt = p_attempt and e.decided_by = 'probe'
          and e.at between v_row.probe_at and v_row.done_at) then
      counted := '?' || effect.resolved_before(v_row, 'probe');
    end if;
    perform effect.note(p_id, v_kind, p_attempt, concat_ws(': ', p_verdict, p_reason),
      v_again or (v_row.state = 'done' and v_outcome is not null and v_judged.mine and v_outcome <> v_row.outcome),
      p_by => 'probe', p_outcome => v_outcome, p_result => v_text, p_bytes => p_bytes, p_sha256 => p_sha256,
      p_max => effect.kept_max(v_tool), p_once => true);
  end if;
  select l.state::text, l.outcome::text into state, outcome from effect.ledger l where l.id = p_id;
  counts := v_judged.counts;
  absent_n := v_judged.absent_n;
  absent_needed := v_tool.absent_needed;
  why := v_judged.why;
end
$$;
