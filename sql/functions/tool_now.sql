-- The policy of a tool that is in force: the version that a daemon told the ledger last.
create or replace function effect.tool_now(p_namespace text, p_name text) returns setof effect.tool
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select t.* from effect.tool t
  where t.namespace = p_namespace and t.name = p_name
  order by t.registered_at desc, t.version
  limit 1
$$;
