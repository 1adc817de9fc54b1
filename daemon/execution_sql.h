/* The statements of an execution, as libpq takes them. A part of execution. */
#ifndef EFFECTD_EXECUTION_SQL_H
#define EFFECTD_EXECUTION_SQL_H

#include "batch_build.h"
#include "execute_spec.h"

#define EXECUTION_SQL_MAX (BATCH_BUILD_MAX + 2) /* statements of a call */

/*
 * Each fills `ret` (EXECUTION_SQL_MAX statements) and returns how many are used. What they point to
 * is this file's, or the caller's, and valid until the next call here. The row of what claims, runs
 * and records is that of the call's answer.
 */
/* Begins the transaction, and calls effect.execute_begin by the item's columns. */
unsigned execution_sql_claim(
    struct pgconn_statement *ret, struct batch_item *item, int64_t timeout_ms);
/* The tool's statement, for sqlrow_read(), and the constraints that it deferred. */
unsigned execution_sql_run(
    struct pgconn_statement *ret, const struct execute_spec *spec, char *const *params);
/* Calls effect.execute_done by the item's columns, and commits. */
unsigned execution_sql_record(struct pgconn_statement *ret, struct batch_item *item);
void execution_sql_free(void);

#endif
