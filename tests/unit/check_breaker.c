/*
 * Slots and circuits: when a provider is left alone, for how long, who is let through, and what is
 * no news of it.
 */
#include "breaker.h"
#include "log.h"
#include "loop.h"
#include "tool_dir.h"

#define PROBES 32
#define SHARE 24

static int64_t pauses_ms[] = {150, 400};
static struct tool_policy tool = {
    .ns = "default", .name = "a", .probe_backoff_ms = pauses_ms, .n_probe_backoff = 2};
static struct tool_policy other = {
    .ns = "default", .name = "b", .probe_backoff_ms = pauses_ms, .n_probe_backoff = 2};
static struct tool_policy elsewhere = {
    .ns = "other", .name = "a", .probe_backoff_ms = pauses_ms, .n_probe_backoff = 2};

static void
start_breakers(void)
{
	setup();
	log_init(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
	breaker_init(PROBES);
}

static void
end_breakers(void)
{
	breaker_free();
	teardown();
}

static unsigned
room(const struct tool_policy *policy)
{
	return breaker_room(policy->ns, policy->name);
}

/* Probes that begin and end, one after the other. */
static void
unanswered(const struct tool_policy *policy, int n)
{
	for (int i = 0; i < n; i++) {
		struct breaker_probe p = {0};

		breaker_start(&p, policy);
		breaker_end(&p, policy, "no answer");
	}
}

static void
answered(const struct tool_policy *policy)
{
	struct breaker_probe p = {0};

	breaker_start(&p, policy);
	breaker_end(&p, policy, NULL);
}

static void
pass_a_moment(void)
{
	int64_t now_ms = loop_now_ms();

	while (loop_now_ms() == now_ms)
		usleep(200);
}

/* Waits until one is let through, and returns after how many milliseconds that was. */
static int64_t
until_half_open(const struct tool_policy *policy)
{
	int64_t from_ms = loop_now_ms();

	while (room(policy) == 0)
		usleep(1000);
	ck_assert_uint_eq(room(policy), 1);
	return loop_now_ms() - from_ms;
}

/* probe_state as it is told; static memory. */
static const char *
told(const struct tool_policy *policy)
{
	static struct buf b;

	buf_clear(&b);
	breaker_json(policy->ns, policy->name, &b);
	return buf_str(&b);
}

static bool
tells(const struct tool_policy *policy, const char *part)
{
	return strstr(told(policy), part) != NULL;
}

START_TEST(one_tool_has_three_quarters_of_the_slots_at_most)
{
	struct breaker_probe p[SHARE] = {0};

	ck_assert_uint_eq(breaker_share(), SHARE);
	ck_assert_uint_eq(room(&tool), SHARE);
	for (int i = 0; i < SHARE; i++) {
		ck_assert(!breaker_any_waits());
		breaker_start(&p[i], &tool);
		ck_assert_uint_eq(room(&tool), SHARE - 1 - (unsigned)i);
	}
	ck_assert(breaker_any_waits());
	ck_assert_uint_eq(breaker_running(), SHARE);
	ck_assert_uint_eq(room(&other), SHARE);
	ck_assert_uint_eq(room(&elsewhere), SHARE);
	breaker_end(&p[0], &tool, NULL);
	breaker_drop(&p[1]);
	breaker_drop(&p[1]); /* nothing any more */
	ck_assert_uint_eq(room(&tool), 2);
	for (int i = 2; i < SHARE; i++)
		breaker_drop(&p[i]);
	ck_assert_uint_eq(breaker_running(), 0);
}
END_TEST

START_TEST(five_in_a_row_without_an_answer_open_it)
{
	ck_assert_str_eq(told(&tool), "{\"circuit\":\"closed\",\"failures\":0,\"running\":0}");
	unanswered(&tool, 4);
	ck_assert_uint_eq(room(&tool), SHARE);
	ck_assert_str_eq(told(&tool),
	    "{\"circuit\":\"closed\",\"failures\":4,\"running\":0,\"last_error\":\"no answer\"}");
	pass_a_moment();
	answered(&tool);
	ck_assert_str_eq(told(&tool), "{\"circuit\":\"closed\",\"failures\":0,\"running\":0}");
	unanswered(&tool, 4);
	ck_assert_uint_eq(room(&tool), SHARE);
	unanswered(&tool, 1);
	ck_assert_uint_eq(room(&tool), 0);
	ck_assert_uint_eq(breaker_open_circuits(), 1);
	ck_assert(breaker_any_waits());
	ck_assert(tells(&tool, "{\"circuit\":\"open\",\"failures\":5,\"open_until\":\"2"));
	ck_assert_uint_eq(room(&other), SHARE);
	ck_assert_uint_eq(room(&elsewhere), SHARE);
}
END_TEST

START_TEST(after_the_pause_one_is_let_through_and_its_answer_closes)
{
	struct breaker_probe trial = {0};
	int64_t from_ms = loop_now_ms();

	unanswered(&tool, 5);
	until_half_open(&tool);
	ck_assert_int_ge(loop_now_ms() - from_ms, pauses_ms[0]);
	ck_assert(tells(&tool, "{\"circuit\":\"half_open\",\"failures\":5,\"running\":0"));
	breaker_start(&trial, &tool);
	ck_assert_uint_eq(room(&tool), 0);
	breaker_drop(&trial); /* ended by us: the next one is let through */
	ck_assert_uint_eq(room(&tool), 1);
	breaker_start(&trial, &tool);
	breaker_end(&trial, &tool, NULL);
	ck_assert_uint_eq(room(&tool), SHARE);
	ck_assert_str_eq(told(&tool), "{\"circuit\":\"closed\",\"failures\":0,\"running\":0}");
	pass_a_moment();
	unanswered(&tool, 4);
	ck_assert_uint_eq(room(&tool), SHARE);
}
END_TEST

START_TEST(without_an_answer_it_opens_again_for_longer)
{
	struct breaker_probe trial = {0};
	int64_t from_ms;

	unanswered(&tool, 5);
	until_half_open(&tool);
	for (int i = 0; i < 2; i++) {
		breaker_start(&trial, &tool);
		from_ms = loop_now_ms();
		breaker_end(&trial, &tool, "still none");
		ck_assert_uint_eq(room(&tool), 0);
		ck_assert(tells(&tool, i ? "\"failures\":7," : "\"failures\":6,"));
		ck_assert(tells(&tool, "\"last_error\":\"still none\""));
		until_half_open(&tool);
		/* the last pause of the policy goes on */
		ck_assert_int_ge(loop_now_ms() - from_ms, pauses_ms[1]);
	}
	/* an answer starts the pauses anew */
	answered(&tool);
	pass_a_moment();
	from_ms = loop_now_ms();
	unanswered(&tool, 5);
	ck_assert_uint_eq(room(&tool), 0);
	ck_assert_int_ge(until_half_open(&tool) + 5, pauses_ms[0]);
}
END_TEST

START_TEST(who_began_before_it_opened_lengthens_nothing_and_may_close_it)
{
	struct breaker_probe p[9] = {0};

	for (int i = 0; i < 9; i++)
		breaker_start(&p[i], &tool);
	for (int i = 0; i < 8; i++)
		breaker_end(&p[i], &tool, "no answer");
	ck_assert(tells(&tool, "\"failures\":5,"));
	until_half_open(&tool);
	breaker_end(&p[8], &tool, NULL);
	ck_assert_uint_eq(room(&tool), SHARE);
}
END_TEST

START_TEST(who_began_before_the_last_answer_tells_nothing_new)
{
	struct breaker_probe hang[9] = {0};

	for (int i = 0; i < 9; i++)
		breaker_start(&hang[i], &tool);
	pass_a_moment();
	answered(&tool);
	for (int i = 0; i < 9; i++)
		breaker_end(&hang[i], &tool, "time-out");
	ck_assert_str_eq(told(&tool), "{\"circuit\":\"closed\",\"failures\":0,\"running\":0}");
}
END_TEST

START_TEST(an_error_is_cut_at_a_characters_edge_and_left_out_if_it_is_no_text)
{
	struct breaker_probe p = {0};
	char why[300];

	memset(why, 'x', sizeof why);
	memcpy(why + 254, "\xc3\xa4", 2); /* stands over the edge */
	why[299] = '\0';
	breaker_start(&p, &tool);
	breaker_end(&p, &tool, why);
	ck_assert(tells(&tool, "x\"}"));
	ck_assert_uint_eq(strlen(strstr(told(&tool), "last_error\":\"")),
	    strlen("last_error\":\"") + 254 + strlen("\"}"));
	breaker_start(&p, &tool);
	breaker_end(&p, &tool, "\xff");
	ck_assert_str_eq(told(&tool), "{\"circuit\":\"closed\",\"failures\":2,\"running\":0}");
}
END_TEST

START_TEST(of_ever_more_tools_the_oldest_are_forgotten)
{
	struct breaker_probe first = {0};
	char name[32];
	struct tool_policy many = tool;

	many.name = name;
	breaker_start(&first, &tool);
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof name, "tool %d", i);
		unanswered(&many, 5);
	}
	ck_assert_uint_le(breaker_open_circuits(), 1024);
	ck_assert_uint_eq(room(&many), 0);
	ck_assert_uint_eq(breaker_room("default", "tool 0"), SHARE);
	ck_assert_uint_eq(room(&tool), SHARE - 1); /* but for those with probes under way */
	breaker_drop(&first);
}
END_TEST

