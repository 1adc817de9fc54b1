-- Who is told of an incident: who may act in its namespace; of one that nobody knows whose it is, who may act wherever its
-- sender could. Fail-closed: never a foreign namespace.
begin;
select no_plan();
delete from effect.tool where result_secret is not null;
select max(effect_test.tool('t', '{}', ns)) from unnest(array['a', 'b', 'ab']) ns \gset
create function pg_temp.e(p_ns text, p_key text, p_token text, p_more jsonb default '{}') returns jsonb language sql as $$
  select effect_test.e(p_key, p_token, jsonb_build_object('ns', p_ns, 'tool', 't', 'scope', p_ns) || p_more) $$;
-- what those of a scope see: 'namespace key kind', and a question mark for what is not known
create function pg_temp.seen(p_scope text, p_namespace text default null) returns text language sql as $$
  select coalesce(string_agg(concat_ws(' ', coalesce(i.namespace, '?'), coalesce(i.key, '?'), i.kind), ', ' order by i.id), '-')
  from effect.incidents(p_scope, null, p_namespace, null, 100, null, null) i $$;
select count(effect_test.begin(pg_temp.e(ns, 'k', 't1'))) from unnest(array['a', 'b']) ns \gset
select effect_test.complete(pg_temp.e('a', 'k', 'nobody')) \gset
select is(array[pg_temp.seen('a'), pg_temp.seen('b'), pg_temp.seen('b,a'), pg_temp.seen(null), pg_temp.seen(''), pg_temp.seen('ab')],
  array['a k orphan', '-', 'a k orphan', 'a k orphan', '-', '-'], 'an incident is told in its own namespace only');
select is(pg_temp.seen('b', 'a'), '-', 'also to those who ask for it');
-- a row that is gone, without a history
select effect_test.complete(pg_temp.e('b', 'k', 't1')) \gset
select effect_test.advance('31 d') \gset
select effect.retain(100), effect.retain(100) \gset
select is(effect_test.complete(pg_temp.e('b', 'k', 't1')) ->> 'answer', 'not_found', 'a complete for what is gone');
select is(array[pg_temp.seen('b'), pg_temp.seen('a'), pg_temp.seen('a,b')],
  array['b ? orphan', 'a k orphan', 'a k orphan, b ? orphan'], 'is told where its sender may act, and nowhere else');
-- a sender of several namespaces: only who may act in all of them
select effect_test.complete(pg_temp.e('a', 'never', 't1', '{"scope": "a,b"}')) \gset
select is(array[pg_temp.seen('a'), pg_temp.seen('b'), pg_temp.seen('ab,b'), pg_temp.seen('b,a')],
  array['a k orphan', 'b ? orphan', 'b ? orphan', 'a k orphan, b ? orphan, ? ? orphan'],
  'one whose sender had two namespaces: who has both');
-- a sender without limit (psql): nobody with one
select effect_test.complete(effect_test.e('by hand', 't1', '{"ns": "a", "tool": "t"}')) \gset
select is(array[pg_temp.seen('a,b,ab,default'), pg_temp.seen(null)],
  array['a k orphan, b ? orphan, ? ? orphan', 'a k orphan, b ? orphan, ? ? orphan, ? ? orphan'],
  'one without a scope: only who has no limit');
-- history knows whose it was, and tells it only to a sender who may act there
select effect_test.begin(pg_temp.e('a', 'past', 't1')) \gset
select effect_test.release(pg_temp.e('a', 'past', 't1')) \gset
select effect_test.advance('31 d') \gset
select effect.retain(100) \gset
select is(effect_test.row('past', 't', 'a'), null, 'a released row is gone');
select effect_test.complete(pg_temp.e('a', 'past', 't1', '{"scope": "a"}')) \gset
select effect_test.complete(pg_temp.e('a', 'past', 't1', '{"scope": "b", "result": "\"from b\""}')) \gset
select is(array[(select i.key from effect.incidents('a', null, null, null, 1, null, null) i),
    (select coalesce(i.key, i.namespace || ' without a name') from effect.incidents('b', null, null, null, 1, null, null) i)],
  array['past', 'b without a name'], 'to its own by its name; to another''s sender as one of nobody''s');
-- what an outsider sent for an id is no part of the history of the effect that comes to be there
select effect_test.begin(pg_temp.e('a', 'past', 't2')) \gset
select is((select string_agg(e ->> 'kind', ',') from jsonb_array_elements((effect_test.get(pg_temp.e('a', 'past', 't2')) ->> 'events')::jsonb) e),
  'released,expired,orphan', 'the history of an effect has its own orphan, and not that of an outsider');
select ok(effect_test.get(pg_temp.e('a', 'past', 't2'))::text not like '%from b%', 'nor what he brought');
-- nobody's flood crowds out what another namespace has to say
select count(effect_test.complete(pg_temp.e('b', 'flood ' || i, 't1'))) from generate_series(1, 200) i \gset
select is((select count(*) from effect.event e where e.kind = 'orphan' and e.at = effect.now() and e.scope = 'b'), 60::bigint,
  'a flood of orphans is cut at 60 a minute');
select effect_test.complete(pg_temp.e('a', 'no flood', 't1')) \gset
select is((select count(*) from effect.event e where e.effect = effect.id('a', 't', 'no flood')), 1::bigint,
  'and that of one namespace leaves room for the others');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
