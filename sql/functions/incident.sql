-- effect.incident: what a person, or a program of his, found when he compared the ledger with the provider's books. An incident
-- of kind `reconcile` and nothing else: no effect changes its state. The same finding of the same effect is noted once, however
-- often it is brought and by how many at a time. p_tool null: p_id is an effect, and must be known, by its row or by its history.
-- Else there is no effect: p_id is made from (namespace, tool, what the provider calls it), and these say whose it is.
create or replace function effect.incident(
  p_id uuid[], p_scope text[], p_namespace text[], p_tool text[], p_key text[], p_reason text[], p_evidence text[],
  p_by text[])
returns table (ord integer, answer text, already boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  v_whose record;
  v_attempt integer;
begin
  perform effect.enter(cardinality(p_id), cardinality(p_scope), cardinality(p_namespace), cardinality(p_tool),
    cardinality(p_key), cardinality(p_reason), cardinality(p_evidence), cardinality(p_by));
  for v_i in 1 .. cardinality(p_id) loop
    ord := v_i;
    already := null;
    if not pg_try_advisory_xact_lock(effect.lock_of_incident(p_id[v_i])) then
      answer := 'retry';
      return next;
      continue;
    end if;
    if p_tool[v_i] is null then
      select w.* into v_whose from effect.whose(p_id[v_i], p_scope[v_i]) w;
    else
      select p_namespace[v_i] as scope, p_tool[v_i] as tool, p_key[v_i] as key into v_whose;
    end if;
    if v_whose.tool is null or not effect.in_scope(v_whose.scope, p_scope[v_i]) then
      answer := 'not_found';
      return next;
      continue;
    end if;
    answer := 'ok';
    already := exists (
      select from effect.event e
      where e.effect = p_id[v_i] and e.kind = 'reconcile' and e.reason = p_reason[v_i]
        and e.evidence is not distinct from p_evidence[v_i]);
    if not already then
      select l.attempt into v_attempt from effect.ledger l where l.id = p_id[v_i];
      insert into effect.event (effect, at, attempt, incident, kind, decided_by, reason, evidence, scope, tool, key)
      values (p_id[v_i], effect.now(), coalesce(v_attempt, 0), true, 'reconcile', p_by[v_i], p_reason[v_i],
        p_evidence[v_i], v_whose.scope, v_whose.tool, v_whose.key);
    end if;
    return next;
  end loop;
end
$$;
