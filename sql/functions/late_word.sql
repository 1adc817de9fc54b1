-- A release, unknown or extend by a token that does not hold the claim: not_owner. A former attempt's token leaves an
-- event, any other leaves nothing here (the daemon counts it). A former attempt that is still open, as a retry was granted
-- over it, did not end before its holder fell silent: settle restarts. p_closed: it is not the holder who speaks.
create or replace function effect.late_word(
  p_standing text, p_token_attempt integer, p_row effect.ledger, p_tool effect.tool, p_word text, p_reason text,
  p_result text, p_bytes bigint, p_sha256 bytea, p_closed boolean default false) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_standing in ('earlier', 'former') then
    perform effect.note(p_row.id, 'late', p_token_attempt,
      concat_ws(': ', format('%s by attempt %s', p_word, p_token_attempt), p_reason),
      p_by => 'caller', p_result => p_result, p_bytes => p_bytes, p_sha256 => p_sha256,
      p_max => effect.kept_max(p_tool));
  end if;
  if p_standing = 'earlier' and p_row.open_from is not null and p_row.state in ('pending', 'unknown')
    and p_word <> 'release' and not p_closed then
    perform effect.restart_settle(p_row);
  end if;
end
$$;
