-- What is counted when a row is settled: how long it was unknown, escalated or open beneath a retry, by whose word it no longer
-- is (caller, probe, operator), and `late` where an outcome was recorded that nobody expected any more. Null if it was open
-- in the ordinary way. p_late: it is an outcome that its caller reports.
create or replace function effect.resolved(p_row effect.ledger, p_by text, p_late boolean default false) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_since timestamptz := effect.unknown_at(p_row);
begin
  if v_since is null then
    return null;
  end if;
  return concat_ws(' ', case when p_late and p_row.state <> 'pending'
    then effect.counted('late', p_row.claimed_at, effect.now()) end,
    effect.counted('resolved_' || p_by, v_since, effect.now()));
end
$$;

-- The same of a row that is settled, as its history has it.
create or replace function effect.resolved_before(p_row effect.ledger, p_by text, p_late boolean default false) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_since timestamptz;
begin
  select e.at into v_since
  from (
    select h.at, h.kind from effect.event h
    where h.effect = p_row.id and h.at <= p_row.done_at and h.attempt > p_row.base
      and (h.kind in ('unknown', 'lapsed', 'closed', 'granted')
        or (h.kind in ('released', 'not_told') and p_row.state <> 'released'))
    order by h.id desc limit 1) as e
  where e.kind in ('unknown', 'lapsed', 'closed');
  if v_since is null then
    return null;
  end if;
  return concat_ws(' ', case when p_late then effect.counted('late', p_row.claimed_at, p_row.done_at) end,
    effect.counted('resolved_' || p_by, v_since, p_row.done_at));
end
$$;
