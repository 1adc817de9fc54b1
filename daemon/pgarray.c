/*
 * PostgreSQL's binary format, to and fro. All numbers are big-endian; an array is
 *
 *	int32 dimensions (0 if empty, else 1), int32 has nulls, uint32 element's oid,
 *	and per dimension int32 size, int32 lower bound,
 *	and per element int32 length (-1 = null), bytes
 *
 * Owns no memory: bytes go to the caller's buf, text stays the caller's.
 */
#include "pgarray.h"

#include <assert.h>
#include <string.h>

#define PG_EPOCH_UNIX_US INT64_C(946684800000000)   /* 2000-01-01 00:00 UTC */
#define PG_INSTANT_MIN INT64_C(-211813488000000000) /* 4714-11-24 BC: datatype/timestamp.h */

static const struct {
	uint32_t oid, array_oid;
	int32_t len; /* -1 = varies */
} types[] = {
    [PGTYPE_BOOL] = {16, 1000, 1},
    [PGTYPE_INT4] = {23, 1007, 4},
    [PGTYPE_INT8] = {20, 1016, 8},
    [PGTYPE_TEXT] = {25, 1009, -1},
    [PGTYPE_UUID] = {2950, 2951, 16},
    [PGTYPE_BYTEA] = {17, 1001, -1},
    [PGTYPE_TIMESTAMPTZ] = {1184, 1185, 8},
    [PGTYPE_INT4_ARRAY] = {1007, 0, -1},
    [PGTYPE_INT8_ARRAY] = {1016, 0, -1},
    [PGTYPE_TEXT_ARRAY] = {1009, 0, -1},
    [PGTYPE_TIMESTAMPTZ_ARRAY] = {1185, 0, -1},
};

struct pgvalue
pg_text(const char *text)
{
	return text ? pg_textn(text, strlen(text)) : pg_null();
}

struct pgvalue
pg_textn(const char *text, size_t len)
{
	assert(len <= INT32_MAX);
	if (!text)
		return pg_null();
	return (struct pgvalue){.text = {.p = text, .n = (uint32_t)len}};
}

uint32_t
pgtype_oid(enum pgtype type)
{
	return types[type].oid;
}

uint32_t
pgtype_array_oid(enum pgtype type)
{
	return types[type].array_oid;
}

static void
add_be32(struct buf *out, uint32_t v)
{
	uint8_t b[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};

	buf_add(out, b, sizeof(b));
}

static void
add_be64(struct buf *out, uint64_t v)
{
	add_be32(out, (uint32_t)(v >> 32));
	add_be32(out, (uint32_t)v);
}

static int64_t
instant_from_unix_us(int64_t unix_us)
{
	if (unix_us == INT64_MAX || unix_us == INT64_MIN)
		return unix_us;
	if (unix_us < PG_INSTANT_MIN + PG_EPOCH_UNIX_US)
		return PG_INSTANT_MIN;
	/* No upper bound: int64 less the epoch ends before PostgreSQL's year 294276 does. */
	return unix_us - PG_EPOCH_UNIX_US;
}

void
pgarray_scalar(struct buf *out, enum pgtype type, const struct pgvalue *v)
{
	assert(!v->null);
	switch (type) {
	case PGTYPE_BOOL:
		buf_add_char(out, v->b ? 1 : 0);
		break;
	case PGTYPE_INT4:
		add_be32(out, (uint32_t)v->i4);
		break;
	case PGTYPE_INT8:
		add_be64(out, (uint64_t)v->i8);
		break;
	case PGTYPE_TIMESTAMPTZ:
		add_be64(out, (uint64_t)instant_from_unix_us(v->unix_us));
		break;
	case PGTYPE_UUID:
		buf_add(out, v->uuid.b, sizeof(v->uuid.b));
		break;
	case PGTYPE_TEXT:
	case PGTYPE_BYTEA:
	case PGTYPE_INT4_ARRAY:
	case PGTYPE_INT8_ARRAY:
	case PGTYPE_TEXT_ARRAY:
	case PGTYPE_TIMESTAMPTZ_ARRAY:
		buf_add(out, v->text.p, v->text.n);
		break;
	}
}

void
pgarray_encode(struct buf *out, enum pgtype type, unsigned n,
    struct pgvalue (*get)(void *arg, unsigned i), void *arg)
{
	size_t flags_at = out->len + 4;
	struct pgvalue v;
	unsigned i;

	assert(n <= INT32_MAX);
	add_be32(out, n > 0 ? 1 : 0);
	add_be32(out, 0);
	add_be32(out, types[type].oid);
	if (n == 0)
		return;
	add_be32(out, n);
	add_be32(out, 1);
	for (i = 0; i < n; i++) {
		v = get(arg, i);
		if (v.null) {
			add_be32(out, UINT32_MAX);
			out->data[flags_at + 3] = 1;
			continue;
		}
		add_be32(out, types[type].len < 0 ? v.text.n : (uint32_t)types[type].len);
		pgarray_scalar(out, type, &v);
	}
}

static uint64_t
read_be(const char *data, int n_bytes)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < n_bytes; i++)
		v = v << 8 | (uint8_t)data[i];
	return v;
}

int32_t
pg_read_int4(const char *data)
{
	return (int32_t)(uint32_t)read_be(data, 4);
}

int64_t
pg_read_int8(const char *data)
{
	return (int64_t)read_be(data, 8);
}

int64_t
pg_read_unix_us(const char *data)
{
	int64_t v = pg_read_int8(data);

	if (v == INT64_MIN)
		return v;
	return v > INT64_MAX - PG_EPOCH_UNIX_US ? INT64_MAX : v + PG_EPOCH_UNIX_US;
}

bool
pg_read_bool(const char *data)
{
	return *data != 0;
}
