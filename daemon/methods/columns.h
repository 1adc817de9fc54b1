/*
 * Columns of a row as members of a result: what is null is left out, unless it says otherwise. Pure
 * but for the row.
 */
#ifndef EFFECTD_COLUMNS_H
#define EFFECTD_COLUMNS_H

#include "batch.h"
#include "buf.h"

void columns_text(struct buf *out, const char *name, const struct batch_row *row, int column);
void columns_text_or_null(
    struct buf *out, const char *name, const struct batch_row *row, int column);
void columns_instant(struct buf *out, const char *name, const struct batch_row *row, int column);
void columns_instant_or_null(
    struct buf *out, const char *name, const struct batch_row *row, int column);
void columns_int4(struct buf *out, const char *name, const struct batch_row *row, int column);
void columns_int8(struct buf *out, const char *name, const struct batch_row *row, int column);
void columns_bool(struct buf *out, const char *name, const struct batch_row *row, int column);
void columns_bytea(
    struct buf *out, const char *name, const struct batch_row *row, int column); /* as hex */
void columns_uuid(struct buf *out, const char *name, const struct batch_row *row, int column);
/* 16 bytes that are no UUID: 32 hex digits. */
void columns_hash(struct buf *out, const char *name, const struct batch_row *row, int column);
/*
 * JSON text as it stands. A line end in it (only white space can hold one; an application's own SQL
 * may have written it) becomes a blank, so that the answer stays one line.
 */
void columns_json(struct buf *out, const char *name, const struct batch_row *row, int column);
/* The same of a text that comes from elsewhere. */
void columns_add_json(struct buf *out, const char *name, const char *text, size_t len);
/* `result` by its state: verbatim; absent when it was omitted or dropped; null where the tool gave
 * none. */
void columns_result(
    struct buf *out, const struct batch_row *row, int result_column, int state_column);
/* A UUID of ours; 16 bytes of ours that are no UUID. */
void columns_add_uuid(struct buf *out, const char *name, const struct uuid *u);
void columns_add_hash(struct buf *out, const char *name, const struct uuid *u);

#endif
