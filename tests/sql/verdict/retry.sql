-- on_unknown = retry: a verdict is about the provider's key, and so about all attempts that are open. An absent counts only
-- `settle` after the last of them ended, and whoever of their holders speaks was alive until then.
begin;
select no_plan();
select effect_test.tool('again', '{"on_unknown": "retry", "retry_window": "1h", "settle": "30s", "absent_needed": 1, "probe_backoff": ["1s"]}') \gset
create function pg_temp.e(p_key text, p_token text, p_more jsonb default '{}') returns jsonb language sql as
  $$ select effect_test.e(p_key, p_token, '{"tool": "again"}'::jsonb || p_more) $$;
create function pg_temp.absent(p_key text) returns text language plpgsql as $$
begin
  update effect.ledger set due_at = effect.now() where key = p_key;
  perform effect_test.must('probe', effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'again', p_key)) ->> 'task', 'probe');
  return effect_test.verdict(jsonb_build_object('key', p_key, 'tool', 'again', 'verdict', 'absent')) ->> 'state';
end
$$;
create function pg_temp.ended(p_key text) returns interval language sql as
  $$ select (effect_test.row(p_key, 'again') ->> 'ended_at')::timestamptz - '2030-01-01 00:00:00+00'::timestamptz $$;
create function pg_temp.at(p_at interval) returns void language plpgsql as $$
begin
  perform effect_test.set_now('2030-01-01 00:00:00+00'::timestamptz + p_at);
end
$$;

-- The first one's connection was closed: its call may be under way until its lease ends at 60 s. The second one is given
-- back at 10 s: what counts is the end of the first.
select effect_test.begin(pg_temp.e('a', 't1')) \gset
select pg_temp.at('5 s') \gset
select effect_test.unknown(pg_temp.e('a', 't1', '{"closed": true}')) \gset
select is(effect_test.begin(pg_temp.e('a', 't2')) ->> 'answer', 'run', 'a retry does not wait for the lease of the closed one');
select pg_temp.at('10 s') \gset
select is(effect_test.only(effect_test.release(pg_temp.e('a', 't2')), 'answer', 'state', 'already'),
  '{"answer": "ok", "state": "unknown", "already": false}', 'the second one was not sent, the first may have been');
select is(pg_temp.ended('a'), interval '60 s', 'the first one ends with its lease');
select is((effect_test.row('a', 'again') ->> 'deadline_at')::timestamptz - '2030-01-01 00:00:00+00'::timestamptz, interval '60 s' + interval '15 min',
  'and people are asked that much after it');
select is(effect_test.only(effect_test.row('a', 'again'), 'due_at'), jsonb_build_object('due_at', effect.now()), 'it is probed at once');
select pg_temp.at('89.999 s') \gset
select is(pg_temp.absent('a'), 'unknown', 'absent, a moment before it is settled: it does not count');
select pg_temp.at('90 s') \gset
select is(pg_temp.absent('a'), 'released', 'and then it does, for both');
select is(effect_test.only(effect_test.begin(pg_temp.e('a', 't3')), 'answer', 'since'), '{"answer": "run"}', 'the next one is no retry');

-- The second one lapses later than the first: what counts is the end of the second.
select pg_temp.at('0 s') \gset
select effect_test.begin(pg_temp.e('b', 't1')) \gset
select effect_test.unknown(pg_temp.e('b', 't1')) \gset
select pg_temp.at('30 s') \gset
select is(pg_temp.absent('b'), 'released', 'alone, the first is settled at 30 s');
select pg_temp.at('0 s') \gset
select effect_test.begin(pg_temp.e('c', 't1')) \gset
select effect_test.unknown(pg_temp.e('c', 't1')) \gset
select pg_temp.at('20 s') \gset
select effect_test.begin(pg_temp.e('c', 't2')) \gset
select pg_temp.at('80 s') \gset
select effect_test.sweep() \gset
select pg_temp.at('109 s') \gset
select is(pg_temp.absent('c'), 'unknown', 'the second ended at 80 s');
select pg_temp.at('110 s') \gset
select is(pg_temp.absent('c'), 'released', 'and is settled 30 s later');

