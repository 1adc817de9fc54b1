-- What is there of a done row's result now? A result ends with keep_result, also where its row has not been swept yet.
create or replace function effect.result_now(p_state effect.result_state, p_due_at timestamptz, p_now timestamptz)
returns text
language sql immutable parallel safe
as $$
  select case when p_state operator(pg_catalog.=) any (array['kept', 'redacted']::effect.result_state[])
    and p_due_at operator(pg_catalog.<=) p_now then 'expired' else p_state::pg_catalog.text end
$$;
