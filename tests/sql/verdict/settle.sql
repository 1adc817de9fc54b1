-- An absent counts only if its probe started `settle` after the attempt's end and `settle` after the one counted before,
-- and only absent_needed of them in a row release (case 77). Settle is 30 s, two are needed.
begin;
select no_plan();
-- now, if the row is due: starts a probe; returns its number
create function pg_temp.probe(p_key text) returns int language sql as
  $$ select (effect_test.task(effect_test.sweep(), 'probe', effect.id('default', 'probed', p_key)) ->> 'probe_no')::int $$;
create function pg_temp.absent(p_key text, p_no int default null) returns text language sql as $$
  select a ->> 'answer' || ' ' || (a ->> 'state')
    from effect_test.verdict(jsonb_strip_nulls(jsonb_build_object('key', p_key, 'verdict', 'absent', 'probe_no', p_no))) a
$$;
create function pg_temp.counted(p_key text) returns int language sql as $$ select (effect_test.row(p_key) ->> 'absent_n')::int $$;
create function pg_temp.at(p_key text, p_after text) returns void language plpgsql as $$
begin
  perform effect_test.set_now((effect_test.row(p_key) ->> 'ended_at')::timestamptz + p_after::interval);
end
$$;
create function pg_temp.unknown(p_key text) returns void language plpgsql as $$
begin
  perform effect_test.begin(effect_test.e(p_key, 't1'));
  perform effect_test.unknown(effect_test.e(p_key, 't1'));
end
$$;

-- absent at 0 s and 2 s, landed at 40 s
select pg_temp.unknown('a') \gset
select is(pg_temp.probe('a'), 1, 'probed at once');
select is(pg_temp.absent('a'), 'ok unknown', 'absent at 0 s');
select is(pg_temp.counted('a'), 0, 'does not count');
select pg_temp.at('a', '3 s') \gset
select is(pg_temp.probe('a'), 2, 'probed again');
select is(pg_temp.absent('a'), 'ok unknown', 'absent at 3 s');
select is(pg_temp.counted('a'), 0, 'does not count');
select pg_temp.at('a', '40 s') \gset
select is(pg_temp.probe('a'), 3, 'and again');
select effect_test.verdict('{"key": "a", "verdict": "landed", "result": "{\"id\":7}"}') \gset
select is(effect_test.only(effect_test.begin(effect_test.e('a', 't2')), 'answer', 'result', 'decided_by'),
  '{"answer": "replay", "result": "{\"id\":7}", "decided_by": "probe"}', 'it ends completed, and is replayed');

-- the very instants
select pg_temp.unknown('b') \gset
select pg_temp.at('b', '29.999999 s') \gset
select pg_temp.probe('b') \gset
select pg_temp.absent('b') \gset
select is(pg_temp.counted('b'), 0, 'a moment before settle: does not count');
select pg_temp.unknown('c') \gset
select pg_temp.at('c', '30 s') \gset
select is(pg_temp.probe('c'), 1, 'probed');
select pg_temp.absent('c') \gset
select is(pg_temp.counted('c'), 1, 'at settle: counts');
select pg_temp.at('c', '59.999999 s') \gset
update effect.ledger set due_at = effect.now() where key = 'c';
select pg_temp.probe('c') \gset
select is(pg_temp.absent('c'), 'ok unknown', 'the second a moment too early after the first');
select is(pg_temp.counted('c'), 1, 'does not count, and undoes nothing');
select pg_temp.at('c', '60 s') \gset
update effect.ledger set due_at = effect.now() where key = 'c';
select pg_temp.probe('c') \gset
select is(pg_temp.absent('c'), 'ok released', 'settle after the first: the second counts, and releases');
select is((select e.decided_by || ' ' || e.attempt from effect.event e where e.effect = effect.id('default', 'probed', 'c')
  and e.kind = 'released'), 'probe 1', 'by the probe');

-- by itself the ledger appoints probes that can count
select pg_temp.unknown('d') \gset
create function pg_temp.run_until_settled(p_key text) returns interval language plpgsql as $$
declare
  v_from timestamptz := effect.now();
begin
  for i in 1 .. 50 loop
    exit when effect_test.row(p_key) ->> 'state' <> 'unknown';
    perform effect_test.set_now(greatest(effect.now(), (effect_test.row(p_key) ->> 'due_at')::timestamptz));
    perform pg_temp.probe(p_key);
    perform pg_temp.absent(p_key);
  end loop;
  return effect.now() - v_from;
end
$$;
select ok(pg_temp.run_until_settled('d') between '60 s' and '5 min', 'absent all along: released in good time');
select is(effect_test.row('d') ->> 'state', 'released', 'released');

