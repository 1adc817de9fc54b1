-- effect.notified: what became of notices. Taken: the next reminder follows after 1 h, 2 h, 4 h ... at most 24 h. Not
-- taken: the same notice again after 5 s, 10 s, 20 s ... at most 10 min. One row out per row in; answer ok, event (the row
-- has moved on), not_found or retry.
create or replace function effect.notified(p_id uuid[], p_notice_no integer[], p_taken boolean[], p_reason text[])
returns table (ord integer, answer text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  v_row effect.ledger;
  v_hold record;
  v_standing text;
begin
  perform effect.enter(cardinality(p_id), cardinality(p_notice_no), cardinality(p_taken), cardinality(p_reason));
  for v_i in 1 .. cardinality(p_id) loop
    ord := v_i;
    v_hold := effect.hold(p_id[v_i], null, null);
    v_standing := v_hold.standing;
    v_row := v_hold.held;
    if v_standing <> 'last' then
      answer := case v_standing when 'retry' then 'retry' else 'not_found' end;
    else
      answer := 'event';
      if p_taken[v_i] then
        perform effect.note(v_row.id, 'notified', v_row.attempt, concat_ws(': ',
          case p_notice_no[v_i] when 1 then 'the first notice' else format('reminder %s', p_notice_no[v_i] - 1) end
          || case when v_row.notice_no = p_notice_no[v_i] and v_row.notice_tries > 1
            then format(', at try %s', v_row.notice_tries) else '' end, p_reason[v_i]),
          p_detail => effect.rfc3339(v_row.since), p_once => true);
      end if;
      if v_row.state = 'escalated' and v_row.notice_no = p_notice_no[v_i] and not v_row.noticed then
        update effect.ledger l set
          noticed = p_taken[v_i],
          due_at = effect.now() + case when p_taken[v_i]
            then least(interval '1 hour' * power(2, least(l.notice_no - 1, 10)), interval '24 hours')
            else least(interval '5 seconds' * power(2, least(l.notice_tries - 1, 20)), interval '10 minutes') end
        where l.id = v_row.id;
        answer := 'ok';
      end if;
    end if;
    return next;
  end loop;
end
$$;
