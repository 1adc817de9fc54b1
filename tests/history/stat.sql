-- What daemons would have counted of the background, added to what was told of the planted, as effect.stat has it: by the minute
-- for two days, by the hour before that. Then the events are brought into the order of time, in which they would have been written.
create temp view counted as
select r.first as at, r.tool, 'run' as decision, 1 + floor(-2 * ln(1 - pg_temp.u(r.i, 30)))::bigint as ms from row r
union all
select r.claimed, r.tool, 'run', 1 from row r where r.attempt = 2
union all
select r.settled, r.tool, case r.fate when 'failed' then 'failed' else 'completed' end, r.took::bigint
from row r where r.fate in ('ok', 'failed', 'late', 'retold', 'absent')
union all
select r.settled, r.tool, 'late', r.took::bigint from row r where r.fate = 'late'
union all
select r.first + pg_temp.s(r.lease_ms), r.tool, 'lapsed', r.lease_ms from row r where r.fate = 'late'
union all
select r.first + pg_temp.s(r.took), r.tool, 'released', r.took::bigint from row r where r.fate in ('released', 'retold')
union all
select r.first + r.gave_up, r.tool, 'gave_up', floor(extract(epoch from r.gave_up) * 1000)::bigint
from row r where r.fate in ('landed', 'absent', 'person')
union all
select r.settled, r.tool, 'resolved_caller', (r.took - r.lease_ms)::bigint from row r where r.fate = 'late'
union all
select r.settled - case r.fate when 'absent' then pg_temp.s(r.took + 1000) else interval '0' end, r.tool,
  case r.fate when 'person' then 'resolved_operator' else 'resolved_probe' end,
  greatest(extract(epoch from r.settled - r.first - r.gave_up) * 1000, 0)::bigint
from row r where r.fate in ('landed', 'absent', 'person')
union all
select r.settled, r.tool, 'probe_landed', (20 + 200 * pg_temp.u(r.i, 31))::bigint from row r where r.fate = 'landed'
union all
select r.settled - pg_temp.s(r.took), r.tool, 'probe_absent', (20 + 200 * pg_temp.u(r.i, 31))::bigint
from row r, generate_series(1, 2) where r.fate = 'absent'
union all
select r.settled - (r.settled - r.first) * 0.5, r.tool, 'escalated_effect', 60000 from row r where r.fate = 'person'
union all
select r.first + r.gave_up + interval '1 second', r.tool, 'unknown', 1 from row r where r.fate in ('landed', 'absent') and r.i % 8 = 0
union all
select r.first + pg_temp.s(r.took * 0.5), r.tool, 'busy', 1 from row r join habit h on h.n = r.tool where pg_temp.u(r.i, 8) < h.busy
union all
select least(r.settled + interval '1 minute', :'end'), r.tool, 'mismatch', 1
from row r join habit h on h.n = r.tool where pg_temp.u(r.i, 9) < h.mismatch
union all
-- the repeats of what is done: transport retries within seconds, resumed runs within 20 minutes, and some much later
select a.at, a.tool, c.decision, case c.decision when 'replay' then 1 else a.age_ms end::bigint
from (
  select r.settled + pg_temp.s(p.age_ms) as at, r.tool, p.age_ms, h.keep_result_ms
  from row r join habit h on h.n = r.tool
    cross join lateral (select case
      when pg_temp.u(r.i, 10) < h.far then h.keep_key_ms * h.far_part * pg_temp.u(r.i, 11)
      when pg_temp.u(r.i, 10) < 0.3 then 120000 + 1080000 * pg_temp.u(r.i, 11)
      else 200 + 8000 * pg_temp.u(r.i, 11) end as age_ms) as p
  where r.fate <> 'released' and pg_temp.u(r.i, 7) < h.replays * case when h.rises and r.first > :'end'::timestamptz - interval '3 days' then 5 else 1 end
) as a
  cross join lateral (values ('replay'), ('replay_age'), (case when a.age_ms > a.keep_result_ms then 'expired' end)) as c(decision)
where c.decision is not null and a.at < :'end'
union all
select :'end'::timestamptz - pg_temp.s(86400000.0 * :days * pg_temp.u(g, 12)), 12, 'pass', 1 from generate_series(1, :n / 20) g
union all
select t.at, t.tool, t.decision, t.ms from told t;

insert into effect.stat (minute, namespace, tool, decision, n, ms_log2)
select c.slot, h.namespace, h.name, c.decision, sum(c.n),
  array[:places]::bigint[]
from (
  select case when at < :'end'::timestamptz - interval '48 hours' then date_trunc('hour', at) else date_trunc('minute', at) end as slot,
    tool, decision, case when ms < 1 then 1 else least(floor(ln(ms + 0.5) / ln(2))::int + 2, 40) end as place, count(*) as n
  from counted
  group by 1, 2, 3, 4
) as c join habit h on h.n = c.tool
group by 1, 2, 3, 4;

-- Two daemons that counted it, each started anew every ten days, and stopped in order.
insert into effect.daemon (boot, instance, started_at, seen_at, ended_at, flush_no, host, version, policies)
select md5(:seed || 'boot' || d || '/' || b)::uuid, md5(:seed || 'instance' || d)::uuid, at, at + interval '10 days', at + interval '10 days', 86400,
  'host-' || d, '0.1.0', (select array_agg(t.version) from effect.tool t)
from generate_series(1, 2) d, generate_series(0, 2) b
  cross join lateral (select :'end'::timestamptz - interval '10 days' * (3 - b) as at) t;

-- ids in the order of time, and what stands on them
create temp table ordered as
select row_number() over (order by e.at, e.id) + 0 as new_id, e.* from effect.event e;
update effect.ledger l set evidence = o.new_id from ordered o where l.evidence = o.id;
truncate effect.event;
insert into effect.event overriding system value
select new_id, effect, token, at, attempt, incident, kind, decided_by, outcome, reason, detail, evidence, result, result_bytes,
  result_sha256, scope, tool, key
from ordered order by new_id;
select setval(pg_get_serial_sequence('effect.event', 'id'), (select max(new_id) from ordered)) \gset

create or replace function effect.now() returns timestamptz
language sql volatile parallel safe
as $$ select pg_catalog.clock_timestamp() $$;
analyze effect.ledger, effect.event, effect.stat, effect.turn, effect.past;
