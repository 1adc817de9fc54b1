-- What every function of ours that writes does first. READ COMMITTED, because each statement must see what committed
-- before it; durable, whatever the session says (a `set` clause on a function would not reach the commit).
-- All arrays must have the length of the first: unnest would pad a short one with nulls in silence.
create or replace function effect.enter(p_n integer, variadic p_lengths integer[] default '{}') returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'effect functions run under read committed only, not %', current_setting('transaction_isolation')
      using errcode = 'ZE001';
  end if;
  if not coalesce(p_n = all (p_lengths), false) then
    raise exception 'arrays differ in length: % against %', p_n, p_lengths using errcode = 'ZE003';
  end if;
  if current_setting('synchronous_commit') in ('off', 'local') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end
$$;
