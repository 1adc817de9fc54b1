-- Nothing that a row's policy calls secret is stored before somebody redacted it by that very version (case 141).
begin;
select no_plan();
select version as v1 from effect_test.tool where name = 'secret' \gset
select effect_test.begin(effect_test.e('a', 't1', '{"tool": "secret"}')) \gset
select is(effect_test.complete(effect_test.e('a', 't1',
  '{"tool": "secret", "result": "{\"iban\":\"DE1\"}"}')) - 'attempt' - 'state' - 'shape',
  jsonb_build_object('answer', 'policy', 'policy', :v1, 'result_secret', '["/iban"]'),
    'nobody looked: told which policy to look by');
select is(effect_test.row('a', 'secret') ->> 'state', 'pending', 'nothing is recorded yet');
select effect_test.tool('secret', '{"result_secret": ["/x"]}') as v2 \gset
select is(effect_test.complete(effect_test.e('a', 't1',
  jsonb_build_object('tool', 'secret', 'result', '{"iban":"DE1"}', 'policy', :v2))) ->> 'answer', 'policy',
  'redacted by another version');
select is(effect_test.complete(effect_test.e('a', 't1',
  jsonb_build_object('tool', 'secret', 'result', '{"iban":"[secret]"}', 'policy', :v1, 'redacted', true))) ->> 'answer', 'ok',
  'redacted by its own');
select is(effect_test.only(effect_test.row('a', 'secret'), 'result', 'result_state'),
  '{"result": "{\"iban\":\"[secret]\"}", "result_state": "redacted"}', 'stored as redacted');
select is(effect_test.complete(effect_test.e('a', 't1',
  jsonb_build_object('tool', 'secret', 'result', '{"iban":"[secret]"}', 'policy', :v1, 'redacted', true))) ->> 'already', 'true',
  'sent again: already');
-- in every other way a result may come
select effect_test.begin(effect_test.e('b', 't1', jsonb_build_object('tool', 'secret', 'policy', :v1))) \gset
select is(effect_test.complete(effect_test.e('b', 't1',
  '{"tool": "secret", "outcome": "error", "result": "{\"iban\":\"DE1\"}"}')) ->> 'answer', 'policy', 'a tool''s own error');
select is(effect_test.complete(effect_test.e('b', 'nobody',
  '{"tool": "secret", "result": "{\"iban\":\"DE1\"}"}')) ->> 'answer' in ('policy', 'not_owner'), true, 'an orphan');
select effect_test.unknown(effect_test.e('b', 't1', '{"tool": "secret"}')) \gset
select is(effect_test.resolve('{"key": "b", "tool": "secret", "verdict": "landed", "result": "{\"iban\":\"DE1\"}"}') ->> 'answer',
  'policy', 'an operator''s result');
select is(effect_test.resolve(jsonb_build_object('key', 'b', 'tool', 'secret', 'verdict', 'landed', 'result',
  '{"iban":"[secret]"}', 'policy', :v1, 'redacted', true)) ->> 'answer', 'ok', 'redacted');
select is(effect_test.row('b', 'secret') ->> 'result_state', 'redacted', 'and marked so');
-- a complete without a result needs nobody to look
select effect_test.begin(effect_test.e('c', 't1', jsonb_build_object('tool', 'secret', 'policy', :v1))) \gset
select is(effect_test.complete(effect_test.e('c', 't1', '{"tool": "secret", "outcome": "failed"}')) ->> 'answer', 'ok',
  'nothing to redact');
select effect_test.begin(effect_test.e('gone', 't1', jsonb_build_object('tool', 'secret', 'policy', :v1))) \gset
delete from effect.ledger where key = 'gone';
select effect_test.complete(effect_test.e('gone', 't1', '{"tool": "secret", "result": "{\"iban\":\"DE1\"}"}')) \gset
select is((select e.result is null and e.result_bytes = 14 and e.result_sha256 = sha256('{"iban":"DE1"}') from effect.event e
  where e.effect = effect.id('default', 'secret', 'gone')),
  true, 'of a row that is gone nobody knows what is secret: size and hash are kept');
select is((select count(*) from effect.event e where e.result like '%DE1%' or e.reason like '%DE1%'), 0::bigint,
  'the secret is in no event');
select is((select count(*) from effect.ledger l where l::text like '%DE1%'), 0::bigint, 'and in no row');
select is((select jsonb_agg(x) from effect.policy_of(array[effect.id('default', 'secret', 'a'), effect_test.uid('none')]) x),
  jsonb_build_array(jsonb_build_object('ord', 1, 'answer', 'ok', 'policy', :v1, 'result_secret', '["/iban"]'),
    jsonb_build_object('ord', 2, 'answer', 'not_found', 'policy', null, 'result_secret', null)),
      'policy_of tells the row''s version and pointers');
select * from finish();
rollback;
