/*
 * The batch layer, the pool and the connections against a real private PostgreSQL. The SQL function
 * `t.act` does to each entry what its word says (bad, retry, terminate its own backend, warn, ...),
 * once or always, so that each way a batch can go wrong is had on purpose; every test ends by
 * asking that each item got exactly one done().
 */
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
    "  when 'readonly' then if t.once() then raise read_only_sql_transaction; end if;"
    "  when 'nofunction' then if t.once() then raise undefined_function; end if;"
    "  when 'diskfull' then if t.once() then raise disk_full; end if;"
    "  when 'retry' then if nextval('t.hit') <= 3 then answer := 'retry'; end if;"
    "  when 'late' then if t.once() then answer := 'late'; end if;"
    "  when 'always' then answer := 'retry';"
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

static void
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

static void
look_hook(void)
{
	if (fact && fact())
		loop_stop();
}

static void
tick_cb(void *arg)
{
	(void)arg;
	loop_timer_set(tick, 10);
}

static void
guard_cb(void *arg)
{
	(void)arg;
	ck_abort_msg("not in time: %s", waits_for);
}

static void
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

static bool
all_done(void)
{
	return n_done == n_entries;
}
static bool
is_up(void)
{
	return pgpool_status()->up;
}
static bool
is_down(void)
{
	return !pgpool_status()->up;
}
static bool
all_free(void)
{
	return pgpool_n_free() == pgpool_n_connections();
}

/* ---- items ---- */

static void
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

static struct entry *
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

static struct entry *
add(const char *word)
{
	return add_to(&act, word, PATIENCE_MS);
}

/* `n` items that have nothing to say. */
static void
add_plain(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char word[32];

		snprintf(word, sizeof word, "plain %u", i);
		add(word);
	}
}

/* Each item had exactly one done, and each plain one its own row. */
static void
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

static void
start(int connections, int64_t request_timeout_ms)
{
	config.database = cluster_conninfo;
	config.owner_database = "";
	config.database_connections = connections;
	config.auto_migrate = CONFIG_MIGRATE_OFF;
	config.request_timeout_ms = request_timeout_ms;
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

static void
stop(void)
{
	pgpool_stop();
	batch_free();
	loop_timer_free(tick);
	loop_timer_free(guard);
	loop_free();
}

/* ---- tests ---- */

START_TEST(each_item_gets_its_own_row_and_what_queued_leaves_together)
{
	start(4, 5000);
	until(is_up);
	add_plain(256);
	until(all_done);
	check_all();
	ck_assert_int_eq(cluster_number("select max(n) from t.entry"), 256);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry where not resent"), 256);
	stop();
}
END_TEST

START_TEST(more_than_batch_max_goes_in_several_calls)
{
	start(2, 5000);
	add_plain(700);
	until(all_done);
	check_all();
	ck_assert_int_eq(cluster_number("select max(n) from t.entry"), 256);
	stop();
}
END_TEST

START_TEST(one_bad_item_of_twenty_fails_alone)
{
	start(4, 5000);
	add_plain(12);
	add("bad");
	add_plain(7);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[12].err, ERR_INTERNAL);
	/* nothing of a refused call was kept: each of the others stands once */
	ck_assert_int_eq(cluster_number("select count(*) from t.entry"), 19);
	stop();
}
END_TEST

/* case 126 */
START_TEST(a_backend_that_dies_within_a_call_is_replaced_and_all_are_sent_again)
{
	start(4, 5000);
	add_plain(7);
	add("terminate");
	add_plain(12);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[7].err, 0);
	for (unsigned i = 0; i < n_entries; i++)
		ck_assert(entries[i].resent && entries[i].db_resent);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry"), 20);
	stop();
}
END_TEST

/* case 126 */
START_TEST(a_big_result_among_twenty_comes_whole)
{
	start(4, 5000);
	add_plain(10);
	add("big");
	add_plain(9);
	until(all_done);
	check_all();
	ck_assert_uint_eq(entries[10].val_len, 1048576);
	stop();
}
END_TEST

