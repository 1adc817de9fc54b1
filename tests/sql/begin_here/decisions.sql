-- begin_here decides as begin does, state by state, with what belongs to each decision; then the words it takes.
select no_plan();
select effect.allow('postgres', 'default') \gset
create function pg_temp.here(p_key text, p_tool text default 'probed', p_fp text default 'args') returns jsonb
language sql as $$
  select jsonb_strip_nulls(to_jsonb(h)) from effect.begin_here('default', p_tool, p_key,
    case when p_fp <> 'null' then replace(effect_test.uid(p_fp)::text, '-', '') end) h
$$;
select effect_test.tool('reads', '{"class": "read"}'); select effect_test.tool('sets', '{"class": "overwrite"}');
select effect_test.tool('unique', '{"class": "natural"}'); select effect_test.tool('adds', '{"class": "accumulate"}');
-- run
select pg_temp.here('new') as h \gset
select is(:'h'::jsonb ->> 'decision', 'run', 'a new key runs');
select is((select array_agg(k order by k) from jsonb_object_keys(:'h'::jsonb) k),
  array['attempt', 'claimed_at', 'decision', 'effect', 'lease_until', 'owner', 'protected_until', 'state', 'token'], 'the members of run');
select is(:'h'::jsonb ->> 'effect', effect.id('default', 'probed', 'new')::text, 'its id is that of the wire');
select is((:'h'::jsonb ->> 'attempt')::int, 1, 'its attempt');
select is(effect_test.row('new') ->> 'owner', 'postgres', 'others see which role has it');
select is((effect_test.row('new') ->> 'lease_until')::timestamptz, effect.now() + interval '60s', 'the lease is the policy''s');
select is(effect_test.row('new') ->> 'request', null, 'no request');
select is(pg_temp.here('adds', 'adds') ->> 'decision', 'run', 'so does a tool that accumulates');
-- the others: what begin answers of one key, begin_here answers of another in the same state
create table cases (name text, setup text, tool text, answer text, advance interval, members text);
insert into cases values
  ('pending', null, 'probed', 'busy', '0', 'attempt claimed_at lease_until owner'),
  ('lapsed', null, 'probed', 'unknown', '61s', 'attempt since'),
  ('unknown', 'unknown', 'probed', 'unknown', '0', 'attempt next_probe_at since'),
  ('escalated', 'escalated', 'bare', 'escalated', '0', 'attempt since'),
  ('released', 'release', 'probed', 'run', '0', 'attempt lease_until token'),
  ('spent', 'release', 'once', 'exhausted', '0', 'budget budget_max'),
  ('done', 'complete', 'probed', 'replay', '0', 'decided_by done_at outcome protected_until result result_bytes result_state'),
  ('failed', 'failed', 'probed', 'replay', '0', 'decided_by done_at outcome protected_until result result_bytes result_state'),
  ('omitted', 'complete', 'small', 'replay', '0', 'decided_by done_at outcome protected_until result_bytes result_sha256 result_state'),
  ('dropped', 'complete', 'probed', 'replay', '25h', 'decided_by done_at outcome protected_until result_bytes result_state'),
  ('forgotten', 'complete', 'probed', 'run', '31 days', 'attempt lease_until token'),
  ('retry', null, 'again', 'run', '61s', 'attempt lease_until since token'),
  ('retry spent', 'unknown', 'againonce', 'run', '0', 'attempt lease_until since token');
create function pg_temp.made(p_name text, p_key text) returns void language plpgsql as $$
declare
  v_case cases;
  v_e jsonb;
begin
  select * into v_case from cases where name = p_name;
  v_e := effect_test.e(p_key, 't', jsonb_build_object('tool', v_case.tool, 'owner', 'o', 'result', '{"a":  1e2, "b":"\u0000"}',
    'outcome', coalesce(case v_case.setup when 'failed' then 'failed' end, 'succeeded')));
  perform effect_test.begin(v_e);
  if v_case.setup in ('unknown', 'escalated') then
    perform effect_test.unknown(v_e);
  elsif v_case.setup = 'release' then
    perform effect_test.release(v_e);
  elsif v_case.setup is not null then
    perform effect_test.complete(v_e);
  end if;
  if v_case.setup = 'escalated' then
    perform effect_test.advance('31s');
    perform effect_test.sweep();
  end if;
