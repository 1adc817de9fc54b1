-- What a client, a daemon and its sweeper do, at an instant of the history: by the functions of effect themselves, so that what is
-- planted is what they write. Each call is a transaction of its own. All of it is temporary and goes with the session.
create temp table habit (n int primary key, namespace text, name text, share_from float8, share_to float8, med_ms float8,
  sd float8, swing float8, peak float8, failed float8, released float8, unknown float8, gave_up_ms float8, replays float8,
  far float8, far_part float8, busy float8, mismatch float8, keep_key_ms bigint, keep_result_ms bigint, lease_ms bigint,
  has_business boolean, has_turn boolean, has_probe boolean, rises boolean, prefix text);

-- What daemons would have counted: added up to effect.stat at the end.
create temp table told (at timestamptz, tool int, decision text, ms bigint);

create or replace function effect.now() returns timestamptz
language sql volatile parallel safe
as $$
  select coalesce(nullif(pg_catalog.current_setting('history.now', true), '')::timestamptz,
    pg_catalog.clock_timestamp())
$$;

create function pg_temp.at(p_at timestamptz) returns void language sql
as $$ select set_config('history.now', to_char(p_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') || '+00', false) $$;

create function pg_temp.version(p_tool int) returns bigint language sql
as $$
  select t.version from effect.tool t join habit h on h.namespace = t.namespace and h.name = t.name
  where h.n = p_tool order by t.registered_at desc, t.version limit 1
$$;

create function pg_temp.id(p_tool int, p_key text) returns uuid language sql
as $$ select effect.id(h.namespace, h.name, p_key) from habit h where h.n = p_tool $$;

create function pg_temp.tell(p_tool int, p_decision text, p_ms bigint) returns void language sql
as $$ insert into told values (effect.now(), p_tool, p_decision, p_ms) $$;

-- Milliseconds since the newest claim of an effect.
create function pg_temp.age(p_id uuid) returns bigint language sql
as $$ select ceil(extract(epoch from effect.now() - l.claimed_at) * 1000)::bigint from effect.ledger l where l.id = p_id $$;

-- p_name: what makes the token and the fingerprint: the caller's, and the call's.
create function pg_temp.begin(p_tool int, p_key text, p_token text, p_args text, p_run text, p_turn text, p_business text,
  p_kept text, p_again text, p_owner text) returns text
language plpgsql
as $$
declare
  v record;
  v_id uuid := pg_temp.id(p_tool, p_key);
begin
  select b.answer, b.done_at into strict v
  from effect.begin_guarded(array[v_id], array[pg_temp.version(p_tool)], array[p_key], array[md5(p_args)::uuid],
    array[md5(p_token)::uuid], array[null::uuid], array[null::int], array[p_owner], array[p_run], array['1'], array[p_turn],
    array[p_kept], array[false], array[5000], array[false], array[md5(p_business)::uuid], array[p_again], array[false],
    effect.now(), null, null) b;
  perform pg_temp.tell(p_tool, v.answer, 1);
  if v.answer = 'replay' then
    perform pg_temp.tell(p_tool, 'replay_age', ceil(extract(epoch from effect.now() - v.done_at) * 1000)::bigint);
  end if;
  return v.answer;
end
$$;

create function pg_temp.complete(p_tool int, p_key text, p_token text, p_outcome text, p_result text) returns text
language plpgsql
as $$
declare
  v record;
  v_id uuid := pg_temp.id(p_tool, p_key);
begin
  select c.answer, c.already into strict v
  from effect.complete(array[v_id], array[md5(p_token)::uuid], array[(select h.namespace from habit h where h.n = p_tool)],
    array[null::bigint], array[p_outcome], array[p_result], array[null::bigint], array[null::bytea], array[false]) c;
  if v.answer = 'ok' and not v.already then
    perform pg_temp.tell(p_tool, case p_outcome when 'succeeded' then 'completed' else p_outcome end, pg_temp.age(v_id));
  end if;
  return v.answer;
end
$$;

create function pg_temp.release(p_tool int, p_key text, p_token text, p_reason text) returns text
language plpgsql
as $$
declare
  v_answer text;
begin
  perform pg_temp.tell(p_tool, 'released', pg_temp.age(pg_temp.id(p_tool, p_key)));
  select r.answer into strict v_answer
  from effect.release(array[pg_temp.id(p_tool, p_key)], array[md5(p_token)::uuid], array[null::text], array[p_reason],
    array[false]) r;
  return v_answer;
end
$$;

create function pg_temp.unknown(p_tool int, p_key text, p_token text, p_reason text) returns text
language plpgsql
as $$
declare
  v_answer text;
begin
  perform pg_temp.tell(p_tool, 'gave_up', pg_temp.age(pg_temp.id(p_tool, p_key)));
  select u.answer into strict v_answer
  from effect.unknown(array[pg_temp.id(p_tool, p_key)], array[md5(p_token)::uuid], array[null::text], array[p_reason],
    array[false]) u;
  return v_answer;
end
$$;

-- One pass of a sweeper whose probes and notices are answered at once; p_verdict null: no word ever comes.
create function pg_temp.sweep(p_verdict text, p_notify boolean) returns text
language plpgsql
as $$
declare
  v record;
  v_tool int;
  v_did text := '';
begin
  for v in select * from effect.sweep(1000, 100, p_notify) s order by s.effect, s.task loop
    select h.n into strict v_tool from habit h where h.namespace = v.namespace and h.name = v.tool;
    v_did := v_did || v.task || ' ';
    if v.task = 'probe' and p_verdict is not null then
      perform effect.verdict(array[v.effect], array[v.attempt], array[v.probe_no], array[p_verdict], array['HTTP 503'],
        array[null::text], array[null::bigint], array[null::bytea], array[false]);
      perform pg_temp.tell(v_tool, 'probe_' || p_verdict, 80);
    elsif v.task = 'notify' then
      perform effect.notified(array[v.effect], array[v.notice_no], array[true], array[null::text]);
    elsif v.task = 'lapsed' then
      perform pg_temp.tell(v_tool, 'lapsed', 0);
    elsif v.task = 'escalated' then
      perform pg_temp.tell(v_tool, 'escalated_effect', 0);
    end if;
  end loop;
  return v_did;
end
$$;

-- Ageing, to its end.
create function pg_temp.retain() returns void
language plpgsql
as $$
declare
  v record;
begin
  loop
    select * into v from effect.retain(1000);
    exit when v.dropped + v.deleted = 0;
  end loop;
end
$$;
