-- A begin that was told mismatch, unknown, escalated, exhausted or held, or an extend that hold_max cut short, leaves an event,
-- at most one a minute for each effect and decision: a loop gets a trace, not a flood. Two at the same instant: the second
-- leaves none. What is held has no row: its event stands with its twin, and p_key says who it was. Of a mismatch the event says
-- which of the values that are kept differ: p_kept is the row's, p_asked the begin's. p_run: the run that asked.
create or replace function effect.note_refused(
  p_effect uuid, p_attempt integer, p_decision text, p_key text default null, p_run text default null,
  p_kept text default null, p_asked text default null) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if not pg_try_advisory_xact_lock(uuid_hash_extended(p_effect, 2)) then
    return;
  end if;
  if exists (
    select from effect.event e
    where e.effect = p_effect and e.kind = 'refused'
      and (e.reason = p_decision or starts_with(e.reason, p_decision || ': '))
      and e.at > effect.now() - interval '1 minute') then
    return;
  end if;
  perform effect.note(p_effect, 'refused', p_attempt, concat_ws(': ', p_decision, coalesce(p_key, effect.differs(p_kept, p_asked))),
    p_detail => p_run);
end
$$;
