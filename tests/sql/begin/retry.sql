-- on_unknown = retry: who is told `run` while an attempt is open. Only where both policies say so, inside both windows,
-- counted from the first attempt that is open, within the budget; one of several, each attempt once. The cells of
-- sql/transitions.tsv say what each state answers; here is what they cannot say.
begin;
select no_plan();
create function pg_temp.e(p_key text, p_token text, p_more jsonb default '{}') returns jsonb language sql as
  $$ select effect_test.e(p_key, p_token, '{"tool": "again"}'::jsonb || p_more) $$;
create function pg_temp.says(p jsonb) returns text language sql as
  $$ select concat_ws(' ', p ->> 'answer', p ->> 'attempt', effect_test.only(p, 'since') ->> 'since') $$;
create function pg_temp.row(p_key text) returns jsonb language sql as $$ select effect_test.row(p_key, 'again') $$;
create function pg_temp.open(p_key text, p_more jsonb default '{}') returns void language plpgsql as $$
begin
  perform effect_test.begin(pg_temp.e(p_key, 't1', p_more));
  perform effect_test.unknown(pg_temp.e(p_key, 't1'));
end
$$;

-- one retry, whole
select effect.now() as start \gset
select pg_temp.open('a', '{"lease_ms": 5000}') \gset
select effect_test.advance('10 s') \gset
select is(effect_test.only(effect_test.begin(pg_temp.e('a', 't2', '{"owner": "second"}')), 'answer', 'attempt', 'token', 'since',
    'lease_ms', 'state'),
  jsonb_build_object('answer', 'run', 'attempt', 2, 'token', effect_test.uid('a t2'), 'since', :'start'::timestamptz,
    'lease_ms', 60000, 'state', 'pending'), 'the next attempt, with since when an attempt has been open');
select is(effect_test.only(pg_temp.row('a'), 'token', 'attempt', 'open_from', 'ended_at', 'owner', 'claimed_at', 'lease_until', 'due_at'),
  jsonb_build_object('token', effect_test.uid('a t2'), 'attempt', 2, 'open_from', :'start'::timestamptz,
    'ended_at', :'start'::timestamptz, 'owner', 'second', 'claimed_at', effect.now(), 'lease_until',
    effect.now() + interval '60 s', 'due_at', effect.now() + interval '60 s'), 'the row is the new holder''s');
select is(effect_test.only(pg_temp.row('a'), 'since', 'deadline_at', 'request', 'lost', 'extended'),
  '{"lost": false, "extended": false}', 'and nothing of the old one is left in it');
select is((select jsonb_build_object('token', token, 'attempt', attempt, 'reason', reason)
    from effect.event where effect = effect.id('default', 'again', 'a') and kind = 'granted'),
  jsonb_build_object('token', effect_test.uid('a t1'), 'attempt', 2, 'reason', 'retry, attempt 1 is still open'),
  'but its token, in the history, which names the retry');
select is((select jsonb_agg(e ->> 'reason') from jsonb_array_elements((effect_test.get('{"key": "a", "tool": "again"}') ->> 'events')::jsonb) e
  where e ->> 'kind' = 'granted'), '["retry, attempt 1 is still open"]', 'as get tells it');
-- a grant that is no retry has no such reason, and no since
select effect_test.begin(pg_temp.e('b', 't1')) \gset
select effect_test.release(pg_temp.e('b', 't1')) \gset
select is(effect_test.begin(pg_temp.e('b', 't2')) -> 'since', null, 'a run after a release is none');
select is((select reason from effect.event where effect = effect.id('default', 'again', 'b') and kind = 'granted'), null, 'nor is its event');

-- the window counts from the first open attempt, through every later one, and through a lapse
select effect_test.tool('again', '{"on_unknown": "retry", "retry_window": "10m", "max_attempts": 9, "escalate_after": "1h"}') \gset
select pg_temp.open('w') \gset
select effect_test.advance('4 min') \gset
select is(pg_temp.says(effect_test.begin(pg_temp.e('w', 't2'))) like 'run 2 %', true, 'after 4 minutes');
select effect_test.advance('4 min') \gset
select is(pg_temp.says(effect_test.begin(pg_temp.e('w', 't3'))) like 'run 3 %', true, 'after 8, the lease over');
select effect_test.unknown(pg_temp.e('w', 't3')) \gset
select effect_test.advance('119999 ms') \gset
select is(pg_temp.says(effect_test.begin(pg_temp.e('w', 't4'))) like 'run 4 %', true, 'a millisecond before 10');
select effect_test.unknown(pg_temp.e('w', 't4')) \gset
select effect_test.advance('1 ms') \gset
select is(effect_test.begin(pg_temp.e('w', 't5')) ->> 'answer', 'unknown', 'not at 10, though the last one was claimed just now');
-- and is no other after a release of the newest: the first is open still
select pg_temp.open('x') \gset
select effect_test.advance('9 min') \gset
select effect_test.begin(pg_temp.e('x', 't2')) \gset
select effect_test.release(pg_temp.e('x', 't2')) \gset
select is(effect_test.only(pg_temp.row('x'), 'state', 'attempt', 'lost'), '{"state": "unknown", "attempt": 2, "lost": true}',
  'a release leaves it unknown');
