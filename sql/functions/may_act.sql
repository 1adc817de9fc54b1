-- May the caller (effect.caller) act in this namespace from his own session? If effect.access names it for a role whose rights
-- he has: his own, or one that he inherits from. A role that he could only `set role` to does not count until he does.
create or replace function effect.may_act(p_namespace text) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from effect.access a join pg_roles r on r.rolname = a.role
    where a.namespace = p_namespace and pg_has_role(effect.caller(), r.oid, 'usage'))
$$;
