/* Timers of one ledger: a heap by time. A timer lives in the struct that it wakes. */
#ifndef EFFECT_TIMER_H
#define EFFECT_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct effect_timer {
	int64_t due_ms;
	size_t place; /* 1 + its index in the heap; 0 = not set */
	void (*fire)(struct effect_timer *timer);
};

struct effect_timers {
	struct effect_timer **heap; /* owned; the timers are not */
	size_t n, cap;
	size_t n_reserved; /* timers that there are, set or not */
};

/*
 * Room for one more timer that may be set at any time without failing; false: no memory. Each goes
 * with one effect_timer_drop().
 */
bool effect_timer_reserve(struct effect_timers *timers);
/* The timer is gone: stopped, and its room given back. */
void effect_timer_drop(struct effect_timers *timers, struct effect_timer *timer);
/* Sets it, or to another time. Its room was reserved. */
void effect_timer_set(struct effect_timers *timers, struct effect_timer *timer, int64_t due_ms);
void effect_timer_stop(struct effect_timers *timers, struct effect_timer *timer);
/* The first that is due, stopped; NULL if none is. */
struct effect_timer *effect_timer_due(struct effect_timers *timers, int64_t now_ms);
/* When the first one is due; INT64_MAX if none is set. */
int64_t effect_timer_next_ms(const struct effect_timers *timers);
void effect_timer_free(struct effect_timers *timers);

#endif
