/*
 * A write is never cancelled, and an answer that does not come may still be waited for rightly (a
 * synchronous standby that is away). A connection from which nothing has come for the time-out is
 * asked about through a connection of its own, to the same host: backend at work -> it is waited
 * for, so that no backends pile up; not at work, or nobody to ask -> lost, and pgconn_abort() tells
 * whoever waits for it.
 *
 * A backend that waits for us, who have sent it all there is, sits at the other end of a wire that
 * passes nothing. It would never learn of the end, and keep its open transaction's locks and its
 * place among the server's connections: so it is ended, once its connection is given up, or as soon
 * as there is somebody to ask again. Nothing is lost by that, as what it was asked goes again to
 * another one.
 */
#include "pgpool_stall.h"
#include "log.h"
#include "loop.h"
#include "pgarray.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define LOOK_MS_MIN 50
#define END_TRIES_MAX 5
#define SILENT_MAX 64 /* the oldest are forgotten: a server's keepalive sees to them */

enum finding { NOT_THERE, WAITS_FOR_US, AT_WORK };

struct backend {
	int pid;
	int64_t start_us;
	int host;
	unsigned n_tries; /* to end it that met nobody */
};

static struct pgpool_watch *const *watches;
static unsigned n_watches;
static const char *(*conninfo_cb)(void);
static int64_t timeout_ms;
static struct loop_timer *stall_timer;
static struct pgconn *checker;
static struct loop_timer *checker_timer;
static struct backend silent[SILENT_MAX]; /* given up, to be ended; oldest first */
static unsigned n_silent;
static bool ending;		/* that is what the checker is there for now */
static int64_t end_again_ms;	/* not tried before */
static struct buf pids, starts; /* of them, for the statement */

static bool
stalled(const struct pgpool_watch *w, int64_t now_ms)
{
	return w->conn && pgconn_busy(w->conn) && now_ms >= w->look_ms &&
	    now_ms - pgconn_silent_since_ms(w->conn) >= timeout_ms;
}

static void
checker_end(void)
{
	pgconn_close(checker);
	checker = NULL;
	loop_timer_clear(checker_timer);
}

/* Is this row of the answer about the backend that is at the call, as far as can be told? */
static bool
is_its(const PGresult *result, int i, const struct pgpool_watch *w)
{
	const char *query = PQgetvalue(result, i, 3);

	if (*w->mark)
		return !strncmp(query, "/* ", 3) && !strncmp(query + 3, w->mark, strlen(w->mark)) &&
		    !strncmp(query + 3 + strlen(w->mark), " */", 3);
	return w->pid == pgconn_pid(w->conn) && pg_read_int4(PQgetvalue(result, i, 0)) == w->pid &&
	    pg_read_int8(PQgetvalue(result, i, 1)) == w->backend_start_us;
}

static enum finding
look_for(const PGresult *result, const struct pgpool_watch *w)
{
	for (int i = 0; i < PQntuples(result); i++) {
		if (!is_its(result, i, w))
			continue;
		if (pg_read_bool(PQgetvalue(result, i, 2)))
			return AT_WORK;
		/* behind a pooler the backend may serve somebody else by now */
		if (!*w->mark)
			return WAITS_FOR_US;
	}
	return NOT_THERE;
}

/* It may hold its locks for ever. Behind a pooler nobody can say which one it was. */
static void
remember(const struct pgpool_watch *w)
{
	if (*w->mark || w->pid != pgconn_pid(w->conn))
		return;
	if (n_silent == SILENT_MAX)
		memmove(silent, silent + 1, --n_silent * sizeof *silent);
	silent[n_silent++] = (struct backend){w->pid, w->backend_start_us, pgconn_host(w->conn), 0};
}

/* Those of a host, after so many tries. */
static void
forget(int host, unsigned n_tries_max)
{
	unsigned n_left = 0;

	for (unsigned i = 0; i < n_silent; i++)
		if (silent[i].host != host || ++silent[i].n_tries < n_tries_max)
			silent[n_left++] = silent[i];
	n_silent = n_left;
}

/* result NULL: there is nobody to ask; then all that are stalled on this host are lost. */
static void
checker_verdict(const PGresult *result, int host)
{
	int64_t now_ms = loop_now_ms();

	for (unsigned i = 0; i < n_watches; i++) {
		struct pgpool_watch *w = watches[i];
		enum finding found;

		if (!stalled(w, now_ms) || pgconn_host(w->conn) != host)
			continue;
		found = result ? look_for(result, w) : NOT_THERE;
		if (found == AT_WORK) {
			log_debug("ledger", "process %d waits, it is at work", w->pid);
			w->look_ms = now_ms + timeout_ms;
			continue;
		}
		if (!result || found == WAITS_FOR_US)
			remember(w);
		pgconn_abort(w->conn,
		    result ? "no answer, and its backend is not at work"
			   : "no answer, and nobody to ask");
	}
}

