-- Writes a row as it is, so that an answer which changes nothing (`already`) is not told before everything it rests on
-- is durable: the commit of this write waits for a synchronous standby too.
create or replace function effect.touch(p_id uuid) returns void
language sql volatile
as $$ update effect.ledger set attempt = attempt where id operator(pg_catalog.=) p_id $$;
