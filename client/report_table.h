/*
 * A report for people at a terminal: a title, a table that fits, and the findings with what to
 * type.
 */
#ifndef EFFECTD_REPORT_TABLE_H
#define EFFECTD_REPORT_TABLE_H

#include "finding.h"

/* Prints the report to stdout. */
void report_table(const struct report *report);
/* The findings of a report, and what its counts lack, as report_table() has them below the table,
 * appended to `out` and safe for a terminal. */
void report_table_findings(struct buf *out, const struct report *report);

#endif
