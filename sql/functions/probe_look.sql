-- effect.probe_look: what is needed to ask the provider about effects by hand, whatever their state; nothing is taken and
-- nothing changes. One row out per row in; answer ok or not_found. probe_at is now, for effect.would: no probe that is started
-- upon this was started earlier.
create or replace function effect.probe_look(p_id uuid[], p_scope text[])
returns table (
  ord integer, answer text, effect uuid, state text, namespace text, tool text, key text, attempt integer, policy bigint,
  probe_no integer, probe_timeout_ms bigint, probe_at timestamptz, claimed_at timestamptz, since timestamptz, kept text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
begin
  return query
  select u.ord::integer, case when l.id is null then 'not_found' else 'ok' end, l.id, l.state::text, l.namespace, l.name, l.key,
    l.attempt, l.policy, l.probe_no, l.probe_timeout_ms, effect.now(), coalesce(l.open_from, l.claimed_at), l.since, l.kept
  from unnest(p_id, p_scope) with ordinality as u(id, scope, ord)
    left join lateral (
      select r.*, t.namespace, t.name, t.probe_timeout_ms
      from effect.ledger r join effect.tool t on t.version = r.policy and effect.in_scope(t.namespace, u.scope)
      where r.id = u.id and not effect.forgotten(r.state, r.keep_until, effect.now())) as l on true;
end
$$;
