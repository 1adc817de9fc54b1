-- incident: noted once, about an effect or about what no effect stands for; to those whose it is; and no state changes.
begin;
select no_plan();
create function pg_temp.note(p_key text, p_reason text, p_evidence text default null, p_scope text default null) returns text language sql as $$
  select i.answer || coalesce(' ' || i.already, '')
  from effect.incident(array[effect.id('default', 'probed', p_key)], array[p_scope], array[null], array[null], array[null], array[p_reason],
    array[p_evidence], array['uid:7']) i $$;
create function pg_temp.refer(p_reference text, p_reason text, p_scope text default null, p_namespace text default 'default') returns text language sql as $$
  select i.answer || coalesce(' ' || i.already, '')
  from effect.incident(array[effect_test.uid(p_reference)], array[p_scope], array[p_namespace], array['probed'], array[p_reference], array[p_reason],
    array[null], array['uid:7']) i $$;
create function pg_temp.incidents(p_scope text default null) returns jsonb language sql as $$
  select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(i)) - 'id' - 'at' - 'effect' order by i.id), '[]')
  from effect.incidents(p_scope, null, null, null, 100, null, null) i $$;
select effect_test.begin(effect_test.e('k', 't1')) \gset
select effect_test.row('k') as before \gset
select is(pg_temp.note('k', 'missing_at_provider: x', 'e'), 'ok false', 'it is noted');
select is(pg_temp.note('k', 'missing_at_provider: x', 'e'), 'ok true', 'once');
select is(pg_temp.note('k', 'missing_at_provider: x', 'f'), 'ok false', 'other evidence is another one');
select is(pg_temp.note('k', 'missing_at_provider: x'), 'ok false', 'and none');
select is(pg_temp.note('k', 'missing_at_provider: x'), 'ok true', 'is noted once, too');
select is(pg_temp.note('k', 'differs: x', 'e'), 'ok false', 'so is another class');
select is(pg_temp.incidents() -> 0, '{"namespace": "default", "tool": "probed", "key": "k", "state": "pending", "attempt": 1, "kind": "reconcile",
  "decided_by": "uid:7", "reason": "missing_at_provider: x"}', 'it says of whom, and by whom');
select is(jsonb_array_length(pg_temp.incidents()), 4, 'four in all');
select is(effect_test.row('k'), :'before'::jsonb, 'the effect is as it was');
select is((effect.events(effect.id('default', 'probed', 'k'), 'default', null, 1)::jsonb -> 0) - 'at',
  '{"by": "uid:7", "kind": "reconcile", "reason": "differs: x", "attempt": 1, "evidence": "e", "incident": true}', 'and its history tells it');
select is(pg_temp.note('nobody', 'x'), 'not_found', 'of an effect that is known');
select is(pg_temp.note('k', 'x', null, 'other'), 'not_found', 'and within one''s scope');
-- in one batch, the same twice
select is((select string_agg(i.answer || ' ' || i.already, ',' order by i.ord)
  from effect.incident(array_fill(effect.id('default', 'probed', 'k'), array[2]), array[null, null], array[null, null], array[null, null],
    array[null, null], array['twice', 'twice'], array[null, null], array['uid:7', 'uid:7']) i), 'ok false,ok true', 'twice in a batch is once');
-- of what there is no effect
select is(pg_temp.refer('re_1', 'bypassed: x'), 'ok false', 'the provider''s reference will do');
select is(pg_temp.refer('re_1', 'bypassed: x'), 'ok true', 'once');
select is(pg_temp.refer('re_2', 'bypassed: x'), 'ok false', 'each of them');
select is(pg_temp.incidents() -> -1, '{"namespace": "default", "tool": "probed", "key": "re_2", "kind": "reconcile", "decided_by": "uid:7",
  "reason": "bypassed: x"}', 'with the reference as its key, and no state');
select is(jsonb_array_length(pg_temp.incidents()), 7, 'seven in all');
select is(jsonb_array_length(pg_temp.incidents('other')), 0, 'others are not told');
select is(pg_temp.refer('re_3', 'x', 'other', 'default'), 'not_found', 'nor may they note any');
-- of a row that is gone
select effect_test.begin(effect_test.e('gone', 't1')) \gset
select effect_test.release(effect_test.e('gone', 't1')) \gset
select effect_test.advance('31 d') \gset
select effect.retain(100) \gset
select is(pg_temp.note('gone', 'x'), 'ok false', 'of a row that is gone, by its history');
select is(pg_temp.incidents() -> -1 ->> 'attempt', null, 'of no attempt');
select is((select count(*) from effect.check_invariants()), 0::bigint, 'the books are right');
select * from finish();
rollback;
