-- effect.report_duplicates: effects that were claimed in the window although another one of their business key, or a former life
-- of their own key, may have landed: open, or done and succeeded. What was released or failed for good did not land. Each is
-- told with one twin, the one that ended last before it (or had not ended), so that three of a kind are two pairs.
--
-- gap: from the end of the twin to the claim, 0 where the twin was open; as the guard of begin judges it. A pair is one if its
-- gap is at most p_within_ms, else the business_window of the later one's policy. how: `business`; `business_expired`: the twin's
-- key had been forgotten by then, so that no guard could see it, whatever it would have said; then the window counts from that,
-- if p_within_ms says nothing. `key_expired`: the same key ran again after it was forgotten, however long after, but where the
-- policy was to remember nothing (keep_key 0). What is forgotten is known from effect.past. again: the reason of who meant it.
--
-- Of the ledger it takes a narrow piece of each row that has a business key, and those that effect.past knows, too; the few that
-- have a twin are looked up again.
create or replace function effect.report_duplicates(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_limit integer,
  p_within_ms bigint default null)
returns table (
  namespace text, tool text, effect uuid, key text, claimed_at timestamptz, owner text, run text, outcome text, twin uuid,
  twin_key text, twin_claimed_at timestamptz, gap_ms bigint, how text, again text, look json, of bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan set jit = off set max_parallel_workers_per_gather = 0 set work_mem = '64MB'
as $$
#variable_conflict use_column
declare
  v_widest interval := effect.ms(coalesce(p_within_ms,
    (select max(t.business_window_ms) from effect.tools_of(p_scope, p_namespace, p_tool) t), 0));
  v_first bigint := effect.event_from(p_from);
begin
  return query
  with tool as materialized (
    select t.version, t.namespace, t.name, t.business_window_ms as window_ms, t.keep_key_ms,
      dense_rank() over (order by t.namespace, t.name) as same
    from effect.tools_of(p_scope, p_namespace, p_tool) t
  ), life as materialized (
    -- all of a business key that may have landed, and was claimed in the window or ended a short while before
    select l.id, l.business, t.same, t.window_ms, t.keep_key_ms, l.claimed_at, l.done_at, null::timestamptz as forgotten_at
    from effect.ledger l join tool t on t.version = l.policy
    where l.business is not null and (l.done_at is null or (l.state = 'done' and l.outcome = 'succeeded')) and l.claimed_at < p_to
      and (l.done_at is null or l.done_at >= p_from - v_widest)
    union all
    select p.id, p.business, t.same, t.window_ms, t.keep_key_ms, p.claimed_at, p.done_at, p.forgotten_at
    from effect.past p join tool t on t.version = p.policy
    where p.business is not null and p.claimed_at < p_to and p.forgotten_at >= p_from - v_widest
  ), doubled as (
    select i.business, i.same from life i group by i.business, i.same having count(*) > 1
  ), numbered as materialized (
    select i.*, coalesce(i.done_at, 'infinity') as end_at,
      row_number() over (order by i.business, i.same, i.claimed_at, i.id) as no
    from life i join doubled d on d.business = i.business and d.same = i.same
  ), last as (
    -- who ended later than all before is the last, until the next such
    select n.*, max(n.end_at) over (partition by n.business, n.same order by n.claimed_at, n.id
      rows between unbounded preceding and 1 preceding) as last_end_at
    from numbered n
  ), led as materialized (
    select s.*, max(case when s.end_at >= coalesce(s.last_end_at, '-infinity') then s.no end) over (
      partition by s.business, s.same order by s.claimed_at, s.id rows between unbounded preceding and 1 preceding) as last_no
    from last s
  ), beside as (
    select d.no, d.last_no as twin_no from led d
    union all
    -- where that is a former life of its own key, and no fault as the policy remembers nothing, it may be any other
    select d.no, o.no
    from led d join numbered w on w.no = d.last_no and w.id = d.id
      join numbered o on o.business = d.business and o.same = d.same
    where w.keep_key_ms = 0 and o.no < d.no and o.id <> d.id
  ), pair as (
    select d.id, d.claimed_at, d.forgotten_at is not null as is_past, d.same, w.id as twin, w.claimed_at as twin_claimed_at,
      case when w.forgotten_at <= d.claimed_at then 'business_expired' else 'business' end as how, g.gap
    from led d join beside b on b.no = d.no join numbered w on w.no = b.twin_no
      cross join lateral (select greatest(coalesce(effect.ms_between(w.done_at, d.claimed_at), 0), 0) as gap) g
    where d.claimed_at >= p_from and w.id <> d.id
      and case when p_within_ms is not null then g.gap <= p_within_ms
        when w.forgotten_at <= d.claimed_at then effect.ms_between(w.forgotten_at, d.claimed_at) <= d.window_ms
        else g.gap <= d.window_ms end
    union all
    select l.id, l.claimed_at, false, t.same, p.id, p.claimed_at, 'key_expired', effect.ms_between(p.done_at, l.claimed_at)
    from effect.past p join effect.ledger l on l.id = p.id and l.claimed_at > p.claimed_at
      join tool t on t.version = p.policy
    where t.keep_key_ms > 0 and l.claimed_at >= p_from and l.claimed_at < p_to and (l.done_at is null or (l.state = 'done' and l.outcome = 'succeeded'))
    union all
    select a.id, a.claimed_at, true, t.same, p.id, p.claimed_at, 'key_expired', effect.ms_between(p.done_at, a.claimed_at)
    from effect.past p join effect.past a on a.id = p.id and a.claimed_at > p.claimed_at
      join tool t on t.version = p.policy
    where t.keep_key_ms > 0 and a.claimed_at >= p_from and a.claimed_at < p_to
  ), nearest as (
    select distinct on (r.id, r.claimed_at) r.* from pair r order by r.id, r.claimed_at, r.gap
  ), word as materialized (
    -- a caller's word that it is meant, noted with the claim
    select distinct on (e.effect, e.at) e.effect, e.at, coalesce(e.detail, '') as again
    from effect.event e
    where e.id >= v_first and e.at >= p_from and e.at < p_to + interval '1 minute' and e.kind = 'duplicate' and e.decided_by = 'caller'
  ), meant as (
    select n.*, d.again, count(*) over () as of
    from nearest n
      left join word d on d.effect = n.id and d.at >= n.claimed_at and d.at < n.claimed_at + interval '1 minute'
        and n.how <> 'key_expired'
    order by d.again is not null, n.claimed_at desc, n.id
    limit p_limit
  )
  select t.namespace, t.name, m.id, coalesce(l.key, effect.key_of(m.id)), m.claimed_at, l.owner, l.run,
    case when m.is_past then 'succeeded' else coalesce(l.outcome::text, l.state::text) end, m.twin,
    case when m.how = 'key_expired' then coalesce(l.key, effect.key_of(m.id)) else effect.key_of(m.twin) end, m.twin_claimed_at,
    m.gap, m.how, m.again,
    effect.findings(effect.finding(m.again is null, case m.how when 'business' then 'duplicate' else m.how end, 'warning',
      case when m.how = 'key_expired' then format(
          'the same key ran again %s after it was done, when it was forgotten: both may have landed', effect.span(m.gap))
        else format('another effect of its business key %s%s: both may have landed',
          case m.gap when 0 then 'was open when it was claimed' else format('was done %s before', effect.span(m.gap)) end,
          case m.how when 'business_expired' then ' and was forgotten' else '' end) end
        || case when l.id is null then '; it is forgotten by now, and its effect id is what the provider knows it by' else '' end,
      'effectctl explain ' || coalesce(l.id, w.id))),
    m.of
  from meant m
    join (select distinct on (o.same) o.* from tool o) t on t.same = m.same
    left join effect.ledger l on l.id = m.id and l.claimed_at = m.claimed_at
    left join effect.ledger w on w.id = m.twin and w.claimed_at = m.twin_claimed_at
  order by m.again is not null, m.claimed_at desc, m.id;
end
$$;

-- The key of an effect as its row has it or, once that is gone, its history; null where neither does.
create or replace function effect.key_of(p_id uuid) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$ select w.key from effect.whose(p_id, null) w $$;
