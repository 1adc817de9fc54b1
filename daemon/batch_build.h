/* From the items of one call to what libpq sends. A part of batch. */
#ifndef EFFECTD_BATCH_BUILD_H
#define EFFECTD_BATCH_BUILD_H

#include "batch.h"
#include "pgconn.h"

#define BATCH_BUILD_MAX 3 /* statements of a call */

/*
 * Fills `ret` (BATCH_BUILD_MAX statements) for n items of `statement` and returns how many are
 * used. What it points to is this file's and valid until the next call. read_committed: the server
 * begins its transactions so by itself.
 */
unsigned batch_build(struct pgconn_statement *ret, const struct batch_statement *statement,
    struct batch_item *const *items, unsigned n, int64_t db_now_us, bool read_committed);
void batch_build_free(void);

#endif
