/*
 * The batch layer on a pool on a real cluster, for unit tests: the SQL function `t.act` does to
 * each entry what its word says (bad, retry, terminate its own backend, warn, ...), once or always,
 * so that each way a batch can go wrong is had on purpose. A test: start(), add items, until(fact),
 * check_all(), stop().
 */
#ifndef EFFECTD_TESTS_LEDGER_H
#define EFFECTD_TESTS_LEDGER_H

#include "batch.h"
#include "cluster.h"
#include "loop.h"
#include "pgpool.h"
#include "schema.h"
#include "tap.h"

#include <stdbool.h>

#define ITEMS_MAX 1000
#define PATIENCE_MS 20000

static const char setup_sql[] =
    "drop schema if exists t cascade; create schema t;"
    "create table t.entry (id uuid, word text, resent bool, within int, asked timestamptz, n int);"
    "create table t.hits (word text primary key, n int not null default 0);"
    "create sequence t.hit; create sequence t.calls;"
    /* a non-transactional count of how often a word was met in this test */
    "create function t.once() returns bool language sql as $$ select nextval('t.hit') = 1 $$;"
    /* what fails at the commit, behind the rows */
    "create table t.owed (n int);"
    "create function t.collect() returns trigger language plpgsql as $$"
    " begin if t.once() then raise serialization_failure; end if; return null; end $$;"
    "create constraint trigger collect after insert on t.owed deferrable initially deferred"
    " for each row execute function t.collect();"
    "create function t.act(p_id uuid[], p_word text[], p_within int[], p_resent bool[], p_asked "
    "timestamptz)"
    " returns table (ord int, answer text, val text, resent bool) language plpgsql as $$"
    " declare i int; n int; begin"
    " perform nextval('t.calls');"
    " for i in 1 .. cardinality(p_id) loop"
    "  ord := i; answer := 'ok'; val := p_word[i]; resent := p_resent[i];"
    "  insert into t.entry values (p_id[i], p_word[i], p_resent[i], p_within[i], p_asked, "
    "cardinality(p_id));"
    "  case split_part(p_word[i], ' ', 1)"
    "  when 'bad' then raise sqlstate '22P02';"
    "  when 'crash' then perform pg_terminate_backend(pg_backend_pid());"
    "  when 'terminate' then if t.once() then perform pg_terminate_backend(pg_backend_pid()); end "
    "if;"
    "  when 'warn' then if t.once() then raise warning 'committed locally'; end if;"
    "  when 'serial' then if t.once() then raise serialization_failure; end if;"
    "  when 'deadlock' then if t.once() then raise deadlock_detected; end if;"
    "  when 'commit' then insert into t.owed values (i);"
    "  when 'contended' then raise serialization_failure;"
    "  when 'readonly' then if t.once() then raise read_only_sql_transaction; end if;"
    "  when 'nofunction' then if t.once() then raise undefined_function; end if;"
    "  when 'diskfull' then if t.once() then raise disk_full; end if;"
    "  when 'retry' then if nextval('t.hit') <= 3 then answer := 'retry'; end if;"
    "  when 'late' then if t.once() then answer := 'late'; end if;"
    "  when 'always' then answer := 'retry';"
    "  when 'prepared' then perform setval('t.hit', (select count(*) from pg_prepared_statements));"
    "  when 'forget' then execute 'deallocate all';"
    "  when 'big' then val := repeat('x', 1048576);"
    "  when 'missing' then continue;"
    "  when 'twice' then return next;"
    "  when 'wait' then perform pg_advisory_xact_lock(1);"
    "  else null; end case;"
    "  return next;"
    " end loop; end $$;"
    "create function t.scalar(p_word text, p_n int) returns table (a text, b int) language sql as"
    " $$ select p_word, g from generate_series(1, p_n) g $$;"
    "create function t.slow(p_n text) returns table (ord int, answer text) language sql as"
    " $$ select 1, 'ok' from pg_sleep(p_n::float8) $$;";

static inline void
fill(struct pgvalue *scalars, int64_t db_now_us)
{
	scalars[0] = pg_instant(db_now_us);
}

#define ACT                                                                              \
	.sql = "select * from t.act($1, $2, $3, $4, $5)", .n_columns = 4,                \
	.columns = {PGTYPE_UUID, PGTYPE_TEXT, PGTYPE_INT4, PGTYPE_BOOL}, .n_scalars = 1, \
	.scalars = {PGTYPE_TIMESTAMPTZ}, .within_column = 2, .resent_column = 3,         \
	.fill_scalars = fill

static const struct batch_statement act = {.name = "act", .kind = BATCH_WRITE, ACT};
static const struct batch_statement look = {.name = "look", .kind = BATCH_READ, ACT};
static const struct batch_statement scalar = {.name = "scalar",
    .sql = "select * from t.scalar($1, $2)",
    .kind = BATCH_READ,
    .n_columns = 2,
    .columns = {PGTYPE_TEXT, PGTYPE_INT4},
    .within_column = -1,
    .resent_column = -1,
    .single = true};
static const struct batch_statement slow = {.name = "slow",
    .sql = "select * from t.slow($1)",
    .kind = BATCH_SLOW,
    .n_columns = 1,
    .columns = {PGTYPE_TEXT},
    .within_column = -1,
    .resent_column = -1,
    .timeout_ms = 200,
    .single = true};

