-- effect.scan: the effects of one tool in the order of their ids, a page behind p_after (null: from the start), for whoever
-- compares them with the provider's books. Of p_from and p_to only those are told that may have landed between the two: claimed
-- not later, settled not earlier, or not settled; and whatever had more than one attempt, whose first claim may be longer
-- ago. Ids are fixed, so that a row which moves while pages are read is told in one of them, as it was when that was read.
-- What landed and was forgotten (effect.past) is told with the state `forgotten`, so that an old row of the provider is known.
-- The last row, state `end`, is no effect: `effect` is where the page ended (null: at the end of the ledger), done_at the
-- ledger's time, claimed_at when the ledger began, lease_until since when it remembers all of the tool's effects.
-- Of the ledger and of the past each it looks at no more than 10,000 rows of any tool, and tells no more than p_limit rows
-- and half a MiB: a page may be empty and not be the last. claimed_at: of the first attempt that is open. kept: only with p_kept.
-- Each of the two is one range of its primary key, read no further than the page goes.
create or replace function effect.scan(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_after uuid, p_limit integer,
  p_kept boolean)
returns table (
  effect uuid, key text, state text, outcome text, attempt integer, claimed_at timestamptz, done_at timestamptz,
  lease_until timestamptz, business uuid, kept text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz := effect.now();
  v_after uuid := coalesce(p_after, '00000000-0000-0000-0000-000000000000');
  v_from timestamptz := coalesce(p_from, '-infinity');
  v_to timestamptz := coalesce(p_to, 'infinity');
  v_policies bigint[];
  v_remember interval;
begin
  select array_agg(t.version), min(effect.ms(t.keep_key_ms) + effect.past_for(t.keep_key_ms)) into v_policies, v_remember
  from effect.tool t
  where t.namespace = p_namespace and t.name = p_tool and effect.in_scope(t.namespace, p_scope);

  -- The limits are nested so that rows come one by one and nothing is read behind the last one: of all rows the first 10,000,
  -- of these the first p_limit that fit. The 10,000th is let through either way, as the page ends there.
  return query
  with ledger as materialized (
    select f.*, row_number() over so_far as told,
      sum(200 + octet_length(f.key) + coalesce(octet_length(f.kept), 0)) over so_far as bytes
    from (
      select *
      from (
        select l.id, l.key, l.state, l.outcome, l.attempt, coalesce(l.open_from, l.claimed_at) as claimed_at, l.done_at,
          l.lease_until, l.business, case when p_kept then l.kept end as kept, row_number() over (order by l.id) as looked,
          l.policy = any (v_policies) and (l.attempt > 1
            or (coalesce(l.open_from, l.claimed_at) <= v_to and coalesce(l.done_at, 'infinity') >= v_from)) as fits
        from effect.ledger l
        where l.id > v_after and v_policies is not null
        order by l.id
        limit 10000) a
      where a.fits or a.looked = 10000
      order by a.id
      limit p_limit) f
    window so_far as (order by f.id rows unbounded preceding)
  ), past as materialized (
    -- with ties: lives of one id are told together
    select f.*, row_number() over (order by f.id rows unbounded preceding) as told
    from (
      select *
      from (
        select p.id, p.claimed_at, p.done_at, p.business, row_number() over (order by p.id) as looked,
          p.policy = any (v_policies) and p.claimed_at <= v_to and p.done_at >= v_from as fits
        from effect.past p
        where p.id > v_after and v_policies is not null
        order by p.id
        fetch first 10000 rows with ties) a
      where a.fits or a.looked >= 10000
      order by a.id
      fetch first (p_limit) rows with ties) f
  ), page as materialized (
    select least(
      (select l.id from ledger l where l.told = p_limit or l.looked = 10000 or l.bytes > 524288 order by l.id limit 1),
      (select p.id from past p where p.told = p_limit or p.looked >= 10000 order by p.id limit 1)) as ends
  )
  select r.effect, r.key, r.state, r.outcome, r.attempt, r.claimed_at, r.done_at, r.lease_until, r.business, r.kept
  from (
    select l.id as place, l.id as effect, l.key, l.state::text, case when l.state = 'done' then l.outcome::text end as outcome,
      l.attempt, l.claimed_at, l.done_at, l.lease_until, l.business, l.kept
    from ledger l, page
    where l.fits and (l.id <= page.ends or page.ends is null)
    union all
    select p.id, p.id, null, 'forgotten', null, 1, p.claimed_at, p.done_at, null, p.business, null
    from past p, page
    where p.fits and (p.id <= page.ends or page.ends is null)
    union all
    select null, page.ends, null, 'end', null, null, (select min(s.installed_at) from effect.schema_version s), v_now,
      v_now - v_remember, null, null
    from page) r
  order by r.place nulls last;
end
$$;
