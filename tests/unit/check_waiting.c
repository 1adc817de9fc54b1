/*
 * Waiters by effect: who is woken, when, how often; that nothing is asked for nobody; that 10,000
 * of them are cheap.
 */
#include "fake_batch.h"
#include "loop.h"
#include "tap.h"
#include "waiting.h"

#define MANY 10000
#define FAR_MS 600000

struct test_waiter {
	struct waiter w;
	unsigned n_woken;
	bool timed_out;
	unsigned order;
	struct test_waiter *removes; /* whom its waking takes out */
	bool again;		     /* its waking adds it once more */
};

static struct test_waiter waiters[MANY];
static unsigned n_woken;

static struct uuid
id(unsigned n)
{
	struct uuid u = {{0}};

	memcpy(u.b, &n, sizeof(n));
	return u;
}

static void
wake_cb(struct waiter *w, bool timed_out)
{
	struct test_waiter *t = (struct test_waiter *)w;
	struct uuid same = id(1);

	ck_assert_ptr_null(w->effect);
	t->n_woken++;
	t->timed_out = timed_out;
	t->order = n_woken++;
	if (t->removes)
		waiting_remove(&t->removes->w);
	if (t->again)
		waiting_add(w, &same, loop_now_ms() + FAR_MS);
}

static void
add(struct test_waiter *t, unsigned effect, int64_t in_ms)
{
	struct uuid e = id(effect);

	t->w.wake = wake_cb;
	waiting_add(&t->w, &e, loop_now_ms() + in_ms);
}

/* Runs passes of the loop until `*n` counts at least `n_min`. */
static const unsigned *until_n;
static unsigned until_min;

static void
until_hook(void)
{
	if (*until_n >= until_min)
		loop_stop();
}

static void
run_until(const unsigned *n, unsigned n_min)
{
	until_n = n;
	until_min = n_min;
	loop_run();
}

static void
setup(void)
{
	loop_init();
	loop_add_pass_end(until_hook);
	waiting_init();
	memset(waiters, 0, sizeof(waiters));
	n_woken = 0;
}

static void
teardown(void)
{
	waiting_end_all();
	ck_assert_uint_eq(fake_n, 0);
	waiting_free();
	loop_free();
}

static void
wake(unsigned effect)
{
	struct uuid e = id(effect);

	waiting_wake(&e);
}

static void
answer_peeks(const char *answer)
{
	struct fake_row row = {.cells = {[1] = {.text = answer}}};
	struct batch_item *item;

	while ((item = TAILQ_FIRST(&fake_items)))
		fake_end(item, 0, &row);
}

START_TEST(all_waiters_of_an_effect_wake_in_the_order_they_came)
{
	add(&waiters[0], 1, FAR_MS);
	add(&waiters[1], 2, FAR_MS);
	add(&waiters[2], 1, FAR_MS);
	ck_assert_uint_eq(waiting_n(), 3);
	wake(1);
	ck_assert_uint_eq(waiters[0].n_woken, 1);
	ck_assert_uint_eq(waiters[2].n_woken, 1);
	ck_assert_uint_lt(waiters[0].order, waiters[2].order);
	ck_assert(!waiters[0].timed_out);
	ck_assert_uint_eq(waiters[1].n_woken, 0);
	ck_assert_uint_eq(waiting_n(), 1);
	wake(1);
	ck_assert_uint_eq(waiters[0].n_woken, 1);
	waiting_remove(&waiters[1].w);
	waiting_remove(&waiters[1].w);
	ck_assert_uint_eq(waiting_n(), 0);
}
END_TEST

START_TEST(waking_one_may_remove_another_and_wait_again)
{
	add(&waiters[0], 1, FAR_MS);
	add(&waiters[1], 1, FAR_MS);
	add(&waiters[2], 1, FAR_MS);
	waiters[0].removes = &waiters[1];
	waiters[0].again = true;
	wake(1);
	ck_assert_uint_eq(waiters[0].n_woken, 1);
	ck_assert_uint_eq(waiters[1].n_woken, 0);
	ck_assert_uint_eq(waiters[2].n_woken, 1);
	ck_assert_uint_eq(waiting_n(), 1);
	waiters[0].again = false;
	wake(1);
	ck_assert_uint_eq(waiters[0].n_woken, 2);
}
END_TEST

