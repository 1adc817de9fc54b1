-- What the specs share, loaded after tests/sql/harness.sql: one word for each message about one key, one clock for all
-- sessions, places inside the functions where a session can be made to stop, and a view of what became of the row.
-- Every word calls the function of sql/functions as the daemon does, and gives back what it answered as one text.
set client_min_messages = warning;
set check_function_bodies = off;
create schema iso;
-- the functions of the schema run as its owner
grant usage on schema iso to public;

-- The clock: seconds since the start, the same for all at once, whether a transaction ends well or not.
create sequence iso.clock minvalue 0;
grant select on sequence iso.clock to public;
create function iso.at(p_seconds integer) returns text
language sql as $$ select 'it is ' || setval('iso.clock', p_seconds) || ' s' $$;
create function iso.now() returns timestamptz
language sql as $$ select '2030-01-01 00:00:00+00'::timestamptz + interval '1 second' * last_value from iso.clock $$;

-- A session that is to stop at a place waits there for iso.gate, a lock that another session holds meanwhile. p_place is
-- the name of a function and how many calls of it pass before: 'forgotten 1' stops at the second call.
create function iso.stop(p_place text) returns void
language plpgsql as $$
declare
  v_at text := current_setting('iso.stop_at', true);
begin
  if split_part(v_at, ' ', 1) <> p_place or v_at is null then
    return;
  end if;
  if split_part(v_at, ' ', 2)::integer > 0 then
    perform set_config('iso.stop_at', p_place || ' ' || split_part(v_at, ' ', 2)::integer - 1, true);
    return;
  end if;
  perform set_config('iso.stop_at', '', true);
  perform pg_advisory_lock_shared(1, 1);
  perform pg_advisory_unlock_shared(1, 1);
end
$$;
create function iso.shut() returns text
language plpgsql as $$ begin perform pg_advisory_unlock_all(), pg_advisory_lock(1, 1); return 'shut'; end $$;
create function iso.open() returns text
language plpgsql as $$ begin perform pg_advisory_unlock(1, 1); return 'open'; end $$;
create function iso.stops_at(p_place text) returns void
language plpgsql as $$
begin
  perform set_config('iso.stop_at', case p_place
    when 'no row seen' then 'lock_of 0'       -- begin, between its look for a row and its insert
    when 'row seen' then 'forgotten 1'        -- begin, between its look at the row and its lock
    when 'row seen here' then 'forgotten 0'   -- begin_here, the same
    when 'claim seen' then 'in_scope 0'       -- complete, probe_now: between its look at the row and its lock
    when 'rows locked' then 'forgotten 0'     -- retain, between the locks it takes and its deletes
    when 'tool looked for' then 'lock_of_business 0' -- begin_guarded, between its look for the policy and what it judges
    when 'first ten locked' then 'now 1'      -- sweep, at its first row; the next ten rows are not fetched yet
    else '' end, true);
end
$$;

-- The real functions, with a place to stop in each.
alter function effect.lock_of(uuid) rename to lock_of_real;
create function effect.lock_of(p_id uuid) returns bigint
language plpgsql as $$ begin perform iso.stop('lock_of'); return effect.lock_of_real(p_id); end $$;
alter function effect.lock_of_business(uuid) rename to lock_of_business_real;
create function effect.lock_of_business(p_business uuid) returns bigint
language plpgsql as $$ begin perform iso.stop('lock_of_business'); return effect.lock_of_business_real(p_business); end $$;
alter function effect.forgotten(effect.state, timestamptz, timestamptz) rename to forgotten_real;
create function effect.forgotten(p_state effect.state, p_keep_until timestamptz, p_now timestamptz) returns boolean
language plpgsql as $$ begin perform iso.stop('forgotten'); return effect.forgotten_real(p_state, p_keep_until, p_now); end $$;
alter function effect.in_scope(text, text) rename to in_scope_real;
create function effect.in_scope(p_namespace text, p_scope text) returns boolean
language plpgsql as $$ begin perform iso.stop('in_scope'); return effect.in_scope_real(p_namespace, p_scope); end $$;
create or replace function effect.now() returns timestamptz
language plpgsql as $$ begin perform iso.stop('now'); return iso.now(); end $$;

