/*
 * The sql probe. A connection of its own: found, opened, asked once, closed, all under one
 * deadline.
 *
 * Promises: `landed` and `absent` are told only where the server's own Sync came behind the rows;
 * of two rows or more, an error, a lost connection and silence it is `inconclusive`. Nothing is
 * written: the transaction is read-only before the query is looked at, and the query stands where
 * SQL allows reading alone. No more than one row of bounded size comes into memory. Nothing is left
 * in the session, which may be a pooler's.
 *
 * Owned by nobody: it frees itself when it was told or cancelled.
 */
#include "probe_sql.h"

#include "alloc.h"
#include "buf.h"
#include "credential.h"
#include "limits.h"
#include "loop.h"
#include "pgconn.h"
#include "pgpool.h"
#include "probe_sql_place.h"
#include "probe_sql_spec.h"
#include "probe_template.h"
#include "sqlrow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * By set_config(), as the statements between two Syncs are one transaction that nobody began: SET
 * LOCAL would warn. What is read-only stays so, since a snapshot was taken. A wait for a lock ends
 * first, so that the reason tells it from a slow query.
 */
#define SETTINGS                                                             \
	"select pg_catalog.set_config('transaction_read_only', 'on', true)," \
	" pg_catalog.set_config('statement_timeout', $1, true),"             \
	" pg_catalog.set_config('lock_timeout', $2, true),"                  \
	" pg_catalog.set_config('client_min_messages', 'error', true)"

/* Around the query: its rows as JSON objects by column, two at most, and none beyond its size. */
#define BEFORE                                                               \
	"select case when pg_catalog.octet_length(line) <= %d then line end" \
	" from (select pg_catalog.row_to_json(effectd_row)::pg_catalog.text as line from (\n"
#define BEHIND "\n) as effectd_row limit 2) as effectd_lines"

struct probe_sql {
	struct probe_sql_spec *spec;
	struct probe_sql_place *place; /* one of them, in this order */
	struct pgconn *conn;
	char *params[PROBE_SQL_PARAMS_MAX];
	struct loop_timer *deadline;
	int64_t timeout_ms, until_ms;
	bool asked;	  /* the query was sent */
	char **start_why; /* where to say that it cannot even be started; NULL: it was */
	void (*done)(void *arg, const struct probe_answer *answer);
	void *arg;
};

static void
probe_sql_free(struct probe_sql *p)
{
	probe_sql_place_cancel(p->place);
	pgconn_close(p->conn);
	loop_timer_free(p->deadline);
	for (size_t i = 0; i < PROBE_SQL_PARAMS_MAX; i++)
		free(p->params[i]);
	probe_sql_spec_unref(p->spec);
	free(p);
}

static void
probe_sql_told(struct probe_sql *p, const struct probe_answer *answer)
{
	p->done(p->arg, answer);
	probe_sql_free(p);
}

static void
probe_sql_doubt(struct probe_sql *p, const char *sqlstate, const char *what)
{
	char *reason = xasprintf("%s%s%s", sqlstate, sqlstate[0] ? ": " : "", what);

	probe_sql_told(p, &(struct probe_answer){.verdict = PROBE_INCONCLUSIVE, .reason = reason});
	free(reason);
}

/* ---- the answer ---- */

static void
probe_sql_rows(struct probe_sql *p, const PGresult *rows)
{
	struct probe_answer answer = {.verdict = PROBE_ABSENT, .answered = true};

	answer.reason =
	    sqlrow_read(rows, PROBE_OUTPUT_BYTES_MAX, &answer.result, &answer.result_len);
	if (answer.reason)
		answer.verdict = PROBE_INCONCLUSIVE;
	else if (answer.result)
		answer.verdict = PROBE_LANDED;
	probe_sql_told(p, &answer);
}

static void
probe_sql_call_cb(struct pgconn *c, const struct pgconn_answer *answer, void *arg)
{
	struct probe_sql *p = arg;

	(void)c;
	if (answer->end == PGCONN_OK)
		probe_sql_rows(p, answer->result);
	else
		probe_sql_doubt(p, answer->sqlstate, answer->message);
}

/* ---- the question ---- */

