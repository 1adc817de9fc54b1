-- The pause after the n-th probe since a row turned unknown (n >= 1): the policy's list, its last entry from then on,
-- with up to a fifth of jitter on top, so that rows that lapsed together do not stay together.
create or replace function effect.backoff(p_tool effect.tool, p_tries integer) returns interval
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_n integer := cardinality(p_tool.probe_backoff_ms);
begin
  if v_n = 0 then
    return interval '10 minutes';
  end if;
  return effect.ms(p_tool.probe_backoff_ms[least(greatest(p_tries, 1), v_n)]) * (1 + random() / 5);
end
$$;
