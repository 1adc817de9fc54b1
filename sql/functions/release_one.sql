-- One release, judged whole. Which effect could run twice by it? One whose wrapper lies or is mistaken; so a row that the
-- wrapper itself called unknown, or that is proven to have landed, is not released by a later word; one that was granted as
-- a retry over an attempt that is still open only steps back to that one. Nor does a daemon's
-- `not told` that was held up on its way release what a later boot has told its request since.
create or replace function effect.release_one(
  p_id uuid, p_token uuid, p_scope text, p_reason text, p_not_told boolean, p_result text default null,
  p_bytes bigint default null, p_sha256 bytea default null, p_boot uuid default null,
  out answer text, out state text, out already boolean, out attempt integer, out namespace text, out tool text,
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
  already := false;
  if v_standing = 'last' and p_not_told and (v_row.boot <> p_boot or (v_row.state = 'unknown'
      and exists (select from effect.event e
        where e.effect = p_id and e.kind = 'regranted' and e.attempt = v_row.attempt))) then
    answer := 'not_owner'; -- which boot told it last is not known any more when its lease is over
  elsif v_standing <> 'last' then
    answer := 'not_owner';
    perform effect.late_word(v_standing, v_token_attempt, v_row, v_tool, 'release', p_reason, p_result, p_bytes, p_sha256);
  elsif v_row.open_from is not null and (v_row.state = 'pending' or (v_row.state = 'unknown' and v_row.lost)) then
    already := effect.step_back(v_row, v_tool, case when p_not_told then 'not_told' else 'released' end, p_reason,
      p_result, p_bytes, p_sha256);
    answer := 'ok';
    state := 'unknown';
    if p_not_told then
      counted := null;
    elsif already then
      counted := effect.counted_before('released', v_row.claimed_at, coalesce(v_row.since, effect.now()));
    else
      counted := effect.counted('released', v_row.claimed_at, effect.now());
    end if;
  elsif v_row.state = 'pending' or (v_row.state = 'unknown' and v_row.lost) then
    counted := concat_ws(' ', case when not p_not_told then effect.counted('released', v_row.claimed_at, effect.now()) end,
      effect.resolved(v_row, 'caller'));
    perform effect.let_go(v_row, v_tool, case when p_not_told then 'not_told' else 'released' end, p_reason, 'caller',
      p_result, p_bytes, p_sha256);
    answer := 'ok';
    state := 'released';
  elsif v_row.state = 'released' then
    if not p_not_told and exists (select from effect.event e
        where e.effect = p_id and e.kind = 'released' and e.attempt = v_row.attempt and e.decided_by = 'caller') then
      counted := effect.counted_before('released', v_row.claimed_at, v_row.done_at, effect.resolved_before(v_row, 'caller'));
    end if;
    perform effect.touch(p_id);
    answer := 'ok';
    already := true;
  else
    answer := 'conflict';
    perform effect.note(p_id, 'late', v_row.attempt, format('release while %s', v_row.state), p_by => 'caller',
      p_result => p_result, p_bytes => p_bytes, p_sha256 => p_sha256, p_max => effect.kept_max(v_tool));
    if v_row.state = 'escalated' and v_row.evidence is not null then
      counted := effect.resolved(v_row, 'caller');
      perform effect.settle_by_evidence(v_row, v_tool);
      state := 'done';
    end if;
  end if;
end
$$;
