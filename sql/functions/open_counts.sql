-- effect.open_counts: how many rows are open, a row for each of the three states, by how long they are in it. `due`: those
-- that a sweep should have taken by now, and since when the first of them; an escalated row's next notice is not one of them,
-- as it waits for as long as nobody has a notifier. One pass over the index of open rows; whoever asks often asks more seldom
-- the more there are.
create or replace function effect.open_counts()
returns table (
  state effect.state, n bigint, n_1m bigint, n_15m bigint, n_1h bigint, n_1d bigint, n_older bigint, due bigint,
  due_since timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := effect.now();
begin
  return query
  select s.state, c.*
  from unnest(array['pending', 'unknown', 'escalated']::effect.state[]) with ordinality as s(state, ord)
    cross join lateral (
      select count(*), count(*) filter (where a.age < interval '1 minute'),
        count(*) filter (where a.age >= interval '1 minute' and a.age < interval '15 minutes'),
        count(*) filter (where a.age >= interval '15 minutes' and a.age < interval '1 hour'),
        count(*) filter (where a.age >= interval '1 hour' and a.age < interval '1 day'),
        count(*) filter (where a.age >= interval '1 day'),
        count(*) filter (where a.due_at <= v_now and s.state <> 'escalated'),
        min(a.due_at) filter (where a.due_at <= v_now and s.state <> 'escalated')
      from (
        select v_now - coalesce(l.since, l.claimed_at) as age, l.due_at from effect.ledger l
        where l.done_at is null and l.state = s.state) a) c
  order by s.ord;
end
$$;