START_TEST(time_over_wakes_the_right_ones)
{
	add(&waiters[0], 1, FAR_MS);
	add(&waiters[1], 1, 40);
	add(&waiters[2], 2, 20);
	run_until(&n_woken, 2);
	ck_assert(waiters[1].timed_out && waiters[2].timed_out);
	ck_assert_uint_lt(waiters[2].order, waiters[1].order);
	ck_assert_uint_eq(waiters[0].n_woken, 0);
	waiting_end_all();
	ck_assert_uint_eq(waiters[0].n_woken, 1);
	ck_assert(waiters[0].timed_out);
	ck_assert_uint_eq(waiting_n(), 0);
}
END_TEST

/* Another daemon's outcome, or a lease that ran out, is found by asking; pending is no news. */
START_TEST(other_daemons_outcomes_are_asked_for)
{
	add(&waiters[0], 1, FAR_MS);
	add(&waiters[1], 1, FAR_MS);
	add(&waiters[2], 2, FAR_MS);
	run_until(&fake_n, 2); /* one peek an effect */
	ck_assert_uint_eq(fake_n, 2);
	answer_peeks("pending");
	ck_assert_uint_eq(n_woken, 0);
	run_until(&fake_n, 2);
	answer_peeks("lapsed");
	ck_assert_uint_eq(n_woken, 3);
	ck_assert_uint_eq(waiting_n(), 0);
}
END_TEST

/* To who met it unknown, unknown is no news; anything else is, pending too: it was granted anew. */
START_TEST(what_is_news_depends_on_what_a_waiter_met)
{
	waiters[0].w.unknown = true;
	add(&waiters[0], 1, FAR_MS);
	run_until(&fake_n, 1);
	answer_peeks("unknown");
	ck_assert_uint_eq(n_woken, 0);
	run_until(&fake_n, 1);
	answer_peeks("pending");
	ck_assert_uint_eq(n_woken, 1);
	add(&waiters[0], 1, FAR_MS);
	add(&waiters[1], 1, FAR_MS); /* he met it pending: either word is news to one of them */
	run_until(&fake_n, 1);
	answer_peeks("unknown");
	ck_assert_uint_eq(n_woken, 3);
}
END_TEST

START_TEST(peek_that_fails_changes_nothing)
{
	add(&waiters[0], 1, FAR_MS);
	run_until(&fake_n, 1);
	fake_end(TAILQ_FIRST(&fake_items), ERR_UNAVAILABLE, NULL);
	ck_assert_uint_eq(n_woken, 0);
	run_until(&fake_n, 1);
	/* and its answer may come when nobody waits any more */
	fake_fly();
	wake(1);
	ck_assert_uint_eq(n_woken, 1);
	answer_peeks("done");
	ck_assert_uint_eq(n_woken, 1);
	ck_assert_uint_eq(fake_n, 0);
}
END_TEST

START_TEST(queued_peek_is_taken_back_when_nobody_waits)
{
	add(&waiters[0], 1, FAR_MS);
	run_until(&fake_n, 1);
	waiting_remove(&waiters[0].w);
	ck_assert_uint_eq(fake_n, 0);
}
END_TEST

START_TEST(ten_thousand_wait_and_wake)
{
	unsigned i;

	for (i = 0; i < MANY; i++)
		add(&waiters[i], i % 5000, FAR_MS + i % 77);
	ck_assert_uint_eq(waiting_n(), MANY);
	run_until(&fake_n, 1000);
	ck_assert_uint_lt(fake_n, 2000); /* a bounded number at a time */
	for (i = 0; i < 2500; i++)
		wake(i);
	ck_assert_uint_eq(n_woken, MANY / 2);
	waiting_end_all();
	ck_assert_uint_eq(n_woken, MANY);
	for (i = 0; i < MANY; i++)
		ck_assert_uint_eq(waiters[i].n_woken, 1);
	ck_assert_uint_eq(fake_n, 0);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("waiting");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, all_waiters_of_an_effect_wake_in_the_order_they_came);
	tcase_add_test(tc, waking_one_may_remove_another_and_wait_again);
	tcase_add_test(tc, time_over_wakes_the_right_ones);
	tcase_add_test(tc, other_daemons_outcomes_are_asked_for);
	tcase_add_test(tc, what_is_news_depends_on_what_a_waiter_met);
	tcase_add_test(tc, peek_that_fails_changes_nothing);
	tcase_add_test(tc, queued_peek_is_taken_back_when_nobody_waits);
	tcase_add_test(tc, ten_thousand_wait_and_wake);
	return tap_run("waiting", tc);
}
