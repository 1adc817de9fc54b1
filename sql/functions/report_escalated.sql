-- effect.report_escalated: what people have been asked to decide, as it stands now, whatever the window; the longest waiting
-- first. Each is a warning.
create or replace function effect.report_escalated(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer)
returns table (
  namespace text, tool text, effect uuid, key text, attempt integer, since_at timestamptz, age_ms bigint, owner text, run text,
  claimed_at timestamptz, last_probe_at timestamptz, last_probe text, reason text, notices integer, notice_taken boolean,
  look json, of bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
declare
  v_now timestamptz := effect.now();
begin
  return query
  with asked as (
    select l.id, l.key, l.attempt, l.since, l.owner, l.run, l.claimed_at, l.notice_no, l.noticed, l.evidence, t.namespace, t.name,
      effect.ms_between(l.since, v_now) as age, count(*) over () as of
    from effect.ledger l join effect.tools_of(p_scope, p_namespace, p_tool) t on t.version = l.policy
    where l.done_at is null and l.state = 'escalated'
    order by l.since, l.id
    limit p_limit
  )
  -- a notice that was taken is followed by a reminder, which may not be taken yet
  select a.namespace, a.name, a.id, a.key, a.attempt, a.since, a.age, a.owner, a.run, a.claimed_at, w.at, w.said,
    (select e.reason from effect.event e where e.effect = a.id and e.kind = 'escalated' order by e.id desc limit 1),
    a.notice_no, n.taken,
    effect.findings(effect.finding(true, 'escalated', 'warning',
      format('%s for %s; %s', case when a.evidence is null
          then format('nobody could tell whether attempt %s landed, and people have been asked', a.attempt)
          else format('an earlier attempt than %s is proven to have landed, and people have been asked', a.attempt) end,
        effect.span(a.age), case when n.taken then 'a notice was taken' when a.notice_no = 0 then 'no notice was sent'
          else 'no notice was taken' end),
      case when a.evidence is null then 'effectctl explain ' || a.id
        else format('effectctl resolve %s --attempt %s --state escalated --verdict landed --reason', a.id, a.attempt) end)),
    a.of
  from asked a
    left join lateral effect.last_probe(a.id, a.since) w on true
    cross join lateral (select a.noticed or a.notice_no > 1 as taken) n
  order by a.since, a.id;
end
$$;
