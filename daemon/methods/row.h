/*
 * A row of the ledger as get and list tell it, and an incident as list does.
 */
#ifndef EFFECTD_ROW_H
#define EFFECTD_ROW_H

#include "batch.h"
#include "buf.h"

/* Appends one object; with_result: result, kept and events too (get). Never a token. */
void row_object(struct buf *out, const struct batch_row *row, bool with_result);

void row_incident(struct buf *out, const struct batch_row *row);

#endif
