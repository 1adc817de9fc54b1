-- Claims the next notice about a locked escalated row before it is sent: the same notice again if nobody took the last
-- one, else the next reminder. Due again in two minutes, unless effect.notified says what became of it: longer than a daemon
-- that lives lets a notice wait, runs a notifier and tries to say so, so that only a crash can have it sent twice.
create or replace function effect.take_notice(p_row effect.ledger) returns effect.ledger
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_row effect.ledger;
  v_again boolean := p_row.notice_no > 0 and not p_row.noticed;
begin
  update effect.ledger l set
    notice_no = case when v_again then l.notice_no else l.notice_no + 1 end,
    notice_tries = case when v_again then l.notice_tries + 1 else 1 end,
    noticed = false,
    due_at = effect.now() + interval '2 minutes'
  where l.id = p_row.id and l.state = 'escalated'
  returning * into strict v_row;
  return v_row;
end
$$;