select effect_test.advance('1 min') \gset
select is(effect_test.begin(pg_temp.e('x', 't3')) ->> 'answer', 'unknown', 'and the window does not begin anew');

-- both policies: the row's, under which its call handed out the key, and the caller's
select effect_test.tool('both', '{}') as asks \gset
select effect_test.tool('both', '{"on_unknown": "retry", "retry_window": "10m", "escalate_after": "1h"}') as ten \gset
select effect_test.tool('both', '{"on_unknown": "retry", "retry_window": "20m", "escalate_after": "1h"}') as twenty \gset
create function pg_temp.both(p_key text, p_row bigint, p_caller bigint, p_after interval) returns text language plpgsql as $$
begin
  perform effect_test.begin(effect_test.e(p_key, 't1', jsonb_build_object('tool', 'both', 'policy', p_row)));
  perform effect_test.unknown(effect_test.e(p_key, 't1', '{"tool": "both"}'));
  perform effect_test.advance(p_after);
  return effect_test.begin(effect_test.e(p_key, 't2', jsonb_build_object('tool', 'both', 'policy', p_caller))) ->> 'answer';
end
$$;
select is(pg_temp.both('claimed under another', :asks, :ten, '1 s'), 'unknown', 'claimed under probe: no retry under a newer policy');
select is(pg_temp.both('not any more', :ten, :asks, '1 s'), 'unknown', 'nor where the policy does not say so any more');
select is(pg_temp.both('shorter', :twenty, :ten, '15 min'), 'unknown', 'the shorter window counts, be it the caller''s');
select is(pg_temp.both('longer', :ten, :twenty, '15 min'), 'unknown', 'or the row''s');
select is(pg_temp.both('within', :ten, :twenty, '9 min'), 'run', 'inside both');
select is((effect_test.row('within', 'both') ->> 'policy')::bigint, :twenty, 'and the row is under the caller''s from then on');
-- each open attempt relied on the window of its own policy: the shortest holds, also when the newest was claimed under a longer one
select effect_test.begin(effect_test.e('three', 't1', jsonb_build_object('tool', 'both', 'policy', :ten))) \gset
select effect_test.unknown(effect_test.e('three', 't1', '{"tool": "both"}')) \gset
select effect_test.advance('9 min') \gset
select is(effect_test.begin(effect_test.e('three', 't2', jsonb_build_object('tool', 'both', 'policy', :twenty))) ->> 'answer', 'run', 'a second attempt');
select effect_test.unknown(effect_test.e('three', 't2', '{"tool": "both"}')) \gset
select effect_test.advance('1 min') \gset
select is(effect_test.begin(effect_test.e('three', 't3', jsonb_build_object('tool', 'both', 'policy', :twenty))) ->> 'answer', 'unknown',
  'no third beyond the window of the first, which is open still');
select is(effect_test.resolve('{"key": "three", "tool": "both", "verdict": "absent", "attempt": 2, "state": "unknown", "reason": "none"}') ->> 'state',
  'released', 'a person knows that neither landed');
select effect_test.begin(effect_test.e('three', 't3', jsonb_build_object('tool', 'both', 'policy', :twenty))) \gset
select effect_test.unknown(effect_test.e('three', 't3', '{"tool": "both"}')) \gset
select effect_test.tool('both', '{"on_unknown": "retry", "retry_window": "20m", "escalate_after": "1h", "max_attempts": 9}') as nine \gset
select effect_test.advance('15 min') \gset
select is(effect_test.begin(effect_test.e('three', 't4', jsonb_build_object('tool', 'both', 'policy', :nine))) ->> 'answer', 'run',
  'from then on only the windows of what was claimed since count');

