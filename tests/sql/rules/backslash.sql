-- What a backslash is in a plain literal, the session's settings say: no function leaves that to them, and a word about an
-- effect is kept under any of them. (What a legacy application had set for a whole database is not ours to forbid.)
begin;
select no_plan();
select is((select string_agg(p.proname, ', ' order by p.proname) from pg_proc p
  where p.pronamespace = 'effect'::regnamespace
    and regexp_replace(p.prosrc, '--[^\n]*', '', 'g') ~ '(^|[^eE''])''[^'']*\\'),
  null, 'no body has a backslash in a literal that is not E''...''');
select effect_test.begin(jsonb_build_array(effect_test.e('a', 't1'), effect_test.e('b', 't1', '{"tool": "fails"}'),
  effect_test.e('c', 't1', '{"tool": "frees"}'), effect_test.e('d', 't1', '{"kept": "{\"/m\":\"\\u0000\"}"}'))) \gset
select effect_test.counted() \gset
set local standard_conforming_strings = off;
set local escape_string_warning = off; -- psql's own literals, above
select is(effect_test.complete(effect_test.e('a', 't1', '{"outcome": "error"}')) ->> 'state', 'unknown', 'error as unknown');
select is(effect_test.complete(effect_test.e('b', 't1', '{"tool": "fails", "outcome": "error"}')) ->> 'state', 'done',
  'error as failed');
select is(effect_test.complete(effect_test.e('c', 't1', '{"tool": "frees", "outcome": "error"}')) ->> 'state', 'released',
  'error as released');
select is(effect_test.counted(), 'error:0 error:0 error:0', 'each is counted as what it was');
select is(effect_test.begin(effect_test.e('d', 't2', '{"fp": "other", "kept": "{}"}')) ->> 'answer', 'mismatch', 'a mismatch');
select is((select e.reason from effect.event e where e.kind = 'refused'), 'mismatch: /m', 'and its event');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
