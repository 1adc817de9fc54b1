/*
 * Counts: what is taken is what was counted; names without end cost bounded memory, and no names
 * without end in the ledger.
 */
#include "metrics.h"
#include "stats.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

static void
take_all(int64_t *ret_n, int64_t *ret_places, unsigned *ret_entries)
{
	struct stats_entry *e;

	*ret_n = *ret_places = 0;
	*ret_entries = 0;
	while ((e = stats_take())) {
		*ret_n += e->n;
		for (int i = 0; i < STATS_LOG2_N; i++)
			*ret_places += e->ms_log2[i];
		++*ret_entries;
		stats_entry_free(e);
	}
}

START_TEST(counts_by_name_and_place)
{
	static const struct {
		int64_t ms;
		int place;
	} rows[] = {{0, 0}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {1023, 10}, {1024, 11},
	    {INT64_MAX, STATS_LOG2_N - 1}, {-5, 0}};
	struct stats_entry *e;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		stats_count("ns", "tool", "run", rows[i].ms);
		e = stats_take();
		ck_assert_ptr_nonnull(e);
		ck_assert_int_eq(e->n, 1);
		ck_assert_msg(e->ms_log2[rows[i].place] == 1, "%lld ms is not in place %d",
		    (long long)rows[i].ms, rows[i].place);
		ck_assert_str_eq(e->ns, "ns");
		ck_assert_str_eq(e->tool, "tool");
		ck_assert_str_eq(e->decision, "run");
		ck_assert_int_eq(e->minute_us % 60000000, 0);
		stats_entry_free(e);
	}
	ck_assert_ptr_null(stats_take());
}
END_TEST

START_TEST(names_do_not_run_into_each_other)
{
	int64_t n, places;
	unsigned entries;

	stats_count("a", "bc", "run", 1);
	stats_count("ab", "c", "run", 1);
	stats_count("a", "b", "crun", 1);
	stats_count("a", "bc", "run", 1);
	ck_assert_uint_eq(stats_n(), 3);
	take_all(&n, &places, &entries);
	ck_assert_int_eq(n, 4);
	ck_assert_int_eq(places, 4);
	ck_assert_uint_eq(entries, 3);
}
END_TEST

START_TEST(what_is_given_up_is_dropped_and_told)
{
	int64_t before = stats_dropped(), n, places;
	unsigned entries;

	stats_count("ns", "tool", "run", 5);
	stats_count("ns", "tool", "run", 5);
	stats_give_up(stats_take());
	ck_assert_int_eq(stats_dropped() - before, 2);
	take_all(&n, &places, &entries);
	ck_assert_int_eq(n, 0);
}
END_TEST

/* As the column `counted` of the ledger's answers has it. */
START_TEST(what_the_ledger_says_is_counted)
{
	static const struct {
		const char *counted;
		int64_t n;
		bool resent;
	} rows[] = {{"completed:1234", 1, false}, {"completed:1234 late:5 expired:5", 3, false},
	    {"", 0, false}, {NULL, 0, true}, {"completed", 0, false}, {"Completed:1", 0, false},
	    {"completed:9223372036854775807", 1, false}, {"?completed:1 late:1", 0, false},
	    {"?completed:1 late:1", 2, true}, {"?", 0, true}};
	int64_t n, places;
	unsigned entries;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		stats_count_all("ns", "tool", rows[i].counted, rows[i].resent);
		take_all(&n, &places, &entries);
		ck_assert_msg(n == rows[i].n && places == n, "'%s' is counted %lld times",
		    rows[i].counted ? rows[i].counted : "NULL", (long long)n);
	}
	stats_count_all("ns", "tool", "late:1023 expired:0", false);
	for (int i = 0; i < 2; i++) {
		struct stats_entry *e = stats_take();

		ck_assert_str_eq(e->decision, i == 0 ? "late" : "expired");
		ck_assert_int_eq(e->ms_log2[i == 0 ? 10 : 0], 1);
		stats_entry_free(e);
	}
}
END_TEST

START_TEST(names_without_end_cost_bounded_memory)
{
	char tool[32], decision[32];
	int64_t before = stats_dropped(), n, places, n_counted = 0;
	unsigned entries;

	stats_count("ns", "tool0", "known", 1);
	for (int i = 0; i < STATS_NAMES_MAX; i++)
		for (int j = 0; j < 40; j++) {
			snprintf(tool, sizeof tool, "tool%d", i);
			snprintf(decision, sizeof decision, "decision%d", j);
			stats_count("ns", tool, decision, 1);
			n_counted++;
		}
	stats_count("ns", "tool0", "known", 1);
	ck_assert_uint_le(stats_n(), 8192);
	take_all(&n, &places, &entries);
	ck_assert_int_eq(n, entries + 1); /* the known name was counted to the end */
	ck_assert_int_eq(places, n);
	/* and what was not is told */
	ck_assert_int_eq(n + stats_dropped() - before, n_counted + 2);
	stats_count("ns", "tool0", "after", 1);
	ck_assert_uint_eq(stats_n(), 1);
	take_all(&n, &places, &entries);
}
END_TEST

/* A caller names tools as he likes; those of policies have their own names whatever he does. */
START_TEST(tools_without_a_policy_have_so_many_names)
{
	char tool[32];
	struct stats_entry *e;
	int64_t n_other = 0, n_own = 0, n_mine = 0;

	for (int i = 0; i < STATS_NAMES_MAX * 3; i++) {
		snprintf(tool, sizeof tool, "made up %d", i);
		stats_count("bounded", tool, "run", 1);
	}
	metrics_tool("bounded", "refund", METRICS_GUARDED);
	stats_count("bounded", "refund", "run", 1);
	stats_count("bounded", "made up 0", "busy", 1);
	while ((e = stats_take())) {
		n_mine += strcmp(e->tool, "refund") == 0 ? e->n : 0;
		n_other += strcmp(e->tool, STATS_OTHER) == 0 ? e->n : 0;
		n_own += strncmp(e->tool, "made up", 7) == 0 ? e->n : 0;
		stats_entry_free(e);
	}
	ck_assert_int_eq(n_mine, 1);
	ck_assert_int_le(n_own, STATS_NAMES_MAX + 1);
	ck_assert_int_eq(n_own + n_other, STATS_NAMES_MAX * 3 + 1);
	metrics_free();
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("stats");

	tcase_add_test(tc, counts_by_name_and_place);
	tcase_add_test(tc, names_do_not_run_into_each_other);
	tcase_add_test(tc, what_is_given_up_is_dropped_and_told);
	tcase_add_test(tc, what_the_ledger_says_is_counted);
	tcase_add_test(tc, names_without_end_cost_bounded_memory);
	tcase_add_test(tc, tools_without_a_policy_have_so_many_names);
	return tap_run("stats", tc);
}
