-- effect.disallow(role, namespace): takes effect.allow back, also for a role that is gone. False: it was not allowed.
create or replace function effect.disallow(p_role name, p_namespace text) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from effect.access a where a.namespace = p_namespace and a.role = p_role;
  return found;
end
$$;
