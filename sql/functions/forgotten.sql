-- Has the key of a row been forgotten? Only settled rows age; an open one never does, whatever its instants say.
create or replace function effect.forgotten(p_state effect.state, p_keep_until timestamptz, p_now timestamptz)
returns boolean
language sql immutable parallel safe
as $$
  select p_state operator(pg_catalog.=) any (array['done', 'released']::effect.state[])
    and p_keep_until operator(pg_catalog.<=) p_now
$$;
