-- effect.complete_here(effect, token, result): the result of a claim that this very transaction made by effect.begin_here. Done by
-- the commit, together with what the transaction did; stored as the bytes that came (json keeps them). Anything that keeps it
-- from being recorded raises: then the transaction must not commit what it did.
--
-- Nobody here can take secrets out of a result, so that of a policy with result_secret is recorded by its size and hash only.
create or replace function effect.complete_here(p_effect uuid, p_token uuid, p_result json default null) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_text text := coalesce(p_result::text, 'null');
  v_policy bigint;
  v_secret boolean;
  v record;
begin
  perform effect.enter(1, 1);
  if p_effect is null or p_token is null
    or right(replace(p_token::text, '-', ''), 16) <> effect.transaction_hex() then
    raise exception 'the token is of no claim that this transaction made' using errcode = 'ZE007',
      hint = 'begin_here and complete_here go into one transaction. A claim that was committed is completed over the socket.';
  end if;
  -- Before the row is looked at any closer: anybody may call this, and whose it is not learns nothing of it.
  select l.policy, t.result_secret is not null into v_policy, v_secret
  from effect.ledger l join effect.tool t on t.version = l.policy
  where l.id = p_effect and l.token = p_token;
  if not found then
    raise exception 'effect % cannot be completed: this claim on it is not there', p_effect using errcode = 'ZE007',
      hint = 'A rollback to a savepoint takes a claim along.';
  end if;
  if v_secret then
    v := effect.complete_one(p_effect, p_token, null, v_policy, 'succeeded', null, octet_length(v_text),
      sha256(convert_to(v_text, 'UTF8')), false);
  else
    v := effect.complete_one(p_effect, p_token, null, null, 'succeeded', v_text, null, null, false);
  end if;
  if v.answer <> 'ok' or v.state <> 'done' then
    raise exception 'effect % cannot be completed: %', p_effect,
      case v.answer when 'conflict' then 'it has another result' else v.answer end using errcode = 'ZE007';
  end if;
end
$$;
