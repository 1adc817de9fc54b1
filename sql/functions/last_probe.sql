-- What the newest probe of an effect had to say, and when; and whether any since p_since had a word that counts.
create or replace function effect.last_probe(p_id uuid, p_since timestamptz,
  out at timestamptz, out said text, out n integer, out answered boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  select e.at, e.reason into at, said
  from effect.event e
  where e.effect = p_id and e.kind in ('probe', 'verdict') and e.decided_by = 'probe'
  order by e.id desc limit 1;
  select count(*), coalesce(bool_or(e.kind = 'verdict'), false) into n, answered
  from effect.event e
  where e.effect = p_id and e.kind in ('probe', 'verdict') and e.decided_by = 'probe' and e.at >= p_since;
end
$$;
