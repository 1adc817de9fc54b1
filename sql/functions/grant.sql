-- The next attempt on a locked row: of a released one (p_how = grant), of an unknown one whose provider deduplicates (retry),
-- or of one whose key was forgotten (renew), which starts a new life that goes on numbering attempts. The replaced token
-- goes to event first, with the policy it was claimed under: it must stay known. A retry keeps since when an attempt has
-- been open, and when the last of those ended.
create or replace function effect.grant(
  p_row effect.ledger, p_how text, p_policy bigint, p_fingerprint uuid, p_token uuid, p_request uuid,
  p_lease_ms bigint, p_owner text, p_run text, p_step text, p_turn text, p_kept text, p_instance uuid, p_boot uuid,
  p_now timestamptz, p_keep_key_ms bigint, p_business uuid default null) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_how = 'renew' then
    perform effect.note(p_row.id, 'expired', p_row.attempt, p_token => p_row.token);
    perform effect.remember(array[p_row.id], p_now);
  else
    perform effect.note(p_row.id, 'granted', p_row.attempt + 1,
      case p_how when 'retry' then format('retry, attempt %s is still open', p_row.attempt) end,
      p_token => p_row.token, p_detail => p_row.policy::text);
  end if;
  update effect.ledger l set
    attempt = p_row.attempt + 1,
    base = case when p_how = 'renew' then p_row.attempt else l.base end,
    extra = case when p_how = 'renew' then 0 else l.extra end,
    keep_until = case when p_how = 'renew' then p_now + effect.ms(p_keep_key_ms)
      else greatest(l.keep_until, p_now + effect.ms(p_keep_key_ms)) end,
    state = 'pending', token = p_token, policy = p_policy, fingerprint = p_fingerprint, request = p_request,
    instance = case when p_request is not null then p_instance end,
    boot = case when p_request is not null then p_boot end,
    claimed_at = p_now, lease_until = p_now + effect.ms(p_lease_ms), due_at = p_now + effect.ms(p_lease_ms),
    owner = p_owner, run = p_run, step = p_step, turn = p_turn, kept = p_kept, business = p_business,
    open_from = case when p_how = 'retry' then coalesce(l.open_from, l.claimed_at) end,
    ended_at = case when p_how = 'retry' then l.ended_at end, since = null, deadline_at = null, done_at = null,
    probe_at = null, probed_at = null, absent_at = null,
    evidence = null, result = null, result_bytes = null, result_sha256 = null, result_state = null, outcome = null,
    decided_by = null, lost = false, extended = false, noticed = false, notice_no = 0, notice_tries = 0, absent_n = 0,
    tries = 0
  where l.id = p_row.id and l.token = p_row.token and l.state = p_row.state;
  if not found then
    raise exception 'effect % moved under its lock', p_row.id using errcode = 'ZE002';
  end if;
end
$$;
