-- The policy of a tool for a caller that is no daemon: the one that a daemon told the ledger last. Where none was ever told, the
-- one for unknown tools, which stands without a name as long as the daemons guard such tools; under a version of its own, since
-- a daemon that registers its own must not wait for this transaction. No version: no policy.
create or replace function effect.tool_here(p_namespace text, p_name text) returns effect.tool
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tool effect.tool;
begin
  select * into v_tool from effect.tool t where t.namespace = p_namespace and t.name = p_name
  order by t.registered_at desc, t.version desc limit 1;
  if found then
    return v_tool;
  end if;
  select * into v_tool from effect.tool t where t.namespace = p_namespace and t.name = ''
  order by t.registered_at desc, t.version desc limit 1;
  if found then
    v_tool.version := hashtextextended(gen_random_uuid()::text, 0) & 9223372036854775807;
    v_tool.registered_at := effect.now();
    v_tool.name := p_name;
    v_tool.policy := (v_tool.policy::jsonb || jsonb_build_object('name', p_name))::text;
    insert into effect.tool select v_tool.*;
  end if;
  return v_tool;
end
$$;
