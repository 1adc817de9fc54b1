-- Every function that writes raises outside READ COMMITTED, and does nothing.
select no_plan();
create table calls (name text, call text);
insert into calls values
  ('begin', $$ select effect_test.begin('{"key": "a"}') $$), ('complete', $$ select effect_test.complete('{"key": "a"}') $$),
  ('release', $$ select effect_test.release('{"key": "a"}') $$), ('unknown', $$ select effect_test.unknown('{"key": "a"}') $$),
  ('extend', $$ select effect_test.extend('{"key": "a"}') $$),
    ('verdict', $$ select effect_test.verdict('{"key": "a", "attempt": 1, "probe_no": 1, "verdict": "landed"}') $$),
  ('resolve', $$ select effect_test.resolve('{"key": "a", "attempt": 1, "state": "unknown", "verdict": "landed"}') $$),
  ('sweep', $$ select effect_test.sweep() $$), ('retain', $$ select effect.retain(10) $$),
    ('forget_events', $$ select effect.forget_events(0, 10) $$),
  ('notified', $$ select effect.notified(array[effect_test.uid('a')], array[1], array[true], array['']) $$),
  ('stat_add', $$ select effect.stat_add(gen_random_uuid(), gen_random_uuid(), 0, 'h', '1', 1, 0, false, '{}', '{}', '{}', '{}', '{}', '{}') $$),
  ('begin_here', $$ select effect.begin_here('default', 'probed', 'here') $$),
  ('register_tools', $$ select effect_test.tool('new') $$);
select effect.allow('postgres', 'default') \gset
begin isolation level repeatable read;
select throws_ok(call, 'ZE001', null, name || ' under repeatable read') from calls order by name;
commit;
begin isolation level serializable;
select throws_ok(call, 'ZE001', null, name || ' under serializable') from calls order by name;
commit;
select is((select count(*) from effect.ledger), 0::bigint, 'nothing was written');
select lives_ok(call, name || ' under read committed') from calls order by name;
select * from finish();
