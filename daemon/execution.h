/*
 * One execution of a tool whose call is a statement of the ledger's own database: its claim, the
 * statement and its record in one transaction, on a connection of the tool's own role. Either all
 * three are committed, or nothing is. Where the answer to the COMMIT is lost, the row decides.
 *
 * Knows no requests: who asked, what he is told and how long he waits is methods/execute.c's.
 */
#ifndef EFFECTD_EXECUTION_H
#define EFFECTD_EXECUTION_H

#include "batch.h"
#include "config.h"
#include "sql_query.h"
#include "tool.h"

#include <stdbool.h>
#include <stdint.h>

struct execution;

enum execution_what {
	EXECUTION_ANSWERED,    /* nothing was run: `row` says why, by the columns of begin */
	EXECUTION_RAN,	       /* committed: claim, effect and record */
	EXECUTION_RAISED,      /* the statement failed, and nothing of it is there; `sqlstate` */
	EXECUTION_UNAVAILABLE, /* nobody knows; who asks again, with the same request, is told */
	EXECUTION_INTERNAL     /* a bug; nothing is there */
};

/* Valid during `done`. */
struct execution_end {
	enum execution_what what;
	const struct batch_row *row;
	int32_t attempt; /* of RAN, as all that follows */
	int64_t done_at_us, protected_until_us;
	const char *result_state;
	bool duplicate;	    /* another effect has its business key */
	const char *result; /* JSON as the statement gave it; NULL = null, or not known any more: */
	size_t result_len;
	bool has_result;
	char sqlstate[6]; /* of RAISED */
	const char *why;  /* of RAISED: what was wrong with its answer; NULL: the server's word */
};

/* Everything that is pointed to is the caller's, and kept until `done`. */
struct execution_ask {
	struct tool_policy *policy;
	struct uuid effect, token;
	struct pgvalue columns[BATCH_COLUMNS_MAX]; /* of ledger_execute_begin */
	char *params[SQL_QUERY_PARAMS_MAX];	   /* of the statement; NULL = null */
	void (*started)(void *arg);		   /* the claim stands: the statement is sent */
	void (*done)(void *arg, const struct execution_end *end);
	void *arg;
};

/* The config is borrowed. After loop_init(), before the first execution. */
void execution_init(const struct config *config);
/* Ends all: what was not committed is rolled back, `done` comes as UNAVAILABLE. */
void execution_stop(void);
/* `done` comes exactly once, later, unless execution_abandon() returned true. */
struct execution *execution_start(const struct execution_ask *ask);
/*
 * Nobody waits for it any more. True: nothing is under way, it is gone. False: `done` will come; a
 * statement that was sent is seen to its end, one that was not is not begun.
 */
bool execution_abandon(struct execution *e);
/* Is an execution of this effect under way here, whose end will be told? */
bool execution_runs(const struct uuid *effect);
/* Transactions that are open, and whose end somebody may wait for. */
unsigned execution_n_open(void);

#endif
