-- effect.stat_roll: one bounded step by which counts grow old: minutes are added up to hours after 48 hours, hours to days (UTC)
-- after 90 days, and days are dropped after 800. Counts that come late, into a slot that was rolled up before, are rolled up by
-- a later step. Sums of n and of the histograms are never changed by it. And of daemons: a start that ended, or was heard of
-- last, 90 days ago is forgotten.
--
-- moved, dropped: rows of effect.stat; busy: nothing was done, as somebody else is at the counts. Nothing is left to do when
-- both are 0 and it is not busy.
--
-- How is a slot found that has something left? By jumping from one to the next along the primary key: as many look-ups as
-- there are hours and days, however many tools.
create or replace function effect.stat_roll(p_rows_max integer, out moved integer, out dropped integer, out busy boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz;
  v_slot timestamptz;
  v_width interval;
  v_old timestamptz[];
begin
  perform effect.enter(1, 1);
  moved := 0;
  dropped := 0;
  busy := not pg_try_advisory_xact_lock(effect.lock_of_stat());
  if busy then
    return;
  end if;
  v_now := effect.now();
  delete from effect.daemon d
  where d.boot in (select e.boot from effect.daemon e
    where coalesce(e.ended_at, e.seen_at) < v_now - interval '90 days' limit p_rows_max);

  delete from effect.stat s using (
    select o.minute, o.namespace, o.tool, o.decision from effect.stat o
    where o.minute < v_now - interval '800 days' order by o.minute limit p_rows_max) as o
  where (s.minute, s.namespace, s.tool, s.decision) = (o.minute, o.namespace, o.tool, o.decision);
  get diagnostics dropped = row_count;
  if dropped > 0 then
    return;
  end if;

  select f.slot, f.width into v_slot, v_width from effect.stat_fine(v_now) f;
  if v_slot is null then
    return;
  end if;
  with gone as (
    delete from effect.stat s using (
      select o.minute, o.namespace, o.tool, o.decision from effect.stat o
      where o.minute > v_slot and o.minute < v_slot + v_width order by o.minute limit p_rows_max) as o
    where (s.minute, s.namespace, s.tool, s.decision) = (o.minute, o.namespace, o.tool, o.decision)
    returning s.*
  ), added as (
    insert into effect.stat as s (minute, namespace, tool, decision, n, ms_log2)
    select v_slot, g.namespace, g.tool, g.decision, sum(g.n), effect.add_log2(g.ms_log2)
    from gone g group by g.namespace, g.tool, g.decision
    on conflict (minute, namespace, tool, decision) do update set
      n = s.n + excluded.n, ms_log2 = effect.add_arrays(s.ms_log2, excluded.ms_log2)
  )
  select count(*) into moved from gone;
end
$$;

-- The oldest hour (before 90 days: day) that has rows beside its first instant's; null if there is none.
create or replace function effect.stat_fine(p_now timestamptz, out slot timestamptz, out width interval)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_hours_from timestamptz := date_bin('1 day', p_now - interval '90 days', '2000-01-01 00:00:00+00');
  v_minutes_from timestamptz := date_bin('1 hour', p_now - interval '48 hours', '2000-01-01 00:00:00+00');
  v_minute timestamptz := (select s.minute from effect.stat s order by s.minute limit 1);
begin
  while v_minute < v_minutes_from loop
    width := case when v_minute < v_hours_from then interval '1 day' else interval '1 hour' end;
    slot := date_bin(width, v_minute, '2000-01-01 00:00:00+00');
    if (select true from effect.stat s where s.minute > slot and s.minute < slot + width limit 1) then
      return;
    end if;
    v_minute := (select s.minute from effect.stat s where s.minute >= slot + width order by s.minute limit 1);
  end loop;
  slot := null;
end
$$;
