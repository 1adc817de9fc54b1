-- A start of a daemon that speaks for the first time, p_up_ms after it began, has a row from now on.
create or replace function effect.daemon_known(p_boot uuid, p_instance uuid, p_up_ms bigint, p_host text, p_version text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into effect.daemon (boot, instance, started_at, seen_at, host, version)
  values (p_boot, p_instance, effect.now() - effect.ms(p_up_ms), effect.now(), p_host, p_version)
  on conflict (boot) do nothing;
end
$$;
