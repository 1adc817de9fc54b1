-- One unknown, judged whole. On a row that is unknown already the state stays, but a wrapper that speaks was alive until
-- now: its attempt may have ended only now, so settle restarts.
create or replace function effect.unknown_one(
  p_id uuid, p_token uuid, p_scope text, p_reason text, p_closed boolean, p_result text default null,
  p_bytes bigint default null, p_sha256 bytea default null,
  out answer text, out state text, out next_probe_at timestamptz, out attempt integer, out namespace text, out tool text,
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
begin
  v_hold := effect.hold(p_id, p_token, p_scope);
  v_standing := v_hold.standing;
  v_token_attempt := v_hold.token_attempt;
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
  if v_standing <> 'last' then
    answer := 'not_owner';
    perform effect.late_word(v_standing, v_token_attempt, v_row, v_tool, 'unknown', p_reason, p_result, p_bytes, p_sha256,
      p_closed);
    return;
  end if;
  answer := 'ok';
  if v_row.state = 'pending' then
    counted := effect.counted(case when p_closed then 'closed' else 'gave_up' end, v_row.claimed_at, effect.now());
    v_row := effect.turn_unknown(v_row, case when p_closed then 'closed' else 'unknown' end, p_reason, p_result,
      p_bytes, p_sha256);
    state := 'unknown';
  elsif p_closed then
    if v_row.state = 'unknown' and v_row.lost and exists (select from effect.event e
        where e.effect = p_id and e.kind = 'closed' and e.attempt = v_row.attempt) then
      counted := effect.counted_before('closed', v_row.claimed_at, v_row.since);
    end if;
  else
    if v_row.state = 'unknown' and not v_row.lost and v_row.outcome is null then
      counted := effect.counted_before('gave_up', v_row.claimed_at, v_row.since);
    end if;
    if v_row.state = 'unknown' then
      v_row := effect.restart_settle(v_row);
    else
      perform effect.touch(p_id);
    end if;
    if p_result is not null or p_bytes is not null then
      perform effect.note(p_id, 'late', v_row.attempt, p_reason, p_by => 'caller', p_result => p_result,
        p_bytes => p_bytes, p_sha256 => p_sha256, p_max => effect.kept_max(v_tool));
    end if;
  end if;
  next_probe_at := effect.next_probe_at(v_row);
end
$$;
