-- Advisory lock keys: 64 bits of the effect id, and 64 bits of (effect id, request). The first is held by whoever is
-- inserting the row; the second tells a caller whose first try is still committing from a rival.
create or replace function effect.lock_of(p_id uuid) returns bigint
language sql immutable parallel safe
as $$ select pg_catalog.uuid_hash_extended(p_id, 0) $$;

create or replace function effect.lock_of(p_id uuid, p_request uuid) returns bigint
language sql immutable parallel safe
as $$ select pg_catalog.uuid_hash_extended(p_request, pg_catalog.uuid_hash_extended(p_id, 1)) $$;

-- Whoever judges or counts a turn's budgets holds this one, whoever judges a business key the other; both to the commit.
create or replace function effect.lock_of_turn(p_turn uuid) returns bigint
language sql immutable parallel safe
as $$ select pg_catalog.uuid_hash_extended(p_turn, 3) $$;

create or replace function effect.lock_of_business(p_business uuid) returns bigint
language sql immutable parallel safe
as $$ select pg_catalog.uuid_hash_extended(p_business, 4) $$;

-- Held by a transaction of somebody's own that was granted the effect (effect.begin_here), as long as it is open.
create or replace function effect.lock_of_here(p_id uuid) returns bigint
language sql immutable parallel safe
as $$ select pg_catalog.uuid_hash_extended(p_id, 5) $$;

-- Held by whoever notes what reconciling found about an effect, so that one finding is noted once.
create or replace function effect.lock_of_incident(p_id uuid) returns bigint
language sql immutable parallel safe
as $$ select pg_catalog.uuid_hash_extended(p_id, 6) $$;

-- Held by whoever writes effect.stat, to the commit: one at a time, and none waits for another.
create or replace function effect.lock_of_stat() returns bigint
language sql immutable parallel safe
as $$ select pg_catalog.hashtextextended('effect.stat', 7) $$;
