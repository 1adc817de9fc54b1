/*
 * A write is never cancelled, and an answer that does not come may still be waited for rightly (a
 * synchronous standby that is away). A connection that has had no answer for the time-out is asked
 * about through a connection of its own, to the same host: backend at work -> it is waited for, so
 * that no backends pile up; not at work, or nobody to ask -> lost, and pgconn_abort() tells whoever
 * waits for it.
 */
#include "pgpool_stall.h"
#include "log.h"
#include "loop.h"
#include "pgarray.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define LOOK_MS_MIN 50

static struct pgpool_watch *const *watches;
static unsigned n_watches;
static const char *(*conninfo_cb)(void);
static int64_t timeout_ms;
static struct loop_timer *stall_timer;
static struct pgconn *checker;
static struct loop_timer *checker_timer;

static bool
stalled(const struct pgpool_watch *w, int64_t now_ms)
{
	return w->conn && pgconn_busy(w->conn) && now_ms >= w->look_ms &&
	    now_ms - pgconn_busy_since_ms(w->conn) >= timeout_ms;
}

static void
checker_end(void)
{
	pgconn_close(checker);
	checker = NULL;
	loop_timer_clear(checker_timer);
}

static bool
at_work(const PGresult *result, const struct pgpool_watch *w)
{
	for (int i = 0; i < PQntuples(result); i++)
		if (pg_read_int4(PQgetvalue(result, i, 0)) == w->pid &&
		    pg_read_int8(PQgetvalue(result, i, 1)) == w->backend_start_us)
			return w->pid == pgconn_pid(w->conn);
	return false;
}

/* result NULL: there is nobody to ask; then all that are stalled on this host are lost. */
static void
checker_verdict(const PGresult *result, int host)
{
	int64_t now_ms = loop_now_ms();

	for (unsigned i = 0; i < n_watches; i++) {
		struct pgpool_watch *w = watches[i];

		if (!stalled(w, now_ms) || pgconn_host(w->conn) != host)
			continue;
		if (result && at_work(result, w)) {
			log_debug("ledger", "process %d waits, it is at work", w->pid);
			w->look_ms = now_ms + timeout_ms;
		} else
			pgconn_abort(w->conn,
			    result ? "no answer, and its backend is not at work"
				   : "no answer, and nobody to ask");
	}
}

static void
checker_answer_cb(struct pgconn *c, const struct pgconn_answer *a, void *arg)
{
	int host = pgconn_host(c);

	(void)arg;
	if (a->end == PGCONN_LOST)
		return;
	checker_end();
	checker_verdict(a->end == PGCONN_OK ? a->result : NULL, host);
}

static void
checker_connected_cb(struct pgconn *c, void *arg)
{
	struct pgconn_statement statement = {
	    .sql = "select a.pid, (extract(epoch from a.backend_start) * 1000000)::int8"
		   " from pg_catalog.pg_stat_activity a"
		   " where a.state = 'active' and a.usename = current_user"};

	(void)arg;
	pgconn_call(c, &statement, 1, checker_answer_cb, NULL);
}

static void
checker_closed_cb(struct pgconn *c, const char *sqlstate, const char *why, void *arg)
{
	int host = pgconn_host(c);

	(void)why;
	(void)arg;
	checker = NULL;
	loop_timer_clear(checker_timer);
	if (!strcmp(sqlstate, "53300"))
		return; /* too many clients: it lives, more we cannot tell; the next look asks again
			 */
	checker_verdict(NULL, host);
}

static void
checker_timer_cb(void *arg)
{
	(void)arg;
	pgconn_abort(checker, "no answer");
}

static void
stall_cb(void *arg)
{
	static const struct pgconn_handler handler = {checker_connected_cb, checker_closed_cb};
	int64_t now_ms = loop_now_ms(), again_ms = timeout_ms / 4;
	bool busy = false;

	(void)arg;
	for (unsigned i = 0; i < n_watches; i++) {
		struct pgpool_watch *w = watches[i];

		if (!w->conn)
			continue;
		busy |= pgconn_busy(w->conn);
		if (checker || !stalled(w, now_ms))
			continue;
		checker =
		    pgconn_new(conninfo_cb(), pgconn_host(w->conn), timeout_ms, &handler, NULL);
		loop_timer_set(checker_timer, timeout_ms);
	}
	if (busy)
		loop_timer_set(stall_timer, again_ms < LOOK_MS_MIN ? LOOK_MS_MIN : again_ms);
}

void
pgpool_stall_sent(struct pgpool_watch *watch)
{
	watch->look_ms = 0;
	if (!loop_timer_armed(stall_timer))
		loop_timer_set(stall_timer, timeout_ms);
}

void
pgpool_stall_start(
    struct pgpool_watch *const *of, unsigned n, const char *(*conninfo)(void), int64_t patience_ms)
{
	watches = of;
	n_watches = n;
	conninfo_cb = conninfo;
	timeout_ms = patience_ms;
	stall_timer = loop_timer_new(stall_cb, NULL);
	checker_timer = loop_timer_new(checker_timer_cb, NULL);
}

void
pgpool_stall_stop(void)
{
	checker_end();
	loop_timer_free(stall_timer);
	loop_timer_free(checker_timer);
	stall_timer = checker_timer = NULL;
}
