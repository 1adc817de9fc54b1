/*
 * Callers of `begin` that wait for an effect's outcome (wait_ms): a table by effect, no thread, no
 * timer a waiter. Woken when this daemon sees the effect change; other daemons' outcomes and lease
 * ends are found by polling effect.peek for all waited-for effects in one call.
 */
#ifndef EFFECTD_WAITING_H
#define EFFECTD_WAITING_H

#include "digest.h"
#include "heap.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* Embedded in the caller's struct, which sets `wake` and `unknown`. `wake` is called at most once
 * per waiting_add: woken (timed_out false) or its time is over (true). */
struct waiter {
	TAILQ_ENTRY(waiter) link;
	struct waiting_effect *effect; /* NULL: it is not waiting */
	struct heap_entry until;       /* waiting.c's own */
	int64_t until_ms;
	bool unknown; /* it met the effect unknown: that is no news to it; else pending */
	void (*wake)(struct waiter *w, bool timed_out);
};

void waiting_init(void);
void waiting_free(void); /* nobody may be waiting any more */
void waiting_add(struct waiter *w, const struct uuid *effect, int64_t until_ms);
void waiting_remove(struct waiter *w); /* not woken; nothing if it is not waiting */
/* The effect changed (settled, released, unknown, escalated, token lost): its waiters ask again, in
 * the order they came. */
void waiting_wake(const struct uuid *effect);
/* All waiters, as if their time were over (drain). */
void waiting_end_all(void);
unsigned waiting_n(void);

#endif
