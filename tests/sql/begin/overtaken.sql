-- A rival's row comes in between the look and the insert: one run all the same, and the rival's grant is left alone (case 1).
-- The rival is a trigger of this test that inserts and commits by another connection, just before our row goes in.
select no_plan();
select effect_test.connect('rival') \gset
create function public.overtake() returns trigger language plpgsql security definer set search_path = public as $$
begin
  perform dblink_exec('rival', format($q$
    insert into effect.ledger (id, token, fingerprint, policy, claimed_at, due_at, keep_until, lease_until, attempt, base, state,
      key, owner)
    values (%L, %L, %L, %s, %L, %L, %L, %L, 1, 0, 'pending', %L, 'rival') $q$, new.id, effect_test.uid('rival ' || new.key), new.fingerprint,
    new.policy, new.claimed_at, new.due_at, new.keep_until, new.lease_until, new.key));
  return new;
end
$$;
create trigger overtake before insert on effect.ledger for each row when (new.owner is distinct from 'rival')
  execute function public.overtake();
create function pg_temp.asked(p_key text, p_more jsonb default '{}') returns jsonb language sql as $$
  select effect_test.only(effect_test.begin(effect_test.e(p_key, 'mine', p_more)), 'answer', 'token') $$;
select is(pg_temp.asked('a'), '{"answer": "busy"}', 'overtaken: busy, and no token');
select is(effect_test.row('a') -> 'token', to_jsonb(effect_test.uid('rival a')), 'the row is the rival''s');
select is((select jsonb_agg(x -> 'answer') from jsonb_array_elements(effect_test.begin(jsonb_build_array(effect_test.e('b', 't1'),
  effect_test.e('c', 't2')))) x), '["busy", "busy"]', 'so in a batch');
-- the insert of a begin that is judged alone: sent again, it finds no row, and then does
select is(pg_temp.asked('d', '{"resent": true}'), '{"answer": "retry"}', 'alone: to be asked again');
select is(pg_temp.asked('d', '{"resent": true}'), '{"answer": "busy"}', 'and then busy');
select is((select count(*) from effect.ledger where owner = 'rival'), (select count(*) from effect.ledger), 'no other row');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
drop trigger overtake on effect.ledger;
select * from finish();