-- An earlier holder who says that it does not know, or asks for more time, did not end before: settle restarts; not so for
-- one whose connection is gone, and not for one who never sent it.
select pg_temp.at('0 s') \gset
select effect_test.begin(jsonb_agg(pg_temp.e(k, 't1'))) from unnest(array['d', 'f', 'g', 'h', 'i']) k \gset
select effect_test.unknown(jsonb_agg(pg_temp.e(k, 't1'))) from unnest(array['d', 'f', 'g', 'h', 'i']) k \gset
select effect_test.begin(jsonb_agg(pg_temp.e(k, 't2'))) from unnest(array['d', 'f', 'g', 'h', 'i']) k \gset
select pg_temp.at('10 s') \gset
select effect_test.unknown(pg_temp.e('d', 't2')) \gset
select pg_temp.at('20 s') \gset
select is(effect_test.only(effect_test.unknown(pg_temp.e('d', 't1')), 'answer', 'state', 'attempt'),
  '{"answer": "not_owner", "state": "unknown", "attempt": 2}', 'it is told that it holds nothing');
select is(pg_temp.ended('d'), interval '20 s', 'but was alive at 20 s');
select is(effect_test.extend(pg_temp.e('f', 't1')) ->> 'answer', 'not_owner', 'so is one that extends');
select is(pg_temp.ended('f'), interval '20 s', 'under a later one that runs, too');
select is(effect_test.only(effect_test.row('f', 'again'), 'state', 'attempt'), '{"state": "pending", "attempt": 2}', 'which runs on');
select effect_test.unknown(pg_temp.e('f', 't2')) \gset
select is(pg_temp.ended('f'), interval '20 s', 'the last end of both counts');
select effect_test.unknown(pg_temp.e('g', 't1', '{"closed": true}')) \gset
select is(pg_temp.ended('g'), interval '0 s', 'a close is nobody''s word');
select effect_test.release(pg_temp.e('h', 't1')) \gset
select is(pg_temp.ended('h'), interval '0 s', 'a release of the earlier one says that nothing went out');
select effect_test.complete(pg_temp.e('i', 't1', '{"outcome": "failed"}')) \gset
select is(effect_test.only(effect_test.row('i', 'again'), 'state', 'attempt'), '{"state": "pending", "attempt": 2}', 'a refusal of the earlier one changes nothing');

-- absents counted before a retry do not count with those behind it
select effect_test.tool('again', '{"on_unknown": "retry", "retry_window": "1h", "settle": "0s", "absent_needed": 2, "probe_backoff": ["1s"]}') \gset
select effect_test.begin(pg_temp.e('n', 't1')) \gset
select effect_test.unknown(pg_temp.e('n', 't1')) \gset
select is(pg_temp.absent('n'), 'unknown', 'one of two');
select effect_test.begin(pg_temp.e('n', 't2')) \gset
select effect_test.unknown(pg_temp.e('n', 't2')) \gset
select effect_test.advance('1 s') \gset
select is(pg_temp.absent('n'), 'unknown', 'is none of two about the next attempt');
select effect_test.advance('1 s') \gset
select is(pg_temp.absent('n'), 'released', 'two are two');

-- what landed though it was said not to have, so that another attempt was granted, is an incident: while that one runs, and behind it
create function pg_temp.landed_after_all(p_key text, p_first text) returns text language plpgsql as $$
begin
  perform effect_test.begin(pg_temp.e(p_key, 't1'));
  perform effect_test.unknown(pg_temp.e(p_key, 't1'));
  perform effect_test.begin(pg_temp.e(p_key, 't2'));
  perform effect_test.unknown(pg_temp.e(p_key, 't2'));
  perform effect_test.must('absent', effect_test.resolve(jsonb_build_object('key', p_key, 'tool', 'again', 'verdict', 'absent',
    'attempt', 2, 'state', 'unknown', 'reason', 'none')) ->> 'state', 'released');
  perform effect_test.must('three', effect_test.begin(pg_temp.e(p_key, 't3')) ->> 'answer', 'run');
  if p_first = 'complete' then
    perform effect_test.complete(pg_temp.e(p_key, 't3'));
  end if;
  perform effect_test.must('landed', effect_test.verdict(jsonb_build_object('key', p_key, 'tool', 'again', 'verdict', 'landed', 'attempt', 1,
    'probe_no', 1)) ->> 'state', 'done');
  return effect_test.kinds(p_key, 'again');
end
$$;
select is(pg_temp.landed_after_all('o', 'verdict'), 'unknown,granted,unknown,resolved,granted,verdict!', 'told while the third runs');
select is(pg_temp.landed_after_all('p', 'complete'), 'unknown,granted,unknown,resolved,granted,verdict!', 'told when the third is done');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
