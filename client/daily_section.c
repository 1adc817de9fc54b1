/*
 * The sections of the daily page. Promise: a column that a daemon does not tell, or tells
 * otherwise, is left out, and the rest of the row stands. Owns nothing beyond a call.
 */
#include "daily_section.h"

#include "alloc.h"
#include "report_value.h"
#include "text.h"
#include "when.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A column of a section's table: which columns of the report stand in it and below it. */
struct view_column {
	struct page_column head;
	const char *value, *under;
	const char *first; /* of a histogram, up to `value` */
};

/*
 * An item's texts are templates: parts between bars, each left out where a column in braces has
 * nothing to say. A table has columns instead.
 */
struct view {
	const char *title;
	const char *none; /* the one line of an empty section */
	const char *key;  /* column */
	const char *text; /* template */
	const struct view_column *columns;
	size_t n_columns;
};

#define CHANGE_OF_MIN 20 /* of fewer, a change says nothing, as no rate does */
#define ITEMS_MAX 5
#define ROWS_MAX 12
#define TOOLS_MAX 40
#define SHARE_MAX_MIN 0.2 /* what a whole bar is, where no share is larger */
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct view_column timeouts[] = {
    {{"Tool", NULL, false}, "tool", NULL, NULL},
    {{"Calls", NULL, true}, "n", NULL, NULL},
    {{"99 % within", "half within", true}, "p99_ms", "p50_ms", NULL},
    {{"Lease", "lapsed", true}, "lease_ms", "lapsed", NULL},
    {{"Gave up", "after", true}, "gave_up", "gave_up_p50_ms", NULL},
};
static const struct view_column retention[] = {
    {{"Tool", NULL, false}, "tool", NULL, NULL},
    {{"Remembers", "oldest repeat", true}, "keep_key_ms", "oldest_ms", NULL},
    {{"Repeats", NULL, true}, "n", NULL, NULL},
    {{"Ages", NULL, false}, "over_30d", NULL, "under_1m"},
    {{"Run again", "on disk", true}, "reruns", "bytes", NULL},
};
static const struct view_column budgets[] = {
    {{"Tool", NULL, false}, "tool", NULL, NULL},
    {{"Turns", "spent", true}, "turns", "turns_spent", NULL},
    {{"Refused", NULL, true}, "refused", NULL, NULL},
    {{"Most grants", "most asks", true}, "grants_max", "asks_max", NULL},
    {{"No attempt left", NULL, true}, "attempts_spent", NULL, NULL},
};
static const struct view_column capacity[] = {
    {{"What", "of", false}, "what", "tool", NULL},
    {{"Amount", NULL, true}, "value", NULL, NULL},
    {{"Note", NULL, false}, "note", NULL, NULL},
};

const char *const daily_section_names[DAILY_REPORTS] = {"summary", "stuck", "escalated",
    "duplicates", "incidents", "retention", "timeouts", "mismatches", "churn", "budgets",
    "capacity"};

static const struct view views[DAILY_REPORTS] = {
    {"Calls", "no tool was called", NULL, NULL, NULL, 0},
    {"Stuck", "nothing is stuck", "key",
	"{state} for {age_ms}|attempt {attempt}|owner {owner}|run {run}|last probe: "
	"{last_probe}|next "
	"comes: {next_step}",
	NULL, 0},
    {"Escalated", "nothing waits for a person", "key",
	"waits for {age_ms}|attempt {attempt}|owner {owner}|run {run}|last probe: {last_probe}|"
	"{reason}",
	NULL, 0},
    {"Done twice", "no business duplicate", "key",
	"claimed {claimed_at}|{gap_ms} after its twin|twin {twin_key}|{how}|owner "
	"{owner}|deliberate: {again}",
	NULL, 0},
    {"Incidents", "nothing contradicts the books", "key",
	"{kind} of attempt {attempt}, {noted_at}|by {by}|now {state}|{reason}", NULL, 0},
    {"Memory", "no repeat was caught, nothing is kept", NULL, NULL, retention, COUNT(retention)},
    {"Times", "no call was completed", NULL, NULL, timeouts, COUNT(timeouts)},
    {"Mismatches", "no key came with other arguments", NULL,
	"{n} calls of {effects} effects|differ in {fields}|last {last_at}|such as {key}", NULL, 0},
    {"Churn", "no run used many keys for one thing", NULL,
	"{n_keys} keys for {business}|{granted} granted|run {run}|last {last_at}", NULL, 0},
    {"Budgets", "no budget was asked for", NULL, NULL, budgets, COUNT(budgets)},
    {"Capacity", "nothing is known", NULL, NULL, capacity, COUNT(capacity)},
};

