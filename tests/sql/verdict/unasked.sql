-- A probe that nobody could ask: it decides nothing, counts nothing, and its turn comes again in a moment.
begin;
select no_plan();
select effect_test.begin(effect_test.e('a', 't1', '{"tool": "quick"}')) \gset
select effect_test.unknown(effect_test.e('a', 't1', '{"tool": "quick"}')) \gset
select effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'quick', 'a')) \gset
select is(effect_test.only(effect_test.verdict('{"key": "a", "tool": "quick", "verdict": "unasked", "reason": "no room"}'), 'answer', 'state'),
  '{"answer": "ok", "state": "unknown"}', 'unasked leaves the row unknown');
select is(effect_test.row('a', 'quick') ->> 'tries', '0', 'costs no step of the back-off');
select is((select count(*) from effect.event e where e.effect = effect.id('default', 'quick', 'a') and e.kind in ('probe', 'verdict')), 0::bigint,
  'and is no event');
select effect_test.advance('3 s') \gset
select is(effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'quick', 'a')) ->> 'probe_no', '2', 'its turn comes again');
select is(effect_test.verdict('{"key": "a", "tool": "quick", "probe_no": 1, "verdict": "unasked"}') ->> 'answer', 'event',
  'an old one moves nothing');
select is(effect_test.verdict('{"key": "a", "tool": "quick", "probe_no": 2, "verdict": "absent"}') ->> 'state', 'released',
  'and the next verdict counts as if the first had never been taken');
-- a reported failure on attempt 2 waits for a word of the provider
select effect_test.begin(effect_test.e('b', 't1')) \gset
select effect_test.release(effect_test.e('b', 't1')) \gset
select effect_test.begin(effect_test.e('b', 't2')) \gset
select effect_test.complete(effect_test.e('b', 't2', '{"outcome": "failed"}')) \gset
select effect_test.sweep() \gset
select is(effect_test.verdict('{"key": "b", "attempt": 2, "verdict": "unasked"}') ->> 'state', 'unknown', 'unasked is no word');
select effect_test.advance('3 s') \gset
select effect_test.sweep() \gset
select is(effect_test.only(effect_test.verdict('{"key": "b", "attempt": 2, "verdict": "landed"}'), 'state', 'outcome'),
  '{"state": "done", "outcome": "succeeded"}', 'landed is');
-- A probe that could not be started, such as one of a host without the tool's policy: no word either, but a step of the
-- back-off and an event.
select effect_test.begin(effect_test.e('c', 't1')) \gset
select effect_test.release(effect_test.e('c', 't1')) \gset
select effect_test.begin(effect_test.e('c', 't2')) \gset
select effect_test.complete(effect_test.e('c', 't2', '{"outcome": "failed"}')) \gset
select effect_test.sweep() \gset
select is(effect_test.only(effect_test.verdict('{"key": "c", "attempt": 2, "verdict": "unstarted", "reason": "no such file"}'),
  'answer', 'state'), '{"answer": "ok", "state": "unknown"}', 'what could not be started does not decide a reported failure');
select is((select e.reason from effect.event e where e.effect = effect_test.id_of(effect_test.e('c', '')) and e.kind = 'probe'),
  'unstarted: no such file', 'it leaves its reason');
select is(effect_test.row('c') ->> 'tries', '1', 'it is a step of the back-off');
select effect_test.begin(effect_test.e('d', 't1')) \gset
select effect_test.unknown(effect_test.e('d', 't1')) \gset
select effect_test.advance('40 s') \gset
select effect_test.sweep() \gset
select is(effect_test.verdict('{"key": "d", "verdict": "absent"}') ->> 'state', 'unknown', 'the first absent counts');
select effect_test.advance('40 s') \gset
select effect_test.sweep() \gset
select is(effect_test.verdict('{"key": "d", "verdict": "unstarted"}') ->> 'state', 'unknown', 'then one could not be started');
select effect_test.advance('40 s') \gset
select effect_test.sweep() \gset
select is(effect_test.verdict('{"key": "d", "verdict": "absent"}') ->> 'state', 'released', 'the second absent is the second in a row');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
