-- Inserts the first row of an effect. run | busy (a rival's row is not committed yet) | retry (our own first try is not,
-- or the row appeared meanwhile).
create or replace function effect.claim(
  p_id uuid, p_policy bigint, p_key text, p_fingerprint uuid, p_token uuid, p_request uuid, p_lease_ms bigint,
  p_owner text, p_run text, p_step text, p_turn text, p_kept text, p_instance uuid, p_boot uuid,
  p_now timestamptz, p_keep_key_ms bigint, p_resent boolean default false, p_business uuid default null) returns text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_base integer;
begin
  if not pg_try_advisory_xact_lock(effect.lock_of(p_id)) then
    return case when p_resent or (p_request is not null
      and not pg_try_advisory_xact_lock(effect.lock_of(p_id, p_request))) then 'retry' else 'busy' end;
  end if;
  if p_request is not null and not pg_try_advisory_xact_lock(effect.lock_of(p_id, p_request)) then
    return 'retry';
  end if;
  v_base := coalesce((select max(e.attempt) from effect.event e where e.effect = p_id), 0);
  insert into effect.ledger (id, token, fingerprint, request, instance, boot, policy, claimed_at, due_at, keep_until,
    lease_until, attempt, base, state, key, owner, run, step, turn, kept, business)
  values (p_id, p_token, p_fingerprint, p_request, case when p_request is not null then p_instance end,
    case when p_request is not null then p_boot end, p_policy, p_now, p_now + effect.ms(p_lease_ms),
    p_now + effect.ms(p_keep_key_ms), p_now + effect.ms(p_lease_ms), v_base + 1, v_base, 'pending', p_key,
    p_owner, p_run, p_step, p_turn, p_kept, p_business)
  on conflict (id) do nothing;
  return case when found then 'run' else 'retry' end;
end
$$;
