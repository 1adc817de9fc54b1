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
    when 'stuck' then
      return query select row_to_json(r) from effect.report_stuck(p_scope, p_namespace, p_tool, p_from, p_to, p_limit) r;
    when 'escalated' then
      return query select row_to_json(r) from effect.report_escalated(p_scope, p_namespace, p_tool, p_from, p_to, p_limit) r;
    when 'incidents' then
      return query select row_to_json(r) from effect.report_incidents(p_scope, p_namespace, p_tool, p_from, p_to, p_limit) r;
    when 'duplicates' then
      return query select row_to_json(r)
      from effect.report_duplicates(p_scope, p_namespace, p_tool, p_from, p_to, p_limit, p_within_ms) r;
    when 'mismatches' then
      return query select row_to_json(r) from effect.report_mismatches(p_scope, p_namespace, p_tool, p_from, p_to, p_limit) r;
    when 'churn' then
      return query select row_to_json(r)
      from effect.report_churn(p_scope, p_namespace, p_tool, p_from, p_to, p_limit, p_keys_min) r;
    when 'budgets' then
      return query select row_to_json(r) from effect.report_budgets(p_scope, p_namespace, p_tool, p_from, p_to, p_limit) r;
  end case;
end
$$;
