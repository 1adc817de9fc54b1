/* Finding the items' rows in an answer. A part of batch; pure. */
#ifndef EFFECTD_BATCH_ROW_H
#define EFFECTD_BATCH_ROW_H

#include "batch.h"

#define BATCH_ROW_NONE -1
#define BATCH_ROW_TWICE -2

/* The row of ordinal i into ret_row[i], i = 1 .. n (ret_row[0] is not used); rows without an answer
 * do not count. */
void batch_row_index(const PGresult *result, unsigned n, int *ret_row);

#endif
