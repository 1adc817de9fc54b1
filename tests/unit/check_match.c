/*
 * Which row belongs to which effect: by id, by business key and time, in whatever order rows come,
 * and with so little memory that everything is spilled and merged.
 */
#include "match.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE INT64_C(60000000)
#define FOUND_MAX 4000

static struct match_plan plan;
static struct match *match;
static uint64_t line;
/* What was told: `class reference/key`, a line each, in the order of the telling. */
static char *found[FOUND_MAX];
static size_t n_found;

static void
take(void *arg, const struct match_finding *f)
{
	char text[200];

	(void)arg;
	snprintf(text, sizeof text, "%s %s/%s%s%s", match_class_name(f->class),
	    f->row ? f->row->reference : "", f->effect && f->effect->key ? f->effect->key : "",
	    f->again ? " again" : "", f->field ? f->field : "");
	ck_assert_uint_lt(n_found, FOUND_MAX);
	found[n_found++] = strdup(text);
}

static void
setup(void)
{
	plan = (struct match_plan){.memory_bytes = 1 << 20,
	    .slack_us = 15 * MINUTE,
	    .window_us = 60 * MINUTE,
	    .from_us = 0,
	    .to_us = 10000 * MINUTE,
	    .read_us = INT64_MAX,
	    .remembers_us = INT64_MIN,
	    .installed_us = INT64_MIN};
	n_found = line = 0;
	match = match_new(&plan, take, NULL);
}

static void
teardown(void)
{
	match_free(match);
	while (n_found > 0)
		free(found[--n_found]);
}

static struct uuid
id_of(unsigned n)
{
	return (struct uuid){.b = {(uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n, 1}};
}

/* id, business: 0 = none. minute < 0: no time. */
static void
row(const char *reference, unsigned id, unsigned business, int64_t minute)
{
	struct export_row r = {.line = ++line,
	    .has_id = id > 0,
	    .has_business = business > 0,
	    .has_time = minute >= 0,
	    .time_us = minute * MINUTE,
	    .reference = reference,
	    .id = id_of(id),
	    .business = id_of(business)};

	ck_assert(match_export(match, &r));
}

static void
effect(const char *key, unsigned id, unsigned business, int64_t minute, enum match_state state)
{
	struct match_effect e = {.id = id_of(id),
	    .business = id_of(business),
	    .has_business = business > 0,
	    .key = state == MATCH_FORGOTTEN ? NULL : key,
	    .state = state,
	    .attempt = 1,
	    .claimed_us = minute * MINUTE,
	    .done_us = minute * MINUTE + 1000000,
	    .has_done = state >= MATCH_RELEASED};

	ck_assert(match_ledger(match, &e));
}

static void
end(void)
{
	ck_assert(match_end(match, NULL));
}

/* Was it told exactly once? */
static void
is(const char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < n_found; i++)
		n += !strcmp(found[i], text);
	for (size_t i = 0; n != 1 && i < n_found; i++)
		fprintf(stderr, "# told: %s\n", found[i]);
	ck_assert_msg(n == 1, "\"%s\" was told %zu times", text, n);
}

static void
all(size_t n)
{
	for (size_t i = 0; n_found != n && i < n_found; i++)
		fprintf(stderr, "# told: %s\n", found[i]);
	ck_assert_uint_eq(n_found, n);
}

START_TEST(rows_match_by_id)
{
	row("b", 2, 0, 100);
	row("a", 1, 0, 100);
	row("nobody", 9, 0, 100);
	row("no id", 0, 0, 100);
	effect("A", 1, 0, 100, MATCH_SUCCEEDED);
	effect("B", 2, 0, 100, MATCH_SUCCEEDED);
	effect("C", 3, 0, 100, MATCH_SUCCEEDED);
	end();
	is("matched a/A");
	is("matched b/B");
	is("missing_at_provider /C");
	is("bypassed nobody/");
	is("bypassed no id/");
	all(5);
}
END_TEST

