-- Whose an incident is: namespace, tool and key of its effect, as its row has them or, once that is gone, its history.
-- Where neither knows the effect, or only in a namespace that the sender may not act in, there is the sender's own scope and
-- nothing else: it is told to those who may act in every namespace of that.
create or replace function effect.whose(p_id uuid, p_scope text, out scope text, out tool text, out key text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_policy bigint;
begin
  select l.policy, l.key into v_policy, key from effect.ledger l where l.id = p_id;
  if found then
    select t.namespace, t.name into strict scope, tool from effect.tool t where t.version = v_policy;
    return;
  end if;
  select e.scope, e.tool, e.key into scope, tool, key
  from effect.event e
  where e.effect = p_id and e.tool is not null and effect.in_scope(e.scope, p_scope)
  order by e.id desc limit 1;
  if not found then
    scope := p_scope;
  end if;
end
$$;
