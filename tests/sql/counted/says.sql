-- What a daemon is to count of each answer, said by the transaction that did it and by no other: a name, and the milliseconds by
-- the ledger's clock. What is said again begins with `?`: it counts only for a call that was sent before.
begin;
select no_plan();
create function pg_temp.counts(p_what text) returns text language plpgsql as $$
begin
  perform effect_test.counted();
  execute 'select ' || p_what;
  return effect_test.counted();
end
$$;
create function pg_temp.e(p_key text, p_token text, p jsonb default '{}') returns jsonb language sql as $$
  select effect_test.e(p_key, p_token, p) $$;
select effect_test.tool('err_failed', '{"on_error": "failed", "max_attempts": 99}') \gset
select effect_test.tool('err_released', '{"on_error": "released"}') \gset
select effect_test.tool('again', '{"on_unknown": "retry", "retry_window": "1h", "max_attempts": 99}') \gset

-- complete: the hot path, alone and in a batch
select is(pg_temp.counts($$ effect_test.begin(pg_temp.e('a', 't1')) $$), '', 'a run counts nothing but itself');
select is(pg_temp.counts($$ effect_test.begin(pg_temp.e('a', 't0')) $$), '', 'nor does a busy');
select effect_test.advance('1.5 s') \gset
select is(pg_temp.counts($$ effect_test.complete(pg_temp.e('a', 't1', '{"result": "1"}')) $$), 'completed:1500', 'a success, since the claim');
select effect_test.advance('1 s') \gset
select is(pg_temp.counts($$ effect_test.complete(pg_temp.e('a', 't1', '{"result": "1"}')) $$), '?completed:1500', 'said again it is known as that');
select is(pg_temp.counts($$ effect_test.complete(pg_temp.e('a', 't1', '{"result": "2"}')) $$), '', 'another outcome counts nothing');
select is(pg_temp.counts($$ effect_test.complete(pg_temp.e('a', 't9', '{"result": "1"}')) $$), '', 'nor does a token of nobody');
select is(pg_temp.counts($$ effect_test.begin(pg_temp.e('a', 't2')) $$), 'replay_age:1000', 'a replay, with its age');
select effect_test.advance('2 d') \gset
select is(pg_temp.counts($$ effect_test.begin(pg_temp.e('a', 't3')) $$), 'replay_age:172801000 expired:172801000', 'and one whose result is kept no longer');
select count(effect_test.begin(pg_temp.e(k, 't1'))) from unnest(array['b1', 'b2', 'b3']) k \gset
select is(pg_temp.counts($$ effect_test.complete(jsonb_build_array(pg_temp.e('b1', 't1'), pg_temp.e('b2', 't1', '{"outcome": "failed"}'), pg_temp.e('b1', 't1'),
  pg_temp.e('b3', 't9'))) $$) in ('completed:0 failed:0 ?completed:0', 'failed:0 completed:0 ?completed:0'), true, 'in a batch each its own, the same twice once');

-- what a tool's own error is counted as, whatever it becomes
create function pg_temp.error_of(p_key text, p_tool text, p jsonb default '{}') returns text language plpgsql as $$
begin
  perform effect_test.begin(effect_test.e(p_key, 't1', jsonb_build_object('tool', p_tool)));
  perform effect_test.advance('2 s');
  return pg_temp.counts(format('effect_test.complete(effect_test.e(%L, %L, %L))', p_key, 't1',
    jsonb_build_object('tool', p_tool, 'outcome', 'error', 'result', '1')));
end
$$;
select is(pg_temp.error_of('e1', 'probed'), 'error:2000', 'an error that makes it unknown');
select is(pg_temp.error_of('e2', 'err_failed'), 'error:2000', 'one that is final');
select is(pg_temp.error_of('e3', 'err_released'), 'error:2000', 'one that gives it back');
select is(pg_temp.counts($$ effect_test.complete(pg_temp.e('e2', 't1', '{"tool": "err_failed", "outcome": "error", "result": "1"}')) $$), '?error:2000', 'said again');
select is(pg_temp.counts($$ effect_test.complete(pg_temp.e('e3', 't1', '{"tool": "err_released", "outcome": "error", "result": "1"}')) $$), '?error:2000', 'and again');
select is(pg_temp.counts($$ effect_test.complete(pg_temp.e('e1', 't1', '{"outcome": "error", "result": "1"}')) $$), '?error:2000', 'and again');

