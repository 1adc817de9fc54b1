-- Was this attempt's grant told again to the begin that brought this token of its own? A begin that is sent again after a
-- lost connection finds by it that its first try was committed, whose answer nobody has seen.
create or replace function effect.regranted_by(p_id uuid, p_attempt integer, p_token uuid) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
  select exists (select from effect.event e
    where e.effect = p_id and e.kind = 'regranted' and e.attempt = p_attempt and e.detail = p_token::text)
$$;
