-- Has a daemon not been heard of for longer than its flushes take?
create or replace function effect.is_silent(p_seen_at timestamptz, p_now timestamptz)
returns boolean
language sql stable parallel safe
as $$
  select p_seen_at operator(pg_catalog.<) (p_now operator(pg_catalog.-) interval '30 seconds')
$$;
