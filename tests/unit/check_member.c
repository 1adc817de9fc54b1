/*
 * From flags to params: spelt as given, one value each, and no value that adds members.
 */
#include "member.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static struct flag_set set;
static struct buf out;
static char *error;

static void
start(void)
{
	set = (struct flag_set){0};
	out = (struct buf){0};
	error = NULL;
}

static void
end(void)
{
	buf_free(&out);
	free(error);
}

static enum ctl_exit
params(const char *verb, const char *name, const char *value)
{
	start();
	member_flags(&set, member_verb(verb));
	ck_assert_ptr_nonnull(flag_find(&set, name));
	flag_find(&set, name)->value = value;
	return member_params(&set, member_verb(verb), &out, &error);
}

static void
becomes(const char *verb, const char *name, const char *value, const char *want)
{
	ck_assert_int_eq(params(verb, name, value), CTL_OK);
	ck_assert_str_eq(buf_str(&out), want);
	end();
	start();
}

START_TEST(each_kind_is_spelt_as_the_wire_has_it)
{
	becomes("begin", "tool", "refund \"x\"", "{\"tool\":\"refund \\\"x\\\"\"}");
	becomes("begin", "run", "7", "{\"run\":\"7\"}");
	becomes("begin", "lease_ms", "5000", "{\"lease_ms\":5000}");
	becomes("begin", "args", " {\"a\": 1e2}\n", "{\"args\":{\"a\": 1e2}}");
	becomes("complete", "result", "12.50", "{\"result\":12.50}");
	becomes("get", "effect", "x", "{\"effect\":\"x\"}");
}
END_TEST

START_TEST(a_result_is_not_judged_beyond_its_grammar)
{
	becomes("complete", "result", "{\"a\":1,\"a\":2}", "{\"result\":{\"a\":1,\"a\":2}}");
	becomes("complete", "result", "\"\\ud800\"", "{\"result\":\"\\ud800\"}");
	becomes("complete", "result", "1e999", "{\"result\":1e999}");
	becomes("complete", "result", "null", "{\"result\":null}");
}
END_TEST

START_TEST(line_breaks_between_tokens_become_blanks)
{
	becomes("complete", "result", "{\r\n \"a\": [\n1]}", "{\"result\":{   \"a\": [ 1]}}");
}
END_TEST

START_TEST(a_value_cannot_add_members)
{
	static const char *const bad[] = {"1,\"token\":\"x\"", "1}", "{}}", "", " ", "1 2",
	    "{\"a\":1}]", "abc", "\"a\nb\"", "'a'"};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ck_assert_int_eq(params("complete", "result", bad[i]), CTL_INPUT);
		ck_assert(strstr(error, "--result: ") == error);
		end();
		start();
	}
}
END_TEST

START_TEST(what_is_no_integer_is_a_usage_error)
{
	static const char *const bad[] = {"", "1.5", "x", "-1", "9223372036854775808"};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ck_assert_int_eq(params("begin", "lease_ms", bad[i]), CTL_USAGE);
		ck_assert_ptr_nonnull(strstr(error, "\"--lease-ms\""));
		end();
		start();
	}
}
END_TEST

START_TEST(broken_utf8_does_not_get_into_a_line)
{
	ck_assert_int_eq(params("begin", "key", "a\xff"), CTL_INPUT);
}
END_TEST

START_TEST(a_missing_file_is_named)
{
	ck_assert_int_eq(params("begin", "args", "@/nowhere/x.json"), CTL_INPUT);
	ck_assert_str_eq(
	    error, "--args: cannot read \"/nowhere/x.json\": No such file or directory");
}
END_TEST

START_TEST(members_keep_to_their_verbs)
{
	member_flags(&set, member_verb("release"));
	ck_assert_ptr_nonnull(flag_find(&set, "token"));
	ck_assert_ptr_nonnull(flag_find(&set, "reason"));
	ck_assert_ptr_null(flag_find(&set, "result"));
	ck_assert_ptr_null(flag_find(&set, "tool"));
	ck_assert_uint_eq(member_verb("status"), 0);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("member");

	tcase_add_checked_fixture(tc, start, end);
	tcase_add_test(tc, each_kind_is_spelt_as_the_wire_has_it);
	tcase_add_test(tc, a_result_is_not_judged_beyond_its_grammar);
	tcase_add_test(tc, line_breaks_between_tokens_become_blanks);
	tcase_add_test(tc, a_value_cannot_add_members);
	tcase_add_test(tc, what_is_no_integer_is_a_usage_error);
	tcase_add_test(tc, broken_utf8_does_not_get_into_a_line);
	tcase_add_test(tc, a_missing_file_is_named);
	tcase_add_test(tc, members_keep_to_their_verbs);
	return tap_run("member", tc);
}
