-- timeouts: how long claims take against leases and against the time-outs of callers: what is too short is found, with what
-- would do, and nothing else.
begin;
select no_plan();
select effect_test.set_now('2030-01-02 00:00:00+00') \gset
select count(effect_test.tool(t, jsonb_build_object('lease', l))) from (values ('fine', '60s'), ('short', '10s'), ('held', '10s'),
  ('hasty', '10m'), ('errors', '10m'), ('lost', '10m'), ('few', '1s'), ('near', '10s')) x(t, l) \gset
-- fine: 1,000 of half a second
select effect_test.stat('2030-01-01 10:00+00', 'default', 'fine', '{"run": 1000, "completed": 990, "failed": 10}', 500) \gset
-- short: 3 in 100 take 40 s, the lease is 10 s, and they lapse; an older policy's lease would have done
select effect_test.stat('2030-01-01 10:00+00', 'default', 'short', '{"completed": 970}', 800),
  effect_test.stat('2030-01-01 10:00+00', 'default', 'short', '{"completed": 30, "late": 20}', 40000),
  effect_test.stat('2030-01-01 10:00+00', 'default', 'short', '{"lapsed": 30}', 10000) \gset
-- held: as long, but extended in time
select effect_test.stat('2030-01-01 10:00+00', 'default', 'held', '{"completed": 1000}', 40000) \gset
-- near: p99 lies in the place of the lease, and nothing lapses: nobody can say
select effect_test.stat('2030-01-01 10:00+00', 'default', 'near', '{"completed": 1000}', 9000) \gset
-- hasty: the caller gives up after 5 s, 4 in 100 take longer
select effect_test.stat('2030-01-01 10:00+00', 'default', 'hasty', '{"completed": 960}', 2000),
  effect_test.stat('2030-01-01 10:00+00', 'default', 'hasty', '{"gave_up": 40}', 5000) \gset
-- errors: as many were given up, but for lost connections, at any time
select effect_test.stat('2030-01-01 10:00+00', 'default', 'errors', '{"completed": 960}', 2000),
  effect_test.stat('2030-01-01 10:00+00', 'default', 'errors', '{"gave_up": 10}', 30),
  effect_test.stat('2030-01-01 10:00+00', 'default', 'errors', '{"gave_up": 30}', 5000) \gset
-- lost: 3 in 100 answers never came, and 99 in 100 of the others within a second: patience would not help
select effect_test.stat('2030-01-01 10:00+00', 'default', 'lost', '{"completed": 970}', 800),
  effect_test.stat('2030-01-01 10:00+00', 'default', 'lost', '{"gave_up": 30}', 20000) \gset
-- few: nineteen tell nothing
select effect_test.stat('2030-01-01 10:00+00', 'default', 'few', '{"completed": 19, "late": 19, "lapsed": 19}', 30000) \gset
-- of a tool without a policy
select effect_test.stat('2030-01-01 10:00+00', 'other', 'gone', '{"completed": 100, "lapsed": 50}', 30000) \gset
create temp view report as select effect_test.report('timeouts') as j;
select is(effect_test.found(j), 'hasty client_timeout_below_p99 warning, short lease_below_p99 warning, held lease_below_p99 advice',
  'what is too short, what matters most first, and nothing else') from report;
select is(j -> 'n', '9', 'a row for each tool') from report;
select is(effect_test.only(effect_test.report_row(j, 'short'), 'n', 'lease_ms', 'lapsed', 'late', 'gave_up', 'gave_up_p50_ms'),
  '{"n": 1000, "lease_ms": 10000, "lapsed": 30, "late": 20, "gave_up": 0, "gave_up_p50_ms": null}', 'its numbers') from report;
select ok((effect_test.report_row(j, 'short') ->> 'p50_ms')::int between 512 and 1024
  and (effect_test.report_row(j, 'short') ->> 'p99_ms')::int between 32768 and 65536, 'quantiles lie in their place') from report;
select is(effect_test.report_row(j, 'gone') -> 'lease_ms', 'null', 'without a policy there is no lease') from report;
select ok((effect_test.report_row(j, 'hasty') ->> 'gave_up_p50_ms')::int between 4096 and 8192, 'when callers give up') from report;
select matches(j #>> '{findings,1,text}',
  '^its p99 from claim to outcome is [0-9.]+ s of 1000, and the lease is 10 s: 30 lapsed, 20 came late; "lease": "2m" would do$',
  'a lease that would do, as a policy spells it') from report;
select matches(j #>> '{findings,0,text}', '^40 of 1000 calls were given up after [0-9.]+ s, .* 15s would do$', 'and a time-out') from report;
-- the lease is that of the version told last
select effect_test.advance('1 s'), effect_test.tool('short', '{"lease": "5m"}') \gset
select is(effect_test.report_row(j, 'short') -> 'lease_ms', '300000', 'the policy in force is the one told last') from report;
select is(effect_test.found(j), 'hasty client_timeout_below_p99 warning, held lease_below_p99 advice', 'and with it all is well') from report;
select effect_test.advance('1 s'), effect_test.tool('short', '{"lease": "10s"}') \gset
select is(effect_test.report_row(j, 'short') -> 'lease_ms', '10000', 'also where an older version is told again') from report;
-- whose it is
select is(effect_test.report('timeouts', 'other') -> 'n', '1', 'a namespace sees its own');
select is(effect_test.report('timeouts', 'other') -> 'findings', '[]', 'and its own findings');
select is(effect_test.report('timeouts', 'none') -> 'n', '0', 'another sees nothing');
select is(effect_test.report('timeouts', p_from => '2030-01-01 10:01+00') -> 'n', '0', 'what is not in the window is not there');
select * from finish();
rollback;
