-- effect.ms(n) -> interval of n milliseconds. Plain arithmetic that the planner inlines.
create or replace function effect.ms(p_ms bigint) returns interval
language sql immutable parallel safe
as $$ select p_ms operator(pg_catalog.*) interval '1 millisecond' $$;
