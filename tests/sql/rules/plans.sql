-- Hot statements use indexes, whatever the size of the tables when they were planned: one session, whose plans are cached
-- while the tables are empty, meets 1,000 and then 200,000 rows.
select no_plan();
create function pg_temp.scans() returns bigint language sql as $$
  select coalesce(sum(seq_scan), 0)::bigint from pg_stat_xact_user_tables where schemaname = 'effect' and relname in ('ledger', 'event') $$;
-- every hot statement, its plain cases, a few times over; how many sequential scans of ledger and event it took
create function pg_temp.hot(p_round text, p_name text) returns bigint language plpgsql as $$
declare
  v_before bigint;
  v_keys text[] := array(select format('hot %s %s', p_round, i) from generate_series(1, 8) i);
  v_all jsonb;
  v_others jsonb;
begin
  v_all := (select jsonb_agg(effect_test.e(k, 't1') order by k) from unnest(v_keys) k);
  v_others := (select jsonb_agg(jsonb_build_object('key', k)) from unnest(v_keys) k);
  v_before := pg_temp.scans();
  case p_name
    when 'begin' then perform effect_test.begin(v_all);
    when 'begin busy' then perform effect_test.begin(v_others);
    when 'extend' then perform effect_test.extend(v_all);
    when 'get' then perform effect_test.get(v_all);
    when 'peek' then perform effect.peek(array(select effect_test.id_of(e.j) from effect_test.entries(v_all) e));
    when 'release' then perform effect_test.release(v_all);
    when 'begin attempt 2' then perform effect_test.begin((select jsonb_agg(effect_test.e(k, 't2') order by k)
      from unnest(v_keys) k));
    when 'complete with an earlier token' then perform effect_test.complete((select jsonb_agg(e.j || '{"outcome": "failed"}')
      from effect_test.entries(v_all) e));
    when 'complete with another token' then perform effect_test.complete((select jsonb_agg(effect_test.e(k, 'nobody'))
      from unnest(v_keys) k));
    when 'unknown' then perform effect_test.unknown((select jsonb_agg(effect_test.e(k, 't2')) from unnest(v_keys[1:4]) k));
    when 'begin unknown' then perform effect_test.begin(v_others);
    when 'sweep' then perform effect_test.sweep(50, 10, true);
    when 'verdict' then perform effect_test.verdict((select jsonb_agg(jsonb_build_object('id', effect.id('default', 'probed', k),
      'attempt', 2, 'probe_no', 1, 'verdict', 'absent')) from unnest(v_keys[1:2]) k));
    when 'resolve' then perform effect_test.resolve((select jsonb_agg(jsonb_build_object('key', k, 'verdict', 'landed', 'attempt',
      2, 'state', 'unknown')) from unnest(v_keys[3:4]) k));
    when 'complete' then perform effect_test.complete((select jsonb_agg(effect_test.e(k, 't2')) from unnest(v_keys[5:8]) k));
    when 'begin replay' then perform effect_test.begin(v_others);
    when 'retain' then perform effect.retain(50);
    when 'forget_events' then perform effect.forget_events(0, 50);
  end case;
  return pg_temp.scans() - v_before;
end
$$;
create table steps (n serial, name text);
insert into steps (name) select unnest(array['begin', 'begin busy', 'extend', 'get', 'peek', 'release', 'begin attempt 2',
  'complete with an earlier token', 'complete with another token', 'unknown', 'begin unknown', 'sweep', 'verdict',
  'resolve', 'complete', 'begin replay', 'retain', 'forget_events']);
-- more rows of every state, with events, most of them done; the statistics are those of a table just filled
create procedure pg_temp.fill(p_from int, p_to int) language plpgsql as $$
declare
  v_policy bigint := (select version from effect_test.tool where name = 'probed');
begin
  insert into effect.ledger (id, token, fingerprint, policy, claimed_at, due_at, keep_until, lease_until, ended_at, since,
    deadline_at, done_at, attempt, state, outcome, decided_by, result_state, key, result, result_bytes)
  select effect.id('default', 'probed', 'fill ' || i), gen_random_uuid(), gen_random_uuid(), v_policy, effect.now(),
    effect.now() + interval '20 d', effect.now() + interval '30 d',
    case s when 'pending' then effect.now() + interval '20 d' end, case when s in ('unknown', 'escalated') then effect.now() end,
      case when s in ('unknown', 'escalated') then effect.now() end,
    case when s = 'unknown' then effect.now() + interval '30 d' end, case when s in ('done', 'released') then effect.now() end, 1,
      s::effect.state, case s when 'done' then 'succeeded'::effect.outcome end,
    case s when 'done' then 'caller'::effect.decider end, case s when 'done' then 'kept'::effect.result_state end, 'fill ' || i,
      case s when 'done' then '{"r":1}' end, case s when 'done' then 7 end
  from (select i,
    (array['done', 'done', 'done', 'done', 'done', 'released', 'pending', 'unknown', 'escalated', 'done'])[1 + i % 10] as s
    from generate_series(p_from, p_to) i) x;
  insert into effect.event (effect, at, attempt, kind, incident) select l.id, effect.now(), 1, 'late',
    i % 100 = 0 from generate_series(p_from, p_to) i join effect.ledger l on l.key = 'fill ' || i where i % 2 = 0;
end
$$;
select is(pg_temp.hot('0.' || r, name), 0::bigint, format('empty tables, round %s: %s', r, name)) from generate_series(1, 6) r,
  steps order by r, n;
-- the trap: planned when the statistics say that a scan of the one page is cheapest, and kept
analyze effect.ledger, effect.event;
select is(pg_temp.hot('few.' || r, name), 0::bigint, format('a few rows, analyzed, round %s: %s', r, name))
  from generate_series(1, 6) r, steps order by r, n;
call pg_temp.fill(1, 1000);
select is(pg_temp.hot('1000.' || r, name), 0::bigint, format('1,000 rows, round %s: %s', r, name)) from generate_series(1, 2) r,
  steps order by r, n;
call pg_temp.fill(1001, 200000);
select is(pg_temp.hot('200000.' || r, name), 0::bigint, format('200,000 rows, round %s: %s', r, name))
  from generate_series(1, 2) r, steps order by r, n;
analyze effect.ledger, effect.event;
select is(pg_temp.hot('analyzed.' || r, name), 0::bigint, format('200,000 rows, analyzed, round %s: %s', r, name))
  from generate_series(1, 2) r, steps order by r, n;
-- and each of them took its index: a point look-up, not a walk
create function pg_temp.touched() returns bigint language sql as $$
  select sum(idx_tup_fetch + seq_tup_read)::bigint from pg_stat_xact_user_tables where schemaname = 'effect' and relname in ('ledger', 'event') $$;
create function pg_temp.cost(p_round text, p_name text) returns bigint language plpgsql as $$
declare
  v_before bigint := pg_temp.touched();
begin
  perform pg_temp.hot(p_round, p_name);
  return pg_temp.touched() - v_before;
end
$$;
select ok(cost < 2000, format('200,000 rows: %s reads few rows (%s)', name, cost))
  from (select n, name, pg_temp.cost('cost', name) as cost from steps order by n) x order by n;
select * from finish();
