-- effect.sweep: takes due open rows and says what is to be done about them. Taking a row pushes its due_at in the same
-- statement's transaction, so that no other sweeper takes it too; rows that another transaction holds are passed over.
--
-- First those for which nobody need be asked, of each state at most p_rows_max, the longest due first: leases that ended,
-- deadlines that passed and, if the caller has a notifier (p_notify), notices. Then at most p_probes_max to be probed, as
-- many as the caller can start now, each tool in its turn: effect.probe_turns() says whose turn it is, and what the arrays
-- are. p_why: why a tool's provider is not asked at present (null = it is), for the people who are called because of it.
--
-- p_no: by which a sweep whose answer was lost with its connection is known again when it is sent again (p_resent): what its
-- first try took is told once more, but for probes and notices, which come due again by themselves.
--
-- claimed_at of a probe is the claim of the first attempt that is open: who asks for what happened since then must not be told
-- absent of what an attempt beneath a retry has done.
--
-- Which row could stay open for ever? One whose due_at lies in the future for ever: each step below either settles the row
-- or sets due_at to a finite instant, and an unknown row's never lies beyond its deadline. Or one that is due and never
-- taken: leases, deadlines and notices need no slot, and whoever waits for a probe has a deadline.
create or replace function effect.sweep(
  p_rows_max integer, p_probes_max integer, p_notify boolean, p_tool_room integer default null,
  p_namespace text[] default '{}', p_tool text[] default '{}', p_running integer[] default '{}',
  p_room integer[] default '{}', p_why text[] default '{}', p_no text default null, p_resent boolean default false)
returns table (
  task text, effect uuid, namespace text, tool text, key text, attempt integer, policy bigint, probe_no integer,
  probe_timeout_ms bigint, notice_no integer, claimed_at timestamptz, since timestamptz, kept text, reason text,
  counted text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set enable_sort = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_state effect.state;
  v_row effect.ledger;
  v_tool effect.tool;
begin
  perform effect.enter(cardinality(p_namespace), cardinality(p_tool), cardinality(p_running), cardinality(p_room),
    cardinality(p_why));
  if p_resent then
    return query select * from effect.swept(p_no);
  end if;
  foreach v_state in array array['pending', 'unknown', 'escalated']::effect.state[] loop
    exit when v_state = 'escalated' and not p_notify;
    v_now := effect.now();
    for v_row in
      select l.* from effect.ledger l
      where l.done_at is null and l.state = v_state
        and case when l.state = 'unknown' then l.deadline_at else l.due_at end <= v_now
      order by case when l.state = 'unknown' then l.deadline_at else l.due_at end
      limit p_rows_max
      for update skip locked
    loop
      select * into strict v_tool from effect.tool t where t.version = v_row.policy;
      reason := null;
      counted := null;
      if v_state = 'pending' then
        counted := effect.counted('lapsed', v_row.claimed_at, v_now);
        v_row := effect.turn_unknown(v_row, 'lapsed', null, p_detail => p_no);
        task := 'lapsed';
      elsif v_state = 'unknown' then
        task := effect.sweep_deadline(v_row, v_tool, (select u.why from unnest(p_namespace, p_tool, p_why) as u(n, t, why)
          where u.n = v_tool.namespace and u.t = v_tool.name), p_no);
        counted := case task when 'escalated' then effect.counted('escalated_effect', v_row.since, v_now)
          else effect.resolved(v_row, 'caller') end;
      else
        v_row := effect.take_notice(v_row);
        task := 'notify';
        notice_no := v_row.notice_no;
        reason := (select e.reason from effect.event e where e.effect = v_row.id and e.kind = 'escalated'
          order by e.id desc limit 1);
      end if;
      effect := v_row.id;
      namespace := v_tool.namespace;
      tool := v_tool.name;
      key := v_row.key;
      attempt := v_row.attempt;
      policy := v_row.policy;
      claimed_at := v_row.claimed_at;
      since := v_row.since;
      return next;
    end loop;
  end loop;
  return query
  select 'probe', l.id, t.namespace, t.name, l.key, l.attempt, l.policy, l.probe_no, t.probe_timeout_ms, null::integer,
    coalesce(l.open_from, l.claimed_at), l.since, l.kept, null::text, null::text
  from effect.sweep_probes(least(p_probes_max, p_rows_max), p_tool_room, p_namespace, p_tool, p_running, p_room) l
    join effect.tool t on t.version = l.policy;
end
$$;
