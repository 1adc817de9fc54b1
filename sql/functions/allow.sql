-- effect.allow(role, namespace): that role, and whoever has its rights, may act in the namespace from a database session of its
-- own (effect.may_act). The owner's to call, as effect.disallow is. False: it was allowed before.
create or replace function effect.allow(p_role name, p_namespace text) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from pg_roles r where r.rolname = p_role) then
    raise exception 'there is no role "%"', p_role using errcode = 'ZE003';
  end if;
  if p_namespace !~ '^[a-z0-9_.-]{1,63}$' then
    raise exception 'a namespace is 1 to 63 of a-z, 0-9, _, . and -, not "%"', p_namespace using errcode = 'ZE003';
  end if;
  insert into effect.access (allowed_at, namespace, role) values (effect.now(), p_namespace, p_role)
  on conflict (namespace, role) do nothing;
  return found;
end
$$;
