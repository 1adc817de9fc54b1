-- Where two calls of one key differ, as far as their policy keeps it: the pointers, never a value, in one order and joined by
-- commas; null where nothing that is kept differs. Kept texts are canonical, so that equal values are equal texts. They are read
-- as json, which takes any text but an escaped NUL: that is read as an escape that no canonical text has, which takes its time,
-- so that long texts with one tell nothing: a begin waits for this. What is no such text
-- (a role that executes hands it in) tells nothing, either. (E: what a backslash is in a plain literal, the session's settings say.)
create or replace function effect.differs(p_kept text, p_other text) returns text
language plpgsql immutable strict
set search_path = pg_catalog, pg_temp
as $$
declare
  c_nul constant text := E'(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000';
  c_none constant text := E'\\1\\\\ufffe';
begin
  if strpos(p_kept, E'\\u0000') > 0 or strpos(p_other, E'\\u0000') > 0 then
    if octet_length(p_kept) + octet_length(p_other) > 65536 then
      return null;
    end if;
    p_kept := regexp_replace(p_kept, c_nul, c_none, 'g');
    p_other := regexp_replace(p_other, c_nul, c_none, 'g');
  end if;
  return (
    select left(string_agg(key, ', ' order by key collate "C"), 500)
    from json_each(p_kept::json) as k(key, value)
      full join json_each(p_other::json) as o(key, value) using (key)
    where k.value::text is distinct from o.value::text);
exception
  when data_exception or program_limit_exceeded then
    return null;
end
$$;
