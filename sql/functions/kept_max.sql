-- How many bytes of a result an event may keep verbatim: the policy's result_max, none at all where it keeps no results.
create or replace function effect.kept_max(p_tool effect.tool) returns bigint
language sql immutable parallel safe
as $$ select case when (p_tool).keep_result_ms operator(pg_catalog.=) 0 then -1 else (p_tool).result_max end $$;
