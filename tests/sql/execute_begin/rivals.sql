-- While the transaction of one is open: others are busy at once, its own request and its own second try are asked again, and nobody
-- waits. In each way in which a row is granted: a new one, a released one, a forgotten one.
select no_plan();
select effect.allow('postgres', 'default') \gset
select effect_test.tool('run', '{"execute": {"query": "select 1", "user": "postgres"}}') \gset
select effect_test.tool('turned', '{"execute": {"query": "select 1", "user": "postgres"}, "turn_budget": 2}') \gset
create function effect_test.execute(p_key text, p_token text, p_request text, p_resent boolean default false, p_tool text default 'run',
  p_turn text default null) returns jsonb language sql as $$
  select jsonb_strip_nulls(to_jsonb(b)) from effect.execute_begin(effect.id('default', p_tool, p_key),
    (select version from effect_test.tool t where t.name = p_tool), p_key, effect_test.uid('args'), effect_test.uid(p_key || ' ' || p_token),
    effect_test.uid(p_request), null, 'r', null, p_turn, null, null, null, false, p_resent) b $$;
create function effect_test.execute_done(p_key text, p_token text) returns text language sql as $$
  select to_jsonb(effect.execute_done(effect.id('default', 'run', p_key), effect_test.uid(p_key || ' ' || p_token), '1', false))::text $$;
select effect_test.begin(effect_test.e('released', 't0', '{"tool": "run", "fp": "args"}')) \gset
select effect_test.release(effect_test.e('released', 't0', '{"tool": "run"}')) \gset
select effect_test.begin(effect_test.e('forgotten', 't0', '{"tool": "run", "fp": "args"}')) \gset
select effect_test.complete(effect_test.e('forgotten', 't0', '{"tool": "run"}')) \gset
select effect_test.advance('31 days') \gset
select effect_test.connect('other') \gset
select dblink_exec('other', 'begin') \gset
create temp table keys as select * from unnest(array['new', 'released', 'forgotten']) key;
select is(effect_test.ask('other', format('select effect_test.execute(%L, ''t1'', ''q1'')', key)) ->> 'answer', 'run', key || ': one runs') from keys;
select is(effect_test.execute(key, 't2', null) ->> 'answer', 'busy', key || ': another is busy') from keys;
select is(effect_test.execute(key, 't2', 'q2') ->> 'answer', 'busy', key || ': with a request of its own, too') from keys;
select is(effect_test.begin(effect_test.e(key, 't3', '{"tool": "run", "fp": "args"}')) ->> 'answer', 'busy', key || ': so is a begin') from keys;
select is(effect_test.execute(key, 't2', 'q1') ->> 'answer', 'retry', key || ': its own request asks again') from keys;
select is(effect_test.execute('new', 't1', null, true) ->> 'answer', 'retry', 'its own second try waits for it');
select is(effect_test.ask('other', format('select to_json(effect_test.execute_done(%L, ''t1''))', key)) is not null, true, key || ': it is recorded') from keys;
select is(effect_test.execute('new', 't2', null) ->> 'answer', 'busy', 'busy until the very end');
select dblink_exec('other', 'commit') \gset
select is(effect_test.execute(key, 't2', 'q1') ->> 'answer', 'replay', key || ': then a replay') from keys;
select is((effect_test.row('released', 'run') ->> 'attempt')::int, 2, 'a released one is the next attempt');
-- its first try is committed in the midst of the second
select dblink_exec('other', 'begin') \gset
select effect_test.ask('other', $$ select effect_test.execute('late', 't1', null) $$) \gset
select effect_test.ask('other', $$ select to_json(effect_test.execute_done('late', 't1')) $$) \gset
create or replace function effect.now() returns timestamptz language plpgsql volatile as $$
begin
  if pg_catalog.current_setting('effect_test.commits', true) = 'other' then
    perform pg_catalog.set_config('effect_test.commits', '', false);
    perform public.dblink_exec('other', 'commit');
  end if;
  return pg_catalog.clock_timestamp() + interval '31 days';
end $$;
set effect_test.commits = 'other';
select is(effect_test.only(effect_test.execute('late', 't1', null, true), 'answer', 'result'), '{"answer": "replay", "result": "1"}', 'committed meanwhile: its own result');
-- who looks whether an effect is held leaves no lock, whatever ends him
create or replace function effect.lock_of_here(p_id uuid) returns bigint language plpgsql volatile as $$
begin
  if pg_catalog.current_setting('effect_test.asked', true) = 'before' then
    raise query_canceled;
  end if;
  perform pg_catalog.set_config('effect_test.asked', 'before', false);
  return 815;
end $$;
select effect.held_here(gen_random_uuid()) \g /dev/null
select is_empty($$ select from pg_locks l join pg_database d on d.oid = l.database
  where l.locktype = 'advisory' and l.objid = 815 and d.datname = current_database() $$, 'a look that is cancelled in its midst leaves no lock of the session');
create or replace function effect.lock_of_here(p_id uuid) returns bigint language sql immutable parallel safe as $$ select pg_catalog.uuid_hash_extended(p_id, 5) $$;
-- a turn's budget is judged by one at a time
select dblink_exec('other', 'begin') \gset
select is(effect_test.ask('other', $$ select effect_test.execute('x', 't1', null, false, 'turned', '1') $$) ->> 'answer', 'run', 'a grant of a turn');
select is(effect_test.execute('y', 't1', null, false, 'turned', '1') ->> 'answer', 'retry', 'the next one of the turn asks again');
select is(effect_test.execute('z', 't1', null, false, 'turned', '2') ->> 'answer', 'run', 'that of another turn does not');
select dblink_exec('other', 'rollback') \gset
select is(effect_test.execute('y', 't1', null, false, 'turned', '1') ->> 'answer', 'run', 'when that is over, it is judged');
select is((select grants from effect.turn where turn = '1'), 1, 'and what was rolled back is not counted');
select is(answer, 'ok', 'an ask that failed') from effect.execute_failed(array[(select version from effect_test.tool where name = 'turned')], array['r'], array['1']);
select is((select array[grants, asks, refused] from effect.turn where turn = '1'), array[1, 2, 0], 'is counted as an ask');
select is(answer, 'ok', 'of no turn: nothing') from effect.execute_failed(array[(select version from effect_test.tool where name = 'turned')], array['r'], array[null]);
select * from finish();
