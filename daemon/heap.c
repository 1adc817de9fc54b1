/*
 * The textbook heap; every entry knows its place, so that taking one out costs no search. Owns the
 * array of pointers, never an entry.
 */
#include "heap.h"

#include "alloc.h"

#include <assert.h>
#include <stdlib.h>

#define HEAP_ENTRIES_MIN 64

static void
put(struct heap *h, size_t i, struct heap_entry *e)
{
	h->entries[i] = e;
	e->place = i + 1;
}

static void
sift_up(struct heap *h, size_t i, struct heap_entry *e)
{
	while (i > 0 && h->entries[(i - 1) / 2]->at_ms > e->at_ms) {
		put(h, i, h->entries[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(h, i, e);
}

static void
sift_down(struct heap *h, size_t i, struct heap_entry *e)
{
	size_t child;

	while ((child = 2 * i + 1) < h->n) {
		if (child + 1 < h->n && h->entries[child + 1]->at_ms < h->entries[child]->at_ms)
			child++;
		if (h->entries[child]->at_ms >= e->at_ms)
			break;
		put(h, i, h->entries[child]);
		i = child;
	}
	put(h, i, e);
}

void
heap_add(struct heap *h, struct heap_entry *e)
{
	assert(e->place == 0);
	if (h->n == h->cap) {
		h->cap = h->cap ? 2 * h->cap : HEAP_ENTRIES_MIN;
		h->entries = xrealloc(h->entries, h->cap * sizeof(*h->entries));
	}
	sift_up(h, h->n++, e);
}

void
heap_remove(struct heap *h, struct heap_entry *e)
{
	struct heap_entry *last;
	size_t i = e->place - 1;

	if (e->place == 0)
		return;
	assert(i < h->n && h->entries[i] == e);
	e->place = 0;
	last = h->entries[--h->n];
	if (last == e)
		return;
	if (i > 0 && h->entries[(i - 1) / 2]->at_ms > last->at_ms)
		sift_up(h, i, last);
	else
		sift_down(h, i, last);
}

struct heap_entry *
heap_first(const struct heap *h)
{
	return h->n ? h->entries[0] : NULL;
}

void
heap_free(struct heap *h)
{
	free(h->entries);
	*h = (struct heap){0};
}
