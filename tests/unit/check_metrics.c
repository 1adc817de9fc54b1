/*
 * Metrics: what was counted stands on the page once, under the names that were made known and no
 * others; what a label holds is read back equal (case 134); histograms add up and never tell a time
 * as shorter than it was.
 */
#include "metrics.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

static struct buf page;

static void
ask_cb(void *arg, struct buf *out, enum metric id)
{
	(void)arg;
	if (id == METRIC_LEDGER_UP)
		metrics_row(out, id, NULL, 1);
	else if (id == METRIC_CPU)
		metrics_row(out, id, NULL, 0.25);
}

static const char *
rendered(void)
{
	buf_clear(&page);
	metrics_render(&page, ask_cb, NULL);
	return buf_str(&page);
}

static void
teardown(void)
{
	metrics_free();
	buf_free(&page);
}

static unsigned
n_lines(const char *start)
{
	const char *line = rendered();
	unsigned n = 0;

	for (; *line; line = strchr(line, '\n') + 1)
		n += strncmp(line, start, strlen(start)) == 0;
	return n;
}

#define HAS(line) \
	ck_assert_msg(strstr(rendered(), "\n" line "\n"), "no line %s in\n%s", line, rendered())
#define HAS_NOT(text) ck_assert_msg(!strstr(rendered(), text), "%s is in\n%s", text, rendered())

START_TEST(each_family_is_told_once_with_help_and_type)
{
	ck_assert_uint_eq(n_lines("# HELP "), METRIC_N);
	ck_assert_uint_eq(n_lines("# TYPE "), METRIC_N);
	HAS("# TYPE effectd_begins_total counter");
	HAS("effectd_ledger_up 1");
	HAS("process_cpu_seconds_total 0.25");
	HAS("effectd_sweeps_total{result=\"failed\"} 0");
}
END_TEST

START_TEST(words_are_counted_by_tool)
{
	metrics_tool("ns", "refund", METRICS_GUARDED);
	for (int i = 0; i < 3; i++)
		metrics_word("ns", "refund", "run", 1);
	metrics_word("ns", "refund", "completed", 7);
	metrics_word("ns", "refund", "resolved_probe", 7);
	metrics_word("ns", "refund", "hold_max", 0);
	metrics_word("ns", "refund", "a word of a later version", 0);
	HAS("effectd_begins_total{namespace=\"ns\",tool=\"refund\",decision=\"run\"} 3");
	HAS("effectd_outcomes_total{namespace=\"ns\",tool=\"refund\",outcome=\"completed\"} 1");
	HAS("effectd_resolutions_total{namespace=\"ns\",tool=\"refund\",by=\"probe\"} 1");
	HAS("effectd_holds_cut_total{namespace=\"ns\",tool=\"refund\"} 1");
	HAS_NOT("later version");
}
END_TEST

/* An alert on an increase sees the first of it only if the series was there before. */
START_TEST(what_is_expected_of_a_tool_is_there_at_zero)
{
	metrics_tool("ns", "look", METRICS_PASSED);
	metrics_tool("ns", "refund", METRICS_GUARDED);
	metrics_tool("ns", "book", METRICS_EXECUTED);
	HAS("effectd_begins_total{namespace=\"ns\",tool=\"look\",decision=\"pass\"} 0");
	HAS("effectd_begins_total{namespace=\"ns\",tool=\"refund\",decision=\"unknown\"} 0");
	HAS("effectd_begins_total{namespace=\"ns\",tool=\"book\",decision=\"ran\"} 0");
	HAS("effectd_duplicates_total{namespace=\"ns\",tool=\"refund\"} 0");
	HAS_NOT("tool=\"look\",decision=\"run\"");
	HAS_NOT("tool=\"refund\",decision=\"pass\"");
	HAS_NOT("tool=\"book\",decision=\"run\"");
	HAS_NOT("effectd_duplicates_total{namespace=\"ns\",tool=\"look\"}");
}
END_TEST

