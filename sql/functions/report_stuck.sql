-- effect.report_stuck: open effects that do not move as they should, as it stands now, whatever the window: all that are
-- unknown; claims whose lease is over and that nobody swept; claims that are held far longer than their tool takes.
--
-- How long a tool takes is known from what was counted in 30 days. What people have been asked about is in `escalated`.
create or replace function effect.report_stuck(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer)
returns table (
  namespace text, tool text, effect uuid, key text, state text, attempt integer, since_at timestamptz, age_ms bigint,
  owner text, run text, claimed_at timestamptz, last_probe_at timestamptz, last_probe text, next_probe_at timestamptz,
  escalates_at timestamptz, next_step text, look json, of bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
declare
  v_now timestamptz := effect.now();
begin
  return query
  with opened as materialized (
    select l.id, l.key, l.state, l.attempt, l.owner, l.run, l.claimed_at, l.lease_until, l.since, l.due_at, l.deadline_at,
      t.namespace, t.name, t.has_probe, t.probe_timeout_ms, effect.ms_between(l.claimed_at, v_now) as held_ms,
      l.state = 'pending' and l.extended and l.lease_until > v_now as is_extended
    from effect.ledger l join effect.tools_of(p_scope, p_namespace, p_tool) t on t.version = l.policy
    where l.done_at is null and l.state in ('pending', 'unknown') and (l.state = 'unknown' or l.extended or l.lease_until <= v_now)
  ), takes as materialized (
    select s.namespace, s.tool, effect.log2_quantile(effect.add_log2(s.ms_log2), 0.99) as p99_ms
    from effect.stat_sums(p_scope, p_namespace, p_tool, v_now - interval '30 days', v_now) s
    where s.decision in ('completed', 'failed') and exists (select from opened o where o.is_extended)
    group by s.namespace, s.tool
    having sum(s.n) >= 20
  ), seen as (
    select o.*, w.at as probe_at, w.said, w.n as probes, w.answered, k.p99_ms,
      o.is_extended and o.held_ms > 8 * k.p99_ms and o.held_ms > 60000 as is_held_long,
      o.state = 'unknown' and o.due_at < o.deadline_at as is_probed,
      case when o.state = 'pending' and o.lease_until > v_now then o.claimed_at when o.state = 'pending' then o.lease_until
        else o.since end as since_at,
      case when o.state = 'pending' then o.lease_until < v_now - interval '1 minute'
        else o.due_at < v_now - interval '1 minute' - effect.ms(o.probe_timeout_ms) end as is_unswept
    from opened o
      left join takes k on k.namespace = o.namespace and k.tool = o.name
      left join lateral effect.last_probe(o.id, o.since) w on true
  ), looked as (
    select s.*, effect.ms_between(s.since_at, v_now) as age, effect.findings(
      effect.finding(s.is_unswept, 'not_swept', 'warning',
        case when s.state = 'pending' then format('its lease ended %s ago and nobody swept it: is a daemon running?',
            effect.span(effect.ms_between(s.lease_until, v_now)))
          when s.due_at < s.deadline_at then format(
            'its probe has been due for %s: no daemon sweeps, or all of them leave its provider alone',
            effect.span(effect.ms_between(s.due_at, v_now)))
          else format('people should have been asked %s ago and nobody swept it: is a daemon running?',
            effect.span(effect.ms_between(s.deadline_at, v_now))) end,
        'effectctl status'),
      effect.finding(s.state = 'unknown' and v_now >= s.since + least((s.deadline_at - s.since) / 2, interval '1 day'),
        'unknown_old', 'warning',
        format('nobody has known for %s whether attempt %s landed; people are asked %s',
          effect.span(effect.ms_between(s.since, v_now)), s.attempt, case when s.deadline_at > v_now
            then 'in ' || effect.span(effect.ms_between(v_now, s.deadline_at)) else 'by the next sweep' end),
        'effectctl explain ' || s.id),
      effect.finding(s.state = 'unknown' and s.probes >= 3 and not s.answered, 'probe_never_answered', 'warning',
        format('%s probes, and none could tell', s.probes),
        format('effectctl tools probe %s --effect %s', effect.shell_word(s.name), s.id)),
      effect.finding(s.is_held_long, 'held_long', 'warning',
        format('held for %s, and its tool takes %s (p99)', effect.span(s.held_ms), effect.span(round(s.p99_ms)::bigint)),
        'effectctl explain ' || s.id)) as look
    from seen s
    where s.state = 'unknown' or s.lease_until <= v_now or s.is_held_long
  )
  select k.namespace, k.name, k.id, k.key, k.state::text, k.attempt, k.since_at, k.age, k.owner, k.run, k.claimed_at, k.probe_at,
    k.said, case when k.is_probed then k.due_at end, k.deadline_at,
    case when k.state = 'pending' and k.lease_until > v_now then 'holder' when k.is_unswept or k.state = 'pending' then 'sweep'
      when k.is_probed then 'probe' else 'person' end,
    k.look, count(*) over ()
  from looked k
  order by k.look is null, k.age desc, k.id
  limit p_limit;
end
$$;