const char *
daily_section_title(size_t which)
{
	return views[which].title;
}

void
daily_section_instant(struct buf *out, const char *instant)
{
	int64_t us;

	if (text_instant(instant, strlen(instant), false, &us))
		when_add_minute(out, us / 1000);
	else
		buf_add_str(out, instant);
}

char *
daily_section_change(double now, double before)
{
	double percent;

	if (before < CHANGE_OF_MIN)
		return NULL;
	percent = (now - before) / before * 100;
	if (percent >= 1000)
		return xasprintf("x %.0f", now / before);
	return xasprintf("%s%.0f %%",
	    percent >= 0.5	 ? "+"
		: percent > -0.5 ? "+-"
				 : "",
	    percent < 0.5 && percent > -0.5 ? 0 : percent);
}

/* Appends a cell's value for people; false: it says nothing. */
static bool
add_value(struct buf *out, const struct report *report, size_t row, const char *column)
{
	size_t at, start = out->len;
	char *text;

	if (!report_column(report, column, &at))
		return false;
	text = report->columns[at].unit == REPORT_AT ? report_text(report, row, column) : NULL;
	if (text)
		daily_section_instant(out, text);
	else
		report_value(out, report, row, at);
	free(text);
	return out->len > start;
}

static char *
value(const struct report *report, size_t row, const char *column)
{
	struct buf out = {0};

	if (!column || !add_value(&out, report, row, column)) {
		buf_free(&out);
		return NULL;
	}
	buf_str(&out);
	return out.data;
}

/* One part of a template; false: a column in it says nothing. */
static bool
add_part(struct buf *out, const struct report *report, size_t row, const char *part, size_t len)
{
	const char *end = part + len, *close;
	char name[64];

	while (part < end) {
		if (*part != '{') {
			buf_add_char(out, *part++);
			continue;
		}
		close = strchr(part, '}');
		assert(close && close < end && (size_t)(close - part) < sizeof name);
		memcpy(name, part + 1, (size_t)(close - part) - 1);
		name[close - part - 1] = '\0';
		if (!add_value(out, report, row, name))
			return false;
		part = close + 1;
	}
	return true;
}

static char *
fill_in(const struct report *report, size_t row, const char *template)
{
	struct buf out = {0};
	size_t len, start;

	for (; *template; template += len + (template[len] == '|')) {
		len = strcspn(template, "|");
		start = out.len;
		if (out.len > 0)
			buf_add_str(&out, ", ");
		if (!add_part(&out, report, row, template, len))
			out.len = start;
	}
	buf_str(&out);
	return out.data;
}

/* The tool of a row, behind its namespace where that is not the default one. Owned. */
static char *
whose(const struct report *report, size_t row)
{
	char *ns = report_text(report, row, "namespace"), *tool = report_text(report, row, "tool"),
	     *text;

	text = ns && *ns && strcmp(ns, "default") != 0 ? xasprintf("%s %s", ns, tool ? tool : "")
						       : xstrdup(tool ? tool : "");
	free(ns);
	free(tool);
	return text;
}

static void
add_items(struct page *page, const struct view *view, const struct report *report, size_t n)
{
	for (size_t row = 0; row < n; row++) {
		struct page_block *item = page_add(page, PAGE_ITEM);

		item->whose = whose(report, row);
		item->key = view->key ? report_text(report, row, view->key) : NULL;
		item->text = fill_in(report, row, view->text);
		item->more = report_text(report, row, "effect");
	}
}

static void
fill_bars(struct page_cell *cell, const struct report *report, size_t row, const char *first,
    const char *last)
{
	size_t from, to;

	if (!report_column(report, first, &from) || !report_column(report, last, &to))
		return;
	for (size_t i = from; i <= to && cell->n_bars < PAGE_BARS_MAX; i++) {
		cell->bars[cell->n_bars] = 0;
		(void)!report_number(
		    report, row, report->columns[i].name, &cell->bars[cell->n_bars]);
		cell->n_bars++;
	}
}

static void
fill_cell(struct page_cell *cell, const struct view_column *column, const struct report *report,
    size_t row)
{
	if (column->first)
		fill_bars(cell, report, row, column->first, column->value);
	else if (!strcmp(column->value, "tool"))
		cell->text = whose(report, row);
	else
		cell->text = value(report, row, column->value);
	cell->under = value(report, row, column->under);
}

