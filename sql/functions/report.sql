-- effect.report: a report as the wire tells it. p_from and p_to null: the 24 hours up to now. from is taken down to its
-- minute, as the counts are by the minute. answer: ok | window (from is not before to, or more than 800 days).
-- Findings are those of the 1,000 most important rows, also where fewer are shown. What a finding does not say of itself is
-- its row's.
create or replace function effect.report(
  p_scope text, p_name text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer,
  p_within_ms bigint, p_keys_min integer, out answer text, out body text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off set max_parallel_workers_per_gather = 0 set timezone = 'UTC' set extra_float_digits = 1
as $$
declare
  v_to timestamptz := coalesce(p_to, effect.now());
  v_from timestamptz := date_trunc('minute', coalesce(p_from, v_to - interval '24 hours'));
  v_counting text[] := '{summary,mismatches,timeouts,retention,capacity,daily}'; -- what tells counts
  v_rows json[];
  v_columns json;
begin
  if v_from >= v_to or v_from < v_to - interval '800 days' - interval '1 minute' then
    answer := 'window';
    return;
  end if;
  v_rows := array(select effect.report_rows(p_name, p_scope, p_namespace, p_tool, v_from, v_to, 1000, p_within_ms,
    p_keys_min));
  v_columns := (
    select array_to_json(array_agg(a.name order by a.i))
    from pg_proc p, unnest(p.proargnames, p.proargmodes) with ordinality as a(name, mode, i)
    where p.pronamespace = 'effect'::regnamespace and p.proname = 'report_' || p_name and a.mode = 't'
      and a.name not in ('look', 'of'));
  answer := 'ok';
  body := '{"name":' || to_json(p_name)::text || ',"from":"' || effect.rfc3339(v_from) || '","to":"' || effect.rfc3339(v_to)
    || '","columns":' || v_columns
    || ',"rows":[' || coalesce((
      select string_agg(effect.report_cells(r.j)::text, ',' order by r.i)
      from unnest(v_rows) with ordinality as r(j, i) where r.i <= p_limit), '')
    || '],"n":' || coalesce(v_rows[1] ->> 'of', '0')
    || ',"findings":[' || coalesce((
      select string_agg(json_strip_nulls(row_to_json(f))::text, ',' order by r.i, l.i)
      from unnest(v_rows) with ordinality as r(j, i)
        cross join json_array_elements(case when json_typeof(r.j -> 'look') = 'array' then r.j -> 'look' else '[]' end)
          with ordinality as l(j, i)
        cross join lateral (select coalesce(l.j ->> 'report', p_name) as report, l.j ->> 'code' as code,
          l.j ->> 'level' as level, coalesce(l.j ->> 'namespace', r.j ->> 'namespace') as namespace,
          coalesce(l.j ->> 'tool', r.j ->> 'tool') as tool, coalesce(l.j ->> 'effect', r.j ->> 'effect') as effect,
          l.j ->> 'text' as text, l.j ->> 'next' as next) as f), '')
    || ']' || case when p_name = any (v_counting) then ',"counts":' || effect.report_counts(v_from, v_to) else '' end || '}';
end
$$;

-- The cells of a row, in the order of its columns; instants as the wire spells them.
create or replace function effect.report_cells(p_row json) returns json
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select array_to_json(array_agg(
    case when c.name ~ '_at$' and json_typeof(c.value) = 'string' then to_json(effect.rfc3339((c.value #>> '{}')::timestamptz))
      else c.value end order by c.i))
  from json_each(p_row) with ordinality as c(name, value, i)
  where c.name not in ('look', 'of')
$$;

-- What the counts of a window may lack, as the wire tells it.
create or replace function effect.report_counts(p_from timestamptz, p_to timestamptz) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select '{"exact":' || (count(*) = 0)::text || ',"missing":[' || coalesce(string_agg(json_strip_nulls(row_to_json(m))::text, ','
    order by m.after, m.instance), '') || ']}'
  from (
    select c.instance, c.host, c.why, effect.rfc3339(c.after) as after, effect.rfc3339(c.until) as until,
      nullif(c.dropped, 0) as dropped
    from effect.counts_missing(p_from, p_to) c) as m
$$;
