-- The background: :n effects over :days days up to :'end', of which nothing is wrong but what habits.py says of a whole tool.
-- All chance is u(), a hash of the seed, the effect's number and what is drawn.
set work_mem = '128MB';
set jit = off;
set synchronous_commit = off;
set max_parallel_workers_per_gather = 0;
select set_config('history.now', :'end', false) \gset

create function pg_temp.u(i bigint, what int) returns float8 language sql immutable parallel safe
return (hashint8extended(i, :seed::bigint * 1000 + what) & 4503599627370495) / 4503599627370496.0::float8;

-- Normal, and by it lognormal with a median.
create function pg_temp.around(med float8, sd float8, i bigint, what int) returns float8 language sql immutable parallel safe
return med * exp(sd * sqrt(-2 * ln(1 - pg_temp.u(i, what))) * cos(2 * pi() * pg_temp.u(i, what + 500)));

create function pg_temp.s(ms float8) returns interval language sql immutable parallel safe
return ms * interval '1 millisecond';

-- claimed: the first attempt. took: from the newest claim to its completion. fate: what became of it.
create temp table e as
select d.i, d.tool, d.claimed, d.took, d.fate, d.room,
  case d.fate
    when 'retold' then pg_temp.s(d.took + 2000 + 60000 * pg_temp.u(d.i, 20))
    when 'landed' then pg_temp.s(d.gave_up + 1500 + 4000 * pg_temp.u(d.i, 21))
    when 'absent' then pg_temp.s(d.gave_up + 75000 + 20000 * pg_temp.u(d.i, 21) + d.took + 30000 * pg_temp.u(d.i, 20))
    when 'person' then pg_temp.s(least(600000 + 7200000 * pg_temp.u(d.i, 22), d.room))
    else pg_temp.s(d.took) end as settles_in,
  pg_temp.s(d.gave_up) as gave_up
from (
  select g.i, h.n as tool, c.claimed,
    floor(least(pg_temp.around(h.med_ms, h.sd, g.i, 3), 0.5 * extract(epoch from :'end'::timestamptz - c.claimed) * 1000)) as took,
    floor(least(greatest(pg_temp.around(h.gave_up_ms, 0.05, g.i, 4), 1000), h.lease_ms * 0.9)) as gave_up,
    0.9 * extract(epoch from :'end'::timestamptz - c.claimed) * 1000 as room,
    case
      when extract(epoch from :'end'::timestamptz - c.claimed) < 1800 then 'ok'
      when f.u < h.failed then 'failed'
      when f.u < h.failed + h.released / 2 then 'released'
      when f.u < h.failed + h.released then 'retold'
      when f.u < h.failed + h.released + h.unknown * 0.6 then case when h.has_probe then 'landed' else 'person' end
      when f.u < h.failed + h.released + h.unknown * 0.9 then case when h.has_probe then 'absent' else 'person' end
      when f.u < h.failed + h.released + h.unknown then 'person'
      else 'ok' end as fate
  from generate_series(1, :n) as g(i)
    join habit h on pg_temp.u(g.i, 1) >= h.share_from and pg_temp.u(g.i, 1) < h.share_to
    cross join lateral (select pg_temp.u(g.i, 2) as x, floor(pg_temp.u(g.i, 6) * :days) as day) as r
    cross join lateral (select :'end'::timestamptz - pg_temp.s(86400000.0 * greatest(:days - r.day - r.x
      + h.swing / (2 * pi()) * (sin(2 * pi() * (r.x - h.peak)) + sin(2 * pi() * h.peak)), 0.0008)) as claimed) as c
    cross join lateral (select pg_temp.u(g.i, 5) as u) as f
  offset 0
) as d;
-- A completion that came after its lease: it lapsed, and was told late.
update e set fate = 'late' from habit h where h.n = e.tool and e.fate = 'ok' and e.took >= h.lease_ms;
update e set claimed = claimed - interval '1 hour' where claimed + settles_in >= :'end'::timestamptz;

create temp table row as
select e.i, e.tool, e.fate, e.claimed as first, e.claimed + e.settles_in as settled, e.took, e.gave_up,
  case when e.fate in ('retold', 'absent') then e.claimed + e.settles_in - pg_temp.s(e.took) else e.claimed end as claimed,
  case when e.fate in ('retold', 'absent') then 2 else 1 end as attempt,
  e.claimed + e.settles_in + pg_temp.s(h.keep_key_ms) as keep_until,
  h.prefix || ':' || e.i / 3 || ':' || e.i % 3 as key,
  effect.id(h.namespace, h.name, h.prefix || ':' || e.i / 3 || ':' || e.i % 3) as id,
  md5('token' || :seed || e.i)::uuid as token,
  case when h.has_business then md5('business' || :seed || e.i)::uuid end as business,
  'run-' || case when h.has_turn then e.i::text else floor(extract(epoch from e.claimed) / 900)::bigint || '-' || e.i % 16 end as run,
  'turn-' || e.i % 4 as turn,
  h.keep_key_ms, h.keep_result_ms, h.lease_ms, h.has_turn
from e join habit h on h.n = e.tool;
create temp table version as select h.n as tool, pg_temp.version(h.n) as version from habit h;

insert into effect.ledger (id, token, fingerprint, business, policy, claimed_at, due_at, keep_until, done_at, result_bytes, attempt,
  probe_no, state, outcome, decided_by, result_state, key, owner, run, step, turn, kept, result)
