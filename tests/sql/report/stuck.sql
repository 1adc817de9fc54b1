-- stuck: open effects that do not move as they should, each for its reason, and nothing of those that do.
begin;
select no_plan();
select effect_test.tool('held', '{"lease": "60s"}') \gset
select effect_test.tool('it''s', '{}', 'other') \gset
create function pg_temp.found(p_with jsonb default '{}') returns jsonb language sql as $$
  select coalesce(jsonb_agg(jsonb_build_array((r ->> 'key'), f ->> 'code') order by f ->> 'code', r ->> 'key'), '[]')
  from effect_test.told('stuck', p_with) s, jsonb_array_elements(s -> 'findings') f, jsonb_array_elements(s -> 'rows') r
  where r -> 'effect' = f -> 'effect' $$;
create function pg_temp.keys(p_with jsonb default '{}') returns jsonb language sql as $$
  select coalesce(jsonb_agg(r -> 'key' order by r ->> 'key'), '[]') from jsonb_array_elements(effect_test.told('stuck', p_with) -> 'rows') r $$;

select is(effect_test.told('stuck') - 'columns' - 'from' - 'to', '{"name": "stuck", "rows": [], "n": 0, "findings": []}', 'of nothing: nothing');
-- those that move
select effect_test.begin(jsonb_agg(effect_test.e(k, 't1'))) from unnest(array['done', 'failed', 'released', 'pending', 'fresh', 'asked']) k \gset
select effect_test.complete(effect_test.e('done', 't1')), effect_test.complete(effect_test.e('failed', 't1', '{"outcome": "failed"}')) \gset
select effect_test.release(effect_test.e('released', 't1')) \gset
select effect_test.begin(effect_test.e('escalated', 't1', '{"tool": "bare"}')) \gset
select effect_test.unknown(effect_test.e('escalated', 't1', '{"tool": "bare"}')) \gset
select effect_test.advance('31 s'), effect_test.sweep() \gset
select effect_test.unknown(effect_test.e('fresh', 't1', '{"owner": "worker 1"}')) \gset
select is(pg_temp.keys(), '["fresh"]', 'unknown ones are told: what is done, given back, claimed or with people is not');
select is(pg_temp.found(), '[]', 'and a fresh one needs nobody');
select is(effect_test.only(effect_test.told('stuck') #> '{rows,0}', 'namespace', 'tool', 'state', 'attempt', 'age_ms', 'next_step',
    'since_at', 'next_probe_at', 'escalates_at', 'last_probe', 'claimed_at', 'owner'),
  '{"namespace": "default", "tool": "probed", "state": "unknown", "attempt": 1, "age_ms": 0, "next_step": "probe", "since_at": "2030-01-01T00:00:31.000Z",
    "next_probe_at": "2030-01-01T00:00:31.000Z", "escalates_at": "2030-01-01T00:15:31.000Z", "claimed_at": "2030-01-01T00:00:00.000Z"}',
  'what is known of it');

-- a probe that cannot tell, three times
select effect_test.begin(effect_test.e('mute', 't1', '{"owner": "worker 1", "run": "run 7"}')), effect_test.begin(effect_test.e('absent once', 't1')) \gset
select effect_test.unknown(effect_test.e('mute', 't1')), effect_test.unknown(effect_test.e('absent once', 't1')) \gset
do $$ begin
  for i in 1 .. 3 loop
    perform effect_test.advance('40 s'), effect_test.sweep();
    perform effect_test.verdict('{"key": "mute", "verdict": "inconclusive", "reason": "HTTP 503"}');
    perform effect_test.verdict(jsonb_build_object('key', 'absent once', 'verdict', case i when 2 then 'absent' else 'inconclusive' end));
    perform effect_test.verdict('{"key": "fresh", "verdict": "absent", "reason": "no such refund"}');
  end loop;