/* case 102: committed, but the answer did not come */
START_TEST(an_answer_lost_behind_the_commit_is_asked_for_again)
{
	setenv("EFFECTD_FAULT", "batch.answered:fail", 1);
	start(1, 5000);
	add_plain(5);
	until(all_done);
	check_all();
	for (unsigned i = 0; i < n_entries; i++)
		ck_assert(entries[i].resent && entries[i].db_resent);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry where resent"), 5);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry where not resent"), 5);
	unsetenv("EFFECTD_FAULT");
	stop();
}
END_TEST

/* case 100 */
START_TEST(serialization_failures_and_deadlocks_are_tried_again_unseen)
{
	static const char *const words[] = {"serial", "deadlock", "diskfull", "nofunction"};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		start(2, 5000);
		add_plain(3);
		add(words[i]);
		until(all_done);
		check_all();
		ck_assert_int_eq(entries[3].err, 0);
		ck_assert(!entries[3].resent);
		stop();
	}
}
END_TEST

/* case 104 */
START_TEST(a_read_only_connection_is_dropped_and_the_call_goes_elsewhere)
{
	start(1, 5000);
	until(is_up);
	add_plain(3);
	add("readonly");
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[3].err, 0);
	stop();
}
END_TEST

START_TEST(a_warning_on_a_write_is_no_answer)
{
	start(2, 5000);
	add_plain(2);
	add("warn");
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[2].err, 0);
	ck_assert(entries[2].resent && entries[2].db_resent);
	stop();
}
END_TEST

START_TEST(a_warning_on_a_read_is_nothing)
{
	start(2, 5000);
	add_to(&look, "warn", PATIENCE_MS);
	until(all_done);
	ck_assert_int_eq(entries[0].err, 0);
	ck_assert(!entries[0].resent);
	stop();
}
END_TEST

START_TEST(an_item_answered_retry_goes_alone_until_it_is_answered)
{
	start(2, 5000);
	add_plain(4);
	add("retry");
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[4].err, 0);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry where word = 'retry'"), 4);
	ck_assert_int_eq(
	    cluster_number("select count(*) from t.entry where word = 'retry' and n = 1"), 3);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry where word <> 'retry'"), 4);
	stop();
}
END_TEST

START_TEST(retry_without_end_is_unavailable_at_the_deadline)
{
	int64_t from_ms;

	start(2, 5000);
	until(is_up);
	from_ms = loop_now_ms();
	add_to(&act, "always", 600);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[0].err, ERR_UNAVAILABLE);
	ck_assert_int_ge(entries[0].done_ms - from_ms, 600);
	ck_assert_int_le(entries[0].done_ms - from_ms, 1500);
	/* its remaining time shrinks from call to call */
	ck_assert_int_eq(
	    cluster_number(
		"select count(*) from (select within, lag(within) over (order by asked) l"
		" from t.entry) x where within >= l"),
	    0);
	stop();
}
END_TEST

START_TEST(an_entry_that_came_late_is_asked_again_with_a_fresh_clock)
{
	start(2, 5000);
	add("late");
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[0].err, 0);
	ck_assert_int_eq(cluster_number("select count(*) from t.entry"), 2);
	stop();
}
END_TEST

START_TEST(the_clock_told_is_never_ahead_and_close)
{
	char *value;
	double behind_ms;

	start(1, 5000);
	until(is_up);
	add_plain(1);
	until(all_done);
	value = cluster_value("create table t.now as select clock_timestamp() c; select 0");
	free(value);
	value = cluster_value("select extract(epoch from now() - max(asked)) * 1000 from t.entry");
	behind_ms = atof(value);
	free(value);
	ck_assert_msg(behind_ms > 0 && behind_ms < 5000, "%f", behind_ms);
	stop();
}
END_TEST

START_TEST(a_missing_or_double_row_is_that_items_internal_error)
{
	start(2, 5000);
	add_plain(1);
	add("missing");
	add("twice");
	add_plain(1);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[1].err, ERR_INTERNAL);
	ck_assert_int_eq(entries[2].err, ERR_INTERNAL);
	stop();
}
END_TEST

