-- Is a namespace in a comma-joined scope? A null scope has no limit (the daemon itself, an operator in psql).
create or replace function effect.in_scope(p_namespace text, p_scope text) returns boolean
language sql immutable parallel safe
as $$
  select p_scope is null or p_namespace operator(pg_catalog.=) any (pg_catalog.string_to_array(p_scope, ','))
$$;
