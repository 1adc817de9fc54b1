/*
 * The rule of grant.h line by line: who may be told the same grant again, and who never. Each test
 * is one life of a request.
 */
#include "grant.h"
#include "tap.h"

#include <string.h>

#define GRANTS_MAX 8

static struct tool_set *tools;
static struct tool_policy *policy;
static unsigned n_closed;

static void
setup(void)
{
	n_closed = 0;
	grant_init(GRANTS_MAX);
	tools = tool_set_empty();
	policy = tool_default(tools, "default", "refund");
}

static void
teardown(void)
{
	grant_free();
	tool_set_free(tools);
}

static struct uuid
id(unsigned n)
{
	struct uuid u = {{0}};

	u.b[0] = (uint8_t)n;
	u.b[15] = (uint8_t)(n >> 8);
	return u;
}

/* A begin with this request comes and goes. Might it have been told the grant again? */
static bool
may_regrant(const struct uuid *request)
{
	struct uuid e = id(1);
	bool may = grant_ask(request, &e);

	grant_ask_end(request);
	return may;
}

static struct grant *
granted(unsigned effect, unsigned token, unsigned request)
{
	struct uuid e = id(effect), t = id(token), r = id(request);

	return grant_add(&e, &t, &r, policy);
}

START_TEST(unknown_request_is_no_regrant)
{
	struct uuid r = id(1);

	ck_assert(!may_regrant(&r));
}
END_TEST

START_TEST(told_grant_is_not_told_again)
{
	struct uuid r = id(3);
	struct grant *g = granted(1, 2, 3);

	ck_assert(!grant_told(g));
	grant_telling(g);
	ck_assert(grant_told(g));
	ck_assert(!may_regrant(&r)); /* its line may still be written */
	grant_written(g, 7);
	ck_assert(grant_told(g));
	ck_assert(!may_regrant(&r));
}
END_TEST

START_TEST(line_that_was_not_taken_whole_may_be_told_again)
{
	struct uuid r = id(3);
	struct grant *g = granted(1, 2, 3);

	grant_telling(g);
	grant_unwritten(g);
	ck_assert(may_regrant(&r));
	/* the second time it arrives */
	ck_assert_ptr_eq(granted(1, 2, 3), g);
	grant_telling(g);
	ck_assert(!may_regrant(&r));
	grant_written(g, 8);
	ck_assert(!may_regrant(&r));
}
END_TEST

START_TEST(reset_after_the_last_line_may_be_told_again)
{
	struct uuid r = id(3);
	struct grant *g = granted(1, 2, 3);

	grant_telling(g);
	grant_written(g, 7);
	grant_connection_end(g, true);
	ck_assert(may_regrant(&r));
}
END_TEST

START_TEST(plain_end_and_end_after_another_line_are_no_loss)
{
	struct uuid r = id(3);
	struct grant *g = granted(1, 2, 3);

	grant_telling(g);
	grant_written(g, 7);
	grant_connection_end(g, false);
	ck_assert(!may_regrant(&r));
	grant_connection_end(NULL, true);
	ck_assert(!may_regrant(&r));
}
END_TEST

START_TEST(untold_grant_waits_to_be_asked_for)
{
	struct uuid r = id(3);
	struct grant *g = granted(1, 2, 3);

	grant_untold(g);
	ck_assert(!grant_told(g));
	ck_assert(may_regrant(&r));
	ck_assert(may_regrant(&r)); /* until it is told */
}
END_TEST

START_TEST(second_begin_of_a_request_under_way_is_no_regrant)
{
	struct uuid r = id(3), e = id(1);

	grant_untold(granted(1, 2, 3));
	ck_assert(grant_ask(&r, &e));
	ck_assert_uint_eq(grant_asks(&r), 1);
	ck_assert(!grant_ask(&r, &e));
	ck_assert_uint_eq(grant_asks(&r), 2);
	grant_ask_end(&r);
	grant_ask_end(&r);
	ck_assert_uint_eq(grant_asks(&r), 0);
	ck_assert(may_regrant(&r));
}
END_TEST

/* A client that uses one request for two effects: the lost line of one is not the other's. */
START_TEST(untold_grant_of_another_effect_is_no_regrant)
{
	struct uuid r = id(3), told = id(1), untold = id(5);
	struct grant *g = granted(1, 2, 3);

	grant_telling(g);
	grant_written(g, 9);
	grant_untold(granted(5, 6, 3));
	ck_assert(!grant_ask(&r, &told));
	grant_ask_end(&r);
	ck_assert(grant_ask(&r, &untold));
	grant_ask_end(&r);
}
END_TEST

