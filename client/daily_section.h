/*
 * How each report stands on the daily page: as a table or as items, in how many rows, and what is
 * said where it has none.
 */
#ifndef EFFECTD_DAILY_SECTION_H
#define EFFECTD_DAILY_SECTION_H

#include "page.h"
#include "report.h"

#define DAILY_REPORTS 11

/* Their names, in the order of the page; the first one is `summary`. */
extern const char *const daily_section_names[DAILY_REPORTS];
/* A report's title on the page. */
const char *daily_section_title(size_t which);

/* Appends the section of report `which`; `before` is the summary of the window before, or NULL. At
 * most rows_max rows of it are shown; 0: as many as are read on a page. */
void daily_section(struct page *page, size_t which, const struct report *report,
    const struct report *before, size_t rows_max);
/* `+31 %`, against `before`; NULL where that was of fewer than 20, and says nothing. Owned. */
char *daily_section_change(double now, double before);
/* `29 Nov 2026 08:00` of an instant of the wire; as it is where it is none. */
void daily_section_instant(struct buf *out, const char *instant);

#endif
