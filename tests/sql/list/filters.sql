-- list: newest claim first, filters, and a cursor that neither skips nor repeats.
begin;
select no_plan();
do $$ begin for i in 1 .. 25 loop
  perform effect_test.begin(effect_test.e('k' || i, 't1',
    jsonb_build_object('tool', case when i % 2 = 0 then 'bare' else 'probed' end)));
  if i % 5 = 0 then perform effect_test.advance('1 s'); end if;
end loop; end $$;
select effect_test.complete(effect_test.e('k1', 't1')) \gset
create function pg_temp.keys(p_state text default null, p_tool text default null, p_prefix text default null, p_older bigint default null, p_limit int default 100) returns text language sql as $$
  select string_agg(l.key, ' ') from effect.list(null, p_state, p_tool, null, p_prefix, p_older, p_limit, null, null) l $$;
select is((select count(*) from effect.list(null, null, null, null, null, null, 100, null, null)), 25::bigint, 'all');
select is(pg_temp.keys(p_state => 'done'), 'k1', 'by state');
select is(pg_temp.keys(p_prefix => 'k12'), 'k12', 'by the beginning of the key');
select is(pg_temp.keys(p_prefix => 'k%'), null, 'a percent sign is a percent sign');
select is((select count(*) from effect.list(null, null, 'bare', null, null, null, 100, null, null)), 12::bigint, 'by tool');
select is((select count(*) from effect.list(null, 'pending', 'probed', 'default', 'k1', null, 100, null, null)), 5::bigint,
  'all at once');
select is((select count(*) from effect.list(null, null, null, null, null, 4000, 100, null, null)), 5::bigint, 'by age');
-- pages of 4 give each row once, newest claim first
create function pg_temp.pages() returns text[] language plpgsql as $$
declare
  v_all text[] := '{}';
  v_page record;
  v_before timestamptz;
  v_id uuid;
  v_n int;
begin
  for i in 1 .. 20 loop
    v_n := 0;
    for v_page in select * from effect.list(null, null, null, null, null, null, 4, v_before, v_id) loop
      v_all := v_all || v_page.key;
      v_before := v_page.claimed_at;
      v_id := v_page.effect;
      v_n := v_n + 1;
    end loop;
    exit when v_n = 0;
    perform effect_test.must('page', (v_n <= 4)::text, 'true');
  end loop;
  return v_all;
end
$$;
select is(pg_temp.pages(), (select array_agg(key order by claimed_at desc, id desc) from effect.ledger),
  'pages hold each row once, newest claim first');
select * from finish();
rollback;