/* The first begin's answer is lost and comes when a second one has been told the same grant. */
START_TEST(late_first_answer_does_not_make_it_untold)
{
	struct uuid r = id(3), e = id(1);
	struct grant *g = granted(1, 2, 3);

	grant_untold(g);
	ck_assert(grant_ask(&r, &e));
	ck_assert_ptr_eq(granted(1, 2, 3), g);
	grant_ask_end(&r);
	grant_telling(g);
	grant_written(g, 9);
	/* now the first one's answer */
	ck_assert_ptr_eq(granted(1, 2, 3), g);
	ck_assert(grant_told(g));
	grant_untold(g);
	ck_assert(grant_told(g));
	ck_assert(!may_regrant(&r));
}
END_TEST

START_TEST(newer_token_takes_the_request_over)
{
	struct uuid r = id(3);
	struct grant *old = granted(1, 2, 3), *new;

	grant_untold(old);
	new = granted(1, 4, 3);
	ck_assert_ptr_ne(old, new);
	ck_assert(!may_regrant(&r)); /* the new one: nobody said yet that it is untold */
	grant_untold(new);
	ck_assert(may_regrant(&r));
	grant_telling(new);
	ck_assert(!may_regrant(&r)); /* though the old one is still untold */
}
END_TEST

START_TEST(what_falls_out_counts_as_told)
{
	struct uuid r = id(3), e = id(1), t = id(2);
	struct grant *g = grant_ref(granted(1, 2, 3));
	unsigned n;

	grant_untold(g);
	for (n = 0; n < GRANTS_MAX; n++)
		granted(100 + n, 200 + n, 300 + n);
	ck_assert(!may_regrant(&r));
	ck_assert(grant_told(g));
	ck_assert_ptr_null(grant_policy(&e, &t));
	/* the client that still holds it may say what it likes */
	grant_unwritten(g);
	grant_untold(g);
	grant_bind(g, 5);
	grant_connection_end(g, true);
	ck_assert(!may_regrant(&r));
	ck_assert(!grant_has_bound(5));
	grant_unref(g);
}
END_TEST

/* The tables grow under grants, requests under way and bound claims alike. */
START_TEST(more_grants_than_buckets_are_all_known)
{
	enum { MANY = 5000 };
	struct uuid e = id(1), r = id(60000);

	grant_free();
	grant_init(2 * MANY);
	ck_assert(!grant_ask(&r, &e));
	for (unsigned i = 1; i <= MANY; i++) {
		struct grant *g = granted(i, i + MANY, i + 2 * MANY);

		grant_untold(g);
		grant_bind(g, i % 7 + 1);
	}
	ck_assert_uint_eq(grant_asks(&r), 1);
	grant_ask_end(&r);
	ck_assert_uint_eq(grant_asks(&r), 0);
	for (unsigned i = 1; i <= MANY; i++) {
		struct uuid effect = id(i), token = id(i + MANY), request = id(i + 2 * MANY);

		ck_assert(grant_policy(&effect, &token) == policy);
		ck_assert(grant_ask(&request, &effect));
		grant_ask_end(&request);
	}
	for (unsigned i = 0; i < 7; i++)
		ck_assert(grant_has_bound(i + 1));
}
END_TEST

START_TEST(forgotten_grant_is_safe_to_speak_of)
{
	struct uuid e = id(1), t = id(2), other = id(9);
	struct grant *g = grant_ref(granted(1, 2, 3));

	ck_assert_ptr_eq(grant_policy(&e, &t), policy);
	grant_forget(&e, &other);
	ck_assert_ptr_eq(grant_policy(&e, &t), policy);
	grant_forget(&e, &t);
	ck_assert_ptr_null(grant_policy(&e, &t));
	grant_forget(&e, &t);
	grant_written(g, 7);
	grant_connection_end(g, true);
	grant_unref(g);
	grant_unref(NULL);
}
END_TEST

static struct uuid closed[GRANTS_MAX];

static void
closed_cb(void *arg, const struct uuid *effect, const struct uuid *token)
{
	ck_assert_ptr_eq(arg, &n_closed);
	closed[n_closed++] = *effect;
	grant_forget(effect, token); /* as a caller may */
}

START_TEST(closing_a_connection_tells_each_of_its_claims_once)
{
	struct uuid e = id(1);
	struct grant *g = granted(1, 2, 3);

	grant_bind(g, 5);
	grant_bind(granted(4, 5, 6), 5);
	grant_bind(granted(7, 8, 9), 6);
	ck_assert(grant_has_bound(5));
	grant_each_bound(5, closed_cb, &n_closed);
	ck_assert_uint_eq(n_closed, 2);
	ck_assert(!uuid_equal(&closed[0], &closed[1]));
	ck_assert(uuid_equal(&closed[0], &e) || uuid_equal(&closed[1], &e));
	grant_each_bound(5, closed_cb, &n_closed);
	ck_assert_uint_eq(n_closed, 2);
	ck_assert(!grant_has_bound(5));
	ck_assert(grant_has_bound(6));

}
END_TEST

