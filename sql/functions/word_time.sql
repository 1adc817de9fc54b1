-- How long after a probe was taken its word may come: its time-out, and a while for the way there and back.
create or replace function effect.word_time(p_tool effect.tool) returns interval
language sql stable parallel safe
as $$ select effect.ms((p_tool).probe_timeout_ms) operator(pg_catalog.+) interval '5 seconds' $$;
