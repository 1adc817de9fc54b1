-- effect.get: what is recorded about effects, never a token. One row out per row in; answer ok or not_found. A key past
-- its keeping is not found, even before retention takes the row.
create or replace function effect.get(p_id uuid[], p_scope text[], p_events integer[])
returns table (
  ord integer, answer text, effect uuid, namespace text, tool text, key text, fingerprint uuid, state text,
  attempt integer, owner text, run text, step text, claimed_at timestamptz, lease_until timestamptz,
  since timestamptz, due_at timestamptz, done_at timestamptz, outcome text, decided_by text, result text,
  result_state text, result_bytes bigint, result_sha256 bytea, protected_until timestamptz, kept text, events text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
begin
  return query
  select u.ord::integer, case when l.id is null then 'not_found' else 'ok' end, u.id, t.namespace, t.name, l.key,
    l.fingerprint, l.state::text, l.attempt, l.owner, l.run, l.step, l.claimed_at, l.lease_until, l.since, l.due_at,
    l.done_at, case when l.state = 'done' then l.outcome::text end, l.decided_by::text,
    case when l.state = 'done' and l.result_left <> 'expired' then l.result end,
    case when l.state = 'done' then l.result_left end,
    case when l.state = 'done' then l.result_bytes end, case when l.state = 'done' then l.result_sha256 end,
    l.keep_until, l.kept,
    case when l.id is not null then effect.events(l.id, t.namespace, l.evidence, u.events) end
  from unnest(p_id, p_scope, p_events) with ordinality as u(id, scope, events, ord)
    left join lateral (
      select r.*, effect.result_now(r.result_state, r.due_at, effect.now()) as result_left
      from effect.ledger r
        join effect.tool s on s.version = r.policy and effect.in_scope(s.namespace, u.scope)
      where r.id = u.id and not effect.forgotten(r.state, r.keep_until, effect.now())) as l on true
    left join effect.tool t on t.version = l.policy;
end
$$;
