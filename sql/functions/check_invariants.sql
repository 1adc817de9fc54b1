-- effect.check_invariants: every row that breaks a rule which no correct history can break; empty on a sound ledger. Reads
-- everything: for tests, for `effectctl db check` and for a quiet hour, not for every minute.
create or replace function effect.check_invariants()
returns table (invariant text, effect uuid, detail text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select 'policy_known', l.id, format('policy %s is not in effect.tool', l.policy)
  from effect.ledger l where not exists (select from effect.tool t where t.version = l.policy)
  union all
  select 'id_is_of_key', l.id, format('is not the id of (%s, %s, %s)', t.namespace, t.name, l.key)
  from effect.ledger l join effect.tool t on t.version = l.policy
  where l.id <> effect.id(t.namespace, t.name, l.key)
  union all
  select 'token_is_unique', l.id, format('token is also that of %s', o.id)
  from effect.ledger l join effect.ledger o on o.token = l.token and o.id > l.id
  union all
  select 'former_token_is_replaced', l.id, format('event %s holds the token in force', e.id)
  from effect.ledger l join effect.event e on e.effect = l.id and e.token = l.token
  union all
  select 'grant_wrote_its_predecessor', l.id, format('no event holds the token that attempt %s replaced', n)
  from effect.ledger l cross join lateral generate_series(l.base + 2, l.attempt) as n
  where not exists (select from effect.event e
    where e.effect = l.id and e.kind = 'granted' and e.attempt = n and e.token is not null)
  union all
  select 'renewal_wrote_its_predecessor', l.id, format('no event holds the token of attempt %s', l.base)
  from effect.ledger l
  where l.base > 0 and not exists (select from effect.event e
    where e.effect = l.id and e.kind = 'expired' and e.attempt = l.base and e.token is not null)
  union all
  select 'pending_is_due_at_its_lease', l.id, format('due_at %s, lease_until %s', l.due_at, l.lease_until)
  from effect.ledger l where l.state = 'pending' and l.due_at <> l.lease_until
  union all
  select 'unknown_is_due_by_its_deadline', l.id, format('due_at %s, deadline_at %s', l.due_at, l.deadline_at)
  from effect.ledger l where l.state = 'unknown' and l.due_at > l.deadline_at
  union all
  select 'settled_is_due_by_its_keeping', l.id, format('due_at %s, keep_until %s', l.due_at, l.keep_until)
  from effect.ledger l where l.state in ('released', 'done') and l.due_at > l.keep_until
  union all
  select 'kept_as_long_as_told', l.id, format('keep_until %s lies before done_at %s', l.keep_until, l.done_at)
  from effect.ledger l where l.state in ('released', 'done') and l.keep_until < l.done_at
  union all
  select 'proven_is_not_open_to_run', l.id, format('evidence %s, but the row is %s', l.evidence, l.state)
  from effect.ledger l where l.evidence is not null and l.state not in ('escalated', 'done')
  union all
  select 'evidence_exists', l.id, format('event %s is gone', l.evidence)
  from effect.ledger l where l.evidence is not null and not exists (select from effect.event e where e.id = l.evidence)
  union all
  select 'result_is_as_its_state_says', l.id, format('result_state %s', l.result_state)
  from effect.ledger l
  where l.state = 'done' and (
    (l.result_state in ('kept', 'redacted')) <> (l.result is not null)
    or (l.result_state = 'omitted' and (l.result_sha256 is null or l.result_bytes is null)))
  union all
  select 'result_is_as_long_as_said', l.id, format('%s bytes, said to be %s', octet_length(l.result), l.result_bytes)
  from effect.ledger l where l.result is not null and octet_length(l.result) is distinct from l.result_bytes
  union all
  select 'settled_has_no_open_columns', l.id, format('state %s', l.state)
  from effect.ledger l
  where l.state in ('released', 'done') and (l.since is not null or l.deadline_at is not null or l.ended_at is not null)
  union all
  select 'only_done_has_an_outcome', l.id, format('state %s, outcome %s', l.state, l.outcome)
  from effect.ledger l where l.outcome is not null and l.state not in ('done', 'unknown')
  union all
  select 'open_knows_since_when', l.id, format('state %s, since %s, ended_at %s', l.state, l.since, l.ended_at)
  from effect.ledger l where l.state in ('unknown', 'escalated') and (l.since is null or l.ended_at is null)
  union all
  select 'counts_are_not_negative', l.id, format('extra %s, probe_no %s, absent_n %s', l.extra, l.probe_no, l.absent_n)
  from effect.ledger l where least(l.base, l.extra, l.probe_no, l.tries, l.absent_n, l.notice_no, l.notice_tries) < 0
  union all
  select 'request_only_while_pending', l.id, format('state %s', l.state)
  from effect.ledger l
  where l.state <> 'pending' and (l.request is not null or l.instance is not null or l.boot is not null)
  union all
  select 'retried_is_open', l.id, format('state %s, open_from %s, claimed_at %s, ended_at %s', l.state, l.open_from, l.claimed_at,
    l.ended_at)
  from effect.ledger l join effect.tool t on t.version = l.policy
  where l.open_from is not null and (l.state in ('released', 'done') or t.on_unknown <> 'retry' or l.attempt < l.base + 2
    or l.ended_at is null or l.open_from > l.claimed_at)
  union all
  select 'event_is_of_an_attempt', e.effect, format('event %s speaks of attempt %s, the newest is %s', e.id, e.attempt, l.attempt)
  from effect.event e join effect.ledger l on l.id = e.effect
  where e.attempt > l.attempt
  union all
  select 'turn_counts_its_grants', (array_agg(l.id))[1], format('%s newest attempts of run %s, turn %s, counted %s', count(*), n.run, n.turn, n.grants)
  from effect.turn n
    join effect.tool t on t.namespace = n.namespace and t.name = n.tool and coalesce(t.turn_budget, t.turn_asks) is not null
    join effect.ledger l on l.policy = t.version and l.turn = n.turn and coalesce(l.run, '') = n.run and l.claimed_at >= n.first_at
  group by n.id
  having count(*) > n.grants
  union all
  select 'turn_counts_are_not_negative', null, format('run %s, turn %s: %s grants, %s asks, %s refused', n.run, n.turn, n.grants, n.asks, n.refused)
  from effect.turn n where least(n.grants, n.asks, n.refused) < 0
  union all
  select 'turn_is_of_its_names', null, format('%s is not the id of (%s, %s, %s, %s)', n.id, n.namespace, n.run, n.turn, n.tool)
  from effect.turn n where n.id <> effect.turn_id(n.namespace, n.run, n.turn, n.tool)
  union all
  select 'forgotten_is_gone', p.id, format('it is remembered as forgotten at %s, and its row of %s stands', p.forgotten_at, p.claimed_at)
  from effect.past p join effect.ledger l on l.id = p.id and l.claimed_at = p.claimed_at
  union all
  select 'business_only_where_guarded', l.id, 'has a business key, and its policy has no guard'
  from effect.ledger l join effect.tool t on t.version = l.policy
  where l.business is not null and t.on_business_duplicate is null
  union all
  select 'incident_is_told_to_its_own', e.effect, format('event %s is of (%s, %s, %s)', e.id, e.scope, e.tool, e.key)
  from effect.event e join effect.ledger l on l.id = e.effect join effect.tool t on t.version = l.policy
  where e.incident and e.tool is not null and (e.scope, e.tool, e.key) is distinct from (t.namespace, t.name, l.key)
$$;
