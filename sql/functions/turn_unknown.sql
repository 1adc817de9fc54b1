-- A locked pending row's outcome becomes unknown. p_how: unknown (the wrapper's own word: the attempt ended now), lapsed
-- (the lease ran out: it ended with the lease), closed (the connection it was bound to was closed: its call may still be
-- under way until the lease's end), released or not_told (it was not sent, but an earlier one is open). p_detail: by which the event is known again. Returns the row as it
-- stands then. The deadline is fixed here and never moved. Of several open attempts the last end counts.
create or replace function effect.turn_unknown(p_row effect.ledger, p_how text, p_reason text,
  p_result text default null, p_bytes bigint default null,
  p_sha256 bytea default null, p_detail text default null) returns effect.ledger
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := effect.now();
  v_tool effect.tool;
  v_ended_at timestamptz;
  v_deadline timestamptz;
  v_row effect.ledger;
begin
  select * into strict v_tool from effect.tool t where t.version = p_row.policy;
  v_ended_at := greatest(p_row.ended_at, case when p_how = 'unknown' then v_now when p_how in ('lapsed', 'closed')
    then p_row.lease_until end);
  v_deadline := greatest(v_now, v_ended_at)
    + case when v_tool.on_unknown = 'human' then interval '0' else effect.ms(v_tool.escalate_after_ms) end;
  update effect.ledger l set
    state = 'unknown', lease_until = null, request = null, instance = null, boot = null,
    ended_at = v_ended_at, since = v_now, deadline_at = v_deadline,
    due_at = case when v_tool.has_probe then least(v_now, v_deadline) else v_deadline end,
    lost = p_how <> 'unknown', tries = 0, absent_n = 0, absent_at = null
  where l.id = p_row.id and l.token = p_row.token and l.state = 'pending'
  returning * into v_row;
  if not found then
    raise exception 'effect % moved under its lock', p_row.id using errcode = 'ZE002';
  end if;
  perform effect.note(p_row.id, p_how, p_row.attempt, p_reason,
    p_by => case when p_how in ('released', 'not_told') then 'caller' end, p_result => p_result, p_bytes => p_bytes,
    p_sha256 => p_sha256, p_max => effect.kept_max(v_tool), p_detail => p_detail);
  return v_row;
end
$$;
