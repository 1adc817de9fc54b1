-- A token for a claim of this transaction: 60 bits of chance, then the transaction's own number, by which effect.complete_here
-- knows whether the claim is of the transaction that it is called in (savepoints are part of it).
create or replace function effect.token_here() returns uuid
language sql volatile
set search_path = pg_catalog, pg_temp
as $$ select (left(replace(gen_random_uuid()::text, '-', ''), 16) || effect.transaction_hex())::uuid $$;
