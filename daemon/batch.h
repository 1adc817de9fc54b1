/*
 * Calls of SQL functions that take parallel arrays: items queue up by statement, are flushed at the
 * end of the loop pass (batch_flush), and the rows are dealt back to the items by ordinal, only
 * after that batch's Sync came without error or WARNING. Whatever queues while a batch is in flight
 * is the next batch. An idle daemon adds no delay; where as many batches are in flight as there are
 * processors, a small one grows until one of them is answered, for a few milliseconds at most.
 *
 * Knows no effects: a statement says its SQL, its columns and its scalars; the first two result
 * columns are always `ord` int4 and `answer` text, and the answers `retry` and `late` put the item
 * back, alone, until its deadline.
 *
 * A batch whose connection is lost between send and Sync is sent again with `resent` true for its
 * items, as the answer may have been committed. A batch that fails with a data error is bisected
 * until the one bad item is alone; that one ends with ERR_INTERNAL. Serialization failures,
 * deadlocks and their like are tried again unseen.
 *
 * Memory: the caller owns an item and what its columns point to, and keeps both until `done` was
 * called exactly once (or batch_cancel returned true).
 */
#ifndef EFFECTD_BATCH_H
#define EFFECTD_BATCH_H

#include "errors.h"
#include "pgarray.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define BATCH_COLUMNS_MAX 20
#define BATCH_SCALARS_MAX 8

enum batch_kind {
	BATCH_READ,  /* may be sent again freely; dropped when nobody waits */
	BATCH_WRITE, /* a WARNING means not durable; resent after a lost connection */
	BATCH_SLOW   /* a read under a statement time-out, one at a time, on a connection of its own
		      */
};

struct batch_statement {
	const char *name; /* "begin": for logs and fault points */
	const char *sql;  /* "select * from effect.begin($1, ...)" */
	enum batch_kind kind;
	unsigned n_columns; /* array parameters $1 .. $n */
	enum pgtype columns[BATCH_COLUMNS_MAX];
	unsigned n_scalars; /* then these */
	enum pgtype scalars[BATCH_SCALARS_MAX];
	/* an int4 column that the batch fills at each send with the item's remaining milliseconds;
	 * -1 = none */
	int within_column;
	int resent_column; /* a bool column that the batch fills; -1 = none */
	/*
	 * Fills the scalars at each send; db_now_us is the database clock as this connection last
	 * told it, carried on by our monotonic clock (never ahead of it). NULL if there are none.
	 */
	void (*fill_scalars)(struct pgvalue *scalars, int64_t db_now_us);
	int64_t timeout_ms; /* BATCH_SLOW: statement_timeout */
	/*
	 * One item a call: columns[] are scalar parameters instead of arrays (then the scalars);
	 * rows have no ord/answer convention and `done` gets the whole result.
	 */
	bool single;
};

/* One row of the answer, valid during `done`. For single statements row is 0 and n_rows may be
 * anything. */
struct batch_row {
	const PGresult *result;
	int row;
	int n_rows;
	bool
	    resent; /* the item was sent more than once: `already` may speak of our own first try */
};

struct batch_lot;

struct batch_item {
	TAILQ_ENTRY(batch_item) link; /* the batch's own from batch_add to done */
	const struct batch_statement *statement;
	struct pgvalue columns[BATCH_COLUMNS_MAX];
	/*
	 * loop_now_ms() clock: after it, an item that is not in flight ends with ERR_UNAVAILABLE;
	 * INT64_MAX = kept until the ledger is back
	 */
	int64_t deadline_ms;
	/*
	 * err 0: row is the answer. ERR_UNAVAILABLE, ERR_INTERNAL, ERR_OVERLOADED (slow statement
	 * timed out): row is NULL. Called exactly once, never from batch_add. May add and cancel
	 * items; the item is the caller's again.
	 */
	void (*done)(struct batch_item *item, int err, const struct batch_row *row);
	/* The batch's own; batch_add() sets them. */
	bool in_flight, resent, cancelled;
	unsigned n_tries;
	struct batch_lot *lot;
};

void batch_init(unsigned batch_max);
/* Forgets what is queued without calling done. After pgpool_stop(), when the loop has ended. */
void batch_free(void);
void batch_add(struct batch_item *item);
/*
 * The caller no longer waits. Not in flight: taken out, true (done is not called). In flight:
 * false, done will still come with the true answer once it is known, however late (a claim may
 * stand: grant.c decides what to do with it).
 */
bool batch_cancel(struct batch_item *item);
/* Sends what is queued, as far as connections are free. An end-of-pass hook: main gives it to
 * loop_add_pass_end(). */
void batch_flush(void);
unsigned batch_queued(void);	/* items not in flight */
unsigned batch_in_flight(void); /* items sent and unanswered */

/* Reading a row; column by index as the signature in sql/README.md has it. NULL text = SQL null. */
bool batch_null(const struct batch_row *row, int column);
int32_t batch_int4(const struct batch_row *row, int column); /* 0 if null, as the next three */
int64_t batch_int8(const struct batch_row *row, int column);
bool batch_bool(const struct batch_row *row, int column);
int64_t batch_instant(const struct batch_row *row, int column); /* Unix microseconds */
const char *batch_text(const struct batch_row *row, int column,
    size_t *ret_len); /* text or bytea; ret_len may be NULL */
bool batch_uuid(const struct batch_row *row, int column, struct uuid *ret); /* false if null */

#endif
