-- Where on effect.event a window of time begins: no event with a smaller id is of p_from or later. Ids and instants are drawn
-- together, so events stand in the order of time, and a window is found by halving the ids, some forty look-ups by the primary
-- key, without an index that every event would pay for. An hour is left for a clock that was set back; who reads from here on
-- still looks at `at`.
create or replace function effect.event_from(p_from timestamptz) returns bigint
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_from timestamptz := p_from - interval '1 hour';
  v_low bigint := coalesce((select min(e.id) from effect.event e), 0); -- the answer is not below
  v_high bigint := coalesce((select max(e.id) from effect.event e), 0) + 1; -- nor above
  v_middle bigint;
  v_at timestamptz;
begin
  while v_low < v_high loop
    v_middle := v_low + (v_high - v_low) / 2;
    select e.at into v_at from effect.event e where e.id >= v_middle order by e.id limit 1;
    if v_at >= v_from then
      v_high := v_middle;
    else
      v_low := v_middle + 1;
    end if;
  end loop;
  return v_low;
end
$$;
