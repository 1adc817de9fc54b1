-- The rows of a report, most important first, each as a JSON object of its function's columns: the one place where names
-- become functions.
create or replace function effect.report_rows(
  p_name text, p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer,
  p_within_ms bigint, p_keys_min integer)
returns setof json
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  case p_name
    when 'summary' then
      return query select row_to_json(r) from effect.report_summary(p_scope, p_namespace, p_tool, p_from, p_to, p_limit) r;
    when 'timeouts' then
      return query select row_to_json(r) from effect.report_timeouts(p_scope, p_namespace, p_tool, p_from, p_to, p_limit) r;
    when 'retention' then
      return query select row_to_json(r) from effect.report_retention(p_scope, p_namespace, p_tool, p_from, p_to, p_limit) r;
    when 'capacity' then
      return query select row_to_json(r) from effect.report_capacity(p_scope, p_namespace, p_tool, p_from, p_to, p_limit) r;
    when 'daily' then
      return query select row_to_json(r) from effect.report_daily(p_scope, p_namespace, p_tool, p_from, p_to, p_limit) r;
  end case;
end
$$;
