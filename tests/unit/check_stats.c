/*
 * Counts: what is taken is what was counted, whatever is given back meanwhile; names without end
 * cost bounded memory.
 */
#include "stats.h"
#include "tap.h"

#include <stdio.h>

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

START_TEST(what_could_not_be_stored_is_counted_again)
{
	struct stats_entry *taken;
	int64_t n, places;
	unsigned entries;

	stats_count("ns", "tool", "run", 5);
	taken = stats_take();
	taken->minute_us -= 60000000; /* a minute ago */
	stats_count("ns", "tool", "run", 5);
	stats_put_back(taken);
	take_all(&n, &places, &entries);
	ck_assert_int_eq(n, 2);
	ck_assert_int_eq(places, 2);
	ck_assert_uint_eq(entries, 2);
}
END_TEST

START_TEST(names_without_end_cost_bounded_memory)
{
	char tool[32];
	int64_t n, places;
	unsigned entries;

	stats_count("ns", "known", "run", 1);
	for (int i = 0; i < 20000; i++) {
		snprintf(tool, sizeof tool, "tool%d", i);
		stats_count("ns", tool, "run", 1);
	}
	stats_count("ns", "known", "run", 1);
	ck_assert_uint_le(stats_n(), 8192);
	take_all(&n, &places, &entries);
	ck_assert_int_eq(n, entries + 1); /* the known name was counted to the end */
	ck_assert_int_eq(places, n);
	stats_count("ns", "after", "run", 1);
	ck_assert_uint_eq(stats_n(), 1);
	take_all(&n, &places, &entries);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("stats");

	tcase_add_test(tc, counts_by_name_and_place);
	tcase_add_test(tc, names_do_not_run_into_each_other);
	tcase_add_test(tc, what_could_not_be_stored_is_counted_again);
	tcase_add_test(tc, names_without_end_cost_bounded_memory);
	return tap_run("stats", tc);
}
