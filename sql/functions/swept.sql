-- What an earlier try of this sweep has done, by its own words in the newest events: rows of effect.sweep.
create or replace function effect.swept(p_no text)
returns table (
  task text, effect uuid, namespace text, tool text, key text, attempt integer, policy bigint, probe_no integer,
  probe_timeout_ms bigint, notice_no integer, claimed_at timestamptz, since timestamptz, kept text, reason text,
  counted text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
  return query
  select e.kind, e.effect, t.namespace, t.name, l.key, e.attempt, l.policy, null::integer, null::bigint, null::integer,
    l.claimed_at, l.since, null::text, e.reason,
    case e.kind when 'lapsed' then effect.counted('lapsed', l.claimed_at, e.at)
      else effect.counted('escalated_effect', (select u.at from effect.event u
        where u.effect = e.effect and u.id < e.id and u.kind in ('unknown', 'lapsed', 'closed') order by u.id desc limit 1), e.at)
    end
  from effect.event e
    join effect.ledger l on l.id = e.effect
    join effect.tool t on t.version = l.policy
  where e.id > (select max(n.id) from effect.event n) - 20000 and e.detail = p_no and e.kind in ('lapsed', 'escalated')
  order by e.id;
end
$$;