-- Guards change nothing for begins that name no turn and have no business key.
create function iso.policy(p_more jsonb default '{}') returns text
language sql as $$
  select 'policy ' || (effect_test.tool('quick', '{"settle": "0s", "absent_needed": 1, "turn_budget": 1, "business_window": "1h",
    "on_business_duplicate": "hold"}'::jsonb || p_more) is not null)
$$;
select iso.policy();
-- What is begun from then on is under on_unknown = retry.
create function iso.retries(p_window text default '1h') returns text
language sql as $$
  select iso.policy(jsonb_build_object('on_unknown', 'retry', 'retry_window', p_window, 'max_attempts', 9))
$$;

-- Who was told `run` for what. Written in the transaction of the answer, as no answer leaves before its commit.
create table iso.told (key text, attempt integer, token text, at timestamptz);

-- Tokens have names: t1, t2, ...
create function iso.token(p_key text, p_name text) returns uuid
language sql immutable as $$ select effect_test.uid(p_key || ' ' || p_name) $$;
create function iso.name_of(p_key text, p_token uuid) returns text
language sql immutable as $$ select 't' || i from generate_series(1, 9) i where iso.token(p_key, 't' || i) = p_token $$;
create function iso.id(p_key text) returns uuid
language sql immutable as $$ select effect.id('default', 'quick', p_key) $$;
create function iso.entry(p_key text, p_token text, p_more jsonb) returns jsonb
language sql immutable as $$ select effect_test.e(p_key, p_token, '{"tool": "quick"}'::jsonb || p_more) $$;

-- 'ok: done succeeded, already' and the like; what the answer does not say is left out
create function iso.says(p jsonb) returns text
language sql immutable as $$
  select p ->> 'answer' || coalesce(': ' || (p ->> 'state'), '') || coalesce(' ' || (p ->> 'outcome'), '')
    || case when (p ->> 'already')::boolean then ', already' else '' end
$$;

create function iso.begin(p_token text, p_key text default 'k', args text default 'args', request text default null,
  resent boolean default false, stop text default '') returns text
language plpgsql as $$
declare
  v jsonb;
begin
  perform iso.stops_at(stop);
  v := effect_test.begin(iso.entry(p_key, p_token, jsonb_build_object('fp', args, 'resent', resent, 'regrant', true,
    'request', effect_test.uid(request))));
  if v ->> 'answer' = 'run' then
    insert into iso.told values (p_key, (v ->> 'attempt')::integer, iso.name_of(p_key, (v ->> 'token')::uuid), effect.now());
    return format('run attempt %s with %s', v ->> 'attempt', iso.name_of(p_key, (v ->> 'token')::uuid));
  elsif v ->> 'answer' = 'replay' then
    return format('replay: %s by %s, result %s %s', v ->> 'outcome', v ->> 'decided_by', v ->> 'result_state', v ->> 'result');
  end if;
  return v ->> 'answer';
end
$$;

-- begin of a tool with guards: turn is the turn of one run, whose budget is 1; business a business key
create function iso.guarded(p_token text, p_key text default 'k', turn text default null, business text default null,
  again text default null, resent boolean default false, stop text default '') returns text
language plpgsql as $$
declare
  v jsonb;
begin
  perform iso.stops_at(stop);
  v := effect_test.begin_guarded(iso.entry(p_key, p_token, jsonb_build_object('run', 'r', 'turn', turn, 'business', business,
    'again', again, 'resent', resent)));
  if v ->> 'answer' = 'run' then
    insert into iso.told values (p_key, (v ->> 'attempt')::integer, iso.name_of(p_key, (v ->> 'token')::uuid), effect.now());
    return format('run attempt %s with %s%s', v ->> 'attempt', iso.name_of(p_key, (v ->> 'token')::uuid),
      ', a duplicate of ' || (v ->> 'twin_key'));
  end if;
  return concat_ws(' ', v ->> 'answer', 'by the ' || (v ->> 'budget'), 'by ' || (v ->> 'twin_key'));
end
$$;
-- The policy of iso.guarded, unknown to the ledger, and made known again.
create function iso.forget_tool() returns text
language sql as $$ delete from effect.tool where name = 'quick' returning 'forgotten' $$;
create function iso.register_tool() returns text
language plpgsql as $$ begin perform iso.policy(); return 'registered'; end $$;
create function iso.turn() returns text
language sql as $$
  select coalesce(string_agg(format('turn %s: %s grants, %s asks, %s refused', turn, grants, asks, refused), '; ' order by turn), 'no turn')
  from effect.turn
$$;

-- begin_here and complete_here of whoever has this name. Not of a tool with a business key: iso.plain() makes it one without.
create function iso.plain() returns text
language sql as $$ select iso.policy('{"business_window": null, "on_business_duplicate": null, "turn_budget": null}') $$;
create function iso.here(p_who text, stop text default '') returns text
language plpgsql as $$
declare
  v record;
begin
  perform iso.stops_at(stop);
  select * into v from effect.begin_here('default', 'quick', 'k', replace(effect_test.uid('args')::text, '-', ''));
  if v.decision = 'run' then
    insert into iso.told values ('k', v.attempt, p_who, effect.now());
  end if;
  return concat_ws(' ', v.decision, 'attempt ' || v.attempt, v.result);
end
$$;
create function iso.done_here(p_who text) returns text
language plpgsql as $$
begin
  perform effect.complete_here(l.id, l.token, to_json('done by ' || p_who)) from effect.ledger l where l.id = iso.id('k');
  return 'done';
end
$$;

create function iso.complete(p_token text, p_outcome text default 'succeeded', p_key text default 'k', stop text default '')
returns text
language plpgsql as $$
begin
  perform iso.stops_at(stop);
  return iso.says(effect_test.complete(iso.entry(p_key, p_token, jsonb_build_object('outcome', p_outcome,
    'result', format('"%s of %s"', p_outcome, p_token)))));
end
$$;

-- what reconcile found of a key's effect, brought by an operator
create function iso.incident(p_reason text, p_key text default 'k') returns text
language sql as $$
  select concat_ws(' ', i.answer, case i.already when true then 'already' when false then 'noted' end)
  from effect.incident(array[iso.id(p_key)], array[null::text], array[null::text], array[null::text], array[null::text], array[p_reason],
    array[null::text], array['uid:1']) i
$$;
create function iso.incidents() returns text
language sql as $$
  select coalesce(string_agg(e.reason, ', ' order by e.reason, e.effect), 'none') from effect.event e where e.kind = 'reconcile'
$$;

create function iso.release(p_token text, p_key text default 'k') returns text
language plpgsql as $$ begin return iso.says(effect_test.release(iso.entry(p_key, p_token, '{}'))); end $$;

create function iso.unknown(p_token text) returns text
language plpgsql as $$ begin return iso.says(effect_test.unknown(iso.entry('k', p_token, '{}'))); end $$;

create function iso.extend(p_token text, p_key text default 'k') returns text
language plpgsql as $$ begin return iso.says(effect_test.extend(iso.entry(p_key, p_token, '{}'))); end $$;

-- every task of one sweep: 'lapsed k' or 'probe 1 of k'; of more than three, how many of each
create function iso.sweep(p_rows integer default 100, stop text default '') returns text
language plpgsql as $$
declare
  v_tasks text[];
begin
  perform iso.stops_at(stop);
  v_tasks := array(select format('%s%s %s', t ->> 'task',
      case t ->> 'task' when 'probe' then format(' %s of', t ->> 'probe_no')
        when 'notify' then format(' %s of', t ->> 'notice_no') end, t ->> 'key')
    from jsonb_array_elements(effect_test.sweep(p_rows, 100, true)) t);
  return case when cardinality(v_tasks) > 3 then (select string_agg(format('%s %s times', w, n), ', ' order by w)
      from (select split_part(t, ' ', 1) as w, count(*) as n from unnest(v_tasks) t group by 1) x)
    when cardinality(v_tasks) > 0 then array_to_string(v_tasks, ', ') else 'nothing' end;
end
$$;

-- Somebody who waits wants a probe now.
create function iso.probe_now(stop text default '') returns text
language plpgsql as $$
declare
  v jsonb;
begin
  perform iso.stops_at(stop);
  v := (select to_jsonb(n) from effect.probe_now(array[iso.id('k')], array[null], array[0]) n);
  return concat_ws(' ', v ->> 'answer', v ->> 'in_ms', case v ->> 'answer' when 'probe' then v ->> 'probe_no' end);
end
$$;

create function iso.verdict(p_verdict text, p_attempt integer, p_probe_no integer) returns text
language plpgsql as $$
begin
  return iso.says(effect_test.verdict(jsonb_build_object('id', iso.id('k'), 'verdict', p_verdict, 'attempt', p_attempt,
    'probe_no', p_probe_no, 'result', case when p_verdict = 'landed' then '"probed"' end)));
end
$$;

create function iso.resolve(p_verdict text, p_attempt integer, p_state text) returns text
language plpgsql as $$
begin
  return iso.says(effect_test.resolve(jsonb_build_object('id', iso.id('k'), 'verdict', p_verdict, 'attempt', p_attempt,
    'state', p_state, 'result', case when p_verdict = 'landed' then '"looked up"' end)));
end
$$;

create function iso.retain(stop text default '') returns text
language plpgsql as $$
declare
  v record;
begin
  perform iso.stops_at(stop);
  v := effect.retain(100);
  return format('dropped %s, deleted %s', v.dropped, v.deleted);
end
$$;

-- What came before, and is committed: messages one after another.
create procedure iso.given(variadic p_messages text[] default '{}')
language plpgsql as $$
declare
  v_message text;
begin
  perform setval('iso.clock', 0);
  perform iso.policy();
  truncate effect.ledger, effect.event, effect.turn, effect.past, iso.told;
  foreach v_message in array p_messages loop
    execute 'select iso.' || v_message;
  end loop;
end
$$;

-- What stands in the end. told: each `run` that left, attempt:token. hurt: what may never be: two tokens told for one
-- attempt inside the 30 days for which a key is kept, or a finding of effect.check_invariants().
create function iso.row(p_key text default 'k', out state text, out attempt integer, out token text, out outcome text,
  out decided_by text, out result text, out events text, out told text, out hurt text)
language plpgsql as $$
begin
  select l.state, l.attempt, iso.name_of(p_key, l.token), l.outcome, l.decided_by, l.result
  into state, attempt, token, outcome, decided_by, result
  from (values (iso.id(p_key))) x(id) left join effect.ledger l on l.id = x.id;
  events := effect_test.kinds(iso.id(p_key));
  told := (select string_agg(distinct format('%s:%s', t.attempt, t.token), ' ') from iso.told t where t.key = p_key);
  hurt := coalesce((select string_agg(what, ', ') from (
    select format('attempt %s was told twice', t.attempt) as what from iso.told t join iso.told o using (key, attempt)
    where t.key = p_key and t.token < o.token and abs(extract(epoch from t.at - o.at)) < 30 * 86400
    union all
    select i.invariant from effect.check_invariants() i) x), 'nothing');
end
$$;

-- The instants of the open row, in seconds since the start.
create function iso.times(out lease_until_s integer, out ended_at_s integer, out deadline_at_s integer)
language sql as $$
  select extract(epoch from lease_until - '2030-01-01 00:00:00+00')::integer,
    extract(epoch from ended_at - '2030-01-01 00:00:00+00')::integer,
    extract(epoch from deadline_at - '2030-01-01 00:00:00+00')::integer
  from effect.ledger where id = iso.id('k')
$$;

-- Twelve more keys, k1 to k12, whose leases end in that order, a second apart from the 61st on.
create function iso.many() returns text
language plpgsql as $$
begin
  for i in 1 .. 12 loop
    perform iso.at(i);
    perform iso.begin('t1', 'k' || i);
  end loop;
  return iso.at(100);
end
$$;
-- how many keys stand in which state, and what is hurt
create function iso.all(out states text, out hurt text)
language sql as $$
  select (select string_agg(format('%s %s', n, state), ', ' order by state) from (select state, count(*) as n from effect.ledger
      group by state) x),
    coalesce((select string_agg(i.invariant, ', ') from effect.check_invariants() i), 'nothing')
$$;
