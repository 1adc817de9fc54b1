-- effect.sweep: takes at most p_rows_max due open rows, oldest first, and says what is to be done about them. Taking a row
-- pushes its due_at in the same statement's transaction, so that no other sweeper takes it too; rows that another
-- transaction holds are passed over. p_probes_max: how many probes the caller can start now; rows beyond it are put
-- off for a moment, so that they do not stand in the way of the others. p_notify: has the caller a notifier?
--
-- Which row could stay open for ever? One whose due_at lies in the future for ever: each branch below either settles the
-- row or sets due_at to a finite instant, and an unknown row's never lies beyond its deadline.
create or replace function effect.sweep(p_rows_max integer, p_probes_max integer, p_notify boolean)
returns table (
  task text, effect uuid, namespace text, tool text, key text, attempt integer, policy bigint, probe_no integer,
  probe_timeout_ms bigint, notice_no integer, claimed_at timestamptz, since timestamptz, kept text, reason text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_row effect.ledger;
  v_tool effect.tool;
  v_probes integer := p_probes_max;
  v_task text;
  v_step record;
begin
  perform effect.enter(1, 1);
  v_now := effect.now();
  for v_row in
    select l.* from effect.ledger l
    where l.done_at is null and l.due_at <= v_now
      and (p_notify or l.state <> 'escalated')
    order by l.due_at
    limit p_rows_max
    for update skip locked
  loop
    select * into strict v_tool from effect.tool t where t.version = v_row.policy;
    effect := v_row.id;
    namespace := v_tool.namespace;
    tool := v_tool.name;
    key := v_row.key;
    attempt := v_row.attempt;
    policy := v_row.policy;
    probe_timeout_ms := v_tool.probe_timeout_ms;
    claimed_at := v_row.claimed_at;
    kept := v_row.kept;
    reason := null;
    if v_row.state = 'pending' then
      v_row := effect.turn_unknown(v_row, 'lapsed', null);
      task := 'lapsed';
      since := v_row.since;
      return next;
    end if;
    if v_row.state = 'unknown' then
      v_step := effect.sweep_unknown(v_row, v_tool, v_probes > 0);
      v_task := v_step.task;
      v_row := v_step.held;
      if v_task is not null then
        v_probes := v_probes - (v_task = 'probe')::integer;
        task := v_task;
        since := v_row.since;
        probe_no := v_row.probe_no;
        return next;
      end if;
    end if;
    if v_row.state = 'escalated' and p_notify then
      v_row := effect.take_notice(v_row);
      task := 'notify';
      since := v_row.since;
      notice_no := v_row.notice_no;
      reason := (select e.reason from effect.event e where e.effect = v_row.id and e.kind = 'escalated'
        order by e.id desc limit 1);
      return next;
    end if;
  end loop;
end
$$;
