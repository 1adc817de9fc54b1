-- The claim goes with its transaction: rollbacks, savepoints and exception blocks take it along, a commit keeps it. Others are told
-- busy meanwhile, at once, over the wire or not, for a new key and for a released one; and nobody's batch waits.
select no_plan();
create extension if not exists dblink;
select effect.allow('postgres', 'default') \gset
create table business (key text);
create function pg_temp.here(p_key text) returns text
language sql as $$ select h.decision || coalesce(' ' || h.attempt, '') from effect.begin_here('default', 'probed', p_key) h $$;
create function pg_temp.done(p_key text, p_result json) returns void
language sql as $$ select effect.complete_here(l.id, l.token, p_result) from effect.ledger l where l.id = effect.id('default', 'probed', p_key) $$;
select effect_test.connect('other') \gset
select dblink_exec('other', 'set statement_timeout = 3000') \gset
create function pg_temp.wire(p_key text, p_more jsonb default '{"fp": "null"}') returns text
language sql as $$ select a ->> 'answer' || coalesce(' ' || (a ->> 'attempt'), '') from effect_test.ask('other',
  format('select effect_test.begin(%L::jsonb)', jsonb_build_object('key', p_key) || p_more)) a $$;
create function pg_temp.wires(p_keys text) returns text
language sql as $$ select string_agg(a ->> 'answer', ' ' order by n) from jsonb_array_elements(effect_test.ask('other',
  format('select effect_test.begin(%L::jsonb)', (select jsonb_agg(jsonb_build_object('key', k, 'fp', 'null')) from unnest(string_to_array(p_keys, ' ')) k)))) with ordinality as x(a, n) $$;
create function pg_temp.other_here(p_key text) returns text
language sql as $$ select a #>> '{}' from effect_test.ask('other', format('select to_jsonb(h.decision) from effect.begin_here(''default'', ''probed'', %L) h', p_key)) a $$;

-- commit
begin;
select is(pg_temp.here('a'), 'run 1', 'a claim');
insert into business values ('a');
select is(pg_temp.here('a'), 'busy 1', 'the same again in the transaction: it has been told');
select is(pg_temp.wire('a'), 'busy', 'over the wire: busy, with nothing that is not committed');
select is(pg_temp.wire('a', jsonb_build_object('request', gen_random_uuid())), 'busy', 'with a request, too');
select is(pg_temp.wire('a', '{"resent": true}'), 'retry', 'sent again: it is asked again, and not told busy against itself');
select is(pg_temp.other_here('a'), 'busy', 'for another one''s transaction');
select is(pg_temp.wires('z1 a z2'), 'run busy run', 'its neighbours of a batch run');
select pg_temp.done('a', '{"n":  1.0}') \g /dev/null
select is(pg_temp.wire('a'), 'busy', 'done, but not committed: busy');
commit;
select is(pg_temp.wire('a'), 'replay 1', 'committed: a replay');
select is(pg_temp.here('a'), 'replay 1', 'here, too');
select is((select h.result from effect.begin_here('default', 'probed', 'a') h), '{"n":  1.0}', 'byte for byte');

-- what waiters look at
create function pg_temp.peek(p_key text) returns text
language sql as $$ select a ->> 'answer' from effect_test.ask('other', format('select to_jsonb(p) from effect.peek(array[%L::uuid]) p', effect.id('default', 'probed', p_key))) a $$;
begin;
select is(pg_temp.peek('w'), 'none', 'before the claim there is nothing');
savepoint s;
select pg_temp.here('w') \g /dev/null
select is(pg_temp.peek('w'), 'pending', 'while it is held a waiter sees it pending');
rollback to s;
select is(pg_temp.peek('w'), 'none', 'and gone once it was rolled back');
select pg_temp.here('w') \g /dev/null
select pg_temp.done('w', '1') \g /dev/null
select is(pg_temp.peek('w'), 'pending', 'pending, though done: it is not committed');
commit;
select is(pg_temp.peek('w'), 'done', 'and done then');
select effect_test.begin(effect_test.e('w2', 't1', '{"fp": "null"}')) \gset
select effect_test.release(effect_test.e('w2', 't1')) \gset
begin;
select is(pg_temp.peek('w2'), 'released', 'a released one');
select pg_temp.here('w2') \g /dev/null
select is(pg_temp.peek('w2'), 'pending', 'is pending while it is held');
rollback;
select is(pg_temp.peek('w2'), 'released', 'and released again');

-- rollback
begin;
select is(pg_temp.here('b'), 'run 1', 'a claim');
insert into business values ('b');
select pg_temp.done('b', '1') \g /dev/null
rollback;
select is((select count(*) from business where key = 'b') + (select count(*) from effect.ledger where key = 'b'), 0::bigint,
  'rolled back: neither is there');
select is(pg_temp.wire('b'), 'run 1', 'and the next one runs');

