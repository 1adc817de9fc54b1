-- A begin sent again after its connection was lost: it finds its own claim, waits (bounded) for its predecessor, and is
-- never told busy because of itself (case 102).
select no_plan();
select is(effect_test.only(effect_test.begin(effect_test.e('a', 't1', '{"resent": true}')), 'answer', 'token', 'attempt'),
  jsonb_build_object('answer', 'run', 'token', effect_test.uid('a t1'), 'attempt', 1), 'the first try was lost: claimed now');
select effect_test.advance('1 s') \gset
select is(effect_test.only(effect_test.begin(effect_test.e('a', 't1', '{"resent": true}')), 'answer', 'token', 'attempt',
  'lease_ms'),
  jsonb_build_object('answer', 'run', 'token', effect_test.uid('a t1'), 'attempt', 1, 'lease_ms', 59000),
    'the first try was committed: the same grant');
select is(count(*), 1::bigint, 'one row') from effect.ledger;
select is(effect_test.begin(effect_test.e('a', 't2', '{"resent": true}')) ->> 'answer', 'busy', 'somebody else''s claim: busy');
select is((select jsonb_agg(x -> 'answer')
  from jsonb_array_elements(effect_test.begin(jsonb_build_array(effect_test.e('n1', 'x1'),
    effect_test.e('a', 't1', '{"resent": true}'), effect_test.e('n2', 'x2', '{"resent": true}')))) x), '["run", "run", "run"]',
      'in a batch, too');
select effect_test.complete(effect_test.e('a', 't1')) \gset
select is(effect_test.begin(effect_test.e('a', 't1', '{"resent": true}')) ->> 'answer', 'replay', 'done meanwhile: replay');

select effect_test.connect('first') \gset
select dblink_exec('first', 'begin') \gset
select effect_test.ask('first', $$ effect_test.begin(effect_test.e('b', 't1')) $$) \gset
select clock_timestamp() as asked \gset
select is(effect_test.begin(effect_test.e('b', 't1', '{"resent": true}')) ->> 'answer', 'retry',
  'its own first try still commits: not busy');
select ok(clock_timestamp() - :'asked' < interval '5 s', 'the wait is bounded');
-- with a request, the second try knows the first one even if it does not know that it was sent
select effect_test.ask('first',
  $$ effect_test.begin(effect_test.e('c', 't1', jsonb_build_object('request', effect_test.uid('q1')))) $$) \gset
select is(effect_test.begin(effect_test.e('c', 't2', jsonb_build_object('request', effect_test.uid('q1')))) ->> 'answer', 'retry',
  'the same request, uncommitted: not busy against itself');
select is(effect_test.begin(effect_test.e('c', 't3', jsonb_build_object('request', effect_test.uid('q2')))) ->> 'answer', 'busy',
  'another request: busy');
select dblink_exec('first', 'commit') \gset
select is(effect_test.only(effect_test.begin(effect_test.e('b', 't1', '{"resent": true}')), 'answer', 'token'),
  jsonb_build_object('answer', 'run', 'token', effect_test.uid('b t1')), 'committed: it is told its own grant');
select is((select attempt from effect.ledger where key = 'b'), 1, 'as attempt 1');
select dblink_exec('first', 'begin') \gset
select effect_test.ask('first', $$ effect_test.begin(effect_test.e('d', 't1')) $$) \gset
select dblink_send_query('first', 'select pg_sleep(0.2); rollback') \gset
select is(effect_test.only(effect_test.begin(effect_test.e('d', 't1', '{"resent": true}')), 'answer', 'token'),
  jsonb_build_object('answer', 'run', 'token', effect_test.uid('d t1')), 'rolled back while it waits: claimed now');
select * from finish();
