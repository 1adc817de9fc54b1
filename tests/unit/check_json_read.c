/*
 * Reading a scanned document: look-ups by what names spell, RFC 6901, strings, numbers, the order
 * of members.
 */
#include "comma_locale.h"
#include "json.h"
#include "tap.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct json_doc doc;
static struct json_error error;

static void
teardown(void)
{
	json_free(&doc);
}

static void
accept(const char *text)
{
	ck_assert_msg(json_scan(&doc, text, strlen(text), NULL, &error) == 0, "%s", text);
}

START_TEST(members_are_found_by_what_their_names_spell)
{
	uint32_t node;
	size_t len;
	char *s;

	accept("{\"t\\u006fol\":1,\"Tool\":2,\"tool\\u0000x\":3,\"\xc3\xa9\":4,\"\\ud83d\\ude00\":"
	       "5,\"\":6}");
	ck_assert_uint_eq(json_member(&doc, 0, "tool"), 1);
	ck_assert_uint_eq(json_member(&doc, 0, "Tool"), 2);
	ck_assert_uint_eq(json_member(&doc, 0, "TOOL"), 0);
	ck_assert_uint_eq(json_member(&doc, 0, "\xc3\xa9"), 4);
	ck_assert_uint_eq(json_member(&doc, 0, "\xf0\x9f\x98\x80"), 5);
	ck_assert_uint_eq(json_member(&doc, 0, ""), 6);
	ck_assert_uint_eq(json_member(&doc, 1, "a"), 0);
	s = json_name(&doc, 3, &len);
	ck_assert_uint_eq(len, 6);
	ck_assert_int_eq(memcmp(s, "tool\0x", 7), 0);
	free(s);
	/* a backslash in the name that is looked for is one, whatever it would escape in JSON */
	accept("{\"\\n\":1,\"x\\\\n000z\":2,\"\\\\q\":3}");
	ck_assert_uint_eq(json_member(&doc, 0, "\n"), 1);
	ck_assert_uint_eq(json_member(&doc, 0, "x\\n000z"), 2);
	ck_assert_uint_eq(json_member(&doc, 0, "\\q"), 3);
	ck_assert_uint_eq(json_member(&doc, 0, "\\n"), 0);

	/* RFC 6901, section 5 */
	accept("{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/"
	       "b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,"
	       "\"k\\\"l\":6,\" \":7,\"m~n\":8,\"\\u007e1\":9}");
	ck_assert(json_pointer(&doc, 0, "", &node) && node == 0);
	ck_assert(json_pointer(&doc, 0, "/foo", &node) && node == 1);
	ck_assert(json_pointer(&doc, 0, "/foo/0", &node) && node == 2);
	ck_assert(json_pointer(&doc, 0, "/foo/1", &node) && node == 3);
	ck_assert(json_pointer(&doc, 1, "/1", &node) && node == 3);
	ck_assert(json_pointer(&doc, 0, "/", &node) && node == 4);
	ck_assert(json_pointer(&doc, 0, "/a~1b", &node) && node == 5);
	ck_assert(json_pointer(&doc, 0, "/c%d", &node) && node == 6);
	ck_assert(json_pointer(&doc, 0, "/i\\j", &node) && node == 9);
	ck_assert(json_pointer(&doc, 0, "/k\"l", &node) && node == 10);
	ck_assert(json_pointer(&doc, 0, "/m~0n", &node) && node == 12);
	ck_assert(json_pointer(&doc, 0, "/~01", &node) && node == 13);
	node = 77;
	static const char *const absent[] = {"/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/",
	    "/foo/0/x", "/foo/99999999999999999999", "/foo/4294967296", "/bar", "/a", "/a~1", "//",
	    "/foo/+1"};
	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
		ck_assert_msg(!json_pointer(&doc, 0, absent[i], &node), "%s", absent[i]);
	ck_assert_uint_eq(node, 77);
}
END_TEST

START_TEST(strings_come_unescaped)
{
	size_t len;
	char *s;

	accept("\"plain \\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u00E9\\u20ac\\ud83d\\ude00 end\"");
	s = json_string(&doc, 0, &len);
	ck_assert_uint_eq(
	    len, sizeof "plain \"\\/\b\f\n\r\t\0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 end" - 1);
	ck_assert_int_eq(
	    memcmp(s, "plain \"\\/\b\f\n\r\t\0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 end", len + 1),
	    0);
	free(s);
	accept("\"\"");
	s = json_string(&doc, 0, NULL);
	ck_assert_str_eq(s, "");
	free(s);
}
END_TEST

