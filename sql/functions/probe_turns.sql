-- Whose turn it is to be probed: due unknown rows of tools that have room with the caller, in the order in which slots are to
-- be given away: first to the tool with the fewest probes under way, and of a tool to the row that has been due for longest.
-- So tools with a backlog share the slots, and a tool alone has all that it may have. Nothing is locked and nothing is
-- written: a row that has to wait stays due, however many there are, and another daemon that has room for it may take it.
--
-- The arrays name the tools of which something is to be said: how many probes of theirs are under way, how many more may be
-- started. p_tool_room: how many of any other tool; null = as many as of all together. Another sweeper may be quicker with
-- some rows: twice as many are told as there are slots, of which the caller takes what `room` of each tool (`tool_n`) allows.
create or replace function effect.probe_turns(
  p_now timestamptz, p_probes_max integer, p_tool_room integer, p_namespace text[], p_tool text[], p_running integer[],
  p_room integer[])
returns table (id uuid, tool_n integer, room integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set enable_sort = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_policy bigint := '-9223372036854775808';
  v_policies bigint[] := '{}';
begin
  if p_probes_max < 1 then
    return;
  end if;
  -- the policies of all rows whose probe is appointed: one step along the index for each
  loop
    select l.policy into v_policy from effect.ledger l
    where l.state = 'unknown' and l.due_at < l.deadline_at and l.policy > v_policy
    order by l.policy limit 1;
    exit when not found;
    v_policies := v_policies || v_policy;
  end loop;
  return query
  select r.id, r.tool_n::integer, r.room
  from (
    select d.id, d.due_at, coalesce(u.running, 0) as running, coalesce(u.room, p_tool_room, p_probes_max) as room,
      dense_rank() over (order by t.namespace, t.name) as tool_n,
      row_number() over (partition by t.namespace, t.name order by d.due_at) as n
    from unnest(v_policies) as p(policy)
      join effect.tool t on t.version = p.policy and t.has_probe
      left join unnest(p_namespace, p_tool, p_running, p_room) as u(namespace, tool, running, room)
        on u.namespace = t.namespace and u.tool = t.name
      cross join lateral (
        select l.id, l.due_at from effect.ledger l
        where l.state = 'unknown' and l.policy = p.policy and l.due_at <= p_now and l.due_at < l.deadline_at
          and l.deadline_at > p_now
        order by l.due_at
        limit 2 * p_probes_max) d
    where coalesce(u.room, p_tool_room, 1) > 0) r
  where r.n <= r.room + p_probes_max
  order by r.running + r.n, r.due_at
  limit 2 * p_probes_max;
end
$$;
