-- The request id: the same call of begin gets the same grant again where nobody can have been told it, else busy.
begin;
select no_plan();
create function pg_temp.again(p_more jsonb default '{}', p_key text default 'a', p_token text default 'new token')
returns jsonb language sql as $$
  select effect_test.begin(effect_test.e(p_key, p_token, jsonb_build_object('request', effect_test.uid('q1')) || p_more))
$$;
select effect_test.begin(effect_test.e('a', 't1', jsonb_build_object('request', effect_test.uid('q1')))) \gset
select effect_test.advance('10 s') \gset
select is(effect_test.only(effect_test.row('a'), 'request', 'instance', 'boot'),
  jsonb_build_object('request', effect_test.uid('q1'), 'instance', effect_test.uid('instance'), 'boot', effect_test.boot(1)),
  'a claim keeps request, instance and boot');

select is(pg_temp.again() ->> 'answer', 'busy', 'same boot, told already: busy');
select is(effect_test.begin(effect_test.e('a', 't9',
  jsonb_build_object('regrant', true, 'request', effect_test.uid('q2')))) ->> 'answer', 'busy',
  'another request: busy');
select is(effect_test.begin(effect_test.e('a', 't9', '{"regrant": true}')) ->> 'answer', 'busy', 'no request: busy');
select is(pg_temp.again('{"regrant": true, "fp": "other"}') ->> 'answer', 'mismatch', 'a mismatch comes before');
select is(pg_temp.again(jsonb_build_object('instance', effect_test.uid('i2'), 'boot', effect_test.boot(2))) ->> 'answer',
  'busy',
  'another instance: busy');

select xmin as x from effect.ledger where key = 'a' \gset
select is(effect_test.only(pg_temp.again('{"regrant": true}'), 'answer', 'attempt', 'token', 'lease_ms', 'lease_until',
  'on_error'),
  jsonb_build_object('answer', 'run', 'attempt', 1, 'token', effect_test.uid('a t1'), 'lease_ms', 50000,
    'lease_until', effect.now() + interval '50 s', 'on_error', 'unknown'),
  'same boot, told nobody: the same token with the rest of the lease');
select is(effect_test.kinds('a'), 'refused,regranted', 'it leaves an event');
select is(effect_test.only(pg_temp.again(jsonb_build_object('boot', effect_test.boot(2)), p_token => 'second'), 'answer',
    'token'),
  jsonb_build_object('answer', 'run', 'token', effect_test.uid('a t1')), 'another boot of the same instance: the same token');
select is(effect_test.row('a') ->> 'boot', effect_test.boot(2)::text, 'the row is that boot''s now');
select is(pg_temp.again(jsonb_build_object('boot', effect_test.boot(2))) ->> 'answer', 'busy', 'and once more: busy');
select is((effect_test.row('a') ->> 'attempt')::int, 1, 'all of it was one attempt');

-- A begin of the dead boot, held up on its backend until the next boot has spoken (told again to this caller above).
select is(pg_temp.again('{"regrant": true}') ->> 'answer', 'busy', 'an earlier boot''s begin comes too late');
select is(effect_test.row('a') ->> 'boot', effect_test.boot(2)::text, 'the row stays with the later boot');
select is(pg_temp.again(jsonb_build_object('boot', effect_test.boot(2))) ->> 'answer', 'busy',
  'so that the later boot does not tell its own grant again');

-- A re-grant after a restart whose answer was lost with its connection: it is sent again and finds its own first try.
select is(effect_test.only(pg_temp.again(jsonb_build_object('boot', effect_test.boot(3)), p_token => 'third'), 'answer',
    'token'),
  jsonb_build_object('answer', 'run', 'token', effect_test.uid('a t1')), 'a third boot: the same token');
select is(effect_test.only(pg_temp.again(jsonb_build_object('boot', effect_test.boot(3), 'resent', true), p_token => 'third'),
    'answer', 'token'),
  jsonb_build_object('answer', 'run', 'token', effect_test.uid('a t1')), 'sent again: the same, not busy against itself');
select is(effect_test.begin(effect_test.e('a', 'another', jsonb_build_object('boot', effect_test.boot(3),
  'resent', true, 'request', effect_test.uid('q1')))) ->> 'answer', 'busy', 'another begin that is sent again: busy');
select is(effect_test.kinds('a'), 'refused,regranted,regranted,regranted', 'one event for each time it was told');

-- in a batch
select effect_test.begin(effect_test.e('n', 'nt')) \gset
select is((select jsonb_agg(x -> 'answer')
  from jsonb_array_elements(effect_test.begin(jsonb_build_array(effect_test.e('new', 'x1',
      jsonb_build_object('boot', effect_test.boot(3))),
    effect_test.e('a', 'x2', jsonb_build_object('request', effect_test.uid('q1'), 'regrant', true)),
      effect_test.e('n', 'x3')))) x),
  '["run", "run", "busy"]', 'a re-grant in a batch leaves its neighbours alone');

-- extended: never again
select effect_test.extend(effect_test.e('a', 't1')) \gset
select is(pg_temp.again('{"regrant": true}') ->> 'answer', 'busy', 'a lease that was extended is in use');
-- lease over
select effect_test.begin(effect_test.e('l', 't1', jsonb_build_object('request', effect_test.uid('q1'), 'lease_ms', 1000))) \gset
select effect_test.advance('2 s') \gset
select is(pg_temp.again('{"regrant": true}', 'l') ->> 'answer', 'unknown', 'a lease that ran out is not told again');
-- done: nulled
select effect_test.begin(effect_test.e('d', 't1', jsonb_build_object('request', effect_test.uid('q1')))) \gset
select effect_test.complete(effect_test.e('d', 't1')) \gset
select is(effect_test.only(effect_test.row('d'), 'request', 'instance', 'boot'), '{}', 'done nulls request, instance and boot');
select is(pg_temp.again('{"regrant": true}', 'd') ->> 'answer', 'replay', 'the same request is then replayed to');
-- a new attempt has its own request
select effect_test.begin(effect_test.e('r', 't1', jsonb_build_object('request', effect_test.uid('q1')))) \gset
select effect_test.release(effect_test.e('r', 't1')) \gset
select is(effect_test.only(pg_temp.again('{"regrant": true}', 'r'), 'answer', 'attempt', 'token'),
  jsonb_build_object('answer', 'run', 'attempt', 2, 'token', effect_test.uid('r new token')),
    'a released key is granted anew, as attempt 2');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;

-- A re-grant writes the row, so that its commit waits for a standby as the first did.
select no_plan();
select effect_test.begin(effect_test.e('w', 't1', jsonb_build_object('request', effect_test.uid('q1')))) \gset
select xmin as x from effect.ledger where key = 'w' \gset
select effect_test.begin(effect_test.e('w', 't2', jsonb_build_object('request', effect_test.uid('q1'), 'regrant', true))) \gset
select isnt(xmin::text, :'x', 'a re-grant wrote the row') from effect.ledger where key = 'w';
select effect_test.complete(effect_test.e('w', 't1')) \gset
select xmin as x from effect.ledger where key = 'w' \gset
select effect_test.complete(effect_test.e('w', 't1')) \gset
select isnt(xmin::text, :'x', 'an already wrote the row') from effect.ledger where key = 'w';
select * from finish();
