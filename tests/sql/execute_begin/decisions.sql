-- execute_begin decides as begin does, state by state; it is for the role that the policy names, where effect.access allows it.
select no_plan();
select effect.allow('postgres', 'default') \gset
create function pg_temp.tool(p_name text, p_with jsonb default '{}', p_user text default 'postgres') returns bigint language sql as $$
  select effect_test.tool(p_name, jsonb_build_object('execute', jsonb_build_object('query', 'select 1', 'user', p_user)) || p_with) $$;
create function pg_temp.ask(p_key text, p_token text, p_tool text default 'run', p_fp text default null, p_resent boolean default false,
  p_request text default null, p_turn text default null) returns jsonb language sql as $$
  select jsonb_strip_nulls(to_jsonb(b)) from effect.execute_begin(effect.id('default', p_tool, p_key),
    (select version from effect_test.tool t where t.namespace = 'default' and t.name = p_tool), p_key,
    effect_test.uid(coalesce(p_fp, 'args')), effect_test.uid(p_key || ' ' || p_token), effect_test.uid(p_request), 'me', 'r', 's', p_turn,
    null, null, null, false, p_resent) b $$;
create function pg_temp.e(p_key text, p_token text, p_more jsonb default '{}') returns jsonb language sql as $$
  select effect_test.e(p_key, p_token, '{"tool": "run", "fp": "args"}'::jsonb || p_more) $$;
select pg_temp.tool('run', '{"escalate_after": "30s"}'); select pg_temp.tool('twice', '{"max_attempts": 2}');
select pg_temp.tool('turned', '{"turn_budget": 2, "turn_asks": 4}'); select pg_temp.tool('foreign', '{}', 'effect_report');

begin;
select is(pg_temp.ask('a', 't') ->> 'answer', 'run', 'a new key runs');
select is(effect_test.row('a', 'run') ->> 'state', 'pending', 'its own transaction sees it pending');
select is((select array[owner, run, step] from effect.ledger where key = 'a'), array['me', 'r', 's'], 'with what the caller said');
select isnt(effect.execute_done(effect.id('default', 'run', 'a'), effect_test.uid('a t'), '{"a":  1}', false), null, 'and records it');
commit;
select is((select array[state::text, outcome::text, decided_by::text, result, result_state::text] from effect.ledger where key = 'a'),
  array['done', 'succeeded', 'caller', '{"a":  1}', 'kept'], 'the commit makes it done, with its bytes');
select is(pg_temp.ask('a', 't2') ->> 'answer', 'replay', 'it replays');
select is(pg_temp.ask('a', 't2', p_fp => 'other') ->> 'answer', 'mismatch', 'other args are a mismatch');
begin;
select is(pg_temp.ask('b', 't') ->> 'answer', 'run', 'another runs');
rollback;
select is(effect_test.row('b', 'run'), null, 'a rollback takes it along');
-- what begin has claimed before the tool was executed
select effect_test.begin(pg_temp.e(k, 't', jsonb_build_object('request', effect_test.uid('q')))) from unnest(array['pending', 'lapsed', 'unknown', 'released', 'escalated']) k;
select is(pg_temp.ask('pending', 't2') ->> 'answer', 'busy', 'pending: busy');
select is(pg_temp.ask('pending', 't2', p_request => 'q') ->> 'answer', 'busy', 'pending: busy for its own request, too, which may be making the call');
select throws_ok('select pg_temp.ask(''pending'', ''t'', p_resent => ' || resent || ')', 'ZE003', null, 'a token that is out already runs nothing')
from unnest(array[false, true]) resent;
select effect_test.unknown(pg_temp.e('unknown', 't')); select effect_test.release(pg_temp.e('released', 't'));
select is(pg_temp.ask('unknown', 't2') ->> 'answer', 'unknown', 'unknown: unknown');
select is(pg_temp.ask('released', 't2') ->> 'answer', 'run', 'released: run');
select is((pg_temp.ask('pending', 't3') ->> 'attempt')::int, 1, 'attempts are not counted by who was not granted');
select effect_test.unknown(pg_temp.e('escalated', 't')); select effect_test.advance('61s'); select effect_test.sweep();
select is(pg_temp.ask('escalated', 't2') ->> 'answer', 'escalated', 'escalated: escalated');
select is(pg_temp.ask('lapsed', 't2') ->> 'answer', 'unknown', 'a lease that is over: unknown');
select is(pg_temp.ask('k' || n, 't', 'turned', p_turn => '1') ->> 'answer', case when n < 3 then 'run' else 'exhausted' end, 'ask ' || n || ' of a turn') from generate_series(1, 3) n;
-- who may
select throws_ok($$ select pg_temp.ask('a', 't', 'foreign') $$, 'ZE006', null, 'another role''s tool');
select effect.disallow('postgres', 'default') \gset
select throws_ok($$ select pg_temp.ask('c', 't') $$, 'ZE006', null, 'a role that is not allowed');
select effect.allow('postgres', 'default') \gset
select throws_ok($$ select * from effect.execute_begin(gen_random_uuid(), (select version from effect_test.tool where name = 'run'), 'k', null,
  gen_random_uuid(), null, null, null, null, null, null, null, null, false, false) $$, 'ZE003', null, 'an id that is not the key''s');
