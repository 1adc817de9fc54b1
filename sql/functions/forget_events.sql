-- effect.forget_events: one bounded step of a walk along effect.event that forgets the history of effects whose row is
-- gone and whose newest event is older than 30 days. p_after: where the last step ended (0 = start); next_after 0 = the
-- walk is at its end and starts again.
create or replace function effect.forget_events(p_after bigint, p_rows_max integer,
  out next_after bigint, out deleted integer)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_effects uuid[];
begin
  perform effect.enter(1, 1);
  select max(s.id), array_agg(distinct s.effect) into next_after, v_effects
  from (select e.id, e.effect from effect.event e where e.id > p_after order by e.id limit p_rows_max) as s;
  -- scalar look-ups and `= any`: a join or an `exists` may be planned as a walk of the whole index
  delete from effect.event e
  where e.effect = any (v_effects)
    and (select true from effect.ledger l where l.id = e.effect) is null
    and (select true from effect.event n where n.effect = e.effect and n.at > effect.now() - interval '30 days' limit 1) is null;
  get diagnostics deleted = row_count;
  next_after := coalesce(next_after, 0);
end
$$;
