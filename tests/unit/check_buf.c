/*
 * The byte buffer and the JSON output verbs: escapes at every distance from an eight-byte edge,
 * ends of integers, instants against the C library's calendar.
 */
#include "buf.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct buf b;

static void
teardown(void)
{
	buf_free(&b);
}

START_TEST(growing_keeps_what_was_added)
{
	for (int i = 0; i < 10000; i++)
		buf_add_char(&b, (char)('a' + i % 26));
	ck_assert_uint_eq(b.len, 10000);
	for (int i = 0; i < 10000; i++)
		ck_assert_int_eq(b.data[i], 'a' + i % 26);
	buf_clear(&b);
	ck_assert_str_eq(buf_str(&b), "");
	buf_add(&b, NULL, 0);
	buf_printf(&b, "%s %d", "text", 42);
	ck_assert_str_eq(buf_str(&b), "text 42");
	ck_assert_uint_eq(b.len, 7);
}
END_TEST

/* Every byte that may be in a string, at every place of a word: the escape table must not depend on
 * alignment. */
START_TEST(string_escapes_exactly_what_json_demands)
{
	char text[24], expected[64];

	for (int c = 0; c < 256; c++) {
		for (size_t at = 0; at < sizeof text; at++) {
			memset(text, 'x', sizeof text);
			text[at] = (char)c;
			buf_clear(&b);
			buf_json_string(&b, text, sizeof text);
			const char *spelt = c == '"' ? "\\\""
			    : c == '\\'		     ? "\\\\"
			    : c == '\b'		     ? "\\b"
			    : c == '\t'		     ? "\\t"
			    : c == '\n'		     ? "\\n"
			    : c == '\f'		     ? "\\f"
			    : c == '\r'		     ? "\\r"
						     : NULL;
			char *out = expected;

			*out++ = '"';
			memset(out, 'x', at);
			out += at;
			if (spelt)
				out += sprintf(out, "%s", spelt);
			else if (c < 0x20)
				out += sprintf(out, "\\u%04x", c);
			else
				*out++ = (char)c;
			memset(out, 'x', sizeof text - at - 1);
			out += sizeof text - at - 1;
			*out++ = '"';
			ck_assert_uint_eq(b.len, (size_t)(out - expected));
			ck_assert_mem_eq(b.data, expected, b.len);
		}
	}
}
END_TEST

START_TEST(string_of_escapes_only_and_empty)
{
	buf_json_string(&b, "\"\"\\\\\n\n", 6);
	ck_assert_str_eq(buf_str(&b), "\"\\\"\\\"\\\\\\\\\\n\\n\"");
	buf_clear(&b);
	buf_json_string(&b, "", 0);
	ck_assert_str_eq(buf_str(&b), "\"\"");
}
END_TEST

START_TEST(members_are_separated_by_commas)
{
	buf_add_char(&b, '{');
	buf_json_member_str(&b, "a", "x\ny");
	buf_json_member_int(&b, "b", INT64_MIN);
	buf_json_member_int(&b, "c", INT64_MAX);
	buf_json_member_int(&b, "d", 0);
	buf_json_member_bool(&b, "e", true);
	buf_json_member_bool(&b, "f", false);
	buf_json_member_raw(&b, "g", "[1.0]", 5);
	buf_json_member(&b, "h");
	buf_add_char(&b, '{');
	buf_json_member_int(&b, "i", -1);
	buf_add_str(&b, "}}");
	ck_assert_str_eq(buf_str(&b),
	    "{\"a\":\"x\\ny\",\"b\":-9223372036854775808,\"c\":9223372036854775807,\"d\":0,"
	    "\"e\":true,\"f\":false,\"g\":[1.0],\"h\":{\"i\":-1}}");
}
END_TEST

static void
expect_instant(int64_t unix_us, const char *text)
{
	char expected[64];

	buf_clear(&b);
	buf_json_member_instant(&b, "at", unix_us);
	snprintf(expected, sizeof expected, "\"at\":\"%s\"", text);
	ck_assert_str_eq(buf_str(&b), expected);
}

START_TEST(instants_round_down_and_saturate)
{
	expect_instant(0, "1970-01-01T00:00:00.000Z");
	expect_instant(999, "1970-01-01T00:00:00.000Z");
	expect_instant(1000, "1970-01-01T00:00:00.001Z");
	expect_instant(-1, "1969-12-31T23:59:59.999Z");
	expect_instant(951782400000000, "2000-02-29T00:00:00.000Z");
	expect_instant(1709251199999999, "2024-02-29T23:59:59.999Z");
	expect_instant(INT64_MAX, "9999-12-31T23:59:59.999Z");
	expect_instant(INT64_MIN, "0000-01-01T00:00:00.000Z");
}
END_TEST

START_TEST(instants_agree_with_the_c_library)
{
	/* every 9 h 17 min from 1890 to 2110, so that all days and all hours come by */
	for (time_t at = -2524608000; at < 4417977600; at += 33420) {
		struct tm tm;
		char text[64];

		gmtime_r(&at, &tm);
		strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.000Z", &tm);
		expect_instant((int64_t)at * 1000000, text);
	}
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("buf");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, growing_keeps_what_was_added);
	tcase_add_test(tc, string_escapes_exactly_what_json_demands);
	tcase_add_test(tc, string_of_escapes_only_and_empty);
	tcase_add_test(tc, members_are_separated_by_commas);
	tcase_add_test(tc, instants_round_down_and_saturate);
	tcase_add_test(tc, instants_agree_with_the_c_library);
	return tap_run("buf", tc);
}
