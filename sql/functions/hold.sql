-- Locks the row of an effect without waiting and says who speaks:
--   retry     another transaction holds the row
--   gone      there is no such row
--   foreign   its namespace is outside the scope
--   last      the token of the newest attempt
--   earlier   the token of a former attempt of this life of the key (token_attempt says which)
--   former    the token of a former life of the key, before its expiry
--   other     any other token
-- p_token null: nobody's token is asked about (standing = last).
create or replace function effect.hold(p_id uuid, p_token uuid, p_scope text,
  out standing text, out token_attempt integer, out held effect.ledger, out tool effect.tool)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_attempt integer;
begin
  select * into held from effect.ledger l where l.id = p_id for update skip locked;
  if not found then
    standing := case when exists (select from effect.ledger l where l.id = p_id) then 'retry' else 'gone' end;
    return;
  end if;
  select * into strict tool from effect.tool t where t.version = held.policy;
  if not effect.in_scope(tool.namespace, p_scope) then
    standing := 'foreign';
    held := null;
    tool := null;
    return;
  end if;
  token_attempt := held.attempt;
  if p_token is null or p_token = held.token then
    standing := 'last';
    return;
  end if;
  -- `granted` of attempt n + 1 carries the token of attempt n; `expired` that of its own attempt.
  select case e.kind when 'granted' then e.attempt - 1 else e.attempt end into v_attempt
  from effect.event e
  where e.effect = p_id and e.token = p_token and e.kind in ('granted', 'expired')
  order by e.id desc limit 1;
  if not found then
    standing := 'other';
    token_attempt := null;
    return;
  end if;
  token_attempt := v_attempt;
  standing := case when v_attempt > held.base then 'earlier' else 'former' end;
end
$$;
