-- escalated: all that people have been asked about, the longest waiting first, each a warning; incidents: each that was noted in
-- the window.
begin;
select no_plan();
select effect_test.tool('human', '{"probe": null, "on_unknown": "human", "escalate_after": "1s"}', 'other') \gset
select is(effect_test.finds('escalated'), null, 'nobody was asked: nothing');
select effect_test.begin(jsonb_agg(effect_test.e(k, 't1', '{"owner": "worker", "run": "r1"}'))) from unnest(array['first', 'second', 'done']) k \gset
select effect_test.complete(effect_test.e('done', 't1')), effect_test.unknown(effect_test.e('first', 't1')) \gset
select effect_test.advance('10 s'), effect_test.sweep() \gset
select effect_test.verdict('{"key": "first", "verdict": "inconclusive", "reason": "HTTP 500"}'), effect_test.unknown(effect_test.e('second', 't1')) \gset
select is(effect_test.finds('escalated'), null, 'unknown is not escalated');
select effect_test.advance('15 min'), effect_test.sweep(p_probes => 0) \gset
select effect_test.advance('3 h 5 min') \gset
select is(effect_test.finds('escalated'), 'probed escalated, probed escalated', 'each is a warning');
select is((effect_test.told('escalated') #> '{findings,0}') - 'effect' - 'report' - 'namespace' - 'tool', jsonb_build_object('code', 'escalated', 'level', 'warning',
  'text', 'nobody could tell whether attempt 1 landed, and people have been asked for 3 h 5 min; no notice was sent',
  'next', format('effectctl explain %s', effect.id('default', 'probed', 'first'))), 'in words, and what to type');
