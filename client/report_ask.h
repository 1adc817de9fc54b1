/*
 * Asking the daemon for a report: from flags to params, and from an answer to a report.
 */
#ifndef EFFECTD_REPORT_ASK_H
#define EFFECTD_REPORT_ASK_H

#include "report.h"

#include <stdint.h>

/* A report of a million effects takes seconds; the statement's own limit is 30 s. */
#define REPORT_DEADLINE_MS 60000

/* What is asked. Texts are borrowed; NULL and negative: not given. */
struct report_query {
	const char *name, *tool, *ns;
	int64_t from_ms, to_ms; /* since the Unix epoch */
	int64_t limit, within_ms, keys_min;
	int64_t deadline_ms; /* from now */
};

/*
 * Asks once, and again only where the daemon was busy with another report. CTL_OK: `ret` is to be
 * freed. Else the exit code; the error is told, or, where ret_why is not NULL, one owned line
 * there, which is not escaped.
 */
int report_ask(
    const struct ctl *ctl, const struct report_query *query, struct report *ret, char **ret_why);

#endif
