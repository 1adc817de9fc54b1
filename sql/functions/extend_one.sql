-- One extend, judged whole. A lease never gets shorter, never reaches past claimed_at + hold_max, and is never revived
-- once it ran out: then the row turns unknown here, and settle counts from now, as the holder was evidently alive. One that
-- hold_max cuts short leaves an event, and is counted.
create or replace function effect.extend_one(p_id uuid, p_token uuid, p_scope text, p_lease_ms integer,
  out answer text, out state text, out lease_until timestamptz, out attempt integer, out namespace text, out tool text,
  out counted text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_hold record;
  v_standing text;
  v_token_attempt integer;
  v_row effect.ledger;
  v_tool effect.tool;
  v_wanted timestamptz;
  v_until timestamptz;
begin
  v_hold := effect.hold(p_id, p_token, p_scope);
  v_standing := v_hold.standing;
  v_token_attempt := v_hold.token_attempt;
  v_row := v_hold.held;
  v_tool := v_hold.tool;
  v_now := effect.now();
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
  answer := 'not_owner';
  if v_standing <> 'last' then
    perform effect.late_word(v_standing, v_token_attempt, v_row, v_tool, 'extend', null, null, null, null);
  elsif v_row.state = 'done' then
    perform effect.touch(p_id);
    answer := 'ok';
  elsif v_row.state = 'unknown' then
    perform effect.restart_settle(v_row);
  elsif v_row.state = 'pending' and v_row.lease_until <= v_now then
    counted := effect.counted('lapsed', v_row.claimed_at, v_now);
    v_row := effect.turn_unknown(v_row, 'lapsed', 'found by extend');
    perform effect.restart_settle(v_row);
    state := 'unknown';
  elsif v_row.state = 'pending' then
    v_wanted := v_now + effect.ms(coalesce(p_lease_ms, v_tool.lease_ms));
    v_until := greatest(v_row.lease_until, least(v_wanted, v_row.claimed_at + effect.ms(v_tool.hold_max_ms)));
    update effect.ledger l set lease_until = v_until, due_at = v_until, extended = true
    where l.id = v_row.id and l.token = v_row.token and l.state = 'pending';
    answer := 'ok';
    lease_until := v_until;
    if v_until < v_wanted then
      perform effect.note_refused(p_id, v_row.attempt, 'hold_max');
      counted := effect.counted('hold_max', null, null);
    end if;
  end if;
end
$$;
