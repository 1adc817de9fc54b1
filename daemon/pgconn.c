/*
 * An asynchronous connection in pipeline mode. States and who moves them:
 *
 *	CONNECTING	PQconnectPoll under a deadline for each host; host after host
 *	IDLE		pipeline mode, nothing sent
 *	CALLING		statements and Sync sent; answered by finish_call()
 *	LOSING		tells its open call, then its handler
 *	CLOSED		waits for the end of the pass, where it is freed
 *
 * Promise: never blocks (but for libpq's resolver), never spins on what libpq returns, tells each
 * call's end once. Memory: the object is this file's; it goes at the end of its last pass.
 */
#include "pgconn.h"
#include "alloc.h"
#include "fault.h"
#include "log.h"
#include "loop.h"
#include "pgconn_hosts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREPARED_MAX 32
#define NAME_BYTES_MAX 64

enum state { CONNECTING, IDLE, CALLING, LOSING, CLOSED };

struct pgconn {
	enum state state;
	PGconn *pq;
	struct event *read_event, *write_event; /* of the present socket, or NULL */
	struct loop_timer *deadline;		/* of the present host */
	const struct pgconn_handler *handler;
	void *arg;

	char *conninfo;
	int host, n_hosts, only_host;
	int64_t connect_timeout_ms;
	char *mark; /* or NULL */

	/* the open call */
	void (*cb)(struct pgconn *c, const struct pgconn_answer *answer, void *arg);
	void *cb_arg;
	int64_t moved_ms; /* when anything was sent or came last */
	unsigned n_statements;
	bool broken;	  /* libpq did not take it, or not its answer */
	PGresult *result; /* rows of the last statement so far */
	struct pgconn_answer answer;

	/* names prepared on this connection, in their order, and how many of them the server has
	 * confirmed; a new generation when they may be void */
	const char *prepared[PREPARED_MAX];
	unsigned n_prepared, n_confirmed, generation;
};

/* A pooler without prepared statements stands in between: statements go out whole. */
static bool prepare_off;

static void connect_host(struct pgconn *c);

