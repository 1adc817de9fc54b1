-- effect.daemon_policies: a daemon says which versions of policies are in force there, all of them.
create or replace function effect.daemon_policies(
  p_boot uuid, p_instance uuid, p_up_ms bigint, p_host text, p_version text, p_policies bigint[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform effect.enter(1, 1);
  perform effect.daemon_known(p_boot, p_instance, p_up_ms, p_host, p_version);
  update effect.daemon d set policies = p_policies where d.boot = p_boot;
end
$$;
