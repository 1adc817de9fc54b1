-- Advisory lock keys: 64 bits of the effect id, and 64 bits of (effect id, request). The first is held by whoever is
-- inserting the row; the second tells a caller whose first try is still committing from a rival.
create or replace function effect.lock_of(p_id uuid) returns bigint
language sql immutable parallel safe
as $$ select pg_catalog.uuid_hash_extended(p_id, 0) $$;

create or replace function effect.lock_of(p_id uuid, p_request uuid) returns bigint
language sql immutable parallel safe
as $$ select pg_catalog.uuid_hash_extended(p_request, pg_catalog.uuid_hash_extended(p_id, 1)) $$;
