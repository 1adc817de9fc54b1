/*
 * Putting items into a lot and taking them out again. Where lots stand, and when they go, is the
 * batch's.
 */
#include "batch_lot.h"

#include "alloc.h"

#include <assert.h>

struct batch_lot *
batch_lot_new(struct batch_queue *queue)
{
	struct batch_lot *lot = xcalloc(1, sizeof *lot);

	lot->queue = queue;
	TAILQ_INIT(&lot->items);
	return lot;
}

void
batch_lot_put(struct batch_lot *lot, struct batch_item *item)
{
	TAILQ_INSERT_TAIL(&lot->items, item, link);
	item->lot = lot;
	lot->n++;
}

void
batch_lot_take(struct batch_lot *lot, struct batch_item *item)
{
	assert(item->lot == lot && lot->n > 0);
	TAILQ_REMOVE(&lot->items, item, link);
	item->lot = NULL;
	lot->n--;
}
