-- Has this very resolve (attempt, verdict, state as seen, who, why) been carried out already, and does it still stand?
create or replace function effect.resolved_so(
  p_row effect.ledger, p_attempt integer, p_detail text, p_by text, p_reason text) returns boolean
language sql stable
as $$
  select (p_row).attempt operator(pg_catalog.=) p_attempt
    and (p_row).state operator(pg_catalog.=) any (array['done', 'released']::effect.state[])
    and exists (
      select from effect.event e
      where e.effect operator(pg_catalog.=) (p_row).id and e.kind operator(pg_catalog.=) 'resolved'
        and e.attempt operator(pg_catalog.=) p_attempt and e.detail operator(pg_catalog.=) p_detail
        and e.decided_by is not distinct from p_by and e.reason is not distinct from p_reason
        and e.at operator(pg_catalog.>=) (p_row).claimed_at)
$$;
