/*
 * Waiters by effect. Two clocks: a heap of the waiters' ends with one timer, and a tick that asks
 * the ledger for the state of waited-for effects, a bounded number each time, the longest unasked
 * first.
 *
 * Waking takes an effect out of the table first: whoever waits again during it stands behind a new
 * entry, and nobody is woken twice. Owns the entries of effects; waiters are their callers'.
 */
#include "waiting.h"

#include "alloc.h"
#include "batch.h"
#include "loop.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define WAITING_BUCKETS 16384
#define TICK_MS 300
#define TICK_JITTER_MS 60 /* several daemons need not ask in step */
#define PEEKS_MAX 1024	  /* a tick */

struct waiting_effect {
	struct uuid id;
	TAILQ_HEAD(, waiter) waiters;
	LIST_ENTRY(waiting_effect) link;   /* its bucket, while in the table */
	TAILQ_ENTRY(waiting_effect) round; /* the order of peeks, while in the table */
	bool in_table;
	bool waking;  /* its waiters are being called: not freed under the caller */
	bool peeking; /* the item is with the batch */
	struct batch_item peek;
};

static const struct batch_statement peek_statement = {
    .name = "peek",
    .sql = "select ord, answer from effect.peek($1)",
    .kind = BATCH_READ,
    .n_columns = 1,
    .columns = {PGTYPE_UUID},
    .within_column = -1,
    .resent_column = -1,
};

static LIST_HEAD(, waiting_effect) table[WAITING_BUCKETS];
static TAILQ_HEAD(waiting_round, waiting_effect) round_robin = TAILQ_HEAD_INITIALIZER(round_robin);
static struct heap ends;
static struct loop_timer *end_timer, *tick_timer;
static int64_t end_timer_at_ms = INT64_MAX;
static bool ticking;
static unsigned n_waiters;

static void end_timer_cb(void *arg);
static void tick_cb(void *arg);

void
waiting_init(void)
{
	end_timer = loop_timer_new(end_timer_cb, NULL);
	tick_timer = loop_timer_new(tick_cb, NULL);
}

void
waiting_free(void)
{
	assert(n_waiters == 0);
	loop_timer_free(end_timer);
	loop_timer_free(tick_timer);
	end_timer = tick_timer = NULL;
	end_timer_at_ms = INT64_MAX;
	ticking = false;
	heap_free(&ends);
}

/* Effect ids are digests: any of their bytes will do. */
static unsigned
bucket(const struct uuid *id)
{
	uint32_t n;

	memcpy(&n, id->b, sizeof(n));
	return n % WAITING_BUCKETS;
}

static struct waiting_effect *
find(const struct uuid *id)
{
	struct waiting_effect *e;

	LIST_FOREACH (e, &table[bucket(id)], link)
		if (uuid_equal(&e->id, id))
			return e;
	return NULL;
}

static void
take_out(struct waiting_effect *e)
{
	if (!e->in_table)
		return;
	LIST_REMOVE(e, link);
	TAILQ_REMOVE(&round_robin, e, round);
	e->in_table = false;
}

/* Frees an effect that nobody waits for, or leaves that to its peek's answer. */
static void
drop_if_idle(struct waiting_effect *e)
{
	if (!TAILQ_EMPTY(&e->waiters) || e->waking)
		return;
	take_out(e);
	if (e->peeking && batch_cancel(&e->peek))
		e->peeking = false;
	if (!e->peeking)
		free(e);
}

static struct waiter *
waiter_of(struct heap_entry *entry)
{
	return (struct waiter *)(void *)((char *)entry - offsetof(struct waiter, until));
}

static void
detach(struct waiter *w)
{
	assert(w->effect && n_waiters > 0);
	TAILQ_REMOVE(&w->effect->waiters, w, link);
	heap_remove(&ends, &w->until);
	w->effect = NULL;
	n_waiters--;
}

static void
wake_all(struct waiting_effect *e, bool timed_out)
{
	struct waiter *w;

	take_out(e);
	e->waking = true;
	while ((w = TAILQ_FIRST(&e->waiters))) {
		detach(w);
		w->wake(w, timed_out);
	}
	e->waking = false;
	drop_if_idle(e);
}