static void
probe_sql_ask(struct probe_sql *p)
{
	struct pgconn_statement statements[] = {{.sql = SETTINGS, .text = true, .n_params = 2},
	    {.text = true, .n_params = (int)p->spec->n_params}};
	int64_t left_ms = p->until_ms - loop_now_ms();
	char statement_ms[24], lock_ms[24];
	struct buf query = {0};

	if (left_ms < 1)
		left_ms = 1; /* 0 would be no end */
	snprintf(statement_ms, sizeof statement_ms, "%" PRId64, left_ms);
	snprintf(lock_ms, sizeof lock_ms, "%" PRId64, (left_ms + 1) / 2);
	statements[0].values[0] = statement_ms;
	statements[0].values[1] = lock_ms;
	for (size_t i = 0; i < p->spec->n_params; i++)
		statements[1].values[i] = p->params[i];
	buf_printf(&query, BEFORE, PROBE_OUTPUT_BYTES_MAX);
	buf_add_str(&query, p->spec->query);
	buf_add_str(&query, BEHIND);
	statements[1].sql = buf_str(&query);
	p->asked = true;
	pgconn_call(p->conn, statements, 2, probe_sql_call_cb, p);
	buf_free(&query);
}

static void
probe_sql_connected_cb(struct pgconn *c, void *arg)
{
	(void)c;
	probe_sql_ask(arg);
}

static void
probe_sql_closed_cb(struct pgconn *c, const char *sqlstate, const char *why, void *arg)
{
	struct probe_sql *p = arg;

	(void)c;
	p->conn = NULL;
	(void)sqlstate; /* it stands in the text */
	probe_sql_doubt(p, "", why[0] ? why : "the connection was lost");
}

static const struct pgconn_handler handler = {
    .connected = probe_sql_connected_cb, .closed = probe_sql_closed_cb};

static void
probe_sql_place_cb(void *arg, const char *conninfo, const char *why)
{
	struct probe_sql *p = arg;

	if (conninfo) /* several hosts get their turn */
		p->conn = pgconn_new(conninfo, -1, p->timeout_ms / 2 + 1, &handler, p);
	else if (p->start_why)
		*p->start_why = xstrdup(why);
	else
		probe_sql_doubt(p, "", why);
}

static void
probe_sql_deadline_cb(void *arg)
{
	struct probe_sql *p = arg;

	probe_sql_doubt(p, "",
	    p->asked	   ? "timed out"
		: p->place ? "timed out while its host was looked up"
			   : "timed out while connecting");
}

/* ---- start and end ---- */

static bool
fill_params(struct probe_sql *p, const struct probe_ask *ask, char **ret_why)
{
	struct probe_template_values values = {.ask = ask};

	for (size_t i = 0; i < p->spec->n_params; i++) {
		struct buf param = {0};
		bool filled = probe_template_fill(p->spec->params[i], &values, &param, ret_why);

		if (filled)
			p->params[i] = xstrdup(buf_str(&param));
		buf_free(&param);
		if (!filled)
			return false;
	}
	return true;
}

static bool
read_password(const struct probe_sql_spec *spec, char **ret_password, char **ret_why)
{
	char *why = NULL;

	if (!spec->password_file)
		return true;
	*ret_password = credential_read(spec->password_file, &why);
	if (!*ret_password)
		*ret_why = xasprintf("the password file %s", why);
	free(why);
	return *ret_password != NULL;
}

static void
find_place(struct probe_sql *p, char **ret_why)
{
	char *password = NULL;

	if (read_password(p->spec, &password, ret_why)) {
		p->start_why = ret_why;
		probe_sql_place_find(&p->place,
		    p->spec->database ? p->spec->database : pgpool_conninfo(),
		    &(struct probe_sql_login){
			.password = password, .application_name = "effectd probe"},
		    p->timeout_ms, probe_sql_place_cb, p);
		p->start_why = NULL;
	}
	free(password);
}

struct probe_sql *
probe_sql_start(const struct probe_ask *ask,
    void (*done)(void *arg, const struct probe_answer *answer), void *arg, char **ret_why)
{
	struct probe_sql *p = xcalloc(1, sizeof *p);

	p->spec = probe_sql_spec_ref(ask->sql);
	p->timeout_ms = ask->timeout_ms;
	p->until_ms = loop_now_ms() + ask->timeout_ms;
	p->done = done;
	p->arg = arg;
	p->deadline = loop_timer_new(probe_sql_deadline_cb, p);
	loop_timer_set(p->deadline, ask->timeout_ms);
	if (fill_params(p, ask, ret_why))
		find_place(p, ret_why);
	if (p->place || p->conn)
		return p;
	probe_sql_free(p);
	return NULL;
}

void
probe_sql_cancel(struct probe_sql *p)
{
	probe_sql_free(p);
}