START_TEST(integers_are_literals_within_int64)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t value;
	} cases[] = {{"0", true, 0}, {"-0", true, 0}, {"42", true, 42}, {"-1", true, -1},
	    {"9223372036854775807", true, INT64_MAX}, {"-9223372036854775808", true, INT64_MIN},
	    {"9223372036854775808", false, 0}, {"-9223372036854775809", false, 0},
	    {"99999999999999999999999", false, 0}, {"1.0", false, 0}, {"1e3", false, 0},
	    {"\"1\"", false, 0}, {"true", false, 0}, {"null", false, 0}, {"[1]", false, 0}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t v = 7;

		accept(cases[i].text);
		ck_assert_msg(json_int(&doc, 0, &v) == cases[i].ok, "%s", cases[i].text);
		ck_assert_int_eq(v, cases[i].ok ? cases[i].value : 7);
	}
}
END_TEST

START_TEST(pointers_are_checked_and_compared)
{
	ck_assert(json_pointer_valid(""));
	ck_assert(json_pointer_valid("/"));
	ck_assert(json_pointer_valid("/a~0b/~1/0/\xc3\xa9"));
	ck_assert(!json_pointer_valid("a"));
	ck_assert(!json_pointer_valid("#/a"));
	ck_assert(!json_pointer_valid("/a~"));
	ck_assert(!json_pointer_valid("/a~2"));
	ck_assert(!json_pointer_valid("/a~/b"));
	ck_assert(!json_pointer_valid("/\xff"));
	ck_assert(json_pointer_under("/card", "/card"));
	ck_assert(json_pointer_under("/card/number", "/card"));
	ck_assert(json_pointer_under("/card", ""));
	ck_assert(!json_pointer_under("/cards", "/card"));
	ck_assert(!json_pointer_under("/car", "/card"));
	ck_assert(!json_pointer_under("", "/card"));
	ck_assert(json_pointer_under("/card/", "/card"));
}
END_TEST

START_TEST(doubles_are_the_nearest_and_no_locale_counts)
{
	static const struct {
		const char *text;
		double value;
	} cases[] = {{"0", 0}, {"-0.0", 0}, {"12.50", 12.5}, {"0.1", 0.1}, {"1e23", 1e23},
	    {"5e-324", 5e-324}, {"2.4703282292062327e-324", 0}, {"2.4703282292062328e-324", 5e-324},
	    {"9007199254740993", 9007199254740992.0}, {"0.000001e6", 1}, {"1000000000e-9", 1},
	    {"17976931348623157e292", 1.7976931348623157e308},
	    {"-333333333.33333329", -333333333.3333333}, {"1e400", INFINITY}};

	for (int comma = 0; comma < 2; comma++) {
		if (comma)
			comma_locale_set();
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
			ck_assert_msg(
			    json_double(cases[i].text, strlen(cases[i].text)) == cases[i].value,
			    "%s", cases[i].text);
	}
	setlocale(LC_ALL, "C");
}
END_TEST

/* case 42 (the order the canonical form is built on) */
START_TEST(members_sort_by_utf16_code_units)
{
	struct json_ref refs[64];
	char text[1024];

	accept("{\"\xef\xac\xb3\":1,\"\\ud83d\\ude00\":2,\"\xe2\x82\xac\":3,\"a\":4,\"\":5,"
	       "\"\\u0061b\":6,\"\\r\":7}");
	json_sorted(&doc, 0, refs);
	static const uint32_t expected[] = {5, 7, 4, 6, 3, 2, 1};
	for (size_t i = 0; i < 7; i++)
		ck_assert_uint_eq(refs[i].node, expected[i]);
	/* the same past the border where sorting takes over */
	strcpy(text,
	    "{\"\xef\xac\xb3\":0,\"\xf0\x9f\x98\x80\":0,\"\xee\x80\x80\":0,\"\xed\x9f\xbf\":0");
	for (int i = 0; i < 30; i++)
		sprintf(text + strlen(text), ",\"%c%d\":0", 'z' - i % 26, i);
	strcat(text, "}");
	accept(text);
	json_sorted(&doc, 0, refs);
	ck_assert_uint_eq(doc.nodes[0].n_children, 34);
	for (int i = 1; i < 30; i++)
		ck_assert_int_lt(strncmp(refs[i - 1].name, refs[i].name, 2), 1);
	ck_assert_uint_eq(refs[30].node, 4);
	ck_assert_uint_eq(refs[31].node, 2);
	ck_assert_uint_eq(refs[32].node, 3);
	ck_assert_uint_eq(refs[33].node, 1);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("json_read");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, members_are_found_by_what_their_names_spell);
	tcase_add_test(tc, strings_come_unescaped);
	tcase_add_test(tc, integers_are_literals_within_int64);
	tcase_add_test(tc, pointers_are_checked_and_compared);
	tcase_add_test(tc, doubles_are_the_nearest_and_no_locale_counts);
	tcase_add_test(tc, members_sort_by_utf16_code_units);
	return tap_run("json_read", tc);
}
