/*
 * Reading CSV as others write it (RFC 4180): quoted fields with delimiters, line ends and doubled
 * quotes in them, LF or CRLF, with a byte order mark or without. A record that breaks the rules is
 * told with its line, and the next one is read.
 */
#ifndef EFFECTD_CSVIN_H
#define EFFECTD_CSVIN_H

#include "buf.h"
#include "intake.h"

#define CSVIN_FIELDS_MAX 1024
#define CSVIN_RECORD_BYTES_MAX (1U << 20)

struct csvin {
	struct intake *in; /* borrowed */
	char delimiter;
	uint64_t line;	 /* of the record's first byte, from 1 */
	uint64_t n_ends; /* lines that have ended */
	/* The record: fields one after the other, a NUL behind each. */
	struct buf text;
	size_t n_fields;
	uint32_t starts[CSVIN_FIELDS_MAX + 1]; /* in text; one more than there are fields */
};

enum csvin_news {
	CSVIN_RECORD,
	CSVIN_BAD,  /* *ret_why says what is wrong with it: static */
	CSVIN_LOST, /* the same, and nobody can say where the next one begins */
	CSVIN_END   /* the end, or in->err */
};

/* `csvin` zeroed but for `in` and `delimiter`. Blank lines are no records. */
enum csvin_news csvin_next(struct csvin *csvin, const char **ret_why);
/* The i-th field of the record, NUL behind it, which it does not hold inside; valid until the next
 * call. */
const char *csvin_field(const struct csvin *csvin, size_t i, size_t *ret_len);
void csvin_free(struct csvin *csvin);

#endif
