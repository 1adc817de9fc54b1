-- What is counted of an earlier try of a begin, whose answer was lost with its connection: that it found a lease over, by its own
-- word in the history (p_detail); and, where it was granted (p_own), that it had a twin.
create or replace function effect.begun(p_row effect.ledger, p_detail text, p_own boolean) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  return nullif(concat_ws(' ', (
      select effect.counted('lapsed', coalesce(p_row.open_from, p_row.claimed_at), e.at) from effect.event e
      where e.effect = p_row.id and e.kind = 'lapsed' and e.detail = p_detail order by e.id desc limit 1),
    case when p_own and exists (select from effect.event e
      where e.effect = p_row.id and e.kind = 'duplicate' and e.attempt = p_row.attempt)
    then effect.counted('duplicate', null, null) end), '');
end
$$;
