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

-- What the ledger says is to be counted of an answer: 'completed:1234 late:1234'.
create function pg_temp.count(p_tool int, p_counted text) returns void language sql
as $$
  insert into told
  select effect.now(), p_tool, split_part(w, ':', 1), split_part(w, ':', 2)::bigint from unnest(string_to_array(p_counted, ' ')) as w
$$;

-- p_token, p_args: texts that make the token and the fingerprint.
create function pg_temp.begin(p_tool int, p_key text, p_token text, p_args text, p_run text, p_turn text, p_business text,
  p_kept text, p_again text, p_owner text) returns text
language plpgsql
as $$
declare
  v record;
  v_id uuid := pg_temp.id(p_tool, p_key);
begin
  select b.answer, b.counted into strict v
  from effect.begin_guarded(array[v_id], array[pg_temp.version(p_tool)], array[p_key], array[md5(p_args)::uuid],
    array[md5(p_token)::uuid], array[null::uuid], array[null::int], array[p_owner], array[p_run], array['1'], array[p_turn],
    array[p_kept], array[false], array[5000], array[false], array[md5(p_business)::uuid], array[p_again], array[false],
    effect.now(), null, null) b;
  perform pg_temp.count(p_tool, concat_ws(' ', v.answer || ':1', v.counted));
  return v.answer;
end
$$;

create function pg_temp.complete(p_tool int, p_key text, p_token text, p_outcome text, p_result text) returns text
language sql
as $$
  select c.answer || coalesce(pg_temp.count(p_tool, c.counted)::text, '')
  from effect.complete(array[pg_temp.id(p_tool, p_key)], array[md5(p_token)::uuid],
    array[(select h.namespace from habit h where h.n = p_tool)], array[null::bigint], array[p_outcome], array[p_result],
    array[null::bigint], array[null::bytea], array[false]) c
$$;

create function pg_temp.release(p_tool int, p_key text, p_token text, p_reason text) returns text
language sql
as $$
  select r.answer || coalesce(pg_temp.count(p_tool, r.counted)::text, '')
  from effect.release(array[pg_temp.id(p_tool, p_key)], array[md5(p_token)::uuid], array[null::text], array[p_reason],
    array[false]) r
$$;

create function pg_temp.unknown(p_tool int, p_key text, p_token text, p_reason text) returns text
language sql
as $$
  select u.answer || coalesce(pg_temp.count(p_tool, u.counted)::text, '')
  from effect.unknown(array[pg_temp.id(p_tool, p_key)], array[md5(p_token)::uuid], array[null::text], array[p_reason],
    array[false]) u
$$;

create function pg_temp.extend(p_tool int, p_key text, p_token text, p_lease_ms text) returns text
language sql
as $$
  select x.answer
  from effect.extend(array[pg_temp.id(p_tool, p_key)], array[md5(p_token)::uuid], array[null::text], array[p_lease_ms::int]) x
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
    perform pg_temp.count(v_tool, v.counted);
    if v.task = 'probe' and p_verdict is not null then
      perform pg_temp.count(v_tool, concat_ws(' ', 'probe_' || p_verdict || ':80', d.counted))
      from effect.verdict(array[v.effect], array[v.attempt], array[v.probe_no], array[p_verdict], array['HTTP 503'],
        array[null::text], array[null::bigint], array[null::bytea], array[false]) d;
    elsif v.task = 'notify' then
      perform effect.notified(array[v.effect], array[v.notice_no], array[true], array[null::text]);
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
