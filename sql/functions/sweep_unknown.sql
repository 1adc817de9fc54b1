-- What a sweep does about a locked unknown row that is due: escalate it at its deadline (or let the `failed` that its
-- caller reported stand), take its next probe, or put it off for a moment where no probe can be started.
create or replace function effect.sweep_unknown(p_row effect.ledger, p_tool effect.tool, p_may_probe boolean,
  out task text, out held effect.ledger)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := effect.now();
begin
  if p_row.deadline_at <= v_now and p_row.outcome is not null then
    perform effect.settle_reported(p_row, p_tool);
    task := 'done';
  elsif p_row.deadline_at <= v_now then
    perform effect.escalate(p_row, case when p_tool.on_unknown = 'human' then 'the policy asks people'
      when p_tool.has_probe then 'no probe could tell by the deadline' else 'there is no probe' end);
    task := 'escalated';
  elsif p_tool.has_probe and p_may_probe then
    perform effect.take_probe(p_row, p_tool, 1);
    task := 'probe';
  elsif p_tool.has_probe then
    update effect.ledger l set due_at = least(v_now + interval '1 second' * (1 + random()), l.deadline_at)
    where l.id = p_row.id;
  elsif p_row.due_at < p_row.deadline_at then
    update effect.ledger l set due_at = l.deadline_at where l.id = p_row.id;
  end if;
  select * into strict held from effect.ledger l where l.id = p_row.id;
end
$$;
