-- What effect.would says that a verdict would decide is what effect.verdict decides then, in every state and for every word;
-- and saying so changes nothing.
begin;
select no_plan();
create function pg_temp.bring(p_key text, p_how text) returns void language plpgsql as $$
declare
  v_step text;
begin
  foreach v_step in array string_to_array(p_how, ' ') loop
    case v_step
      when 'begin' then perform effect_test.begin(effect_test.e(p_key, 't1'));
      when 'again' then perform effect_test.begin(effect_test.e(p_key, 't2'));
      when 'unknown' then perform effect_test.unknown(effect_test.e(p_key, 't1'));
      when 'release' then perform effect_test.release(effect_test.e(p_key, 't1'));
      when 'done' then perform effect_test.complete(effect_test.e(p_key, 't1', '{"result": "1"}'));
      when 'refused' then perform effect_test.complete(effect_test.e(p_key, 't1', '{"outcome": "failed"}'));
      when 'again_refused' then perform effect_test.complete(effect_test.e(p_key, 't2', '{"outcome": "failed"}'));
      when 'again_unknown' then perform effect_test.unknown(effect_test.e(p_key, 't2'));
      when 'late' then perform effect_test.complete(effect_test.e(p_key, 't1', '{"result": "1"}'));
      when 'settled' then perform effect_test.advance('31 s');
      when 'deadline' then perform effect_test.advance('1 h'); perform effect_test.sweep();
      when 'absent' then
        perform effect.probe_now(array[effect.id('default', 'probed', p_key)], array[null], array[null]::int[]);
        perform effect_test.verdict(jsonb_build_object('key', p_key, 'verdict', 'absent'));
    end case;
  end loop;
end
$$;
create function pg_temp.would(p_key text, p_attempt int, p_verdict text) returns jsonb language sql as $$
  select jsonb_strip_nulls(to_jsonb(w)) from effect.would(array[effect.id('default', 'probed', p_key)], array[null], array[p_attempt],
    array[effect.now()], array[p_verdict]) w
$$;
-- '' or what differs. The row is taken first where it can be, so that the word is the newest probe's.
create function pg_temp.differs(p_key text, p_how text, p_attempt int, p_verdict text) returns text language plpgsql as $$
declare
  v_before jsonb;
  v_event bigint;
  v_would jsonb;
  v_did jsonb;
begin
  perform pg_temp.bring(p_key, p_how);
  v_before := effect_test.row(p_key);
  v_event := effect_test.last_event();
  v_would := pg_temp.would(p_key, p_attempt, p_verdict);
  if effect_test.row(p_key) <> v_before or effect_test.last_event() <> v_event then
    return 'telling it changed something';
  end if;
  perform effect.probe_now(array[effect.id('default', 'probed', p_key)], array[null], array[null]::int[]);
  v_did := effect_test.verdict(jsonb_build_object('key', p_key, 'attempt', p_attempt, 'verdict', p_verdict));
  if concat_ws(' ', v_would ->> 'then_state', v_would ->> 'then_outcome') <> concat_ws(' ', v_did ->> 'state', v_did ->> 'outcome')
    or (effect_test.row(p_key) ->> 'state' = 'unknown' and v_would -> 'absent_n' <> effect_test.row(p_key) -> 'absent_n')
    or effect_test.only(v_would, 'counts', 'absent_n', 'absent_needed', 'why') <> effect_test.only(v_did, 'counts', 'absent_n', 'absent_needed', 'why') then
    return format(E'would %s\ndid %s', v_would, v_did);
  end if;
  return '';
end
$$;
select is(pg_temp.differs(format('%s %s %s', h, a, v), h, a, v), '', format('%s of attempt %s, after %s', v, a, h))
from unnest(array['begin', 'begin unknown', 'begin unknown settled', 'begin unknown settled absent', 'begin unknown settled absent settled',
    'begin unknown deadline', 'begin release', 'begin done', 'begin refused', 'begin release again', 'begin release again again_refused',
    'begin release again again_unknown settled', 'begin release again late']) h,
  unnest(array['landed', 'failed', 'absent', 'inconclusive', 'unstarted']) v,
  generate_series(1, case when h ~ 'again' then 2 else 1 end) a
order by h, v, a;

-- in words
select pg_temp.bring('w', 'begin unknown') \gset
select is(effect_test.only(pg_temp.would('w', 1, 'absent'), 'answer', 'state', 'attempt', 'then_state', 'counts', 'absent_n', 'absent_needed', 'why'),
  '{"answer": "ok", "state": "unknown", "attempt": 1, "then_state": "unknown", "counts": false, "absent_n": 0, "absent_needed": 2,
    "why": "too early to count: not yet settled since the attempt ended"}', 'an early absent');
select is(pg_temp.would('nobody', 1, 'absent'), '{"ord": 1, "answer": "not_found"}', 'no such row');
select is((select answer from effect.would(array[effect.id('default', 'probed', 'w')], array['other'], array[1], array[effect.now()], array['landed'])),
  'not_found', 'a foreign namespace');

select results_eq($$ select ord, answer from effect.would(array[effect_test.uid('x'), effect.id('default', 'probed', 'w')], array[null, null], array[1, 1],
    array[effect.now(), effect.now()], array['landed', 'landed']) $$, $$ values (1, 'not_found'), (2, 'ok') $$, 'one row out for each row in');

-- effect.probe_look: what is needed to ask, and nothing is taken
select effect_test.row('w') as before \gset
select is(effect_test.only((select to_jsonb(l) from effect.probe_look(array[effect.id('default', 'probed', 'w')], array['default']) l),
    'answer', 'state', 'namespace', 'tool', 'key', 'attempt', 'probe_no', 'probe_timeout_ms'),
  '{"answer": "ok", "state": "unknown", "namespace": "default", "tool": "probed", "key": "w", "attempt": 1, "probe_no": 0,
    "probe_timeout_ms": 10000}', 'a look');
select is(effect_test.row('w'), :'before'::jsonb, 'changes nothing');
select is(jsonb_strip_nulls(to_jsonb(l)) - 'ord' - 'probe_at', '{"answer": "not_found"}', 'of a foreign row nothing is told')
from effect.probe_look(array[effect.id('default', 'probed', 'w')], array['other']) l;
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
