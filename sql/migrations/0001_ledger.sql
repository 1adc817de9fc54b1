-- The ledger's tables. Immutable once released: a change is a new numbered file.
-- What each column means and when it is nulled stands in sql/README.md.
-- Columns stand in an order that wastes no alignment: 16-byte uuids, 8-byte, 4-byte, 1-byte, then the variable ones.

create type effect.state as enum ('pending', 'unknown', 'escalated', 'released', 'done');
create type effect.outcome as enum ('succeeded', 'failed');
create type effect.decider as enum ('caller', 'probe', 'operator');
create type effect.result_state as enum ('kept', 'omitted', 'expired', 'redacted');

-- Every version of every policy. The version is a digest of (namespace, name, policy), so that daemons and
-- shards agree without asking each other. The typed columns are read from `policy` by effect.register_tools().
create table effect.tool (
  version bigint primary key,
  registered_at timestamptz not null,
  lease_ms bigint not null,
  hold_max_ms bigint not null,
  settle_ms bigint not null,
  probe_timeout_ms bigint not null,
  escalate_after_ms bigint not null,
  keep_result_ms bigint not null,
  keep_key_ms bigint not null,
  business_window_ms bigint,
  result_max bigint not null,
  retry_window_ms bigint,
  max_attempts integer not null,
  absent_needed integer not null,
  turn_budget integer,
  turn_asks integer,
  has_probe boolean not null,
  namespace text not null,
  name text not null,
  on_error text not null check (on_error in ('unknown', 'failed', 'released')),
  on_unknown text not null check (on_unknown in ('probe', 'human', 'retry')),
  on_business_duplicate text check (on_business_duplicate in ('report', 'hold')),
  result_secret text,
  policy text not null,
  probe_backoff_ms bigint[] not null,
  check ((on_unknown = 'retry') = (retry_window_ms is not null))
);
create index tool_name on effect.tool (namespace, name);