select is((select answer from effect.execute_begin(effect.id('default', 'run', 'k'), 42, 'k', null, gen_random_uuid(), null, null, null, null, null, null,
  null, null, false, false)), 'no_tool', 'a version that is not known');
select throws_ok(format('select * from effect.execute_begin(effect.id(''default'', ''run'', %1$L), (select version from effect_test.tool where name = ''run''), %1$L, null,
  gen_random_uuid(), null, %2$L, null, null, null, %3$L, null, %4$L, false, false)', key, owner, kept, again), code, null, what)
from (values ('a key with a line end', E'k\nx', null, null, null, 'ZE003'), ('a key that is too long', repeat('k', 256), null, null, null, 'ZE003'),
  ('an owner that is too long', 'k', repeat('o', 256), null, null, 'ZE003'), ('a reason that is too long', 'k', null, null, repeat('r', 1001), 'ZE003'),
  ('kept that is no object', 'k', null, '1', null, 'ZE003'), ('kept that is no JSON', 'k', null, '{},"decision":"run"', null, '22P02')) x(what, key, owner, kept, again, code);
-- the record
begin;
select pg_temp.ask('d', 't') \gset
select throws_ok($$ select effect.execute_done(effect.id('default', 'run', 'd'), effect_test.uid('d other'), '1', false) $$, 'ZE009', null, 'another token records nothing');
select throws_ok($$ select effect.execute_done(effect.id('default', 'run', 'd'), effect_test.uid('d t'), '1,"decision":"run"', false) $$, '22P02', null,
  'a result that is no JSON is not recorded: it would be told as it is');
commit;
select throws_ok($$ select effect.execute_done(effect.id('default', 'run', 'd'), effect_test.uid('d t'), '1', false) $$, 'ZE009', null,
  'a claim of another transaction is not recorded');
select throws_ok($$ select effect.execute_done(effect.id('default', 'run', 'a'), effect_test.uid('a t'), '1', false) $$, 'ZE009', null, 'nor what is done');
-- who asks again, as his COMMIT was not answered
select is(pg_temp.ask('a', 't', p_resent => true) - 'ord', (select jsonb_build_object('answer', 'ran', 'attempt', 1, 'result_state', 'kept', 'done_at', done_at,
  'protected_until', keep_until) from effect.ledger where key = 'a'), 'his own row is there: ran');
select is(pg_temp.ask('a', 'other', p_resent => true) ->> 'answer', 'replay', 'somebody else''s is a replay');
begin;
select is(pg_temp.ask('e', 't', p_resent => true) ->> 'answer', 'run', 'it is not there: it runs');
rollback;
-- a business key is the tool's own, whatever a role says it is
select pg_temp.tool('paid', '{"business_key": ["/order"], "business_window": "1h", "on_business_duplicate": "hold"}') \gset
select effect_test.tool('paid', '{"business_key": ["/order"], "business_window": "1h", "on_business_duplicate": "hold",
  "execute": {"query": "select 1", "user": "postgres"}}', 'theirs') \gset
select effect.allow('postgres', 'theirs') \gset
create function pg_temp.pay(p_ns text, p_key text) returns jsonb language sql as $$
  select jsonb_strip_nulls(to_jsonb(b)) from effect.execute_begin(effect.id(p_ns, 'paid', p_key), (select version from effect_test.tool t where t.namespace = p_ns and t.name = 'paid'),
    p_key, null, gen_random_uuid(), null, null, null, null, null, null, effect_test.uid('order 1'), null, false, false) b $$;
select is(pg_temp.pay('theirs', 'secret customer') ->> 'answer', 'run', 'one namespace has the business key');
select is(effect_test.only(pg_temp.pay('default', 'mine'), 'answer', 'twin_key'), '{"answer": "run"}', 'another one is not held by it, nor told of it');
select is(effect_test.only(pg_temp.pay('default', 'mine again'), 'answer', 'twin_key'), '{"answer": "held", "twin_key": "mine"}', 'but by its own');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
