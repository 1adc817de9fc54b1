-- effect.execute_done: the record of a tool's statement, in the transaction of its claim and of the statement itself. It raises
-- unless the effect is done by it: the COMMIT behind it then takes nothing along. That the claim is of this transaction is
-- seen by the row: a statement that ended the transaction, or a pooler that changed backends between two, would
-- have left a claim which others can see.
create or replace function effect.execute_done(p_id uuid, p_token uuid, p_result text, p_redacted boolean,
  out done_at timestamptz, out protected_until timestamptz, out result_state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_policy bigint;
  v_answer text;
begin
  select l.policy into v_policy
  from effect.ledger l
  where l.id = p_id and l.token = p_token and l.state = 'pending' and l.xmin = pg_current_xact_id()::xid;
  if not found then
    raise exception 'effect % was not claimed by this transaction', p_id using errcode = 'ZE009';
  end if;
  perform p_result::json; -- a role may send what no daemon would, and a replay hands it on as it is
  select c.answer into strict v_answer
  from effect.complete(array[p_id], array[p_token], array[null::text], array[v_policy], array['succeeded'], array[p_result],
    array[null::bigint], array[null::bytea], array[p_redacted]) c
  where not c.already;
  select l.done_at, l.keep_until, l.result_state::text into strict done_at, protected_until, result_state
  from effect.ledger l where l.id = p_id and l.token = p_token and l.state = 'done' and l.outcome = 'succeeded';
end
$$;
