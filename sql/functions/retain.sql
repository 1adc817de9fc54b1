-- effect.retain: one bounded batch of ageing. Results past keep_result are dropped, keys past keep_key are forgotten. Only
-- settled rows age; open ones are not even looked at. What must stay known of a forgotten row (its last token, where it
-- was released or had more than one attempt) goes to event first, and with it whose it was. Turns that nobody has begun in
-- for 30 days go, too, and so does what was remembered of effects that were forgotten long ago
-- (deleted counts that with the keys: who finds a step full takes the next).
create or replace function effect.retain(p_rows_max integer, out dropped integer, out deleted integer)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz;
  v_due uuid[];
  v_turns uuid[];
  v_past integer;
begin
  perform effect.enter(1, 1);
  v_now := effect.now();
  select array_agg(d.id) into v_due
  from (select l.id from effect.ledger l
    where l.done_at is not null and l.due_at <= v_now
    order by l.due_at
    limit p_rows_max
    for update skip locked) as d;

  -- By `= any`, and no join: planned on a small table a join may walk the whole primary key. Nor is there an `exists`: under an
  -- `or` that is planned as a hash of all events.
  insert into effect.event (effect, token, at, attempt, kind, scope, tool, key)
  select l.id, l.token, v_now, l.attempt, 'expired', (select t.namespace from effect.tool t where t.version = l.policy),
    (select t.name from effect.tool t where t.version = l.policy), l.key
  from effect.ledger l
  where l.id = any (v_due) and effect.forgotten(l.state, l.keep_until, v_now)
    and (l.state = 'released' or (select true from effect.event e where e.effect = l.id limit 1));
  perform effect.remember(v_due, v_now);
  delete from effect.ledger l where l.id = any (v_due) and effect.forgotten(l.state, l.keep_until, v_now);
  get diagnostics deleted = row_count;
  update effect.ledger l set
    due_at = l.keep_until,
    result = null,
    result_state = case when l.result_state in ('kept', 'redacted') then 'expired' else l.result_state end
  where l.id = any (v_due);
  get diagnostics dropped = row_count;

  -- Under its lock a turn is looked at once more: a begin may have come in between.
  v_turns := array(
    select d.id
    from (select t.id from effect.turn t where t.due_at <= v_now order by t.due_at limit p_rows_max) as d
    where pg_try_advisory_xact_lock(effect.lock_of_turn(d.id)));
  delete from effect.turn t where t.id = any (v_turns) and t.due_at <= v_now;

  delete from effect.past p
  where p.ctid = any (array(select d.ctid from effect.past d where d.due_at <= v_now order by d.due_at limit p_rows_max
    for update skip locked));
  get diagnostics v_past = row_count;
  deleted := deleted + v_past;
end
$$;
