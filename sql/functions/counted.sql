-- What a daemon is to count, as it stands in the column `counted` of an answer: 'completed:1234 late:1234', each name with the
-- milliseconds that it took. Not a second clock: both instants are the ledger's. p_from null: no time is known, 0.
create or replace function effect.counted(p_what text, p_from timestamptz, p_to timestamptz) returns text
language sql immutable parallel safe
as $$
  select p_what operator(pg_catalog.||) ':' operator(pg_catalog.||) coalesce(greatest(0,
    trunc(date_part('epoch', p_to operator(pg_catalog.-) p_from) operator(pg_catalog.*) 1000)), 0)::bigint::text
$$;

-- The same of what was done before, perhaps by this very call whose answer was lost with its connection: '?completed:1234'. It
-- counts only where the call was sent before.
create or replace function effect.counted_before(p_what text, p_from timestamptz, p_to timestamptz, p_more text default null)
returns text
language sql immutable parallel safe
as $$ select '?' operator(pg_catalog.||) concat_ws(' ', effect.counted(p_what, p_from, p_to), p_more) $$;
