-- Each invariant of check_invariants is planted, and found under its name; a sound ledger has none.
begin;
select no_plan();
select effect_test.begin(jsonb_agg(effect_test.e(k, 't1')))
  from unnest(array['pending', 'unknown', 'released', 'done', 'two', 'renewed', 'evidence', 'omitted', 'other']) k \gset
select effect_test.begin(effect_test.e('retried', 't1', '{"tool": "again"}')) \gset
select effect_test.unknown(effect_test.e('retried', 't1', '{"tool": "again"}')) \gset
select effect_test.begin(effect_test.e('retried', 't2', '{"tool": "again"}')) \gset
select effect_test.unknown(effect_test.e('unknown', 't1')) \gset
select effect_test.release(jsonb_agg(effect_test.e(k, 't1'))) from unnest(array['released', 'two', 'renewed', 'evidence']) k \gset
select effect_test.complete(effect_test.e('done', 't1', '{"result": "{\"r\":1}"}')) \gset
select effect_test.complete(effect_test.e('omitted', 't1', jsonb_build_object('bytes', 5, 'sha256', repeat('00', 32)))) \gset
select effect_test.begin(jsonb_agg(effect_test.e(k, 't2'))) from unnest(array['two', 'evidence']) k \gset
select effect_test.complete(effect_test.e('evidence', 't1')) \gset
update effect.ledger set keep_until = effect.now(), due_at = effect.now() where key = 'renewed';
select effect_test.begin(effect_test.e('renewed', 't2')) \gset
update effect.ledger set keep_until = effect.now() + interval '30 d' where key = 'renewed';
select effect_test.tool('turns', '{"turn_budget": 3, "business_window": "1h", "on_business_duplicate": "report"}') \gset
select effect_test.begin_guarded(jsonb_agg(effect_test.e('turn ' || i, 't1', '{"tool": "turns", "run": "r", "turn": "1"}')))
  from generate_series(1, 2) i \gset
select is_empty('select * from effect.check_invariants()', 'a sound ledger has none');

-- Plants, looks, undoes. Triggers and constraints are off while planting: this is about the check as a second witness.
create function pg_temp.plant(p_sql text) returns text language plpgsql as $$
declare
  v_found text;
begin
  begin
    execute p_sql;
    v_found := (select string_agg(distinct i.invariant, ',' order by i.invariant) from effect.check_invariants() i);
    raise sqlstate 'ZT000';
  exception
    when sqlstate 'ZT000' then return coalesce(v_found, 'nothing');
    when others then return 'refused: ' || sqlerrm;
  end;
end
$$;
alter table effect.ledger disable trigger ledger_transition;
create temp table plants (invariant text, plant text);
insert into plants values
  ('retried_is_open', $$ update effect.ledger set open_from = claimed_at where key = 'two' $$),
  ('policy_known', $$ update effect.ledger set policy = 42 where key = 'pending' $$),
  ('id_is_of_key', $$ update effect.ledger set key = 'another' where key = 'pending' $$),
  ('token_is_unique',
    $$ update effect.ledger set token = (select token from effect.ledger where key = 'other') where key = 'pending' $$),
  ('former_token_is_replaced',
    $$ insert into effect.event (effect, token, at, attempt, kind) select id, token, effect.now(), 1, 'expired' from effect.ledger where key = 'pending' $$),
  ('grant_wrote_its_predecessor',
    $$ delete from effect.event e using effect.ledger l where l.key = 'two' and e.effect = l.id and e.kind = 'granted' $$),
  ('renewal_wrote_its_predecessor',
    $$ delete from effect.event e using effect.ledger l where l.key = 'renewed' and e.effect = l.id and e.kind = 'expired' $$),
  ('pending_is_due_at_its_lease', $$ update effect.ledger set due_at = due_at + interval '1 s' where key = 'pending' $$),
  ('unknown_is_due_by_its_deadline', $$ update effect.ledger set due_at = deadline_at + interval '1 s' where key = 'unknown' $$),
  ('settled_is_due_by_its_keeping', $$ update effect.ledger set due_at = keep_until + interval '1 s' where key = 'done' $$),
  ('kept_as_long_as_told',
    $$ update effect.ledger set keep_until = done_at - interval '1 s', due_at = done_at - interval '1 s' where key = 'done' $$),
  ('proven_is_not_open_to_run',
    $$ update effect.ledger set evidence = (select evidence from effect.ledger where key = 'evidence') where key = 'released' $$),
  ('forgotten_is_gone', $$ insert into effect.past (id, policy, claimed_at, done_at, forgotten_at, due_at)
    select id, policy, claimed_at, done_at, effect.now(), effect.now() from effect.ledger where key = 'done' $$),
  ('evidence_exists', $$ update effect.ledger set evidence = -1 where key = 'evidence' $$),
  ('result_is_as_its_state_says', $$ update effect.ledger set result = null where key = 'done' $$),
  ('result_is_as_its_state_says', $$ update effect.ledger set result_sha256 = null where key = 'omitted' $$),
  ('result_is_as_long_as_said', $$ update effect.ledger set result_bytes = 8 where key = 'done' $$),
  ('settled_has_no_open_columns', $$ update effect.ledger set since = done_at where key = 'done' $$),
  ('only_done_has_an_outcome', $$ update effect.ledger set outcome = 'succeeded' where key = 'pending' $$),
  ('open_knows_since_when', $$ update effect.ledger set since = null where key = 'evidence' $$),
  ('counts_are_not_negative', $$ update effect.ledger set extra = -1 where key = 'pending' $$),
  ('request_only_while_pending', $$ update effect.ledger set request = gen_random_uuid() where key = 'done' $$),
  ('event_is_of_an_attempt',
    $$ insert into effect.event (effect, at, attempt, kind) select id, effect.now(), 2, 'late' from effect.ledger where key = 'pending' $$),
  ('turn_counts_its_grants', 'update effect.turn set grants = 1'),
  ('turn_counts_are_not_negative', 'update effect.turn set asks = -1'),
  ('turn_is_of_its_names', $$ update effect.turn set id = gen_random_uuid() $$),
  ('business_only_where_guarded', $$ update effect.ledger set business = gen_random_uuid() where key = 'pending' $$),
  ('incident_is_told_to_its_own',
    $$ insert into effect.event (effect, at, attempt, kind, incident, scope, tool, key) select id, effect.now(), 1, 'late', true, 'foreign', 'probed', key from effect.ledger where key = 'pending' $$);