-- release, unknown, closed, lapsed
select count(effect_test.begin(pg_temp.e(k, 't1'))) from unnest(array['r1', 'r2', 'u1', 'u2', 'l1', 'l2', 'l3', 'l4']) k \gset
select effect_test.advance('3 s') \gset
select is(pg_temp.counts($$ effect_test.release(pg_temp.e('r1', 't1')) $$), 'released:3000', 'given back');
select is(pg_temp.counts($$ effect_test.release(pg_temp.e('r1', 't1')) $$), '?released:3000', 'said again');
select is(pg_temp.counts($$ effect_test.release(pg_temp.e('r2', 't1', '{"not_told": true}')) $$), '', 'by the daemon, as nobody was told: nothing');
select is(pg_temp.counts($$ effect_test.unknown(pg_temp.e('u1', 't1')) $$), 'gave_up:3000', 'the wrapper does not know');
select is(pg_temp.counts($$ effect_test.unknown(pg_temp.e('u1', 't1')) $$), '?gave_up:3000', 'said again');
select is(pg_temp.counts($$ effect_test.unknown(pg_temp.e('u2', 't1', '{"closed": true}')) $$), 'closed:3000', 'its connection was closed');
select is(pg_temp.counts($$ effect_test.unknown(pg_temp.e('u2', 't1', '{"closed": true}')) $$), '?closed:3000', 'said again');
select effect_test.advance('57 s') \gset
select is(pg_temp.counts($$ effect_test.begin(pg_temp.e('l1', 't2')) $$), 'lapsed:60000', 'a begin that finds a lease over');
select is(pg_temp.counts($$ effect_test.begin(pg_temp.e('l1', 't2', '{"resent": true}')) $$), 'lapsed:60000', 'sent again after a lost connection it still does');
select is(pg_temp.counts($$ effect_test.begin(pg_temp.e('l1', 't3', '{"resent": true}')) $$), '', 'which is not another''s to say');
select is(pg_temp.counts($$ effect_test.extend(pg_temp.e('l2', 't1')) $$), 'lapsed:60000', 'an extend that finds it over');
select is((select string_agg(s.counted, ' ') from effect.sweep(100, 0, false, p_no => 'no 1') s where s.key in ('l3', 'l4')), 'lapsed:60000 lapsed:60000', 'and a sweep');
select effect_test.advance('5 s') \gset
select is((select string_agg(s.task || ' ' || s.counted, ', ') from effect.sweep(100, 0, false, p_no => 'no 1', p_resent => true) s where s.key like 'l%'),
  'lapsed lapsed:60000, lapsed lapsed:60000', 'which says the same when its answer was lost');
select is((select count(*) from effect.sweep(100, 0, false, p_no => 'no 2', p_resent => true) s where s.key like 'l%'), 0::bigint, 'and nothing of another''s');

-- what was unknown is settled
select is(pg_temp.counts($$ effect_test.complete(pg_temp.e('l1', 't1', '{"result": "1"}')) $$), 'completed:65000 late:65000 resolved_caller:5000',
  'by its caller, late');