struct entry {
	struct batch_item item;
	char word[32];
	int n_done, err;
	bool resent, db_resent; /* as the row's struct, as the function was told */
	size_t val_len;
	char val[32];
	int n_rows;
	int64_t done_ms;
};

static struct entry entries[ITEMS_MAX];
static unsigned n_entries, n_done;
static struct config config;
static bool (*fact)(void);
static struct loop_timer *tick, *guard;
static const char *waits_for;

/* ---- the loop until a fact holds ---- */

static inline void
look_hook(void)
{
	if (fact && fact())
		loop_stop();
}

static inline void
tick_cb(void *arg)
{
	(void)arg;
	loop_timer_set(tick, 10);
}

static inline void
guard_cb(void *arg)
{
	(void)arg;
	ck_abort_msg("not in time: %s", waits_for);
}

static inline void
until_(bool (*f)(void), const char *name)
{
	fact = f;
	waits_for = name;
	loop_timer_set(guard, PATIENCE_MS);
	loop_run();
	loop_timer_clear(guard);
	fact = NULL;
}
#define until(f) until_(f, #f)

static inline bool
all_done(void)
{
	return n_done == n_entries;
}
static inline bool
is_up(void)
{
	return pgpool_status()->up;
}
static inline bool
is_down(void)
{
	return !pgpool_status()->up;
}
static inline bool
all_free(void)
{
	return pgpool_n_free() == pgpool_n_connections();
}

/* ---- items ---- */

static inline void
done_cb(struct batch_item *item, int err, const struct batch_row *row)
{
	struct entry *e = (struct entry *)item;
	const char *val;

	e->n_done++;
	n_done++;
	e->err = err;
	e->done_ms = loop_now_ms();
	ck_assert((err == 0) == (row != NULL));
	if (err)
		return;
	e->resent = row->resent;
	e->n_rows = row->n_rows;
	if (item->statement->single)
		return;
	val = batch_text(row, 2, &e->val_len);
	if (val)
		snprintf(e->val, sizeof e->val, "%.20s", val);
	e->db_resent = batch_bool(row, 3);
	ck_assert(batch_null(row, 99) && !batch_text(row, 99, NULL));
}

static inline struct entry *
add_to(const struct batch_statement *statement, const char *word, int64_t in_ms)
{
	struct entry *e = &entries[n_entries++];

	ck_assert_uint_le(n_entries, ITEMS_MAX);
	memset(e, 0, sizeof *e);
	snprintf(e->word, sizeof e->word, "%s", word);
	e->item.statement = statement;
	if (statement->single) {
		e->item.columns[0] = pg_text(e->word);
		e->item.columns[1] = pg_int4(3);
	} else {
		struct uuid id = uuid_random();

		e->item.columns[0] = pg_uuid(&id);
		e->item.columns[1] = pg_text(e->word);
	}
	e->item.deadline_ms = in_ms == INT64_MAX ? in_ms : loop_now_ms() + in_ms;
	e->item.done = done_cb;
	batch_add(&e->item);
	return e;
}

static inline struct entry *
add(const char *word)
{
	return add_to(&act, word, PATIENCE_MS);
}

/* `n` items that have nothing to say. */
static inline void
add_plain(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char word[32];

		snprintf(word, sizeof word, "plain %u", i);
		add(word);
	}
}

/* Each item had exactly one done, and each plain one its own row. */
static inline void
check_all(void)
{
	for (unsigned i = 0; i < n_entries; i++) {
		ck_assert_msg(
		    entries[i].n_done == 1, "\"%s\": %d dones", entries[i].word, entries[i].n_done);
		if (!strncmp(entries[i].word, "plain", 5)) {
			ck_assert_int_eq(entries[i].err, 0);
			ck_assert_str_eq(entries[i].val, entries[i].word);
		}
	}
	ck_assert_uint_eq(batch_queued(), 0);
	ck_assert_uint_eq(batch_in_flight(), 0);
}

static inline void
start(int connections, int64_t request_timeout_ms)
{
	config.database = cluster_conninfo;
	config.owner_database = "";
	config.database_connections = connections;
	config.auto_migrate = CONFIG_MIGRATE_OFF;
	config.request_timeout_ms = request_timeout_ms;
	cluster_sql("alter system reset synchronous_standby_names");
	cluster_sql("select pg_reload_conf()");
	cluster_sql("%s", setup_sql);
	loop_init();
	batch_init(256);
	loop_add_pass_end(batch_flush);
	loop_add_pass_end(look_hook);
	tick = loop_timer_new(tick_cb, NULL);
	guard = loop_timer_new(guard_cb, NULL);
	loop_timer_set(tick, 10);
	n_entries = n_done = 0;
	pgpool_start(&config, NULL);
}

static inline void
stop(void)
{
	pgpool_stop();
	batch_free();
	loop_timer_free(tick);
	loop_timer_free(guard);
	loop_free();
}

static inline int
ledger_run(const char *name, TCase *tc)
{
	char *error = NULL;
	int status = EXIT_FAILURE;

	cluster_start();
	if (schema_migrate(cluster_conninfo, &error))
		fprintf(stderr, "%s\n", error);
	else
		status = tap_run(name, tc);
	free(error);
	cluster_remove();
	return status;
}

#endif