-- savepoints
begin;
savepoint s;
select is(pg_temp.here('c'), 'run 1', 'a claim within a savepoint');
select is(pg_temp.wire('c'), 'busy', 'is busy for others');
rollback to s;
select is(pg_temp.wire('c'), 'run 1', 'rolled back to it: another one runs, while the transaction is open');
select is(pg_temp.here('c'), 'busy 1', 'and is busy for this one');
savepoint t;
select pg_temp.here('d') \g /dev/null
release t;
select is(pg_temp.wire('d'), 'busy', 'released into the transaction: it holds');
select pg_temp.done('d', '"d"') \g /dev/null
rollback to s;
select is(pg_temp.wire('d'), 'run 1', 'an outer savepoint takes it along, its result with it');
savepoint u;
select pg_temp.here('e') \g /dev/null
savepoint v;
select pg_temp.done('e', '"first"') \g /dev/null
rollback to v;
select pg_temp.done('e', '"second"') \g /dev/null
commit;
select is((effect_test.row('e') ->> 'result'), '"second"', 'a result that was rolled back is none, the claim stays');

-- an exception block is a savepoint
do $$ begin
  begin
    perform effect.begin_here('default', 'probed', 'f');
    raise division_by_zero;
  exception when division_by_zero then
    insert into business values (pg_temp.wire('f'));
  end;
end $$;
select is((select key from business where key ~ '^run'), 'run 1', 'a claim in a block that raises is gone when the handler runs');

-- a released effect: the row is locked
select effect_test.begin(effect_test.e('g', 't1', '{"fp": "null"}')) \gset
select effect_test.release(effect_test.e('g', 't1')) \gset
begin;
select is(pg_temp.here('g'), 'run 2', 'attempt 2');
select is(pg_temp.wire('g'), 'busy', 'busy over the wire, at once');
select is(pg_temp.wires('z3 g z4'), 'run busy run', 'and in a batch');
select is(pg_temp.other_here('g'), 'busy', 'and for another transaction');
select is(effect_test.ask('other', format('select effect_test.%s(%L)', verb, effect_test.e('g', 't1') || more)) ->> 'answer', answer,
  format('%s by attempt 1 waits for nothing', verb))
from (values ('complete', '{}', 'retry'), ('release', '{}', 'retry'), ('unknown', '{}', 'retry'), ('extend', '{}', 'retry'),
  ('verdict', '{"attempt": 1, "probe_no": 0, "verdict": "landed"}'::jsonb, 'retry'),
  ('resolve', '{"attempt": 1, "state": "released", "verdict": "landed"}', 'retry'), ('get', '{}', 'ok')) x(verb, more, answer);
select is(effect_test.ask('other', 'select effect_test.sweep()')::text !~ 'g', true, 'a sweep does not');
select is(effect_test.ask('other', 'select to_jsonb(r) from effect.retain(100) r') ->> 'deleted', '0', 'nor does ageing');
savepoint s;
rollback;
select is(pg_temp.wire('g'), 'run 2', 'rolled back: the next one runs attempt 2');
-- and a forgotten one, which begins a new life
select effect_test.begin(effect_test.e('h', 't1', '{"fp": "null"}')) \gset
select effect_test.complete(effect_test.e('h', 't1')) \gset
select effect_test.advance('40 days') \gset
select dblink_disconnect('other') \gset
select effect_test.connect('other') \gset
begin;
select is(pg_temp.here('h'), 'run 2', 'a forgotten key');
select is(pg_temp.wire('h'), 'busy', 'busy over the wire');
select is(effect_test.ask('other', 'select to_jsonb(r) from effect.retain(100) r') ->> 'deleted' >= '0', true, 'ageing does not wait');
select pg_temp.done('h', '"anew"') \g /dev/null
commit;
select is(pg_temp.wire('h'), 'replay 2', 'committed: a replay');

-- a claim that is committed without a result is one like any other: its lease ends, it is unknown, it is probed
begin;
select pg_temp.here('i') \g /dev/null
commit;
select is(pg_temp.wire('i'), 'busy 1', 'its lease is good');
select effect_test.advance('61s') \gset
select dblink_disconnect('other') \gset
select effect_test.connect('other') \gset
select is(pg_temp.here('i'), 'unknown 1', 'over: nobody runs it');
select is(pg_temp.wire('i'), 'unknown 1', 'over the wire, too');
select is(effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'probed', 'i')) ->> 'attempt', '1', 'it is probed');
select is(effect_test.complete(jsonb_build_object('key', 'i', 'token', effect_test.row('i') ->> 'token')) ->> 'answer', 'ok', 'its token is good for the wire');

-- isolation, and durability
begin isolation level repeatable read;
select throws_ok($$ select effect.begin_here('default', 'probed', 'j') $$, 'ZE001', null, 'not under repeatable read');
select throws_ok($$ select effect.complete_here(gen_random_uuid(), gen_random_uuid()) $$, 'ZE001', null, 'nor complete_here');
rollback;
begin isolation level serializable;
select throws_ok($$ select effect.begin_here('default', 'probed', 'j') $$, 'ZE001', null, 'nor under serializable');
rollback;
set synchronous_commit = off;
begin;
select pg_temp.here('j') \g /dev/null
select is(current_setting('synchronous_commit'), 'on', 'the commit is durable, whatever the session has');
rollback;
select is(current_setting('synchronous_commit'), 'off', 'of this transaction only');
select is_empty('select * from effect.check_invariants()', 'the books are right');
select is((select count(*) from pg_locks l join pg_database d on d.oid = l.database
  where l.locktype = 'advisory' and d.datname = current_database()), 0::bigint, 'no lock is left');
select * from finish();
