-- Does an open transaction of somebody's own hold this effect (effect.begin_here)? Looks and leaves no lock behind: a session's
-- lock, given back at once, where one of the transaction would stay to its end. Both in one expression: no cancellation can
-- come between them, and leave a session with a lock for which every grant of this effect would wait.
create or replace function effect.held_here(p_id uuid) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_lock bigint := effect.lock_of_here(p_id);
begin
  return not case when pg_try_advisory_lock_shared(v_lock) then pg_advisory_unlock_shared(v_lock) else false end;
end
$$;
