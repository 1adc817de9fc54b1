/*
 * The pool of connections to the ledger. Each slot: DOWN -> CONNECTING -> CHECKING -> READY (->
 * REFRESHING -> READY), and DOWN again from anywhere. While no slot is usable only the first one
 * tries, so that a database that comes back is not stormed; then the others follow at once.
 *
 * Memory: slots live from pgpool_start() to pgpool_stop(); connections are pgconn.c's.
 */
#include "pgpool.h"
#include "alloc.h"
#include "embedded.h"
#include "log.h"
#include "loop.h"
#include "metrics.h"
#include "pgarray.h"
#include "pgconn.h"
#include "pgpool_backoff.h"
#include "pgpool_check.h"
#include "pgpool_stall.h"
#include "schema.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOCK_AGE_US_MAX 60000000 /* a clock told longer ago is asked for again */
#define CLOCK_DRIFT_DIVISOR 1000  /* what two honest clocks can differ by: 0.1 % */
#define SAY_AGAIN_MS 10000	  /* while away, a changed reason is logged at most so often */
#define STEADY_MS 1000		  /* lost sooner than this after it was up: back-off goes on */
#define SLOW_IDLE_MS 30000	  /* the slow one is closed after so long without use */

enum slot_state { DOWN, CONNECTING, CHECKING, READY, REFRESHING };

struct slot {
	enum slot_state state;
	unsigned n;
	struct pgconn *conn;	  /* but in DOWN */
	struct loop_timer *timer; /* DOWN: next try; CHECKING, REFRESHING: patience */
	unsigned n_failures;	  /* in a row */
	int64_t up_ms;		  /* since when it is of use; 0 = it is not */
	bool recheck, refresh;	  /* before its next use */
	bool read_committed;	  /* as transactions begin there */
	int64_t db_us, told_us;	  /* database clock, and loop_now_us() when its answer came */
	struct pgpool_watch watch;
};

static const struct config *config;
static void (*changed_cb)(void);
static struct slot *slots; /* n_quick of the config, and the slow one */
static unsigned n_slots, n_quick;
static bool slow_rests; /* it could not be had: not tried before its timer is due */
static struct pgpool_status status;
static int64_t said_ms; /* when a reason was last logged */
static bool unsaid;	/* the present one was not */
static bool migrating, warned_of_bodies, was_ever_up, stopping;
static char pool_id[17];	      /* ours among all that use this database */
static struct pgpool_watch **watches; /* those of the slots */

static void slot_try(struct slot *s);
static void slot_check(struct slot *s);

const char *
pgpool_conninfo(void)
{
	return strcmp(config->database, "embedded") ? config->database : embedded_conninfo();
}

static bool
auto_migrate(void)
{
	return config->auto_migrate == CONFIG_MIGRATE_ON ||
	    (config->auto_migrate == CONFIG_MIGRATE_UNSET && !strcmp(config->database, "embedded"));
}

/* ---- what is told ---- */

static void
say_down(const char *why)
{
	int64_t now_ms = loop_now_ms();
	bool was_up = status.up, other = strcmp(status.error, why) != 0;

	if (!was_up && !other && !unsaid)
		return;
	snprintf(status.error, sizeof status.error, "%s", why);
	/* one that came too soon after another is said once it is time */
	unsaid = !(was_up || said_ms == 0 || now_ms - said_ms >= SAY_AGAIN_MS);
	if (!unsaid) {
		log_warn("ledger", "the ledger is away: %s, trying again", why);
		said_ms = now_ms;
	}
	if (was_up) {
		status.up = false;
		status.since_us = loop_unix_us();
	}
	if (changed_cb && (was_up || other))
		changed_cb();
}

static void
say_up(void)
{
	if (status.up)
		return;
	if (was_ever_up)
		metrics_add(METRIC_COUNT_LEDGER_BACK, 1);
	status.up = was_ever_up = true;
	unsaid = false;
	status.since_us = loop_unix_us();
	status.error[0] = '\0';
	said_ms = 0;
	log_info("ledger", "the ledger is there, PostgreSQL %s, schema version %d",
	    status.server_version, status.schema_version);
	if (changed_cb)
		changed_cb();
}

/* ---- slots up and down ---- */

static bool
is_slow(const struct slot *s)
{
	return s->n == n_quick;
}

static bool
any_usable(void)
{
	for (unsigned i = 0; i < n_quick; i++)
		if (slots[i].state == READY || slots[i].state == REFRESHING)
			return true;
	return false;
}

