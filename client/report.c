/*
 * The reader of reports. Promise: whatever shape comes, no cell is read that is not there, and a
 * finding of a level that is not known is one that a person should look at. Owns what it read.
 */
#include "report.h"

#include "alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t
first_of(const struct json_doc *doc, uint32_t list)
{
	return list && doc->nodes[list].type == JSON_ARRAY && doc->nodes[list].n_children ? list + 1
											  : 0;
}

char *
report_string(const struct report *report, uint32_t node)
{
	const struct json_doc *doc = &report->answer.doc;
	size_t len;
	char *text;

	if (!node || doc->nodes[node].type != JSON_STRING)
		return NULL;
	text = json_string(doc, node, &len);
	for (size_t i = 0; i < len; i++)
		if (!text[i])
			text[i] = '?';
	return text;
}

static char *
member_text(const struct report *report, uint32_t object, const char *name)
{
	return report_string(report, json_member(&report->answer.doc, object, name));
}

static enum report_unit
unit_of(const char *name)
{
	static const struct {
		const char *end;
		enum report_unit unit;
	} ends[] = {{"_ms", REPORT_MS}, {"_rate", REPORT_RATE}, {"_rate_before", REPORT_RATE},
	    {"_at", REPORT_AT}, {"_bytes", REPORT_BYTES}};
	size_t len = strlen(name), n;

	if (!strcmp(name, "bytes"))
		return REPORT_BYTES;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		n = strlen(ends[i].end);
		if (len >= n && !strcmp(name + len - n, ends[i].end))
			return ends[i].unit;
	}
	return REPORT_PLAIN;
}

static bool
read_columns(struct report *report)
{
	const struct json_doc *doc = &report->answer.doc;
	uint32_t list = json_member(doc, report->answer.result, "columns");
	char *name;

	for (uint32_t node = first_of(doc, list); node; node = doc->nodes[node].next) {
		if (report->n_columns == REPORT_COLUMNS_MAX ||
		    !(name = report_string(report, node)))
			return false;
		report->columns[report->n_columns++] =
		    (struct report_column){.name = name, .unit = unit_of(name)};
	}
	return report->n_columns > 0;
}

/* A row with fewer cells than columns has none in the rest; more of them have no name. */
static bool
read_rows(struct report *report)
{
	const struct json_doc *doc = &report->answer.doc;
	uint32_t list = json_member(doc, report->answer.result, "rows"), cell;
	size_t i;

	if (!list || doc->nodes[list].type != JSON_ARRAY)
		return false;
	report->cells = xcalloc(
	    (size_t)doc->nodes[list].n_children * report->n_columns + 1, sizeof *report->cells);
	for (uint32_t row = first_of(doc, list); row; row = doc->nodes[row].next) {
		if (doc->nodes[row].type != JSON_ARRAY)
			return false;
		cell = first_of(doc, row);
		for (i = 0; cell && i < report->n_columns; i++, cell = doc->nodes[cell].next)
			report->cells[report->n_rows * report->n_columns + i] = cell;
		report->n_rows++;
	}
	return true;
}

static void
read_finding(struct report *report, uint32_t node, struct report_finding *ret)
{
	char *level = member_text(report, node, "level");

	*ret = (struct report_finding){
	    .report = member_text(report, node, "report"),
	    .code = member_text(report, node, "code"),
	    .ns = member_text(report, node, "namespace"),
	    .tool = member_text(report, node, "tool"),
	    .effect = member_text(report, node, "effect"),
	    .text = member_text(report, node, "text"),
	    .next = member_text(report, node, "next"),
	    .warning = !level || strcmp(level, "advice") != 0,
	};
	report->n_warnings += ret->warning;
	free(level);
}

static void
read_findings(struct report *report)
{
	const struct json_doc *doc = &report->answer.doc;
	uint32_t list = json_member(doc, report->answer.result, "findings");
	uint32_t node = first_of(doc, list);

	if (!node)
		return;
	report->findings = xcalloc(doc->nodes[list].n_children, sizeof *report->findings);
	for (; node; node = doc->nodes[node].next)
		read_finding(report, node, &report->findings[report->n_findings++]);
}

