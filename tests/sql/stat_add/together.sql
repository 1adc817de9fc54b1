-- One at a time writes the counts, and none waits for another.
select no_plan();
select effect_test.connect('other') \gset
create function add_one(p_boot int, p_no int) returns jsonb language sql as $$
  select to_jsonb(effect.stat_add(effect_test.boot(p_boot), effect_test.uid('instance' || p_boot), 0, 'h', '1', p_no, 0, false,
    array['2030-01-01 00:00:00+00'::timestamptz], array['n'], array['t'], array['run'], array[1::bigint], array['{1}']))
$$;
select dblink_exec('other', 'begin') \gset
select is(effect_test.ask('other', 'add_one(1, 1)'), '"ok"', 'one daemon''s flush');
set statement_timeout = '10s';
select is(add_one(2, 1), '"busy"', 'while it is not committed another one is told so, at once');
select is((select array[r.busy, r.moved + r.dropped > 0] from effect.stat_roll(10) r), array[true, false], 'and rolling up, too');
select is((select count(*) from effect.daemon), 0::bigint, 'which leaves nothing');
select dblink_exec('other', 'rollback') \gset
select is(add_one(2, 1), '"ok"', 'and is added when it is sent again');
select is(effect_test.ask('other', 'add_one(1, 1)'), '"ok"', 'as is the one that was rolled back');
select is((select s.n from effect.stat s), 2::bigint, 'each once');

-- two daemons and the roll-up, for a while, over the same slots
do $$
declare
  v_no int[] := array[2, 2];
  v_answer text;
begin
  for i in 1 .. 2 loop
    perform effect_test.connect('s' || i);
  end loop;
  while v_no[1] <= 40 or v_no[2] <= 40 loop
    for i in 1 .. 2 loop
      perform dblink_send_query('s' || i, format('select add_one(%s, %s)', i, v_no[i]));
    end loop;
    for i in 1 .. 2 loop
      select j into v_answer from dblink_get_result('s' || i) as x(j text);
      perform * from dblink_get_result('s' || i) as x(j text);
      -- whatever it was told, it is sent once more
      perform dblink_send_query('s' || i, format('select add_one(%s, %s)', i, v_no[i]));
      perform * from dblink_get_result('s' || i) as x(j text);
      perform * from dblink_get_result('s' || i) as x(j text);
      if v_answer <> '"busy"' then
        v_no[i] := v_no[i] + 1;
      end if;
    end loop;
  end loop;
end
$$;
select is((select s.n from effect.stat s), (select sum(d.flush_no)::bigint from effect.daemon d), 'two daemons that send each flush twice: each counts once');
select * from finish();