select is(pg_temp.plant(plant), invariant, format('found: %s (%s)', invariant, btrim(plant))) from plants;
-- What the function can name, by its text: an arm that this does not know how to read is as bad as one without a plant.
create temp view named as select m[1] as invariant
  from regexp_matches((select prosrc from pg_proc where oid = 'effect.check_invariants'::regproc), $x$select '(\w+)',$x$, 'g') m;
select is((select count(*) from named), (select count(*) + 1
    from regexp_matches((select prosrc from pg_proc where oid = 'effect.check_invariants'::regproc), $x$\munion\M$x$, 'gi')),
  'each arm of the function names one invariant');
select is((select count(distinct invariant) from named), (select count(*) from named), 'no two the same');
select is_empty('select invariant from named except select invariant from plants', 'each invariant of the function is planted here');
select is_empty('select invariant from plants except select invariant from named', 'and none that it does not have');

-- Whole rows: what is wrong with one is refused by the table or found by the check.
select isnt(pg_temp.plant(format('update effect.ledger set %s where key = %L', change, key)), 'nothing',
  format('%s: %s is refused or found', key, change))
from (values
  ('pending', 'lease_until = null'), ('done', 'lease_until = done_at'), ('unknown', 'ended_at = null'), ('unknown', 'deadline_at = null'),
  ('unknown', 'since = null'), ('evidence', 'since = null'), ('evidence', 'ended_at = null'), ('done', 'done_at = null'),
  ('released', 'done_at = null'), ('done', 'outcome = null'), ('done', 'decided_by = null'), ('done', 'result_state = null'),
  ('done', $$request = '00000000-0000-0000-0000-000000000001'$$), ('unknown', $$boot = '00000000-0000-0000-0000-000000000001'$$),
  ('retried', 'ended_at = null'), ('retried', $$open_from = claimed_at + interval '1 s'$$),
  ('retried', $$state = 'released', lease_until = null, done_at = claimed_at$$), ('done', 'result_bytes = null'), ('pending', 'base = attempt'), ('pending', 'extra = -1')) v(key, change);
-- Transitions that the table of states does not have: the table's trigger refuses them, a second and independent assertion.
alter table effect.ledger enable trigger ledger_transition;
select throws_ok(format('update effect.ledger set %s where key = %L', change, key), 'ZE002', null,
  format('%s: %s is refused', key, change))
from (values
  ('unknown', $$state = 'pending', lease_until = since$$), ('evidence', $$state = 'pending', lease_until = since$$),
  ('evidence', $$state = 'unknown', deadline_at = since$$), ('done', $$state = 'released'$$),
  ('done', $$state = 'pending', lease_until = done_at, done_at = null$$),
  ('done', $$state = 'pending', lease_until = done_at, done_at = null, attempt = 2, token = gen_random_uuid()$$),
  ('done', $$state = 'unknown', since = done_at, ended_at = done_at, deadline_at = done_at, done_at = null$$),
  ('released', $$state = 'unknown', since = done_at, ended_at = done_at, deadline_at = done_at, done_at = null$$),
  ('pending', $$attempt = 2, token = gen_random_uuid()$$), ('two', 'attempt = 1'), ('pending', $$token = gen_random_uuid()$$)) v(key, change);
select is_empty('select * from effect.check_invariants()', 'all of it was undone');
select * from finish();
rollback;
