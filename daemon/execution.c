/*
 * The transaction of an execution. States, and what is in flight:
 *
 *	WAITING		for a connection of its role
 *	PAUSING		before it asks again
 *	CLAIMING	begin; effect.execute_begin
 *	ANSWERING	commit of a claim that was answered otherwise than by run
 *	RUNNING		the tool's statement, and the constraints that it deferred
 *	COMMITTING	effect.execute_done; commit
 *	GIVING_BACK	rollback
 *
 * Promise: EXECUTION_RAN only after the COMMIT was answered without a WARNING, or the row says that
 * this very try of ours is done. A statement is sent only on a transaction whose claim was answered
 * `run`, and never twice for one claim. Which effect could be performed twice? One whose COMMIT was
 * not answered, and that is asked for anew: so it is asked as `resent`, and claimed only when the
 * first one's locks, and with them its backend, are gone and its row is not there. A COMMIT is
 * never cancelled; a connection that does not answer it is given up, and the row is asked.
 *
 * Owns what was claimed and found; executions free themselves when they were told or abandoned.
 */
#include "execution.h"

#include "alloc.h"
#include "batch_sqlstate.h"
#include "execute_spec.h"
#include "execution_place.h"
#include "execution_sql.h"
#include "fault.h"
#include "limits.h"
#include "log.h"
#include "loop.h"
#include "methods/ledger.h"
#include "pgconn.h"
#include "pgpool.h"
#include "sqlrow.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_FOR_OWN_MS 2000 /* effect.execute_begin waits itself for what it sent before */
#define PAUSE_ABANDONED_MS 1000
#define LEDGER_AWAY_MS 100

enum state { WAITING, PAUSING, CLAIMING, ANSWERING, RUNNING, COMMITTING, GIVING_BACK };

struct execution {
	LIST_ENTRY(execution) link;
	struct execution_ask ask;
	enum state state;
	bool resent;	/* its COMMIT was sent, and not answered */
	bool abandoned; /* nobody waits */
	bool again;	/* GIVING_BACK: to be asked anew */
	unsigned n_tries;
	struct execution_seat seat;
	struct pgconn *conn;	  /* from CLAIMING on */
	struct loop_timer *timer; /* PAUSING: its end; with a call open: our patience */
	struct batch_item item;	  /* of ledger_execute_begin, never with the batch */
	PGresult *claim;	  /* what it was answered; owned */
	struct execution_end end; /* what is to be told */
	struct buf result;	  /* as the statement gave it */
	struct buf stored;	  /* where something was taken out of it */
};

static const struct config *config;
static LIST_HEAD(, execution) all = LIST_HEAD_INITIALIZER(all);

static void execution_ran_cb(struct pgconn *c, const struct pgconn_answer *a, void *arg);
static void execution_committed_cb(struct pgconn *c, const struct pgconn_answer *a, void *arg);

static const struct execute_spec *
spec_of(const struct execution *e)
{
	return e->ask.policy->execute;
}

/* ---- the connection ---- */

/* An answer came: the call is over, and its connection if that was lost. */
static void
heard(struct execution *e, const struct pgconn_answer *a)
{
	loop_timer_clear(e->timer);
	if (a->end != PGCONN_LOST)
		return;
	e->conn = NULL;
	execution_place_lost(&e->seat, e->state == COMMITTING);
}

static void
drop(struct execution *e, const char *why)
{
	if (e->conn)
		execution_place_drop(&e->seat, why);
	e->conn = NULL;
}

static void
say(struct execution *e, enum state state, const struct pgconn_statement *statements, unsigned n,
    int64_t patience_ms,
    void (*cb)(struct pgconn *c, const struct pgconn_answer *answer, void *arg))
{
	e->state = state;
	loop_timer_set(e->timer, patience_ms);
	pgconn_call(e->conn, statements, n, cb, e);
}

/* ---- the end ---- */

static void
execution_free(struct execution *e)
{
	LIST_REMOVE(e, link);
	execution_place_leave(&e->seat);
	loop_timer_free(e->timer);
	PQclear(e->claim);
	buf_free(&e->result);
	buf_free(&e->stored);
	free(e);
}

/* Tells it. A connection that it still has is of use to the next one. */
static void
finish(struct execution *e, enum execution_what what)
{
	struct batch_row row = {.result = e->claim, .n_rows = 1, .resent = e->resent};

	e->end.what = what;
	e->end.row = what == EXECUTION_ANSWERED ? &row : NULL;
	if (e->conn)
		execution_place_return(&e->seat);
	e->conn = NULL;
	e->ask.done(e->ask.arg, &e->end);
	execution_free(e);
}

