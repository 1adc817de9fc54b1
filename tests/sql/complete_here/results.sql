-- complete_here records what the transaction did: the bytes that came, as the policy keeps them; or it raises, so that nothing is
-- committed without its record.
select no_plan();
select effect.allow('postgres', 'default') \gset
create function pg_temp.both(p_key text, p_result json, p_tool text default 'probed') returns void language plpgsql as $$
declare
  h record;
begin
  select * into h from effect.begin_here('default', p_tool, p_key);
  perform effect.complete_here(h.effect, h.token, p_result);
end
$$;
-- bytes
create table results (key text, result text);
insert into results values ('spelling', '{"b":1.0,"a":1e2,"c":"\u003c"}'), ('blanks', E' {"a" :\n\t1}  '), ('twice', '{"a":1,"a":2}'),
  ('nul', '{"out":"a\u0000b"}'), ('surrogate', '{"out":"\ud800"}'), ('big', '123456789012345678901234567890.10'), ('null', 'null'),
  ('text', U&'"\00e9\+01F600"'), ('array', '[]'), ('deep', repeat('[', 500) || repeat(']', 500)), ('long', to_json(repeat('x', 65534))::text);
select pg_temp.both(key, result::json) from results \g /dev/null
select is(effect_test.row(key) ->> 'result', result, key || ': the bytes that came') from results;
select is(h.result, r.result, r.key || ': and the same on replay') from results r, effect.begin_here('default', 'probed', r.key) h;
select is(effect_test.only(effect_test.row(key), 'state', 'outcome', 'decided_by', 'result_state', 'result_bytes'),
  jsonb_build_object('state', 'done', 'outcome', 'succeeded', 'decided_by', 'caller', 'result_state', 'kept', 'result_bytes', octet_length(result)),
  key || ': done by the caller') from results;
select pg_temp.both('none', null) \g /dev/null
select is(effect_test.row('none') ->> 'result', 'null', 'none is null');
select throws_ok($$ select effect.complete_here(gen_random_uuid(), gen_random_uuid(), '{') $$, '22P02', null, 'what is no JSON is refused by its type');
-- what the policy does not keep, or calls secret, is recorded all the same, by size and hash
select pg_temp.both('x', '{"iban":"DE1"}', tool) from unnest(array['secret', 'small', 'nokeep']) tool \g /dev/null
select is(effect_test.only(effect_test.row('x', tool), 'state', 'result', 'result_state', 'result_bytes', 'result_sha256'),
  jsonb_build_object('state', 'done', 'result_state', 'omitted', 'result_bytes', 14, 'result_sha256', sha256('{"iban":"DE1"}')), tool || ': done, omitted')
from unnest(array['secret', 'small', 'nokeep']) tool;
select is_empty($$ select from effect.event where result ~ 'DE1' $$, 'a secret is in no event');
-- twice in one transaction: the same is fine, another one is not
do $$
declare
  h record;
begin
  select * into h from effect.begin_here('default', 'probed', 'again');
  perform effect.complete_here(h.effect, h.token, '1');
  perform effect.complete_here(h.effect, h.token, '1');
end $$;
select is(effect_test.row('again') ->> 'result', '1', 'said twice: recorded once');
create function pg_temp.raises(p_key text, p_how text) returns text language plpgsql as $$
declare
  h record;
begin
  select * into h from effect.begin_here('default', 'probed', p_key);
  case p_how
    when 'another result' then
      perform effect.complete_here(h.effect, h.token, '1');
      perform effect.complete_here(h.effect, h.token, '2');
    when 'another token' then
      perform effect.complete_here(h.effect, effect.token_here(), '1');
    when 'another effect' then
      perform effect.complete_here(effect.id('default', 'probed', 'no such'), h.token, '1');
    when 'no token' then
      perform effect.complete_here(h.effect, null, '1');
    when 'no effect' then
      perform effect.complete_here(null, h.token, '1');
    when 'rolled back' then
      begin
        select * into h from effect.begin_here('default', 'probed', p_key || ' inner');
        raise division_by_zero;
      exception when division_by_zero then
        perform effect.complete_here(h.effect, h.token, '1');
      end;
  end case;
  return 'fine';
exception when sqlstate 'ZE007' then
  return 'ZE007';
end
$$;
select is(pg_temp.raises(how, how), 'ZE007', how || ': raises') from unnest(array['another result', 'another token',
  'another effect', 'no token', 'no effect', 'rolled back']) how;
select is(effect_test.row('another result'), null, 'and what raised takes its claim along');
select is_empty($$ select from effect.event where incident $$, 'no incident is left of it');
-- another transaction's claim is not completed here, however right its token; nor one of the wire
select h.effect, h.token from effect.begin_here('default', 'probed', 'autocommit') h \gset
select throws_ok(format('select effect.complete_here(%L, %L)', :'effect', :'token'), 'ZE007', null, 'each statement a transaction of its own: raises');
select is(effect_test.row('autocommit') ->> 'state', 'pending', 'the claim stands');
select effect_test.begin(effect_test.e('wire', 't1')) \gset
select throws_ok(format('select effect.complete_here(%L, %L)', effect.id('default', 'probed', 'wire'), effect_test.uid('wire t1')), 'ZE007', null, 'a claim of the wire');
-- whose it is not learns nothing of it, and holds nobody up
create function pg_temp.words(p_effect uuid) returns text language plpgsql as $$
begin
  perform effect.complete_here(p_effect, effect.token_here(), '1');
exception when sqlstate 'ZE007' then
  return replace(sqlerrm, p_effect::text, 'X');
end
$$;
select is(pg_temp.words(effect.id('default', 'probed', 'wire')), pg_temp.words(gen_random_uuid()), 'the effect of another is as one that is not there');
select effect_test.connect('other') \gset
select dblink_exec('other', 'begin') \gset
select effect_test.ask('other', format('select to_json(l.id) from effect.ledger l where l.id = %L for update', effect.id('default', 'probed', 'wire'))) \gset
select is(pg_temp.words(effect.id('default', 'probed', 'wire')), pg_temp.words(gen_random_uuid()), 'also while it is locked');
select dblink_exec('other', 'rollback') \gset
-- beyond the lease, since nobody sees the claim before the commit
begin;
select h.effect, h.token from effect.begin_here('default', 'probed', 'slow') h \gset
select effect_test.advance('2 hours') \gset
select effect.complete_here(:'effect', :'token', '"slow"') \g /dev/null
commit;
select is(effect_test.row('slow') ->> 'state', 'done', 'a transaction that lasts longer than the lease');
-- many in one transaction
begin;
select pg_temp.both('many ' || i, to_json(i)) from generate_series(1, 300) i \g /dev/null
commit;
select is((select count(*) from effect.ledger where key ~ '^many' and state = 'done'), 300::bigint, 'three hundred in one transaction');
select is_empty('select * from effect.check_invariants()', 'the books are right');
select * from finish();
