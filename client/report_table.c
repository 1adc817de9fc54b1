/*
 * Which columns of a report a terminal has room for, and what stands around its table. Promise:
 * nothing of a cell or a finding moves a cursor, and what is left out is named. Owns no memory.
 */
#include "report_table.h"

#include "alloc.h"
#include "command.h"
#include "report_value.h"
#include "show.h"
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_COLUMNS_MIN 14 /* a key cut to less tells nothing */
#define NAME_BYTES_MAX 48

/* What is kept longest where there is no room for all columns, by report; the others, from the
 * left. */
static const struct {
	const char *report, *first;
} kept[] = {
    {"summary", "tool calls runs replays dedup_rate busy unknown escalated failed mismatch"},
    {"stuck", "tool key age_ms state effect next_step last_probe owner"},
    {"escalated", "tool key age_ms effect owner reason"},
    {"duplicates", "tool key gap_ms effect twin how twin_key claimed_at"},
    {"incidents", "tool key kind effect noted_at reason"},
    {"mismatches", "tool fields n effects effects_rate effect"},
    {"churn", "tool n_keys granted business run effect"},
    {"budgets", "tool turns turns_spent refused grants_max asks_max attempts_spent"},
    {"timeouts", "tool n p50_ms p99_ms lease_ms lapsed gave_up"},
    {"retention", "tool keep_key_ms n oldest_ms under_1m reruns p99_ms bytes"},
    {"capacity", "what value tool note"},
};

struct layout {
	const struct report *report;
	char *cells[REPORT_COLUMNS_MAX]; /* a text of each cell in turn, NUL-separated; owned */
	char names[REPORT_COLUMNS_MAX][NAME_BYTES_MAX];
	size_t need[REPORT_COLUMNS_MAX]; /* screen columns; 0 = nothing to show */
	bool right[REPORT_COLUMNS_MAX], shown[REPORT_COLUMNS_MAX];
	bool has_ages; /* the columns from `under_1m` to `over_30d` are drawn in the first one */
	size_t ages_first, ages_last;
};

static bool
is_ages(const struct layout *l, size_t column)
{
	return l->has_ages && column == l->ages_first;
}

/* answer_p99_ms -> ANSWER P99; the value has its unit with it. */
static void
make_name(const char *name, enum report_unit unit, char ret[NAME_BYTES_MAX])
{
	size_t len = strlen(name), i;

	if (unit == REPORT_MS || unit == REPORT_AT)
		len -= 3;
	for (i = 0; i < len && i + 1 < NAME_BYTES_MAX; i++) {
		char c = name[i];

		ret[i] = c == '_' ? ' ' : c;
		if (c >= 'a' && c <= 'z')
			ret[i] = (char)(c - 'a' + 'A');
	}
	ret[i] = '\0';
}

/* Do all rows say the same here? */
static bool
is_constant(const struct report *report, size_t column)
{
	char *first = NULL, *text;
	bool same = true;

	for (size_t row = 0; row < report->n_rows && same; row++) {
		text = report_string(report, report_cell(report, row, column));
		same = text && (!first || !strcmp(first, text));
		if (!first)
			first = text;
		else
			free(text);
	}
	free(first);
	return same;
}

/* One column's texts and the room that they want. */
static void
measure(struct layout *l, size_t column)
{
	const struct report *report = l->report;
	const struct report_column *c = &report->columns[column];
	struct buf cells = {0}, cell = {0}, safe = {0};
	size_t widest = 0;

	for (size_t row = 0; row < report->n_rows; row++) {
		buf_clear(&cell);
		buf_clear(&safe);
		if (is_ages(l, column))
			report_value_bars(&cell, report, row, column, l->ages_last, show_is_utf8());
		else
			report_value(&cell, report, row, column);
		buf_add(&cells, buf_str(&cell), cell.len + 1);
		show_text(&safe, cell.data, cell.len);
		if (show_width(safe.data, safe.len) > widest)
			widest = show_width(safe.data, safe.len);
	}
	make_name(is_ages(l, column) ? "ages" : c->name, c->unit, l->names[column]);
	l->right[column] = !is_ages(l, column) && report_value_right(report, column);
	if (widest > 0 && strlen(l->names[column]) > widest)
		widest = strlen(l->names[column]);
	l->need[column] = widest;
	l->cells[column] = cells.data;
	buf_free(&cell);
	buf_free(&safe);
}