/* Once more after a pause, unless nobody waits, and nothing of it can be there. */
static void
ask_again(struct execution *e)
{
	if (e->conn)
		execution_place_return(&e->seat);
	e->conn = NULL;
	if (e->abandoned && !e->resent) {
		finish(e, EXECUTION_UNAVAILABLE);
		return;
	}
	e->state = PAUSING;
	e->n_tries++;
	loop_timer_set(
	    e->timer, e->abandoned ? PAUSE_ABANDONED_MS : batch_sqlstate_pause_ms(e->n_tries));
}

static void
execution_given_back_cb(struct pgconn *c, const struct pgconn_answer *a, void *arg)
{
	struct execution *e = arg;

	(void)c;
	heard(e, a);
	if (a->end == PGCONN_ERROR)
		drop(e, NULL);
	if (e->again)
		ask_again(e);
	else
		finish(e, e->end.what);
}

static void
give_back(struct execution *e)
{
	struct pgconn_statement rollback = {.sql = "rollback"};

	say(e, GIVING_BACK, &rollback, 1, config->request_timeout_ms, execution_given_back_cb);
}

static void
give_back_and_tell(struct execution *e, enum execution_what what)
{
	e->again = false;
	e->end.what = what;
	give_back(e);
}

/* ---- the record ---- */

static void
execution_answered_cb(struct pgconn *c, const struct pgconn_answer *a, void *arg)
{
	struct execution *e = arg;

	(void)c;
	heard(e, a);
	if (a->end == PGCONN_ERROR)
		drop(e, NULL);
	if (a->end != PGCONN_OK || a->warning) {
		PQclear(e->claim);
		e->claim = NULL;
		ask_again(e);
		return;
	}
	finish(e, e->end.what);
}

/* What the claim was answered is committed before it is told. */
static void
answer(struct execution *e, enum execution_what what)
{
	struct pgconn_statement commit = {.sql = "commit"};

	e->end.what = what;
	say(e, ANSWERING, &commit, 1, config->request_timeout_ms, execution_answered_cb);
}

static void
record(struct execution *e)
{
	struct pgconn_statement statements[EXECUTION_SQL_MAX];
	struct batch_item done = {.statement = &ledger_execute_done};
	bool redacted = e->stored.len > 0;
	const struct buf *text = redacted ? &e->stored : &e->result;
	unsigned n;

	done.columns[EXECUTE_DONE_P_ID] = pg_uuid(&e->ask.effect);
	done.columns[EXECUTE_DONE_P_TOKEN] = pg_uuid(&e->ask.token);
	done.columns[EXECUTE_DONE_P_RESULT] =
	    e->end.result ? pg_textn(text->data, text->len) : pg_null();
	done.columns[EXECUTE_DONE_P_REDACTED] = pg_bool(redacted);
	n = execution_sql_record(statements, &done);
	fault_point("execute.commit");
	say(e, COMMITTING, statements, n, config->request_timeout_ms, execution_committed_cb);
	fault_point("execute.committing");
}

/* Refused by the server: then nothing is committed. What a constraint or trigger said at the very
 * end is the tool's word. */
static void
record_refused(struct execution *e, const struct pgconn_answer *a)
{
	bool ours = strncmp(a->sqlstate, "ZE", 2) == 0;

	drop(e, NULL);
	if (ours)
		log_error("execute", "the record of \"%s\" is refused (%s): %s",
		    e->ask.policy->name, a->sqlstate, a->message);
	switch (batch_sqlstate_action(a->sqlstate, "", BATCH_WRITE, 1)) {
	case BATCH_AGAIN:
	case BATCH_DROP:
	case BATCH_READ_ONLY:
		finish(e, EXECUTION_UNAVAILABLE);
		return;
	default:
		memcpy(e->end.sqlstate, a->sqlstate, sizeof e->end.sqlstate);
		finish(e, ours ? EXECUTION_INTERNAL : EXECUTION_RAISED);
	}
}

