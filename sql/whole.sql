-- Has the ledger all that the functions stand on? One that was made by a development version has the same number and may
-- lack a table: functions that need it would fail when it is needed first, in words that help nobody. Nothing to do else.
do $$
declare
  v_lacks text;
begin
  select pg_catalog.string_agg(t.name, ', ') into v_lacks
  from pg_catalog.unnest('{tool,ledger,event,turn,stat,past,daemon,access}'::text[]) as t(name)
  where pg_catalog.to_regclass('effect.' || t.name) is null;
  if v_lacks is not null then
    raise exception 'the schema "effect" was made by a development version and lacks %: nothing upgrades it, make it anew', v_lacks;
  end if;
end
$$;
