-- A locked row goes to people. p_evidence: the event that proves that an earlier attempt landed (then the row can only
-- become done); null: its deadline passed. The running holder, if there is one, keeps attempt and token. A `failed` that it
-- reported stays as an event, which does not decide any more. Whoever listens on the channel effect_escalated is told the
-- id, and nothing else: a payload has its limit, and so has a listener's right.
create or replace function effect.escalate(p_row effect.ledger, p_reason text, p_evidence bigint default null,
  p_detail text default null) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := effect.now();
begin
  update effect.ledger l set
    state = 'escalated', evidence = coalesce(l.evidence, p_evidence),
    since = case when l.state = 'escalated' then l.since else v_now end,
    ended_at = coalesce(greatest(l.ended_at, l.lease_until), v_now),
    due_at = case when l.state = 'escalated' then l.due_at else v_now end,
    lease_until = null, request = null, instance = null, boot = null, done_at = null, outcome = null, result = null,
    result_bytes = null, result_sha256 = null, result_state = null,
    notice_no = case when l.state = 'escalated' then l.notice_no else 0 end,
    notice_tries = case when l.state = 'escalated' then l.notice_tries else 0 end,
    noticed = case when l.state = 'escalated' then l.noticed else false end
  where l.id = p_row.id and l.token = p_row.token and l.state = p_row.state;
  if not found then
    raise exception 'effect % moved under its lock', p_row.id using errcode = 'ZE002';
  end if;
  if p_row.state <> 'escalated' then
    perform effect.note(p_row.id, 'escalated', p_row.attempt, p_reason, p_detail => p_detail);
    perform pg_notify('effect_escalated', p_row.id::text);
  end if;
end
$$;