/* First line of libpq's message, without its end. */
static void
copy_line(char *ret, size_t size, const char *text)
{
	snprintf(ret, size, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
}

static void
free_events(struct pgconn *c)
{
	if (c->read_event)
		event_free(c->read_event);
	if (c->write_event)
		event_free(c->write_event);
	c->read_event = c->write_event = NULL;
}

static void
pgconn_free(void *object)
{
	struct pgconn *c = object;

	assert(c->state == CLOSED);
	PQclear(c->result);
	PQfinish(c->pq);
	free(c->conninfo);
	free(c->mark);
	free(c);
}

void
pgconn_close(struct pgconn *c)
{
	if (!c || c->state == CLOSED)
		return;
	c->state = CLOSED;
	free_events(c);
	loop_timer_free(c->deadline);
	loop_defer_free(pgconn_free, c);
}

/* After an error: what was not confirmed is not there, what was outlives the transaction, unless
 * DDL made it void. 26000 and 42P05 (no such statement, another of that name) mark a pooler. */
static void
forget_prepared(struct pgconn *c)
{
	static const char *const classes[] = {"0A", "26", "3F", "42", "XX"};
	const char *code = c->answer.sqlstate;

	if (c->n_prepared == 0)
		return; /* the statement's own doing: nothing was prepared here */
	c->n_prepared = c->n_confirmed;
	prepare_off |= !strcmp(code, "26000") || !strcmp(code, "42P05");
	for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
		if (!strncmp(code, classes[i], 2)) {
			c->n_prepared = c->n_confirmed = 0;
			c->generation++;
		}
}

/* Ends the call with what is in c->answer. The callback may send the next one, or close. */
static void
finish_call(struct pgconn *c, enum pgconn_end end)
{
	struct pgconn_answer answer = c->answer;
	PGresult *result = c->result;

	assert(c->state == CALLING);
	c->result = NULL;
	c->state = end == PGCONN_LOST ? LOSING : IDLE;
	if (end == PGCONN_ERROR)
		forget_prepared(c);
	answer.end = end;
	answer.result = end == PGCONN_OK ? result : NULL;
	c->cb(c, &answer, c->cb_arg);
	PQclear(result);
}

/* From "...FATAL:  53300: sorry, ...": whatever the language, two blanks, the code, a colon. */
static void
sqlstate_of_line(const char *line, char *ret, size_t size)
{
	const char *p = strstr(line, ":  ");

	if (p && strspn(p + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 5 && p[8] == ':' &&
	    size > 5)
		copy_line(ret, 6, p + 3);
}

static void
lost(struct pgconn *c, const char *why)
{
	char line[sizeof c->answer.message], sqlstate[sizeof c->answer.sqlstate] = "";

	copy_line(line, sizeof line, why);
	if (c->state == CALLING) {
		/* a FATAL says more than the end of the stream that follows it */
		if (c->answer.message[0])
			memcpy(line, c->answer.message, sizeof line);
		else
			memcpy(c->answer.message, line, sizeof line);
		memcpy(sqlstate, c->answer.sqlstate, sizeof sqlstate);
		finish_call(c, PGCONN_LOST);
	} else
		sqlstate_of_line(line, sqlstate, sizeof sqlstate);
	if (c->state == CLOSED)
		return;
	pgconn_close(c);
	c->handler->closed(c, sqlstate, line, c->arg);
}

void
pgconn_abort(struct pgconn *c, const char *why)
{
	if (c->state != CLOSED)
		lost(c, why);
}

/* Between send and Sync a WARNING on a write means "committed locally": not durable. */
static void
notice_cb(void *arg, const PGresult *notice)
{
	struct pgconn *c = arg;
	const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
	const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);

	if (!severity || !strcmp(severity, "NOTICE") || !strcmp(severity, "INFO") ||
	    !strcmp(severity, "DEBUG") || !strcmp(severity, "LOG"))
		return;
	if (c->state == CALLING)
		c->answer.warning = true;
	log_warn("ledger", "the server warns: %s", text ? text : "(no text)");
}

/* Keeps the first error: what follows it is only its echo. One without a SQLSTATE is libpq's own
 * (no memory for a row, no sense in what came); the server may have committed: it is lost. */
static void
keep_error(struct pgconn *c, const PGresult *result)
{
	const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	c->broken |= !sqlstate;
	if (c->answer.message[0])
		return;
	if (sqlstate)
		copy_line(c->answer.sqlstate, sizeof c->answer.sqlstate, sqlstate);
	copy_line(c->answer.message, sizeof c->answer.message,
	    text ? text : PQresultErrorMessage(result));
	if (!c->answer.message[0])
		copy_line(
		    c->answer.message, sizeof c->answer.message, "unexpected answer of the server");
}

/* Takes one result of the open call. True: that was its Sync. */
static bool
take_result(struct pgconn *c, PGresult *result)
{
	switch (PQresultStatus(result)) {
	case PGRES_PIPELINE_SYNC:
		PQclear(result);
		return true;
	case PGRES_COMMAND_OK: /* of a Prepare, which has no tag, or of a `set` */
		if (!*PQcmdStatus(result) && c->n_confirmed < c->n_prepared)
			c->n_confirmed++;
		if (c->result && PQnfields(c->result) > 0) {
			PQclear(result); /* it has no rows; those before it are what is asked for */
			return false;
		}
		/* fall through */
	case PGRES_TUPLES_OK:
		fault_point("pgconn.rows");
		PQclear(c->result);
		c->result = result;
		return false;
	case PGRES_PIPELINE_ABORTED:
		PQclear(result);
		return false;
	default:
		keep_error(c, result);
		PQclear(result);
		return false;
	}
}

/*
 * Reads what has arrived. Each statement ends in a NULL, and a broken connection gives errors for
 * ever: so the number of results looked at is bounded, and a NULL behind a NULL is the end for now.
 */
static void
drain(struct pgconn *c)
{
	unsigned left = 4 * c->n_statements + 16;
	bool after_null = false;

	while (c->state == CALLING && !c->broken && left-- > 0 && !PQisBusy(c->pq)) {
		PGresult *result = PQgetResult(c->pq);

		if (!result) {
			if (after_null)
				return;
			after_null = true;
			continue;
		}
		after_null = false;
		if (take_result(c, result)) {
			finish_call(c, c->answer.message[0] ? PGCONN_ERROR : PGCONN_OK);
			return;
		}
	}
}

static void
flush(struct pgconn *c)
{
	int left = PQflush(c->pq);

	/* a failed write shows when reading: what the server still said comes first */
	if (left > 0)
		event_add(c->write_event, NULL);
	else
		event_del(c->write_event);
}

static void
ready_cb(evutil_socket_t fd, short what, void *arg)
{
	struct pgconn *c = arg;
	int alive = 1;

	(void)fd;
	c->moved_ms = loop_now_ms();
	if (what & EV_READ)
		alive = PQconsumeInput(c->pq);
	drain(c);
	if (c->state == CLOSED)
		return;
	if (c->state == IDLE && alive)
		PQisBusy(c->pq); /* parses what came unasked: notices, a FATAL before the end */
	if (!alive || c->broken || PQstatus(c->pq) == CONNECTION_BAD) {
		lost(c, PQerrorMessage(c->pq));
		return;
	}
	flush(c);
}

static void
set_events(struct pgconn *c, event_callback_fn cb)
{
	int fd = PQsocket(c->pq);

	free_events(c);
	c->read_event = event_new(loop_base, fd, EV_READ | EV_PERSIST, cb, c);
	c->write_event = event_new(loop_base, fd, EV_WRITE | EV_PERSIST, cb, c);
	assert(c->read_event && c->write_event);
}

/* This host will not do: the next, or the end. */
static void
host_failed(struct pgconn *c, const char *why)
{
	if (c->only_host < 0 && c->host + 1 < c->n_hosts) {
		free_events(c);
		PQfinish(c->pq);
		c->pq = NULL;
		c->host++;
		connect_host(c);
		return;
	}
	lost(c, why);
}

static void
connect_done(struct pgconn *c)
{
	loop_timer_clear(c->deadline);
	if (PQsetnonblocking(c->pq, 1) || !PQenterPipelineMode(c->pq)) {
		host_failed(c, PQerrorMessage(c->pq));
		return;
	}
	set_events(c, ready_cb);
	event_add(c->read_event, NULL);
	c->state = IDLE;
	c->handler->connected(c, c->arg);
}

static void
connect_cb(evutil_socket_t fd, short what, void *arg)
{
	struct pgconn *c = arg;
	PostgresPollingStatusType next = PQconnectPoll(c->pq);

	(void)fd;
	(void)what;
	switch (next) {
	case PGRES_POLLING_OK:
		connect_done(c);
		break;
	case PGRES_POLLING_READING:
	case PGRES_POLLING_WRITING:
		/* libpq may have changed to another socket of the same host */
		set_events(c, connect_cb);
		event_add(next == PGRES_POLLING_READING ? c->read_event : c->write_event, NULL);
		break;
	default:
		host_failed(c, PQerrorMessage(c->pq));
	}
}

static void
deadline_cb(void *arg)
{
	struct pgconn *c = arg;

	if (!c->pq)
		lost(c, "the conninfo cannot be parsed");
	else if (PQstatus(c->pq) == CONNECTION_BAD)
		host_failed(c, PQerrorMessage(c->pq));
	else
		host_failed(c, "connecting took too long");
}

/* Begins with the present host; an error comes back through the loop. */
static void
connect_host(struct pgconn *c)
{
	c->pq = pgconn_hosts_connect(c->conninfo, c->host);
	PQsetNoticeReceiver(c->pq, notice_cb, c);
	PQsetErrorVerbosity(
	    c->pq, PQERRORS_VERBOSE); /* the only way to a failed start's SQLSTATE */
	loop_timer_set(c->deadline, c->connect_timeout_ms);
	if (PQstatus(c->pq) == CONNECTION_BAD || PQsocket(c->pq) < 0) {
		/* no callback from within pgconn_new(): at the next pass */
		loop_timer_set(c->deadline, 0);
		return;
	}
	set_events(c, connect_cb);
	event_add(c->write_event, NULL);
}

struct pgconn *
pgconn_new(const char *conninfo, int only_host, int64_t connect_timeout_ms,
    const struct pgconn_handler *handler, void *arg)
{
	struct pgconn *c = xcalloc(1, sizeof *c);

	c->state = CONNECTING;
	c->handler = handler;
	c->arg = arg;
	c->conninfo = xstrdup(conninfo);
	c->connect_timeout_ms = connect_timeout_ms;
	c->n_hosts = pgconn_hosts_parse(conninfo, &c->connect_timeout_ms);
	c->only_host = only_host < c->n_hosts ? only_host : -1;
	c->host = c->only_host >= 0 ? c->only_host : 0;
	c->deadline = loop_timer_new(deadline_cb, c);
	if (c->n_hosts > 0)
		connect_host(c);
	else
		loop_timer_set(c->deadline, 0);
	return c;
}

static bool
is_prepared(const struct pgconn *c, const char *name)
{
	for (unsigned i = 0; i < c->n_prepared; i++)
		if (c->prepared[i] == name)
			return true;
	return false;
}

/* FNV-1a. Behind a pooler a connection may hold what another version of this program prepared. */
static uint32_t
text_hash(const char *text)
{
	uint32_t hash = 2166136261u;

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 16777619u;
	return hash;
}

static bool
send_whole(struct pgconn *c, const struct pgconn_statement *s, const int *formats)
{
	char *marked = c->mark ? xasprintf("%s %s", c->mark, s->sql) : NULL;
	bool sent = PQsendQueryParams(c->pq, marked ? marked : s->sql, s->n_params, s->types,
	    s->values, s->lengths, formats, 1);

	free(marked);
	return sent;
}

/* Sends one statement of a call; *n_results grows by what it will be answered with. */
static bool
send_statement(struct pgconn *c, const struct pgconn_statement *s, unsigned *n_results)
{
	int formats[PGCONN_PARAMS_MAX];
	char name[NAME_BYTES_MAX];
	bool known;

	assert(s->n_params <= PGCONN_PARAMS_MAX);
	for (int i = 0; i < s->n_params; i++)
		formats[i] = !s->text;
	++*n_results;
	known = s->name && is_prepared(c, s->name);
	if (!s->name || c->mark || prepare_off || (!known && c->n_prepared == PREPARED_MAX))
		return send_whole(c, s, formats);
	snprintf(name, sizeof name, "%s_%u_%08" PRIx32, s->name, c->generation, text_hash(s->sql));
	if (!known) {
		++*n_results;
		if (!PQsendPrepare(c->pq, name, s->sql, s->n_params, s->types))
			return false;
		c->prepared[c->n_prepared++] = s->name;
	}
	return PQsendQueryPrepared(c->pq, name, s->n_params, s->values, s->lengths, formats, 1);
}

void
pgconn_call(struct pgconn *c, const struct pgconn_statement *statements, unsigned n,
    void (*cb)(struct pgconn *c, const struct pgconn_answer *answer, void *arg), void *arg)
{
	bool sent = true;

	assert(c->state == IDLE && n > 0);
	c->state = CALLING;
	c->cb = cb;
	c->cb_arg = arg;
	c->n_statements = 0;
	c->moved_ms = loop_now_ms();
	memset(&c->answer, 0, sizeof c->answer);
	for (unsigned i = 0; i < n && sent; i++)
		sent = send_statement(c, &statements[i], &c->n_statements);
	if (!sent || !PQpipelineSync(c->pq)) {
		/* shows as a lost connection, at the next pass */
		c->broken = true;
		event_active(c->read_event, EV_READ, 0);
		return;
	}
	flush(c);
}

bool
pgconn_busy(const struct pgconn *c)
{
	return c->state != IDLE;
}

int64_t
pgconn_silent_since_ms(const struct pgconn *c)
{
	assert(c->state == CALLING);
	return c->moved_ms;
}

int
pgconn_pid(const struct pgconn *c)
{
	return PQbackendPID(c->pq);
}

void
pgconn_mark(struct pgconn *c, const char *mark)
{
	free(c->mark);
	c->mark = mark ? xasprintf("/* %s */", mark) : NULL;
}

int
pgconn_host(const struct pgconn *c)
{
	return c->host;
}

void *
pgconn_arg(const struct pgconn *c)
{
	return c->arg;
}
