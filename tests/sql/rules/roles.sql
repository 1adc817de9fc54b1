-- The daemon's role may call functions and nothing else; the report role may read views and counts, and call the reports.
select no_plan();
create function pg_temp.told(p_role text, p_sql text) returns text language plpgsql as $$
declare
  v_state text := 'fine';
begin
  execute format('set local role %I', p_role);
  begin
    execute p_sql;
  exception when others then
    v_state := sqlstate;
  end;
  reset role;
  return v_state;
end
$$;
grant usage on schema effect_test to effect_daemon, effect_report;
create table calls (name text, call text);
insert into calls values
  ('begin', $$ select * from effect.begin(array[effect.id('default', 'probed', 'a')], array[(42)::bigint], array['a'], array[null]::uuid[], array[gen_random_uuid()], array[null]::uuid[], array[null]::int[], array[null]::text[], array[null]::text[], array[null]::text[], array[null]::text[], array[null]::text[], array[false], array[5000], array[false], clock_timestamp(), null, null) $$),
  ('complete', $$ select * from effect.complete('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}') $$),
  ('release', $$ select * from effect.release('{}', '{}', '{}', '{}', '{}') $$),
    ('unknown', $$ select * from effect.unknown('{}', '{}', '{}', '{}', '{}') $$),
  ('extend', $$ select * from effect.extend('{}', '{}', '{}', '{}') $$),
    ('get', $$ select * from effect.get(array[gen_random_uuid()], array[null]::text[], array[1]) $$),
  ('list', $$ select * from effect.list(null, null, null, null, null, null, 10, null, null) $$),
    ('sweep', $$ select * from effect.sweep(1, 1, true) $$),
  ('verdict', $$ select * from effect.verdict('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}') $$),
    ('probe_now', $$ select * from effect.probe_now('{}', '{}', '{}') $$),
  ('probe_look', $$ select * from effect.probe_look('{}', '{}') $$), ('would', $$ select * from effect.would('{}', '{}', '{}', '{}', '{}') $$),
    ('peek', $$ select * from effect.peek('{}') $$),
  ('resolve', $$ select * from effect.resolve('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}') $$),
    ('policy_of', $$ select * from effect.policy_of('{}') $$),
  ('notified', $$ select * from effect.notified('{}', '{}', '{}', '{}') $$), ('retain', $$ select * from effect.retain(1) $$),
    ('forget_events', $$ select * from effect.forget_events(0, 1) $$),
  ('open_counts', $$ select * from effect.open_counts() $$),
    ('stat_add', $$ select effect.stat_add(gen_random_uuid(), gen_random_uuid(), 0, 'h', '1', 1, 0, false, '{}', '{}', '{}', '{}', '{}', '{}') $$),
  ('stat_roll', $$ select * from effect.stat_roll(1) $$),
    ('fleet', $$ select * from effect.fleet() $$), ('policies_differ', $$ select * from effect.policies_differ(1) $$),
    ('daemon_policies', $$ select effect.daemon_policies(gen_random_uuid(), gen_random_uuid(), 0, 'h', '1', '{}') $$),
  ('check_invariants', $$ select * from effect.check_invariants() $$),
    ('execute_failed', $$ select * from effect.execute_failed('{}', '{}', '{}') $$),
    ('register_tools', $$ select effect.register_tools('{}', '{}', '{}', '{}') $$);
select is(pg_temp.told('effect_daemon', call), 'fine', 'the daemon may call ' || name) from calls order by name;
select is(pg_temp.told('effect_report', call), '42501', 'the report role may not call ' || name) from calls order by name;

-- reports: the dispatcher is the daemon's, too; each by itself for psql
create table reports (name text, call text);
insert into reports
select p.proname, format('select * from effect.%I(null, null, null, now() - interval ''1 d'', now(), 10%s)', p.proname,
  case p.proname when 'report_duplicates' then ', null' when 'report_churn' then ', 3' else '' end)
from pg_proc p where p.pronamespace = 'effect'::regnamespace and p.proname ~ '^report_' and p.prosecdef;
select ok((select count(*) from reports) >= 12, 'there are reports');
select is(pg_temp.told('effect_report', call), 'fine', 'the report role may call ' || name) from reports order by name;
select is(pg_temp.told('effect_daemon', call), '42501', 'the daemon may not call ' || name) from reports order by name;
select is(pg_temp.told(r, $$ select effect.report(null, 'summary', null, null, null, null, 10, null, 3) $$), 'fine', 'effect.report is for ' || r)
from unnest('{effect_daemon,effect_report}'::text[]) r;

