-- What is counted when the news that an earlier attempt landed has sent a row to people that were not at it yet; null where
-- it has not. p_row: as it was before.
create or replace function effect.escalated_by(p_row effect.ledger) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  if p_row.state in ('escalated', 'done')
    or (select l.state from effect.ledger l where l.id = p_row.id) is distinct from 'escalated' then
    return null;
  end if;
  return effect.counted('escalated_effect', effect.unknown_at(p_row), effect.now());
end
$$;
