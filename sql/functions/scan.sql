-- effect.scan: the effects of one tool in the order of their ids, a page behind p_after (null: from the start), for whoever
-- compares them with the provider's books. Of p_from and p_to only those are told that may have landed between the two: claimed
-- not later, settled not earlier, or not settled; and whatever had more than one attempt, whose first claim may be longer
-- ago. Ids are fixed, so that a row which moves while pages are read is told in one of them, as it was when that was read.
-- What landed and was forgotten (effect.past) is told with the state `forgotten`, so that an old row of the provider is known.
-- The last row, state `end`, is no effect: `effect` is where the page ended (null: at the end of the ledger), done_at the
-- ledger's time, claimed_at when the ledger began, lease_until since when it remembers all of the tool's effects.
-- It looks at no more than 10,000 rows of any tool, and tells no more than about p_limit rows and half a MiB: a page may be empty
-- and not be the last. claimed_at: of the first attempt that is open. kept: only with p_kept.
create or replace function effect.scan(
  p_scope text, p_namespace text, p_tool text, p_from timestamptz, p_to timestamptz, p_after uuid, p_limit integer,
  p_kept boolean)
returns table (
  effect uuid, key text, state text, outcome text, attempt integer, claimed_at timestamptz, done_at timestamptz,
  lease_until timestamptz, business uuid, kept text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_sort = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz := effect.now();
  v_after uuid := coalesce(p_after, '00000000-0000-0000-0000-000000000000');
  v_policies bigint[];
  v_remember interval;
  v_row record;
  v_looked integer := 0;
  v_told integer := 0;
  v_bytes bigint := 0;
  v_end uuid;
begin
  select array_agg(t.version), min(effect.ms(t.keep_key_ms) + effect.past_for(t.keep_key_ms)) into v_policies, v_remember
  from effect.tool t
  where t.namespace = p_namespace and t.name = p_tool and effect.in_scope(t.namespace, p_scope);
  for v_row in
    select l.id, l.policy, l.key, l.state::text, l.outcome::text, l.attempt, coalesce(l.open_from, l.claimed_at) as claimed_at,
      l.done_at, l.lease_until, l.business, l.kept
    from effect.ledger l
    where l.id > v_after and v_policies is not null
    union all
    select p.id, p.policy, null, 'forgotten', null, 1, p.claimed_at, p.done_at, null, p.business, null
    from effect.past p
    where p.id > v_after and v_policies is not null
    order by id
  loop
    -- a life that was forgotten stands beside the row of the next one: what has one id is in one page
    if (v_looked >= 10000 or v_told >= p_limit or v_bytes > 524288) and v_row.id <> effect then
      v_end := effect;
      exit;
    end if;
    v_looked := v_looked + 1;
    effect := v_row.id;
    if v_row.policy = any (v_policies)
      and (v_row.attempt > 1 or ((p_to is null or v_row.claimed_at <= p_to)
        and (p_from is null or v_row.done_at is null or v_row.done_at >= p_from))) then
      key := v_row.key;
      state := v_row.state;
      outcome := case when v_row.state = 'done' then v_row.outcome end;
      attempt := v_row.attempt;
      claimed_at := v_row.claimed_at;
      done_at := v_row.done_at;
      lease_until := v_row.lease_until;
      business := v_row.business;
      kept := case when p_kept then v_row.kept end;
      v_told := v_told + 1;
      v_bytes := v_bytes + 200 + coalesce(octet_length(key), 0) + coalesce(octet_length(kept), 0);
      return next;
    end if;
  end loop;
  return query select v_end, null::text, 'end', null::text, null::integer,
    (select min(s.installed_at) from effect.schema_version s), v_now, v_now - v_remember,
    null::uuid, null::text;
end
$$;
