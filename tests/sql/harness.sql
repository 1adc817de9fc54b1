-- What the tests of sql/ share: a clock that is set, calls that take and give JSON, and the driver of transitions.tsv.
-- Loaded into the template after the schema. A test speaks to the functions through effect_test.begin(), .complete() ...
-- with one object (a batch of one; one object comes back) or an array (a batch; an array in the order of `ord`).
set client_min_messages = warning;
set check_function_bodies = off;
create schema effect_test;

-- The clock. It stands still until a test moves it; a session that never set it has the real one.
create or replace function effect.now() returns timestamptz
language sql volatile parallel safe
as $$
  select coalesce(nullif(pg_catalog.current_setting('effect_test.now', true), '')::timestamptz,
    pg_catalog.clock_timestamp())
$$;

create function effect_test.set_now(p_at timestamptz) returns timestamptz
language sql as $$
  select set_config('effect_test.now', to_char(p_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') || '+00', false)::timestamptz
$$;

create function effect_test.advance(p_by interval) returns timestamptz
language sql as $$ select effect_test.set_now(effect.now() + p_by) $$;

-- A policy with every member, as the daemon sends it; the second argument overrides members.
create function effect_test.policy(p_name text, p_with jsonb default '{}') returns text
language sql as $$
  select (jsonb_build_object(
    'name', p_name, 'class', 'irreversible', 'ignore', '[]'::jsonb, 'secret', '[]'::jsonb, 'result_secret', '[]'::jsonb,
    'keep', '[]'::jsonb, 'lease', '60s', 'hold_max', '24h', 'max_attempts', 3, 'on_error', 'unknown',
    'on_unknown', 'probe', 'probe', '{"exec": {"argv": ["/bin/false"]}}'::jsonb, 'settle', '30s', 'absent_needed', 2,
    'probe_timeout', '10s', 'probe_backoff', '["2s", "8s", "30s", "2m", "10m"]'::jsonb, 'escalate_after', '15m',
    'keep_result', '24h', 'keep_key', '30d', 'result_max', 65536) || p_with)::text
$$;

create function effect_test.version(p_namespace text, p_name text, p_policy text) returns bigint
language sql immutable as $$ select hashtextextended(p_namespace || '/' || p_name || '/' || p_policy, 7) $$;

create table effect_test.tool (namespace text, name text, version bigint, primary key (namespace, name));

-- Registers a policy; begin() below then claims under it.
create function effect_test.tool(p_name text, p_with jsonb default '{}', p_namespace text default 'default') returns bigint
language plpgsql as $$
declare
  v_policy text := effect_test.policy(p_name, p_with);
  v_version bigint := effect_test.version(p_namespace, p_name, v_policy);
begin
  perform effect.register_tools(array[v_version], array[p_namespace], array[p_name], array[v_policy]);
  insert into effect_test.tool values (p_namespace, p_name, v_version)
  on conflict (namespace, name) do update set version = excluded.version;
  return v_version;
end
$$;

-- The tools that most tests use.
do $$
begin
  perform effect_test.set_now('2030-01-01 00:00:00+00');
  perform effect_test.tool('probed');
  perform effect_test.tool('bare', '{"probe": null, "on_unknown": "human", "escalate_after": "30s"}');
  perform effect_test.tool('once', '{"max_attempts": 1}');
  perform effect_test.tool('fails', '{"on_error": "failed"}');
  perform effect_test.tool('frees', '{"on_error": "released"}');
  perform effect_test.tool('nokeep', '{"keep_result": "0s"}');
  perform effect_test.tool('secret', '{"result_secret": ["/iban"]}');
  perform effect_test.tool('small', '{"result_max": 10}');
  perform effect_test.tool('quick', '{"settle": "0s", "absent_needed": 1}');
  perform effect_test.tool('again', '{"on_unknown": "retry", "retry_window": "1h"}');
  perform effect_test.tool('againbare', '{"on_unknown": "retry", "retry_window": "1h", "probe": null}');
  perform effect_test.tool('againquick', '{"on_unknown": "retry", "retry_window": "1h", "settle": "0s", "absent_needed": 1}');
  perform effect_test.tool('againonce', '{"on_unknown": "retry", "retry_window": "1h", "max_attempts": 2}');
  perform effect_test.tool('againfrees', '{"on_unknown": "retry", "retry_window": "1h", "on_error": "released"}');
end
$$;

-- Ids and tokens that a test can name.
create function effect_test.uid(p_seed text) returns uuid
language sql immutable as $$ select md5(p_seed)::uuid $$;

-- The n-th start of a daemon: a later one is greater, as the daemon makes them.
create function effect_test.boot(p_n integer) returns uuid
language sql immutable as $$ select (lpad(to_hex(p_n), 12, '0') || '80008000000000000000')::uuid $$;

create function effect_test.id_of(p jsonb) returns uuid
language sql stable as $$
  select coalesce((p ->> 'id')::uuid,
    effect.id(coalesce(p ->> 'ns', 'default'), coalesce(p ->> 'tool', 'probed'), p ->> 'key'))
$$;

-- An entry: a key, a token named for it, what else.
create function effect_test.e(p_key text, p_token text, p_more jsonb default '{}') returns jsonb
language sql immutable as $$
  select jsonb_build_object('key', p_key, 'token', effect_test.uid(p_key || ' ' || p_token)) || p_more
$$;

-- Another session of this database with the clock of this one, for dblink.
create function effect_test.connect(p_name text) returns text
language sql as $$
  select dblink_connect(p_name, format('host=%s dbname=%s user=postgres options=''-c effect_test.now=%s''',
    current_setting('unix_socket_directories'), current_database(),
      to_char(effect.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.USZ')))
$$;

-- What another session's function answered.
create function effect_test.ask(p_name text, p_sql text) returns jsonb
language sql as $$ select j from dblink(p_name, 'select (' || p_sql || ')::jsonb') as x(j jsonb) $$;

-- One object, or an array of them, as rows.
create function effect_test.entries(p jsonb) returns table (j jsonb, n bigint)
language sql immutable as $$
  select e, i from jsonb_array_elements(case jsonb_typeof(p) when 'array' then p else jsonb_build_array(p) end)
    with ordinality as x(e, i)
$$;

-- One object for an object, the array for an array. Rows may come in any order, but one for each entry.
create function effect_test.answers(p jsonb, p_rows jsonb[]) returns jsonb
language plpgsql immutable as $$
declare
  v_all jsonb;
begin
  select coalesce(jsonb_agg(jsonb_strip_nulls(r) - 'ord' order by (r ->> 'ord')::int), '[]') into v_all
  from unnest(p_rows) r;
  if (select array_agg((r ->> 'ord')::int order by (r ->> 'ord')::int) from unnest(p_rows) r)
      is distinct from (select array_agg(i::int order by i) from effect_test.entries(p) x(e, i)) then
    raise exception 'not one row for each entry: %', p_rows;
  end if;
  return case jsonb_typeof(p) when 'array' then v_all else v_all -> 0 end;
end
$$;

-- A row of an answer without what is for the daemon to count; that is kept for effect_test.counted().
create function effect_test.plain(p_row record) returns jsonb
language plpgsql as $$
begin
  perform set_config('effect_test.counted', concat_ws(' ', nullif(current_setting('effect_test.counted', true), ''),
    to_jsonb(p_row) ->> 'counted'), false);
  return to_jsonb(p_row) - array['counted', 'namespace', 'tool'];
end
$$;

-- What was to be counted since it was asked last.
create function effect_test.counted() returns text
language plpgsql as $$
declare
  v text := coalesce(current_setting('effect_test.counted', true), '');
begin
  perform set_config('effect_test.counted', '', false);
  return v;
end
$$;

-- begin: key, tool, ns, fp, token, request, policy, lease_ms, owner, run, step, turn, kept, regrant, within_ms, resent;
-- asked_at, instance, boot from the first entry. A token not given is random.
create function effect_test.begin(p jsonb) returns jsonb
language plpgsql as $$
declare
  v_first jsonb := case jsonb_typeof(p) when 'array' then p -> 0 else p end;
  v_rows jsonb[];
begin
  with a as (
    select array_agg(effect_test.id_of(j) order by n) as id,
      array_agg(coalesce((j ->> 'policy')::bigint, (select t.version from effect_test.tool t
        where t.name = coalesce(j ->> 'tool', 'probed')
          and t.namespace in (coalesce(j ->> 'ns', 'default'), 'default')
        order by t.namespace = 'default' limit 1)) order by n) as policy,
      array_agg(j ->> 'key' order by n) as key,
      array_agg(case when j ->> 'fp' = 'null' then null else effect_test.uid(coalesce(j ->> 'fp', 'args')) end order by n) as fp,
      array_agg(coalesce((j ->> 'token')::uuid, gen_random_uuid()) order by n) as token,
      array_agg((j ->> 'request')::uuid order by n) as request,
      array_agg((j ->> 'lease_ms')::int order by n) as lease_ms,
      array_agg(j ->> 'owner' order by n) as owner, array_agg(j ->> 'run' order by n) as run,
      array_agg(j ->> 'step' order by n) as step, array_agg(j ->> 'turn' order by n) as turn,
      array_agg(j ->> 'kept' order by n) as kept,
      array_agg(coalesce((j ->> 'regrant')::bool, false) order by n) as regrant,
      array_agg(coalesce((j ->> 'within_ms')::int, 5000) order by n) as within_ms,
      array_agg(coalesce((j ->> 'resent')::bool, false) order by n) as resent
    from effect_test.entries(p))
  select array_agg(effect_test.plain(b)) into v_rows
  from a, effect.begin(a.id, a.policy, a.key, a.fp, a.token, a.request, a.lease_ms, a.owner, a.run, a.step, a.turn, a.kept,
    a.regrant, a.within_ms, a.resent, coalesce((v_first ->> 'asked_at')::timestamptz, effect.now()),
    coalesce((v_first ->> 'instance')::uuid, effect_test.uid('instance')),
    coalesce((v_first ->> 'boot')::uuid, effect_test.boot(1))) b;
  return effect_test.answers(p, v_rows);
end
$$;

-- begin_guarded: as begin, and business (any text), again, counted; the turn is run and turn.
create function effect_test.begin_guarded(p jsonb) returns jsonb
language plpgsql as $$
declare
  v_rows jsonb[];
begin
  with a as (
    select array_agg(effect_test.id_of(j) order by n) as id,
      array_agg((select t.version from effect_test.tool t where t.name = coalesce(j ->> 'tool', 'probed')
        and t.namespace = coalesce(j ->> 'ns', 'default')) order by n) as policy,
      array_agg(j ->> 'key' order by n) as key,
      array_agg(effect_test.uid(coalesce(j ->> 'fp', 'args')) order by n) as fp,
      array_agg(coalesce((j ->> 'token')::uuid, gen_random_uuid()) order by n) as token,
      array_agg((j ->> 'request')::uuid order by n) as request,
      array_agg(j ->> 'run' order by n) as run, array_agg(j ->> 'turn' order by n) as turn, array_agg(j ->> 'kept' order by n) as kept,
      array_fill(null::text, array[count(*)::int]) as nothing, array_fill(null::int, array[count(*)::int]) as no_lease,
      array_agg(coalesce((j ->> 'regrant')::bool, false) order by n) as regrant,
      array_agg(coalesce((j ->> 'within_ms')::int, 5000) order by n) as within_ms,
      array_agg(coalesce((j ->> 'resent')::bool, false) order by n) as resent,
      array_agg(effect_test.uid('business ' || (j ->> 'business')) order by n) as business,
      array_agg(j ->> 'again' order by n) as again,
      array_agg(coalesce((j ->> 'counted')::bool, false) order by n) as counted
    from effect_test.entries(p))
  select array_agg(effect_test.plain(b)) into v_rows
  from a, effect.begin_guarded(a.id, a.policy, a.key, a.fp, a.token, a.request, a.no_lease, a.nothing, a.run, a.nothing, a.turn,
    a.kept, a.regrant, a.within_ms, a.resent, a.business, a.again, a.counted, effect.now(),
    effect_test.uid('instance'), effect_test.boot(1)) b;
  return effect_test.answers(p, v_rows);
end
$$;

-- complete: id or key/tool/ns; token, scope, policy, outcome, result (text, or null), bytes, sha256 (hex), redacted.
create function effect_test.complete(p jsonb) returns jsonb
language plpgsql as $$
declare
  v_rows jsonb[];
begin
  with a as (
    select array_agg(effect_test.id_of(j) order by n) as id, array_agg((j ->> 'token')::uuid order by n) as token,
      array_agg(j ->> 'scope' order by n) as scope, array_agg((j ->> 'policy')::bigint order by n) as policy,
      array_agg(coalesce(j ->> 'outcome', 'succeeded') order by n) as outcome,
      array_agg(j ->> 'result' order by n) as result, array_agg((j ->> 'bytes')::bigint order by n) as bytes,
      array_agg(decode(j ->> 'sha256', 'hex') order by n) as sha256,
      array_agg(coalesce((j ->> 'redacted')::bool, false) order by n) as redacted
    from effect_test.entries(p))
  select array_agg(effect_test.plain(b)) into v_rows
  from a, effect.complete(a.id, a.token, a.scope, a.policy, a.outcome, a.result, a.bytes, a.sha256, a.redacted) b;
  return effect_test.answers(p, v_rows);
end
$$;

create function effect_test.release(p jsonb) returns jsonb
language plpgsql as $$
declare
  v_rows jsonb[];
begin
  with a as (
    select array_agg(effect_test.id_of(j) order by n) as id, array_agg((j ->> 'token')::uuid order by n) as token,
      array_agg(j ->> 'scope' order by n) as scope, array_agg(coalesce(j ->> 'reason', 'not sent') order by n) as reason,
      array_agg(coalesce((j ->> 'not_told')::bool, false) order by n) as not_told
    from effect_test.entries(p))
  select array_agg(effect_test.plain(b)) into v_rows from a, effect.release(a.id, a.token, a.scope, a.reason, a.not_told) b;
  return effect_test.answers(p, v_rows);
end
$$;

create function effect_test.unknown(p jsonb) returns jsonb
language plpgsql as $$
declare
  v_rows jsonb[];
begin
  with a as (
    select array_agg(effect_test.id_of(j) order by n) as id, array_agg((j ->> 'token')::uuid order by n) as token,
      array_agg(j ->> 'scope' order by n) as scope, array_agg(coalesce(j ->> 'reason', 'timed out') order by n) as reason,
      array_agg(coalesce((j ->> 'closed')::bool, false) order by n) as closed
    from effect_test.entries(p))
  select array_agg(effect_test.plain(b)) into v_rows from a, effect.unknown(a.id, a.token, a.scope, a.reason, a.closed) b;
  return effect_test.answers(p, v_rows);
end
$$;

create function effect_test.extend(p jsonb) returns jsonb
language plpgsql as $$
declare
  v_rows jsonb[];
begin
  with a as (
    select array_agg(effect_test.id_of(j) order by n) as id, array_agg((j ->> 'token')::uuid order by n) as token,
      array_agg(j ->> 'scope' order by n) as scope, array_agg((j ->> 'lease_ms')::int order by n) as lease_ms
    from effect_test.entries(p))
  select array_agg(effect_test.plain(b)) into v_rows from a, effect.extend(a.id, a.token, a.scope, a.lease_ms) b;
  return effect_test.answers(p, v_rows);
end
$$;

-- verdict: id or key/tool/ns; attempt, probe_no (both default to the row's), verdict, reason, result, bytes, sha256, redacted.
create function effect_test.verdict(p jsonb) returns jsonb
language plpgsql set enable_seqscan = off as $$
declare
  v_rows jsonb[];
begin
  with a as (
    select array_agg(effect_test.id_of(j) order by n) as id,
      array_agg(coalesce((j ->> 'attempt')::int, l.attempt) order by n) as attempt,
      array_agg(coalesce((j ->> 'probe_no')::int, l.probe_no) order by n) as probe_no,
      array_agg(j ->> 'verdict' order by n) as verdict, array_agg(j ->> 'reason' order by n) as reason,
      array_agg(j ->> 'result' order by n) as result, array_agg((j ->> 'bytes')::bigint order by n) as bytes,
      array_agg(decode(j ->> 'sha256', 'hex') order by n) as sha256,
      array_agg(coalesce((j ->> 'redacted')::bool, false) order by n) as redacted
    from effect_test.entries(p) left join effect.ledger l on l.id = effect_test.id_of(j))
  select array_agg(effect_test.plain(b)) into v_rows
  from a, effect.verdict(a.id, a.attempt, a.probe_no, a.verdict, a.reason, a.result, a.bytes, a.sha256, a.redacted) b;
  return effect_test.answers(p, v_rows);
end
$$;

-- resolve: as verdict, with scope, state (attempt and state default to the row's), evidence, policy, by.
create function effect_test.resolve(p jsonb) returns jsonb
language plpgsql set enable_seqscan = off as $$
declare
  v_rows jsonb[];
begin
  with a as (
    select array_agg(effect_test.id_of(j) order by n) as id, array_agg(j ->> 'scope' order by n) as scope,
      array_agg(j ->> 'verdict' order by n) as verdict,
      array_agg(coalesce((j ->> 'attempt')::int, l.attempt) order by n) as attempt,
      array_agg(coalesce(j ->> 'state', l.state::text) order by n) as state,
      array_agg(coalesce(j ->> 'reason', 'looked it up') order by n) as reason,
      array_agg(j ->> 'evidence' order by n) as evidence, array_agg((j ->> 'policy')::bigint order by n) as policy,
      array_agg(j ->> 'result' order by n) as result, array_agg((j ->> 'bytes')::bigint order by n) as bytes,
      array_agg(decode(j ->> 'sha256', 'hex') order by n) as sha256,
      array_agg(coalesce((j ->> 'redacted')::bool, false) order by n) as redacted,
      array_agg(coalesce(j ->> 'by', 'uid 1000') order by n) as by
    from effect_test.entries(p) left join effect.ledger l on l.id = effect_test.id_of(j))
  select array_agg(effect_test.plain(b)) into v_rows
  from a, effect.resolve(a.id, a.scope, a.verdict, a.attempt, a.state, a.reason, a.evidence, a.policy, a.result, a.bytes,
    a.sha256, a.redacted, a.by) b;
  return effect_test.answers(p, v_rows);
end
$$;

-- get: id or key/tool/ns; scope, events.
create function effect_test.get(p jsonb) returns jsonb
language plpgsql as $$
declare
  v_rows jsonb[];
begin
  with a as (
    select array_agg(effect_test.id_of(j) order by n) as id, array_agg(j ->> 'scope' order by n) as scope,
      array_agg(coalesce((j ->> 'events')::int, 20) order by n) as events
    from effect_test.entries(p))
  select array_agg(to_jsonb(b)) into v_rows from a, effect.get(a.id, a.scope, a.events) b;
  return effect_test.answers(p, v_rows);
end
$$;

-- Rows of every state, with events; one in fifty is open, as in a ledger of some age.
create procedure effect_test.fill(p_from integer, p_to integer) language plpgsql as $$
declare
  v_policy bigint := (select version from effect_test.tool where name = 'probed');
begin
  insert into effect.ledger (id, token, fingerprint, policy, claimed_at, due_at, keep_until, lease_until, ended_at, since,
    deadline_at, done_at, attempt, state, outcome, decided_by, result_state, key, result, result_bytes)
  select effect.id('default', 'probed', 'fill ' || i), gen_random_uuid(), gen_random_uuid(), v_policy, effect.now(),
    effect.now() + interval '90 d', effect.now() + interval '100 d',
    case s when 'pending' then effect.now() + interval '90 d' end,
    case when s in ('unknown', 'escalated') then effect.now() end, case when s in ('unknown', 'escalated') then effect.now() end,
    case when s = 'unknown' then effect.now() + interval '91 d' end, case when s in ('done', 'released') then effect.now() end,
    1, s::effect.state, case s when 'done' then 'succeeded'::effect.outcome end,
    case s when 'done' then 'caller'::effect.decider end, case s when 'done' then 'kept'::effect.result_state end,
    'fill ' || i, case s when 'done' then '{"r":1}' end, case s when 'done' then 7 end
  from (select i, case when i % 150 = 0 then 'pending' when i % 150 = 50 then 'unknown' when i % 150 = 100 then 'escalated'
      when i % 10 = 1 then 'released' else 'done' end as s
    from generate_series(p_from, p_to) i) x;
  insert into effect.event (effect, at, attempt, kind, incident)
  select effect.id('default', 'probed', 'fill ' || i), effect.now() - interval '1 d', 1, 'late', i % 100 = 0
  from generate_series(p_from, p_to, 2) i;
end
$$;

-- The tasks of one sweep as an array, in the order they came. p_tools: [{tool, ns, running, room, why}].
create function effect_test.sweep(p_rows int default 100, p_probes int default 100, p_notify bool default false,
  p_tool_room int default null, p_tools jsonb default '[]') returns jsonb
language sql as $$
  with a as (
    select coalesce(array_agg(coalesce(j ->> 'ns', 'default')), '{}') as ns, coalesce(array_agg(j ->> 'tool'), '{}') as tool,
      coalesce(array_agg(coalesce((j ->> 'running')::int, 0)), '{}') as running,
      coalesce(array_agg((j ->> 'room')::int), '{}') as room, coalesce(array_agg(j ->> 'why'), '{}') as why
    from effect_test.entries(p_tools))
  select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(s))), '[]')
  from a, effect.sweep(p_rows, p_probes, p_notify, p_tool_room, a.ns, a.tool, a.running, a.room, a.why) s
$$;

-- The task of that kind for one effect, or null.
create function effect_test.task(p_tasks jsonb, p_task text, p_id uuid) returns jsonb
language sql immutable as $$
  select t from jsonb_array_elements(p_tasks) t where t ->> 'task' = p_task and t ->> 'effect' = p_id::text limit 1
$$;

-- A row as JSON without nulls; null if there is none.
create function effect_test.row(p_id uuid) returns jsonb
language sql stable as $$ select jsonb_strip_nulls(to_jsonb(l)) from effect.ledger l where l.id = p_id $$;

create function effect_test.row(p_key text, p_tool text default 'probed', p_namespace text default 'default') returns jsonb
language sql stable as $$ select effect_test.row(effect.id(p_namespace, p_tool, p_key)) $$;

-- The events of an effect after p_after, as 'kind,kind!': an incident carries a mark. '-' is none.
create function effect_test.kinds(p_id uuid, p_after bigint default 0) returns text
language sql stable as $$
  select coalesce(string_agg(e.kind || case when e.incident then '!' else '' end, ',' order by e.id), '-')
  from effect.event e where e.effect = p_id and e.id > p_after
$$;

create function effect_test.kinds(p_key text, p_tool text default 'probed') returns text
language sql stable as $$ select effect_test.kinds(effect.id('default', p_tool, p_key)) $$;

create function effect_test.last_event() returns bigint
language sql stable as $$ select coalesce(max(id), 0) from effect.event $$;

-- Members of an object, to compare a few of many.
create function effect_test.only(p jsonb, variadic p_members text[]) returns jsonb
language sql immutable as $$
  select coalesce(jsonb_object_agg(k, v), '{}') from jsonb_each(p) e(k, v) where k = any (p_members)
$$;

-- transitions.tsv, as it stands in the file.
create table effect_test.transition (
  cell text primary key, message text not null, token text not null, before text not null, setup text not null,
  args text not null, answer text not null, says text not null, already text not null, after text not null,
  outcome text not null, decided_by text not null, events text not null, incident text not null);

-- Steps that bring a fresh key into the state before. Each must do what it says, or the test is no test.
create type effect_test.subject as (
  id uuid, key text, tool text, tokens uuid[], attempts int[], probe_attempt int, probe_no int);

create function effect_test.must(p_step text, p_have text, p_want text) returns void
language plpgsql as $$
begin
  if p_have is distinct from p_want then
    raise exception 'setup step "%": "%" instead of "%"', p_step, p_have, p_want;
  end if;
end
$$;

create function effect_test.step(p_subject effect_test.subject, p_step text) returns effect_test.subject
language plpgsql as $$
declare
  v_subject effect_test.subject := p_subject;
  v_last uuid := v_subject.tokens[cardinality(v_subject.tokens)];
  v_row effect.ledger;
  v_at jsonb;
  v_token uuid;
begin
  select * into v_row from effect.ledger where id = v_subject.id;
  v_at := jsonb_build_object('id', v_subject.id, 'token', v_last);
  case split_part(p_step, '=', 1)
    when 'begin' then
      v_token := gen_random_uuid();
      v_at := effect_test.begin(jsonb_build_object('key', v_subject.key, 'tool', v_subject.tool, 'token', v_token));
      perform effect_test.must(p_step, v_at ->> 'answer', 'run');
      v_subject.tokens := v_subject.tokens || v_token;
      v_subject.attempts := v_subject.attempts || (v_at ->> 'attempt')::int;
    when 'release' then
      perform effect_test.must(p_step, effect_test.release(v_at) ->> 'answer', 'ok');
    when 'complete' then
      perform effect_test.must(p_step, effect_test.complete(v_at || '{"result": "{\"r\":1}"}') ->> 'answer', 'ok');
    when 'fail' then
      perform effect_test.must(p_step, effect_test.complete(v_at || '{"outcome": "failed", "result": "{\"r\":1}"}') ->> 'answer',
        'ok');
    when 'unknown' then
      perform effect_test.must(p_step, effect_test.unknown(v_at) ->> 'answer', 'ok');
    when 'close' then
      perform effect_test.must(p_step, effect_test.unknown(v_at || '{"closed": true}') ->> 'answer', 'ok');
    when 'evidence' then
      perform effect_test.must(p_step, effect_test.complete(v_at || jsonb_build_object('token', v_subject.tokens[1],
        'result', '{"first":true}')) ->> 'answer', 'conflict');
    when 'first' then
      perform effect_test.must(p_step, effect_test.complete(v_at || jsonb_build_object('token', v_subject.tokens[1],
        'result', '{"r":1}')) ->> 'answer', 'ok');
    when 'over' then
      perform effect_test.set_now(v_row.lease_until + interval '1 s');
    when 'lapse' then
      perform effect_test.set_now(v_row.lease_until + interval '1 s');
      perform effect_test.sweep(100, 0);
    when 'escalate' then
      perform effect_test.set_now(v_row.deadline_at + interval '1 s');
      perform effect_test.sweep(100, 0);
    when 'probe' then
      perform effect_test.set_now(greatest(effect.now(), v_row.due_at));
      v_at := effect_test.task(effect_test.sweep(100, 100), 'probe', v_subject.id);
      perform effect_test.must(p_step, v_at ->> 'task', 'probe');
      v_subject.probe_attempt := v_at ->> 'attempt';
      v_subject.probe_no := v_at ->> 'probe_no';
    when 'verdict' then
      perform effect_test.must(p_step, effect_test.verdict(jsonb_build_object('id', v_subject.id, 'attempt',
        v_subject.probe_attempt, 'probe_no', v_subject.probe_no, 'verdict', split_part(p_step, '=', 2),
        'result', case when p_step = 'verdict=landed' then '{"probe":1}' end)) ->> 'answer', 'ok');
    when 'resolve' then
      perform effect_test.must(p_step, effect_test.resolve(jsonb_build_object('id', v_subject.id, 'verdict',
        split_part(p_step, '=', 2))) ->> 'answer', 'ok');
    when 'wait' then
      perform effect_test.advance(split_part(p_step, '=', 2)::interval);
    when 'drop' then
      perform effect_test.set_now(v_row.done_at + interval '24 h 1 s');
      perform effect.retain(100);
    when 'expire' then
      perform effect_test.set_now(v_row.keep_until + interval '1 s');
    when 'forget' then
      perform effect_test.set_now(v_row.keep_until + interval '1 s');
      perform effect.retain(100);
      perform effect.retain(100);
  end case;
  return v_subject;
end
$$;

-- setup: steps; `tool=NAME` first claims under another tool than 'probed'; `none` leaves no row.
create function effect_test.bring(p_key text, p_setup text) returns effect_test.subject
language plpgsql as $$
declare
  v_subject effect_test.subject;
  v_step text;
begin
  v_subject.key := p_key;
  v_subject.tool := coalesce(substring(p_setup from 'tool=(\w+)'), 'probed');
  v_subject.id := effect.id('default', v_subject.tool, p_key);
  v_subject.tokens := '{}';
  v_subject.attempts := '{}';
  foreach v_step in array string_to_array(p_setup, ' ') loop
    if v_step <> 'none' and v_step not like 'tool=%' then
      v_subject := effect_test.step(v_subject, v_step);
    end if;
  end loop;
  return v_subject;
end
$$;

-- The message of a cell as an entry for its function. args: name=value, separated by spaces.
create function effect_test.message(p_cell effect_test.transition, p_subject effect_test.subject) returns jsonb
language plpgsql as $$
declare
  v_entry jsonb := jsonb_build_object('id', p_subject.id, 'key', p_subject.key, 'tool', p_subject.tool);
  v_arg text;
begin
  if p_cell.message in ('complete', 'release', 'unknown', 'extend') then
    v_entry := v_entry || jsonb_build_object('token', case p_cell.token
      when 'last' then p_subject.tokens[cardinality(p_subject.tokens)]
      when 'earlier' then p_subject.tokens[1]
      else effect_test.uid('nobody''s token') end);
  end if;
  if p_cell.message = 'complete' then
    v_entry := v_entry || '{"result": "{\"r\":1}"}';
  elsif p_cell.message = 'verdict' then
    if p_subject.probe_no is not null then
      v_entry := v_entry || jsonb_build_object('probe_no', p_subject.probe_no);
    end if;
    if p_cell.token = 'earlier' then
      v_entry := v_entry || jsonb_build_object('attempt', p_subject.attempts[1]);
    end if;
  end if;
  if p_cell.args <> '-' then
    foreach v_arg in array string_to_array(p_cell.args, ' ') loop
      v_entry := v_entry || jsonb_build_object(split_part(v_arg, '=', 1), substring(v_arg from '=(.*)$'));
    end loop;
  end if;
  return v_entry;
end
$$;

create function effect_test.send(p_message text, p jsonb) returns jsonb
language plpgsql as $$
begin
  return case p_message
    when 'begin' then effect_test.begin(p)
    when 'complete' then effect_test.complete(p)
    when 'release' then effect_test.release(p)
    when 'unknown' then effect_test.unknown(p)
    when 'extend' then effect_test.extend(p)
    when 'verdict' then effect_test.verdict(p)
    when 'resolve' then effect_test.resolve(p) end;
end
$$;

-- What one sees of a cell, to be compared as text: only what the table says; '*' leaves it open.
create function effect_test.picture(p_cell effect_test.transition, p_answer text, p_says text, p_already text,
  p_after text, p_outcome text, p_by text, p_events text, p_incident text) returns text
language sql immutable as $$
  select format('%s says %s already %s; then %s %s by %s; events %s incident %s',
    case p_cell.answer when '*' then '*' else p_answer end,
    case p_cell.says when '*' then '*' else coalesce(p_says, '-') end,
    case p_cell.already when '*' then '*' else coalesce(p_already, '-') end,
    case p_cell.after when '*' then '*' else coalesce(p_after, 'none') end,
    case p_cell.outcome when '*' then '*' else coalesce(p_outcome, '-') end,
    case p_cell.decided_by when '*' then '*' else coalesce(p_by, '-') end,
    case p_cell.events when '*' then '*' when '+' then case p_events when '-' then '-' else '+' end else p_events end,
    case p_cell.incident when '*' then '*' else p_incident end)
$$;

-- Plays one cell, alone or as the middle of a batch with neighbours, and undoes it. '' if all is right, else what is not.
create function effect_test.play(p_cell effect_test.transition, p_batch boolean) returns text
language plpgsql as $$
declare
  v_subject effect_test.subject;
  v_first effect_test.subject;
  v_third effect_test.subject;
  v_bystander effect_test.subject;
  v_entry jsonb;
  v_answer jsonb;
  v_all jsonb;
  v_row effect.ledger;
  v_row_before jsonb;
  v_stands_by jsonb;
  v_event bigint;
  v_events text;
  v_faults text[] := '{}';
  v_want text;
  v_have text;
  v_neighbour_setup text := case p_cell.message when 'begin' then 'none' when 'verdict' then 'begin unknown probe'
    when 'resolve' then 'begin unknown' else 'begin' end;
  v_neighbour_answer text := case p_cell.message when 'begin' then 'run' else 'ok' end;
  v_neighbour_state text := case p_cell.message when 'begin' then 'pending' when 'complete' then 'done'
    when 'release' then 'released' when 'unknown' then 'unknown' when 'extend' then 'pending' else 'done' end;
begin
  begin
    v_subject := effect_test.bring('subject', p_cell.setup);
    select * into v_row from effect.ledger where id = v_subject.id;
    if coalesce(v_row.state::text, 'none') <> p_cell.before then
      v_faults := v_faults || format('the state before is %s', coalesce(v_row.state::text, 'none'));
    end if;
    v_entry := effect_test.message(p_cell, v_subject);
    v_row_before := to_jsonb(v_row);
    if p_batch then
      v_bystander := effect_test.bring('bystander', 'begin');
      v_first := effect_test.bring('first', v_neighbour_setup);
      v_third := effect_test.bring('third', v_neighbour_setup);
      v_stands_by := effect_test.row(v_bystander.id);
      v_event := effect_test.last_event();
      v_all := effect_test.send(p_cell.message, jsonb_build_array(
        effect_test.message(p_cell, v_first) || jsonb_build_object('token', v_first.tokens[1], 'outcome', 'succeeded',
          'verdict', 'landed', 'fp', 'args', 'attempt', 1, 'state', 'unknown', 'probe_no', v_first.probe_no),
        v_entry,
        effect_test.message(p_cell, v_third) || jsonb_build_object('token', v_third.tokens[1], 'outcome', 'succeeded',
          'verdict', 'landed', 'fp', 'args', 'attempt', 1, 'state', 'unknown', 'probe_no', v_third.probe_no)));
      v_answer := v_all -> 1;
      if v_all -> 0 ->> 'answer' is distinct from v_neighbour_answer
          or v_all -> 2 ->> 'answer' is distinct from v_neighbour_answer then
        v_faults := v_faults || format('neighbours were told %s', v_all);
      end if;
      if exists (select from effect.ledger l where l.id in (v_first.id, v_third.id)
          and l.state::text <> v_neighbour_state) then
        v_faults := v_faults || format('a neighbour is not %s', v_neighbour_state);
      end if;
      if effect_test.row(v_bystander.id) is distinct from v_stands_by then
        v_faults := v_faults || 'a row that was not in the batch changed'::text;
      end if;
    else
      v_event := effect_test.last_event();
      v_answer := effect_test.send(p_cell.message, v_entry);
    end if;

    select * into v_row from effect.ledger where id = v_subject.id;
    v_events := effect_test.kinds(v_subject.id, v_event);
    v_have := effect_test.picture(p_cell, v_answer ->> 'answer', v_answer ->> 'state',
      case v_answer ->> 'already' when 'true' then 'yes' when 'false' then 'no' end,
      v_row.state::text, v_row.outcome::text, v_row.decided_by::text, replace(v_events, '!', ''),
      case when v_events like '%!%' then 'yes' else 'no' end);
    v_want := effect_test.picture(p_cell, p_cell.answer, p_cell.says, p_cell.already, p_cell.after, p_cell.outcome,
      p_cell.decided_by, p_cell.events, p_cell.incident);
    if v_have <> v_want then
      v_faults := v_faults || format(E'\n  want: %s\n  have: %s', v_want, v_have);
    end if;
    -- attempt and token are the holder's: only a new grant changes them
    if p_cell.answer <> 'run' and v_row.id is not null and (v_row_before ->> 'token' <> v_row.token::text
        or (v_row_before ->> 'attempt')::int <> v_row.attempt) then
      v_faults := v_faults || 'attempt or token changed without a grant'::text;
    end if;
    if p_cell.token = 'other' and to_jsonb(v_row) is distinct from v_row_before then
      v_faults := v_faults || 'a token that nobody has changed the row'::text;
    end if;
    -- every event of the message is of the attempt whose token or number came
    if exists (select from effect.event e where e.effect = v_subject.id and e.id > v_event
        and e.attempt not in (v_subject.attempts[1], v_row.attempt, coalesce((v_row_before ->> 'attempt')::int, 1))) then
      v_faults := v_faults || 'an event is of another attempt'::text;
    end if;
    v_faults := v_faults || array(select format('invariant %s: %s', i.invariant, i.detail)
      from effect.check_invariants() i);
    raise exception using errcode = 'ZT000';
  exception
    when sqlstate 'ZT000' then
      null;
    when others then
      v_faults := v_faults || format('%s (%s)', sqlerrm, sqlstate);
  end;
  return array_to_string(v_faults, '; ');
end
$$;

-- Counts of effect.stat as a daemon would have brought them, {"run": 3, ...}, all of them of the place of p_ms.
create function effect_test.stat(p_at text, p_namespace text, p_tool text, p_counts jsonb, p_ms bigint default 10) returns void
language sql as $$
  insert into effect.stat as s (minute, namespace, tool, decision, n, ms_log2)
  select p_at::timestamptz, p_namespace, p_tool, c.decision, c.n::bigint,
    array(select case i when case when p_ms < 1 then 1 else floor(log(2, p_ms)) + 2 end then c.n::bigint else 0 end
      from generate_series(1, 40) i)
  from jsonb_each_text(p_counts) as c(decision, n)
  on conflict (minute, namespace, tool, decision) do update set
    n = s.n + excluded.n, ms_log2 = effect.add_arrays(s.ms_log2, excluded.ms_log2)
$$;

-- A report as the wire tells it, or the word that it is refused with.
create function effect_test.report(p_name text, p_scope text default null, p_namespace text default null, p_tool text default null,
  p_from timestamptz default null, p_to timestamptz default null, p_limit int default 100, p_within_ms bigint default null,
  p_keys_min int default 3) returns jsonb
language sql as $$
  select case answer when 'ok' then body::jsonb else to_jsonb(answer) end
  from effect.report(p_scope, p_name, p_namespace, p_tool, p_from, p_to, p_limit, p_within_ms, p_keys_min)
$$;

-- Its rows as objects, or one of them; its findings as 'tool code level'.
create function effect_test.report_rows(p_report jsonb) returns setof jsonb
language sql immutable as $$
  select (select jsonb_object_agg(c.name, r.j -> (c.i::int - 1)) from jsonb_array_elements_text(p_report -> 'columns')
    with ordinality as c(name, i))
  from jsonb_array_elements(p_report -> 'rows') with ordinality as r(j, i) order by r.i
$$;
create function effect_test.report_row(p_report jsonb, p_tool text) returns jsonb
language sql immutable as $$ select r from effect_test.report_rows(p_report) r where r ->> 'tool' = p_tool $$;
create function effect_test.found(p_report jsonb) returns text
language sql immutable as $$
  select string_agg(concat_ws(' ', f.j ->> 'tool', f.j ->> 'code', f.j ->> 'level'), ', ' order by f.i)
  from jsonb_array_elements(p_report -> 'findings') with ordinality as f(j, i)
$$;

-- A report, its rows as objects without nulls. p_with: scope, ns, tool, from, to, limit, within_ms, keys_min.
create function effect_test.told(p_name text, p_with jsonb default '{}') returns jsonb
language sql as $$
  select r.j || jsonb_build_object('rows', (
    select coalesce(jsonb_agg(jsonb_strip_nulls(w.row)), '[]') from effect_test.report_rows(r.j) as w(row)))
  from effect_test.report(p_name, p_with ->> 'scope', p_with ->> 'ns', p_with ->> 'tool', (p_with ->> 'from')::timestamptz,
    (p_with ->> 'to')::timestamptz, coalesce((p_with ->> 'limit')::int, 100), (p_with ->> 'within_ms')::bigint,
    coalesce((p_with ->> 'keys_min')::int, 3)) as r(j)
$$;

-- What it finds: 'tool code, tool code', in their order; null: nothing.
create function effect_test.finds(p_name text, p_with jsonb default '{}') returns text
language sql as $$
  select string_agg(concat_ws(' ', f.j ->> 'tool', f.j ->> 'code'), ', ' order by f.i)
  from jsonb_array_elements(effect_test.told(p_name, p_with) -> 'findings') with ordinality as f(j, i)
$$;

-- Some columns of such rows: [[...], ...].
create function effect_test.cells(p_told jsonb, variadic p_columns text[]) returns jsonb
language sql immutable as $$
  select coalesce(jsonb_agg((select jsonb_agg(r.j -> c.name order by c.i) from unnest(p_columns) with ordinality as c(name, i))
    order by r.i), '[]')
  from jsonb_array_elements(p_told -> 'rows') with ordinality as r(j, i)
$$;
