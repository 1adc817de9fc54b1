/*
 * The cells of a report as people read them: by their column's unit. Pure.
 */
#ifndef EFFECTD_REPORT_VALUE_H
#define EFFECTD_REPORT_VALUE_H

#include "report.h"

/*
 * Appends a cell's text, which is a stranger's and not escaped: `1.2 s`, `3.4 %`, `12 MiB`,
 * `2026-11-30 08:15:02Z`, `1,840`. A rate that is absent is a hyphen, with the row's n behind it
 * where it has one; any other cell that says nothing is nothing.
 */
void report_value(struct buf *out, const struct report *report, size_t row, size_t column);
/* The numbers of the columns [first, last] of a row as a histogram (bars.h). */
void report_value_bars(struct buf *out, const struct report *report, size_t row, size_t first,
    size_t last, bool blocks);
/* Do its values stand to the right, as numbers do? */
bool report_value_right(const struct report *report, size_t column);

void report_value_ms(struct buf *out, double ms);
/* A whole number, in groups of three digits. */
void report_value_int(struct buf *out, int64_t n);
/* An instant of the wire, to the second; as it is where it is none. */
void report_value_at(struct buf *out, const char *instant);

#endif