START_TEST(states_say_what_a_row_means)
{
	static const struct {
		enum match_state state;
		const char *with, *without;
	} cases[] = {{MATCH_PENDING, "landed_open", "open"}, {MATCH_UNKNOWN, "landed_open", "open"},
	    {MATCH_ESCALATED, "landed_open", "open"},
	    {MATCH_RELEASED, "landed_though_released", "not_landed"},
	    {MATCH_FAILED, "landed_though_failed", "not_landed"},
	    {MATCH_SUCCEEDED, "matched", "missing_at_provider"}};
	char text[100];

	for (unsigned i = 0; i < 6; i++)
		row("r", 2 * i + 1, 0, 100);
	for (unsigned i = 0; i < 6; i++) {
		snprintf(text, sizeof text, "with %u", i);
		effect(text, 2 * i + 1, 0, 100, cases[i].state);
		snprintf(text, sizeof text, "without %u", i);
		effect(text, 2 * i + 2, 0, 100, cases[i].state);
	}
	end();
	for (unsigned i = 0; i < 6; i++) {
		snprintf(text, sizeof text, "%s r/with %u", cases[i].with, i);
		is(text);
		snprintf(text, sizeof text, "%s /without %u", cases[i].without, i);
		is(text);
	}
	all(12);
}
END_TEST

START_TEST(nothing_is_missed_close_to_the_edge)
{
	row("r", 1, 0, 100);
	effect("matched", 1, 0, 100, MATCH_SUCCEEDED);
	effect("early", 2, 0, 14, MATCH_SUCCEEDED);
	effect("first", 3, 0, 15, MATCH_SUCCEEDED);
	effect("last", 4, 0, 9984, MATCH_SUCCEEDED);
	effect("late", 5, 0, 9986, MATCH_SUCCEEDED);
	end();
	is("not_judged /early");
	is("missing_at_provider /first");
	is("missing_at_provider /last");
	is("not_judged /late");
	all(5);
}
END_TEST

START_TEST(nothing_is_missed_where_rows_are_bad_or_came_later)
{
	effect("one", 1, 0, 100, MATCH_SUCCEEDED);
	plan.incomplete = true;
	end();
	is("not_judged /one");
	match_free(match);
	plan.incomplete = false;
	plan.read_us = 110 * MINUTE;
	match = match_new(&plan, take, NULL);
	effect("two", 1, 0, 100, MATCH_SUCCEEDED);
	effect("three", 2, 0, 90, MATCH_SUCCEEDED);
	end();
	is("not_judged /two");
	is("missing_at_provider /three");
}
END_TEST

START_TEST(doubles_of_an_id_are_found_wherever_they_stand)
{
	row("a", 1, 0, 100);
	row("b", 2, 0, 100);
	row("a2", 1, 0, 5000);
	row("a3", 1, 0, 9000);
	effect("A", 1, 0, 100, MATCH_SUCCEEDED);
	effect("B", 2, 0, 100, MATCH_SUCCEEDED);
	end();
	is("doubled a/A");
	is("doubled a2/A again");
	is("doubled a3/A again");
	is("matched b/B");
	all(4);
}
END_TEST

START_TEST(doubles_of_a_business_key_are_those_within_the_window)
{
	row("a", 1, 7, 100);
	row("far", 0, 7, 400);
	row("b", 2, 8, 100);
	row("b2", 0, 8, 160);
	row("b3", 3, 8, 220);
	row("b4", 0, 8, 281);
	effect("A", 1, 7, 100, MATCH_SUCCEEDED);
	effect("B", 2, 8, 100, MATCH_SUCCEEDED);
	effect("B3", 3, 8, 220, MATCH_SUCCEEDED);
	end();
	is("matched a/A");
	is("bypassed far/");
	is("doubled b/B");
	is("doubled b2/ again");
	is("doubled b3/B3 again");
	is("bypassed b4/");
	all(6);
}
END_TEST

START_TEST(a_double_is_told_once)
{
	row("a", 1, 7, 100);
	row("a2", 1, 7, 101);
	effect("A", 1, 7, 100, MATCH_SUCCEEDED);
	end();
	is("doubled a/A");
	is("doubled a2/A again");
	all(2);
}
END_TEST