select is(pg_temp.told(r.name, c.call), r.state, format('what only people look at, %s as %s', c.call, r.name))
from (values ('effect_daemon', '42501'), ('effect_report', 'fine')) r (name, state),
  (values ('select * from effect.daemons(null)'), ('select * from effect.counts_missing(now(), now())')) c (call);

-- no table, in any way
select is(pg_temp.told('effect_daemon', format(verb, c.oid::regclass)), '42501',
  format('the daemon may not %s', format(verb, c.oid::regclass)))
from pg_class c, unnest(array['select * from %s', 'delete from %s', 'truncate %s', 'insert into %s default values']) verb
where c.relnamespace = 'effect'::regnamespace and c.relkind in ('r', 'v') and c.relname <> 'schema_version'
  and not (c.relkind = 'v' and verb !~ 'select') order by 1;
select is(pg_temp.told('effect_report', format('select * from %s', c.oid::regclass)),
  case when c.relkind = 'v' or c.relname in ('schema_version', 'stat') then 'fine' else '42501' end,
  format('the report role and %s', c.oid::regclass)) from pg_class c where c.relnamespace = 'effect'::regnamespace
    and c.relkind in ('r', 'v');
select is(pg_temp.told('effect_daemon', 'select * from effect.schema_version'), 'fine',
  'the daemon reads which version is installed');
select is(pg_temp.told('effect_report', 'delete from effect.stat'), '42501', 'the report role deletes nothing');
select is_empty($$ select c.oid::regclass, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid where c.relnamespace = 'effect'::regnamespace and c.relkind = 'v'
  and a.attname in ('token', 'request', 'instance', 'boot', 'result') $$, 'no view shows tokens, requests or results');
-- for everybody: what asks effect.access first, or for what the caller's own transaction claimed, and nothing else
select results_eq($$ select p.oid::regprocedure::text from pg_proc p where p.pronamespace = 'effect'::regnamespace and has_function_privilege('public', p.oid, 'execute') order by 1 $$,
  array['effect.begin_here(text,text,text,text)', 'effect.complete_here(uuid,uuid,json)',
    'effect.execute_begin(uuid,bigint,text,uuid,uuid,uuid,text,text,text,text,text,uuid,text,boolean,boolean)',
    'effect.execute_done(uuid,uuid,text,boolean)'], 'four functions for public');
select is_empty($$ select c.oid::regclass from pg_class c where c.relnamespace = 'effect'::regnamespace and has_table_privilege('public', c.oid, 'select') and c.relkind in ('r', 'v') $$,
  'no table for public');
-- functions that run with their owner's rights cannot be led astray by a path
select is_empty($$ select p.oid::regprocedure from pg_proc p where p.pronamespace = 'effect'::regnamespace and p.prosecdef
  and not exists (select from unnest(p.proconfig) c where c like 'search_path=pg_catalog, pg_temp%') $$, 'each security definer function pins its search_path');
select is((select string_agg(distinct r.rolname, ',') from pg_proc p join pg_roles r on r.oid = p.proowner
  where p.pronamespace = 'effect'::regnamespace), 'effect_owner', 'all functions are the owner''s');
select is((select string_agg(distinct r.rolname, ',') from pg_class c join pg_roles r on r.oid = c.relowner
  where c.relnamespace = 'effect'::regnamespace), 'effect_owner', 'so are the tables');
select ok(not rolcanlogin and not rolsuper and not rolcreatedb and not rolcreaterole, rolname || ' is no login and no superuser')
  from pg_roles where rolname in ('effect_owner', 'effect_daemon', 'effect_report');
-- a hostile search_path of the caller changes nothing
create schema hostile;
create function hostile.now() returns timestamptz language sql as $$ select 'epoch'::timestamptz $$;
create table hostile.ledger (id uuid);
set search_path = hostile, effect, public;
select is(effect_test.begin(effect_test.e('path', 't1')) ->> 'answer', 'run', 'a caller''s search_path is not looked at');
reset search_path;
select is((effect_test.row('path') ->> 'claimed_at')::timestamptz, effect.now(), 'the clock is ours');
select * from finish();
