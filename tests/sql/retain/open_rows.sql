-- Only settled rows age: open ones are never deleted, however old (case 95).
begin;
select no_plan();
select effect_test.begin(jsonb_agg(effect_test.e(k, 't1')))
  from unnest(array['pending', 'unknown', 'escalated', 'evidence', 'done', 'released']) k \gset
select effect_test.unknown(jsonb_agg(effect_test.e(k, 't1'))) from unnest(array['unknown', 'escalated']) k \gset
select effect_test.release(jsonb_agg(effect_test.e(k, 't1'))) from unnest(array['evidence', 'released']) k \gset
select effect_test.begin(effect_test.e('evidence', 't2')) \gset
select effect_test.complete(effect_test.e('evidence', 't1')) \gset
select effect_test.complete(effect_test.e('done', 't1')) \gset
select effect_test.advance('16 min') \gset
-- only one of them is swept
update effect.ledger set due_at = effect.now() + interval '100 d',
  deadline_at = effect.now() + interval '100 d' where key = 'unknown';
update effect.ledger set due_at = effect.now() + interval '100 d',
  lease_until = effect.now() + interval '100 d' where key = 'pending';
select effect_test.sweep(100, 0) \gset
select effect_test.advance('90 d') \gset
-- all of it, a few times; open rows that are due themselves are not even touched
update effect.ledger set due_at = effect.now() - interval '60 d' where key = 'escalated';
update effect.ledger set keep_until = effect.now() - interval '60 d' where state in ('pending', 'unknown', 'escalated');
select jsonb_agg(to_jsonb(l) order by l.key) as before from effect.ledger l
  where l.state in ('pending', 'unknown', 'escalated') \gset
do $$ begin for i in 1 .. 5 loop perform effect.retain(100); end loop; end $$;
select is((select string_agg(key || ' ' || state, ', ' order by key) from effect.ledger),
  'escalated escalated, evidence escalated, pending pending, unknown unknown', 'settled rows are gone, open ones stand');
select is((select jsonb_agg(to_jsonb(l) order by l.key) from effect.ledger l), :'before'::jsonb, 'untouched');
select is(effect_test.begin(effect_test.e('pending', 'x')) ->> 'answer', 'busy', 'busy');
select is(effect_test.begin(effect_test.e('unknown', 'x')) ->> 'answer', 'unknown', 'unknown');
select is(effect_test.begin(effect_test.e('escalated', 'x')) ->> 'answer', 'escalated', 'escalated');
select is(effect_test.begin(effect_test.e('evidence', 'x')) ->> 'answer', 'escalated', 'escalated by evidence');
select effect_test.advance('11 d') \gset
select is(effect_test.begin(effect_test.e('pending', 'x')) ->> 'answer', 'unknown', 'a lease of 100 days that ran out: unknown');
-- a row that settles now is kept from now
select effect_test.complete(effect_test.e('unknown', 't1')) \gset
select is((effect_test.row('unknown') ->> 'keep_until')::timestamptz, effect.now() + interval '30 d',
  'done after 100 days: kept 30 more');
select effect.retain(100) \gset
select is(effect_test.begin(effect_test.e('unknown', 'x')) ->> 'answer', 'replay', 'and replayed');
select * from finish();
rollback;
