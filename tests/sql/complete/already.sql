-- A complete sent again is `already` if it says the same; otherwise what came is kept as an incident.
begin;
select no_plan();
create function pg_temp.done(p_key text, p_tool text, p_first jsonb) returns void language plpgsql as $$
begin
  perform effect_test.begin(effect_test.e(p_key, 't1', jsonb_build_object('tool', p_tool)));
  perform effect_test.complete(effect_test.e(p_key, 't1', jsonb_build_object('tool', p_tool)) || p_first);
end
$$;
create function pg_temp.again(p_key text, p_tool text, p_more jsonb) returns text language sql as $$
  select concat_ws(' ', a ->> 'answer', case a ->> 'answer' when 'ok' then a ->> 'already' end)
    from effect_test.complete(effect_test.e(p_key, 't1', jsonb_build_object('tool', p_tool)) || p_more) a
$$;
select pg_temp.done('a', 'probed', '{"result": "{\"r\":1}"}') \gset
select is(pg_temp.again('a', 'probed', '{"result": "{\"r\":1}"}'), 'ok true', 'the same');
select is(effect_test.kinds('a'), '-', 'leaves nothing');
select is(pg_temp.again('a', 'probed', '{"result": "{\"r\": 1}"}'), 'conflict', 'other bytes');
select is((select e.result || ' ' || e.outcome || ' ' || e.attempt || ' ' || e.incident || ' ' || coalesce(e.token::text, '-')
  from effect.event e), '{"r": 1} succeeded 1 true -',
  'they are kept, with outcome and attempt, as an incident');
select is(pg_temp.again('a', 'probed', jsonb_build_object('bytes', 7, 'sha256', encode(sha256('{"r":1}'), 'hex'))), 'ok true',
  'the same by its size and hash');
select is(pg_temp.again('a', 'probed', jsonb_build_object('bytes', 7, 'sha256', encode(sha256('{"r":2}'), 'hex'))), 'conflict',
  'another by its hash');

-- after the result was dropped, token and outcome suffice
select pg_temp.done('b', 'probed', '{"result": "{\"r\":1}"}') \gset
select effect_test.advance('25 h') \gset
select effect.retain(100) \gset
select is(effect_test.only(effect_test.begin(effect_test.e('b', 'x')), 'answer', 'outcome', 'result', 'result_state',
  'result_bytes'),
  '{"answer": "replay", "outcome": "succeeded", "result_state": "expired", "result_bytes": 7}',
    'a dropped result is replayed as expired');
select is(pg_temp.again('b', 'probed', '{"result": "{\"r\":1}"}'), 'ok true', 'already');
select is(pg_temp.again('b', 'probed', '{"result": "{\"r\":2}"}'), 'ok true', 'already, whatever the result was');
select is(pg_temp.again('b', 'probed', '{}'), 'ok true', 'already, without a result');
select is(pg_temp.again('b', 'probed', '{"outcome": "failed"}'), 'conflict', 'but not with another outcome');

-- omitted: size and hash decide
select pg_temp.done('c', 'small', '{"result": "\"0123456789\""}') \gset
select is(effect_test.row('c', 'small') ->> 'result_state', 'omitted', 'over the limit');
select is(pg_temp.again('c', 'small', '{"result": "\"0123456789\""}'), 'ok true', 'the same text again');
select is(pg_temp.again('c', 'small', '{"result": "\"012345678x\""}'), 'conflict', 'another text of the same size');
select is((select e.result is null and e.result_bytes = 12 and e.result_sha256 = sha256('"012345678x"') from effect.event e
  where e.effect = effect.id('default', 'small', 'c')),
  true, 'kept as size and hash, being over the limit');
-- null
select pg_temp.done('d', 'probed', '{}') \gset
select is(pg_temp.again('d', 'probed', '{}'), 'ok true', 'no result twice');
select is(pg_temp.again('d', 'probed', '{"result": "null"}'), 'ok true', 'none is null');
select is(pg_temp.again('d', 'probed', '{"result": "{}"}'), 'conflict', 'and not {}');

-- agreeing with a probe or a person: already, the caller's result kept without an incident
select effect_test.begin(effect_test.e('e', 't1')) \gset
select effect_test.unknown(effect_test.e('e', 't1')) \gset
select effect_test.resolve('{"key": "e", "verdict": "landed", "result": "{\"seen\":1}"}') \gset
select is(pg_temp.again('e', 'probed', '{"result": "{\"r\":1}"}'), 'ok true', 'agrees with an operator');
select is((select e.result || ' ' || e.incident from effect.event e where e.effect = effect.id('default', 'probed', 'e')
  and e.kind = 'late'), '{"r":1} false',
  'the caller''s result is kept as an event');
select is(effect_test.only(effect_test.row('e'), 'result', 'decided_by'), '{"result": "{\"seen\":1}", "decided_by": "operator"}',
  'the operator''s stands');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
