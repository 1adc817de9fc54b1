-- Does an open transaction of somebody's own hold this effect (effect.begin_here)? Looks and leaves no lock behind: a session's
-- lock, given back at once, where one of the transaction would stay to its end.
create or replace function effect.held_here(p_id uuid) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if pg_try_advisory_lock_shared(effect.lock_of_here(p_id)) then
    perform pg_advisory_unlock_shared(effect.lock_of_here(p_id));
    return false;
  end if;
  return true;
end
$$;
