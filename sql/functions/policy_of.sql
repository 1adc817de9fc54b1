-- effect.policy_of: under which policy effects were claimed, and which parts of their results are secret. One row out per
-- row in; answer ok or not_found.
create or replace function effect.policy_of(p_id uuid[])
returns table (ord integer, answer text, policy bigint, result_secret text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
begin
  return query
  select u.ord::integer, case when l.id is null then 'not_found' else 'ok' end, l.policy, t.result_secret
  from unnest(p_id) with ordinality as u(id, ord)
    left join effect.ledger l on l.id = u.id
    left join effect.tool t on t.version = l.policy;
end
$$;
