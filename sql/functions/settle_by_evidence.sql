-- A locked row with proof that an earlier attempt landed becomes done by that proof: its outcome, its result, its witness.
create or replace function effect.settle_by_evidence(p_row effect.ledger, p_tool effect.tool) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_event effect.event;
begin
  select * into strict v_event from effect.event e where e.id = p_row.evidence;
  perform effect.settle(p_row, p_tool, 'succeeded', v_event.decided_by::effect.decider, v_event.result,
    case when v_event.result is null then v_event.result_bytes end, v_event.result_sha256,
    v_event.detail is not distinct from 'redacted');
end
$$;
