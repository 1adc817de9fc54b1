/*
 * PostgreSQL's binary format against bytes that its own array_send, timestamptz_send and friends
 * gave.
 */
#include "pgarray.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

static struct buf b;

static void
teardown(void)
{
	buf_free(&b);
}

static void
expect_hex(const char *hex)
{
	char *got = malloc(2 * b.len + 1);

	for (size_t i = 0; i < b.len; i++)
		sprintf(got + 2 * i, "%02x", (unsigned char)b.data[i]);
	got[2 * b.len] = '\0';
	ck_assert_str_eq(got, hex);
	free(got);
	buf_clear(&b);
}

static struct pgvalue
get(void *arg, unsigned i)
{
	return ((struct pgvalue *)arg)[i];
}

static void
expect_scalar(enum pgtype type, struct pgvalue v, const char *hex)
{
	pgarray_scalar(&b, type, &v);
	expect_hex(hex);
}

START_TEST(scalars_are_big_endian)
{
	struct uuid u = {{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x86, 0x77, 0x88, 0x99, 0xaa, 0xbb,
	    0xcc, 0xdd, 0xee, 0xff}};

	expect_scalar(PGTYPE_BOOL, pg_bool(true), "01");
	expect_scalar(PGTYPE_BOOL, pg_bool(false), "00");
	expect_scalar(PGTYPE_INT4, pg_int4(1042), "00000412");
	expect_scalar(PGTYPE_INT4, pg_int4(-2), "fffffffe");
	expect_scalar(PGTYPE_INT8, pg_int8(1042), "0000000000000412");
	expect_scalar(PGTYPE_INT8, pg_int8(INT64_MIN), "8000000000000000");
	expect_scalar(PGTYPE_UUID, pg_uuid(&u), "00112233445586778899aabbccddeeff");
	expect_scalar(PGTYPE_TEXT, pg_text("a\xc3\xa9"), "61c3a9");
	expect_scalar(PGTYPE_TEXT, pg_text(""), "");
	expect_scalar(PGTYPE_BYTEA, pg_textn("\0\xff", 2), "00ff");
}
END_TEST

START_TEST(instants_count_from_2000)
{
	expect_scalar(PGTYPE_TIMESTAMPTZ, pg_instant(INT64_C(946684800000000)), "0000000000000000");
	/* timestamptz_send('2026-11-30 03:35:00.123456+00') */
	expect_scalar(
	    PGTYPE_TIMESTAMPTZ, pg_instant(INT64_C(1796009700123456)), "00030474dcf88340");
	expect_scalar(PGTYPE_TIMESTAMPTZ, pg_instant(0), "fffca2fec4c82000");
	expect_scalar(PGTYPE_TIMESTAMPTZ, pg_instant(INT64_MAX), "7fffffffffffffff");
	expect_scalar(PGTYPE_TIMESTAMPTZ, pg_instant(INT64_MIN), "8000000000000000");
	expect_scalar(PGTYPE_TIMESTAMPTZ, pg_instant(INT64_MIN + 1), "fd0f7cc1411fa000");
}
END_TEST

