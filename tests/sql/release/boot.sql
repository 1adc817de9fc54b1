-- release: a daemon's `not told` that was held up on its way does not touch what a later boot has told since.
begin;
select no_plan();
create function pg_temp.not_told(p_boot integer) returns text language sql as $$
  select concat_ws(' ', r.answer, r.state) from effect.release(array[effect_test.id_of(effect_test.e('a', 't1'))],
    array[effect_test.uid('a t1')], array[null::text], array['nobody was told'], array[true], effect_test.boot(p_boot)) r
$$;
select is(effect_test.begin(effect_test.e('a', 't1') || jsonb_build_object('request', effect_test.uid('r'), 'boot',
  effect_test.boot(1))) ->> 'answer', 'run', 'granted by the first boot');
select is(effect_test.begin(effect_test.e('a', 't2') || jsonb_build_object('request', effect_test.uid('r'), 'boot',
  effect_test.boot(2))) ->> 'answer', 'run', 'told again by the second');
select is(pg_temp.not_told(1), 'not_owner pending', 'the first boot''s late word changes nothing');
select is(effect_test.row('a') ->> 'state', 'pending', 'the claim stands');
select is(pg_temp.not_told(2), 'ok released', 'its own boot may release it');
-- nor does it when the lease of what was told since is over: its holder may have called
delete from effect.ledger;
select is(effect_test.begin(effect_test.e('a', 't1') || jsonb_build_object('request', effect_test.uid('r'), 'boot',
  effect_test.boot(1))) ->> 'answer', 'run', 'granted by the first boot');
select is(effect_test.begin(effect_test.e('a', 't2') || jsonb_build_object('request', effect_test.uid('r'), 'boot',
  effect_test.boot(2))) ->> 'answer', 'run', 'told again by the second');
select effect_test.advance('61 s') \gset
select effect_test.sweep() \gset
select is(pg_temp.not_told(1), 'not_owner unknown', 'the late word does not release what lapsed since');
select is(effect_test.begin(effect_test.e('a', 't3')) ->> 'answer', 'unknown', 'and nobody runs it');
select * from finish();
rollback;
