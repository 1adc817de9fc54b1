-- Where the policies in force differ between daemons that are up, and who they are.
begin;
select no_plan();
select effect_test.tool('mail', '{}') \gset
create function pg_temp.has(p_instance text, p_boot int, p_tools text[]) returns void language sql as $$
  select effect.daemon_policies(effect_test.boot(p_boot), effect_test.uid(p_instance), 0, 'host-' || p_instance, '1.0',
    array(select t.version from effect.tool t where t.namespace || '/' || t.name = any (p_tools)))
$$;
create function pg_temp.differ() returns jsonb language sql as $$
  select coalesce(jsonb_agg(jsonb_build_array(d.namespace, d.tool, d.host, d.policy is not null) order by d.namespace, d.tool, d.host), '[]')
  from effect.policies_differ(100) d
$$;
create function pg_temp.fleet() returns jsonb language sql as $$
  select coalesce(jsonb_agg(jsonb_build_array(f.host, f.silent) order by f.host), '[]') from effect.fleet() f
$$;
select is(pg_temp.differ(), '[]', 'nobody differs where nobody is');
select is(pg_temp.fleet(), '[]', 'and nobody is told');
select pg_temp.has('a', 1, '{default/mail,default/probed}') \gset
select is(pg_temp.differ(), '[]', 'one alone does not');
select pg_temp.has('b', 1001, '{default/mail,default/probed}') \gset
select is(pg_temp.differ(), '[]', 'nor two with the same');
select is(pg_temp.fleet(), '[["host-a", false], ["host-b", false]]', 'both are told');
select pg_temp.has('c', 2001, '{default/mail}') \gset
select is(pg_temp.differ(), '[["default", "probed", "host-a", true], ["default", "probed", "host-b", true], ["default", "probed", "host-c", false]]',
  'one that lacks a policy does, and the others are named with it');
select pg_temp.has('c', 2001, '{}') \gset
select is(pg_temp.differ(), '[]', 'one that has none in the namespace does not serve it');
select effect_test.tool('mail', '{"lease": "5m"}') as newer \gset
update effect.daemon set policies = array[:newer] || array(select t.version from effect.tool t where t.name = 'probed') where host = 'host-c';
select is((select count(distinct d.policy) from effect.policies_differ(100) d where d.tool = 'mail'), 2::bigint, 'another version does');
select is((select count(*) from effect.policies_differ(2)), 2::bigint, 'no more rows than are asked for');
select effect_test.advance('31 s') \gset
select is(pg_temp.differ(), '[]', 'who is silent counts for nothing');
select is(pg_temp.fleet(), '[["host-a", true], ["host-b", true], ["host-c", true]]', 'and is told as such');
select pg_temp.has('a', 2, '{default/mail}') \gset
select is((select f.silent from effect.fleet() f where f.host = 'host-a'), false, 'of each its newest start');
select effect_test.advance('1 day') \gset
select is(pg_temp.fleet(), '[]', 'a day later it is forgotten');
select * from finish();
rollback;
