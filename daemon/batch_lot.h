/* A lot: items of one statement that go together. A part of batch. */
#ifndef EFFECTD_BATCH_LOT_H
#define EFFECTD_BATCH_LOT_H

#include "batch.h"

struct batch_queue;
TAILQ_HEAD(batch_items, batch_item);

struct batch_lot {
	TAILQ_ENTRY(batch_lot) link;
	struct batch_queue *queue;
	struct batch_items items;
	unsigned n;
	unsigned n_tries;
	int64_t not_before_ms;
	int64_t sent_us;
	bool sent; /* its answer is awaited */
};

/* Empty; whoever takes it out of its place frees it. */
struct batch_lot *batch_lot_new(struct batch_queue *queue);
/* Behind the others. The item knows its lot until it is taken. */
void batch_lot_put(struct batch_lot *lot, struct batch_item *item);
void batch_lot_take(struct batch_lot *lot, struct batch_item *item);

#endif
