-- A result comes back byte for byte; its text or size never decides whether the outcome is recorded.
begin;
select no_plan();
create function pg_temp.round_trip(p_key text, p_more jsonb, p_tool text default 'probed') returns jsonb language sql as $$
  select effect_test.begin(effect_test.e(p_key, 't1', jsonb_build_object('tool', p_tool)));
  select effect_test.complete(effect_test.e(p_key, 't1', jsonb_build_object('tool', p_tool)) || p_more);
  select effect_test.only(effect_test.begin(effect_test.e(p_key, 't2', jsonb_build_object('tool', p_tool))), 'answer', 'outcome',
    'result',
    'result_state', 'result_bytes', 'result_sha256');
$$;
create table pg_temp.samples (name text, result text);
insert into samples values
  ('member order, number spelling, escapes (case 25)', '{"b":1.0,"a":1e2,"c":"\u003c"}'),
  ('an escaped NUL (case 111)', '{"out":"a\u0000b"}'),
  ('half a surrogate pair (case 111)', '{"out":"\ud800"}'),
  ('duplicate members', '{"a":1,"a":2}'),
  ('an integer past 2^53', '{"amount":9007199254740993,"n":1e400}'),
  ('white space', E'{ "a" :\t1 }'),
  ('not ASCII', '{"memo":"Grüße 😀"}'),
  ('a string', '"x"'), ('false', 'false'), ('zero', '0'), ('an empty string', '""'), ('an empty object', '{}'),
  ('backslashes and quotes', '{"a":"\\\"\\\\","b":"''"}'),
  ('deep nesting', repeat('[', 5000) || repeat(']', 5000)),
  ('65,536 bytes, the limit (case 114)', '"' || repeat('x', 65534) || '"');
select is(pg_temp.round_trip(name, jsonb_build_object('result', result)),
  jsonb_build_object('answer', 'replay', 'outcome', 'succeeded', 'result', result, 'result_state', 'kept', 'result_bytes',
    octet_length(result)),
  'verbatim: ' || name) from samples;
select is(pg_temp.round_trip('none', '{}') -> 'result_state', '"kept"', 'no result is the result null');
select is(pg_temp.round_trip('null', '{"result": "null"}') ->> 'result', 'null', 'null is kept as null');

-- one byte over the limit: recorded, omitted, with size and hash (case 114)
select is(pg_temp.round_trip('over', jsonb_build_object('result', '"' || repeat('x', 65535) || '"')),
  jsonb_build_object('answer', 'replay', 'outcome', 'succeeded', 'result_state', 'omitted', 'result_bytes', 65537,
    'result_sha256', '\x' || encode(sha256(convert_to('"' || repeat('x', 65535) || '"', 'UTF8')), 'hex')),
      'over the limit: omitted, size and hash kept');
select is(effect_test.row('over') ->> 'state', 'done', 'and done all the same');
select is(pg_temp.round_trip('bytes', '{"result": "\"äöüß\""}', 'small') ->> 'result_state', 'kept',
  'the limit counts bytes: ten are kept');
select is(pg_temp.round_trip('bytes2', '{"result": "\"äöüßx\""}', 'small') ->> 'result_state', 'omitted', 'eleven are not');
-- omitted by the caller
select is(pg_temp.round_trip('omitted', jsonb_build_object('bytes', 5000000, 'sha256', repeat('ab', 32))),
  jsonb_build_object('answer', 'replay', 'outcome', 'succeeded', 'result_state', 'omitted', 'result_bytes', 5000000,
    'result_sha256', '\x' || repeat('ab', 32)),
  'a result the caller kept to itself: its size and hash as told');
-- keep_result 0s: size and hash only
select is(pg_temp.round_trip('nokeep', '{"result": "{\"iban\":1}"}', 'nokeep'),
  jsonb_build_object('answer', 'replay', 'outcome', 'succeeded', 'result_state', 'omitted', 'result_bytes', 10,
    'result_sha256', '\x' || encode(sha256('{"iban":1}'), 'hex')), 'keep_result 0s: size and hash only');
select is(effect_test.row('nokeep', 'nokeep') -> 'result', null, 'the text is not in the row');
-- redacted by the caller
select is(pg_temp.round_trip('redacted', jsonb_build_object('result', '{"iban":"[secret]"}', 'redacted', true,
    'policy', (select version from effect_test.tool where name = 'secret')), 'secret') - 'result_bytes',
  '{"answer": "replay", "outcome": "succeeded", "result": "{\"iban\":\"[secret]\"}", "result_state": "redacted"}',
    'a redacted result says so');
-- failures have results, too
select is(pg_temp.round_trip('failed', '{"outcome": "failed", "result": "{\"code\":402}"}') - 'result_bytes',
  '{"answer": "replay", "outcome": "failed", "result": "{\"code\":402}", "result_state": "kept"}', 'a failure keeps its result');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