-- the same id twice in one batch: the first runs, the second is busy behind it (case 33)
select pg_temp.open('twice') \gset
select is((select jsonb_agg(x -> 'answer') from jsonb_array_elements(effect_test.begin(jsonb_build_array(pg_temp.e('twice', 't2'),
  pg_temp.e('twice', 't3'), pg_temp.e('twice', 't4', '{"fp": "other"}')))) x), '["run", "busy", "mismatch"]', 'one of several runs');
select is(effect_test.only(pg_temp.row('twice'), 'attempt', 'token'),
  jsonb_build_object('attempt', 2, 'token', effect_test.uid('twice t2')), 'the first of them');

-- nothing is granted after the not-after instant of its batch
select pg_temp.open('late') \gset
select is(effect_test.begin(pg_temp.e('late', 't2', jsonb_build_object('asked_at', effect.now() - interval '6 s'))) ->> 'answer', 'late',
  'a begin that comes too late grants no retry');
select is(pg_temp.row('late') ->> 'attempt', '1', 'and changes nothing');

-- the same request: its own grant again, not another attempt; and what was sent again is no new attempt either
select pg_temp.open('q') \gset
select is(pg_temp.says(effect_test.begin(pg_temp.e('q', 't2', jsonb_build_object('request', effect_test.uid('r'))))) like 'run 2 %', true, 'a retry with a request');
select is(effect_test.only(effect_test.begin(pg_temp.e('q', 't3', jsonb_build_object('request', effect_test.uid('r'), 'regrant', true))),
    'answer', 'attempt', 'token', 'since'),
  jsonb_build_object('answer', 'run', 'attempt', 2, 'token', effect_test.uid('q t2')), 'is told again, and is no other retry');
select is(effect_test.begin(pg_temp.e('q', 't4', jsonb_build_object('request', effect_test.uid('r')))) ->> 'answer', 'busy',
  'once only, where it was told');
select is(effect_test.begin(pg_temp.e('q', 't2', '{"resent": true}')) ->> 'token', effect_test.uid('q t2')::text, 'sent again: its own');
select effect_test.unknown(pg_temp.e('q', 't2')) \gset
select is(effect_test.begin(pg_temp.e('q', 't2', '{"resent": true}')) ->> 'answer', 'unknown',
  'sent again when its attempt is unknown: not a new attempt with the same token');
select effect_test.begin(pg_temp.e('q', 't5')) \gset
select effect_test.unknown(pg_temp.e('q', 't5')) \gset
select is(effect_test.begin(pg_temp.e('q', 't2', '{"resent": true}')) ->> 'answer', 'unknown', 'nor when another one came behind it');
select is(pg_temp.row('q') ->> 'attempt', '3', 'no attempt was granted for it');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');

-- The table's trigger is a second witness: what is no retry by itself is refused, whoever writes it.
select pg_temp.open('t') \gset
select effect_test.advance('1 min') \gset
create function pg_temp.write(p_with jsonb default '{}') returns text language sql as $$
  select 'update effect.ledger set ' || string_agg(format('%s = %s', k, v), ', ') || ' where key = ''t'''
  from jsonb_each_text('{"state": "''pending''", "attempt": "attempt + 1", "token": "gen_random_uuid()", "lease_until": "effect.now()",
    "claimed_at": "effect.now()", "open_from": "claimed_at", "since": "null", "deadline_at": "null"}' || p_with) e(k, v)
$$;
select throws_ok(pg_temp.write(jsonb_build_object(x.c, x.v)), 'ZE002', null, format('a retry %s is refused', x.what))
from (values ('open_from', 'null', 'that does not say since when an attempt is open'), ('open_from', 'effect.now()', 'that counts from itself'),
  ('fingerprint', 'gen_random_uuid()', 'of another call'), ('ended_at', 'null', 'that forgets the end of the open attempt'),
  ('policy', :'asks', 'under another policy'), ('claimed_at', 'effect.now() + interval ''9 min''', 'behind its window'),
  ('base', '1', 'in another life'), ('attempt', 'attempt + 2', 'that skips a number')) x(c, v, what);
update effect.ledger set outcome = 'failed' where key = 't';
select throws_ok(pg_temp.write(), 'ZE002', null, 'a retry of what was reported failed is refused');
update effect.ledger set outcome = null, evidence = 1 where key = 't';
select throws_ok(pg_temp.write(), 'ZE002', null, 'and of what is proven');
update effect.ledger set evidence = null where key = 't';
select lives_ok(pg_temp.write(), 'as it is, it is none of these');
select * from finish();
rollback;
