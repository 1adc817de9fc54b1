-- An absent, inconclusive or unstarted word of the newest probe about a locked unknown row, as it was judged: counted, or not,
-- and the next probe appointed. Back-off grows along the policy's list with up to a fifth of jitter; never past the deadline.
create or replace function effect.count_probe(
  p_row effect.ledger, p_tool effect.tool, p_verdict text, p_reason text, p_act text, p_counts boolean, p_absent_n integer)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := effect.now();
  v_next timestamptz := v_now + effect.backoff(p_tool, p_row.tries);
begin
  if p_act = 'release' then
    perform effect.note(p_row.id, 'verdict', p_row.attempt, concat_ws(': ', 'absent', p_reason), p_by => 'probe');
    perform effect.let_go(p_row, p_tool, 'released', format('absent %s times', p_absent_n), 'probe');
    return;
  end if;
  if p_counts then
    v_next := greatest(v_next, p_row.probe_at + effect.ms(p_tool.settle_ms));
  end if;
  update effect.ledger l set
    probed_at = v_now, due_at = least(v_next, l.deadline_at), absent_n = p_absent_n,
    absent_at = case when p_counts then l.probe_at when p_absent_n > 0 then l.absent_at end
  where l.id = p_row.id and l.token = p_row.token and l.state = 'unknown';
  perform effect.note(p_row.id, case p_verdict when 'absent' then 'verdict' else 'probe' end, p_row.attempt,
    concat_ws(': ', p_verdict || case when p_verdict = 'absent' and not p_counts then ' (too early to count)' else '' end,
      p_reason), p_by => 'probe');
end
$$;
