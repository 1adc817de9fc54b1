-- Fifty connections begin one key at the same moment: one run, 49 busy, no error, one row (cases 1, 5, 7).
select no_plan();
select count(effect_test.connect('c' || i)) from generate_series(1, 50) i \gset
create function pg_temp.round(p_round int) returns text language plpgsql as $$
declare
  v_told jsonb := '{}';
  v_answer text;
begin
  for i in 1 .. 50 loop
    perform dblink_send_query('c' || i,
      format($q$ select effect_test.begin(effect_test.e('k%s', 't%s')) ->> 'answer' $q$, p_round, i));
  end loop;
  for i in 1 .. 50 loop
    select x.a into v_answer from dblink_get_result('c' || i) as x(a text);
    perform from dblink_get_result('c' || i) as x(a text);
    if v_answer = 'retry' then -- it met the very moment of the rival's commit, and is asked again
      v_answer := effect_test.begin(effect_test.e(format('k%s', p_round), format('t%s', i))) ->> 'answer';
    end if;
    v_told := jsonb_set(v_told, array[coalesce(v_answer, 'nothing')],
      to_jsonb(coalesce((v_told ->> coalesce(v_answer, 'nothing'))::int, 0) + 1));
  end loop;
  return v_told::text;
end
$$;
select is(pg_temp.round(i), '{"run": 1, "busy": 49}', format('round %s', i)) from generate_series(1, 50) i;
select is((select count(*) from effect.ledger), 50::bigint, 'one row a key');
select is((select count(*) from effect.event), 0::bigint, 'and nothing off the happy path');
select * from finish();
