/*
 * The sql probe: one query in a transaction that can write nothing. One row: landed, with that row
 * as its result; no row: absent; anything else is inconclusive.
 */
#ifndef EFFECTD_PROBE_SQL_H
#define EFFECTD_PROBE_SQL_H

#include "probe.h"

struct probe_sql;

/* As probe_start() and probe_cancel(). */
struct probe_sql *probe_sql_start(const struct probe_ask *ask,
    void (*done)(void *arg, const struct probe_answer *answer), void *arg, char **ret_why);
void probe_sql_cancel(struct probe_sql *probe);

#endif
