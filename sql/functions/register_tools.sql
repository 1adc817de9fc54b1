-- effect.register_tools(versions, namespaces, names, policies): stores versions of policies that are not known yet; of the others
-- it notes that they were told, for the one that was told last is that of effect.begin_here. The one for unknown tools has no
-- name (''), and is taken back by a policy of null.
-- A policy is the effective policy as canonical JSON, every default filled in (effectd-tools(5)). Members that this
-- version of the schema does not know are kept in the text and judged by nobody.
create or replace function effect.register_tools(
  p_version bigint[], p_namespace text[], p_name text[], p_policy text[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform effect.enter(cardinality(p_version), cardinality(p_namespace), cardinality(p_name), cardinality(p_policy));
  delete from effect.tool t using unnest(p_namespace, p_name, p_policy) as u(namespace, name, policy)
  where u.policy is null and u.name = '' and t.namespace = u.namespace and t.name = '';
  insert into effect.tool as t (version, registered_at, lease_ms, hold_max_ms, settle_ms, probe_timeout_ms,
    escalate_after_ms, keep_result_ms, keep_key_ms, result_max, max_attempts, absent_needed, has_probe, namespace,
    name, on_error, on_unknown, result_secret, policy, probe_backoff_ms, turn_budget, turn_asks, business_window_ms,
    on_business_duplicate, retry_window_ms)
  select distinct on (u.version) u.version, effect.now(),
    effect.duration_ms(p ->> 'lease'), effect.duration_ms(p ->> 'hold_max'), effect.duration_ms(p ->> 'settle'),
    effect.duration_ms(p ->> 'probe_timeout'), effect.duration_ms(p ->> 'escalate_after'),
    effect.duration_ms(p ->> 'keep_result'), effect.duration_ms(p ->> 'keep_key'), (p ->> 'result_max')::bigint,
    (p ->> 'max_attempts')::integer, (p ->> 'absent_needed')::integer,
    coalesce(jsonb_typeof(p -> 'probe') = 'object', false), u.namespace, u.name, p ->> 'on_error', p ->> 'on_unknown',
    case when jsonb_array_length(p -> 'result_secret') > 0 then (p -> 'result_secret')::text end, u.policy,
    array(select effect.duration_ms(b) from jsonb_array_elements_text(p -> 'probe_backoff') with ordinality as e(b, i)
      order by i),
    (p ->> 'turn_budget')::integer, (p ->> 'turn_asks')::integer, effect.duration_ms(p ->> 'business_window'),
    p ->> 'on_business_duplicate', effect.duration_ms(p ->> 'retry_window')
  from unnest(p_version, p_namespace, p_name, p_policy) as u(version, namespace, name, policy),
    lateral (select u.policy::jsonb as p) as j
  where u.policy is not null
  order by u.version
  on conflict (version) do update set registered_at = excluded.registered_at
  where t.registered_at < excluded.registered_at;
end
$$;
