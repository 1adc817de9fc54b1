-- effect.counts_missing: what effect.stat may lack of a window, a row for each start of a daemon; none: it is exact, but for
-- what living daemons have counted since their last flush, at most half a minute ago. What is missing was counted after
-- `after` and before `until`. why:
--   killed   another start of the same daemon followed, and it had not said that it ended: what it counted since its last flush
--   silent   it has not said so either, and is not heard of: killed on a host that has not come back, or cut off from the
--            ledger, and it may still bring what it has. After a day it is taken for dead.
--   dropped  it had no room for so many counts
create or replace function effect.counts_missing(p_from timestamptz, p_to timestamptz)
returns table (instance uuid, boot uuid, host text, why text, after timestamptz, until timestamptz, dropped bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_now timestamptz := effect.now();
begin
  return query
  select m.instance, m.boot, m.host, m.why, m.after, m.until, m.dropped
  from (
    select d.instance, d.boot, d.host, case when n.started_at is null then 'silent' else 'killed' end as why,
      d.seen_at as after,
      greatest(d.seen_at, least(coalesce(n.started_at, v_now), d.seen_at + interval '1 day')) as until,
      0::bigint as dropped
    from effect.daemon d
      left join lateral (
        select min(s.started_at) as started_at from effect.daemon s
        where s.instance = d.instance and (s.started_at, s.boot) > (d.started_at, d.boot)) n on true
    where d.ended_at is null and (n.started_at is not null or effect.is_silent(d.seen_at, v_now))
    union all
    select d.instance, d.boot, d.host, 'dropped', d.started_at, d.dropped_at, d.dropped
    from effect.daemon d
    where d.dropped > 0) m
  where m.after < p_to and m.until >= p_from
  order by m.after, m.boot;
end
$$;
