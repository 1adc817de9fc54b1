/*
 * The daily page: every report asked for by itself, and what they say in the order in which a
 * person should read it.
 */
#ifndef EFFECTD_DAILY_H
#define EFFECTD_DAILY_H

#include "page.h"
#include "report_ask.h"

/*
 * Asks for the reports of the query's window, tool and namespace (its name does not matter; `limit`
 * is how many rows a section shows, if it is not negative), and fills the page, which is to be
 * freed. Returns CTL_OK, CTL_FINDINGS where there is a warning, or the exit code of the first
 * report that could not be had; the page then says so in its place and has the others.
 */
int daily_page(const struct ctl *ctl, const struct report_query *query, struct page *ret);

#endif
