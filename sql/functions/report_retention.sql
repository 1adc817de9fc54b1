-- effect.report_retention: per tool, how old effects were when they were repeated, against how long the policy in force keeps
-- keys and results; what came too late to be caught; and what the memory costs. Ages are known by powers of two.
create or replace function effect.report_retention(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer)
returns table (
  namespace text, tool text, keep_key_ms bigint, keep_result_ms bigint, n bigint, p50_ms bigint, p99_ms bigint,
  oldest_ms bigint, under_1m bigint, under_1h bigint, under_1d bigint, under_7d bigint, under_30d bigint, over_30d bigint,
  expired bigint, reruns bigint, rows bigint, bytes bigint, look json, of bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off set max_parallel_workers_per_gather = 0 set work_mem = '32MB'
as $$
#variable_conflict use_column
declare
  v_window_ms float8 := extract(epoch from p_to - p_from) * 1000;
begin
  return query
  with told as (
    select s.namespace, s.tool,
      coalesce(sum(s.n) filter (where s.decision = 'replay_age'), 0)::bigint as n,
      coalesce(sum(s.n) filter (where s.decision = 'expired'), 0)::bigint as expired,
      extract(epoch from p_to - min(s.first_at)) * 1000 as seen_ms,
      coalesce(effect.add_log2(s.ms_log2) filter (where s.decision = 'replay_age'), '{}') as ages,
      effect.add_log2(s.ms_log2) filter (where s.decision = 'expired') as expired_ages
    from effect.stat_sums(p_scope, p_namespace, p_tool, p_from, p_to, '{run,ran,replay_age,expired}') s
    group by s.namespace, s.tool
  ), counted as (
    select namespace, tool, coalesce(t.n, 0) as n, coalesce(t.expired, 0) as expired, t.seen_ms, coalesce(t.ages, '{}') as ages,
      t.expired_ages, coalesce(r.n, 0) as reruns, r.longest_ms, coalesce(l.n, 0) as rows, coalesce(l.bytes, 0) as bytes
    from told t
      full join effect.ledger_sizes(p_scope, p_namespace, p_tool) l using (namespace, tool)
      full join effect.reruns(p_scope, p_namespace, p_tool, p_from, p_to) r using (namespace, tool)
  ), measured as (
    select c.*, p.keep_key_ms, p.keep_result_ms, effect.log2_quantile(c.ages, 0.5) as p50,
      effect.log2_quantile(c.ages, 0.99) as p99, effect.log2_quantile(c.ages, 1) as oldest,
      effect.log2_quantile(c.expired_ages, 0.99) as expired_p99,
      effect.log2_under(c.ages, 60e3) as under_1m, effect.log2_under(c.ages, 3600e3) as under_1h,
      effect.log2_under(c.ages, 86400e3) as under_1d, effect.log2_under(c.ages, 7 * 86400e3) as under_7d,
      effect.log2_under(c.ages, 30 * 86400e3) as under_30d
    from counted c left join lateral effect.tool_now(c.namespace, c.tool) p on true
  ), judged as (
    select m.*,
      -- the least that the p99 can be: where its place begins
      2 ^ (ceil(log(2, greatest(m.p99, 1)::numeric)) - 1) as p99_least,
      m.expired >= 3 and m.expired * 100 >= m.n and m.keep_result_ms > 0 as result_short,
      -- a window that is shorter than the memory, or in which the tool was not there from the start, says nothing about it
      m.n >= 20 and m.reruns = 0 and v_window_ms >= m.keep_key_ms and m.seen_ms >= m.keep_key_ms
        and m.keep_key_ms >= 20 * m.oldest and m.keep_key_ms - m.oldest > 7 * 86400e3 as memory_long
    from measured m
  ), looked as (
    select j.*, effect.findings(
      effect.finding(j.reruns > 0, 'memory_short', 'warning',
        case j.reruns when 1 then '1 effect was run again after its key was forgotten,'
          else j.reruns || ' effects were run again after their key was forgotten, the latest' end
          || format(' %s after it was done; keys are kept for %s, "keep_key": "%s" would have caught %s',
            effect.duration_words(j.longest_ms), effect.duration_words(j.keep_key_ms), effect.duration_up(j.longest_ms),
            case j.reruns when 1 then 'it' else 'them' end),
        'effectctl report duplicates' || effect.tool_flags(j.namespace, j.tool)),
      effect.finding(j.reruns = 0 and j.n >= 20 and j.p99_least > j.keep_key_ms / 2, 'memory_short', 'warning',
        format('1 %% of %s repeats came more than %s after the first, and keys are kept for %s; "keep_key": "%s" would leave room',
          j.n, effect.duration_words(j.p99_least::float8), effect.duration_words(j.keep_key_ms), effect.duration_up(4 * j.p99)),
        'effectctl tools lint --measured daemon'),
      effect.finding(j.result_short, 'result_short', 'advice',
        format('%s of %s repeats came when the result was no longer kept; results are kept for %s, "keep_result": "%s" would do',
          j.expired, j.n, effect.duration_words(j.keep_result_ms), effect.duration_up(2 * j.expired_p99)),
        'effectctl tools lint'),
      effect.finding(j.memory_long, 'memory_long', 'advice',
        format('in %s all of %s repeats came within %s, and keys are kept for %s, in %s rows; "keep_key": "%s" would do',
          effect.duration_words(v_window_ms), j.n, effect.duration_words(j.oldest), effect.duration_words(j.keep_key_ms), j.rows,
          effect.duration_up(greatest(10 * j.oldest, 7 * 86400e3))), 'effectctl tools lint')) as look
    from judged j
  )
  select k.namespace, k.tool, k.keep_key_ms, k.keep_result_ms, k.n, round(k.p50)::bigint, round(k.p99)::bigint,
    round(k.oldest)::bigint, k.under_1m, k.under_1h - k.under_1m, k.under_1d - k.under_1h, k.under_7d - k.under_1d,
    k.under_30d - k.under_7d, k.n - k.under_30d, k.expired, k.reruns, k.rows, k.bytes, k.look, count(*) over ()
  from looked k
  order by effect.finding_rank(k.look), k.n desc, k.rows desc, k.namespace, k.tool
  limit p_limit;
end
$$;
