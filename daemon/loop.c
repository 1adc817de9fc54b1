/*
 * The event loop. One pass = one round of libevent callbacks, then the end-of-pass hooks, then the
 * deferred frees; so what many clients asked in one pass leaves together, and nothing is freed
 * under its own callback.
 *
 * Time: every deadline is measured by CLOCK_BOOTTIME, which no one can set and which goes on while
 * the host is suspended. libevent counts by CLOCK_MONOTONIC, which stands still meanwhile: each
 * armed timer keeps its own due instant, and all are armed again in the first pass after a
 * suspension. A timer never fires early.
 *
 * Memory: the loop owns its timers until loop_timer_free(); hooks and deferred objects are the
 * caller's.
 */
#include "loop.h"
#include "alloc.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <time.h>

#define HOOKS_MAX 16
#define SUSPENDED_US \
	100000 /* a jump of BOOTTIME against MONOTONIC by more than this was a suspension */

struct loop_timer {
	LIST_ENTRY(loop_timer) link; /* in `armed` */
	struct event *event;
	void (*cb)(void *arg);
	void *arg;
	int64_t due_us;
	bool armed;
};

struct deferred {
	SLIST_ENTRY(deferred) link;
	void (*free_fn)(void *);
	void *object;
};

struct event_base *loop_base;

static LIST_HEAD(, loop_timer) armed = LIST_HEAD_INITIALIZER(armed);
static SLIST_HEAD(, deferred) deferred_frees = SLIST_HEAD_INITIALIZER(deferred_frees);
static void (*hooks[HOOKS_MAX])(void);
static size_t n_hooks;
static bool stopping, again;
static int64_t suspended_us; /* BOOTTIME - MONOTONIC at the last look */

static int64_t
clock_us(clockid_t clock)
{
	struct timespec ts;
	int failed = clock_gettime(clock, &ts);

	assert(!failed);
	(void)failed;
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t
loop_now_us(void)
{
	return clock_us(CLOCK_BOOTTIME);
}

int64_t
loop_unix_us(void)
{
	return clock_us(CLOCK_REALTIME);
}

int64_t
loop_now_ms(void)
{
	return loop_now_us() / 1000;
}

void
loop_init(void)
{
	assert(!loop_base);
	/* a timer that could not be armed would be an answer that never comes */
	event_set_mem_functions(xmalloc, xrealloc, free);
	loop_base = event_base_new();
	assert(loop_base);
	stopping = again = false;
	n_hooks = 0;
	suspended_us = clock_us(CLOCK_BOOTTIME) - clock_us(CLOCK_MONOTONIC);
}

static void
run_deferred(void)
{
	struct deferred *d;

	while ((d = SLIST_FIRST(&deferred_frees))) {
		SLIST_REMOVE_HEAD(&deferred_frees, link);
		d->free_fn(d->object);
		free(d);
	}
}

void
loop_free(void)
{
	if (!loop_base)
		return;
	run_deferred();
	event_base_free(loop_base);
	loop_base = NULL;
}

static void
timer_arm(struct loop_timer *t, int64_t now_us)
{
	int64_t in_us = t->due_us > now_us ? t->due_us - now_us : 0;
	struct timeval tv = {.tv_sec = in_us / 1000000, .tv_usec = in_us % 1000000};

	evtimer_add(t->event, &tv);
}

/* After a suspension libevent would fire everything late by its length. */
static void
look_for_suspension(void)
{
	int64_t now_us = clock_us(CLOCK_BOOTTIME);
	int64_t gap_us = now_us - clock_us(CLOCK_MONOTONIC);
	struct loop_timer *t;

	if (gap_us - suspended_us > SUSPENDED_US) {
		suspended_us = gap_us;
		LIST_FOREACH (t, &armed, link)
			timer_arm(t, now_us);
	}
}

void
loop_run(void)
{
	stopping = false;
	while (!stopping) {
		/* nothing to wait for at all is a bug: a daemon has at least its signals */
		int idle = event_base_loop(loop_base, EVLOOP_ONCE | (again ? EVLOOP_NONBLOCK : 0));

		assert(idle == 0 || (idle == 1 && again));
		(void)idle;
		look_for_suspension();
		again = false;
		for (size_t i = 0; i < n_hooks; i++)
			hooks[i]();
		run_deferred();
	}
}

void
loop_stop(void)
{
	stopping = true;
}

void
loop_again(void)
{
	again = true;
}

void
loop_add_pass_end(void (*hook)(void))
{
	assert(n_hooks < HOOKS_MAX);
	hooks[n_hooks++] = hook;
}

void
loop_defer_free(void (*free_fn)(void *), void *object)
{
	struct deferred *d = xmalloc(sizeof *d);

	d->free_fn = free_fn;
	d->object = object;
	SLIST_INSERT_HEAD(&deferred_frees, d, link);
}

static void
timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct loop_timer *t = arg;
	int64_t now_us = loop_now_us();

	(void)fd;
	(void)what;
	assert(t->armed);
	/* libevent rounds, and counts from the start of the pass in which the timer was set */
	if (now_us < t->due_us) {
		timer_arm(t, now_us);
		return;
	}
	loop_timer_clear(t);
	t->cb(t->arg); /* may free t */
}

struct loop_timer *
loop_timer_new(void (*cb)(void *arg), void *arg)
{
	struct loop_timer *t = xcalloc(1, sizeof *t);

	t->cb = cb;
	t->arg = arg;
	t->event = evtimer_new(loop_base, timer_cb, t);
	assert(t->event);
	return t;
}

void
loop_timer_set(struct loop_timer *t, int64_t in_ms)
{
	int64_t now_us = loop_now_us();

	if (in_ms < 0)
		in_ms = 0;
	if (in_ms > INT64_C(86400000) * 3650)
		in_ms = INT64_C(86400000) * 3650;
	t->due_us = now_us + in_ms * 1000;
	if (!t->armed)
		LIST_INSERT_HEAD(&armed, t, link);
	t->armed = true;
	timer_arm(t, now_us);
}

void
loop_timer_clear(struct loop_timer *t)
{
	if (!t->armed)
		return;
	evtimer_del(t->event);
	LIST_REMOVE(t, link);
	t->armed = false;
}

bool
loop_timer_armed(const struct loop_timer *t)
{
	return t->armed;
}

void
loop_timer_free(struct loop_timer *t)
{
	if (!t)
		return;
	loop_timer_clear(t);
	event_free(t->event);
	free(t);
}