START_TEST(names_without_a_policy_are_one_series)
{
	char tool[32];

	metrics_tool("ns", "refund", METRICS_GUARDED);
	for (int i = 0; i < 10000; i++) {
		snprintf(tool, sizeof tool, "tool-%d", i);
		metrics_word("ns", tool, "run", 0);
		metrics_word("elsewhere", tool, "run", 0);
	}
	HAS("effectd_begins_total{namespace=\"ns\",tool=\"(other)\",decision=\"run\"} 10000");
	HAS("effectd_begins_total{namespace=\"(other)\",tool=\"(other)\",decision=\"run\"} 10000");
	ck_assert_uint_lt(n_lines("effectd_begins_total{"), 20);
	ck_assert(metrics_knows("ns", "refund"));
	ck_assert(!metrics_knows("ns", "tool-1"));
}
END_TEST

START_TEST(policies_without_end_are_bounded)
{
	char tool[32];

	for (int i = 0; i < 20000; i++) {
		snprintf(tool, sizeof tool, "tool-%d", i);
		metrics_tool("ns", tool, METRICS_PASSED);
	}
	ck_assert_uint_le(n_lines("effectd_begins_total{"), 16384);
	metrics_word("ns", "tool-19999", "run", 0);
	HAS("effectd_begins_total{namespace=\"ns\",tool=\"(other)\",decision=\"run\"} 1");
}
END_TEST

START_TEST(counts_go_on_when_a_tool_is_named_again)
{
	metrics_tool("ns", "refund", METRICS_GUARDED);
	metrics_word("ns", "refund", "run", 0);
	metrics_tool("ns", "refund", METRICS_GUARDED);
	metrics_word("ns", "refund", "run", 0);
	HAS("effectd_begins_total{namespace=\"ns\",tool=\"refund\",decision=\"run\"} 2");
	ck_assert_uint_eq(
	    n_lines("effectd_begins_total{namespace=\"ns\",tool=\"refund\",decision=\"run\"}"), 1);
}
END_TEST

/* As Prometheus's parser reads a value: \\, \" and \n are escapes, and nothing else is. */
static void
unescape(const char *p, char *out)
{
	for (; *p != '"'; p++) {
		bool escaped = *p == '\\';

		ck_assert_int_ne(*p, '\n');
		p += escaped;
		*out++ = *p;
		if (escaped && *p == 'n')
			out[-1] = '\n';
	}
	*out = '\0';
}

/* case 134 */
START_TEST(label_is_read_back_equal_whatever_it_holds)
{
	static const char *const values[] = {"a\"b\\c\nd", "\\", "\"", "\n", "\\n", "n\\\\\"\n\"",
	    "", "{}=,", "\xc3\xa9\xe2\x82\xac"};
	char back[64];

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		struct buf labels = {0};

		metrics_label(&labels, "a", "first");
		metrics_label(&labels, "tool", values[i]);
		ck_assert_int_eq(strncmp(buf_str(&labels), "a=\"first\",tool=\"", 16), 0);
		unescape(buf_str(&labels) + 16, back);
		ck_assert_str_eq(back, values[i]);
		buf_free(&labels);
	}
	metrics_tool("ns", values[0], METRICS_PASSED);
	HAS("effectd_begins_total{namespace=\"ns\",tool=\"a\\\"b\\\\c\\nd\",decision=\"pass\"} 0");
}
END_TEST

