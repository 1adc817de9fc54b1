-- effect.stat_add: one flush of a daemon's counts, which is added once, however often it is sent: its number p_flush_no grows
-- by one with each flush of a boot. p_ms_log2: one array literal a row, such as '{0,3,17}': how many took less than 1 ms,
-- 2 ms, 4 ms ...
--
-- answer: ok | already (this very flush was added before) | busy (somebody else is at the counts: send it again in a
-- moment). p_end: the boot's last one. p_dropped: how many it had no room to count, since its start. p_at: the
-- daemon's clock when it sent this; minutes by a clock that is wrong are put right.
--
-- Whom could it keep waiting? Nobody: the one lock is taken by try, and rows of effect.stat are written by its holder alone.
create or replace function effect.stat_add(
  p_boot uuid, p_instance uuid, p_up_ms bigint, p_host text, p_version text, p_flush_no bigint, p_dropped bigint,
  p_end boolean, p_minute timestamptz[], p_namespace text[], p_tool text[], p_decision text[], p_n bigint[],
  p_ms_log2 text[], p_at timestamptz default null, out answer text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz;
  v_shift interval;
begin
  perform effect.enter(cardinality(p_minute), cardinality(p_namespace), cardinality(p_tool), cardinality(p_decision),
    cardinality(p_n), cardinality(p_ms_log2));
  if not pg_try_advisory_xact_lock(effect.lock_of_stat()) then
    answer := 'busy';
    return;
  end if;
  v_now := effect.now();
  v_shift := case when abs(date_part('epoch', v_now - p_at)) > 30 then v_now - p_at else interval '0' end;
  perform effect.daemon_known(p_boot, p_instance, p_up_ms, p_host, p_version);
  update effect.daemon d set
    flush_no = p_flush_no, seen_at = v_now, ended_at = case when p_end then v_now end,
    dropped_at = case when p_dropped > d.dropped then v_now else d.dropped_at end, dropped = greatest(d.dropped, p_dropped)
  where d.boot = p_boot and d.flush_no < p_flush_no;
  if not found then
    -- written once more, so that this commit waits for a synchronous standby as the first one did
    update effect.daemon d set seen_at = v_now where d.boot = p_boot;
    answer := 'already';
    return;
  end if;
  insert into effect.stat as s (minute, namespace, tool, decision, n, ms_log2)
  select date_trunc('minute', u.minute + v_shift), u.namespace, u.tool, u.decision, sum(u.n),
    effect.add_log2(u.ms_log2::bigint[])
  from unnest(p_minute, p_namespace, p_tool, p_decision, p_n, p_ms_log2)
    as u(minute, namespace, tool, decision, n, ms_log2)
  group by 1, 2, 3, 4
  on conflict (minute, namespace, tool, decision) do update set
    n = s.n + excluded.n, ms_log2 = effect.add_arrays(s.ms_log2, excluded.ms_log2);
  answer := 'ok';
end
$$;
