/*
 * Batching. Items of one statement gather in its queue's `open` lot; a lot that came back (lost
 * connection, retry, bisect) is sent again as it is. A lot lives in one of three places: `open` of
 * its queue, `lots` of its queue, or in flight on one connection; `ending` holds items whose done()
 * is due in this flush.
 *
 * Promise: done() once for each item, never from batch_add(), with a row only after that lot's
 * Sync. Memory: lots are this file's, items the callers'. Not here: what the columns and answers
 * mean.
 */
#include "batch.h"
#include "alloc.h"
#include "batch_build.h"
#include "batch_lot.h"
#include "batch_row.h"
#include "batch_sqlstate.h"
#include "fault.h"
#include "log.h"
#include "loop.h"
#include "metrics.h"
#include "pgconn.h"
#include "pgpool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GATHER_N 64	     /* so many entries go at once on any free connection */
#define GATHER_MS 5	     /* fewer wait for an answer, but no longer than this */
#define DEADLINE_GRAIN_MS 10 /* items may end so much late: what expires together ends together */
#define TRIES_MAX 3	     /* so often a lot may come back before it is halved */
#define QUEUES_MAX 64

struct batch_queue {
	const struct batch_statement *statement;
	struct batch_lot *open;	      /* what was added; NULL if nothing */
	int64_t open_since_ms;	      /* when its first entry was */
	TAILQ_HEAD(, batch_lot) lots; /* what came back, oldest first */
	bool lots_turn;		      /* fairness between the two */
};

static struct batch_queue queues[QUEUES_MAX];
static unsigned n_queues, next_queue, batch_max;
static unsigned n_queued, n_in_flight, n_lots_in_flight, lots_at_once; /* lots: not the slow one */
static bool slow_in_flight;
static struct loop_timer *timer;
static int64_t wake_ms = INT64_MAX; /* when `timer` is due */
static struct batch_items ending = TAILQ_HEAD_INITIALIZER(ending);
static struct batch_item **by_ordinal;
static int *row_of;

/* ---- lots ---- */

/* Takes a queued lot that has become empty out of its queue. */
static void
lot_drop_empty(struct batch_lot *lot)
{
	if (lot->n > 0 || lot->sent)
		return;
	if (lot->queue->open == lot)
		lot->queue->open = NULL;
	else
		TAILQ_REMOVE(&lot->queue->lots, lot, link);
	free(lot);
}

/* Sees to a flush at `at_ms` at the latest. */
static void
wake_at(int64_t at_ms)
{
	if (at_ms >= wake_ms)
		return;
	wake_ms = at_ms;
	loop_timer_set(timer, at_ms - loop_now_ms());
}

static void
item_end(struct batch_item *item, int err)
{
	item->in_flight = false;
	item->lot = NULL;
	TAILQ_INSERT_TAIL(&ending, item, link);
	item->n_tries = (unsigned)-err; /* no use any more but to carry this */
}

/* done() may add and cancel: the list is taken from the front until it is empty. */
static void
tell_ending(void)
{
	struct batch_item *item;

	while ((item = TAILQ_FIRST(&ending))) {
		TAILQ_REMOVE(&ending, item, link);
		n_queued--;
		item->done(item, -(int)item->n_tries, NULL);
	}
}

/* A lot that was in flight goes back to be sent as it is, after a pause. Reads that nobody waits
 * for end here. */
static void
lot_back(struct batch_lot *lot, bool resent, int64_t in_ms)
{
	struct batch_item *item, *next;

	n_in_flight -= lot->n;
	n_queued += lot->n;
	lot->sent = false;
	for (item = TAILQ_FIRST(&lot->items); item; item = next) {
		next = TAILQ_NEXT(item, link);
		item->in_flight = false;
		item->resent |= resent;
		wake_at(item->deadline_ms);
		if (item->cancelled && lot->queue->statement->kind != BATCH_WRITE) {
			batch_lot_take(lot, item);
			item_end(item, ERR_UNAVAILABLE);
		}
	}
	lot->not_before_ms = loop_now_ms() + in_ms;
	wake_at(lot->not_before_ms);
	TAILQ_INSERT_TAIL(&lot->queue->lots, lot, link);
	lot_drop_empty(lot);
}

/* One item of an answered lot, to be sent again alone. It is already out of the lot. */
static void
item_back(struct batch_queue *q, struct batch_item *item)
{
	struct batch_lot *lot = batch_lot_new(q);

	lot->sent = true;
	batch_lot_put(lot, item);
	lot->n_tries = ++item->n_tries;
	lot_back(lot, false, batch_sqlstate_pause_ms(item->n_tries));
}

