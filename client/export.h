/*
 * A provider's own list of what it did, row by row: CSV with a header, or JSON lines. What stands
 * in which column is given; values are read strictly, and a row that cannot be read is told with
 * its line and the reason, never guessed at.
 */
#ifndef EFFECTD_EXPORT_H
#define EFFECTD_EXPORT_H

#include "digest.h"
#include "intake.h"

#include <stdbool.h>
#include <stdint.h>

#define EXPORT_SOURCES_MAX 8 /* columns that make one business key */
#define EXPORT_FIELDS_MAX 16

enum export_format {
	EXPORT_GUESS, /* JSON lines if the first byte is a brace */
	EXPORT_CSV,
	EXPORT_JSONL
};

/* Names of CSV columns; in JSON lines pointers, or names of members. */
struct export_source {
	char *names[EXPORT_SOURCES_MAX];
	size_t n; /* 0 = there is none */
};

/* A column whose value is compared with what the ledger keeps, or that chooses rows. */
struct export_field {
	char *name; /* what it is called by us */
	char *source;
	char *value;	/* that chooses */
	bool is_amount; /* a decimal number in units of 10^-minor_units */
};

struct export_plan {
	enum export_format format;
	char delimiter; /* of CSV */
	bool utc;	/* a time without offset is one of UTC */
	int minor_units;
	struct export_source provider_key, business_key, time, reference;
	struct export_field fields[EXPORT_FIELDS_MAX], where[EXPORT_FIELDS_MAX];
	size_t n_fields, n_where;
	const char *ns, *tool; /* whose business keys they are */
};

/* Frees the names. */
void export_plan_clear(struct export_plan *plan);

struct export_row {
	uint64_t line; /* where it begins, from 1 */
	bool has_id, has_time, has_business;
	struct uuid id;	      /* the provider key, where it is a UUID */
	struct uuid business; /* digest_business() of the business key's values */
	int64_t time_us;
	/* Borrowed until the next call; NULL = it has none. */
	const char *reference; /* what to call it: the reference, else the provider key, else the
				  business key, else its line */
	const char *values[EXPORT_FIELDS_MAX]; /* of an amount: decimal_spell()'s */
	const char *why;		       /* EXPORT_BAD, EXPORT_LOST */
};

enum export_news {
	EXPORT_ROW,
	EXPORT_SKIPPED, /* not one that was chosen */
	EXPORT_BAD,
	EXPORT_LOST, /* and nothing behind it can be read */
	EXPORT_END   /* or the intake failed */
};

struct export;

/* `plan` and `in` are borrowed. NULL: *ret_why is one owned line, such as a column that is not in
 * the header. */
struct export *export_open(const struct export_plan *plan, struct intake *in, char **ret_why);
enum export_news export_next(struct export *export, struct export_row *ret);
void export_close(struct export *export); /* NULL is fine */

#endif
