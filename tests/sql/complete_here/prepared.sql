-- A prepared transaction holds its claims as an open one does, across its session's end, and its second phase decides.
select no_plan();
create extension if not exists dblink;
select effect.allow('postgres', 'default') \gset
create function pg_temp.prepare(p_key text) returns text language plpgsql as $$
begin
  perform effect_test.connect('one');
  perform dblink_exec('one', 'begin');
  perform dblink_exec('one', format('do $d$ declare h record; begin select * into h from effect.begin_here(''default'', ''probed'', %L); '
    'perform effect.complete_here(h.effect, h.token, ''{"two":  2}''); end $d$', p_key));
  perform dblink_exec('one', format('prepare transaction %L', current_database() || p_key));
  return dblink_disconnect('one');
end
$$;
create function pg_temp.here(p_key text) returns text
language sql as $$ select concat_ws(' ', h.decision, h.attempt, h.result) from effect.begin_here('default', 'probed', p_key) h $$;
create function pg_temp.wire(p_key text) returns text
language sql as $$ select effect_test.begin(jsonb_build_object('key', p_key, 'fp', 'null')) ->> 'answer' $$;
select effect_test.begin(effect_test.e(k, 't1', '{"fp": "null"}')), effect_test.release(effect_test.e(k, 't1')) from unnest(array['c', 'd']) k \g /dev/null
select is(pg_temp.prepare(k), 'OK', 'prepared: ' || k) from unnest(array['a', 'b', 'c', 'd']) k;
select is(pg_temp.wire(k), 'busy', 'busy over the wire: ' || k) from unnest(array['a', 'b', 'c', 'd']) k;
select is(pg_temp.here(k), 'busy', 'busy here: ' || k) from unnest(array['a', 'b', 'c', 'd']) k;
select format('commit prepared %L', current_database() || k) from unnest(array['a', 'c']) k \gexec
select format('rollback prepared %L', current_database() || k) from unnest(array['b', 'd']) k \gexec
select is(pg_temp.here('a'), 'replay 1 {"two":  2}', 'committed: a replay');
select is(pg_temp.here('c'), 'replay 2 {"two":  2}', 'committed over a released one: a replay');
select is(pg_temp.wire('b'), 'run', 'rolled back: it runs');
select is(pg_temp.here('d'), 'run 2', 'rolled back over a released one: it runs');
select is_empty('select * from effect.check_invariants()', 'the books are right');
select * from finish();
