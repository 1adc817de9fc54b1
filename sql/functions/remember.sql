-- What reports need of effects whose rows are about to be forgotten, one narrow row for each that landed. What was released, or
-- failed for good, did nothing that could be doubled. It is kept as long again as the key was, at least 30
-- days, so that a report of a month sees all of what came too late, however short the memory was, and at most 90.
--
-- For who holds the rows' locks. Saying it twice adds nothing.
create or replace function effect.remember(p_id uuid[], p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into effect.past (id, business, policy, claimed_at, done_at, forgotten_at, due_at)
  select l.id, l.business, l.policy, l.claimed_at, l.done_at, p_now,
    p_now + (select effect.past_for(t.keep_key_ms) from effect.tool t where t.version = l.policy)
  from effect.ledger l
  where l.id = any (p_id) and l.state = 'done' and l.outcome = 'succeeded' and effect.forgotten(l.state, l.keep_until, p_now)
  on conflict do nothing;
end
$$;

-- How long that is, by the policy's keep_key.
create or replace function effect.past_for(p_keep_key_ms bigint) returns interval
language sql immutable parallel safe
as $$
  select greatest(interval '30 days', least(interval '90 days', effect.ms(p_keep_key_ms)))
$$;
