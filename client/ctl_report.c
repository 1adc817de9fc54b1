/*
 * report NAME: one of the daemon's reports as a table for people, as CSV or as JSON. Exit 1 where a
 * finding is a warning, so that cron can tell a morning with something to look at from the others.
 */
#include "alloc.h"
#include "ctl.h"
#include "daily.h"
#include "mail.h"
#include "page_html.h"
#include "page_text.h"
#include "report_ask.h"
#include "report_csv.h"
#include "report_table.h"
#include "show.h"
#include "text.h"
#include "usage.h"
#include "when.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	flag_add(set, "html", 0, NULL, "daily: the page as HTML");
	flag_add(set, "mail", 0, "ADDRESS", "daily: a mail to there, for `sendmail -t`");
	flag_add(set, "mail_from", 0, "ADDRESS", "its sender (default: you on this host)");
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

/* One form of the answer, and pages of `daily` only. */
static int
read_form(const struct ctl *ctl, struct flag_set *set)
{
	bool html = usage_given(set, "html"), mail = usage_given(set, "mail");
	static const char *const addresses[] = {"mail", "mail_from"};
	const char *value;
	char spelt[FLAG_NAME_BYTES];

	if (ctl->json + usage_given(set, "csv") + html + mail > 1)
		return show_failure(ctl, CTL_USAGE, "usage",
		    "%s: --json, --csv, --html and --mail are forms of one answer: take one",
		    ctl->verb);
	if ((html || mail) && strcmp(set->args[0], "daily") != 0)
		return show_failure(ctl, CTL_USAGE, "usage",
		    "%s: --html and --mail are of \"daily\" only", ctl->verb);
	if (usage_given(set, "mail_from") && !mail)
		return show_failure(
		    ctl, CTL_USAGE, "usage", "%s: --mail-from goes with --mail", ctl->verb);
	for (size_t i = 0; i < 2; i++) {
		value = usage_value(set, addresses[i]);
		if (value && !mail_address(value))
			return misused(ctl, flag_spell(addresses[i], spelt),
			    "one address such as ops@example.org", value);
	}
	return CTL_OK;
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
	if ((code = read_form(ctl, set)))
		return code;
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

/* ---- the daily page ---- */

/* Who sends it if nobody says: this user on this host; `root` of it where these make no address. */
static char *
sender(const char *host)
{
	const struct passwd *user = getpwuid(geteuid());
	char *address = xasprintf("%s@%s", user ? user->pw_name : "root", host);

	if (mail_address(address))
		return address;
	free(address);
	return xstrdup("root");
}

/* `effectd pay1: 3 things to look at, 30 Nov 2026`; owned. */
static char *
subject(const char *host, const struct page *page, int64_t date_ms)
{
	struct buf out = {0};

	buf_printf(&out, "effectd %s: %s, ", host, page->headline);
	when_add_day(&out, date_ms);
	buf_str(&out);
	return out.data;
}

static void
tell_mail(struct flag_set *set, const struct report_query *query, const struct page *page)
{
	struct buf text = {0}, html = {0}, out = {0};
	int64_t now_ms = when_now_ms();
	char host[256] = "", *from, *about;

	if (gethostname(host, sizeof host - 1) < 0 || !host[0])
		strcpy(host, "localhost");
	from =
	    usage_given(set, "mail_from") ? xstrdup(usage_value(set, "mail_from")) : sender(host);
	about = subject(host, page, query->to_ms >= 0 ? query->to_ms : now_ms);
	page_text(&text, page);
	page_html(&html, page);
	mail_add(&out,
	    &(struct mail){.to = usage_value(set, "mail"),
		.from = from,
		.subject = about,
		.host = host,
		.date_s = now_ms / 1000,
		.text = &text,
		.html = &html});
	show_out(&out);
	free(from);
	free(about);
	buf_free(&text);
	buf_free(&html);
	buf_free(&out);
}

static int
daily(struct ctl *ctl, struct flag_set *set, const struct report_query *query)
{
	struct buf out = {0};
	struct page page;
	int code = daily_page(ctl, query, &page);

	if (usage_given(set, "mail") || usage_given(set, "html"))
		show_set_utf8(true); /* they name their own character set */
	if (usage_given(set, "mail"))
		tell_mail(set, query, &page);
	else if (usage_given(set, "html"))
		page_html(&out, &page);
	else
		page_text(&out, &page);
	show_out(&out);
	buf_free(&out);
	page_free(&page);
	return code;
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
	if ((code = read_query(ctl, &set, &query)))
		return code;
	if (!strcmp(query.name, "daily") && !ctl->json && !usage_given(&set, "csv"))
		return daily(ctl, &set, &query);
	if ((code = report_ask(ctl, &query, &report, NULL)))
		return code;
	tell(ctl, &set, &report);
	code = report.n_warnings > 0 ? CTL_FINDINGS : CTL_OK;
	report_free(&report);
	return code;
}