static void
read_counts(struct report *report)
{
	const struct json_doc *doc = &report->answer.doc;
	uint32_t counts = json_member(doc, report->answer.result, "counts"), list, node;

	if (!counts || doc->nodes[counts].type != JSON_OBJECT)
		return;
	report->counted = true;
	report->exact = ask_true(&report->answer, counts, "exact");
	list = json_member(doc, counts, "missing");
	if (!(node = first_of(doc, list)))
		return;
	report->missing = xcalloc(doc->nodes[list].n_children, sizeof *report->missing);
	for (; node; node = doc->nodes[node].next)
		report->missing[report->n_missing++] =
		    (struct report_missing){.instance = member_text(report, node, "instance"),
			.host = member_text(report, node, "host"),
			.after = member_text(report, node, "after")};
}

bool
report_read(struct report *ret, struct ask_answer *take, const char **ret_why)
{
	*ret = (struct report){.answer = *take};
	*take = (struct ask_answer){0};
	ret->name = member_text(ret, ret->answer.result, "name");
	ret->from = member_text(ret, ret->answer.result, "from");
	ret->to = member_text(ret, ret->answer.result, "to");
	if (!ret->name || !ret->from || !ret->to)
		*ret_why = "it has no name or window";
	else if (!read_columns(ret))
		*ret_why = "its columns are none";
	else if (!read_rows(ret))
		*ret_why = "its rows are none";
	else {
		read_findings(ret);
		read_counts(ret);
		if (!ask_int(&ret->answer, ret->answer.result, "n", &ret->n) ||
		    ret->n < (int64_t)ret->n_rows)
			ret->n = (int64_t)ret->n_rows;
		return true;
	}
	return false;
}

static void
finding_free(struct report_finding *f)
{
	free(f->report);
	free(f->code);
	free(f->ns);
	free(f->tool);
	free(f->effect);
	free(f->text);
	free(f->next);
}

void
report_free(struct report *report)
{
	for (size_t i = 0; i < report->n_columns; i++)
		free(report->columns[i].name);
	for (size_t i = 0; i < report->n_findings; i++)
		finding_free(&report->findings[i]);
	for (size_t i = 0; i < report->n_missing; i++) {
		free(report->missing[i].instance);
		free(report->missing[i].host);
		free(report->missing[i].after);
	}
	free(report->findings);
	free(report->missing);
	free(report->cells);
	free(report->name);
	free(report->from);
	free(report->to);
	ask_answer_free(&report->answer);
	*report = (struct report){0};
}

uint32_t
report_cell(const struct report *report, size_t row, size_t column)
{
	uint32_t node = report->cells[row * report->n_columns + column];

	return node && report->answer.doc.nodes[node].type == JSON_NULL ? 0 : node;
}

bool
report_column(const struct report *report, const char *name, size_t *ret)
{
	for (size_t i = 0; i < report->n_columns; i++) {
		if (!strcmp(report->columns[i].name, name)) {
			*ret = i;
			return true;
		}
	}
	return false;
}

char *
report_text(const struct report *report, size_t row, const char *name)
{
	size_t column;

	return report_column(report, name, &column)
	    ? report_string(report, report_cell(report, row, column))
	    : NULL;
}

bool
report_number(const struct report *report, size_t row, const char *name, double *ret)
{
	size_t column, len;
	const char *raw;
	uint32_t node;
	double value;

	if (!report_column(report, name, &column) || !(node = report_cell(report, row, column)) ||
	    report->answer.doc.nodes[node].type != JSON_NUMBER)
		return false;
	raw = ask_raw(&report->answer, node, &len);
	value = json_double(raw, len);
	if (!isfinite(value))
		return false;
	*ret = value;
	return true;
}
