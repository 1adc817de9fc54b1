/*
 * A binary heap. Promise: memory is only asked for where a timer comes to be, so that what a call
 * does later (wait, ask again, give back) cannot fail for want of it.
 */
#include "effect_timer.h"

#include <stdlib.h>

#define TIMERS_MIN 16

bool
effect_timer_reserve(struct effect_timers *timers)
{
	size_t cap = timers->cap ? timers->cap * 2 : TIMERS_MIN;
	struct effect_timer **heap;

	if (timers->n_reserved == timers->cap) {
		heap = cap > SIZE_MAX / sizeof *heap / 2
		    ? NULL
		    : realloc(timers->heap, cap * sizeof *heap);
		if (!heap)
			return false;
		timers->heap = heap;
		timers->cap = cap;
	}
	timers->n_reserved++;
	return true;
}

void
effect_timer_drop(struct effect_timers *timers, struct effect_timer *timer)
{
	effect_timer_stop(timers, timer);
	timers->n_reserved--;
}

static void
put(struct effect_timers *timers, size_t i, struct effect_timer *timer)
{
	timers->heap[i] = timer;
	timer->place = i + 1;
}

static void
sift_up(struct effect_timers *timers, size_t i, struct effect_timer *timer)
{
	while (i > 0 && timers->heap[(i - 1) / 2]->due_ms > timer->due_ms) {
		put(timers, i, timers->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(timers, i, timer);
}

static void
sift_down(struct effect_timers *timers, size_t i, struct effect_timer *timer)
{
	size_t child;

	while ((child = 2 * i + 1) < timers->n) {
		if (child + 1 < timers->n &&
		    timers->heap[child + 1]->due_ms < timers->heap[child]->due_ms)
			child++;
		if (timers->heap[child]->due_ms >= timer->due_ms)
			break;
		put(timers, i, timers->heap[child]);
		i = child;
	}
	put(timers, i, timer);
}

void
effect_timer_stop(struct effect_timers *timers, struct effect_timer *timer)
{
	size_t i = timer->place - 1;
	struct effect_timer *last;

	if (timer->place == 0)
		return;
	timer->place = 0;
	last = timers->heap[--timers->n];
	if (last == timer)
		return;
	if (i > 0 && timers->heap[(i - 1) / 2]->due_ms > last->due_ms)
		sift_up(timers, i, last);
	else
		sift_down(timers, i, last);
}

void
effect_timer_set(struct effect_timers *timers, struct effect_timer *timer, int64_t due_ms)
{
	effect_timer_stop(timers, timer);
	timer->due_ms = due_ms;
	sift_up(timers, timers->n++, timer);
}

struct effect_timer *
effect_timer_due(struct effect_timers *timers, int64_t now_ms)
{
	struct effect_timer *first = timers->n > 0 ? timers->heap[0] : NULL;

	if (!first || first->due_ms > now_ms)
		return NULL;
	effect_timer_stop(timers, first);
	return first;
}

int64_t
effect_timer_next_ms(const struct effect_timers *timers)
{
	return timers->n > 0 ? timers->heap[0]->due_ms : INT64_MAX;
}

void
effect_timer_free(struct effect_timers *timers)
{
	free(timers->heap);
	*timers = (struct effect_timers){0};
}
