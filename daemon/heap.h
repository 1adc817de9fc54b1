/*
 * Instants in order: a binary heap of entries that live inside their owners' structs. Serves those
 * who have thousands of deadlines and one timer. Pure; the heap borrows its entries.
 */
#ifndef EFFECTD_HEAP_H
#define EFFECTD_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_entry {
	int64_t at_ms; /* not to be changed while it is in a heap */
	size_t place;  /* the heap's own: index + 1; 0 = in no heap */
};

struct heap {
	struct heap_entry **entries;
	size_t n, cap;
};

void heap_add(struct heap *h, struct heap_entry *e);
void heap_remove(struct heap *h, struct heap_entry *e); /* nothing if it is in no heap */
struct heap_entry *heap_first(const struct heap *h);	/* the earliest, or NULL */
void heap_free(struct heap *h);

#endif
