/* From the items of one call to what libpq sends. A part of batch. */
#ifndef EFFECTD_BATCH_BUILD_H
#define EFFECTD_BATCH_BUILD_H

#include "batch.h"
#include "pgconn.h"

/*
 * Fills `ret` (two statements) for n items of `statement` and returns how many are used. What it
 * points to is this file's and valid until the next call.
 */
unsigned batch_build(struct pgconn_statement *ret, const struct batch_statement *statement,
    struct batch_item *const *items, unsigned n, int64_t db_now_us);
void batch_build_free(void);

#endif
