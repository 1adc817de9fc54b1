-- Which policy begin_here claims under: the one that a daemon told the ledger last, also where it was told before; where none
-- was, that for unknown tools, if the daemons guard them; and which tools it refuses. Who may not act in the namespace learns
-- nothing of any of it.
select no_plan();
create extension if not exists dblink;
select effect.allow('postgres', ns) from unnest(array['default', 'a', 'b']) ns \g /dev/null
create function pg_temp.here(p_ns text, p_tool text, p_key text) returns jsonb
language sql as $$ select jsonb_strip_nulls(to_jsonb(h)) from effect.begin_here(p_ns, p_tool, p_key) h $$;
create function pg_temp.max(p_ns text, p_tool text, p_key text) returns int
language sql as $$ select t.max_attempts from effect.tool t join effect.ledger l on l.policy = t.version where l.id = effect.id(p_ns, p_tool, p_key) $$;
-- told last, not made last
select effect_test.tool('t', '{"max_attempts": 7}') \gset
select effect_test.advance('1s') \gset
select effect_test.tool('t', '{"max_attempts": 8}') \gset
select pg_temp.here('default', 't', '1') ->> 'decision' as d \gset
select is(pg_temp.max('default', 't', '1'), 8, 'the newest');
select effect_test.advance('1s') \gset
select effect_test.tool('t', '{"max_attempts": 7}') \gset
select pg_temp.here('default', 't', '2') ->> 'decision' as d \gset
select is(pg_temp.max('default', 't', '2'), 7, 'one that was told before, and is told again');
select is((select count(*) from effect.tool where name = 't'), 2::bigint, 'which made no new version');
select is(pg_temp.max('default', 't', '1'), 8, 'a row keeps the version it was claimed under');
-- of its own namespace only
select effect_test.tool('t', '{"max_attempts": 9}', 'a') \gset
select pg_temp.here('a', 't', '1') ->> 'decision' as d \gset
select is(pg_temp.max('a', 't', '1'), 9, 'of this namespace');
select throws_ok($$ select effect.begin_here('b', 't', '1') $$, 'ZE008', null, 'of no other');
select throws_ok($$ select effect.begin_here('default', 'never told', '1') $$, 'ZE008', null, 'a tool that no daemon told of');
-- unknown tools, as long as the daemons guard them
select effect_test.advance('1s') \gset
select effect_test.tool('', '{"max_attempts": 5}') \gset
select is(pg_temp.here('default', 'never told', '1') ->> 'decision', 'run', 'guarded');
select is(pg_temp.max('default', 'never told', '1'), 5, 'by the policy for unknown tools');
select is((select t.name || ' ' || (t.policy::jsonb ->> 'name') from effect.tool t join effect.ledger l on l.policy = t.version
  where l.id = effect.id('default', 'never told', '1')), 'never told never told', 'which then has its name');
select is(pg_temp.here('default', 'never told', '2') ->> 'decision', 'run', 'the next one');
select is((select count(*) from effect.tool where name = 'never told'), 1::bigint, 'is by the same version');
select is(pg_temp.max('default', 't', '2'), 7, 'a tool that is known is not touched by it');
select throws_ok($$ select effect.begin_here('b', 'never told', '1') $$, 'ZE008', null, 'in this namespace only');
select effect_test.tool('never told', '{"max_attempts": 6}') \gset
select effect_test.advance('1s') \gset
select effect_test.tool('never told', '{"max_attempts": 6}') \gset
select pg_temp.here('default', 'never told', '3') ->> 'decision' as d \gset
select is(pg_temp.max('default', 'never told', '3'), 6, 'until a daemon has told its own');
select effect.register_tools(array[0], array['default'], array[''], array[null]) \g /dev/null
select throws_ok($$ select effect.begin_here('default', 'never told either', '1') $$, 'ZE008', null, 'refused again');
select is(pg_temp.here('default', 'never told', '4') ->> 'decision', 'run', 'not a tool that was told');
-- a transaction that is open after the first use of an unknown tool holds up no daemon that registers the tool
select effect_test.tool('', '{"max_attempts": 5}') \gset
select effect_test.connect('other') \gset
select dblink_exec('other', 'begin; set local statement_timeout = 2000') \gset
begin;
select pg_temp.here('default', 'fresh', '1') ->> 'decision' as d \gset
select is(effect_test.ask('other', $$ select to_jsonb(h.decision) from effect.begin_here('default', 'fresh', '2') h $$), '"run"', 'another one''s first use goes on meanwhile');
select is(effect_test.ask('other', $$ select to_jsonb(effect_test.tool('fresh')) $$) is not null, true, 'so does a daemon that registers it');
select dblink_exec('other', 'commit') \gset
commit;
-- business keys need args, which nobody has here
select effect_test.tool('business', '{"business_key": ["/order"], "business_window": "1h", "on_business_duplicate": "report"}') \gset
select throws_ok($$ select effect.begin_here('default', 'business', '1') $$, 'ZE008', null, 'a business key cannot be judged');
select is_empty($$ select from effect.ledger where key = '1' and id = effect.id('default', 'business', '1') $$, 'and nothing is claimed');
-- a turn's budget is of no turn here, and no row of a turn is touched
select effect_test.tool('turns', '{"turn_budget": 1, "turn_asks": 1}') \gset
select is(pg_temp.here('default', 'turns', k) ->> 'decision', 'run', 'no turn, no budget of a turn: ' || k) from unnest(array['1', '2']) k;
select is_empty('select from effect.turn', 'no turn is counted');
-- who may not
create role stranger login;
set session authorization stranger;
select throws_ok(format('select effect.begin_here(%L, %L, %L)', ns, tool, key), 'ZE006', null,
  format('a stranger is refused, whatever he asks: %s %s %s', ns, tool, key))
from (values ('default', 't', '1'), ('default', 'no such tool', '1'), ('no such namespace', 't', '1'), ('default', '', ''), (null, 't', '1')) x(ns, tool, key);
select throws_ok($$ select effect.complete_here(gen_random_uuid(), gen_random_uuid()) $$, 'ZE007', null, 'and has nothing to complete');
select throws_ok($$ select effect.may_act('default') $$, '42501', null, 'he calls nothing else');
select throws_ok($$ select * from effect.ledger $$, '42501', null, 'reads nothing');
reset session authorization;
drop role stranger;
select is_empty('select * from effect.check_invariants()', 'the books are right');
select * from finish();