/* The least room with which a column is worth having. */
static size_t
least(const struct layout *l, size_t column)
{
	const struct report_column *c = &l->report->columns[column];
	bool whole = l->right[column] || c->unit != REPORT_PLAIN || !strcmp(c->name, "effect");

	return whole || l->need[column] < TEXT_COLUMNS_MIN ? l->need[column] : TEXT_COLUMNS_MIN;
}

static void
show_column(struct layout *l, size_t column, size_t *left)
{
	size_t room = least(l, column) + 1;

	if (l->shown[column] || l->need[column] == 0 || room > *left)
		return;
	l->shown[column] = true;
	*left -= room;
}

/* The columns of most use first, as long as there is room. */
static void
choose(struct layout *l)
{
	size_t left = table_terminal(), column, len;
	const char *word = "";

	left = left ? left + 1 : SIZE_MAX / 2;
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		if (!strcmp(kept[i].report, l->report->name))
			word = kept[i].first;
	for (; *word; word += len + (word[len] == ' ')) {
		char name[NAME_BYTES_MAX];

		len = strcspn(word, " ");
		snprintf(name, sizeof name, "%.*s", (int)len, word);
		if (report_column(l->report, name, &column))
			show_column(l, column, &left);
	}
	for (column = 0; column < l->report->n_columns; column++)
		show_column(l, column, &left);
}

/* Prints the chosen columns, in the wire's order; returns how many are left out. */
static size_t
print_table(const struct layout *l)
{
	struct table_column columns[REPORT_COLUMNS_MAX];
	const char *at[REPORT_COLUMNS_MAX];
	size_t n = 0, n_left_out = 0;
	struct table *table;

	for (size_t i = 0; i < l->report->n_columns; i++) {
		if (!l->shown[i]) {
			n_left_out += l->need[i] > 0;
			continue;
		}
		columns[n] = (struct table_column){.name = l->names[i],
		    .width = (double)least(l, i),
		    .fit = least(l, i) < l->need[i] ? TABLE_CUT : TABLE_WHOLE,
		    .right = l->right[i]};
		at[n++] = l->cells[i];
	}
	table = table_new(columns, n);
	for (size_t row = 0; n > 0 && row < l->report->n_rows; row++) {
		table_row(table);
		for (size_t i = 0; i < n; i++) {
			table_cell(table, i, at[i]);
			at[i] += strlen(at[i]) + 1;
		}
	}
	table_end(table);
	return n_left_out;
}

static void
add_at(struct buf *out, const char *instant)
{
	struct buf text = {0};

	report_value_at(&text, instant);
	show_text(out, text.data, text.len);
	buf_free(&text);
}

static void
add_rows(struct buf *out, const struct report *report)
{
	if (report->n > (int64_t)report->n_rows) {
		report_value_int(out, (int64_t)report->n_rows);
		buf_add_str(out, " of ");
	}
	report_value_int(out, report->n);
	buf_add_str(out, report->n == 1 ? " row" : " rows");
}

static void
print_title(const struct report *report, bool one_namespace)
{
	struct buf out = {0};
	char *ns;

	show_text(&out, report->name, strlen(report->name));
	buf_add_str(&out, ", ");
	add_at(&out, report->from);
	buf_add_str(&out, " to ");
	add_at(&out, report->to);
	if (one_namespace && (ns = report_text(report, 0, "namespace"))) {
		buf_add_str(&out, ", namespace ");
		show_text(&out, ns, strlen(ns));
		free(ns);
	}
	buf_add_str(&out, ": ");
	add_rows(&out, report);
	if (report->counted)
		buf_add_str(
		    &out, report->exact ? "; counts are exact" : "; counts are not complete");
	buf_add_char(&out, '\n');
	show_out(&out);
	fflush(stdout); /* the table has a way of its own */
	buf_free(&out);
}