create table effect.ledger (
  id uuid primary key,
  token uuid not null,
  fingerprint uuid,
  request uuid,
  instance uuid,
  boot uuid,
  business uuid,
  policy bigint not null,
  claimed_at timestamptz not null,
  due_at timestamptz not null,
  keep_until timestamptz not null,
  lease_until timestamptz,
  ended_at timestamptz,
  since timestamptz,
  deadline_at timestamptz,
  done_at timestamptz,
  probe_at timestamptz,
  probed_at timestamptz,
  absent_at timestamptz,
  open_from timestamptz,
  evidence bigint,
  result_bytes bigint,
  attempt integer not null,
  base integer not null default 0,
  extra integer not null default 0,
  probe_no integer not null default 0,
  tries integer not null default 0,
  absent_n integer not null default 0,
  notice_no integer not null default 0,
  notice_tries integer not null default 0,
  state effect.state not null,
  outcome effect.outcome,
  decided_by effect.decider,
  result_state effect.result_state,
  lost boolean not null default false,
  extended boolean not null default false,
  noticed boolean not null default false,
  key text not null,
  owner text,
  run text,
  step text,
  turn text,
  kept text,
  result text,
  result_sha256 bytea,
  -- One constraint, because each is parsed anew by every statement; the finer rules are in effect.check_invariants().
  constraint state_is_whole check (
    attempt > base
    and (state = 'pending') = (lease_until is not null)
    and (state >= 'released') = (done_at is not null)
    and (state <> 'unknown' or (ended_at is not null and deadline_at is not null))
    and (state <> 'done' or (outcome is not null and decided_by is not null and result_state is not null)))
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- What the sweeper looks for: open rows by the instant at which something must be done about them without asking anybody (a
-- lease ends, a deadline passes, a notice is due); open rows whose next probe is appointed, by policy, so that a thousand of
-- one tool stand before no row of another; settled rows (retention). Their conditions are about done_at and deadline_at,
-- because a look-up by id names a state: with few rows open when the table was analyzed, the planner would rather read the
-- whole of an index on state = 'pending', dead entries and all, than one row by its id.
create index ledger_open on effect.ledger (state, (case when state = 'unknown' then deadline_at else due_at end))
  where done_at is null;
create index ledger_probe on effect.ledger (state, policy, due_at) where due_at < deadline_at;
create index ledger_settled on effect.ledger (due_at) where done_at is not null;

-- Twins of the business guard. Few tools have one; no look-up by id implies the condition.
create index ledger_business on effect.ledger (business, claimed_at) where business is not null;

-- The history of everything off the happy path; append-only. `token` is the token that a grant or a deletion replaced. An
-- incident says whose it is, as it may outlive its row or never have had one: see effect.whose.
create table effect.event (
  id bigint generated always as identity primary key,
  effect uuid not null,
  token uuid,
  at timestamptz not null,
  attempt integer not null,
  incident boolean not null default false,
  kind text not null check (kind in ('refused', 'granted', 'regranted', 'unknown', 'lapsed', 'closed', 'probe', 'verdict',
    'released', 'escalated', 'notified', 'resolved', 'late', 'orphan', 'not_told', 'expired', 'duplicate',
    'reconcile')),
  decided_by text,
  outcome effect.outcome,
  reason text,
  detail text,
  evidence text,
  result text,
  result_bytes bigint,
  result_sha256 bytea,
  scope text,
  tool text,
  key text
);
create index event_effect on effect.event (effect, id);
create index event_incident on effect.event (at, id) where incident;

-- What one tool was asked for and granted in one turn of a run: the budgets of its policy. `id` is effect.turn_id(). Only a
-- holder of the advisory lock effect.lock_of_turn() writes a row, so that nobody waits for one. `refused` counts the begins
-- that were told exhausted for the turn's sake.
create table effect.turn (
  id uuid primary key,
  first_at timestamptz not null,
  due_at timestamptz not null, -- it is forgotten then: 30 days after its last begin
  grants integer not null,
  asks integer not null,
  refused integer not null,
  namespace text not null,
  tool text not null,
  run text not null,
  turn text not null
) with (fillfactor = 85);
create index turn_due on effect.turn (due_at);

-- Counts per slot of time, tool and decision, added up from all daemons; log2 histograms of milliseconds. A slot is a minute,
-- later an hour, later a day (effect.stat_roll).
create table effect.stat (
  minute timestamptz not null,
  namespace text not null,
  tool text not null,
  decision text not null,
  n bigint not null,
  ms_log2 bigint[] not null default '{}',
  primary key (minute, namespace, tool, decision)
);

-- What reports know of effects whose rows are forgotten, and which landed: one narrow row for each time. Written by
-- effect.remember, forgotten at due_at by effect.retain.
create table effect.past (
  id uuid not null,
  business uuid,
  policy bigint not null,
  claimed_at timestamptz not null,
  done_at timestamptz not null,
  forgotten_at timestamptz not null,
  due_at timestamptz not null,
  primary key (id, claimed_at)
);
create index past_due on effect.past (due_at);
create index past_business on effect.past (business, claimed_at) where business is not null;

-- Every start of every daemon: who it is, when it was heard of, how far its counts have come (flush_no: its newest flush, which
-- is added once), what it had no room to count, and the versions of the policies that are in force there.
create table effect.daemon (
  boot uuid primary key,
  instance uuid not null,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  ended_at timestamptz,
  dropped_at timestamptz,
  flush_no bigint not null default 0,
  dropped bigint not null default 0,
  host text not null,
  version text not null,
  policies bigint[] not null default '{}'
);
create index daemon_instance on effect.daemon (instance, started_at);

-- Which SQL roles may act in which namespaces from a database session of their own: effect.allow() writes it.
create table effect.access (
  allowed_at timestamptz not null,
  namespace text not null,
  role name not null,
  primary key (namespace, role)
);

-- A second, independent assertion about transitions. States stand in the order in which a row passes through them; the
-- condition is judged without calling the function, which sees only rows that go back or change hands. The one attempt that
-- may be granted over an open one is a retry: by both attempts' policies, of the same call, inside both their windows.
create function effect.check_transition() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_retry boolean := false;
begin
  if old.state = 'unknown' and new.state = 'pending' then
    select count(*) = 2 into v_retry
    from unnest(array[old.policy, new.policy]) as p(version) join effect.tool t on t.version = p.version
    where t.on_unknown = 'retry' and new.claimed_at < new.open_from + t.retry_window_ms * interval '1 millisecond'
      and new.open_from = coalesce(old.open_from, old.claimed_at) and new.ended_at = old.ended_at
      and new.fingerprint is not distinct from old.fingerprint and new.base = old.base
      and old.outcome is null and old.evidence is null;
  end if;
  if new.id <> old.id or new.attempt < old.attempt or new.attempt > old.attempt + 1
    or (new.attempt = old.attempt) <> (new.token = old.token)
    or (new.attempt > old.attempt and not (new.state = 'pending'
      and (v_retry or old.state = 'released' or (old.state = 'done' and new.base = old.attempt))))
    or (new.attempt = old.attempt and new.state < old.state
      and not (old.state = 'released' and new.state = 'escalated')) then
    raise exception 'effect %, attempt % may not go from % to %', old.id, old.attempt, old.state, new.state
      using errcode = 'ZE002';
  end if;
  return new;
end
$$;
create trigger ledger_transition before update on effect.ledger for each row
  when (new.state < old.state or new.token <> old.token or new.attempt <> old.attempt)
  execute function effect.check_transition();
