/*
 * The loop: timers that are never early, hooks in order, frees behind them.
 */
#include "loop.h"
#include "tap.h"

#include <string.h>

static char trace[64];
static struct loop_timer *timer;
static int64_t due_ms;
static unsigned n_fired;

static void
hook_a(void)
{
	strcat(trace, "a");
}

static void
hook_b(void)
{
	strcat(trace, "b");
}

static void
free_cb(void *object)
{
	strcat(trace, object);
	loop_stop();
}

static void
defer_cb(void *arg)
{
	loop_defer_free(free_cb, arg);
	strcat(trace, "t");
}

START_TEST(a_pass_is_callbacks_then_hooks_in_order_then_frees)
{
	loop_init();
	loop_add_pass_end(hook_a);
	loop_add_pass_end(hook_b);
	timer = loop_timer_new(defer_cb, "f");
	loop_timer_set(timer, 1);
	loop_run();
	/* passes that only found the timer early end in hooks, too */
	ck_assert_ptr_nonnull(strstr(trace, "tabf"));
	loop_timer_free(timer);
	loop_free();
}
END_TEST

static void
fire_cb(void *arg)
{
	(void)arg;
	ck_assert_int_ge(loop_now_ms(), due_ms);
	ck_assert(!loop_timer_armed(timer));
	if (++n_fired == 200) {
		loop_stop();
		return;
	}
	due_ms = loop_now_ms() + n_fired % 4;
	loop_timer_set(timer, n_fired % 4);
}

START_TEST(a_timer_is_never_early)
{
	loop_init();
	timer = loop_timer_new(fire_cb, NULL);
	loop_timer_set(timer, 0);
	loop_run();
	ck_assert_uint_eq(n_fired, 200);
	loop_timer_free(timer);
	loop_free();
}
END_TEST

static void
free_itself_cb(void *arg)
{
	(void)arg;
	loop_timer_free(timer);
	timer = NULL;
	loop_stop();
}

START_TEST(a_timer_may_free_itself_and_a_cleared_one_does_not_fire)
{
	struct loop_timer *never;

	loop_init();
	n_fired = 0;
	never = loop_timer_new(fire_cb, NULL);
	loop_timer_set(never, 0);
	loop_timer_clear(never);
	timer = loop_timer_new(free_itself_cb, NULL);
	loop_timer_set(timer, 5);
	loop_run();
	ck_assert_ptr_null(timer);
	ck_assert_uint_eq(n_fired, 0);
	loop_timer_free(never);
	loop_timer_free(NULL);
	loop_free();
}
END_TEST

static unsigned n_passes;

static void
work_left_hook(void)
{
	if (++n_passes == 10)
		loop_stop();
	else
		loop_again();
}

START_TEST(work_left_by_a_hook_is_not_waited_for)
{
	int64_t from_ms;

	loop_init();
	loop_add_pass_end(work_left_hook);
	timer = loop_timer_new(free_itself_cb, NULL);
	loop_timer_set(timer, 0);
	from_ms = loop_now_ms();
	loop_run(); /* ends by the timer */
	timer = loop_timer_new(free_itself_cb, NULL);
	loop_timer_set(timer, 3600000);
	loop_run();
	ck_assert_uint_eq(n_passes, 10);
	ck_assert_int_lt(loop_now_ms() - from_ms, 60000);
	loop_timer_free(timer);
	loop_free();
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("loop");

	tcase_add_test(tc, a_pass_is_callbacks_then_hooks_in_order_then_frees);
	tcase_add_test(tc, a_timer_is_never_early);
	tcase_add_test(tc, a_timer_may_free_itself_and_a_cleared_one_does_not_fire);
	tcase_add_test(tc, work_left_by_a_hook_is_not_waited_for);
	return tap_run("loop", tc);
}
