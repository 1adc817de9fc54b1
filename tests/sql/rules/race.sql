-- Eight sessions play wrappers, sweepers and operators on a few keys at once, by the real clock, every message in its own
-- transaction and in batches of opposite order: no error, no deadlock, one run per effect (cases 7, 100; promise 1).
select no_plan();
select diag('seed 0.7');
select effect_test.tool('hasty',
  '{"settle": "1ms", "absent_needed": 1, "max_attempts": 1000000, "probe_backoff": ["1ms"], "probe_timeout": "1ms", "escalate_after": "300ms", "hold_max": "1s"}') \gset
select effect_test.tool('restless', '{"settle": "1ms", "absent_needed": 1, "max_attempts": 1000000, "probe_backoff": ["1ms"], "probe_timeout": "1ms", "escalate_after": "300ms",
  "on_unknown": "retry", "retry_window": "100ms"}') \gset
create table effect_test.told (id bigint generated always as identity, worker int, message text, key text, token uuid,
  attempt int, answer text);
create table effect_test.mine (worker int, key text, token uuid, attempt int);

create procedure effect_test.worker(p_tool text, p_worker int, p_n int) language plpgsql as $$
declare
  v_keys text[];
  v_entries jsonb;
  v_told jsonb;
  v_task jsonb;
  v_roll float;
  v_message text;
begin
  perform setseed(0.7 / p_worker);
  set lock_timeout = '5s';
  for i in 1 .. p_n loop
    v_roll := random();
    v_message := case when v_roll < 0.4 then 'begin' when v_roll < 0.55 then 'complete' when v_roll < 0.7 then 'release' when v_roll < 0.8 then 'unknown' when v_roll < 0.85 then 'extend'
      when v_roll < 0.93 then 'sweep' else 'resolve' end;
    if v_message = 'sweep' then
      for v_task in select * from jsonb_array_elements(effect_test.sweep(10, 10, true)) loop
        commit;
        if v_task ->> 'task' = 'probe' then
          perform effect_test.verdict(jsonb_build_object('id', v_task ->> 'effect', 'attempt', v_task -> 'attempt', 'probe_no',
            v_task -> 'probe_no',
            'verdict', (array['absent', 'absent', 'absent', 'absent', 'inconclusive', 'landed'])[1 + floor(random() * 6)]));
        end if;
      end loop;
      perform effect.retain(10);
    elsif v_message = 'resolve' then
      perform effect_test.resolve((select jsonb_agg(jsonb_build_object('id', l.id, 'verdict', 'absent', 'attempt', l.attempt,
        'state', l.state))
        from (select * from effect.ledger where state = 'escalated' and evidence is null limit 2) l having count(*) > 0));
    else
      -- three keys, in an order of the worker's own
      v_keys := array(select left(p_tool, 1) || k from generate_series(1, 60) k order by random() limit 3);
      v_entries := case when v_message = 'begin' then (select jsonb_agg(jsonb_build_object('key', k, 'tool', p_tool, 'token',
        gen_random_uuid(), 'lease_ms', 1 + (random() * 40)::int,
          'within_ms', 60000)) from unnest(v_keys) k)
        else (select jsonb_agg(jsonb_build_object('key', m.key, 'tool', p_tool, 'token', m.token, 'result', '1',
          'outcome', case when random() < 0.02 then 'succeeded' else 'error' end))
            from (select * from effect_test.mine where worker = p_worker and key ~ ('^' || left(p_tool, 1)) order by random() limit 3) m) end;
      continue when v_entries is null;
      if v_message = 'complete' and random() < 0.7 then
        continue;
      end if;
      v_told := effect_test.send(v_message, v_entries);
      insert into effect_test.told (worker, message, key, token, attempt, answer)
      select p_worker, v_message, e.j ->> 'key', (e.j ->> 'token')::uuid, (v_told -> (e.n - 1)::int ->> 'attempt')::int,
        v_told -> (e.n - 1)::int ->> 'answer' from effect_test.entries(v_entries) e;
      if v_message = 'begin' then
        insert into effect_test.mine select p_worker, e.j ->> 'key',
          (e.j ->> 'token')::uuid from effect_test.entries(v_entries) e where v_told -> (e.n - 1)::int ->> 'answer' = 'run';
      end if;
    end if;
    commit;
  end loop;
end
$$;
create function pg_temp.go(p_tool text) returns table (said text) language plpgsql as $$
begin
  for i in 1 .. 8 loop
    perform dblink_connect('w' || i,
      format('host=%s dbname=%s user=postgres options=''-c effect_test.now= -c client_min_messages=warning''',
      current_setting('unix_socket_directories'), current_database()));
    perform dblink_send_query('w' || i, format('call effect_test.worker(%L, %s, 300)', p_tool, i));
  end loop;
  for i in 1 .. 8 loop
    begin
      perform from dblink_get_result('w' || i) as x(a text);
      said := 'CALL ' || dblink_error_message('w' || i);
    exception when others then
      said := sqlerrm;
    end;
    perform dblink_disconnect('w' || i);
    return next;
  end loop;
end
$$;
select is(said, 'CALL OK', 'a worker ends without an error') from pg_temp.go('hasty');
select is(said, 'CALL OK', 'nor does one whose tool retries') from pg_temp.go('restless');
select diag(format('%s %s', message, string_agg(format('%s %s', answer, n), ', ' order by answer)))
  from (select message, answer, count(*) as n from effect_test.told group by 1, 2) x group by message order by 1;
select cmp_ok((select count(*) from effect_test.told where answer = 'run'), '>', 100::bigint, 'many a run was told');
select cmp_ok((select count(distinct answer) from effect_test.told where message = 'begin'), '>=', 4::bigint, 'rows went many ways');
select is_empty($$ select key, attempt, count(*) from effect_test.told where message = 'begin' and answer = 'run' group by 1, 2 having count(*) > 1 $$,
  'no attempt was told twice');
select is_empty($$ select g.effect, g.attempt from effect.event g where g.kind = 'granted' and g.reason is null and not exists (select from effect.event r where r.effect = g.effect and r.attempt = g.attempt - 1
  and r.id < g.id and r.kind in ('released', 'resolved', 'not_told')) $$, 'each next attempt was granted after the former one was known not to have landed');
select cmp_ok((select count(*) from effect.event where kind = 'granted' and reason like 'retry%'), '>', 20::bigint, 'or is a retry');
select is_empty($$ select l.key from effect.event g join effect.ledger l on l.id = g.effect where g.kind = 'granted' and g.reason like 'retry%'
  and l.key !~ '^r' $$, 'of a tool that retries, and of no other');
select is_empty($$ select g.effect, g.attempt from effect.event g where g.kind = 'granted' and g.reason like 'retry%' and exists (select from effect.event r
  where r.effect = g.effect and r.attempt < g.attempt and r.id < g.id and r.kind = 'late' and r.outcome = 'succeeded') $$, 'and never after a success');
select is_empty($$ select t.key, t.attempt from effect_test.told t join effect.ledger l on l.key = t.key where t.message = 'begin' and t.answer = 'run' and t.attempt > l.attempt $$,
  'no grant was lost');
select is_empty($$ select key from effect_test.told where answer is null $$, 'each entry was answered');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
