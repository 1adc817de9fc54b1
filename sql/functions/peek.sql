-- effect.peek: the state of effects that somebody waits for, by plain reads. One row out per row in; answer pending, lapsed
-- (pending with its lease over), unknown, escalated, released, done or none. What a transaction of somebody's own was granted and
-- has not committed yet is pending, too: who waits for it has nothing to ask before that ends.
create or replace function effect.peek(p_id uuid[])
returns table (ord integer, answer text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
begin
  return query
  select u.ord::integer,
    case when (l.id is null or l.state = 'released') and effect.held_here(u.id) then 'pending'
      when l.id is null then 'none'
      when l.state = 'pending' and l.lease_until <= effect.now() then 'lapsed' else l.state::text end
  from unnest(p_id) with ordinality as u(id, ord) left join effect.ledger l on l.id = u.id;
end
$$;