/* Its connection is gone or useless; `why` NULL: nobody needs it now, which is no failure. */
static void
slot_down(struct slot *s, const char *why)
{
	pgconn_close(s->conn);
	s->conn = s->watch.conn = NULL;
	if (s->up_ms && loop_now_ms() - s->up_ms >= STEADY_MS)
		s->n_failures = 0;
	else if (s->state != DOWN)
		s->n_failures++;
	s->up_ms = 0;
	s->state = DOWN;
	s->recheck = s->refresh = false;
	if (stopping || !why)
		return;
	metrics_add(METRIC_COUNT_LEDGER_FAILED, 1);
	(is_slow(s) && status.up ? log_warn : log_debug)("ledger", "connection %u%s: %s", s->n,
	    is_slow(s) ? ", for lists and reports" : "", why);
	slow_rests |= is_slow(s);
	if (!is_slow(s) && !any_usable()) {
		bool was_up = status.up;

		say_down(strcmp(config->database, "embedded") || !*embedded_error()
			? why
			: embedded_error());
		if (was_up && slots[0].state == DOWN) {
			/* the one that finds out when the database is back */
			slots[0].n_failures = slots[0].n_failures > 1 ? 1 : slots[0].n_failures;
			loop_timer_set(slots[0].timer, pgpool_backoff_ms(slots[0].n_failures));
		}
	}
	loop_timer_set(s->timer, pgpool_backoff_ms(s->n_failures));
}

static void
slot_ready(struct slot *s)
{
	bool first = !status.up;

	loop_timer_clear(s->timer);
	if (!s->up_ms)
		s->up_ms = loop_now_ms();
	s->state = READY;
	s->watch.conn = s->conn;
	if (is_slow(s)) {
		loop_timer_set(s->timer, SLOW_IDLE_MS);
		return;
	}
	say_up();
	for (unsigned i = 0; first && i < n_quick; i++)
		if (slots[i].state == DOWN) {
			slots[i].n_failures = 0;
			loop_timer_set(slots[i].timer, 0);
		}
}

static void
slot_timer_cb(void *arg)
{
	struct slot *s = arg;

	if (is_slow(s) && s->state == DOWN)
		slow_rests = false; /* the pass that this makes asks for it, if it is needed */
	else if (is_slow(s) && s->state == READY && pgconn_busy(s->conn))
		loop_timer_set(s->timer, SLOW_IDLE_MS);
	else if (is_slow(s) && s->state == READY)
		slot_down(s, NULL);
	else if (s->state == DOWN)
		slot_try(s);
	else if (s->state == CHECKING)
		pgconn_abort(s->conn, "the server does not answer");
}

static void
slot_connected_cb(struct pgconn *c, void *arg)
{
	(void)c;
	slot_check(arg);
}

static void
slot_closed_cb(struct pgconn *c, const char *sqlstate, const char *why, void *arg)
{
	struct slot *s = arg;

	(void)sqlstate;
	assert(c == s->conn);
	s->conn = NULL; /* frees itself */
	slot_down(s, why);
}

static const struct pgconn_handler slot_handler = {slot_connected_cb, slot_closed_cb};

static void
slot_try(struct slot *s)
{
	assert(s->state == DOWN && !s->conn);
	if (!status.up && s->n > 0)
		return; /* slot_ready() of the first one wakes the others */
	s->state = CONNECTING;
	s->conn = pgconn_new(pgpool_conninfo(), -1, config->request_timeout_ms, &slot_handler, s);
}

/* ---- the check of a new connection ---- */

static void
migrated_cb(const char *error, void *arg)
{
	char why[256];

	(void)arg;
	migrating = false;
	if (error) {
		snprintf(why, sizeof why, "the schema could not be installed: %s", error);
		if (any_usable())
			log_warn("ledger", "%s, going on with what is there", why);
		else {
			if (strcmp(status.error, why))
				said_ms = 0; /* what it means is worth a line at once */
			say_down(why);
		}
		return;
	}
	log_info("ledger", "the schema \"effect\" is at version %d", schema_version());
	if (!status.up && slots[0].state == DOWN)
		loop_timer_set(slots[0].timer, 0);
}