end
$$;
create function pg_temp.both(p_name text, out wire jsonb, out here jsonb, out other text, out after text, out after_wire text) language plpgsql as $$
declare
  v_tool text := (select tool from cases where name = p_name);
begin
  perform pg_temp.made(p_name, p_name || ' wire');
  perform pg_temp.made(p_name, p_name || ' here');
  perform effect_test.advance((select advance from cases where name = p_name));
  wire := effect_test.begin(effect_test.e(p_name || ' wire', 't2', jsonb_build_object('tool', v_tool)));
  here := pg_temp.here(p_name || ' here', v_tool);
  other := pg_temp.here(p_name || ' here', v_tool, 'other args') ->> 'decision';
  after := effect_test.row(p_name || ' here', v_tool) ->> 'state';
  after_wire := effect_test.row(p_name || ' wire', v_tool) ->> 'state';
end
$$;
create table told (name text, answer text, members text, wire jsonb, here jsonb, other text, after text, after_wire text);
do $$ declare v cases; begin
  for v in select * from cases loop
    insert into told select v.name, v.answer, v.members, b.* from pg_temp.both(v.name) b;
  end loop;
end $$;
select is(wire ->> 'answer', answer, name || ': begin says ' || answer) from told;
select is(here ->> 'decision', answer, name || ': so does begin_here') from told;
select is(here ?& string_to_array(members, ' '), true, name || ': with what belongs to it') from told;
select is(here ->> 'token' is not null, answer = 'run', name || ': a token with run, and only then') from told;
select is(effect_test.only(here, 'attempt', 'outcome', 'decided_by', 'result', 'result_state', 'result_bytes', 'budget', 'budget_max'),
  effect_test.only(wire, 'attempt', 'outcome', 'decided_by', 'result', 'result_state', 'result_bytes', 'budget', 'budget_max'),
  name || ': the same as begin''s') from told;
select is(after, case name when 'lapsed' then 'pending' else after_wire end, name || ': and what becomes of the row') from told;
select is(other, 'mismatch', name || ': a mismatch, with other args, before all else') from told;
select is(here ->> 'since', here ->> 'lease_until', 'a lease that is over is only read, and told as unknown since then')
from told where name = 'lapsed';
-- what needs no claim
select is(pg_temp.here('p', t), jsonb_build_object('decision', 'pass'), t || ' needs no claim') from unnest(array['reads', 'sets', 'unique']) t;
select is_empty($$ select from effect.ledger where key = 'p' $$, 'and leaves no row');
-- no fingerprint is as good as another
select is(pg_temp.here('bare fp', p_fp => 'null') ->> 'decision', 'run', 'without a fingerprint');
select is(pg_temp.here('bare fp', p_fp => 'null') ->> 'decision', 'busy', 'again without: the same call');
select is(pg_temp.here('bare fp') ->> 'decision', 'mismatch', 'with one: another');
select is(pg_temp.here('with fp') ->> 'decision', 'run', 'with one');
select is(pg_temp.here('with fp', p_fp => 'null') ->> 'decision', 'mismatch', 'without where there is one: another');
select is(effect_test.begin(effect_test.e('bare fp', 't2')) ->> 'answer', 'mismatch', 'and so over the wire');
-- words
select throws_ok(format('select effect.begin_here(%L, %L, %L, %L)', 'default', tool, key, fp), code, null, why)
from (values ('', 'k', null, 'ZE003', 'no tool'), (repeat('t', 129), 'k', null, 'ZE003', 'a tool too long'),
  (E't\u0001', 'k', null, 'ZE003', 'a control character in a tool'), (null, 'k', null, 'ZE003', 'null for a tool'),
  ('probed', '', null, 'ZE003', 'no key'), ('probed', repeat(U&'\00e9', 128), null, 'ZE003', 'a key too long'),
  ('probed', E'k\n', null, 'ZE003', 'a control character in a key'), ('probed', U&'k\0085', null, 'ZE003', 'one beyond ASCII'),
  ('probed', null, null, 'ZE003', 'null for a key'), ('probed', 'k', 'abc', '22P02', 'no fingerprint')) x(tool, key, fp, code, why);
select is(pg_temp.here(repeat(U&'\00e9', 127) || 'x') ->> 'decision', 'run', 'the longest key');
select is(effect.check_here('default', repeat('t', 128), 'k')::text, '', 'the longest tool');
select is_empty('select * from effect.check_invariants()', 'the books are right');
select * from finish();