static struct pgvalue
silent_pid(void *arg, unsigned i)
{
	(void)arg;
	return pg_int4(silent[i].pid);
}

static struct pgvalue
silent_start(void *arg, unsigned i)
{
	(void)arg;
	return pg_int8(silent[i].start_us);
}

static void
checker_ended_cb(struct pgconn *c, const struct pgconn_answer *a, void *arg)
{
	(void)arg;
	if (a->end == PGCONN_LOST)
		return;
	if (a->end == PGCONN_ERROR)
		log_warn("ledger", "%u silent backends could not be ended: %s, leaving them",
		    n_silent, a->message);
	forget(pgconn_host(c), 0);
	checker_end();
}

/* Each by its start, too: its number may be another's by now. One that is at work is left alone. */
static void
checker_end_silent(void)
{
	struct pgconn_statement statement = {
	    .sql = "select pg_catalog.pg_terminate_backend(a.pid)"
		   " from pg_catalog.pg_stat_activity a,"
		   " rows from (pg_catalog.unnest($1::int4[]),"
		   " pg_catalog.unnest($2::int8[])) s (pid, start)"
		   " where a.pid = s.pid and s.start ="
		   " (extract(epoch from a.backend_start) * 1000000)::int8"
		   " and (a.state <> 'active' or a.wait_event_type = 'Client')",
	    .n_params = 2,
	    .types = {pgtype_array_oid(PGTYPE_INT4), pgtype_array_oid(PGTYPE_INT8)}};

	buf_clear(&pids);
	buf_clear(&starts);
	pgarray_encode(&pids, PGTYPE_INT4, n_silent, silent_pid, NULL);
	pgarray_encode(&starts, PGTYPE_INT8, n_silent, silent_start, NULL);
	statement.values[0] = pids.data;
	statement.values[1] = starts.data;
	statement.lengths[0] = (int)pids.len;
	statement.lengths[1] = (int)starts.len;
	ending = true;
	pgconn_call(checker, &statement, 1, checker_ended_cb, NULL);
}

static void
checker_answer_cb(struct pgconn *c, const struct pgconn_answer *a, void *arg)
{
	(void)arg;
	if (a->end == PGCONN_LOST)
		return;
	checker_verdict(a->end == PGCONN_OK ? a->result : NULL, pgconn_host(c));
	if (n_silent > 0 && a->end == PGCONN_OK)
		checker_end_silent();
	else
		checker_end();
}

static void
checker_connected_cb(struct pgconn *c, void *arg)
{
	struct pgconn_statement statement = {
	    .sql = "select a.pid, (extract(epoch from a.backend_start) * 1000000)::int8,"
		   " a.state = 'active' and a.wait_event_type is distinct from 'Client',"
		   " pg_catalog.left(a.query, 80)"
		   " from pg_catalog.pg_stat_activity a"
		   " where a.state is not null and a.usename = current_user"};

	(void)arg;
	if (ending)
		checker_end_silent();
	else
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
	if (ending) {
		forget(host, END_TRIES_MAX);
		return;
	}
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
checker_start(int host, bool to_end)
{
	static const struct pgconn_handler handler = {checker_connected_cb, checker_closed_cb};

	ending = to_end;
	checker = pgconn_new(conninfo_cb(), host, timeout_ms, &handler, NULL);
	loop_timer_set(checker_timer, timeout_ms);
}

static void
stall_cb(void *arg)
{
	int64_t now_ms = loop_now_ms(), again_ms = timeout_ms / 4;
	bool busy = false;

	(void)arg;
	for (unsigned i = 0; i < n_watches; i++) {
		struct pgpool_watch *w = watches[i];

		if (!w->conn)
			continue;
		busy |= pgconn_busy(w->conn);
		if (!checker && stalled(w, now_ms))
			checker_start(pgconn_host(w->conn), false);
	}
	if (busy)
		loop_timer_set(stall_timer, again_ms < LOOK_MS_MIN ? LOOK_MS_MIN : again_ms);
}

void
pgpool_stall_sent(struct pgpool_watch *watch, int64_t statement_ms)
{
	/* at the end of its own time-out a backend is no longer at work, and its word is on its way
	 */
	watch->look_ms = statement_ms > 0 ? loop_now_ms() + statement_ms + timeout_ms : 0;
	/* somebody is there again */
	if (n_silent > 0 && !checker && loop_now_ms() >= end_again_ms) {
		end_again_ms = loop_now_ms() + timeout_ms;
		checker_start(silent[0].host, true);
	}
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
	n_silent = 0;
	end_again_ms = 0;
	buf_free(&pids);
	buf_free(&starts);
}
