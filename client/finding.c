/*
 * The order of findings. Promise: a flood of one kind hides no other kind. Owns the list, not what
 * stands in it.
 */
#include "finding.h"

#include "alloc.h"

#include <stdlib.h>
#include <string.h>

void
finding_take(struct finding_list *list, const struct report *report)
{
	size_t n = list->n + report->n_findings;

	if (report->n_findings == 0)
		return;
	list->items = xrealloc(list->items, n * sizeof *list->items);
	for (size_t i = 0; i < report->n_findings; i++)
		list->items[list->n + i] = &report->findings[i];
	list->n = n;
	list->n_warnings += report->n_warnings;
}

/* What was done twice, what nobody knows, what will be done twice, what is slow, what is full. */
static int
weight(const char *report)
{
	static const char *const order[] = {"incidents", "duplicates", "escalated", "stuck",
	    "retention", "mismatches", "churn", "timeouts", "summary", "budgets", "capacity"};
	size_t i;

	for (i = 0; i < sizeof order / sizeof *order; i++)
		if (report && !strcmp(report, order[i]))
			break;
	return (int)i;
}

static int
compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int
compare(const struct report_finding *a, const struct report_finding *b)
{
	if (a->warning != b->warning)
		return a->warning ? -1 : 1;
	if (weight(a->report) != weight(b->report))
		return weight(a->report) - weight(b->report);
	if (compare_text(a->report, b->report))
		return compare_text(a->report, b->report);
	return compare_text(a->code, b->code);
}

/* A merge sort: qsort() may turn equals around. */
static void
sort(const struct report_finding **items, const struct report_finding **spare, size_t n)
{
	size_t half = n / 2, i = 0, j = half, k = 0;

	if (n < 2)
		return;
	sort(items, spare, half);
	sort(items + half, spare, n - half);
	while (i < half && j < n)
		spare[k++] = compare(items[j], items[i]) < 0 ? items[j++] : items[i++];
	while (i < half)
		spare[k++] = items[i++];
	memcpy(items, spare, k * sizeof *items);
}

void
finding_sort(struct finding_list *list)
{
	const struct report_finding **spare = xcalloc(list->n + 1, sizeof *spare);

	sort(list->items, spare, list->n);
	free(spare);
}

size_t
finding_alike(const struct finding_list *list, size_t at)
{
	size_t end = at + 1;

	while (end < list->n && !compare(list->items[at], list->items[end]))
		end++;
	return end - at;
}

void
finding_count(struct buf *out, size_t n_warnings, size_t n_advice)
{
	if (n_warnings > 0)
		buf_printf(out, "%zu warning%s", n_warnings, n_warnings == 1 ? "" : "s");
	if (n_warnings > 0 && n_advice > 0)
		buf_add_str(out, ", ");
	if (n_advice > 0)
		buf_printf(out, "%zu piece%s of advice", n_advice, n_advice == 1 ? "" : "s");
}

void
finding_whose(struct buf *out, const struct report_finding *f)
{
	if (f->ns && *f->ns && strcmp(f->ns, "default") != 0) {
		buf_add_str(out, f->ns);
		buf_add_str(out, f->tool && *f->tool ? " " : "");
	}
	if (f->tool)
		buf_add_str(out, f->tool);
}
