-- effect.ledger_sizes: what each tool's rows are of the ledger, in one pass: rows by state, and bytes on disk, with indexes and
-- what dead rows take. Bytes are shared out by what the rows hold, so that the tools' together are the whole; estimates.
create or replace function effect.ledger_sizes(p_scope text, p_namespace text, p_tool text)
returns table (
  namespace text, tool text, pending bigint, unknown bigint, escalated bigint, released bigint, done bigint, n bigint,
  bytes bigint)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with held as (
    select l.policy, count(*) as n,
      count(*) filter (where l.state = 'pending') as pending, count(*) filter (where l.state = 'unknown') as unknown,
      count(*) filter (where l.state = 'escalated') as escalated, count(*) filter (where l.state = 'released') as released,
      count(*) filter (where l.state = 'done') as done,
      sum(250 + pg_column_size(l.key) + coalesce(pg_column_size(l.result), 0) + coalesce(pg_column_size(l.kept), 0)) as weight
    from effect.ledger l
    group by l.policy
  ), shared as (
    select h.*, pg_total_relation_size('effect.ledger') * h.weight / sum(h.weight) over () as bytes from held h
  )
  select t.namespace, t.name, sum(s.pending)::bigint, sum(s.unknown)::bigint, sum(s.escalated)::bigint,
    sum(s.released)::bigint, sum(s.done)::bigint, sum(s.n)::bigint, round(sum(s.bytes))::bigint
  from shared s join effect.tool t on t.version = s.policy
  where effect.in_scope(t.namespace, p_scope)
    and (p_namespace is null or t.namespace = p_namespace)
    and (p_tool is null or t.name = p_tool)
  group by t.namespace, t.name
$$;
