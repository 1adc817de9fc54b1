-- effect.report_daily: all reports in one, a row for each: how much deserves a look, and the findings themselves. One that
-- raises hides no other: that it failed is a finding of its own. Nor does one that is still running when the statement's time
-- is over: it and those after it are told as not made.
create or replace function effect.report_daily(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer)
returns table (report text, n bigint, warnings bigint, advice bigint, look json, of bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
declare
  v_names text[] := '{summary,stuck,escalated,incidents,duplicates,mismatches,churn,budgets,timeouts,retention,capacity}';
  v_name text;
  v_look json;
  v_of bigint;
  v_over boolean := false;
  v_why text;
begin
  for v_name in select u.name from unnest(v_names) as u(name) limit p_limit loop
    v_look := null;
    v_of := null;
    v_why := case when v_over then 'there was no time left for it' end;
    if not v_over then
      begin
        select max((r.j ->> 'of')::bigint), json_agg(json_build_object('report', v_name, 'namespace', r.j -> 'namespace',
            'tool', r.j -> 'tool', 'effect', r.j -> 'effect', 'code', f.j -> 'code', 'level', f.j -> 'level',
            'text', f.j -> 'text', 'next', f.j -> 'next') order by r.i, f.i) filter (where f.j is not null)
        into v_of, v_look
        from effect.report_rows(v_name, p_scope, p_namespace, p_tool, p_from, p_to, 1000, null, 3)
            with ordinality as r(j, i)
          left join lateral json_array_elements(
            case when json_typeof(r.j -> 'look') = 'array' then r.j -> 'look' else '[]' end)
            with ordinality as f(j, i) on true;
      exception
        when query_canceled then
          v_over := true;
          v_why := 'it took too long';
        when others then
          v_why := format('it raised %s', sqlstate);
      end;
    end if;
    if v_why is not null then
      v_look := effect.findings(effect.finding(true, 'report_failed', 'warning',
        format('the report %s could not be made: %s', v_name, v_why), format('effectctl report %s', v_name)));
    end if;
    report := v_name;
    n := coalesce(v_of, 0);
    warnings := (select count(*) from json_array_elements(v_look) as f(j) where f.j ->> 'level' = 'warning');
    advice := (select count(*) from json_array_elements(v_look) as f(j) where f.j ->> 'level' = 'advice');
    look := v_look;
    of := cardinality(v_names);
    return next;
  end loop;
end
$$;