/* Every item of the lot ends without a row. */
static void
lot_end(struct batch_lot *lot, int err)
{
	struct batch_item *item;

	n_in_flight -= lot->n;
	n_queued += lot->n;
	while ((item = TAILQ_FIRST(&lot->items))) {
		batch_lot_take(lot, item);
		item_end(item, err);
	}
	free(lot);
	loop_again(); /* the answer may have come behind this pass's flush */
}

/* ---- answers ---- */

static void
deal_item(struct batch_queue *q, struct batch_item *item, const PGresult *result, int row)
{
	struct batch_row r = {
	    .result = result, .row = row, .n_rows = PQntuples(result), .resent = item->resent};
	bool judged = row >= 0 && !q->statement->single;
	const char *answer = judged ? batch_text(&r, 1, NULL) : "";

	if (!strcmp(answer, "late"))
		pgpool_clock_jumped();
	if (!strcmp(answer, "late") || !strcmp(answer, "retry")) {
		item_back(q, item);
		return;
	}
	n_in_flight--;
	item->in_flight = false;
	if (row < 0)
		log_error("batch",
		    "\"%s\" answered %s row for an entry, telling its caller of an internal error",
		    q->statement->name, row == BATCH_ROW_NONE ? "no" : "more than one");
	item->done(item, row >= 0 ? 0 : ERR_INTERNAL, row >= 0 ? &r : NULL);
}

/* The lot is committed: to each its own row. */
static void
lot_deal(struct batch_lot *lot, const PGresult *result)
{
	struct batch_queue *q = lot->queue;
	unsigned n = lot->n;
	struct batch_item *item;

	if (q->statement->single)
		row_of[1] = 0;
	else
		batch_row_index(result, n, row_of);
	for (unsigned i = 0; (item = TAILQ_FIRST(&lot->items)); i++) {
		batch_lot_take(lot, item);
		by_ordinal[i] = item;
	}
	free(lot);
	for (unsigned i = 0; i < n; i++)
		deal_item(q, by_ordinal[i], result, row_of[i + 1]);
}

/* Sends a lot again as two. */
static void
lot_halve(struct batch_lot *lot, bool resent, int64_t in_ms)
{
	struct batch_lot *other = batch_lot_new(lot->queue);
	unsigned half = lot->n / 2;

	other->sent = true;
	other->n_tries = lot->n_tries;
	for (unsigned i = 0; i < half; i++) {
		struct batch_item *item = TAILQ_FIRST(&lot->items);

		batch_lot_take(lot, item);
		batch_lot_put(other, item);
	}
	lot_back(other, resent, in_ms);
	lot_back(lot, resent, in_ms);
}

/* Nothing of it was committed; the one entry that the server refuses must not take its neighbours
 * along. */
static void
lot_unfit(struct batch_lot *lot, const struct pgconn_answer *a)
{
	const char *name = lot->queue->statement->name;

	if (lot->n > 1) {
		log_debug("batch", "\"%s\" of %u entries is refused (%s), trying halves", name,
		    lot->n, a->sqlstate);
		lot_halve(lot, false, 0);
		return;
	}
	log_error("batch", "\"%s\" is refused (%s): %s, telling its caller of an internal error",
	    name, a->sqlstate, a->message);
	lot_end(lot, ERR_INTERNAL);
}

/* No Sync came (then the first time it goes again at once), or others were at its rows. What keeps
 * coming back is taken apart: one entry may be why, and must not take its neighbours along. */
static void
lot_again(struct batch_lot *lot, bool lost)
{
	unsigned n = ++lot->n_tries;
	int64_t in_ms = lost && n == 1 ? 0 : batch_sqlstate_pause_ms(lost || lot->n == 1 ? n : 1);

	if (n > TRIES_MAX && lot->n > 1)
		lot_halve(lot, lost, in_ms);
	else
		lot_back(lot, lost, in_ms);
}

static void
lot_refused(struct batch_lot *lot, struct pgconn *c, const struct pgconn_answer *a)
{
	switch (
	    batch_sqlstate_action(a->sqlstate, a->message, lot->queue->statement->kind, lot->n)) {
	case BATCH_RECHECK:
		if (lot->n_tries == 0)
			log_warn("batch",
			    "\"%s\" does not fit the schema (%s): %s, checking it and trying again",
			    lot->queue->statement->name, a->sqlstate, a->message);
		pgpool_recheck(c);
		/* fallthrough */
	case BATCH_AGAIN:
		lot_back(lot, false, batch_sqlstate_pause_ms(++lot->n_tries));
		break;
	case BATCH_CONTENDED:
		lot_again(lot, false);
		break;
	case BATCH_READ_ONLY:
		lot_back(lot, false, batch_sqlstate_pause_ms(++lot->n_tries));
		pgpool_drop_read_only(c, a->message);
		break;
	case BATCH_DROP:
		lot_again(lot, true);
		pgpool_drop(c, a->message);
		break;
	case BATCH_TIMED_OUT:
		lot_end(lot, ERR_OVERLOADED);
		break;
	case BATCH_HALVE:
		lot_unfit(lot, a);
		break;
	}
}

