-- One old transaction, held open for 2,000 pairs of begin and complete (20,000 with EFFECTD_TORTURE), so that no dead row
-- can be removed: a begin and a complete touch no more pages at the end than at the start, nor does a replay (case 98).
-- Counted in pages, as the server tells them for the call with all that it calls; time is left to no test.
-- plays alone
\set pairs 2000
\getenv torture EFFECTD_TORTURE
\if :{?torture}
\set pairs 20000
\endif
select no_plan();
-- pages that one call touched, whether they were found in memory or not
create function pg_temp.pages(p_call text) returns bigint language plpgsql as $$
declare
  v_plan json;
begin
  execute 'explain (analyze, buffers, costs off, timing off, format json) ' || p_call into v_plan;
  return (v_plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (v_plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
end
$$;
create table pages (n integer, message text, pages bigint);
-- p_n pairs, each begin and each complete in a transaction of its own; looked at are the second hundred and the last, and
-- with them a replay of the same key and of the first
create procedure pg_temp.pairs(p_n integer) language plpgsql as $$
declare
  v_entry text;
  v_message text;
  v_pages bigint;
begin
  for i in 1 .. p_n loop
    v_entry := quote_literal(effect_test.e('pair ' || i, 't1'));
    if i not between 101 and 200 and i <= p_n - 100 then
      execute format('select effect_test.begin(%s)', v_entry);
      commit;
      execute format('select effect_test.complete(%s)', v_entry);
      commit;
      continue;
    end if;
    foreach v_message in array array['begin', 'complete', 'replay', 'replay of the first key'] loop
      v_pages := pg_temp.pages(case v_message when 'begin' then format('select effect_test.begin(%s)', v_entry)
        when 'complete' then format('select effect_test.complete(%s)', v_entry)
        when 'replay' then format('select effect_test.begin(%s)', v_entry)
        else $q$ select effect_test.begin('{"key": "pair 1"}') $q$ end);
      commit;
      insert into pages values (i, v_message, v_pages);
    end loop;
  end loop;
end
$$;
select effect_test.connect('old') \gset
select dblink_exec('old', 'begin isolation level repeatable read') \gset
select n as seen from dblink('old', 'select count(*) from effect.ledger') as x(n bigint) \gset
call pg_temp.pairs(:pairs);
-- the hundred pairs after the first hundred, against the last hundred; a level more of four indexes is all that may be added
select cmp_ok(max(p.pages) filter (where n > :pairs - 100), '<=',
    max(p.pages) filter (where n <= 200) + 8, format('%s: pages touched at the end', message))
from pages p group by message order by message;
select diag(format('%s: %s pages at the start, %s at the end', message, round(avg(p.pages) filter (where n <= 200), 1),
  round(avg(p.pages) filter (where n > :pairs - 100), 1))) from pages p group by message order by message;
-- The sweeper has to walk over the dead entries of what was open once: many to a page, and only while they are needed.
select effect_test.advance('1 h') \gset
select cmp_ok(pg_temp.pages('select effect_test.sweep()'), '<=', :pairs / 5::bigint, 'a sweep meanwhile');
select is((select n from dblink('old', 'select count(*) from effect.ledger') as x(n bigint)), :seen::bigint,
  'the old transaction still sees the ledger as it was');
select dblink_exec('old', 'commit') \gset
select effect_test.sweep() \gset
select cmp_ok(pg_temp.pages('select effect_test.sweep()'), '<=', 20 + :pairs / 50::bigint, 'the second sweep after its end');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
