-- A caller sees and touches its own namespaces only; another's effect is not_found (cases 39, 141).
begin;
select no_plan();
select effect_test.tool('t', '{}', 'a') \gset
select effect_test.tool('t', '{}', 'b') \gset
select effect_test.tool('t', '{}', 'ab') \gset
create function pg_temp.e(p_ns text, p_more jsonb default '{}') returns jsonb language sql as $$
  select effect_test.e('1', 't1', jsonb_build_object('ns', p_ns, 'tool', 't') || p_more) $$;
select is((select jsonb_agg(x -> 'answer') from jsonb_array_elements(effect_test.begin(jsonb_build_array(
    pg_temp.e('a', jsonb_build_object('token', effect_test.uid('ta'))),
      pg_temp.e('b', jsonb_build_object('token', effect_test.uid('tb'), 'fp', 'other'))))) x),
  '["run", "run"]', 'one key in two namespaces is two rows');
select effect_test.row('1', 't', 'a') as before \gset
select is(f.told ->> 'answer', 'not_found', f.name || ' from another namespace') from (values
  ('get', effect_test.get(pg_temp.e('a', '{"scope": "b"}'))),
  ('complete',
    effect_test.complete(pg_temp.e('a', jsonb_build_object('scope', 'b', 'token', effect_test.uid('ta'), 'result', '"stolen"')))),
  ('release', effect_test.release(pg_temp.e('a', jsonb_build_object('scope', 'b', 'token', effect_test.uid('ta'))))),
  ('unknown', effect_test.unknown(pg_temp.e('a', jsonb_build_object('scope', 'b', 'token', effect_test.uid('ta'))))),
  ('extend', effect_test.extend(pg_temp.e('a', jsonb_build_object('scope', 'b', 'token', effect_test.uid('ta'))))),
  ('resolve', effect_test.resolve(pg_temp.e('a', '{"scope": "b", "verdict": "landed"}'))),
  ('an empty scope''s get', effect_test.get(pg_temp.e('a', '{"scope": ""}'))),
  ('a scope that only begins alike', effect_test.get(pg_temp.e('a', '{"scope": "ab"}')))) f(name, told);
select is(effect_test.row('1', 't', 'a'), :'before'::jsonb, 'nothing was changed');
select is(effect_test.complete(pg_temp.e('a', jsonb_build_object('scope', 'b', 'token', effect_test.uid('ta')))) - 'shape',
  '{"answer": "not_found"}', 'nothing is told of it');
select is(effect_test.get(pg_temp.e('a', '{"scope": "b,a"}')) ->> 'answer', 'ok', 'a scope of several namespaces');
select is((select jsonb_agg(x -> 'answer') from jsonb_array_elements(effect_test.complete(jsonb_build_array(
    pg_temp.e('b', jsonb_build_object('scope', 'b', 'token', effect_test.uid('tb'))),
      pg_temp.e('a', jsonb_build_object('scope', 'b', 'token', effect_test.uid('ta')))))) x),
  '["ok", "not_found"]', 'each entry of a batch has its own scope');
select is(effect_test.begin(pg_temp.e('a')) ->> 'answer', 'busy', 'the other namespace''s result replays nowhere else');
select is((select string_agg(l.namespace, ',') from effect.list('b', null, null, null, null, null, 100, null, null) l), 'b',
  'list shows the scope''s');
select is((select count(*) from effect.list('b', null, null, 'a', null, null, 100, null, null) l), 0::bigint,
  'also when asked for another');
select is((select count(*) from effect.list('', null, null, null, null, null, 100, null, null) l), 0::bigint,
  'an empty scope shows nothing');
select is((select count(*) from effect.list(null, null, null, null, null, null, 100, null, null) l), 2::bigint,
  'no limit shows all');
select * from finish();
rollback;