START_TEST(a_single_statement_gives_the_whole_result)
{
	start(2, 5000);
	add_to(&scalar, "it's \\ \"quoted\"", PATIENCE_MS);
	add_to(&scalar, "b", PATIENCE_MS);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[0].n_rows, 3);
	ck_assert_int_eq(entries[1].n_rows, 3);
	stop();
}
END_TEST

START_TEST(a_slow_statement_times_out_alone)
{
	start(2, 5000);
	until(all_free);
	add_to(&slow, "30", PATIENCE_MS);
	add_to(&slow, "0", PATIENCE_MS);
	add_plain(3);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[0].err, ERR_OVERLOADED);
	ck_assert_int_eq(entries[1].err, 0);
	/* the next on the same connections has no time-out */
	ck_assert_int_ge(entries[0].done_ms, entries[2].done_ms);
	stop();
}
END_TEST

START_TEST(a_lot_that_keeps_killing_its_backend_spares_its_neighbours)
{
	start(2, 5000);
	add_plain(5);
	add_to(&act, "crash", 3000);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[5].err, ERR_UNAVAILABLE);
	stop();
}
END_TEST

static PGconn *holder;

static bool
somebody_waits(void)
{
	return cluster_number(
		   "select count(*) from pg_locks where locktype = 'advisory' and not granted") > 0;
}

static void
hold_lock(void)
{
	holder = PQconnectdb(cluster_conninfo);
	PQclear(PQexec(holder, "select pg_advisory_lock(1)"));
}

START_TEST(cancel_takes_a_queued_item_out_and_leaves_one_in_flight)
{
	struct entry *in_flight, *queued;

	start(1, 5000);
	until(is_up);
	hold_lock();
	in_flight = add("wait");
	until(somebody_waits);
	queued = add("plain");
	ck_assert(!batch_cancel(&in_flight->item));
	ck_assert(batch_cancel(&queued->item));
	n_entries--;
	PQfinish(holder);
	until(all_done);
	ck_assert_int_eq(in_flight->err, 0);
	ck_assert_int_eq(queued->n_done, 0);
	ck_assert_uint_eq(batch_queued() + batch_in_flight(), 0);
	stop();
}
END_TEST

START_TEST(an_item_in_flight_outlives_its_deadline_and_gets_the_truth)
{
	start(1, 5000);
	until(is_up);
	hold_lock();
	add_to(&act, "wait", 1000);
	until(somebody_waits);
	add_to(&act, "x", 300);
	while (!entries[1].n_done) {
		n_done = 0;
		n_entries = 1;
		until(all_done);
	}
	ck_assert_int_eq(entries[1].err, ERR_UNAVAILABLE);
	ck_assert_int_eq(entries[0].n_done, 0);
	n_done = 0;
	PQfinish(holder);
	until(all_done);
	ck_assert_int_eq(entries[0].err, 0);
	stop();
}
END_TEST

/* case 107: the connection goes while a client works; what is asked later finds another */
START_TEST(terminated_connections_are_replaced_at_once)
{
	start(4, 5000);
	until(all_free);
	for (unsigned round = 0; round < 5; round++) {
		cluster_sql("select pg_terminate_backend(pid) from pg_stat_activity"
			    " where application_name = 'effectd'");
		add_plain(20);
		until(all_done);
	}
	check_all();
	stop();
}
END_TEST

/* case 105 */
START_TEST(a_table_altered_under_way_does_no_harm)
{
	start(2, 5000);
	add_plain(10);
	until(all_done);
	cluster_sql("alter table t.entry add column later text");
	add_plain(10);
	until(all_done);
	cluster_sql(
	    "drop function t.scalar; create function t.scalar(p_word text, p_n int)"
	    " returns table (a text, b int, c int) language sql as $$ select p_word, 1, 2 $$");
	add_to(&scalar, "a", PATIENCE_MS);
	until(all_done);
	check_all();
	ck_assert_int_eq(entries[20].n_rows, 1);
	stop();
}
END_TEST

static bool
stalled(void)
{
	return cluster_number(
		   "select count(*) from pg_stat_activity where wait_event = 'SyncRep'") > 0;
}

