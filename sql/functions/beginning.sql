-- The beginning of a result that is kept as evidence, for people to read: long enough for a provider's own ids.
create or replace function effect.beginning(p_result text) returns text
language sql immutable parallel safe
as $$ select pg_catalog.left(p_result, 1000) $$;
