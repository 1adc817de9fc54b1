-- Waits for an advisory lock by trying, until one second after the statement began (one bound for a whole batch).
-- Whether it was taken does not matter to the caller: what follows tries again and judges.
create or replace function effect.await_lock(p_lock bigint) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  while not pg_try_advisory_xact_lock(p_lock) and clock_timestamp() < statement_timestamp() + interval '1 second' loop
    perform pg_sleep(0.01);
  end loop;
end
$$;