static int64_t stall_until_ms;

static bool
stall_time_over(void)
{
	return loop_now_ms() >= stall_until_ms;
}

START_TEST(a_commit_that_waits_for_a_standby_is_waited_for_and_no_backends_pile_up)
{
	start(2, 200);
	until(all_free);
	cluster_sql("alter system set synchronous_standby_names = 'nobody'");
	cluster_sql("select pg_reload_conf()");
	add_to(&act, "a", INT64_MAX);
	add_to(&act, "b", 100);
	until(stalled);
	stall_until_ms = loop_now_ms() + 1500;
	until(stall_time_over);
	ck_assert_uint_eq(n_done, 0);
	ck_assert_int_eq(
	    cluster_number("select count(*) from pg_stat_activity where wait_event = 'SyncRep'"),
	    1);
	ck_assert_int_le(
	    cluster_number(
		"select count(*) from pg_stat_activity where application_name = 'effectd'"),
	    3);
	cluster_sql("alter system reset synchronous_standby_names");
	cluster_sql("select pg_reload_conf()");
	until(all_done);
	check_all();
	ck_assert(!entries[0].resent && entries[0].err == 0 && entries[1].err == 0);
	stop();
}
END_TEST

START_TEST(a_wait_for_a_standby_that_is_cancelled_is_no_answer)
{
	start(2, 5000);
	until(all_free);
	cluster_sql("alter system set synchronous_standby_names = 'nobody'");
	cluster_sql("select pg_reload_conf()");
	add("a");
	until(stalled);
	cluster_sql(
	    "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'");
	until(stalled);
	ck_assert_uint_eq(n_done, 0);
	cluster_sql("alter system reset synchronous_standby_names");
	cluster_sql("select pg_reload_conf()");
	until(all_done);
	check_all();
	ck_assert(entries[0].resent && entries[0].db_resent);
	stop();
}
END_TEST

START_TEST(the_pool_is_back_within_two_seconds_of_the_database)
{
	int64_t from_ms;

	start(4, 5000);
	until(all_free);
	cluster_down("fast");
	until(is_down);
	ck_assert_str_ne(pgpool_status()->error, "");
	add_to(&act, "x", 300);
	until(all_done);
	ck_assert_int_eq(entries[0].err, ERR_UNAVAILABLE);
	add_to(&act, "plain kept", INT64_MAX);
	stall_until_ms = loop_now_ms() + 2500; /* the back-off is at its longest now */
	until(stall_time_over);
	cluster_up();
	from_ms = loop_now_ms();
	until(all_done);
	ck_assert_int_le(loop_now_ms() - from_ms, 2000);
	until(all_free);
	check_all();
	ck_assert_str_eq(pgpool_status()->error, "");
	stop();
}
END_TEST

/* case 128: the server takes the connection and never answers */
START_TEST(a_server_that_never_answers_is_given_up_and_found_again)
{
	long pid;

	start(2, 300);
	until(all_free);
	pid = cluster_number("select pg_backend_pid() + 0 * pg_sleep(0)::text::int") > 0
	    ? cluster_number("select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)")
	    : -1;
	cluster_sh("kill -STOP %ld", pid);
	cluster_sh("pkill -STOP -P %ld", pid);
	add_to(&act, "x", 400);
	until(all_done);
	cluster_sh("pkill -CONT -P %ld", pid);
	cluster_sh("kill -CONT %ld", pid);
	add_to(&act, "plain kept", INT64_MAX);
	until(all_done);
	ck_assert_int_eq(entries[1].err, 0);
	stop();
}
END_TEST

START_TEST(a_database_without_the_schema_is_down_and_says_what_to_do)
{
	cluster_sql("alter schema effect rename to effect_hidden");
	start(2, 300);
	add_to(&act, "x", 200);
	until(all_done);
	ck_assert_int_eq(entries[0].err, ERR_UNAVAILABLE);
	ck_assert_ptr_nonnull(strstr(pgpool_status()->error, "effectctl db migrate"));
	cluster_sql("alter schema effect_hidden rename to effect");
	until(is_up);
	stop();
}
END_TEST