end $$;
select is(pg_temp.keys(), '["absent once", "asked", "mute", "pending"]', 'what was absent often enough is given back; leases ended');
select is(pg_temp.found(), '[["mute", "probe_never_answered"]]', 'three probes and no word');
select is(effect_test.only(r, 'last_probe', 'last_probe_at', 'next_step', 'owner', 'run', 'age_ms'),
    '{"last_probe": "inconclusive: HTTP 503", "last_probe_at": "2030-01-01T00:02:31.000Z", "next_step": "probe", "owner": "worker 1", "run": "run 7", "age_ms": 120000}',
    'what the last one said, and when') from jsonb_array_elements(effect_test.told('stuck') -> 'rows') r where r ->> 'key' = 'mute';
select is((effect_test.told('stuck') #> '{findings,0}') - 'effect', '{"report": "stuck", "code": "probe_never_answered", "level": "warning",
  "namespace": "default", "tool": "probed", "text": "3 probes, and none could tell"}'::jsonb
  || jsonb_build_object('next', 'effectctl tools probe probed --effect ' || effect.id('default', 'probed', 'mute')), 'and what to type');

-- half of the way to people
create temp table t0 as select effect.now() as at;
select effect_test.sweep() \gset
select effect_test.set_now('2030-01-01 00:00:31+00'::timestamptz + interval '7 min 29.9 s') \gset
update effect.ledger set due_at = effect.now() + interval '1 s' where state = 'unknown';
select is(pg_temp.found(), '[["mute", "probe_never_answered"]]', 'a moment before half of the way to people');
select effect_test.advance('0.1 s') \gset
select is(pg_temp.found(), '[["mute", "probe_never_answered"], ["absent once", "unknown_old"], ["mute", "unknown_old"]]', 'half of the way');
select is(effect_test.told('stuck') #>> '{findings,0,text}', 'nobody has known for 7 min whether attempt 1 landed; people are asked in 7 min', 'in words');
select effect_test.tool('patient', '{"escalate_after": "30d"}') \gset
select effect_test.begin(effect_test.e('p', 't1', '{"tool": "patient"}')), effect_test.unknown(effect_test.e('p', 't1', '{"tool": "patient"}')) \gset
select effect_test.advance('23 h 59 min') \gset
update effect.ledger set due_at = effect.now() + interval '1 s' where state = 'unknown' and deadline_at > effect.now();
select is(effect_test.finds('stuck', '{"tool": "patient"}'), null, 'of a patient tool: a day');
select effect_test.advance('1 min') \gset
update effect.ledger set due_at = effect.now() + interval '1 s' where state = 'unknown' and deadline_at > effect.now();
select is(effect_test.finds('stuck', '{"tool": "patient"}'), 'patient unknown_old', 'and no longer');
delete from effect.ledger where done_at is null and state <> 'escalated';

-- nobody sweeps
select effect_test.begin(jsonb_agg(effect_test.e(k, 't1'))) from unnest(array['lapsed', 'probe due', 'deadline', 'taken']) k \gset
select effect_test.unknown(jsonb_agg(effect_test.e(k, 't1'))) from unnest(array['probe due', 'deadline', 'taken']) k \gset
update effect.ledger set deadline_at = due_at where key = 'deadline';
update effect.ledger set due_at = effect.now() + interval '10 min' where key = 'taken';
select effect_test.advance('70 s') \gset
select is(pg_temp.keys(), '["deadline", "lapsed", "probe due", "taken"]', 'a lease that is over is told');
select is(pg_temp.found(), '[["deadline", "unknown_old"]]', 'a minute and its probe''s time-out are nothing yet');
select effect_test.advance('1 s') \gset
select is(pg_temp.found(), '[["deadline", "not_swept"], ["probe due", "not_swept"], ["deadline", "unknown_old"]]', 'more of it is');
select effect_test.advance('50 s') \gset
select is(pg_temp.found(), '[["deadline", "not_swept"], ["lapsed", "not_swept"], ["probe due", "not_swept"], ["deadline", "unknown_old"]]',
  'also of a lease, a minute after its end');
select is(jsonb_agg(r -> 'next_step' order by r ->> 'key'), '["sweep", "sweep", "sweep", "probe"]', 'only a sweep helps')
  from jsonb_array_elements(effect_test.told('stuck') -> 'rows') r;
select is(jsonb_agg(distinct f -> 'text'), '["its lease ended 1 min ago and nobody swept it: is a daemon running?",
  "its probe has been due for 2 min: no daemon sweeps, or all of them leave its provider alone",
  "people should have been asked 2 min ago and nobody swept it: is a daemon running?"]', 'each in its words')
  from jsonb_array_elements(effect_test.told('stuck') -> 'findings') f where f ->> 'code' = 'not_swept';
select effect_test.sweep() \gset
select is(effect_test.finds('stuck'), null, 'a sweep helps');
delete from effect.ledger where done_at is null and state <> 'escalated';

-- claims that are held long
select effect_test.begin(jsonb_agg(effect_test.e(k, 't1', jsonb_build_object('tool', t)))) from unnest(array['long', 'not extended', 'short']) k, unnest(array['held', 'probed']) t \gset
select effect_test.advance('50 s') \gset
select effect_test.extend(jsonb_agg(effect_test.e(k, 't1', jsonb_build_object('tool', t, 'lease_ms', 3600000)))) from unnest(array['long']) k, unnest(array['held', 'probed']) t \gset
insert into effect.stat (minute, namespace, tool, decision, n, ms_log2)
select effect.now() - interval '29 d', 'default', t, 'completed', n, array_fill(0::bigint, array[14]) || n::bigint from (values ('held', 20), ('probed', 19)) v(t, n);
-- 20 of less than 2^14 ms: eight times that is 131 s
select effect_test.advance('80 s') \gset
delete from effect.ledger where key in ('not extended', 'short');
select effect_test.begin(effect_test.e('short', 't1', '{"tool": "held", "lease_ms": 3600000}')), effect_test.extend(effect_test.e('short', 't1', '{"tool": "held", "lease_ms": 3600000}')) \gset
select is(pg_temp.keys(), '[]', 'held for eight times its p99: not yet');
select effect_test.advance('2 s') \gset
select is(pg_temp.found(), '[["long", "held_long"]]', 'longer: told, where it is known from 20 calls how long they take');
select is(effect_test.told('stuck') #>> '{findings,0,text}', 'held for 2 min, and its tool takes 16 s (p99)', 'in words');
select is(effect_test.cells(effect_test.told('stuck'), 'state', 'next_step', 'age_ms'), '[["pending", "holder", 132000]]', 'its holder has the word');
delete from effect.ledger where done_at is null;

-- whose it is; hostile names; limit
select effect_test.begin(effect_test.e(E'k\'"; rm -rf ~ \u202e', 't1', '{"ns": "other", "tool": "it''s"}')),
  effect_test.begin(effect_test.e('mine', 't1')) \gset
select effect_test.unknown(effect_test.e(E'k\'"; rm -rf ~ \u202e', 't1', '{"ns": "other", "tool": "it''s"}')), effect_test.unknown(effect_test.e('mine', 't1')) \gset
select is(pg_temp.keys('{"scope": "default"}'), '["mine"]', 'a namespace sees its own');
select is(pg_temp.keys('{"scope": "default", "ns": "other"}'), '[]', 'and none that it names');
select is(pg_temp.keys('{"ns": "other"}'), to_jsonb(array[E'k\'"; rm -rf ~ \u202e']), 'names are as they were given');
select is(pg_temp.keys('{"tool": "probed"}'), '["mine"]', 'of one tool');
insert into effect.event (effect, at, attempt, kind, decided_by, reason)
select id, effect.now(), 1, 'probe', 'probe', 'inconclusive' from effect.ledger l, generate_series(1, 3) where state = 'unknown';
select is(effect_test.told('stuck', '{"ns": "other"}') #>> '{findings,0,next}',
  'effectctl tools probe ''it''"''"''s'' --effect ' || effect.id('other', 'it''s', E'k\'"; rm -rf ~ \u202e'), 'what is to be typed is quoted');
select is(jsonb_array_length(r -> 'rows') || ' of ' || (r ->> 'n') || ', ' || jsonb_array_length(r -> 'findings'), '1 of 2, 2', 'a limit cuts rows, not findings')
  from effect_test.told('stuck', '{"limit": 1}') r;
select * from finish();
rollback;
