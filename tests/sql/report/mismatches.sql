-- mismatches: where calls of one key differ, by tool and by what differs.
begin;
select no_plan();
select effect_test.tool('pay', '{"keep_key": "60s", "keep_result": "0s"}'), effect_test.tool('pay', '{}', 'other') \gset
-- a call and another one of the same key; the window ends after it
create function pg_temp.differ(p_key text, p_kept text, p_other text, p_more jsonb default '{}') returns void language plpgsql as $$
begin
  perform effect_test.begin(effect_test.e(p_key, 't1', jsonb_build_object('tool', 'pay', 'kept', p_kept) || p_more));
  perform effect_test.begin(effect_test.e(p_key, 't2', jsonb_build_object('tool', 'pay', 'kept', p_other, 'fp', 'other', 'run', 'run of ' || p_key) || p_more));
end
$$;
create function pg_temp.report(p_with jsonb default '{}') returns jsonb language sql as $$
  select effect_test.told('mismatches', jsonb_build_object('to', effect.now() + interval '1 s') || p_with) $$;
select is(effect_test.cells(pg_temp.report(), 'fields'), '[]', 'of nothing: nothing');
select effect_test.set_now('2030-01-01 12:00:00+00') \gset
-- other refusals are none
select effect_test.begin(effect_test.e('u', 't1', '{"tool": "pay"}')), effect_test.unknown(effect_test.e('u', 't1', '{"tool": "pay"}')),
  effect_test.begin(effect_test.e('u', 't2', '{"tool": "pay"}')) \gset
select is(effect_test.cells(pg_temp.report(), 'fields'), '[]', 'what was refused for another reason is none');
select pg_temp.differ('a', '{"/amount":1,"/memo":"x"}', '{"/amount":2,"/memo":"x"}'), pg_temp.differ('b', '{"/amount":1,"/memo":"x"}', '{"/amount":2,"/memo":"y"}'),
  effect_test.advance('10 min'), pg_temp.differ('c', '{"/amount":5}', '{"/amount":7}'), pg_temp.differ('d', null, null) \gset
select is(effect_test.cells(pg_temp.report(), 'tool', 'fields', 'n', 'effects', 'key', 'run'),
  '[["pay", "/amount", 2, 2, "c", "run of c"], ["pay", "/amount, /memo", 1, 1, "b", "run of b"], ["pay", null, 1, 1, "d", "run of d"]]',
  'by what differs, the most effects first, with the newest as an example');
select is(effect_test.only(pg_temp.report() #> '{rows,0}', 'namespace', 'first_at', 'last_at', 'effect'), jsonb_build_object('namespace', 'default',
  'first_at', '2030-01-01T12:00:00.000Z', 'last_at', '2030-01-01T12:10:00.000Z', 'effect', effect.id('default', 'pay', 'c')), 'from when to when');
select is(effect_test.finds('mismatches', '{"to": "2030-01-01T12:20:00Z"}'), null, 'two effects are no finding');
-- the same effect over and over is one effect
select effect_test.advance('61 s'), pg_temp.differ('a', null, '{"/amount":3,"/memo":"x"}'), effect_test.advance('61 s'), pg_temp.differ('a', null, '{"/amount":4,"/memo":"x"}') \gset
select is(effect_test.cells(pg_temp.report(), 'fields', 'n', 'effects'), '[["/amount", 4, 2], ["/amount, /memo", 1, 1], [null, 1, 1]]', 'one effect over and over is one');
select is(effect_test.finds('mismatches', '{"to": "2030-01-01T12:20:00Z"}'), null, 'and no finding');
select effect_test.advance('1 s'), pg_temp.differ('e', '{"/amount":5}', '{"/amount":7}') \gset
select is(effect_test.finds('mismatches', '{"to": "2030-01-01T12:20:00Z"}'), 'pay mismatch_field', 'three effects are one');
select is((pg_temp.report() #> '{findings,0}') - 'effect' - 'report' - 'namespace' - 'tool', jsonb_build_object('code', 'mismatch_field', 'level', 'warning',
  'text', 'calls of 3 effects differ from the first in /amount: the key lacks it, or it says nothing of the effect and belongs into `ignore`',
  'next', 'effectctl explain ' || effect.id('default', 'pay', 'e')), 'in words, and what to type');
select pg_temp.differ('f', '{}', '{}'), pg_temp.differ('g', '{}', '{}') \gset
select is(pg_temp.report() #>> '{findings,1,text}', 'calls of 3 effects differ from the first in what the policy does not keep: let it keep what they may differ in',
  'where nothing is kept, that is what is said');
-- of how many
insert into effect.stat (minute, namespace, tool, decision, n) values ('2030-01-01 12:00:00+00', 'default', 'pay', 'run', 601), ('2030-01-01 12:00:00+00', 'default', 'pay', 'busy', 9999);
select is(effect_test.cells(pg_temp.report(), 'fields', 'effects_rate') -> 0, '["/amount", 0.005]', 'a share of what ran');
select is(effect_test.finds('mismatches', '{"to": "2030-01-01T12:20:00Z"}'), 'pay mismatch_field, pay mismatch_field', 'five in a thousand are found');
update effect.stat set n = 700 where decision = 'run';
select is(effect_test.finds('mismatches', '{"to": "2030-01-01T12:20:00Z"}'), null, 'less is nothing');
update effect.stat set n = 19 where decision = 'run';
select is(jsonb_build_array(effect_test.cells(pg_temp.report(), 'effects_rate') #> '{0,0}', effect_test.finds('mismatches', '{"to": "2030-01-01T12:20:00Z"}')),
  '[null, "pay mismatch_field, pay mismatch_field"]', 'of fewer than 20 there is no share');
-- the window
select is(effect_test.cells(pg_temp.report('{"from": "2030-01-01T12:10:00Z", "to": "2030-01-01T12:12:02Z"}'), 'fields', 'n'), '[["/amount", 2], [null, 1]]', 'from its beginning on, until before its end');
-- forgotten: the history knows whose it was
select effect_test.complete(effect_test.e('a', 't1', '{"tool": "pay"}')), effect_test.complete(effect_test.e('c', 't1', '{"tool": "pay"}')), effect_test.advance('61 s'), effect.retain(100) \gset
select is(effect_test.row('c', 'pay'), null, 'a row is gone');
select is(effect_test.cells(pg_temp.report(), 'fields', 'effects'), '[["/amount", 3], [null, 3], ["/amount, /memo", 1]]', 'and its mismatch is told');
-- whose
select pg_temp.differ(E'\'"; rm -rf ~ \u202e', '{"/x":1}', '{"/x":2}', '{"ns": "other"}') \gset
select is(effect_test.cells(pg_temp.report('{"scope": "other"}'), 'fields', 'key'), jsonb_build_array(jsonb_build_array('/x', E'\'"; rm -rf ~ \u202e')), 'a namespace sees its own, keys as they were given');
select is(effect_test.cells(pg_temp.report('{"scope": "other", "ns": "default"}'), 'fields'), '[]', 'and none that it names');
select is(pg_temp.report('{"scope": "default", "limit": 1}') -> 'n', '3', 'a limit cuts rows, not what there is of them');
select is(pg_temp.report('{"tool": "other"}') -> 'n', '0', 'of one tool');
select is(position('12.5' in pg_temp.report()::text), 0, 'no value is told');
select * from finish();
rollback;
