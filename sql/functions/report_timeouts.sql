-- effect.report_timeouts: per tool, how long it takes from claim to outcome, against the lease of the policy in force, and
-- against the time-out of its callers, which shows in when they gave up. Durations are known by powers of two: what is found
-- is what is true wherever in its place a duration lies, or what lapses and late outcomes bear out.
create or replace function effect.report_timeouts(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer)
returns table (
  namespace text, tool text, n bigint, p50_ms bigint, p99_ms bigint, lease_ms bigint, lapsed bigint, gave_up bigint,
  gave_up_p50_ms bigint, late bigint, look json, of bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
declare
  v_ends text[] := '{completed,failed,error}';
begin
  return query
  with told as (
    select s.namespace, s.tool,
      coalesce(sum(s.n) filter (where s.decision = any (v_ends)), 0)::bigint as n,
      coalesce(sum(s.n) filter (where s.decision = 'lapsed'), 0)::bigint as lapsed,
      coalesce(sum(s.n) filter (where s.decision = 'gave_up'), 0)::bigint as gave_up,
      coalesce(sum(s.n) filter (where s.decision = 'late'), 0)::bigint as late,
      effect.add_log2(s.ms_log2) filter (where s.decision = any (v_ends)) as ends_log2,
      effect.add_log2(s.ms_log2) filter (where s.decision = 'gave_up') as gave_up_log2,
      effect.add_log2(s.ms_log2) filter (where s.decision = any (v_ends || 'gave_up'::text)) as all_log2
    from effect.stat_sums(p_scope, p_namespace, p_tool, p_from, p_to, v_ends || '{lapsed,gave_up,late}'::text[]) s
    group by s.namespace, s.tool
  ), measured as (
    select t.*, p.lease_ms, effect.log2_quantile(t.ends_log2, 0.5) as p50, effect.log2_quantile(t.ends_log2, 0.99) as p99,
      effect.log2_quantile(t.gave_up_log2, 0.1) as gave_up_p10, effect.log2_quantile(t.gave_up_log2, 0.5) as gave_up_p50,
      effect.log2_quantile(t.gave_up_log2, 0.9) as gave_up_p90, effect.log2_quantile(t.all_log2, 0.99) as all_p99
    from told t left join lateral effect.tool_now(t.namespace, t.tool) p on true
  ), judged as (
    select m.*,
      -- a place holds what is less than twice its lowest: half of what is told is the least it can be
      m.n >= 20 and m.p99 > m.lease_ms and (m.p99 / 2 >= m.lease_ms or (m.lapsed + m.late) * 100 >= m.n) as lease_short,
      -- nobody holds a claim for longer than its lease without lapses, but by extending it
      m.lapsed + m.late = 0 as extended,
      -- time-outs of one client lie close together, and are no quick errors; what takes longer is not seen to end, or too late. Where
      -- calls end long before, it is no matter of time: their answers were lost
      m.n + m.gave_up >= 20 and m.gave_up >= 3 and m.gave_up * 100 >= m.n + m.gave_up
        and m.gave_up_p90 <= 4 * m.gave_up_p10 and m.gave_up_p50 <= m.all_p99
        and m.gave_up_p50 <= 4 * coalesce(m.p99, m.gave_up_p50)
        and (m.gave_up_p50 >= coalesce(m.p50, 0) or m.late * 2 >= m.gave_up) as client_short
    from measured m
  ), looked as (
    select j.*, effect.findings(
      effect.finding(j.lease_short, 'lease_below_p99', case when j.extended then 'advice' else 'warning' end,
        format('its p99 from claim to outcome is %s of %s, and the lease is %s', effect.duration_words(j.p99), j.n,
          effect.duration_words(j.lease_ms))
        || case when j.extended then ', kept by extending it'
          else format(': %s lapsed, %s came late', j.lapsed, j.late) end
        || format('; "lease": "%s" would do',
          effect.duration_up(least(2 * j.p99, 3600e3))),
        'effectctl tools lint --measured daemon'),
      effect.finding(j.client_short, 'client_timeout_below_p99', 'warning',
        format('%s of %s calls were given up after %s, which looks like a time-out of the caller''s below the p99 of %s; %s would do',
          j.gave_up, j.n + j.gave_up, effect.duration_words(j.gave_up_p50), effect.duration_words(j.all_p99),
          effect.duration_up(2 * greatest(j.all_p99, j.gave_up_p50))),
        'effectctl report stuck' || effect.tool_flags(j.namespace, j.tool))) as look
    from judged j
  )
  select k.namespace, k.tool, k.n, round(k.p50)::bigint, round(k.p99)::bigint, k.lease_ms, k.lapsed, k.gave_up,
    round(k.gave_up_p50)::bigint, k.late, k.look, count(*) over ()
  from looked k
  order by effect.finding_rank(k.look), k.n + k.gave_up desc, k.namespace, k.tool
  limit p_limit;
end
$$;
