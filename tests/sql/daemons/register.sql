-- Who shares this ledger, and which policies are in force where.
begin;
select no_plan();
select effect_test.tool('mail', '{}') \gset
create function pg_temp.flush(p_instance text, p_boot int, p_no int, p_end boolean default false) returns text language sql as $$
  select effect.stat_add(effect_test.boot(p_boot), effect_test.uid(p_instance), 0, 'host-' || p_instance, '1.' || p_boot, p_no, 0, p_end,
    '{}', '{}', '{}', '{}', '{}', '{}')
$$;
create function pg_temp.daemons(p_scope text default null) returns jsonb language sql as $$
  select coalesce(jsonb_agg(jsonb_build_array(d.host, d.version, d.state) order by d.host), '[]') from effect.daemons(p_scope) d
$$;
select is(pg_temp.daemons(), '[]', 'nobody at first');
select effect.daemon_policies(effect_test.boot(1), effect_test.uid('a'), 0, 'host-a', '1.1', array(select t.version from effect.tool t where t.name in ('mail', 'probed'))) \gset
select is(pg_temp.daemons(), '[["host-a", "1.1", "up"]]', 'one that told its policies, and flushed nothing yet');
select pg_temp.flush('a', 1, 1) \gset
select is((select count(*) from effect.daemon), 1::bigint, 'its flush is of the same start');
select is((select d.policies::jsonb from effect.daemons(null) d),
  (select jsonb_agg(jsonb_build_object('namespace', t.namespace, 'tool', t.name, 'version', t.version::text) order by t.namespace, t.name)
    from effect.tool t where t.name in ('mail', 'probed')), 'its policies, by name and version');
select is((select d.policies from effect.daemons('elsewhere') d), '[]', 'those of other namespaces are not told');
select pg_temp.flush('b', 1001, 1) \gset
select effect_test.advance('31 s') \gset
select pg_temp.flush('b', 1001, 2, true) \gset
select is(pg_temp.daemons(), '[["host-a", "1.1", "silent"], ["host-b", "1.1001", "ended"]]', 'one is silent, another one has ended');
select pg_temp.flush('a', 2, 1) \gset
select is(pg_temp.daemons(), '[["host-a", "1.2", "up"], ["host-b", "1.1001", "ended"]]', 'of each its newest start');
select is((select d.policies from effect.daemons(null) d where d.host = 'host-a'), '[]', 'which has to tell its policies itself');
select * from finish();
rollback;