START_TEST(histograms_add_up)
{
	static const int64_t us[] = {0, 500, 501, 1000, 29999999, 30000000, 30000001};

	for (size_t i = 0; i < sizeof us / sizeof *us; i++)
		metrics_observe(METRIC_HISTOGRAM_BATCH_TIME, us[i]);
	HAS("effectd_batch_duration_seconds_bucket{le=\"0.0005\"} 2");
	HAS("effectd_batch_duration_seconds_bucket{le=\"0.001\"} 4");
	HAS("effectd_batch_duration_seconds_bucket{le=\"10\"} 4");
	HAS("effectd_batch_duration_seconds_bucket{le=\"30\"} 6");
	HAS("effectd_batch_duration_seconds_bucket{le=\"+Inf\"} 7");
	HAS("effectd_batch_duration_seconds_count 7");
	HAS("effectd_batch_duration_seconds_sum 90.002001");
	metrics_observe(METRIC_HISTOGRAM_BATCH_SIZE, 3);
	metrics_observe(METRIC_HISTOGRAM_BATCH_SIZE, 4);
	metrics_observe(METRIC_HISTOGRAM_BATCH_SIZE, 5000);
	HAS("effectd_batch_entries_bucket{le=\"2\"} 0");
	HAS("effectd_batch_entries_bucket{le=\"4\"} 2");
	HAS("effectd_batch_entries_bucket{le=\"1024\"} 2");
	HAS("effectd_batch_entries_sum 5007");
}
END_TEST

START_TEST(time_is_never_told_as_shorter_than_it_was)
{
	metrics_word("ns", "t", "run", 0);	    /* up to 1 ms */
	metrics_word("ns", "t", "replay", 1);	    /* up to 2 ms */
	metrics_word("ns", "t", "busy", 4);	    /* up to 5 ms */
	metrics_word("ns", "t", "held", -1);	    /* a clock that was set */
	metrics_word("ns", "t", "pass", INT32_MAX); /* above all bounds */
	metrics_word("ns", "t", "probe_absent", 2);
	HAS("effectd_begin_duration_seconds_bucket{answer=\"granted\",le=\"0.0005\"} 0");
	HAS("effectd_begin_duration_seconds_bucket{answer=\"granted\",le=\"0.001\"} 1");
	HAS("effectd_begin_duration_seconds_bucket{answer=\"replayed\",le=\"0.001\"} 0");
	HAS("effectd_begin_duration_seconds_bucket{answer=\"replayed\",le=\"0.002\"} 1");
	HAS("effectd_begin_duration_seconds_bucket{answer=\"refused\",le=\"0.005\"} 2");
	HAS("effectd_begin_duration_seconds_bucket{answer=\"passed\",le=\"30\"} 0");
	HAS("effectd_begin_duration_seconds_count{answer=\"passed\"} 1");
	HAS("effectd_probe_duration_seconds_bucket{le=\"0.002\"} 0");
	HAS("effectd_probe_duration_seconds_bucket{le=\"0.005\"} 1");
}
END_TEST

START_TEST(numbers_are_whole_where_they_are)
{
	struct buf out = {0};

	metrics_row(&out, METRIC_QUEUED, NULL, 1.7e9);
	metrics_row(&out, METRIC_QUEUED, NULL, 0.1);
	metrics_row(&out, METRIC_QUEUED, NULL, -3);
	ck_assert_str_eq(buf_str(&out),
	    "effectd_batch_queued 1700000000\neffectd_batch_queued 0.10000000000000001\n"
	    "effectd_batch_queued -3\n");
	buf_free(&out);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("metrics");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, each_family_is_told_once_with_help_and_type);
	tcase_add_test(tc, words_are_counted_by_tool);
	tcase_add_test(tc, what_is_expected_of_a_tool_is_there_at_zero);
	tcase_add_test(tc, names_without_a_policy_are_one_series);
	tcase_add_test(tc, policies_without_end_are_bounded);
	tcase_add_test(tc, counts_go_on_when_a_tool_is_named_again);
	tcase_add_test(tc, label_is_read_back_equal_whatever_it_holds);
	tcase_add_test(tc, histograms_add_up);
	tcase_add_test(tc, time_is_never_told_as_shorter_than_it_was);
	tcase_add_test(tc, numbers_are_whole_where_they_are);
	return tap_run("metrics", tc);
}