START_TEST(what_has_no_id_belongs_to_its_business_key)
{
	row("a", 0, 7, 100);
	row("b", 9, 8, 100); /* an id of somebody else's */
	effect("A", 1, 7, 99, MATCH_SUCCEEDED);
	effect("B", 2, 8, 99, MATCH_UNKNOWN);
	effect("C", 3, 9, 99, MATCH_SUCCEEDED);
	end();
	is("matched a/A");
	is("landed_open b/B");
	is("missing_at_provider /C");
	all(3);
}
END_TEST

START_TEST(of_several_effects_the_one_under_way_is_meant)
{
	row("second", 0, 7, 2000);
	row("first", 0, 7, 1000);
	row("third", 0, 7, 3030);
	effect("1", 1, 7, 1000, MATCH_SUCCEEDED);
	effect("2", 2, 7, 2000, MATCH_SUCCEEDED);
	effect("3", 3, 7, 3000, MATCH_SUCCEEDED);
	effect("4", 4, 7, 4000, MATCH_SUCCEEDED);
	end();
	is("matched first/1");
	is("matched second/2");
	is("matched third/3"); /* booked half an hour later */
	is("missing_at_provider /4");
	all(4);
}
END_TEST

START_TEST(without_times_one_row_is_one_effect)
{
	row("a", 0, 7, -1);
	row("a", 0, 7, -1);
	row("c", 0, 8, -1);
	row("c", 0, 8, -1);
	effect("A", 1, 7, 100, MATCH_SUCCEEDED);
	effect("C", 2, 8, 100, MATCH_SUCCEEDED);
	effect("D", 3, 8, 5000, MATCH_SUCCEEDED);
	end();
	is("doubled a/A");
	is("doubled a/ again");
	is("matched c/C");
	is("matched c/D");
	all(4);
}
END_TEST

START_TEST(what_was_forgotten_is_known)
{
	row("old", 1, 0, 100);
	row("old life", 2, 0, 100);
	row("new life", 3, 0, 5000);
	effect(NULL, 1, 0, 100, MATCH_FORGOTTEN);
	effect(NULL, 2, 0, 100, MATCH_FORGOTTEN);
	effect("2", 2, 0, 5000, MATCH_SUCCEEDED);
	effect("3", 3, 0, 5000, MATCH_SUCCEEDED);
	effect(NULL, 3, 0, 100, MATCH_FORGOTTEN);
	end();
	is("matched old/");
	is("matched old life/");
	is("missing_at_provider /2");
	is("matched new life/3");
	is("missing_at_provider /");
	all(5);
}
END_TEST

START_TEST(before_the_ledgers_memory_nothing_is_bypassed)
{
	plan.installed_us = 5000 * MINUTE;
	plan.remembers_us = 1000 * MINUTE;
	row("forgotten", 0, 0, 999);
	row("before the first claim", 0, 0, 1999);
	row("after", 0, 0, 2001);
	row("outside", 0, 0, 10001);
	effect("first", 1, 0, 2000, MATCH_PENDING);
	end();
	is("before_memory forgotten/");
	is("before_memory before the first claim/");
	is("bypassed after/");
	is("outside outside/");
	is("open /first");
	all(5);
}
END_TEST

START_TEST(fields_differ_one_by_one)
{
	static const char *const ledger[] = {"12.5", "EUR", "7", NULL, "5"},
				 *const provider[] = {"12.5", "USD", "007", "x", NULL};
	struct export_row r = {.line = 1, .has_id = true, .id = id_of(1), .reference = "r"};
	struct match_effect e = {
	    .id = id_of(1), .key = "k", .state = MATCH_SUCCEEDED, .has_done = true};

	plan.n_fields = plan.n_compare = 5;
	for (int i = 0; i < 5; i++) {
		plan.compare[i] = (struct match_compare){
		    .pointer = (const char *const[]){"/a", "/b", "/c", "/d", "/e"}[i], .field = i};
		r.values[i] = provider[i];
		e.values[i] = ledger[i];
	}
	e.numbers[2] =
	    true; /* 007 is 7 where the ledger has a number, and not where it has a text */
	ck_assert(match_export(match, &r));
	ck_assert(match_ledger(match, &e));
	end();
	is("differs r/k/b; /e");
	all(1);
}
END_TEST

