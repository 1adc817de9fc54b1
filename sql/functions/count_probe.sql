-- An absent, inconclusive or unstarted word of the newest probe about a locked unknown row: counted, or not, and the next
-- probe appointed. Back-off grows along the policy's list with up to a fifth of jitter; never past the deadline. A probe
-- that could not be started says nothing about the provider: absents before and after it are still in a row.
create or replace function effect.count_probe(p_row effect.ledger, p_tool effect.tool, p_verdict text, p_reason text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := effect.now();
  v_counts boolean := p_verdict = 'absent'
    and p_row.probe_at >= p_row.ended_at + effect.ms(p_tool.settle_ms)
    -- one word of a probe counts once, also when it is sent again after a lost connection and nothing need settle
    and (p_row.absent_at is null or (p_row.probe_at > p_row.absent_at
      and p_row.probe_at >= p_row.absent_at + effect.ms(p_tool.settle_ms)));
  v_next timestamptz := v_now + effect.backoff(p_tool, p_row.tries);
begin
  if v_counts and p_row.absent_n + 1 >= p_tool.absent_needed then
    perform effect.note(p_row.id, 'verdict', p_row.attempt, concat_ws(': ', 'absent', p_reason), p_by => 'probe');
    perform effect.let_go(p_row, p_tool, 'released', format('absent %s times', p_row.absent_n + 1), 'probe');
    return;
  end if;
  if v_counts then
    v_next := greatest(v_next, p_row.probe_at + effect.ms(p_tool.settle_ms));
  end if;
  update effect.ledger l set
    due_at = least(v_next, l.deadline_at),
    absent_n = case when v_counts then l.absent_n + 1 when p_verdict in ('absent', 'unstarted') then l.absent_n else 0 end,
    absent_at = case when v_counts then l.probe_at when p_verdict in ('absent', 'unstarted') then l.absent_at end
  where l.id = p_row.id and l.token = p_row.token and l.state = 'unknown';
  perform effect.note(p_row.id, case p_verdict when 'absent' then 'verdict' else 'probe' end, p_row.attempt,
    concat_ws(': ', p_verdict || case when p_verdict = 'absent' and not v_counts then ' (too early to count)' else '' end,
      p_reason), p_by => 'probe');
end
$$;
