-- An instant as the wire spells it: UTC, milliseconds.
create or replace function effect.rfc3339(p_at timestamptz) returns text
language sql immutable parallel safe
as $$ select pg_catalog.to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;