static void
print_rest(const struct report *report, size_t n_left_out)
{
	struct buf out = {0};
	size_t column;

	if (report->n > (int64_t)report->n_rows)
		buf_printf(&out,
		    "The most important rows are shown: more by --limit (up to 1000), fewer by "
		    "--tool or --since.\n");
	if (report_column(report, "under_1m", &column))
		buf_add_str(&out,
		    "AGES of the repeats that were caught: under 1 m, 1 h, 1 d, 7 d, 30 d, over 30 "
		    "d.\n");
	if (n_left_out > 0)
		buf_printf(&out,
		    "No room for %zu column%s: a wider terminal, --csv or --json has %s.\n",
		    n_left_out, n_left_out == 1 ? "" : "s", n_left_out == 1 ? "it" : "them");
	report_table_findings(&out, report);
	show_out(&out);
	buf_free(&out);
}

void
report_table(const struct report *report)
{
	struct layout l = {.report = report};
	size_t ns, unit, n_left_out;
	bool one_namespace, has_unit;

	l.has_ages = report_column(report, "under_1m", &l.ages_first) &&
	    report_column(report, "over_30d", &l.ages_last) && l.ages_first < l.ages_last;
	has_unit = report_column(report, "unit", &unit) && report_column(report, "value", &unit);
	(void)!report_column(report, "unit", &unit);
	one_namespace = report_column(report, "namespace", &ns) && report->n_rows > 0 &&
	    is_constant(report, ns);
	print_title(report, one_namespace);
	for (size_t i = 0; i < report->n_columns; i++) {
		measure(&l, i);
		if (one_namespace && i == ns)
			l.need[i] = 0; /* the title has it */
		if (l.has_ages && i > l.ages_first && i <= l.ages_last)
			l.need[i] = 0; /* drawn in the first of them */
		if (has_unit && i == unit)
			l.need[i] = 0; /* the value has it */
	}
	choose(&l);
	n_left_out = print_table(&l);
	print_rest(report, n_left_out);
	for (size_t i = 0; i < report->n_columns; i++)
		free(l.cells[i]);
}

static void
add_finding(struct buf *out, const struct report_finding *f)
{
	struct buf whose = {0};

	buf_add_str(out, f->warning ? "warning: " : "advice: ");
	finding_whose(&whose, f);
	if (whose.len > 0) {
		show_text(out, whose.data, whose.len);
		buf_add_str(out, ": ");
	}
	show_text(out, f->text ? f->text : "", f->text ? strlen(f->text) : 0);
	if (f->code) {
		buf_add_str(out, " [");
		show_text(out, f->code, strlen(f->code));
		buf_add_char(out, ']');
	}
	buf_add_char(out, '\n');
	if (f->next && *f->next) {
		buf_add_str(out, "    ");
		command_add(out, f->next);
		buf_add_char(out, '\n');
	}
	buf_free(&whose);
}

static void
add_missing(struct buf *out, const struct report_missing *m)
{
	buf_add_str(out, "Not counted: what daemon ");
	show_text(out, m->instance ? m->instance : "?", m->instance ? strlen(m->instance) : 1);
	if (m->host) {
		buf_add_str(out, " on ");
		show_text(out, m->host, strlen(m->host));
	}
	buf_add_str(out, " was told in up to 10 s after ");
	add_at(out, m->after ? m->after : "an unknown time");
	buf_add_str(out, ", when it was killed.\n");
}

void
report_table_findings(struct buf *out, const struct report *report)
{
	struct finding_list list = {0};
	size_t alike;

	for (size_t i = 0; i < report->n_missing; i++)
		add_missing(out, &report->missing[i]);
	finding_take(&list, report);
	finding_sort(&list);
	if (list.n > 0) {
		buf_add_str(out, "\n");
		finding_count(out, list.n_warnings, list.n - list.n_warnings);
		buf_add_str(out, ":\n");
	}
	for (size_t i = 0; i < list.n; i += alike) {
		alike = finding_alike(&list, i);
		for (size_t j = 0; j < alike && j < FINDING_ALIKE_MAX; j++)
			add_finding(out, list.items[i + j]);
		if (alike > FINDING_ALIKE_MAX)
			buf_printf(out, "... and %zu more like these: --json has all.\n",
			    alike - FINDING_ALIKE_MAX);
	}
	free(list.items);
}
