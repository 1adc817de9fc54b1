-- Since when nobody knows what became of a locked row that is unknown or escalated, or whose earlier attempt is open beneath
-- a retry; else null. An escalated row's own `since` is that of the escalation: the history says when it became unknown.
create or replace function effect.unknown_at(p_row effect.ledger) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  if p_row.state = 'unknown' then
    return p_row.since;
  elsif p_row.state <> 'escalated' and (p_row.state <> 'pending' or p_row.open_from is null) then
    return null;
  end if;
  return coalesce((
    select e.at from effect.event e
    where e.effect = p_row.id and e.attempt > p_row.base and (e.kind in ('unknown', 'lapsed', 'closed')
      or (p_row.open_from is not null and e.kind in ('released', 'not_told')))
    order by e.id desc limit 1), p_row.since);
end
$$;
