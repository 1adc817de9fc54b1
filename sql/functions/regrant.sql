-- The same grant once more, to the same request, on a locked row. It writes the row, so that its commit waits for a
-- synchronous standby as the first one did. A re-sent entry whose grant is no longer pending gets what the row says.
create or replace function effect.regrant(
  p_row effect.ledger, p_now timestamptz, p_instance uuid, p_boot uuid, p_token uuid) returns text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_row.state <> 'pending' then
    return case p_row.state when 'done' then 'replay' when 'released' then 'retry' else p_row.state::text end;
  end if;
  if p_row.lease_until <= p_now then
    perform effect.turn_unknown(p_row, 'lapsed', null);
    return 'unknown';
  end if;
  if p_row.token <> p_token and not effect.regranted_by(p_row.id, p_row.attempt, p_token) then
    perform effect.note(p_row.id, 'regranted', p_row.attempt, p_detail => p_token::text);
  end if;
  update effect.ledger l set
    instance = case when l.request is not null then p_instance end,
    boot = case when l.request is not null then p_boot end
  where l.id = p_row.id and l.token = p_row.token and l.state = 'pending';
  return 'run';
end
$$;
