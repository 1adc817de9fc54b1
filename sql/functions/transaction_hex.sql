-- The number of this transaction, in 16 hex digits. No other one of this database server has it, ever.
create or replace function effect.transaction_hex() returns text
language sql volatile
set search_path = pg_catalog, pg_temp
as $$ select lpad(to_hex(pg_current_xact_id()::text::bigint), 16, '0') $$;
