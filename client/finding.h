/*
 * Findings of one or of many reports, in the order in which a person should look at them.
 */
#ifndef EFFECTD_FINDING_H
#define EFFECTD_FINDING_H

#include "report.h"

/* How many of one kind are told one by one. */
#define FINDING_ALIKE_MAX 5

/* Findings that the reports own; the list itself is the caller's to free. */
struct finding_list {
	const struct report_finding **items;
	size_t n, n_warnings;
};

/* Appends those of a report. */
void finding_take(struct finding_list *list, const struct report *report);
/* Warnings first, then by how much is at stake (money twice before a slow table), those of one
 * report and code together, else as they came. */
void finding_sort(struct finding_list *list);
/* How many from `at` on are of one kind: the same level, report and code. */
size_t finding_alike(const struct finding_list *list, size_t at);
/* `2 warnings, 1 piece of advice`; nothing if there are none. */
void finding_count(struct buf *out, size_t n_warnings, size_t n_advice);
/* Whose it is: the tool, behind its namespace if that is not the default one. Appends what it is
 * not escaped. */
void finding_whose(struct buf *out, const struct report_finding *finding);

#endif
