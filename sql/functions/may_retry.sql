-- May the next attempt be granted over an open one (lease over, or unknown), whose outcome nobody knows? Only where the provider
-- itself takes both calls for one: by the policy of the caller, and by that under which the row was claimed, since its call
-- must have handed the provider the key, too. Elapsed time gives no leave here, it takes it away: the provider keeps a key
-- from its first call on, so the window counts from the claim of the first attempt that is open, and never anew; and of the
-- windows under which the open attempts were claimed the shortest holds, as each call relied on its own. A row
-- whose caller reported `failed`, or of which an attempt is proven to have landed, is not called again; nor where attempts are
-- spent.
create or replace function effect.may_retry(p_row effect.ledger, p_tool effect.tool, p_now timestamptz) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  return p_tool.on_unknown = 'retry' and p_row.outcome is null and p_row.evidence is null
    and p_row.attempt - p_row.base < p_tool.max_attempts + p_row.extra
    and coalesce((
      select bool_and(t.on_unknown = 'retry') and p_now < coalesce(p_row.open_from, p_row.claimed_at)
        + effect.ms(least(min(t.retry_window_ms), p_tool.retry_window_ms))
      from effect.tool t
      where t.version = any (p_row.policy || case when p_row.open_from is not null then array(
        select e.detail::bigint from effect.event e
        where e.effect = p_row.id and e.kind = 'granted' and e.attempt > effect.first_open(p_row)) end)), false);
end
$$;