static void
execution_committed_cb(struct pgconn *c, const struct pgconn_answer *a, void *arg)
{
	struct batch_row row = {.result = a->result, .n_rows = 1};
	struct execution *e = arg;
	bool lost;

	(void)c;
	heard(e, a);
	/* fail: the answer did not come; "40003" says that nobody knows */
	lost = fault_point("execute.committed") || a->end == PGCONN_LOST ||
	    strcmp(a->sqlstate, "40003") == 0;
	if (lost || a->warning) {
		log_warn("execute", "whether \"%s\" is committed is not known, asking its row",
		    e->ask.policy->name);
		if (a->end == PGCONN_ERROR)
			drop(e, NULL);
		e->resent = true;
		ask_again(e);
	} else if (a->end == PGCONN_ERROR) {
		record_refused(e, a);
	} else {
		e->end.done_at_us = batch_instant(&row, EXECUTE_DONE_AT);
		e->end.protected_until_us = batch_instant(&row, EXECUTE_DONE_PROTECTED_UNTIL);
		e->end.result_state = batch_text(&row, EXECUTE_DONE_RESULT_STATE, NULL);
		finish(e, EXECUTION_RAN);
	}
}

/* ---- the statement ---- */

static void
run(struct execution *e)
{
	const struct execute_spec *spec = spec_of(e);
	struct pgconn_statement statements[EXECUTION_SQL_MAX];
	unsigned n = execution_sql_run(statements, spec, e->ask.params);

	fault_point("execute.claimed");
	e->ask.started(e->ask.arg);
	say(e, RUNNING, statements, n, spec->timeout_ms + config->request_timeout_ms,
	    execution_ran_cb);
	fault_point("execute.running");
}

/* No row is no result, which is null. False: it cannot be one. */
static bool
take_result(struct execution *e, const PGresult *rows)
{
	const char *text;
	size_t len;

	e->end.why = sqlrow_read(rows, EXECUTE_RESULT_BYTES_MAX, &text, &len);
	if (e->end.why) {
		snprintf(e->end.sqlstate, sizeof e->end.sqlstate, "%s",
		    PQntuples(rows) > 1 ? "21000" : "54000");
		return false;
	}
	e->end.has_result = true;
	if (!text)
		return true;
	buf_add(&e->result, text, len);
	e->end.result = e->result.data;
	e->end.result_len = len;
	if (e->ask.policy->result_secret.n > 0)
		(void)tool_redact_result(e->ask.policy, text, len, &e->stored);
	return true;
}

static void
execution_ran_cb(struct pgconn *c, const struct pgconn_answer *a, void *arg)
{
	struct execution *e = arg;

	(void)c;
	heard(e, a);
	fault_point("execute.ran");
	if (a->end == PGCONN_LOST) {
		/* nothing of it is there, but whether to do it again is for whoever asked */
		finish(e, EXECUTION_UNAVAILABLE);
	} else if (a->end == PGCONN_ERROR) {
		memcpy(e->end.sqlstate, a->sqlstate, sizeof e->end.sqlstate);
		give_back_and_tell(e, EXECUTION_RAISED);
	} else if (!take_result(e, a->result)) {
		give_back_and_tell(e, EXECUTION_RAISED);
	} else {
		record(e);
	}
}

/* ---- the claim ---- */

static bool
claim_is(const struct execution *e, const char *word)
{
	const struct batch_row row = {.result = e->claim, .n_rows = 1};
	const char *told = batch_text(&row, LEDGER_ANSWER, NULL);

	return told && strcmp(told, word) == 0;
}

/* Our own COMMIT, which was not answered, did it. */
static void
take_own_row(struct execution *e)
{
	const struct batch_row row = {.result = e->claim, .n_rows = 1};

	e->end.done_at_us = batch_instant(&row, BEGIN_DONE_AT);
	e->end.protected_until_us = batch_instant(&row, BEGIN_PROTECTED_UNTIL);
	e->end.result_state = batch_text(&row, BEGIN_RESULT_STATE, NULL);
}

static void
judge(struct execution *e)
{
	const struct batch_row row = {.result = e->claim, .n_rows = 1};

	e->end.attempt = batch_int4(&row, BEGIN_ATTEMPT);
	e->end.duplicate |= !batch_null(&row, BEGIN_TWIN);
	e->again = claim_is(e, "retry");
	if (e->again) {
		give_back(e);
	} else if (claim_is(e, "ran")) {
		take_own_row(e);
		answer(e, EXECUTION_RAN);
	} else if (!claim_is(e, "run")) {
		answer(e, EXECUTION_ANSWERED);
	} else if (e->abandoned) {
		give_back_and_tell(e, EXECUTION_UNAVAILABLE);
	} else {
		buf_clear(&e->result); /* of a first try that was not committed */
		buf_clear(&e->stored);
		e->end.has_result = false;
		e->end.result = NULL;
		run(e);
	}
}

