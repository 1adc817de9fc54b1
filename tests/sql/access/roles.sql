-- Who may act in a namespace from his own session: a role that the owner named for it, its members, and nobody else.
select no_plan();
create role shop_app nologin; create role web login in role shop_app; create role stranger login;
create role pool login noinherit in role shop_app, stranger; create role hand login superuser;
create role clerk login in role effect_owner;
-- As which session, with which `set role`, what may_act says: asked by a function with its owner's rights, as begin_here does.
create function effect_test.may(p_namespace text) returns boolean language sql security definer
set search_path = pg_catalog, pg_temp as $$ select effect.may_act(p_namespace) $$;
alter function effect_test.may owner to effect_owner;
grant usage on schema effect_test to public;
create function pg_temp.may(p_session text, p_role text, p_namespace text) returns boolean language plpgsql as $$
declare
  v_may boolean;
begin
  execute format('set local session authorization %I', p_session);
  if p_role is not null then
    execute format('set local role %I', p_role);
  end if;
  v_may := effect_test.may(p_namespace);
  set local session authorization default;
  return v_may;
end
$$;
grant execute on function pg_temp.may to public;
create function pg_temp.who(p_namespace text) returns text language sql as $$
  select string_agg(concat_ws('>', session, role), ' ' order by n)
  from (values (1, 'web', null), (2, 'web', 'shop_app'), (3, 'stranger', null), (4, 'pool', null), (5, 'pool', 'shop_app'),
    (6, 'pool', 'stranger'), (7, 'hand', null), (8, 'hand', 'stranger')) x(n, session, role)
  where pg_temp.may(session, role, p_namespace)
$$;
select is(pg_temp.who('payments'), null, 'nobody at first, a superuser included');
select is(effect.allow('shop_app', 'payments'), true, 'the owner allows a role');
select is(effect.allow('shop_app', 'payments'), false, 'again: it was so before');
select is(pg_temp.who('payments'), 'web web>shop_app pool>shop_app hand',
  'its members; of who does not inherit, only where he has set the role; a superuser, but not where he has set another role');
select is(pg_temp.who('other'), null, 'no other namespace');
select is(effect.allow('stranger', 'other'), true, 'a login by itself');
select is(pg_temp.who('other'), 'stranger pool>stranger hand hand>stranger', 'and who has become it');
select is(effect.disallow('shop_app', 'payments'), true, 'the owner takes it back');
select is(effect.disallow('shop_app', 'payments'), false, 'again: it is gone');
select is(pg_temp.who('payments'), null, 'nobody any more');
select throws_ok($$ select effect.allow('nobody_at_all', 'payments') $$, 'ZE003', null, 'a role that is not there');
select throws_ok(format('select effect.allow(%L, %L)', 'web', ns), 'ZE003', null, format('no namespace: %s', to_json(left(ns, 20))))
from unnest(array['', 'Payments', 'a b', repeat('a', 64), E'a\nb']) ns;
select is(effect.allow('web', repeat('a', 63)), true, 'the longest namespace');
-- a role that is gone may nothing, is no error for others, and can be taken back
select effect.allow('stranger', 'payments') \gset
alter role stranger rename to somebody;
select is(pg_temp.may('web', null, 'payments'), false, 'a role that is gone is no error');
select is(pg_temp.may('somebody', null, 'payments'), false, 'a role of another name is another role');
select is(effect.disallow('stranger', 'payments'), true, 'a role that is gone is taken back');
-- whose it is to say
set session authorization web;
select throws_ok($$ select effect.allow('web', 'payments') $$, '42501', null, 'nobody allows himself');
select throws_ok($$ insert into effect.access values (now(), 'payments', 'web') $$, '42501', null, 'in no way');
set session authorization clerk;
select is(effect.allow('web', 'clerks'), true, 'a member of the owner may');
reset session authorization;
drop owned by shop_app, web, pool, hand, clerk, somebody;
drop role shop_app, web, pool, hand, clerk, somebody;
select * from finish();
