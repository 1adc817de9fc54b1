/*
 * One asynchronous libpq connection in pipeline mode on the event loop. A call is some statements
 * and one Sync; its answer comes only after that Sync, so what is told as done is committed, unless
 * a statement of its caller's began a transaction of its own. Knows no application and sets no
 * session state. Statements that have a name are prepared once for each
 * connection that is not marked as behind a pooler; should one not follow all the same, the first
 * refusal turns it off for good, and after any error (DDL may have changed things) all are prepared
 * anew.
 *
 * Not here: which connection to use, when to reconnect (pgpool), what the rows mean (batch).
 */
#ifndef EFFECTD_PGCONN_H
#define EFFECTD_PGCONN_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#define PGCONN_PARAMS_MAX 32

struct pgconn;

/* A statement of a call; results in binary. Copied by libpq during pgconn_call(). */
struct pgconn_statement {
	const char *name; /* to prepare it under: static, one for each sql; NULL = not prepared */
	const char *sql;
	int n_params;
	bool text; /* its parameters are text, and their types the server's to find; else binary */
	Oid types[PGCONN_PARAMS_MAX];
	const char *values[PGCONN_PARAMS_MAX]; /* NULL = null */
	int lengths[PGCONN_PARAMS_MAX];	       /* of binary ones */
};

enum pgconn_end {
	PGCONN_OK,    /* committed; result holds the rows of the last statement that has any */
	PGCONN_ERROR, /* the server refused it; nothing was committed */
	PGCONN_LOST   /* no Sync came: it may have been committed */
};

/* Valid during the callback. */
struct pgconn_answer {
	enum pgconn_end end;
	const PGresult *result; /* PGCONN_OK only */
	char sqlstate[6];	/* "" if none was told; LOST may have one (57P01) */
	char message[256];	/* first line, "" if none */
	bool warning; /* a WARNING came between send and Sync: a write may not be durable */
};

struct pgconn_handler {
	void (*connected)(struct pgconn *c, void *arg);
	/*
	 * The connection is gone or could not be made; called once, after the open call's own
	 * callback, never from within a function of this file but pgconn_abort(). The object is
	 * freed at the end of the pass.
	 */
	void (*closed)(struct pgconn *c, const char *sqlstate, const char *why, void *arg);
};

/*
 * Starts to connect: to each host of the conninfo in turn, each with connect_timeout_ms of its own
 * (the conninfo's connect_timeout wins), as libpq forgets that one here. only_host >= 0: to that
 * one alone (pgconn_host()).
 */
struct pgconn *pgconn_new(const char *conninfo, int only_host, int64_t connect_timeout_ms,
    const struct pgconn_handler *handler, void *arg);
/* Closes silently: neither the open call's callback nor `closed` comes. NULL is fine. */
void pgconn_close(struct pgconn *c);
/* Gives the connection up as lost: the open call ends as PGCONN_LOST, then `closed` comes. */
void pgconn_abort(struct pgconn *c, const char *why);

/* Sends n statements and a Sync. One call at a time; the callback comes exactly once, never from
 * within. */
void pgconn_call(struct pgconn *c, const struct pgconn_statement *statements, unsigned n,
    void (*cb)(struct pgconn *c, const struct pgconn_answer *answer, void *arg), void *arg);
bool pgconn_busy(const struct pgconn *c); /* not connected, or a call is open */
/* Since when nothing has moved, by the loop_now_ms() clock; only while a call is open. */
int64_t pgconn_silent_since_ms(const struct pgconn *c);
/*
 * For a connection behind a pooler, where the backend is another for each call: what is sent from
 * now on begins with this remark (copied; NULL: no more), by which pg_stat_activity shows whose
 * call a backend is at, and nothing is prepared.
 */
void pgconn_mark(struct pgconn *c, const char *mark);
int pgconn_pid(const struct pgconn *c);	 /* backend, as the protocol told it */
int pgconn_host(const struct pgconn *c); /* which host of the conninfo it is connected to */
void *pgconn_arg(const struct pgconn *c);

#endif
