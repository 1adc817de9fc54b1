/*
 * PostgreSQL's binary arrays: whatever is encoded comes out the same of a decoder that was written
 * from the format's description alone and takes nothing that does not fit; what stood in the buffer
 * before stays; every element is asked for once, in order.
 */
#include "fuzz.h"
#include "pgarray.h"

#define ELEMENTS_MAX 200
#define EPOCH_US INT64_C(946684800000000)
#define JULIAN_ZERO_US INT64_C(-211813488000000000)

static const uint32_t oids[][2] = {[PGTYPE_BOOL] = {16, 1000},
    [PGTYPE_INT4] = {23, 1007},
    [PGTYPE_INT8] = {20, 1016},
    [PGTYPE_TEXT] = {25, 1009},
    [PGTYPE_UUID] = {2950, 2951},
    [PGTYPE_BYTEA] = {17, 1001},
    [PGTYPE_TIMESTAMPTZ] = {1184, 1185}};

static struct buf out, alone;

struct column {
	enum pgtype type;
	struct pgvalue values[ELEMENTS_MAX];
	unsigned n, n_asked;
};

static struct pgvalue
get(void *arg, unsigned i)
{
	struct column *c = arg;

	must(i == c->n_asked && i < c->n, "element %u is asked for in its turn", i);
	c->n_asked++;
	return c->values[i];
}

/* Every fourth is null; numbers are edges, or whatever comes. */
static struct pgvalue
read_value(struct fuzz_in *in, enum pgtype type)
{
	static const int64_t edges[] = {0, -1, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1,
	    INT64_MAX - EPOCH_US, INT64_MAX - EPOCH_US + 1, JULIAN_ZERO_US + EPOCH_US,
	    JULIAN_ZERO_US + EPOCH_US - 1, EPOCH_US, INT32_MAX, INT32_MIN};
	uint8_t how = fuzz_byte(in);
	struct uuid uuid;
	uint32_t len;
	int64_t v;

	if (how % 4 == 0)
		return pg_null();
	if (type == PGTYPE_UUID) {
		for (size_t i = 0; i < sizeof uuid.b; i++)
			uuid.b[i] = fuzz_byte(in);
		return pg_uuid(&uuid);
	}
	if (type == PGTYPE_TEXT || type == PGTYPE_BYTEA) {
		len = (uint32_t)(in->end - in->p);
		if (how / 4 < len)
			len = how / 4;
		in->p += len;
		return pg_textn((const char *)in->p - len, len);
	}
	v = how % 4 == 1 ? edges[how / 4 % 13] : (int64_t)fuzz_bytes(in, 8);
	if (type == PGTYPE_BOOL)
		return pg_bool(v & 1);
	if (type == PGTYPE_INT4)
		return pg_int4((int32_t)v);
	return type == PGTYPE_INT8 ? pg_int8(v) : pg_instant(v);
}

/* A reader of its own: signed, most significant byte first. */
static int64_t
take(const char **p, const char *end, unsigned n)
{
	uint64_t v = 0;

	must((size_t)(end - *p) >= n, "the array ends too early");
	for (unsigned i = 0; i < n; i++)
		v = v * 256 + (unsigned char)*(*p)++;
	return n == 4 ? (int64_t)(int32_t)(uint32_t)v : (int64_t)v;
}

static int64_t
instant_of(int64_t unix_us)
{
	if (unix_us == INT64_MAX || unix_us == INT64_MIN)
		return unix_us; /* infinities */
	if (unix_us < JULIAN_ZERO_US + EPOCH_US)
		return JULIAN_ZERO_US;
	return unix_us - EPOCH_US;
}

static void
check_element(const char *p, int64_t len, enum pgtype type, const struct pgvalue *v)
{
	const char *start = p, *end = p + len;

	switch (type) {
	case PGTYPE_BOOL:
		must(len == 1 && *p == (v->b ? 1 : 0) && pg_read_bool(p) == v->b, "a bool");
		break;
	case PGTYPE_INT4:
		must(len == 4 && take(&p, end, 4) == v->i4 && pg_read_int4(start) == v->i4, "int4");
		break;
	case PGTYPE_INT8:
		must(len == 8 && take(&p, end, 8) == v->i8 && pg_read_int8(start) == v->i8, "int8");
		break;
	case PGTYPE_TIMESTAMPTZ:
		must(len == 8 && take(&p, end, 8) == instant_of(v->unix_us), "an instant");
		if (instant_of(v->unix_us) != JULIAN_ZERO_US)
			must(pg_read_unix_us(start) == v->unix_us, "comes back");
		break;
	case PGTYPE_UUID:
		must(len == 16 && memcmp(p, v->uuid.b, 16) == 0, "a uuid");
		break;
	case PGTYPE_TEXT:
	case PGTYPE_BYTEA:
		must(len == v->text.n && memcmp(p, v->text.p, v->text.n) == 0, "bytes");
		break;
	case PGTYPE_INT4_ARRAY:
	case PGTYPE_INT8_ARRAY:
	case PGTYPE_TEXT_ARRAY:
	case PGTYPE_TIMESTAMPTZ_ARRAY: /* values that are arrays themselves are no elements */
		must(false, "an element");
		break;
	}
}

static void
check_array(const char *p, const char *end, const struct column *c)
{
	bool has_null = false, flag;
	int64_t len;

	must(take(&p, end, 4) == (c->n > 0), "one dimension, or none");
	flag = take(&p, end, 4) == 1;
	must(take(&p, end, 4) == oids[c->type][0], "the element's type");
	if (c->n > 0) {
		must(take(&p, end, 4) == c->n, "its size");
		must(take(&p, end, 4) == 1, "its lower bound");
	}
	for (unsigned i = 0; i < c->n; i++) {
		len = take(&p, end, 4);
		has_null |= len == -1;
		must((len == -1) == c->values[i].null, "null or not");
		if (len == -1)
			continue;
		must(len >= 0 && len <= end - p, "an element lies inside");
		check_element(p, len, c->type, &c->values[i]);
		alone.len = 0;
		pgarray_scalar(&alone, c->type, &c->values[i]);
		must(alone.len == (size_t)len && memcmp(buf_str(&alone), p, alone.len) == 0,
		    "an element is a scalar");
		p += len;
	}
	must(flag == has_null, "nulls are told beforehand");
	must(p == end, "nothing behind the last element");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, data + size};
	static struct column c;
	size_t before;

	out.len = 0;
	buf_add_str(&out, "before"); /* and then array after array, as parameters are built */
	while (in.p < in.end) {
		before = out.len;
		c.type = (enum pgtype)(fuzz_byte(&in) % 7);
		c.n = fuzz_byte(&in) % (ELEMENTS_MAX + 1);
		c.n_asked = 0;
		for (unsigned i = 0; i < c.n; i++)
			c.values[i] = read_value(&in, c.type);
		pgarray_encode(&out, c.type, c.n, get, &c);
		must(c.n_asked == c.n, "every element is asked for");
		must(memcmp(out.data, "before", 6) == 0, "what stood there stays");
		check_array(out.data + before, out.data + out.len, &c);
		must(pgtype_oid(c.type) == oids[c.type][0] &&
			pgtype_array_oid(c.type) == oids[c.type][1],
		    "types have their names");
	}
	return 0;
}
