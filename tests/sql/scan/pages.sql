-- scan: one tool's effects by id, each once over all pages whatever moves meanwhile; the window; what was forgotten; bounds.
begin;
select no_plan();
create function pg_temp.page(p_after uuid default null, p_limit int default 1000, p_from timestamptz default null,
  p_to timestamptz default null, p_tool text default 'probed', p_scope text default null, p_kept boolean default false)
returns jsonb language sql as $$
  select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(s))) filter (where s.state <> 'end'), '[]')
  from effect.scan(p_scope, 'default', p_tool, p_from, p_to, p_after, p_limit, p_kept) s $$;
create function pg_temp.ends(p_after uuid default null, p_limit int default 1000, p_tool text default 'probed') returns uuid language sql as $$
  select s.effect from effect.scan(null, 'default', p_tool, null, null, p_after, p_limit, false) s where s.state = 'end' $$;
select is(pg_temp.page(), '[]', 'of nothing: no rows');
select is(pg_temp.ends(), null, 'and the end');
select is(pg_temp.page(p_tool => 'nobody'), '[]', 'of a tool that nobody knows: no rows');
do $$ begin for i in 1 .. 40 loop
  perform effect_test.begin(effect_test.e('k' || i, 't1', jsonb_build_object('tool', case when i % 4 = 0 then 'bare' else 'probed' end,
    'kept', '{"/n":' || i || '}')));
end loop; end $$;
-- each once and in order, in pages of 7, with everything settled between the first page and the second
create function pg_temp.walk() returns uuid[] language plpgsql as $$
declare
  v_all uuid[] := '{}';
  v_after uuid;
  v_row record;
begin
  for v_i in 1 .. 50 loop
    for v_row in select * from effect.scan(null, 'default', 'probed', null, null, v_after, 7, false) loop
      if v_row.state = 'end' then
        v_after := v_row.effect;
      else
        v_all := v_all || v_row.effect;
      end if;
    end loop;
    if v_i = 1 then
      perform effect_test.complete(effect_test.e('k' || i, 't1')) from generate_series(1, 39) i where i % 4 > 0;
    end if;
    exit when v_after is null;
  end loop;
  return v_all;
end
$$;
select is(pg_temp.walk(), (select array_agg(id order by id) from effect.ledger l join effect.tool t on t.version = l.policy where t.name = 'probed'),
  'each once, in the order of ids, also what was settled between two pages');
select is(jsonb_array_length(pg_temp.page(p_limit => 1)), 1, 'one is one');
select is((select string_agg(distinct r ->> 'state' || ' ' || coalesce(r ->> 'outcome', '-'), ',') from jsonb_array_elements(pg_temp.page()) r),
  'done succeeded', 'with state and outcome');
select is(pg_temp.page(p_tool => 'bare') -> 0 ->> 'kept', null, 'no args unless they are asked for');
select ok(pg_temp.page(p_tool => 'bare', p_kept => true) -> 0 ->> 'kept' ~ '"/n":', 'then those that the policy keeps');
select is(pg_temp.page(p_scope => 'other'), '[]', 'outside of one''s scope there are none');
-- the window: claimed not later than its end, settled not before its beginning
select is(jsonb_array_length(pg_temp.page(p_from => effect.now(), p_to => effect.now())), 30, 'what touches the window is in it');
select is(jsonb_array_length(pg_temp.page(p_to => effect.now() - interval '1 us')), 0, 'claimed later: not');
select is(jsonb_array_length(pg_temp.page(p_from => effect.now() + interval '1 us')), 0, 'settled before: not');
select is(jsonb_array_length(pg_temp.page(p_from => effect.now() + interval '1 us', p_tool => 'bare')), 10, 'what is open may yet land');
select effect_test.begin(effect_test.e('twice', 't1')) \gset
select effect_test.release(effect_test.e('twice', 't1')) \gset
select effect_test.advance('1 h') \gset
select effect_test.begin(effect_test.e('twice', 't2')) \gset
select is(effect_test.only(pg_temp.page(p_to => effect.now() - interval '30 min', p_from => effect.now() - interval '40 min') -> 0, 'key', 'attempt', 'state'),
  '{"key": "twice", "attempt": 2, "state": "pending"}', 'a second attempt always is: the first may have been in the window');
-- of retries that are open the first claim counts
select effect_test.begin(effect_test.e('retried', 't1', '{"tool": "again"}')) \gset
select effect.now() as first \gset
select effect_test.advance('5 min') \gset
select effect_test.begin(effect_test.e('retried', 't2', '{"tool": "again"}')) \gset
select is((pg_temp.page(p_tool => 'again') -> 0 ->> 'claimed_at')::timestamptz, :'first'::timestamptz, 'claimed when the first open attempt was');
-- what was forgotten
select effect_test.advance('31 d') \gset
select effect.retain(1000) \gset
select effect.retain(1000) \gset
select is((select string_agg(distinct r ->> 'state', ',') from jsonb_array_elements(pg_temp.page()) r where r ->> 'attempt' = '1'), 'forgotten',
  'what landed is known beyond its row');
select is(jsonb_array_length(pg_temp.page()), 31, 'each of them');
select effect_test.begin(effect_test.e('k1', 't9')) \gset
select is((select string_agg(r ->> 'state', ',' order by r ->> 'state') from jsonb_array_elements(pg_temp.page()) r where (r ->> 'effect')::uuid = effect.id('default', 'probed', 'k1')),
  'forgotten,pending', 'and beside the row of its next life');
-- two lives of one id are never in two pages
select is((select count(*) from generate_series(1, 33) n,
    lateral (select effect.id('default', 'probed', 'k1') as id) i,
    lateral (select count(*) as lives from effect.scan(null, 'default', 'probed', null, null, null, n, false) s
      where s.effect = i.id and s.state <> 'end') c
  where c.lives = 1), 0::bigint, 'two lives of one id are told together');
-- what the last row says
select is(effect_test.only((select jsonb_agg(to_jsonb(s)) from effect.scan(null, 'default', 'probed', null, null, null, 1000, false) s where s.state = 'end') -> 0, 'done_at', 'lease_until'),
  jsonb_build_object('done_at', effect.now(), 'lease_until', effect.now() - interval '60 days'),
  'now, and since when it remembers: keep_key, and as long again');
-- bounds: bytes, and rows of whatever tool
select effect_test.tool('fat') \gset
do $$ begin for i in 1 .. 12 loop
  perform effect_test.begin(effect_test.e('fat' || i, 't1', jsonb_build_object('tool', 'fat', 'kept', '{"/t":"' || repeat('x', 60000) || '"}')));
end loop; end $$;
select ok(jsonb_array_length(pg_temp.page(p_tool => 'fat', p_kept => true)) between 8 and 10, 'a page ends at half a MiB');
select is(jsonb_array_length(pg_temp.page(p_tool => 'fat')), 12, 'counted is what is told');
insert into effect.ledger (id, token, policy, claimed_at, due_at, keep_until, lease_until, attempt, state, key)
select gen_random_uuid(), gen_random_uuid(), t.version, effect.now(), effect.now(), effect.now(), effect.now(), 1, 'pending', 'many ' || i
from generate_series(1, 12000) i, effect.tool t where t.name = 'bare';
select isnt(pg_temp.ends(p_tool => 'fat'), null, 'a small tool among many rows: a page ends before it has looked at all');
select is(pg_temp.ends(pg_temp.ends(p_tool => 'fat'), p_tool => 'fat'), null, 'and the next one goes on there');
select * from finish();
rollback;
