/*
 * What a result may be stored as: secrets gone in every spelling and every duplicate, all other
 * bytes as they came (case 141: redaction acts on what is stored).
 */
#include "alloc.h"
#include "tap.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static struct buf out;

static void
teardown(void)
{
	buf_free(&out);
}

static bool
redact(const char *pointer, const char *text, size_t len)
{
	char *items[] = {(char *)(uintptr_t)pointer};
	struct tool_policy policy = {.result_secret = {.items = items, .n = 1}};

	buf_clear(&out);
	return tool_redact_result(&policy, text, len, &out);
}

static void
expect(const char *pointer, const char *text, const char *stored)
{
	ck_assert_msg(redact(pointer, text, strlen(text)), "%s in %s", pointer, text);
	ck_assert_str_eq(buf_str(&out), stored);
}

static void
expect_nothing(const char *pointer, const char *text)
{
	ck_assert_msg(!redact(pointer, text, strlen(text)), "%s in %s", pointer, text);
	ck_assert_uint_eq(out.len, 0);
}

START_TEST(secret_values_go_and_all_else_stays)
{
	expect("/t", "{\"t\":\"abc\"}", "{\"t\":\"[secret]\"}");
	expect("/t", " { \"n\" : 1.0e0 , \"t\" : { \"a\" : [ 1 ] } , \"z\":\"\\u0041\" } ",
	    " { \"n\" : 1.0e0 , \"t\" : \"[secret]\" , \"z\":\"\\u0041\" } ");
	expect("/a/b", "{\"b\":1,\"a\":{\"b\":null,\"c\":2}}",
	    "{\"b\":1,\"a\":{\"b\":\"[secret]\",\"c\":2}}");
	expect("/l/1/k", "{\"l\":[{\"k\":1},{\"k\":2},{\"k\":3}]}",
	    "{\"l\":[{\"k\":1},{\"k\":\"[secret]\"},{\"k\":3}]}");
	expect("/1", "[1,2,3]", "[1,\"[secret]\",3]");
	expect("/1", "{\"1\":\"x\"}", "{\"1\":\"[secret]\"}");
	expect("/", "{\"\":7}", "{\"\":\"[secret]\"}");
	expect("", " \"all of it\" ", " \"[secret]\" ");
	expect("", "{\"a\":1}", "\"[secret]\"");
	expect("/t", "{\"t\":123456789012345678901234567890}", "{\"t\":\"[secret]\"}");
}
END_TEST

START_TEST(nothing_is_touched_where_nothing_is_secret)
{
	struct tool_policy none = {0};

	expect_nothing("/t", "{\"T\":1,\"u\":{\"t\":1}}");
	expect_nothing("/t/x", "{\"t\":\"string\"}");
	expect_nothing("/3", "[1,2,3]");
	expect_nothing("/01", "[1,2,3]");
	expect_nothing("/-", "[1,2,3]");
	expect_nothing("/t", "null");
	expect_nothing("/t", "[]");
	expect_nothing("/t", "{}");
	ck_assert(!tool_redact_result(&none, "{\"t\":1}", 7, &out));
	ck_assert(!tool_redact_result(&none, "not json", 8, &out));
}
END_TEST

START_TEST(other_spellings_of_a_name_are_the_name)
{
	expect("/token", "{\"\\u0074oken\":\"abc\"}", "{\"\\u0074oken\":\"[secret]\"}");
	expect("/a~1b", "{\"a/b\":1,\"a\":{\"b\":2}}", "{\"a/b\":\"[secret]\",\"a\":{\"b\":2}}");
	expect("/a~1b", "{\"a\\/b\":1}", "{\"a\\/b\":\"[secret]\"}");
	expect("/a~0b", "{\"a~b\":1}", "{\"a~b\":\"[secret]\"}");
	expect("/\xc3\xbc", "{\"\\u00fc\":1,\"\xc3\xbc\":2}",
	    "{\"\\u00fc\":\"[secret]\",\"\xc3\xbc\":\"[secret]\"}");
	expect_nothing("/t", "{\"t\\u0000\":1}");
}
END_TEST

START_TEST(what_does_not_scan_strictly_is_redacted_all_the_same)
{
	/* every duplicate: readers differ in which one they take */
	expect("/t", "{\"t\":\"a\",\"x\":1,\"t\":\"b\"}",
	    "{\"t\":\"[secret]\",\"x\":1,\"t\":\"[secret]\"}");
	expect("/a/t", "{\"a\":{\"t\":1},\"a\":{\"t\":2,\"t\":3}}",
	    "{\"a\":{\"t\":\"[secret]\"},\"a\":{\"t\":\"[secret]\",\"t\":\"[secret]\"}}");
	expect("/t", "{\"\\ud800\":\"\\udfff\",\"t\":\"\\ud800\"}",
	    "{\"\\ud800\":\"\\udfff\",\"t\":\"[secret]\"}");
	expect("/t", "{\"n\":1e400,\"t\":-1e400}", "{\"n\":1e400,\"t\":\"[secret]\"}");
}
END_TEST

START_TEST(what_cannot_be_looked_into_is_secret_as_a_whole)
{
	char deep[512];

	memset(deep, '[', 200);
	memset(deep + 200, ']', 200);
	deep[400] = '\0';
	expect("/t", deep, "\"[secret]\"");
	expect("/t", "not json", "\"[secret]\"");
}
END_TEST

START_TEST(pointers_within_each_other_are_one)
{
	char *items[] = {(char[]){"/a/b"}, (char[]){"/a"}, (char[]){"/c/0"}, (char[]){"/c/0"}};
	struct tool_policy policy = {.result_secret = {.items = items, .n = 4}};
	static const char text[] = "{\"a\":{\"b\":1,\"z\":2},\"c\":[3,4]}";

	ck_assert(tool_redact_result(&policy, text, strlen(text), &out));
	ck_assert_str_eq(buf_str(&out), "{\"a\":\"[secret]\",\"c\":[\"[secret]\",4]}");
}
END_TEST

START_TEST(many_secrets_and_their_order)
{
	struct buf text = {0}, expected = {0};
	char *items[20];
	struct tool_policy policy = {.result_secret = {.items = items, .n = 20}};

	buf_add_char(&text, '[');
	buf_add_char(&expected, '[');
	for (int i = 0; i < 100; i++) {
		buf_printf(&text, "%s%d", i > 0 ? "," : "", i);
		if (i % 5 == 0)
			buf_printf(&expected, "%s\"[secret]\"", i > 0 ? "," : "");
		else
			buf_printf(&expected, ",%d", i);
	}
	for (int i = 0; i < 20; i++)
		items[i] = xasprintf("/%d", 95 - 5 * i);
	buf_add_char(&text, ']');
	buf_add_char(&expected, ']');
	ck_assert(tool_redact_result(&policy, text.data, text.len, &out));
	ck_assert_str_eq(buf_str(&out), buf_str(&expected));
	for (int i = 0; i < 20; i++)
		free(items[i]);
	buf_free(&text);
	buf_free(&expected);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("tool_redact");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, secret_values_go_and_all_else_stays);
	tcase_add_test(tc, nothing_is_touched_where_nothing_is_secret);
	tcase_add_test(tc, other_spellings_of_a_name_are_the_name);
	tcase_add_test(tc, what_does_not_scan_strictly_is_redacted_all_the_same);
	tcase_add_test(tc, what_cannot_be_looked_into_is_secret_as_a_whole);
	tcase_add_test(tc, pointers_within_each_other_are_one);
	tcase_add_test(tc, many_secrets_and_their_order);
	return tap_run("tool_redact", tc);
}
