/*
 * report NAME: one of the daemon's reports as a table for people, as CSV or as JSON. Exit 1 where a
 * finding is a warning, so that cron can tell a morning with something to look at from the others.
 */
#include "alloc.h"
#include "ctl.h"
#include "report_ask.h"
#include "report_csv.h"
#include "report_table.h"
#include "show.h"
#include "text.h"
#include "usage.h"
#include "when.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_MAX 1000
#define KEYS_MIN_MAX 1000
#define DAY_MS 86400000
#define NAMES                                                                                 \
	"summary, stuck, escalated, duplicates, incidents, retention, timeouts, mismatches, " \
	"churn, budgets, capacity or daily"

static void
add_flags(struct flag_set *set)
{
	flag_add(set, "from", 0, "TIME", "begin of the window (default: 24 h before its end)");
	flag_add(set, "to", 0, "TIME", "its end (default: now)");
	flag_add(set, "since", 0, "DURATION", "instead of --from: so long before the end");
	flag_add(set, "tool", 0, "NAME", "of this tool only");
	flag_add(set, "namespace", 0, "NAME", "of this namespace only");
	flag_add(set, "limit", 0, "N", "at most so many rows (default: 100)");
	flag_add(set, "within", 0, "DURATION",
	    "duplicates: how far apart they may lie (default: the policy's window)");
	flag_add(set, "keys_min", 0, "N", "churn: so many keys of one run at least (default: 3)");
	flag_add(set, "csv", 0, NULL, "the rows as CSV on standard output");
	usage_add_deadline(set);
}

static int
misused(const struct ctl *ctl, const char *flag, const char *takes, const char *value)
{
	return show_failure(ctl, CTL_USAGE, "usage", "%s: flag \"--%s\" takes %s, not \"%s\"",
	    ctl->verb, flag, takes, value);
}

static int
read_duration(const struct ctl *ctl, struct flag_set *set, const char *flag, int64_t *ret_ms)
{
	const char *value = usage_value(set, flag);

	if (value && (!text_duration_ms(value, ret_ms) || *ret_ms == 0))
		return misused(ctl, flag, "a duration such as 90s, 12h or 7d", value);
	return CTL_OK;
}

static int
read_count(const struct ctl *ctl, struct flag_set *set, const char *flag, int64_t min, int64_t max,
    int64_t *ret)
{
	const char *value = usage_value(set, flag);
	char takes[64], spelt[FLAG_NAME_BYTES];

	if (value && !text_int(value, min, max, ret)) {
		snprintf(takes, sizeof takes, "a number from %lld to %lld", (long long)min,
		    (long long)max);
		return misused(ctl, flag_spell(flag, spelt), takes, value);
	}
	return CTL_OK;
}

static int
read_instant(const struct ctl *ctl, struct flag_set *set, const char *flag, int64_t *ret_ms)
{
	const char *value = usage_value(set, flag);

	if (value && !when_read(value, when_now_ms(), ret_ms))
		return misused(ctl, flag, WHEN_FORMS, value);
	return CTL_OK;
}

/* --from, --to, --since: what is left open is left to the daemon, whose clock is the ledger's. */
static int
read_window(const struct ctl *ctl, struct flag_set *set, struct report_query *query)
{
	int64_t since_ms = DAY_MS, end_ms;
	int code;

	if (usage_given(set, "from") && usage_given(set, "since"))
		return show_failure(ctl, CTL_USAGE, "usage",
		    "%s: --from and --since both say where the window begins", ctl->verb);
	if ((code = read_instant(ctl, set, "from", &query->from_ms)) ||
	    (code = read_instant(ctl, set, "to", &query->to_ms)) ||
	    (code = read_duration(ctl, set, "since", &since_ms)))
		return code;
	end_ms = query->to_ms >= 0 ? query->to_ms : when_now_ms();
	if (query->from_ms < 0 && (usage_given(set, "since") || query->to_ms >= 0))
		query->from_ms = end_ms > since_ms ? end_ms - since_ms : 0;
	if (query->from_ms >= end_ms)
		return show_failure(
		    ctl, CTL_USAGE, "usage", "%s: the window ends before it begins", ctl->verb);
	return CTL_OK;
}

static bool
is_utf8(const char *text)
{
	return !text || json_utf8(text, strlen(text));
}

static int
read_query(const struct ctl *ctl, struct flag_set *set, struct report_query *query)
{
	int code;

	*query = (struct report_query){.name = set->args[0],
	    .tool = usage_value(set, "tool"),
	    .ns = usage_value(set, "namespace"),
	    .from_ms = -1,
	    .to_ms = -1,
	    .limit = -1,
	    .within_ms = -1,
	    .keys_min = -1};
	if ((code = read_window(ctl, set, query)) ||
	    (code = read_count(ctl, set, "limit", 1, LIMIT_MAX, &query->limit)) ||
	    (code = read_duration(ctl, set, "within", &query->within_ms)) ||
	    (code = read_count(ctl, set, "keys_min", 2, KEYS_MIN_MAX, &query->keys_min)))
		return code;
	if (!usage_deadline(ctl, set, &query->deadline_ms))
		return CTL_USAGE;
	if (!usage_given(set, "deadline"))
		query->deadline_ms = REPORT_DEADLINE_MS;
	if (ctl->json && usage_given(set, "csv"))
		return show_failure(ctl, CTL_USAGE, "usage",
		    "%s: --json and --csv are two forms of one answer", ctl->verb);
	if (!is_utf8(query->name) || !is_utf8(query->tool) || !is_utf8(query->ns))
		return show_failure(
		    ctl, CTL_INPUT, "bad_input", "%s: a name is not UTF-8", ctl->verb);
	return CTL_OK;
}

static void
tell(const struct ctl *ctl, struct flag_set *set, const struct report *report)
{
	struct buf out = {0};
	const char *raw;
	size_t len;

	if (ctl->json) {
		raw = ask_raw(&report->answer, report->answer.result, &len);
		show_schema(ctl->verb, raw, len);
	} else if (usage_given(set, "csv")) {
		report_csv(&out, report);
		show_out(&out);
		fflush(stdout);
		buf_clear(&out);
		report_table_findings(&out, report);
		fwrite(out.data, 1, out.len, stderr);
	} else {
		report_table(report);
	}
	buf_free(&out);
}

int
ctl_report(struct ctl *ctl)
{
	struct flag_set set = {0};
	struct report_query query;
	struct report report = {0};
	int code;

	add_flags(&set);
	if ((code = usage_read(ctl, &set, "NAME", 0, 1)) != USAGE_GO_ON)
		return code;
	if (set.n_args == 0)
		return show_failure(ctl, CTL_USAGE, "usage", "report: which one? %s", NAMES);
	if ((code = read_query(ctl, &set, &query)) ||
	    (code = report_ask(ctl, &query, &report, NULL)))
		return code;
	tell(ctl, &set, &report);
	code = report.n_warnings > 0 ? CTL_FINDINGS : CTL_OK;
	report_free(&report);
	return code;
}