static void
each_cb(void *arg, const struct breaker_tool *t)
{
	struct buf *out = arg;

	buf_printf(out, "%s/%s %d %u %u %d;", t->ns, t->name, (int)t->circuit, t->running, t->room,
	    t->open_since_us > 0);
}

START_TEST(a_sweep_is_told_of_those_that_are_not_as_all)
{
	struct breaker_probe p = {0};
	struct buf out = {0};

	answered(&elsewhere);
	unanswered(&tool, 5);
	breaker_start(&p, &other);
	breaker_each(each_cb, &out);
	ck_assert_str_eq(buf_str(&out), "default/a 1 0 0 1;default/b 0 1 23 0;");
	buf_free(&out);
	breaker_drop(&p);
}
END_TEST

START_TEST(a_changed_policy_starts_anew)
{
	static const char before[] =
	    "[{\"name\":\"a\",\"probe\":{\"exec\":{\"argv\":[\"/bin/false\"]}}},"
	    "{\"name\":\"b\",\"probe\":{\"exec\":{\"argv\":[\"/bin/false\"]}}}]";
	static const char after[] =
	    "[{\"name\":\"a\",\"probe\":{\"exec\":{\"argv\":[\"/bin/true\"]}}},"
	    "{\"name\":\"b\",\"probe\":{\"exec\":{\"argv\":[\"/bin/false\"]}}}]";
	struct tool_set *old_set = load(before), *new_set = load(after);
	struct breaker_probe old = {0};
	struct tool_policy for_long = other; /* its pause is over in no debugger */
	int64_t pause_ms = 60000;

	for_long.probe_backoff_ms = &pause_ms;
	for_long.n_probe_backoff = 1;
	breaker_start(&old, &tool);
	unanswered(&tool, 5);
	unanswered(&for_long, 5);
	pass_a_moment();
	breaker_reload(old_set, new_set);
	ck_assert_uint_eq(room(&tool), SHARE - 1);
	ck_assert_uint_eq(room(&other), 0);
	breaker_end(&old, &tool, "the old one's");
	ck_assert_str_eq(told(&tool), "{\"circuit\":\"closed\",\"failures\":0,\"running\":0}");
	tool_set_free(old_set);
	tool_set_free(new_set);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("breaker");

	tcase_add_checked_fixture(tc, start_breakers, end_breakers);
	tcase_add_test(tc, one_tool_has_three_quarters_of_the_slots_at_most);
	tcase_add_test(tc, five_in_a_row_without_an_answer_open_it);
	tcase_add_test(tc, after_the_pause_one_is_let_through_and_its_answer_closes);
	tcase_add_test(tc, without_an_answer_it_opens_again_for_longer);
	tcase_add_test(tc, who_began_before_it_opened_lengthens_nothing_and_may_close_it);
	tcase_add_test(tc, who_began_before_the_last_answer_tells_nothing_new);
	tcase_add_test(tc, an_error_is_cut_at_a_characters_edge_and_left_out_if_it_is_no_text);
	tcase_add_test(tc, of_ever_more_tools_the_oldest_are_forgotten);
	tcase_add_test(tc, a_sweep_is_told_of_those_that_are_not_as_all);
	tcase_add_test(tc, a_changed_policy_starts_anew);
	return tap_run("breaker", tc);
}