/* Effects 1 to n; rows for most of them, by id or by business key, in no order. */
START_TEST(little_memory_finds_the_same)
{
	unsigned n = 1500, missing = 0, matched = 0, bypassed = 0, place;

	match_free(match);
	plan.memory_bytes = 2000;
	match = match_new(&plan, take, NULL);
	for (unsigned i = 1; i <= n; i++) {
		place = i * 7 % n + 1; /* 7 and 1500 have no common factor */
		if (place % 10 != 0)
			row("r", place % 3 ? place : 0, place, 100 + place);
	}
	row("nobody", 0, n + 7, 100);
	for (unsigned i = 1; i <= n; i++)
		effect("e", i, i, 100 + i, MATCH_SUCCEEDED);
	end();
	for (size_t i = 0; i < n_found; i++) {
		missing += !strcmp(found[i], "missing_at_provider /e");
		matched += !strcmp(found[i], "matched r/e");
		bypassed += !strcmp(found[i], "bypassed nobody/");
	}
	ck_assert_uint_eq(matched, n - n / 10);
	ck_assert_uint_eq(missing, n / 10);
	ck_assert_uint_eq(bypassed, 1);
	all(n + 1);
}
END_TEST

START_TEST(effects_that_wait_are_bounded)
{
	for (unsigned i = 0; i < 1000; i++)
		effect("e", i + 1, 7, 100 + i, MATCH_SUCCEEDED);
	end();
	all(1000);
	teardown();
	setup();
	row("r", 0, 7, 2000);
	for (unsigned i = 0; i < 1000; i++)
		effect(i == 999 ? "last" : "e", i + 1, 7, 100 + i, MATCH_SUCCEEDED);
	end();
	is("matched r/last");
	all(1000);
}
END_TEST

START_TEST(a_disk_that_fails_is_told)
{
	bool ok = true;
	struct export_row r = {.has_id = true, .reference = "r"};

	match_free(match);
	setenv("TMPDIR", "/nonexistent", 1);
	plan.memory_bytes = 2000;
	match = match_new(&plan, take, NULL);
	for (unsigned i = 0; ok && i < 1000; i++) {
		r.id = id_of(i);
		ok = match_export(match, &r);
	}
	ck_assert(!ok);
	ck_assert_ptr_nonnull(strstr(match_why(match), "/nonexistent"));
	ck_assert(!match_end(match, NULL));
	all(0);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("match");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, rows_match_by_id);
	tcase_add_test(tc, states_say_what_a_row_means);
	tcase_add_test(tc, nothing_is_missed_close_to_the_edge);
	tcase_add_test(tc, nothing_is_missed_where_rows_are_bad_or_came_later);
	tcase_add_test(tc, doubles_of_an_id_are_found_wherever_they_stand);
	tcase_add_test(tc, doubles_of_a_business_key_are_those_within_the_window);
	tcase_add_test(tc, a_double_is_told_once);
	tcase_add_test(tc, what_has_no_id_belongs_to_its_business_key);
	tcase_add_test(tc, of_several_effects_the_one_under_way_is_meant);
	tcase_add_test(tc, without_times_one_row_is_one_effect);
	tcase_add_test(tc, what_was_forgotten_is_known);
	tcase_add_test(tc, before_the_ledgers_memory_nothing_is_bypassed);
	tcase_add_test(tc, fields_differ_one_by_one);
	tcase_add_test(tc, little_memory_finds_the_same);
	tcase_add_test(tc, effects_that_wait_are_bounded);
	tcase_add_test(tc, a_disk_that_fails_is_told);
	return tap_run("match", tc);
}