select is(pg_temp.counts($$ effect_test.complete(pg_temp.e('l1', 't1', '{"result": "1"}')) $$), '?completed:65000 late:65000 resolved_caller:5000', 'said again');
select is(pg_temp.counts($$ effect_test.release(pg_temp.e('l2', 't1')) $$), 'released:65000 resolved_caller:5000', 'given back after all');
select is(pg_temp.counts($$ effect_test.release(pg_temp.e('l2', 't1')) $$), '?released:65000 resolved_caller:5000', 'said again');
select effect_test.sweep() \gset
select is(pg_temp.counts($$ effect_test.verdict(pg_temp.e('l3', 't1', '{"verdict": "landed", "result": "1"}')) $$), 'resolved_probe:5000', 'by a probe');
select is(pg_temp.counts($$ effect_test.verdict(pg_temp.e('l3', 't1', '{"verdict": "landed", "result": "1"}')) $$), '?resolved_probe:5000', 'said again');
select is(pg_temp.counts($$ effect_test.verdict(pg_temp.e('u1', 't1', '{"verdict": "inconclusive"}')) $$), '', 'a word that settles nothing counts nothing but itself');
select effect_test.advance('1 h') \gset
select is((select string_agg(s.counted, ' ') from effect.sweep(100, 0, false, p_no => 'no 3') s where s.key = 'l4' and s.task = 'escalated'), 'escalated_effect:3605000', 'its deadline passed');
select is((select string_agg(s.counted, ' ') from effect.sweep(100, 0, false, p_no => 'no 3', p_resent => true) s where s.key = 'l4' and s.task = 'escalated'), 'escalated_effect:3605000', 'said again');
select effect_test.advance('1 h') \gset
select is(pg_temp.counts($$ effect_test.resolve(pg_temp.e('l4', 't1', '{"attempt": 1, "state": "escalated", "verdict": "landed"}')) $$), 'resolved_operator:7205000',
  'by a person, since it became unknown');
select is(pg_temp.counts($$ effect_test.resolve(pg_temp.e('l4', 't1', '{"attempt": 1, "state": "escalated", "verdict": "landed"}')) $$), '?resolved_operator:7205000', 'said again');

-- refused by a later attempt: reported once, settled once
select effect_test.begin(pg_temp.e('f', 't1')) \gset
select effect_test.release(pg_temp.e('f', 't1')) \gset
select effect_test.begin(pg_temp.e('f', 't2')) \gset
select effect_test.advance('1 s') \gset
select is(pg_temp.counts($$ effect_test.complete(pg_temp.e('f', 't2', '{"outcome": "failed", "result": "1"}')) $$), 'failed:1000', 'reported failed');
select is(pg_temp.counts($$ effect_test.complete(pg_temp.e('f', 't2', '{"outcome": "failed", "result": "1"}')) $$), '?failed:1000', 'said again');
select effect_test.sweep() \gset
select effect_test.advance('1 s') \gset
select is(pg_temp.counts($$ effect_test.verdict(pg_temp.e('f', 't2', '{"verdict": "absent"}')) $$), 'resolved_probe:1000', 'the provider lets it stand');
select is(pg_temp.counts($$ effect_test.verdict(pg_temp.e('f', 't2', '{"verdict": "absent"}')) $$), '?resolved_probe:1000', 'said again');

-- an earlier attempt landed
select effect_test.begin(pg_temp.e('v', 't1')) \gset
select effect_test.release(pg_temp.e('v', 't1')) \gset
select effect_test.begin(pg_temp.e('v', 't2')) \gset
select is(pg_temp.counts($$ effect_test.complete(pg_temp.e('v', 't1', '{"result": "1"}')) $$), 'escalated_effect:0', 'proof of an earlier one sends it to people');
select effect_test.advance('1 s') \gset
select is(pg_temp.counts($$ effect_test.complete(pg_temp.e('v', 't2', '{"outcome": "failed"}')) $$), 'resolved_caller:1000', 'and the holder''s word settles it by that proof');

-- retries over what is open
select effect_test.begin(pg_temp.e('y', 't1', '{"tool": "again"}')) \gset
select effect_test.advance('60 s') \gset
select is(pg_temp.counts($$ effect_test.begin(pg_temp.e('y', 't2', '{"tool": "again"}')) $$), 'lapsed:60000', 'a retry finds the lease over');
select is(pg_temp.counts($$ effect_test.begin(pg_temp.e('y', 't2', '{"tool": "again", "resent": true}')) $$), 'lapsed:60000', 'also when it is sent again');
select effect_test.advance('10 s') \gset
select is(pg_temp.counts($$ effect_test.complete(pg_temp.e('y', 't1', '{"tool": "again", "result": "1"}')) $$), 'completed:70000 resolved_caller:10000',
  'the first attempt''s success, since its own claim');
select * from finish();
rollback;
