-- An operator's `absent` on a spent budget: one attempt more than the policy allows.
create or replace function effect.one_more(p_id uuid) returns void
language sql volatile
as $$
  update effect.ledger set extra = extra operator(pg_catalog.+) 1 where id operator(pg_catalog.=) p_id
$$;
