-- Read-only views for people and reports; no token and no request in any of them. Made anew at every upgrade, or
-- replaced where something of an operator's stands on them.
create or replace view effect.effects as
select l.id as effect, t.namespace, t.name as tool, l.key, l.state, l.attempt, l.outcome, l.decided_by, l.owner, l.run,
  l.step, l.turn, l.claimed_at, l.lease_until, l.since, l.deadline_at, l.due_at, l.done_at, l.keep_until, l.result_state,
  l.result_bytes, l.kept, l.probe_no, l.absent_n, l.notice_no, l.evidence is not null as proven
from effect.ledger l join effect.tool t on t.version = l.policy;

create or replace view effect.open_effects as
select * from effect.effects where done_at is null order by claimed_at;

create or replace view effect.history as
select e.id, e.effect, e.at, e.kind, e.attempt, e.decided_by, e.outcome, e.reason, e.detail, e.evidence, e.incident,
  e.result_bytes, e.scope, e.tool, e.key
from effect.event e;

create or replace view effect.incidents as
select * from effect.history where incident;

create or replace view effect.turns as
select t.namespace, t.tool, t.run, t.turn, t.grants, t.asks, t.refused, t.first_at, t.due_at from effect.turn t;
