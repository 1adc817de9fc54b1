/*
 * The event loop: libevent with a monotonic millisecond clock, an end-of-pass hook, deferred frees
 * and timers that the wall clock cannot move.
 */
#ifndef EFFECTD_LOOP_H
#define EFFECTD_LOOP_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

extern struct event_base *loop_base;

void loop_init(void);
void loop_free(void); /* runs what is deferred; events and timers must be gone before */
/* CLOCK_BOOTTIME in milliseconds and microseconds (a suspended host's leases go on): all deadlines
 * are measured by it. */
int64_t loop_now_ms(void);
int64_t loop_now_us(void);
/* The wall clock, in microseconds since 1970: to be told, never to be measured by. */
int64_t loop_unix_us(void);
/*
 * Runs until loop_stop(), which ends it after the pass. After each pass: the end-of-pass hooks in
 * the order they were added (replies first parsed, batch_flush, output), then deferred frees.
 */
void loop_run(void);
void loop_stop(void);
/* Called from a hook: the next pass does not wait for events, as there is work for the hooks that
 * ran before. */
void loop_again(void);
void loop_add_pass_end(void (*hook)(void));
/* Frees at the end of the pass: nothing is freed inside its own callback. */
void loop_defer_free(void (*free_fn)(void *), void *object);

struct loop_timer;
/* A one-shot timer; loop_timer_set() arms or re-arms it, in milliseconds from now. It never fires
 * early. */
struct loop_timer *loop_timer_new(void (*cb)(void *arg), void *arg);
void loop_timer_set(struct loop_timer *t, int64_t in_ms);
void loop_timer_clear(struct loop_timer *t);
bool loop_timer_armed(const struct loop_timer *t);
void loop_timer_free(struct loop_timer *t); /* NULL is fine; may be called from its own callback */

#endif