START_TEST(a_missing_schema_is_installed_where_auto_migrate_is_on)
{
	cluster_sql("drop schema effect cascade");
	start(2, 3000);
	config.auto_migrate = CONFIG_MIGRATE_ON;
	until(is_up);
	ck_assert_int_eq(pgpool_status()->schema_version, schema_version());
	stop();
}
END_TEST

START_TEST(a_newer_schema_is_left_alone)
{
	char *error = NULL;

	cluster_sql("insert into effect.schema_version (version) values (9999)");
	ck_assert_int_eq(schema_migrate(cluster_conninfo, &error), ERR_CONFLICT);
	ck_assert_ptr_nonnull(strstr(error, "9999"));
	free(error);
	start(2, 300);
	config.auto_migrate = CONFIG_MIGRATE_ON;
	add_to(&act, "x", 200);
	until(all_done);
	ck_assert_ptr_nonnull(strstr(pgpool_status()->error, "9999"));
	stop();
	cluster_sql("delete from effect.schema_version where version = 9999");
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("batch");
	char *error = NULL;
	int status;

	cluster_start();
	if (schema_migrate(cluster_conninfo, &error)) {
		fprintf(stderr, "%s\n", error);
		cluster_remove();
		return EXIT_FAILURE;
	}
	tcase_add_test(tc, each_item_gets_its_own_row_and_what_queued_leaves_together);
	tcase_add_test(tc, more_than_batch_max_goes_in_several_calls);
	tcase_add_test(tc, one_bad_item_of_twenty_fails_alone);
	tcase_add_test(tc, a_backend_that_dies_within_a_call_is_replaced_and_all_are_sent_again);
	tcase_add_test(tc, a_big_result_among_twenty_comes_whole);
	tcase_add_test(tc, an_answer_lost_behind_the_commit_is_asked_for_again);
	tcase_add_test(tc, serialization_failures_and_deadlocks_are_tried_again_unseen);
	tcase_add_test(tc, a_read_only_connection_is_dropped_and_the_call_goes_elsewhere);
	tcase_add_test(tc, a_warning_on_a_write_is_no_answer);
	tcase_add_test(tc, a_warning_on_a_read_is_nothing);
	tcase_add_test(tc, an_item_answered_retry_goes_alone_until_it_is_answered);
	tcase_add_test(tc, retry_without_end_is_unavailable_at_the_deadline);
	tcase_add_test(tc, an_entry_that_came_late_is_asked_again_with_a_fresh_clock);
	tcase_add_test(tc, the_clock_told_is_never_ahead_and_close);
	tcase_add_test(tc, a_missing_or_double_row_is_that_items_internal_error);
	tcase_add_test(tc, a_single_statement_gives_the_whole_result);
	tcase_add_test(tc, a_slow_statement_times_out_alone);
	tcase_add_test(tc, a_lot_that_keeps_killing_its_backend_spares_its_neighbours);
	tcase_add_test(tc, cancel_takes_a_queued_item_out_and_leaves_one_in_flight);
	tcase_add_test(tc, an_item_in_flight_outlives_its_deadline_and_gets_the_truth);
	tcase_add_test(tc, terminated_connections_are_replaced_at_once);
	tcase_add_test(tc, a_table_altered_under_way_does_no_harm);
	tcase_add_test(tc, a_commit_that_waits_for_a_standby_is_waited_for_and_no_backends_pile_up);
	tcase_add_test(tc, a_wait_for_a_standby_that_is_cancelled_is_no_answer);
	tcase_add_test(tc, the_pool_is_back_within_two_seconds_of_the_database);
	tcase_add_test(tc, a_server_that_never_answers_is_given_up_and_found_again);
	tcase_add_test(tc, a_database_without_the_schema_is_down_and_says_what_to_do);
	tcase_add_test(tc, a_missing_schema_is_installed_where_auto_migrate_is_on);
	tcase_add_test(tc, a_newer_schema_is_left_alone);
	status = tap_run("batch", tc);
	cluster_remove();
	return status;
}
