/*
 * The rows of a report as CSV.
 */
#ifndef EFFECTD_REPORT_CSV_H
#define EFFECTD_REPORT_CSV_H

#include "report.h"

/* Appends the columns' names and the rows: numbers, instants and units as the wire has them, a null
 * as an empty cell, arrays as JSON. */
void report_csv(struct buf *out, const struct report *report);

#endif
