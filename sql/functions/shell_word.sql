-- A name as one word of a POSIX shell, so that what a finding says to type can be pasted as it stands.
create or replace function effect.shell_word(p_text text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when p_text ~ '^[A-Za-z0-9_.,:/@%+][A-Za-z0-9_.,:/@%+=-]*$' then p_text
    else '''' || replace(p_text, '''', '''"''"''') || '''' end
$$;

-- ' --namespace N --tool T': which tool a command is about. Null where there is none.
create or replace function effect.tool_flags(p_namespace text, p_tool text) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(' --namespace ' || effect.shell_word(p_namespace), '') || coalesce(' --tool ' || effect.shell_word(p_tool), '')
$$;
