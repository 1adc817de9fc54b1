-- The newest attempt of a locked open row is known not to have been sent, but an earlier one, over which it was granted as a
-- retry, is still open: so is the effect. It is unknown, and not released: whoever begins is told `run` by the rules of a
-- retry or not at all. True if that was said before.
create or replace function effect.step_back(p_row effect.ledger, p_tool effect.tool, p_kind text, p_reason text,
  p_result text default null, p_bytes bigint default null, p_sha256 bytea default null) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if effect.given_back(p_row.id, p_row.attempt) then
    perform effect.touch(p_row.id);
    return true;
  end if;
  if p_row.state = 'pending' then
    perform effect.turn_unknown(p_row, p_kind, p_reason, p_result, p_bytes, p_sha256);
  else
    perform effect.note(p_row.id, p_kind, p_row.attempt, p_reason, p_by => 'caller', p_result => p_result,
      p_bytes => p_bytes, p_sha256 => p_sha256, p_max => effect.kept_max(p_tool));
    perform effect.touch(p_row.id);
  end if;
  return false;
end
$$;
