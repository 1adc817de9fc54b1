-- What stands before the first migration: roles, schema, the table that knows what is installed. Run at every install and
-- upgrade, inside its transaction and under its lock, as whoever installs; does nothing where all is there.
-- Roles belong to the whole cluster: installs in other databases may make them at the same moment.
do $$
declare
  v_role text;
begin
  if current_setting('server_encoding') <> 'UTF8' then
    raise exception 'the database has the encoding %, and must have UTF8', current_setting('server_encoding')
      using errcode = 'ZE005';
  end if;
  foreach v_role in array array['effect_owner', 'effect_daemon', 'effect_report'] loop
    begin
      if not exists (select from pg_catalog.pg_roles where rolname = v_role) then
        execute pg_catalog.format('create role %I nologin', v_role);
      end if;
    exception when duplicate_object or unique_violation then
      null;
    end;
  end loop;
  -- who is no superuser must be a member to make things in its name
  if not (select rolsuper from pg_catalog.pg_roles where rolname = current_user) then
    begin
      grant effect_owner to current_user;
    exception when insufficient_privilege then
      null; -- an administrator has done so, or the next statement says why not
    end;
  end if;
  if not exists (select from pg_catalog.pg_namespace where nspname = 'effect') then
    create schema effect authorization effect_owner;
  end if;
end
$$;

set local role effect_owner;

-- One row a migration. `functions` is the digest of the functions, views and grants made last; null until they are.
create table if not exists effect.schema_version (
  installed_at timestamptz not null default pg_catalog.clock_timestamp(),
  version integer primary key,
  functions text
);
grant usage on schema effect to effect_daemon, effect_report;
grant select on effect.schema_version to effect_daemon, effect_report;