static void
arm_end_timer(void)
{
	struct heap_entry *first = heap_first(&ends);
	int64_t in_ms;

	if (!first || first->at_ms >= end_timer_at_ms)
		return;
	end_timer_at_ms = first->at_ms;
	in_ms = first->at_ms - loop_now_ms();
	loop_timer_set(end_timer, in_ms > 0 ? in_ms : 0);
}

static void
end_timer_cb(void *arg)
{
	int64_t now_ms = loop_now_ms();
	struct waiting_effect *e;
	struct heap_entry *first;
	struct waiter *w;

	(void)arg;
	end_timer_at_ms = INT64_MAX;
	while ((first = heap_first(&ends)) && first->at_ms <= now_ms) {
		w = waiter_of(first);
		e = w->effect;
		detach(w);
		drop_if_idle(e);
		w->wake(w, true);
	}
	arm_end_timer();
}

/* Is the state another than some waiter met? The others are woken with him, and wait again. */
static bool
news(const struct waiting_effect *e, const char *state)
{
	struct waiter *w;

	TAILQ_FOREACH (w, &e->waiters, link)
		if (strcmp(state, w->unknown ? "unknown" : "pending") != 0)
			return true;
	return false;
}

static void
peek_done_cb(struct batch_item *item, int err, const struct batch_row *row)
{
	struct waiting_effect *e =
	    (struct waiting_effect *)(void *)((char *)item - offsetof(struct waiting_effect, peek));
	const char *answer;

	e->peeking = false;
	answer = err ? NULL : batch_text(row, 1, NULL);
	/* an effect that was just woken has no waiters: whoever asks again learns for himself */
	if (answer && news(e, answer))
		wake_all(e, false);
	else
		drop_if_idle(e);
}

static void
set_tick(void)
{
	if (ticking)
		return;
	ticking = true;
	loop_timer_set(tick_timer, TICK_MS + random() % TICK_JITTER_MS);
}

static void
tick_cb(void *arg)
{
	struct waiting_effect *e, *last = TAILQ_LAST(&round_robin, waiting_round);
	unsigned n = 0;

	(void)arg;
	ticking = false;
	while (n < PEEKS_MAX && (e = TAILQ_FIRST(&round_robin))) {
		TAILQ_REMOVE(&round_robin, e, round);
		TAILQ_INSERT_TAIL(&round_robin, e, round);
		if (!e->peeking) {
			e->peeking = true;
			e->peek.statement = &peek_statement;
			e->peek.columns[0] = pg_uuid(&e->id);
			e->peek.deadline_ms = loop_now_ms() + TICK_MS;
			e->peek.done = peek_done_cb;
			batch_add(&e->peek);
			n++;
		}
		if (e == last)
			break;
	}
	if (n_waiters > 0)
		set_tick();
}

void
waiting_add(struct waiter *w, const struct uuid *effect, int64_t until_ms)
{
	struct waiting_effect *e = find(effect);

	assert(!w->effect && w->wake);
	if (!e) {
		e = xcalloc(1, sizeof(*e));
		e->id = *effect;
		TAILQ_INIT(&e->waiters);
		e->in_table = true;
		LIST_INSERT_HEAD(&table[bucket(effect)], e, link);
		TAILQ_INSERT_TAIL(&round_robin, e, round);
	}
	w->effect = e;
	w->until_ms = until_ms;
	w->until.at_ms = until_ms;
	TAILQ_INSERT_TAIL(&e->waiters, w, link);
	heap_add(&ends, &w->until);
	n_waiters++;
	arm_end_timer();
	set_tick();
}

void
waiting_remove(struct waiter *w)
{
	struct waiting_effect *e = w->effect;

	if (!e)
		return;
	detach(w);
	drop_if_idle(e);
}

void
waiting_wake(const struct uuid *effect)
{
	struct waiting_effect *e = find(effect);

	if (e)
		wake_all(e, false);
}

void
waiting_end_all(void)
{
	struct waiting_effect *e;
	unsigned i;

	for (i = 0; i < WAITING_BUCKETS; i++)
		while ((e = LIST_FIRST(&table[i])))
			/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): LIST_REMOVE took it out */
			wake_all(e, true);
}

unsigned
waiting_n(void)
{
	return n_waiters;
}
