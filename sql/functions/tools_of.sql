-- The versions of all policies that a report is about: in the caller's scope, of one namespace and tool where they are named.
create or replace function effect.tools_of(p_scope text, p_namespace text, p_tool text) returns setof effect.tool
language sql stable rows 100
set search_path = pg_catalog, pg_temp
as $$
  select t.* from effect.tool t
  where effect.in_scope(t.namespace, p_scope)
    and (p_namespace is null or t.namespace = p_namespace)
    and (p_tool is null or t.name = p_tool)
$$;
