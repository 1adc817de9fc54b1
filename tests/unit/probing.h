/*
 * Probes under way on a loop of the test's own, in real processes; setup() and teardown() are the
 * fixture. For the tests of probe kinds.
 */
#ifndef EFFECTD_TESTS_PROBING_H
#define EFFECTD_TESTS_PROBING_H

#include "child.h"
#include "loop.h"
#include "tap.h"

#include <signal.h>
#include <sys/wait.h>

#define PATIENCE_MS 30000

static unsigned n_open; /* probes that have no answer yet; the test counts them up */
static struct loop_timer *guard;

static inline void
guard_cb(void *arg)
{
	(void)arg;
	ck_abort_msg("a probe never came to its end");
}

static inline void
setup(void)
{
	signal(SIGPIPE, SIG_IGN);
	loop_init();
	child_init();
	n_open = 0;
	guard = loop_timer_new(guard_cb, NULL);
	loop_timer_set(guard, PATIENCE_MS);
}

static inline void
teardown(void)
{
	child_stop();
	/* which waits for nobody; the next test counts children */
	while (waitpid(-1, NULL, 0) > 0)
		;
	loop_timer_free(guard);
	loop_free();
}

/* One has its answer; the last one ends the loop. */
static inline void
probing_ended(void)
{
	if (--n_open == 0)
		loop_stop();
}

#endif
