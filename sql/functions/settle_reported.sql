-- The `failed` that waited for a probe's word stands: done failed by the caller, with the result it reported.
create or replace function effect.settle_reported(p_row effect.ledger, p_tool effect.tool) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform effect.settle(p_row, p_tool, 'failed', 'caller', p_row.result,
    case when p_row.result is null then p_row.result_bytes end, p_row.result_sha256,
    p_row.result_state = 'redacted');
end
$$;