/* The schema is not the one we need: says so, or sees to it. */
static void
slot_schema_misfit(struct slot *s, int version, enum schema_verdict verdict)
{
	char why[256];

	if (verdict == SCHEMA_NEW)
		snprintf(why, sizeof why,
		    "the schema \"effect\" has version %d, this program needs %d: upgrade effectd",
		    version, schema_version());
	else if (auto_migrate()) {
		if (!migrating) {
			migrating = true;
			schema_migrate_start(
			    *config->owner_database ? config->owner_database : pgpool_conninfo(),
			    migrated_cb, NULL);
		}
		/* an earlier failure says more */
		snprintf(why, sizeof why, "%s",
		    strstr(status.error, "could not be installed")
			? status.error
			: "the schema is being installed");
	} else if (version == 0)
		snprintf(why, sizeof why,
		    "the schema \"effect\" is not installed in this database; run \"effectctl db "
		    "migrate\"");
	else
		snprintf(why, sizeof why,
		    "the schema \"effect\" has version %d, this program needs %d; run \"effectctl "
		    "db migrate\"",
		    version, schema_version());
	slot_down(s, why);
}

static void
slot_clock_told(struct slot *s, const PGresult *result, int column)
{
	s->db_us = pg_read_unix_us(PQgetvalue(result, 0, column));
	s->told_us = loop_now_us();
	s->refresh = false;
}

static void
version_cb(struct pgconn *c, const struct pgconn_answer *a, void *arg)
{
	struct slot *s = arg;
	enum schema_verdict verdict;
	int version = 0;

	(void)c;
	if (a->end == PGCONN_LOST)
		return; /* slot_closed_cb follows */
	if (a->end == PGCONN_ERROR) {
		slot_down(s, a->message);
		return;
	}
	verdict = SCHEMA_OLD;
	if (PQntuples(a->result) == 1 && PQnfields(a->result) == 3) {
		version = pg_read_int4(PQgetvalue(a->result, 0, 0));
		verdict = schema_judge(version, PQgetvalue(a->result, 0, 1));
	}
	if (verdict == SCHEMA_DIFFERS && !auto_migrate()) {
		if (!warned_of_bodies)
			log_warn("ledger",
			    "the schema's functions are not this program's, using them; "
			    "\"effectctl db migrate\" makes them fit");
		warned_of_bodies = true;
		verdict = SCHEMA_FITS;
	}
	if (verdict != SCHEMA_FITS) {
		slot_schema_misfit(s, version, verdict);
		return;
	}
	status.schema_version = version;
	slot_clock_told(s, a->result, 2);
	slot_ready(s);
}

/* The protocol's backend is not the one that answered: a pooler stands in between. */
static void
slot_mark(struct slot *s)
{
	static unsigned n;

	if (s->watch.pid == pgconn_pid(s->conn)) {
		*s->watch.mark = '\0';
		pgconn_mark(s->conn, NULL);
		return;
	}
	if (!*pool_id)
		snprintf(pool_id, sizeof pool_id, "%08lx%08lx", random(), random());
	snprintf(s->watch.mark, sizeof s->watch.mark, "effectd %s %u", pool_id, ++n);
	pgconn_mark(s->conn, s->watch.mark);
}

static void
check_cb(struct pgconn *c, const struct pgconn_answer *a, void *arg)
{
	struct pgconn_statement statement = {.sql = SCHEMA_SQL_VERSION};
	struct pgpool_check found;
	struct slot *s = arg;
	char why[128];

	if (a->end == PGCONN_LOST)
		return;
	if (a->end == PGCONN_ERROR) {
		slot_down(s, a->message);
		return;
	}
	if (!pgpool_check_read(a->result, &found, why, sizeof why)) {
		slot_down(s, why);
		return;
	}
	snprintf(status.server_version, sizeof status.server_version, "%s", found.server_version);
	s->watch.pid = found.pid;
	s->watch.backend_start_us = found.backend_start_us;
	slot_mark(s);
	s->read_committed = found.read_committed;
	if (!found.has_schema) {
		slot_schema_misfit(s, 0, SCHEMA_OLD);
		return;
	}
	pgconn_call(c, &statement, 1, version_cb, s);
}

static void
slot_check(struct slot *s)
{
	struct pgconn_statement statement = {.sql = pgpool_check_sql};

	s->state = CHECKING;
	s->watch.conn = NULL; /* the check has its own patience */
	s->recheck = false;
	loop_timer_set(s->timer, config->request_timeout_ms);
	pgconn_call(s->conn, &statement, 1, check_cb, s);
}

/* ---- the clock ---- */

static void
refresh_cb(struct pgconn *c, const struct pgconn_answer *a, void *arg)
{
	struct slot *s = arg;

	(void)c;
	if (a->end == PGCONN_LOST)
		return;
	if (a->end == PGCONN_ERROR || PQntuples(a->result) != 1) {
		slot_check(s);
		return;
	}
	slot_clock_told(s, a->result, 0);
	slot_ready(s);
}

