-- effect.scan: the effects of one tool in the order of their ids, a page behind p_after (null: from the start), for whoever
-- compares them with the provider's books. Of p_from and p_to only those are told that may have landed between the two: claimed
-- not later, settled not earlier, or not settled; and whatever had more than one attempt, whose first claim may be longer
-- ago. Ids are fixed, so that a row which moves while pages are read is told in one of them, as it was when that was read.
-- What landed and was forgotten (effect.past) is told with the state `forgotten`, so that an old row of the provider is known.
-- The last row, state `end`, is no effect: `effect` is where the page ended (null: at the end of the ledger), done_at the
-- ledger's time, claimed_at when the ledger began, lease_until since when it remembers all of the tool's effects.
-- Of the ledger and of the past each it looks at no more than 10,000 rows of any tool, and tells no more than p_limit rows
-- and half a MiB: a page may be empty and not be the last. claimed_at: of the first attempt that is open. kept: only with p_kept.
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
  v_row record;
  v_looked integer := 0;
  v_told integer := 0;
  v_bytes bigint := 0;
  v_last uuid;
  v_end uuid;
begin
  select array_agg(t.version), min(effect.ms(t.keep_key_ms) + effect.past_for(t.keep_key_ms)) into v_policies, v_remember
  from effect.tool t
  where t.namespace = p_namespace and t.name = p_tool and effect.in_scope(t.namespace, p_scope);

  -- Where the page ends: as far as either table may be read. Walked row by row, as both are read no further then.
  for v_row in
    select l.id, l.policy, l.attempt, coalesce(l.open_from, l.claimed_at) as claimed_at, l.done_at,
      200 + octet_length(l.key) + case when p_kept then coalesce(octet_length(l.kept), 0) else 0 end as bytes
    from effect.ledger l
    where l.id > v_after and v_policies is not null
    order by l.id
  loop
    if v_looked = 10000 or v_told = p_limit or v_bytes > 524288 then
      v_end := v_last;
      exit;
    end if;
    v_looked := v_looked + 1;
    v_last := v_row.id;
    if v_row.policy = any (v_policies)
      and (v_row.attempt > 1 or (v_row.claimed_at <= v_to and coalesce(v_row.done_at, 'infinity') >= v_from)) then
      v_told := v_told + 1;
      v_bytes := v_bytes + v_row.bytes;
    end if;
  end loop;
  v_looked := 0;
  v_told := 0;
  v_last := v_after;
  for v_row in
    select p.id, p.policy = any (v_policies) and p.claimed_at <= v_to and p.done_at >= v_from as fits
    from effect.past p
    where p.id > v_after and v_policies is not null
    order by p.id
  loop
    exit when v_row.id > v_end;
    -- lives of one id are told together
    if (v_looked >= 10000 or v_told >= p_limit) and v_row.id <> v_last then
      v_end := v_last;
      exit;
    end if;
    v_looked := v_looked + 1;
    v_last := v_row.id;
    v_told := v_told + v_row.fits::integer;
  end loop;

  return query
  select l.id, l.key, l.state::text, case when l.state = 'done' then l.outcome::text end, l.attempt,
    coalesce(l.open_from, l.claimed_at), l.done_at, l.lease_until, l.business, case when p_kept then l.kept end
  from effect.ledger l
  where l.id > v_after and l.id <= coalesce(v_end, 'ffffffff-ffff-ffff-ffff-ffffffffffff') and l.policy = any (v_policies)
    and (l.attempt > 1 or (coalesce(l.open_from, l.claimed_at) <= v_to and coalesce(l.done_at, 'infinity') >= v_from))
  union all
  select p.id, null, 'forgotten', null, 1, p.claimed_at, p.done_at, null, p.business, null
  from effect.past p
  where p.id > v_after and p.id <= coalesce(v_end, 'ffffffff-ffff-ffff-ffff-ffffffffffff') and p.policy = any (v_policies)
    and p.claimed_at <= v_to and p.done_at >= v_from
  order by 1;
  return query select v_end, null::text, 'end', null::text, null::integer,
    (select min(s.installed_at) from effect.schema_version s), v_now, v_now - v_remember, null::uuid, null::text;
end
$$;