select r.id, r.token, md5('args' || r.i)::uuid, r.business, v.version, r.claimed,
  case when r.fate = 'released' then r.keep_until else case when r.settled + pg_temp.s(r.keep_result_ms) > :'end'
    then least(r.settled + pg_temp.s(r.keep_result_ms), r.keep_until) else r.keep_until end end,
  r.keep_until, r.settled, case when r.fate <> 'released' then octet_length(r.result) end, r.attempt,
  case r.fate when 'landed' then 1 when 'absent' then 2 else 0 end,
  (case when r.fate = 'released' then 'released' else 'done' end)::effect.state,
  (case when r.fate = 'failed' then 'failed' when r.fate <> 'released' then 'succeeded' end)::effect.outcome,
  (case r.fate when 'released' then null when 'landed' then 'probe' when 'person' then 'operator' else 'caller' end)::effect.decider,
  (case when r.fate = 'released' then null when r.settled + pg_temp.s(r.keep_result_ms) > :'end' then 'kept' else 'expired' end)
    ::effect.result_state,
  r.key, 'agent-' || r.i % 40, r.run, (r.i % 9)::text, r.turn,
  case r.tool
    when 1 then '{"/amount":"' || 1 + r.i % 480 || '.' || lpad((r.i % 100)::text, 2, '0') || '","/line":' || r.i % 3 || ',"/order_id":' || r.i / 3 || '}'
    when 8 then '{"/channel":"c' || r.i / 3 || '","/day":' || r.i % 3 || ',"/text":"m' || r.i || '"}' end,
  case when r.fate <> 'released' and r.settled + pg_temp.s(r.keep_result_ms) > :'end' then r.result end
from (select row.*, '{"status":"ok","ref":"re_' || row.i || '"}' as result from row) r
  join version v on v.tool = r.tool
where r.keep_until > :'end'
order by r.claimed;

-- What was forgotten meanwhile: what landed is remembered in one narrow row, for as long again as its key was.
insert into effect.past (id, business, policy, claimed_at, done_at, forgotten_at, due_at)
select r.id, r.business, v.version, r.claimed, r.settled, r.keep_until + interval '1 second',
  r.keep_until + interval '1 second' + effect.past_for(r.keep_key_ms)
from row r join version v on v.tool = r.tool
where r.keep_until <= :'end' and r.fate not in ('released', 'failed')
  and r.keep_until + interval '1 second' + effect.past_for(r.keep_key_ms) > :'end';

-- The history: everything off the happy path, one to five events an effect.
insert into effect.event (effect, token, at, attempt, kind, decided_by, outcome, reason, scope, tool, key)
select v.id, v.token, v.at, v.attempt, v.kind, v.decided_by, v.outcome::effect.outcome, v.reason, v.scope, v.tool, v.key
from (
  select r.i, r.id, null::uuid as token, r.first + pg_temp.s(r.took) as at, 1 as attempt, 'released' as kind, 'caller' as decided_by,
    null as outcome, 'no connection' as reason, null as scope, null as tool, null as key
  from row r where r.fate in ('released', 'retold')
  union all
  select r.i, r.id, null, r.first + r.gave_up, 1, 'unknown', null, null, 'no answer in time', null, null, null
  from row r where r.fate in ('landed', 'absent', 'person')
  union all
  select r.i, r.id, null, r.settled, 1, 'verdict', 'probe', 'succeeded', 'landed', null, null, null from row r where r.fate = 'landed'
  union all
  select r.i, r.id, null, r.first + r.gave_up + interval '1 s' * (31 + 32 * (n - 1)), 1, case n when 1 then 'verdict' else 'released' end,
    'probe', null, 'absent: no such call', null, null, null
  from row r, generate_series(1, 2) n where r.fate = 'absent'
  union all
  select r.i, r.id, md5('first' || :seed || r.i)::uuid, r.claimed, 2, 'granted', null, null, null, null, null, null
  from row r where r.fate in ('retold', 'absent')
  union all
  select r.i, r.id, null, r.first + r.gave_up + (r.settled - r.first - r.gave_up) * 0.2, 1, 'escalated', null, null, 'no probe could tell by the deadline', null, null, null
  from row r where r.fate = 'person'
  union all
  select r.i, r.id, null, r.settled, 1, 'resolved', 'operator', 'succeeded', 'seen in the provider''s books', null, null, null
  from row r where r.fate = 'person'
  union all
  select r.i, r.id, null, r.first + pg_temp.s(r.lease_ms), 1, 'lapsed', null, null, null, null, null, null from row r where r.fate = 'late'
  union all
  select r.i, r.id, null, least(r.settled + interval '1 minute', :'end'), r.attempt, 'refused', null, null,
    'mismatch' || case r.tool when 1 then (array[': /amount', ': /line', ': /amount, /line'])[1 + r.i % 3] when 8 then ': /text' else '' end, null, null, null
  from row r join habit h on h.n = r.tool
  where pg_temp.u(r.i, 9) < h.mismatch and r.keep_until + interval '30 days' > :'end'
  union all
  select r.i, r.id, null, r.first + r.gave_up + interval '1 second', 1, 'refused', null, null, 'unknown', null, null, null
  from row r where r.fate in ('landed', 'absent') and r.i % 8 = 0
  union all
  select r.i, r.id, r.token, r.keep_until + interval '1 second', r.attempt, 'expired', null, null, null, h.namespace, h.name, r.key
  from row r join habit h on h.n = r.tool
  where r.keep_until <= :'end' and r.fate not in ('ok', 'failed')
) as v;

insert into effect.turn (id, first_at, due_at, grants, asks, refused, namespace, tool, run, turn)
select effect.turn_id(h.namespace, r.run, r.turn, h.name), r.first, r.claimed + interval '30 days', r.attempt,
  r.attempt + (pg_temp.u(r.i, 7) < h.replays)::int, 0, h.namespace, h.name, r.run, r.turn
from row r join habit h on h.n = r.tool
where h.has_turn;