static void
lot_count(const struct batch_lot *lot, enum pgconn_end end)
{
	metrics_add(end == PGCONN_LOST ? METRIC_COUNT_BATCH_LOST
		: end == PGCONN_ERROR  ? METRIC_COUNT_BATCH_ERROR
				       : METRIC_COUNT_BATCH_OK,
	    1);
	if (end != PGCONN_LOST)
		metrics_observe(METRIC_HISTOGRAM_BATCH_TIME, loop_now_us() - lot->sent_us);
}

static void
answer_cb(struct pgconn *c, const struct pgconn_answer *a, void *arg)
{
	struct batch_lot *lot = arg;
	enum batch_kind kind = lot->queue->statement->kind;

	assert(lot->sent && (kind == BATCH_SLOW ? slow_in_flight : n_lots_in_flight > 0));
	lot_count(lot, a->end);
	if (kind == BATCH_SLOW)
		slow_in_flight = false;
	else
		n_lots_in_flight--;
	if (a->end == PGCONN_LOST ||
	    fault_point("batch.answered")) /* fail: the answer did not come */
		lot_again(lot, true);
	else if (a->end == PGCONN_ERROR)
		lot_refused(lot, c, a);
	else if (a->warning && kind == BATCH_WRITE) {
		log_warn("batch", "\"%s\" may not be durable, sending it again",
		    lot->queue->statement->name);
		lot_back(lot, true, batch_sqlstate_pause_ms(++lot->n_tries));
	} else
		lot_deal(lot, a->result);
}

/* ---- sending ---- */

static void
lot_send(struct batch_lot *lot, struct pgconn *c)
{
	const struct batch_statement *statement = lot->queue->statement;
	struct pgconn_statement built[BATCH_BUILD_MAX];
	struct batch_item *item;
	unsigned n = 0;

	TAILQ_FOREACH (item, &lot->items, link) {
		item->in_flight = true;
		by_ordinal[n++] = item;
	}
	assert(n == lot->n);
	n = batch_build(
	    built, statement, by_ordinal, n, pgpool_db_now_us(c), pgpool_read_committed(c));
	lot->sent = true;
	lot->sent_us = loop_now_us();
	metrics_observe(METRIC_HISTOGRAM_BATCH_SIZE, lot->n);
	n_queued -= lot->n;
	n_in_flight += lot->n;
	if (statement->kind == BATCH_SLOW)
		slow_in_flight = true;
	else
		n_lots_in_flight++;
	fault_point("batch.send");
	pgconn_call(c, built, n, answer_cb, lot);
	fault_point("batch.sent");
}

/* The first that came back and whose pause is over, or NULL. */
static struct batch_lot *
queue_due(const struct batch_queue *q, int64_t now_ms)
{
	struct batch_lot *lot;

	TAILQ_FOREACH (lot, &q->lots, link)
		if (lot->not_before_ms <= now_ms)
			break;
	return lot;
}

/* The next lot of the queue that may go now, taken out; NULL if none. */
static struct batch_lot *
queue_next(struct batch_queue *q, int64_t now_ms)
{
	struct batch_lot *lot = queue_due(q, now_ms), *rest;
	unsigned n_max = q->statement->single ? 1 : batch_max;

	if (lot && (q->lots_turn || !q->open)) {
		TAILQ_REMOVE(&q->lots, lot, link);
		q->lots_turn = false;
		return lot;
	}
	q->lots_turn = true;
	lot = q->open;
	q->open = NULL;
	if (lot && lot->n > n_max) {
		/* the first n_max go, in their order */
		rest = lot;
		lot = batch_lot_new(q);
		while (lot->n < n_max) {
			struct batch_item *item = TAILQ_FIRST(&rest->items);

			batch_lot_take(rest, item);
			batch_lot_put(lot, item);
		}
		q->open = rest;
	}
	return lot;
}

/* As many lots as processors are under way: a small one more would cost the others more than it
 * gains. It grows until one of them is answered. */
static bool
queue_gathers(const struct batch_queue *q, int64_t now_ms)
{
	int64_t until_ms = q->open_since_ms + GATHER_MS;

	if (n_lots_in_flight < lots_at_once || !q->open || q->open->n >= GATHER_N ||
	    now_ms >= until_ms)
		return false;
	wake_at(until_ms);
	return true;
}

static bool
queue_may_send(const struct batch_queue *q, int64_t now_ms)
{
	if (!q->open && !queue_due(q, now_ms))
		return false;
	if (q->statement->kind == BATCH_SLOW)
		return !slow_in_flight;
	return queue_due(q, now_ms) || !queue_gathers(q, now_ms);
}

