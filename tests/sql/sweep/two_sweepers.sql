-- Two sweepers at once: each task goes to one of them (cases 11, 90).
select no_plan();
set lock_timeout = '200ms';
select effect_test.begin(effect_test.e('e', 't1', '{"tool": "bare"}')) \gset
select effect_test.unknown(effect_test.e('e', 't1', '{"tool": "bare"}')) \gset
select effect_test.advance('31 s') \gset
select effect_test.sweep(100, 0, false) \gset
select is(effect_test.row('e', 'bare') ->> 'state', 'escalated', 'one newly escalated row');
select effect_test.begin(effect_test.e('p', 't1')) \gset
select effect_test.unknown(effect_test.e('p', 't1')) \gset
select effect_test.connect('other') \gset
create function pg_temp.count(p_tasks jsonb,
  p_task text) returns bigint language sql as $$ select count(*) from jsonb_array_elements(p_tasks) t where t ->> 'task' = p_task $$;
-- the other one takes them, and has not committed yet
select dblink_exec('other', 'begin') \gset
select effect_test.ask('other', 'effect_test.sweep(100, 100, true)') as theirs \gset
select is(pg_temp.count(:'theirs', 'notify'), 1::bigint, 'one takes the notice');
select is(pg_temp.count(:'theirs', 'probe'), 1::bigint, 'and the probe');
select is(effect_test.sweep(100, 100, true), '[]', 'the other finds nothing, and does not wait');
select dblink_exec('other', 'commit') \gset
select is(effect_test.sweep(100, 100, true), '[]', 'nor when it is committed');
-- a sweeper that dies before its commit leaves them to others
update effect.ledger set due_at = effect.now() where key in ('e', 'p');
select dblink_exec('other', 'begin') \gset
select effect_test.ask('other', 'effect_test.sweep(100, 100, true)') \gset
select dblink_exec('other', 'rollback') \gset
select effect_test.sweep(100, 100, true) as ours \gset
select is(effect_test.task(:'ours', 'notify', effect.id('default', 'bare', 'e')) ->> 'notice_no', '1',
  'taken by the other, under the same number');
select is(effect_test.task(:'ours', 'probe', effect.id('default', 'probed', 'p')) ->> 'probe_no', '2', 'the probe, too');
-- the verdict of the first sweeper's probe is fenced by its number
select is(effect_test.verdict('{"key": "p", "probe_no": 1, "verdict": "absent"}') ->> 'answer', 'event',
  'an older probe''s absent does not count');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
