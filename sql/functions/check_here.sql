-- Raises unless the caller may act in the namespace, and the words are such as a daemon takes.
create or replace function effect.check_here(p_namespace text, p_tool text, p_key text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not effect.may_act(p_namespace) then
    raise exception 'role "%" may not act in namespace "%"', effect.caller(), p_namespace using errcode = 'ZE006',
      hint = 'The owner of the schema allows it: select effect.allow(role, namespace).';
  end if;
  if coalesce(octet_length(p_tool), 0) not between 1 and 128 or p_tool ~ E'[\\u0001-\\u001f\\u007f-\\u009f]' then
    raise exception 'a tool is 1 to 128 bytes without control characters' using errcode = 'ZE003';
  elsif coalesce(octet_length(p_key), 0) not between 1 and 255 or p_key ~ E'[\\u0001-\\u001f\\u007f-\\u009f]' then
    raise exception 'a key is 1 to 255 bytes without control characters' using errcode = 'ZE003';
  end if;
end
$$;