/* ---- deadlines and pauses ---- */

static void
lot_expire(struct batch_lot *lot, int64_t now_ms)
{
	struct batch_item *item, *next;

	for (item = TAILQ_FIRST(&lot->items); item; item = next) {
		next = TAILQ_NEXT(item, link);
		if (item->deadline_ms <= now_ms) {
			batch_lot_take(lot, item);
			item_end(item, ERR_UNAVAILABLE);
		} else
			wake_at(item->deadline_ms < now_ms + DEADLINE_GRAIN_MS
				? now_ms + DEADLINE_GRAIN_MS
				: item->deadline_ms);
	}
	if (lot->not_before_ms > now_ms)
		wake_at(lot->not_before_ms);
	lot_drop_empty(lot);
}

static void
expire(int64_t now_ms)
{
	if (now_ms < wake_ms)
		return;
	wake_ms = INT64_MAX;
	for (unsigned i = 0; i < n_queues; i++) {
		struct batch_lot *lot, *next;

		for (lot = TAILQ_FIRST(&queues[i].lots); lot; lot = next) {
			next = TAILQ_NEXT(lot, link);
			lot_expire(lot, now_ms);
		}
		if (queues[i].open)
			lot_expire(queues[i].open, now_ms);
	}
}

void
batch_flush(void)
{
	int64_t now_ms = loop_now_ms();
	unsigned idle = 0;

	expire(now_ms);
	tell_ending();
	while (n_queued > 0 && idle < n_queues) {
		struct batch_queue *q = &queues[next_queue++ % n_queues];
		struct batch_lot *lot;
		struct pgconn *c;

		idle++;
		if (!queue_may_send(q, now_ms))
			continue;
		c = q->statement->kind == BATCH_SLOW
		    ? pgpool_slow_connection(q->statement->timeout_ms)
		    : pgpool_free_connection();
		if (!c)
			continue;
		lot = queue_next(q, now_ms);
		assert(lot);
		lot_send(lot, c);
		idle = 0;
	}
}

/* The pass that this timer makes ends in batch_flush(). */
static void
timer_cb(void *arg)
{
	(void)arg;
}

/* ---- verbs ---- */

void
batch_init(unsigned max)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	assert(max > 0);
	batch_max = max;
	lots_at_once = n_cpus > 1 ? (unsigned)n_cpus : 1;
	by_ordinal = xcalloc(max, sizeof(struct batch_item *));
	row_of = xcalloc((size_t)max + 1, sizeof *row_of);
	timer = loop_timer_new(timer_cb, NULL);
}

void
batch_free(void)
{
	struct batch_lot *lot;

	for (unsigned i = 0; i < n_queues; i++) {
		free(queues[i].open);
		while ((lot = TAILQ_FIRST(&queues[i].lots))) {
			TAILQ_REMOVE(&queues[i].lots, lot, link);
			free(lot);
		}
	}
	batch_build_free();
	free(by_ordinal);
	free(row_of);
	loop_timer_free(timer);
	by_ordinal = NULL;
	row_of = NULL;
	timer = NULL;
	n_queues = next_queue = n_queued = n_in_flight = n_lots_in_flight = 0;
	slow_in_flight = false;
	wake_ms = INT64_MAX;
	TAILQ_INIT(&ending);
}

static struct batch_queue *
queue_of(const struct batch_statement *statement)
{
	struct batch_queue *q;

	for (unsigned i = 0; i < n_queues; i++)
		if (queues[i].statement == statement)
			return &queues[i];
	assert(n_queues < QUEUES_MAX);
	q = &queues[n_queues++];
	*q = (struct batch_queue){.statement = statement};
	TAILQ_INIT(&q->lots);
	return q;
}

void
batch_add(struct batch_item *item)
{
	struct batch_queue *q = queue_of(item->statement);

	assert(item->statement->n_columns <= BATCH_COLUMNS_MAX &&
	    item->statement->n_scalars <= BATCH_SCALARS_MAX);
	item->in_flight = item->resent = item->cancelled = false;
	item->n_tries = 0;
	if (!q->open) {
		q->open = batch_lot_new(q);
		q->open_since_ms = loop_now_ms();
	}
	batch_lot_put(q->open, item);
	n_queued++;
	wake_at(item->deadline_ms);
	loop_again();
}

bool
batch_cancel(struct batch_item *item)
{
	struct batch_lot *lot = item->lot;

	if (item->in_flight) {
		item->cancelled = true;
		return false;
	}
	n_queued--;
	if (lot) {
		batch_lot_take(lot, item);
		lot_drop_empty(lot);
	} else
		TAILQ_REMOVE(&ending, item, link);
	return true;
}

unsigned
batch_queued(void)
{
	return n_queued;
}

unsigned
batch_in_flight(void)
{
	return n_in_flight;
}