-- the start of the probe counts, not its answer
select pg_temp.unknown('e') \gset
select pg_temp.at('e', '25 s') \gset
select pg_temp.probe('e') \gset
select pg_temp.at('e', '34 s') \gset
select pg_temp.absent('e') \gset
select is(pg_temp.counted('e'), 0, 'started before settle, answered after: does not count');

-- in a row
select pg_temp.unknown('f') \gset
select pg_temp.at('f', '40 s') \gset
select pg_temp.probe('f') \gset
select pg_temp.absent('f') \gset
select is(pg_temp.counted('f'), 1, 'one');
select pg_temp.at('f', '80 s') \gset
select pg_temp.probe('f') \gset
select effect_test.verdict('{"key": "f", "verdict": "inconclusive"}') \gset
select pg_temp.at('f', '3 min') \gset
select pg_temp.probe('f') \gset
select is(pg_temp.absent('f'), 'ok unknown', 'absent, inconclusive, absent: not in a row');
select is(pg_temp.counted('f'), 1, 'counted anew');

-- a lapse counts from the lease's end as last extended
select effect_test.begin(effect_test.e('g', 't1')) \gset
select effect_test.extend(effect_test.e('g', 't1', '{"lease_ms": 100000}')) \gset
select effect_test.advance('105 s') \gset
select is(pg_temp.probe('g'), 1, 'lapsed and probed');
select pg_temp.absent('g') \gset
select is(pg_temp.counted('g'), 0, '5 s after the extended lease: does not count');
select effect_test.advance('26 s') \gset
select pg_temp.probe('g') \gset
select pg_temp.absent('g') \gset
select is(pg_temp.counted('g'), 1, '31 s after it: counts');

-- a close waits for the lease's end
select effect_test.begin(effect_test.e('h', 't1')) \gset
select effect_test.unknown(effect_test.e('h', 't1', '{"closed": true}')) \gset
select effect_test.advance('50 s') \gset
select is(pg_temp.probe('h'), 1, 'probed at once');
select pg_temp.absent('h') \gset
select is(pg_temp.counted('h'), 0, '50 s after the close, 10 s before the lease''s end: does not count');
select effect_test.advance('35 s') \gset
select pg_temp.probe('h') \gset
select pg_temp.absent('h') \gset
select is(pg_temp.counted('h'), 0, '25 s after the lease''s end: does not count');
select effect_test.advance('20 s') \gset
select pg_temp.probe('h') \gset
select pg_temp.absent('h') \gset
select is(pg_temp.counted('h'), 1, '45 s after: counts');

-- the holder's extend shows that it lives: settle restarts
select pg_temp.unknown('i') \gset
select pg_temp.at('i', '40 s') \gset
select pg_temp.probe('i') \gset
select pg_temp.absent('i') \gset
select is(pg_temp.counted('i'), 1, 'one counted');
select is(effect_test.extend(effect_test.e('i', 't1')) ->> 'answer', 'not_owner', 'then the holder extends: not_owner');
select is(effect_test.only(effect_test.row('i'), 'state', 'absent_n', 'absent_at', 'ended_at'),
  jsonb_build_object('state', 'unknown', 'absent_n', 0, 'ended_at', effect.now()), 'settle restarts');
select is((effect_test.row('i') ->> 'deadline_at')::timestamptz, effect.now() - interval '40 s' + interval '15 min',
  'the deadline does not');
select effect_test.advance('29 s') \gset
update effect.ledger set due_at = effect.now() where key = 'i';
select pg_temp.probe('i') \gset
select pg_temp.absent('i') \gset
select is(pg_temp.counted('i'), 0, '29 s after the extend: does not count');
-- also where the lapse was not swept yet
select effect_test.begin(effect_test.e('j', 't1')) \gset
select effect_test.advance('100 s') \gset
select effect_test.extend(effect_test.e('j', 't1')) \gset
select effect_test.advance('25 s') \gset
select pg_temp.probe('j') \gset
select pg_temp.absent('j') \gset
select is(pg_temp.counted('j'), 0, 'an extend 40 s after the lease, unswept: settle counts from the extend');
-- a probe in flight when settle restarts
select pg_temp.unknown('k') \gset
select pg_temp.at('k', '40 s') \gset
select pg_temp.probe('k') \gset
select effect_test.extend(effect_test.e('k', 't1')) \gset
select pg_temp.absent('k') \gset
select is(pg_temp.counted('k'), 0, 'a probe that started before the extend does not count after it');
select is_empty('select * from effect.check_invariants()', 'no invariant is hurt');
select * from finish();
rollback;