static void
slot_refresh(struct slot *s)
{
	struct pgconn_statement statement = {.sql = "select effect.now()"};

	s->state = REFRESHING;
	pgpool_stall_sent(&s->watch, 0);
	pgconn_call(s->conn, &statement, 1, refresh_cb, s);
}

int64_t
pgpool_db_now_us(const struct pgconn *c)
{
	const struct slot *s = pgconn_arg(c);
	int64_t gone_us = loop_now_us() - s->told_us;

	return s->db_us + gone_us - gone_us / CLOCK_DRIFT_DIVISOR;
}

bool
pgpool_read_committed(const struct pgconn *c)
{
	const struct slot *s = pgconn_arg(c);

	return s->read_committed;
}

void
pgpool_clock_jumped(void)
{
	for (unsigned i = 0; i < n_slots; i++)
		slots[i].refresh = true;
}

/* ---- what batch uses ---- */

static bool
slot_free(const struct slot *s)
{
	return s->state == READY && !pgconn_busy(s->conn);
}

/* Its connection, if it is free and need not be looked at first. */
static struct pgconn *
slot_take(struct slot *s, int64_t statement_ms)
{
	if (!slot_free(s))
		return NULL;
	if (s->recheck)
		slot_check(s);
	else if (s->refresh || loop_now_us() - s->told_us > CLOCK_AGE_US_MAX)
		slot_refresh(s);
	else {
		pgpool_stall_sent(&s->watch, statement_ms);
		return s->conn;
	}
	return NULL;
}

struct pgconn *
pgpool_free_connection(void)
{
	struct pgconn *c = NULL;

	for (unsigned i = 0; !c && i < n_quick; i++)
		c = slot_take(&slots[i], 0);
	return c;
}

struct pgconn *
pgpool_slow_connection(int64_t statement_ms)
{
	struct slot *s = &slots[n_quick];

	if (s->state == DOWN && !slow_rests)
		slot_try(s);
	if (slot_free(s))
		loop_timer_set(s->timer, SLOW_IDLE_MS);
	return slot_take(s, statement_ms);
}

bool
pgpool_slow_busy(void)
{
	return slots && slots[n_quick].state == READY && pgconn_busy(slots[n_quick].conn);
}

unsigned
pgpool_n_connections(void)
{
	return n_quick;
}

unsigned
pgpool_n_free(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_quick; i++)
		n += slot_free(&slots[i]);
	return n;
}

void
pgpool_recheck(struct pgconn *c)
{
	struct slot *s = pgconn_arg(c);

	s->recheck = true;
}

void
pgpool_drop(struct pgconn *c, const char *why)
{
	pgconn_abort(c, why);
}

void
pgpool_drop_read_only(struct pgconn *c, const char *why)
{
	for (unsigned i = 0; i < n_slots; i++) {
		struct slot *s = &slots[i];

		if (!s->conn || s->conn == c || pgconn_host(s->conn) != pgconn_host(c))
			continue;
		s->recheck = true;
		if (slot_free(s))
			slot_check(s);
	}
	pgpool_drop(c, why);
}

const struct pgpool_status *
pgpool_status(void)
{
	return &status;
}

void
pgpool_start(const struct config *with, void (*changed)(void))
{
	assert(!slots && with->database_connections > 0);
	config = with;
	changed_cb = changed;
	memset(&status, 0, sizeof status);
	status.since_us = loop_unix_us();
	snprintf(status.error, sizeof status.error, "not connected yet");
	said_ms = 0;
	stopping = slow_rests = false;
	n_quick = (unsigned)with->database_connections;
	n_slots = n_quick + 1;
	slots = xcalloc(n_slots, sizeof *slots);
	watches = xcalloc(n_slots, sizeof(struct pgpool_watch *));
	for (unsigned i = 0; i < n_slots; i++) {
		slots[i].n = i;
		slots[i].timer = loop_timer_new(slot_timer_cb, &slots[i]);
		watches[i] = &slots[i].watch;
	}
	pgpool_stall_start(watches, n_slots, pgpool_conninfo, config->request_timeout_ms);
	loop_timer_set(slots[0].timer, 0);
}

void
pgpool_stop(void)
{
	if (!slots)
		return;
	stopping = true;
	schema_migrate_stop();
	migrating = false;
	pgpool_stall_stop();
	for (unsigned i = 0; i < n_slots; i++)
		if (slots[i].conn)
			pgconn_abort(slots[i].conn, "stopping");
	for (unsigned i = 0; i < n_slots; i++)
		loop_timer_free(slots[i].timer);
	free(watches);
	watches = NULL;
	free(slots);
	slots = NULL;
	n_slots = n_quick = 0;
}
