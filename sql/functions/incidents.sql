-- effect.incidents: events that a person should look at, newest first, at most p_limit behind the cursor (p_before,
-- p_before_id). Null filters do not filter. An incident of a namespace is told to those who may act there; an orphan of
-- which nobody knows whose it is, to those who may act in every namespace that its sender could. state: the row's now; null
-- once it is gone. result_text: the beginning of what was brought. Walks its own index; the caller sets a statement time-out.
create or replace function effect.incidents(
  p_scope text, p_tool text, p_namespace text, p_older_than_ms bigint, p_limit integer, p_before timestamptz,
  p_before_id bigint)
returns table (
  id bigint, at timestamptz, effect uuid, namespace text, tool text, key text, state text, attempt integer, kind text,
  decided_by text, outcome text, reason text, result_text text, result_bytes bigint, result_sha256 bytea)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := effect.now();
  v_scope text[] := string_to_array(p_scope, ',');
begin
  return query
  select e.id, e.at, e.effect, case when e.scope !~ ',' then e.scope end, e.tool, e.key,
    (select l.state::text from effect.ledger l
      where l.id = e.effect and e.tool is not null and not effect.forgotten(l.state, l.keep_until, v_now)),
    nullif(e.attempt, 0), e.kind, e.decided_by, e.outcome::text, e.reason, effect.beginning(e.result), e.result_bytes,
    e.result_sha256
  from effect.event e
  where e.incident
    and (p_scope is null or string_to_array(e.scope, ',') <@ v_scope)
    and (p_tool is null or e.tool = p_tool)
    and (p_namespace is null or e.scope = p_namespace)
    and (p_older_than_ms is null or e.at < v_now - effect.ms(p_older_than_ms))
    and (p_before is null or (e.at, e.id) < (p_before, p_before_id))
  order by e.at desc, e.id desc
  limit p_limit;
end
$$;
