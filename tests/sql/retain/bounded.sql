-- Ageing goes in bounded batches; a begin beside it is not disturbed (case 96).
select no_plan();
select effect_test.tool('short', '{"keep_result": "1s", "keep_key": "2s"}') \gset
do $$
begin
  for i in 1 .. 50 loop
    perform effect_test.begin((select jsonb_agg(effect_test.e('k' || n, 't1', '{"tool": "short"}'))
      from generate_series(i * 100 - 99, i * 100) n));
    perform effect_test.complete((select jsonb_agg(effect_test.e('k' || n, 't1', '{"tool": "short", "result": "1"}'))
      from generate_series(i * 100 - 99, i * 100) n));
  end loop;
end
$$;
select effect_test.begin(effect_test.e('open', 't1', '{"tool": "short", "lease_ms": 3600000}')) \gset
select effect_test.advance('1.5 s') \gset
select is(to_jsonb(r), '{"dropped": 300, "deleted": 0}', 'no more than it is told: results') from effect.retain(300) r;
select effect_test.advance('1 s') \gset
select is(to_jsonb(r), '{"dropped": 0, "deleted": 300}', 'no more than it is told: keys') from effect.retain(300) r;
-- a purge under way in another session disturbs nobody
set lock_timeout = '200ms';
select effect_test.connect('purge') \gset
select dblink_exec('purge', 'begin') \gset
select effect_test.ask('purge', '(select to_jsonb(r) from effect.retain(1000) r)') \gset
select ok(b ->> 'answer' in ('run', 'retry'), 'a begin of a key in the purge: run or retry, at once: ' || (b ->> 'answer'))
  from effect_test.begin(effect_test.e('k1', 'x', '{"tool": "short"}')) b;
select is(effect_test.begin(effect_test.e('fresh', 'x', '{"tool": "short"}')) ->> 'answer', 'run', 'a begin of another key: run');
select is(to_jsonb(r), '{"dropped": 0, "deleted": 500}', 'a second purge takes other rows') from effect.retain(500) r;
-- stopped in the middle: harmless
select dblink_disconnect('purge') \gset
do $$
declare
  v_deleted int;
begin
  for i in 1 .. 100 loop
    select deleted into v_deleted from effect.retain(300);
    exit when v_deleted = 0;
  end loop;
end
$$;
select is((select count(*) from effect.ledger where state = 'done'), 0::bigint, 'all are gone in the end');
select is((select count(*) from effect.ledger where key = 'open'), 1::bigint, 'the open row stands');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
