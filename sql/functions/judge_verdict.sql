-- What a probe's word about a row decides. Nothing is done about it here: effect.verdict_one acts on it, effect.would tells it.
-- p_newest: it is the newest probe's word; p_started_at: when that probe was started.
--
-- act: settle (done with what the probe says), reported (the `failed` that its caller reported stands), evidence (done by the
-- proof that an earlier attempt landed), earlier_landed (that proof has come), release, count (only the next probe moves),
-- event (nothing changes). state, outcome: the row's then; counts: it is one more absent in a row, absent_n: of so many.
--
-- `landed` and `failed` are final, whichever probe of the attempt says so. An `absent` counts only on an unknown row, from the
-- newest probe, started at least `settle` after the attempt's end and after the absent counted before; `absent_needed` of them
-- in a row release. A probe that could not be started says nothing about the provider: absents before and after it are still
-- in a row. mine: it is about the newest attempt, or the `landed` of a former one that the provider takes for one call with it.
create or replace function effect.judge_verdict(
  p_row effect.ledger, p_tool effect.tool, p_attempt integer, p_newest boolean, p_started_at timestamptz, p_verdict text,
  out act text, out state text, out outcome text, out counts boolean, out absent_n integer, out why text,
  out mine boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_outcome text := case p_verdict when 'landed' then 'succeeded' when 'failed' then 'failed' end;
begin
  act := 'event';
  state := p_row.state;
  outcome := p_row.outcome;
  counts := false;
  absent_n := p_row.absent_n;
  mine := p_attempt = p_row.attempt or (p_verdict = 'landed' and effect.one_call(p_row, p_tool, p_attempt));
  if not mine and p_verdict = 'landed' then
    act := 'earlier_landed';
    why := 'an earlier attempt landed';
    if p_attempt > p_row.base and p_row.state <> 'done' then
      state := 'escalated';
      outcome := null;
    end if;
  elsif not mine then
    why := 'a later attempt was granted since';
  elsif p_row.state = 'unknown' and p_row.outcome is not null
    and (v_outcome is not null or (p_newest and p_verdict <> 'unstarted' and p_row.open_from is null)) then
    -- The caller reported `failed`; this is the one word it waited for. (Any word will do only where nothing else is open.)
    act := case p_verdict when 'landed' then 'settle' else 'reported' end;
    why := case p_verdict when 'landed' then 'the provider knows better than the failure that was reported'
      else 'the failure that was reported stands' end;
    state := 'done';
    outcome := coalesce(v_outcome, 'failed');
  elsif v_outcome is not null and (p_row.state in ('unknown', 'escalated', 'released')
      or (p_row.state = 'pending' and p_attempt < p_row.attempt)) then
    act := 'settle';
    why := p_verdict || ' is final';
    state := 'done';
    outcome := v_outcome;
    if v_outcome = 'failed' and p_row.evidence is not null then
      act := 'evidence';
      why := 'an earlier attempt is proven to have landed';
      outcome := 'succeeded';
    end if;
  elsif p_row.state = 'unknown' and p_newest and p_verdict = 'absent' then
    act := 'count';
    if coalesce(p_started_at < p_row.ended_at + effect.ms(p_tool.settle_ms), true) then
      why := 'too early to count: not yet settled since the attempt ended';
    elsif p_started_at < p_row.absent_at + effect.ms(p_tool.settle_ms) or p_started_at <= p_row.absent_at then
      -- one word of a probe counts once, also when it is sent again after a lost connection and nothing need settle
      why := 'too early to count: not yet settled since the absent before';
    else
      counts := true;
      absent_n := absent_n + 1;
      why := 'absent, and more of it is needed';
      if absent_n >= p_tool.absent_needed then
        act := 'release';
        state := 'released';
        outcome := null;
        why := 'absent as often as is needed';
        if p_row.outcome is not null then
          act := 'reported';
          state := 'done';
          outcome := 'failed';
        end if;
      end if;
    end if;
  elsif p_row.state = 'unknown' and p_newest then
    act := 'count';
    why := case p_verdict when 'unstarted' then 'nobody was asked' else 'it could not be told' end;
    if p_verdict <> 'unstarted' then
      absent_n := 0;
    end if;
  elsif p_row.state = 'done' then
    why := 'it is done';
  elsif p_row.state = 'pending' then
    why := 'its holder has the word until the lease is over';
  elsif p_row.state = 'escalated' then
    why := 'only a person can tell now, or a probe that knows';
  else
    why := 'nothing is open';
  end if;
end
$$;