/* Nothing was claimed. What is wrong with the role is for its operator, and the tool's failure. */
static void
claim_refused(struct execution *e, const struct pgconn_answer *a)
{
	switch (batch_sqlstate_action(a->sqlstate, a->message, BATCH_WRITE, 1)) {
	case BATCH_AGAIN:
	case BATCH_CONTENDED:
	case BATCH_DROP:
	case BATCH_READ_ONLY:
		drop(e, a->message);
		ask_again(e);
		return;
	default:
		log_error("execute", "the claim of \"%s\" as \"%s\" is refused (%s): %s",
		    e->ask.policy->name, spec_of(e)->user, a->sqlstate, a->message);
		memcpy(e->end.sqlstate, a->sqlstate, sizeof e->end.sqlstate);
		give_back_and_tell(e, EXECUTION_RAISED);
	}
}

static void
execution_claimed_cb(struct pgconn *c, const struct pgconn_answer *a, void *arg)
{
	struct execution *e = arg;

	(void)c;
	heard(e, a);
	if (a->end == PGCONN_LOST) {
		ask_again(e);
		return;
	}
	if (a->end == PGCONN_ERROR) {
		claim_refused(e, a);
		return;
	}
	PQclear(e->claim);
	e->claim = PQcopyResult(a->result, PG_COPYRES_ATTRS | PG_COPYRES_TUPLES);
	if (!e->claim)
		alloc_out_of_memory();
	if (PQntuples(e->claim) == 1) {
		judge(e);
		return;
	}
	log_error("execute", "the server's answer makes no sense");
	drop(e, NULL);
	finish(e, EXECUTION_INTERNAL);
}

static void
execution_given_cb(struct execution_seat *seat, struct pgconn *conn)
{
	struct execution *e =
	    (struct execution *)(void *)((char *)seat - offsetof(struct execution, seat));
	struct pgconn_statement statements[EXECUTION_SQL_MAX];
	unsigned n;

	e->conn = conn;
	e->item.resent = e->resent;
	n = execution_sql_claim(statements, &e->item, config->request_timeout_ms + WAIT_FOR_OWN_MS);
	fault_point("execute.claim");
	say(e, CLAIMING, statements, n, config->request_timeout_ms + 2 * WAIT_FOR_OWN_MS,
	    execution_claimed_cb);
}

/* ---- verbs ---- */

static void
wait_for_connection(struct execution *e)
{
	const struct execute_spec *spec = spec_of(e);

	if (!pgpool_status()->up) { /* it may be another version's, or be installed just now */
		e->state = PAUSING;
		loop_timer_set(e->timer, LEDGER_AWAY_MS);
		return;
	}
	e->state = WAITING;
	execution_place_ask(&e->seat, spec->user, spec->password_file,
	    (unsigned)config->execute_connections, config->request_timeout_ms);
}

static void
execution_timer_cb(void *arg)
{
	struct execution *e = arg;

	if (e->state == PAUSING)
		wait_for_connection(e);
	else
		pgconn_abort(e->conn, "no answer");
}

void
execution_init(const struct config *with)
{
	config = with;
}

struct execution *
execution_start(const struct execution_ask *ask)
{
	struct execution *e = xcalloc(1, sizeof *e);

	e->ask = *ask;
	e->seat.given = execution_given_cb;
	e->timer = loop_timer_new(execution_timer_cb, e);
	e->item.statement = &ledger_execute_begin;
	memcpy(e->item.columns, ask->columns, sizeof e->item.columns);
	LIST_INSERT_HEAD(&all, e, link);
	wait_for_connection(e);
	return e;
}

bool
execution_abandon(struct execution *e)
{
	if ((e->state != WAITING && e->state != PAUSING) || e->resent) {
		e->abandoned = true;
		return false;
	}
	execution_free(e);
	return true;
}

bool
execution_runs(const struct uuid *effect)
{
	const struct execution *e;

	LIST_FOREACH (e, &all, link)
		if (e->state >= RUNNING && uuid_equal(&e->ask.effect, effect))
			return true;
	return false;
}

unsigned
execution_n_open(void)
{
	const struct execution *e;
	unsigned n = 0;

	LIST_FOREACH (e, &all, link)
		n += e->conn && !(e->resent && e->abandoned);
	return n;
}

void
execution_stop(void)
{
	struct execution *e;

	while ((e = LIST_FIRST(&all))) {
		drop(e, NULL);
		e->abandoned = true;
		finish(e, EXECUTION_UNAVAILABLE);
	}
	execution_place_stop();
	execution_sql_free();
}