START_TEST(arrays_are_what_array_recv_takes)
{
	struct uuid u = {{0}};
	struct pgvalue values[3];

	u.b[15] = 7;
	/* array_send('{}'::uuid[]) */
	pgarray_encode(&b, PGTYPE_UUID, 0, get, NULL);
	expect_hex("000000000000000000000b86");
	/* array_send('{1,2,3}'::int4[]) */
	values[0] = pg_int4(1);
	values[1] = pg_int4(2);
	values[2] = pg_int4(3);
	pgarray_encode(&b, PGTYPE_INT4, 3, get, values);
	expect_hex("0000000100000000000000170000000300000001"
		   "000000040000000100000004000000020000000400000003");
	/* array_send(array['abc',null,'']) behind other bytes */
	values[0] = pg_text("abc");
	values[1] = pg_text(NULL);
	values[2] = pg_text("");
	buf_add_str(&b, "xy");
	pgarray_encode(&b, PGTYPE_TEXT, 3, get, values);
	expect_hex("7879"
		   "0000000100000001000000190000000300000001"
		   "00000003616263ffffffff00000000");
	values[0] = pg_uuid(&u);
	values[1] = pg_uuid(NULL);
	pgarray_encode(&b, PGTYPE_UUID, 2, get, values);
	expect_hex("000000010000000100000b860000000200000001"
		   "0000001000000000000000000000000000000007ffffffff");
	values[0] = pg_bool(true);
	pgarray_encode(&b, PGTYPE_BOOL, 1, get, values);
	expect_hex("0000000100000000000000100000000100000001"
		   "0000000101");
	values[0] = pg_instant(INT64_C(946684800000001));
	pgarray_encode(&b, PGTYPE_TIMESTAMPTZ, 1, get, values);
	expect_hex("0000000100000000000004a00000000100000001"
		   "000000080000000000000001");
	values[0] = pg_null();
	pgarray_encode(&b, PGTYPE_BYTEA, 1, get, values);
	expect_hex("0000000100000001000000110000000100000001ffffffff");
	values[0] = pg_int8(-1);
	pgarray_encode(&b, PGTYPE_INT8, 1, get, values);
	expect_hex("0000000100000000000000140000000100000001"
		   "00000008ffffffffffffffff");
}
END_TEST

START_TEST(oids_are_those_of_pg_type)
{
	static const struct {
		enum pgtype type;
		uint32_t oid, array_oid;
	} expected[] = {{PGTYPE_BOOL, 16, 1000}, {PGTYPE_INT4, 23, 1007}, {PGTYPE_INT8, 20, 1016},
	    {PGTYPE_TEXT, 25, 1009}, {PGTYPE_UUID, 2950, 2951}, {PGTYPE_BYTEA, 17, 1001},
	    {PGTYPE_TIMESTAMPTZ, 1184, 1185}};

	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		ck_assert_uint_eq(pgtype_oid(expected[i].type), expected[i].oid);
		ck_assert_uint_eq(pgtype_array_oid(expected[i].type), expected[i].array_oid);
	}
}
END_TEST

START_TEST(results_are_read_back)
{
	static const int64_t instants[] = {
	    0, 1, -1, INT64_C(1796009700123456), INT64_MAX, INT64_MIN};
	struct pgvalue v;

	ck_assert_int_eq(pg_read_int4("\xff\xff\xff\xfe"), -2);
	ck_assert_int_eq(pg_read_int4("\x80\0\0\0"), INT32_MIN);
	ck_assert_int_eq(pg_read_int8("\0\0\0\0\0\0\x04\x12"), 1042);
	ck_assert_int_eq(pg_read_int8("\x80\0\0\0\0\0\0\0"), INT64_MIN);
	ck_assert(pg_read_bool("\1"));
	ck_assert(!pg_read_bool("\0"));
	for (size_t i = 0; i < sizeof instants / sizeof *instants; i++) {
		v = pg_instant(instants[i]);
		pgarray_scalar(&b, PGTYPE_TIMESTAMPTZ, &v);
		ck_assert_int_eq(pg_read_unix_us(b.data), instants[i]);
		buf_clear(&b);
	}
	/* the year 294276 of PostgreSQL lies beyond int64 once it counts from 1970 */
	ck_assert_int_eq(pg_read_unix_us("\x7f\xff\xf0\0\0\0\0\0"), INT64_MAX);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("pgarray");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, scalars_are_big_endian);
	tcase_add_test(tc, instants_count_from_2000);
	tcase_add_test(tc, arrays_are_what_array_recv_takes);
	tcase_add_test(tc, oids_are_those_of_pg_type);
	tcase_add_test(tc, results_are_read_back);
	return tap_run("pgarray", tc);
}
