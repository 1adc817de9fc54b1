-- Drops what an upgrade makes anew, so that a function may change its signature and one that is gone does not stay. What an
-- operator has built on a view or function keeps it in place (it is then replaced), as do a trigger's functions.
do $$
declare
  v_kind "char";
  v_name text;
begin
  for v_name in
    select c.oid::pg_catalog.regclass::text from pg_catalog.pg_class c
    where c.relnamespace = 'effect'::pg_catalog.regnamespace and c.relkind = 'v'
    order by c.oid desc -- a view stands on those made before it
  loop
    begin
      execute 'drop view ' || v_name;
    exception when dependent_objects_still_exist or undefined_table then
      null;
    end;
  end loop;
  for v_kind, v_name in
    select p.prokind, p.oid::pg_catalog.regprocedure::text from pg_catalog.pg_proc p
    where p.pronamespace = 'effect'::pg_catalog.regnamespace and p.prokind in ('f', 'p')
      and not exists (select from pg_catalog.pg_trigger t where t.tgfoid = p.oid)
    order by p.oid desc
  loop
    begin
      execute case v_kind when 'p' then 'drop procedure ' else 'drop function ' end || v_name;
    exception when dependent_objects_still_exist then
      null;
    end;
  end loop;
end
$$;
