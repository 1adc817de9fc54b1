-- A locked unknown row is taken for a probe that starts now: until its word comes (`probed_at`), or can come no more, nobody
-- else takes it. Should the word never come, the row is due again a pause after that, and never later than its deadline.
-- p_steps: how far this climbs the policy's back-off: 1 in a sweep, 0 on demand, so that whoever asks often does not make
-- the probes that nobody asks for rare.
create or replace function effect.take_probe(p_row effect.ledger, p_tool effect.tool, p_steps integer) returns effect.ledger
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := effect.now();
  v_row effect.ledger;
begin
  update effect.ledger l set
    probe_no = l.probe_no + 1, tries = l.tries + p_steps, probe_at = v_now, probed_at = null,
    due_at = least(v_now + effect.word_time(p_tool) + effect.backoff(p_tool, l.tries + p_steps), l.deadline_at)
  where l.id = p_row.id and l.token = p_row.token and l.state = 'unknown'
  returning * into v_row;
  if not found then
    raise exception 'effect % moved under its lock', p_row.id using errcode = 'ZE002';
  end if;
  return v_row;
end
$$;
