-- What a report found, as the text of a JSON object; null if p_found is not true. level: `warning` (a person should look) or
-- `advice`. next: the one command to type. effect.findings() makes the `look` of a row of them.
create or replace function effect.finding(p_found boolean, p_code text, p_level text, p_text text, p_next text default null)
returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when p_found then json_strip_nulls(json_build_object('code', p_code, 'level', p_level, 'text', p_text,
    'next', p_next))::text end
$$;

create or replace function effect.findings(variadic p_found text[]) returns json
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$ select ('[' || nullif(array_to_string(p_found, ','), '') || ']')::json $$;

-- For `order by`: rows with a warning first, then those with advice, then all others.
create or replace function effect.finding_rank(p_look json) returns integer
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when p_look is null then 2
    when exists (select from json_array_elements(p_look) as f(j) where f.j ->> 'level' = 'warning') then 0 else 1 end
$$;
