-- The deadline of a locked unknown row has passed: the `failed` that its caller reported stands (unless an earlier attempt is
-- open beneath it), else people are called.
-- p_why: why its provider was not asked of late. Returns the task's name.
create or replace function effect.sweep_deadline(p_row effect.ledger, p_tool effect.tool, p_why text, p_detail text default null)
returns text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_row.outcome is not null and p_row.open_from is null then
    perform effect.settle_reported(p_row, p_tool);
    return 'done';
  end if;
  perform effect.escalate(p_row, case when p_tool.on_unknown = 'human' then 'the policy asks people'
    when p_tool.has_probe then concat_ws(': ', 'no probe could tell by the deadline', p_why) else 'there is no probe' end, p_detail => p_detail);
  return 'escalated';
end
$$;
