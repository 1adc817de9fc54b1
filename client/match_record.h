/* Rows and effects as bytes that can be sorted and come back; for the parts of match only. */
#ifndef EFFECTD_MATCH_RECORD_H
#define EFFECTD_MATCH_RECORD_H

#include "buf.h"
#include "match.h"

/* Parts of a record's key: as bytes whose order is theirs. */
void match_record_add_i64(struct buf *out, int64_t value);

/*
 * Where a row stands among those of one id: by its time, and by what it is called, so that the
 * order of rows is that of the provider's books and not that of a file. MATCH_RECORD_PLACE_BYTES.
 */
#define MATCH_RECORD_PLACE_BYTES 24
void match_record_add_place(struct buf *out, int64_t time_us, const struct export_row *row);

/* With the first n values: of the export's fields, of what is compared. */
void match_record_add_row(struct buf *out, const struct export_row *row, size_t n_fields);
void match_record_add_effect(struct buf *out, const struct match_effect *effect, size_t n_compare);
/* Read from *at, which moves; their texts are borrowed from there. */
void match_record_row(const char **at, struct export_row *ret, size_t n_fields);
void match_record_effect(const char **at, struct match_effect *ret, size_t n_compare);

#endif
