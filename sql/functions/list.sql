-- effect.list: effects by filter, newest claim first, at most p_limit behind the cursor (p_before, p_before_id). Null
-- filters do not filter. Open states walk their own index, which only a plan that knows the states can choose, so each call
-- plans anew; done ones may scan: the caller sets a statement time-out.
create or replace function effect.list(
  p_scope text, p_state text, p_tool text, p_namespace text, p_key_prefix text, p_older_than_ms bigint,
  p_limit integer, p_before timestamptz, p_before_id uuid, p_business uuid default null)
returns table (
  effect uuid, namespace text, tool text, key text, fingerprint uuid, state text, attempt integer, owner text,
  run text, step text, claimed_at timestamptz, lease_until timestamptz, since timestamptz, due_at timestamptz,
  done_at timestamptz, outcome text, decided_by text, result_state text, result_bytes bigint, result_sha256 bytea,
  protected_until timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := effect.now();
  v_states effect.state[] := case when p_state is null then enum_range(null::effect.state)
    else array[p_state::effect.state] end;
  v_open boolean := coalesce(p_state in ('pending', 'unknown', 'escalated'), false);
begin
  return query
  select l.id, t.namespace, t.name, l.key, l.fingerprint, l.state::text, l.attempt, l.owner, l.run, l.step,
    l.claimed_at, l.lease_until, l.since, l.due_at, l.done_at, case when l.state = 'done' then l.outcome::text end,
    l.decided_by::text, case when l.state = 'done' then effect.result_now(l.result_state, l.due_at, v_now) end,
    case when l.state = 'done' then l.result_bytes end, case when l.state = 'done' then l.result_sha256 end,
    l.keep_until
  from effect.ledger l join effect.tool t on t.version = l.policy
  where l.state = any (v_states) and (not v_open or l.done_at is null)
    and effect.in_scope(t.namespace, p_scope)
    and (p_tool is null or t.name = p_tool)
    and (p_namespace is null or t.namespace = p_namespace)
    and (p_key_prefix is null or starts_with(l.key, p_key_prefix))
    and (p_business is null or l.business = p_business)
    and (p_older_than_ms is null or l.claimed_at < v_now - effect.ms(p_older_than_ms))
    and (p_before is null or (l.claimed_at, l.id) < (p_before, p_before_id))
    and not effect.forgotten(l.state, l.keep_until, v_now)
  order by l.claimed_at desc, l.id desc
  limit p_limit;
end
$$;
