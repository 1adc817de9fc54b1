/*
 * libeffect's reader: it finds where values end as the daemon's strict scanner does, hands out
 * their very bytes, and takes no stack for what nests.
 */
#include "alloc.h"
#include "effect_json.h"
#include "json.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

static bool
one(const char *text)
{
	struct effect_json_span value;

	return effect_json_one(text, strlen(text), EFFECT_JSON_DEPTH_MAX, &value);
}

START_TEST(values_are_taken_and_what_is_none_is_refused)
{
	static const char *const good[] = {"null", "true", " false ", "0", "-0", "10", "-1.5e+3",
	    "1E-2", "\"\"", "\"a\\u00e9\\n\\\"\"", "[]", "[ ]", "{}", "{ }", "[1,[2,{\"a\":[]}]]",
	    "{\"a\":1,\"a\":2}", "\t{\"a\" : [ true , null ] }\r\n", "\"\xc3\xa9\"", "\"\xff\""};
	static const char *const bad[] = {"", " ", "nul", "nulll", "tru", "01", "-", "1.", ".5",
	    "1e", "1e+", "+1", "0x1", "\"", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"",
	    "\"a\nb\"", "\"a\tb\"", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{", "{\"a\"",
	    "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{a:1}", "{1:1}", "{\"a\" 1}", "[}",
	    "{]", "[{]}", "1 2", "null null", "'a'", "NaN", "Infinity", "/**/1"};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		ck_assert_msg(one(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!one(bad[i]), "%s", bad[i]);
}
END_TEST

START_TEST(every_beginning_of_a_document_is_judged_as_by_the_daemon)
{
	static const char text[] =
	    " {\"a\":[1.5e3,\"x\\u0041\\\\\",true,{\"b\":null,\"\":[]}],\"c\":"
	    "-0.1} ";
	struct effect_json_span value;
	struct json_doc doc = {0};

	for (size_t len = 1; len < sizeof text; len++) {
		bool theirs = json_scan(&doc, text, len, NULL, NULL) == 0;

		ck_assert_int_eq(effect_json_one(text, len, EFFECT_JSON_DEPTH_MAX, &value), theirs);
	}
	json_free(&doc);
}
END_TEST

START_TEST(a_byte_changed_anywhere_is_judged_as_by_the_daemon)
{
	static const char text[] =
	    "{\"a\":[1.5e3,\"x\\u0041\\\\\",true,{\"b\":null,\"d\":[]}],\"c\":0}";
	struct effect_json_span value;
	struct json_doc doc = {0};
	char changed[sizeof text];

	for (size_t i = 0; i + 1 < sizeof text; i++) {
		for (int c = 1; c < 0x80; c++) {
			int theirs;

			memcpy(changed, text, sizeof text);
			changed[i] = (char)c;
			theirs = json_scan(&doc, changed, sizeof text - 1, NULL, NULL);
			/* what is no fault of the grammar is the daemon's to judge */
			ck_assert_msg(effect_json_one(changed, sizeof text - 1,
					  EFFECT_JSON_DEPTH_MAX, &value) == (theirs != ERR_PARSE),
			    "%s", changed);
		}
	}
	json_free(&doc);
}
END_TEST

START_TEST(nesting_is_bounded_where_it_is_sent_and_free_where_it_comes)
{
	size_t deep = 100000;
	char *text = xmalloc(2 * deep + 16);
	struct effect_json_span name, value;
	struct effect_json_walk walk;

	memset(text, '[', 64);
	memset(text + 64, ']', 64);
	ck_assert(effect_json_one(text, 128, 64, &value));
	ck_assert(!effect_json_one(text, 128, 63, &value));
	memcpy(text, "{\"a\":", 5);
	memset(text + 5, '[', deep);
	memset(text + 5 + deep, ']', deep);
	memcpy(text + 5 + 2 * deep, ",\"b\":1}", 7);
	ck_assert(!effect_json_one(text, 2 * deep + 12, EFFECT_JSON_DEPTH_MAX, &value));
	effect_json_walk(&walk, text, 2 * deep + 12);
	ck_assert(effect_json_next(&walk, &name, &value));
	ck_assert_uint_eq(value.len, 2 * deep);
	ck_assert(effect_json_next(&walk, &name, &value));
	ck_assert(effect_json_is(&name, "b"));
	ck_assert(!effect_json_next(&walk, &name, &value) && !walk.broken);
	effect_json_walk(&walk, text, deep);
	ck_assert(!effect_json_next(&walk, &name, &value) && walk.broken);
	free(text);
}
END_TEST

START_TEST(members_come_in_their_order_with_their_very_bytes)
{
	static const char text[] =
	    "{ \"a\" : [1, 2.0] ,\"\\u0062\":\"x\\ny\",\"c\":{\"d\":1e2}} rest";
	struct effect_json_span name, value;
	struct effect_json_walk walk;

	effect_json_walk(&walk, text, sizeof text - 1);
	ck_assert(effect_json_next(&walk, &name, &value));
	ck_assert(effect_json_is(&name, "a"));
	ck_assert(value.len == 8 && memcmp(value.at, "[1, 2.0]", 8) == 0);
	ck_assert(effect_json_next(&walk, &name, &value));
	ck_assert(!effect_json_is(&name, "b")); /* escaped: not what we know */
	ck_assert_int_eq(value.type, EFFECT_JSON_STRING);
	ck_assert(effect_json_next(&walk, &name, &value));
	ck_assert(value.len == 9 && memcmp(value.at, "{\"d\":1e2}", 9) == 0);
	ck_assert(!effect_json_next(&walk, &name, &value) && !walk.broken);
	ck_assert_str_eq(walk.at, " rest");
}
END_TEST

START_TEST(a_walk_over_no_object_is_broken)
{
	static const char *const bad[] = {"", "[]", "{", "{\"a\"}", "{\"a\":1 \"b\":2}", "{,}",
	    "{\"a\":1,}", "{\"a\":}", "{\"a\":1"};
	struct effect_json_span name, value;
	struct effect_json_walk walk;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		effect_json_walk(&walk, bad[i], strlen(bad[i]));
		while (effect_json_next(&walk, &name, &value))
			;
		ck_assert_msg(walk.broken, "%s", bad[i]);
	}
}
END_TEST

START_TEST(strings_are_unescaped_in_their_own_place)
{
	char text[] =
	    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\ud83d \\ude00x\"";
	struct effect_json_span s = {text, sizeof text - 1, EFFECT_JSON_STRING};
	size_t len = effect_json_unescape(&s, text);

	ck_assert_str_eq(
	    text, "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd \xef\xbf\xbdx");
	ck_assert_uint_eq(len, strlen(text));
}
END_TEST

static bool
reads(const char *text, int64_t *ret)
{
	struct effect_json_span number = {text, strlen(text), EFFECT_JSON_NUMBER};

	return effect_json_int(&number, ret);
}

START_TEST(integers_are_read_to_their_last_and_nothing_else_is)
{
	int64_t value;

	ck_assert(reads("0", &value) && value == 0);
	ck_assert(reads("-12", &value) && value == -12);
	ck_assert(reads("9223372036854775807", &value) && value == INT64_MAX);
	ck_assert(reads("-9223372036854775808", &value) && value == INT64_MIN);
	ck_assert(!reads("9223372036854775808", &value));
	ck_assert(!reads("-9223372036854775809", &value));
	ck_assert(!reads("1.0", &value) && !reads("1e2", &value));
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("effect_json");

	tcase_add_test(tc, values_are_taken_and_what_is_none_is_refused);
	tcase_add_test(tc, every_beginning_of_a_document_is_judged_as_by_the_daemon);
	tcase_add_test(tc, a_byte_changed_anywhere_is_judged_as_by_the_daemon);
	tcase_add_test(tc, nesting_is_bounded_where_it_is_sent_and_free_where_it_comes);
	tcase_add_test(tc, members_come_in_their_order_with_their_very_bytes);
	tcase_add_test(tc, a_walk_over_no_object_is_broken);
	tcase_add_test(tc, strings_are_unescaped_in_their_own_place);
	tcase_add_test(tc, integers_are_read_to_their_last_and_nothing_else_is);
	return tap_run("effect_json", tc);
}
