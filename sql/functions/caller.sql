-- Who asks: the role of `set role` where one is set, else the session's own. Not current_user, which inside a function with
-- its owner's rights is the owner; a pooler's login that is a member of many applications' roles speaks for the one it set.
create or replace function effect.caller() returns name
language sql stable
set search_path = pg_catalog, pg_temp
as $$ select coalesce(nullif(current_setting('role'), 'none'), session_user)::name $$;
