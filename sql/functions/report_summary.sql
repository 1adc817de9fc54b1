-- effect.report_summary: per tool, what calls were told and what came of them, from the counts of all daemons. n: calls that
-- needed a claim (all but pass); the rates are shares of them. dedup_rate_before: over as long a time before the window.
create or replace function effect.report_summary(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer)
returns table (
  namespace text, tool text, calls bigint, runs bigint, replays bigint, busy bigint, mismatch bigint, unknown bigint,
  escalated bigint, exhausted bigint, held bigint, passed bigint, retried bigint, n bigint, dedup_rate float8,
  dedup_rate_before float8, busy_rate float8, mismatch_rate float8, unknown_rate float8, completed bigint, failed bigint,
  errors bigint, late bigint, gave_up bigint, released bigint, escalated_effects bigint, resolved bigint,
  resolve_p50_ms bigint, resolve_p95_ms bigint, answer_p50_ms bigint, answer_p99_ms bigint, look json, of bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
declare
  v_claims text[] := '{run,replay,busy,mismatch,unknown,escalated,exhausted,held,ran,tool_failed}';
  v_resolved text[] := '{resolved_probe,resolved_caller,resolved_operator}';
begin
  return query
  with told as (
    select s.namespace, s.tool,
      coalesce(sum(s.n) filter (where s.decision = any (v_claims)), 0)::bigint as n,
      coalesce(sum(s.n) filter (where s.decision in ('run', 'ran')), 0)::bigint as runs,
      coalesce(sum(s.n) filter (where s.decision = 'replay'), 0)::bigint as replays,
      coalesce(sum(s.n) filter (where s.decision = 'busy'), 0)::bigint as busy,
      coalesce(sum(s.n) filter (where s.decision = 'mismatch'), 0)::bigint as mismatch,
      coalesce(sum(s.n) filter (where s.decision = 'unknown'), 0)::bigint as unknown,
      coalesce(sum(s.n) filter (where s.decision = 'escalated'), 0)::bigint as escalated,
      coalesce(sum(s.n) filter (where s.decision = 'exhausted'), 0)::bigint as exhausted,
      coalesce(sum(s.n) filter (where s.decision = 'held'), 0)::bigint as held,
      coalesce(sum(s.n) filter (where s.decision = 'pass'), 0)::bigint as passed,
      coalesce(sum(s.n) filter (where s.decision = 'retried'), 0)::bigint as retried,
      coalesce(sum(s.n) filter (where s.decision = 'completed'), 0)::bigint as completed,
      coalesce(sum(s.n) filter (where s.decision = 'failed'), 0)::bigint as failed,
      coalesce(sum(s.n) filter (where s.decision = 'error'), 0)::bigint as errors,
      coalesce(sum(s.n) filter (where s.decision = 'late'), 0)::bigint as late,
      coalesce(sum(s.n) filter (where s.decision = 'gave_up'), 0)::bigint as gave_up,
      coalesce(sum(s.n) filter (where s.decision = 'released'), 0)::bigint as released,
      coalesce(sum(s.n) filter (where s.decision = 'escalated_effect'), 0)::bigint as escalated_effects,
      coalesce(sum(s.n) filter (where s.decision = any (v_resolved)), 0)::bigint as resolved,
      effect.add_log2(s.ms_log2) filter (where s.decision = any (v_resolved)) as resolve_log2,
      effect.add_log2(s.ms_log2) filter (where s.decision = any (v_claims || 'pass'::text)) as answer_log2
    from effect.stat_sums(p_scope, p_namespace, p_tool, p_from, p_to) s
    group by s.namespace, s.tool
  ), before as (
    select s.namespace, s.tool, sum(s.n)::bigint as n,
      coalesce(sum(s.n) filter (where s.decision = 'replay'), 0)::bigint as replays
    from effect.stat s
    where s.minute >= p_from - (p_to - p_from) and s.minute < p_from and s.decision = any (v_claims)
      and effect.in_scope(s.namespace, p_scope)
      and (p_namespace is null or s.namespace = p_namespace)
      and (p_tool is null or s.tool = p_tool)
    group by s.namespace, s.tool
  ), judged as (
    select t.*, b.n as n_before, b.replays as replays_before,
      effect.rate(t.replays, t.n) as dedup_rate, effect.rate(b.replays, b.n) as dedup_rate_before,
      effect.rate(t.busy, t.n) as busy_rate, effect.rate(t.mismatch, t.n) as mismatch_rate,
      effect.rate(t.unknown + t.escalated, t.n) as unknown_rate, effect.tool_flags(t.namespace, t.tool) as flags
    from told t left join before b on b.namespace = t.namespace and b.tool = t.tool
  ), looked as (
    select j.*, effect.findings(
      effect.finding(effect.rate_rose(j.replays, j.n, j.replays_before, j.n_before), 'dedup_rose', 'warning',
        format('%s of %s calls repeat one that is done, and %s did in as long a time before', effect.percent(j.dedup_rate), j.n,
          effect.percent(j.dedup_rate_before)), 'effectctl report timeouts' || j.flags),
      effect.finding(j.busy_rate >= 0.2, 'busy_high', 'warning',
        format('%s of %s calls were told busy', effect.percent(j.busy_rate), j.n),
        'effectctl list --state pending' || j.flags),
      effect.finding(j.mismatch_rate >= 0.01 and j.mismatch >= 3, 'mismatch_high', 'warning',
        format('%s of %s calls had the key of another call', effect.percent(j.mismatch_rate), j.n),
        'effectctl report mismatches' || j.flags),
      effect.finding(j.unknown_rate >= 0.01 and j.unknown + j.escalated >= 3, 'unknown_high', 'warning',
        format('%s of %s calls were told that nobody knows', effect.percent(j.unknown_rate), j.n),
        'effectctl report stuck' || j.flags)) as look
    from judged j
  )
  select k.namespace, k.tool, k.n + k.passed, k.runs, k.replays, k.busy, k.mismatch, k.unknown, k.escalated, k.exhausted,
    k.held, k.passed, k.retried, k.n, k.dedup_rate, k.dedup_rate_before, k.busy_rate, k.mismatch_rate, k.unknown_rate,
    k.completed, k.failed, k.errors, k.late, k.gave_up, k.released, k.escalated_effects, k.resolved,
    round(effect.log2_quantile(k.resolve_log2, 0.5))::bigint, round(effect.log2_quantile(k.resolve_log2, 0.95))::bigint,
    round(effect.log2_quantile(k.answer_log2, 0.5))::bigint, round(effect.log2_quantile(k.answer_log2, 0.99))::bigint,
    k.look, count(*) over ()
  from looked k
  order by effect.finding_rank(k.look), k.n + k.passed desc, k.namespace, k.tool
  limit p_limit;
end
$$;
