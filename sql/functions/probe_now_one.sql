-- One row taken out of turn, or why not. One probe is under way for an effect, whoever asks: while the word of the newest may
-- still come, nobody takes the row. And asking often must not make of the back-off a hammer: a caller of begin gets no probe
-- where one was started and ended since he came, nor sooner after the last one's end than the policy's first pause, a second
-- at least.
--
-- Which row could stay open for ever? Taking one moves its due_at to a finite instant, not beyond its deadline; whoever took
-- it may die.
create or replace function effect.probe_now_one(
  p_id uuid, p_scope text, p_waited_ms integer,
  out answer text, out effect uuid, out state text, out in_ms bigint, out next_probe_at timestamptz, out namespace text,
  out tool text, out key text, out attempt integer, out policy bigint, out probe_no integer, out probe_timeout_ms bigint,
  out probe_at timestamptz, out claimed_at timestamptz, out since timestamptz, out kept text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := effect.now();
  v_seen effect.ledger;
  v_row effect.ledger;
  v_tool effect.tool;
  v_until timestamptz;
begin
  select * into v_seen from effect.ledger l where l.id = p_id;
  if found then
    select * into strict v_tool from effect.tool t where t.version = v_seen.policy;
  end if;
  if v_seen.id is null or not effect.in_scope(v_tool.namespace, p_scope) then
    answer := 'not_found';
    return;
  end if;

  v_row := v_seen;
  if v_seen.state <> 'unknown' then
    answer := 'moved';
  elsif not v_tool.has_probe or (p_waited_ms is not null and (v_tool.on_unknown = 'human' or v_seen.deadline_at <= v_now)) then
    answer := 'none';
  elsif v_seen.probed_at is null and v_now < v_seen.probe_at + effect.word_time(v_tool) then
    answer := 'wait';
    v_until := v_seen.probe_at + effect.word_time(v_tool);
  elsif p_waited_ms is not null and v_seen.probed_at is not null
    and v_seen.probe_at >= v_now - effect.ms(p_waited_ms) then
    answer := 'wait';
  elsif p_waited_ms is not null and v_now < v_seen.probed_at + effect.demand_pause(v_tool) then
    answer := 'wait';
    v_until := v_seen.probed_at + effect.demand_pause(v_tool);
  else
    -- Under its lock, and only if nothing moved meanwhile: two that ask at once do not both take it.
    select * into v_row from effect.ledger l where l.id = p_id for update skip locked;
    if not found or v_row is distinct from v_seen then
      answer := 'retry';
      return;
    end if;
    v_row := effect.take_probe(v_row, v_tool, 0);
    answer := 'probe';
  end if;

  effect := v_row.id;
  state := v_row.state;
  in_ms := ceil(extract(epoch from v_until - v_now) * 1000);
  next_probe_at := effect.next_probe_at(v_row);
  namespace := v_tool.namespace;
  tool := v_tool.name;
  key := v_row.key;
  attempt := v_row.attempt;
  policy := v_row.policy;
  probe_no := v_row.probe_no;
  probe_timeout_ms := v_tool.probe_timeout_ms;
  probe_at := v_row.probe_at;
  claimed_at := coalesce(v_row.open_from, v_row.claimed_at); -- as in effect.sweep
  since := v_row.since;
  kept := v_row.kept;
end
$$;
