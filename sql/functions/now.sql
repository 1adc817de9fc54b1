-- The one clock of everything in this schema. Test builds replace this function and nothing else;
-- production has no switch.
create or replace function effect.now() returns timestamptz
language sql volatile parallel safe
as $$ select pg_catalog.clock_timestamp() $$;