select is(effect_test.only(effect_test.told('escalated') #> '{rows,0}', 'key', 'since_at', 'age_ms', 'owner', 'run', 'last_probe', 'last_probe_at', 'reason', 'notices', 'notice_taken'),
  '{"key": "first", "since_at": "2030-01-01T00:15:10.000Z", "age_ms": 11100000, "owner": "worker", "run": "r1", "last_probe": "inconclusive: HTTP 500",
    "last_probe_at": "2030-01-01T00:00:10.000Z", "reason": "no probe could tell by the deadline", "notices": 0, "notice_taken": false}', 'what is known of it');
-- notices
select effect_test.sweep(p_notify => true) \gset
select effect.notified(array[effect.id('default', 'probed', 'first')], '{1}', '{t}', '{null}'),
  effect.notified(array[effect.id('default', 'probed', 'second')], '{1}', '{f}', '{null}') \gset
select is(effect_test.cells(effect_test.told('escalated'), 'key', 'notices', 'notice_taken'), '[["first", 1, true], ["second", 1, false]]', 'was the notice taken?');
select effect_test.advance('2 h'), effect_test.sweep(p_notify => true) \gset
select is(effect_test.cells(effect_test.told('escalated'), 'key', 'notices', 'notice_taken'), '[["first", 2, true], ["second", 1, false]]',
  'a reminder that was not taken yet unsays no notice that was');
select is(jsonb_agg(substring(f ->> 'text' from '; (.*)')), '["a notice was taken", "no notice was taken"]', 'also in words')
  from jsonb_array_elements(effect_test.told('escalated') -> 'findings') f;
-- an earlier attempt is proven to have landed
select effect_test.begin(effect_test.e('twice', 't1')), effect_test.release(effect_test.e('twice', 't1')), effect_test.begin(effect_test.e('twice', 't2')),
  effect_test.complete(effect_test.e('twice', 't1', '{"result": "7"}')) \gset
select is((f ->> 'text') || ' | ' || (f ->> 'next'), 'an earlier attempt than 2 is proven to have landed, and people have been asked for 0 ms; no notice was sent | effectctl resolve '
    || effect.id('default', 'probed', 'twice') || ' --attempt 2 --state escalated --verdict landed --reason', 'what is proven leaves one verdict')
  from jsonb_array_elements(effect_test.told('escalated') -> 'findings') f where f ->> 'effect' = effect.id('default', 'probed', 'twice')::text;
select effect_test.resolve('{"key": "first", "verdict": "absent"}') \gset
select is(effect_test.cells(effect_test.told('escalated'), 'key'), '[["second"], ["twice"]]', 'what was decided is told no more');
-- whose
select effect_test.begin(effect_test.e('theirs', 't1', '{"ns": "other", "tool": "human"}')), effect_test.unknown(effect_test.e('theirs', 't1', '{"ns": "other", "tool": "human"}')) \gset
select effect_test.advance('2 s'), effect_test.sweep() \gset
select is(effect_test.cells(effect_test.told('escalated', '{"scope": "other"}'), 'key', 'reason'), '[["theirs", "the policy asks people"]]', 'a namespace sees its own');
select is(effect_test.cells(effect_test.told('escalated', '{"scope": "default", "ns": "other"}'), 'key'), '[]', 'and none that it names');
select is(effect_test.cells(effect_test.told('escalated', '{"tool": "human"}'), 'key'), '[["theirs"]]', 'of one tool');
select is(effect_test.told('escalated', '{"limit": 1}') -> 'n', '3', 'a limit cuts rows, not what there is of them');

-- incidents
create function pg_temp.incidents(p_with jsonb default '{}') returns jsonb language sql as $$
  select effect_test.cells(effect_test.told('incidents', p_with), 'key', 'kind') $$;
delete from effect.event where incident;
select effect_test.set_now('2030-01-02 00:00:00+00') \gset
select effect_test.begin(effect_test.e('a', 't1')), effect_test.complete(effect_test.e('a', 't1', '{"result": "1"}')), effect_test.complete(effect_test.e('a', 't1', '{"result": "2"}')) \gset
select effect_test.advance('10 min') \gset
select effect_test.complete(effect_test.e('nobody''s', 't1', '{"scope": "default,other"}')) \gset
select effect_test.advance('10 min') \gset
select effect_test.begin(effect_test.e('b', 't1')), effect_test.release(effect_test.e('b', 't1')), effect_test.complete(effect_test.e('b', 't1')) \gset
select is(pg_temp.incidents('{"to": "2030-01-03T00:00:00Z"}'), '[["b", "late"], [null, "orphan"], ["a", "late"]]', 'all of the window, the newest first');
select is(pg_temp.incidents('{"from": "2030-01-02T00:00:00Z", "to": "2030-01-02T00:10:00Z"}'), '[["a", "late"]]', 'from its beginning on, until before its end');
select is(pg_temp.incidents('{"from": "2030-01-02T00:01:00Z", "to": "2030-01-02T00:20:00.001Z"}'), '[["b", "late"], [null, "orphan"]]', 'or the others');
select is(jsonb_agg(jsonb_build_array(f -> 'code', f -> 'level', f -> 'text', f -> 'next')), jsonb_build_array(
  jsonb_build_array('incident', 'warning', 'against what stands: reported after the release', 'effectctl explain ' || effect.id('default', 'probed', 'b')),
  jsonb_build_array('incident', 'warning', 'of an effect that nobody knows: ' || (select reason from effect.event where kind = 'orphan'), 'effectctl list --incidents'),
  jsonb_build_array('incident', 'warning', 'against what stands: another outcome stands', 'effectctl explain ' || effect.id('default', 'probed', 'a'))), 'each is a warning')
  from jsonb_array_elements(effect_test.told('incidents', '{"to": "2030-01-03T00:00:00Z"}') -> 'findings') f;
select is(effect_test.only(effect_test.told('incidents', '{"to": "2030-01-03T00:00:00Z"}') #> '{rows,0}', 'state', 'noted_at', 'attempt', 'by', 'outcome', 'reason'),
  '{"state": "done", "noted_at": "2030-01-02T00:20:00.000Z", "attempt": 1, "by": "caller", "outcome": "succeeded", "reason": "reported after the release"}', 'what is known of it');
select is(pg_temp.incidents('{"scope": "default", "to": "2030-01-03T00:00:00Z"}'), '[["b", "late"], ["a", "late"]]', 'an orphan is told to who may act wherever its sender may');
select is(pg_temp.incidents('{"scope": "other", "to": "2030-01-03T00:00:00Z"}'), '[]', 'and none to a stranger');
select is(pg_temp.incidents('{"tool": "probed", "limit": 1, "to": "2030-01-03T00:00:00Z"}'), '[["b", "late"]]', 'of one tool, no more than asked');
select is(effect_test.told('incidents', '{"tool": "probed", "limit": 1, "to": "2030-01-03T00:00:00Z"}') -> 'n', '2', 'with what there is of them');
-- a bypass has no row: nothing could explain it
select i.answer from effect.incident(array[effect_test.uid('re_9')], array[null], array['other'], array['a tool'], array['re_9'], array['bypassed: nobody asked'], array[null], array['uid:7']) i \gset
select is(effect_test.only(effect_test.told('incidents', '{"scope": "other", "to": "2030-01-03T00:00:00Z"}') #> '{findings,0}', 'text', 'next'), jsonb_build_object(
  'text', 'against the provider''s own list: bypassed: nobody asked', 'next', 'effectctl list --incidents --namespace other --tool ''a tool'''), 'found at the provider, without a row');
select * from finish();
rollback;