static void
add_rows(struct page *page, const struct view *view, const struct report *report, size_t n)
{
	struct page_block *table = page_add(page, PAGE_TABLE);
	struct page_cell *cells;

	table->n_columns = view->n_columns;
	for (size_t i = 0; i < view->n_columns; i++)
		table->columns[i] = view->columns[i].head;
	for (size_t row = 0; row < n; row++) {
		cells = page_row(table);
		for (size_t i = 0; i < view->n_columns; i++)
			fill_cell(&cells[i], &view->columns[i], report, row);
	}
}

/* ---- the summary, against the day before ---- */

static const struct page_column summary[] = {{"Tool", NULL, false}, {"Calls", "change", true},
    {"Repeats", "before", true}, {"Unknown", "busy", true}, {"Failed", "mismatch", true}};

/* The row of the same tool in the report before; false: it was not called. */
static bool
find_before(const struct report *before, const struct report *report, size_t row, size_t *ret_row)
{
	char *name = whose(report, row), *other;
	bool found = false;

	for (size_t i = 0; before && i < before->n_rows && !found; i++) {
		other = whose(before, i);
		found = !strcmp(name, other);
		if (found)
			*ret_row = i;
		free(other);
	}
	free(name);
	return found;
}

/* Two counts, one below the other. */
static void
fill_counts(struct page_cell *cell, const struct report *report, size_t row, const char *column,
    const char *under)
{
	double n;

	cell->text = value(report, row, column);
	cell->under = value(report, row, under);
	if (report_number(report, row, column, &n) && n == 0)
		cell->tone = PAGE_MUTED;
}

static void
fill_summary(struct page_cell *cells, const struct report *report, size_t row,
    const struct report *before, double share_max)
{
	double calls = 0, calls_before = 0, share;
	size_t row_before = 0;

	cells[0].text = whose(report, row);
	cells[1].text = value(report, row, "calls");
	(void)!report_number(report, row, "calls", &calls);
	if (find_before(before, report, row, &row_before)) {
		(void)!report_number(before, row_before, "calls", &calls_before);
		cells[1].under = daily_section_change(calls, calls_before);
	} else if (before && before->n == (int64_t)before->n_rows) {
		cells[1].under = xstrdup("new");
	}
	cells[2].text = value(report, row, "dedup_rate");
	cells[2].under = value(report, row, "dedup_rate_before");
	if (report_number(report, row, "dedup_rate", &share))
		cells[2].share = share / share_max;
	fill_counts(&cells[3], report, row, "unknown", "busy");
	fill_counts(&cells[4], report, row, "failed", "mismatch");
}

static void
add_summary(struct page *page, const struct report *report, const struct report *before, size_t n)
{
	struct page_block *table = page_add(page, PAGE_TABLE);
	double share, share_max = SHARE_MAX_MIN;

	table->n_columns = COUNT(summary);
	memcpy(table->columns, summary, sizeof summary);
	for (size_t row = 0; row < n; row++)
		if (report_number(report, row, "dedup_rate", &share) && share > share_max)
			share_max = share;
	for (size_t row = 0; row < n; row++)
		fill_summary(page_row(table), report, row, before, share_max);
}

void
daily_section(struct page *page, size_t which, const struct report *report,
    const struct report *before, size_t rows_max)
{
	const struct view *view = &views[which];
	struct buf more = {0};
	size_t n;

	if (rows_max == 0)
		rows_max = which == 0 ? TOOLS_MAX : view->text ? ITEMS_MAX : ROWS_MAX;
	n = report->n_rows < rows_max ? report->n_rows : rows_max;
	if (report->n_rows == 0) {
		page_section(page, PAGE_MUTED, view->title, view->none);
		return;
	}
	if (view->text)
		report_value_int(&more, report->n);
	page_section(page, PAGE_PLAIN, view->title, view->text ? buf_str(&more) : NULL);
	if (which == 0)
		add_summary(page, report, before, n);
	else if (view->text)
		add_items(page, view, report, n);
	else
		add_rows(page, view, report, n);
	if (report->n > (int64_t)n) {
		buf_clear(&more);
		report_value_int(&more, report->n - (int64_t)n);
		page_line(page, PAGE_MUTED, "and %s more: effectctl report %s", buf_str(&more),
		    daily_section_names[which]);
	}
	buf_free(&more);
}