START_TEST(a_claim_that_is_over_binds_no_connection_and_may_still_be_spoken_of)
{
	struct grant *g = granted(7, 8, 9);
	struct uuid token = id(8), other = id(9);

	grant_bind(g, 6);
	grant_unbind(grant_effect(g), &other);
	ck_assert(grant_has_bound(6));
	grant_unbind(grant_effect(g), &token);
	ck_assert(!grant_has_bound(6));
	ck_assert_ptr_nonnull(grant_policy(grant_effect(g), &token));
	grant_each_bound(6, closed_cb, &n_closed);
	ck_assert_uint_eq(n_closed, 0);
}
END_TEST

static void
counted_cb(void *arg, const struct uuid *effect, const struct uuid *token)
{
	unsigned *n = arg;

	(void)effect;
	(void)token;
	++*n;
}

/* Its unknown and the re-grant would race, and whoever was told run would hold nothing. */
START_TEST(lost_run_of_a_claim_that_its_close_ends_is_not_told_again)
{
	struct uuid r = id(3);
	struct grant *g = granted(1, 2, 3);
	unsigned n = 0;

	grant_bind(g, 5);
	grant_telling(g);
	grant_unwritten(g);
	grant_each_bound(5, counted_cb, &n);
	ck_assert_uint_eq(n, 1);
	ck_assert(!may_regrant(&r));
}
END_TEST

/* Told at once it would go to the ledger beside a complete, on another connection, and might
 * overtake it. */
START_TEST(close_waits_for_the_words_before_it)
{
	struct grant *g = granted(1, 2, 3);
	const struct uuid *effect = grant_effect(g), *token = grant_token(g);
	unsigned n = 0;

	grant_bind(g, 5);
	ck_assert(grant_word(effect, token));
	ck_assert(grant_word(effect, token));
	grant_each_bound(5, counted_cb, &n);
	ck_assert_uint_eq(n, 0);
	ck_assert(!grant_word_end(effect, token));
	ck_assert_msg(grant_word_end(effect, token), "the last word's end brings the close");
	ck_assert(grant_word(effect, token));
	ck_assert_msg(!grant_word_end(effect, token), "once");
}
END_TEST

START_TEST(close_is_of_no_use_after_the_word_that_settled)
{
	struct grant *g = granted(1, 2, 3);
	struct uuid effect = *grant_effect(g), token = *grant_token(g);
	unsigned n = 0;

	grant_bind(g, 5);
	ck_assert(grant_word(&effect, &token));
	grant_each_bound(5, counted_cb, &n);
	grant_forget(&effect, &token);
	ck_assert(!grant_word_end(&effect, &token));
	ck_assert_msg(!grant_word(&effect, &token), "what is not known has no words");
	ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(regrant_moves_the_binding)
{
	struct grant *g = granted(1, 2, 3);

	grant_bind(g, 5);
	grant_bind(g, 6);
	ck_assert(!grant_has_bound(5));
	ck_assert(grant_has_bound(6));
	grant_each_bound(5, closed_cb, &n_closed);
	ck_assert_uint_eq(n_closed, 0);
	grant_bind(g, 0);
	ck_assert(!grant_has_bound(6));
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("grant");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, unknown_request_is_no_regrant);
	tcase_add_test(tc, told_grant_is_not_told_again);
	tcase_add_test(tc, line_that_was_not_taken_whole_may_be_told_again);
	tcase_add_test(tc, reset_after_the_last_line_may_be_told_again);
	tcase_add_test(tc, plain_end_and_end_after_another_line_are_no_loss);
	tcase_add_test(tc, untold_grant_waits_to_be_asked_for);
	tcase_add_test(tc, second_begin_of_a_request_under_way_is_no_regrant);
	tcase_add_test(tc, untold_grant_of_another_effect_is_no_regrant);
	tcase_add_test(tc, late_first_answer_does_not_make_it_untold);
	tcase_add_test(tc, newer_token_takes_the_request_over);
	tcase_add_test(tc, what_falls_out_counts_as_told);
	tcase_add_test(tc, more_grants_than_buckets_are_all_known);
	tcase_add_test(tc, forgotten_grant_is_safe_to_speak_of);
	tcase_add_test(tc, closing_a_connection_tells_each_of_its_claims_once);
	tcase_add_test(tc, a_claim_that_is_over_binds_no_connection_and_may_still_be_spoken_of);
	tcase_add_test(tc, lost_run_of_a_claim_that_its_close_ends_is_not_told_again);
	tcase_add_test(tc, close_waits_for_the_words_before_it);
	tcase_add_test(tc, close_is_of_no_use_after_the_word_that_settled);
	tcase_add_test(tc, regrant_moves_the_binding);
	return tap_run("grant", tc);
}
