/*
 * Values for libpq in PostgreSQL's binary format: scalars and one-dimensional arrays. Pure; knows
 * no effects and no connection. Binary because it needs no escaping (a key may hold anything) and
 * costs the server no parsing.
 */
#ifndef EFFECTD_PGARRAY_H
#define EFFECTD_PGARRAY_H

#include "buf.h"
#include "digest.h"

#include <stdbool.h>
#include <stdint.h>

enum pgtype {
	PGTYPE_BOOL,
	PGTYPE_INT4,
	PGTYPE_INT8,
	PGTYPE_TEXT,
	PGTYPE_UUID,
	PGTYPE_BYTEA,
	PGTYPE_TIMESTAMPTZ,
	/* a whole array as one value: `text` is what pgarray_encode() made */
	PGTYPE_INT4_ARRAY,
	PGTYPE_INT8_ARRAY,
	PGTYPE_TEXT_ARRAY,
	PGTYPE_TIMESTAMPTZ_ARRAY
};

/*
 * One value; which member of the union counts is told by the column's pgtype. Text and bytea are
 * borrowed.
 */
struct pgvalue {
	bool null;
	union {
		bool b;
		int32_t i4;
		int64_t i8;
		int64_t unix_us; /* PGTYPE_TIMESTAMPTZ */
		struct uuid uuid;
		struct {
			const char *p;
			uint32_t n;
		} text;
	};
};

static inline struct pgvalue
pg_null(void)
{
	return (struct pgvalue){.null = true};
}
static inline struct pgvalue
pg_bool(bool b)
{
	return (struct pgvalue){.b = b};
}
static inline struct pgvalue
pg_int4(int32_t v)
{
	return (struct pgvalue){.i4 = v};
}
static inline struct pgvalue
pg_int8(int64_t v)
{
	return (struct pgvalue){.i8 = v};
}
/* INT64_MAX and INT64_MIN are infinity and -infinity; what PostgreSQL cannot hold saturates. */
static inline struct pgvalue
pg_instant(int64_t unix_us)
{
	return (struct pgvalue){.unix_us = unix_us};
}
static inline struct pgvalue
pg_uuid(const struct uuid *u)
{
	if (!u)
		return pg_null();
	return (struct pgvalue){.uuid = *u};
}
struct pgvalue pg_text(const char *text);	       /* NULL = null */
struct pgvalue pg_textn(const char *text, size_t len); /* NULL = null; also for bytea */

uint32_t pgtype_oid(enum pgtype type);
uint32_t pgtype_array_oid(enum pgtype type);
/* Appends the bytes of one value, no length in front. Never null: that is a NULL parameter. */
void pgarray_scalar(struct buf *out, enum pgtype type, const struct pgvalue *v);
/*
 * Appends one array (lower bound 1). Element i is read by get(arg, i), once each and in order: an
 * array is built without a copy of the column. n may be 0.
 */
void pgarray_encode(struct buf *out, enum pgtype type, unsigned n,
    struct pgvalue (*get)(void *arg, unsigned i), void *arg);

/* Decoding of binary results; data as of PQgetvalue, of at least the type's length. */
int32_t pg_read_int4(const char *data);
int64_t pg_read_int8(const char *data);
int64_t pg_read_unix_us(const char *data); /* timestamptz; infinity saturates */
bool pg_read_bool(const char *data);

#endif
