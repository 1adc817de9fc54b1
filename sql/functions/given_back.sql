-- Was it said of this attempt, by its wrapper, or by a probe or a person who looked then or later, that it did not land?
create or replace function effect.given_back(p_id uuid, p_attempt integer) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
  select exists (select from effect.event e
    where e.effect = p_id and (e.attempt = p_attempt or (e.attempt > p_attempt and e.decided_by <> 'caller'))
      and (e.kind in ('released', 'not_told') or (e.kind = 'resolved' and e.detail like 'absent%')))
$$;
