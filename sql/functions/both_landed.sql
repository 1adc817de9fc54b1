-- An attempt landed, and there is proof that another one did, too: an incident with what that one brought, as it is what may
-- have to be undone. The row itself holds the result that came now.
create or replace function effect.both_landed(p_row effect.ledger, p_attempt integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first effect.event;
begin
  select * into strict v_first from effect.event e where e.id = p_row.evidence;
  perform effect.note(p_row.id, 'late', v_first.attempt,
    format('attempt %s landed, and so did attempt %s', v_first.attempt, p_attempt), true, p_by => v_first.decided_by,
    p_outcome => 'succeeded', p_result => v_first.result,
    p_bytes => case when v_first.result is null then v_first.result_bytes end, p_sha256 => v_first.result_sha256,
    p_max => octet_length(v_first.result), p_detail => v_first.detail);
end
$$;
