/*
 * A policy out of a tool's definition: what is guessed, what is asked, that the loader takes it
 * once it is decided, and where it is kept.
 */
#include "alloc.h"
#include "json.h"
#include "skeleton.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

/* The policy of a tool {"name":NAME,MORE}, owned; NULL: it can have none. */
static char *
policy_of(const char *name, const char *more, const char *class)
{
	char *text = xasprintf("{\"name\":%s%s%s}", name, *more ? "," : "", more), *got,
	     *why = NULL;
	struct json_doc doc = {0};
	struct buf out = {0};
	bool ok;

	ck_assert_int_eq(json_scan(&doc, text, strlen(text), NULL, NULL), 0);
	ok = skeleton_write(&out, &doc, 0, class, "", &got, &why);
	ck_assert_msg(ok == !why, "%s: %s", text, why ? why : "no reason");
	buf_add_char(&out, '\0');
	json_free(&doc);
	free(text);
	free(got);
	free(why);
	if (ok)
		return out.data;
	ck_assert_uint_eq(out.len, 1);
	buf_free(&out);
	return NULL;
}

/* Does it hold the text, with `'` for quotes? */
static void
expect(const char *name, const char *more, const char *class, const char *part)
{
	char *policy = policy_of(name, more, class), *wanted = xstrdup(part);

	for (char *c = wanted; *c; c++)
		if (*c == '\'')
			*c = '"';
	ck_assert_ptr_nonnull(policy);
	ck_assert_msg(strstr(policy, wanted), "%s\nlacks %s", policy, wanted);
	free(policy);
	free(wanted);
}

static void
expect_not(const char *name, const char *more, const char *class, const char *part)
{
	char *policy = policy_of(name, more, class);

	ck_assert_ptr_nonnull(policy);
	ck_assert_msg(!strstr(policy, part), "%s\nholds %s", policy, part);
	free(policy);
}

#define ARGS(properties, required)                                         \
	"\"inputSchema\":{\"type\":\"object\",\"properties\":{" properties \
	"},\"required\":[" required "]}"
#define TEXT(name) "\"" name "\":{\"type\":\"string\"}"

START_TEST(classes_are_guessed_as_the_protocol_says_and_asked)
{
	static const struct {
		const char *hints, *class;
	} rows[] = {{"", "irreversible"}, {"\"annotations\":{}", "irreversible"},
	    {"\"annotations\":{\"readOnlyHint\":true,\"destructiveHint\":true}", "read"},
	    {"\"annotations\":{\"readOnlyHint\":\"true\"}", "irreversible"},
	    {"\"annotations\":{\"idempotentHint\":true}", "irreversible"},
	    {"\"annotations\":{\"idempotentHint\":true,\"destructiveHint\":false}", "overwrite"},
	    {"\"annotations\":{\"destructiveHint\":false}", "accumulate"},
	    {"\"annotations\":[1]", "irreversible"}};
	char *class, *guess;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		class = xasprintf("'class': '%s'", rows[i].class);
		guess = xasprintf("'decide': [\n    'class: ");
		expect("\"t\"", rows[i].hints, NULL, class);
		expect("\"t\"", rows[i].hints, NULL, guess);
		free(class);
		free(guess);
	}
	expect(
	    "\"send_mail\"", "\"annotations\":{\"readOnlyHint\":true}", NULL, "speaks against it");
	expect_not(
	    "\"get_mail\"", "\"annotations\":{\"readOnlyHint\":true}", NULL, "speaks against");
	expect("\"t\"", "", "read", "{\n  'name': 't',\n  'class': 'read'\n}");
	expect_not("\"t\"", "", "irreversible", "class: ");
	expect("\"t\"", "", "irreversible", "'decide': [\n    'key: ");
}
END_TEST

START_TEST(keys_are_of_ids_that_must_be_there)
{
	expect("\"t\"", ARGS(TEXT("order_id") "," TEXT("line"), "\"order_id\",\"line\""), NULL,
	    "'key': '{tool}:{/order_id}:{/line}'");
	expect_not("\"t\"", ARGS(TEXT("order_id"), ""), NULL, "\"key\":");
	expect_not("\"t\"",
	    ARGS(TEXT("call_id") "," TEXT("uuid") "," TEXT("memo") "," TEXT("date"),
		"\"call_id\",\"uuid\",\"memo\",\"date\""),
	    NULL, "\"key\":");
	expect_not(
	    "\"t\"", ARGS("\"id\":{\"type\":[\"string\",\"null\"]}", "\"id\""), NULL, "\"key\":");
	expect_not("\"t\"",
	    ARGS("\"order_no\":{\"type\":\"string\",\"format\":\"date-time\"}", "\"order_no\""),
	    NULL, "\"key\":");
	expect("\"t\"",
	    ARGS("\"order\":{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"integer\"}},"
		 "\"required\":[\"id\"]}",
		"\"order\""),
	    NULL, "'key': '{tool}:{/order/id}'");
	expect_not("\"t\"",
	    ARGS("\"order\":{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"integer\"}},"
		 "\"required\":[\"id\"]}",
		""),
	    NULL, "\"key\":");
	expect("\"t\"", ARGS(TEXT("a/b~_id"), "\"a/b~_id\""), NULL, "'keep': ['/a~1b~0_id']");
	expect_not("\"t\"", ARGS(TEXT("{run}_id"), "\"{run}_id\""), NULL, "\"key\":");
	expect(
	    "\"t\"", ARGS(TEXT("to"), "\"to\""), NULL, "'key: do these belong to it, too: /to?'");
	expect("\"t\"", ARGS(TEXT("to"), "\"to\""), NULL, "'business_key': ['/to']");
	expect_not("\"t\"", ARGS(TEXT("to_id") "," TEXT("amount"), "\"to_id\",\"amount\""), NULL,
	    "\"business_key\":");
}
END_TEST

START_TEST(secrets_are_no_part_of_anything)
{
	expect("\"t\"", ARGS(TEXT("api_key") "," TEXT("id"), "\"api_key\",\"id\""), NULL,
	    "'secret': ['/api_key'],\n  'keep': ['/id']");
	expect("\"t\"", ARGS("\"x\":{\"type\":\"string\",\"format\":\"password\"}", ""), NULL,
	    "'secret': ['/x']");
	expect("\"t\"", ARGS("\"x_id\":{\"type\":\"string\",\"writeOnly\":true}", "\"x_id\""), NULL,
	    "'secret': ['/x_id']");
	expect_not("\"t\"", ARGS("\"x_id\":{\"type\":\"string\",\"writeOnly\":true}", "\"x_id\""),
	    NULL, "\"key\":");
	expect("\"t\"", ARGS(TEXT("idempotencyKey"), ""), NULL,
	    "'provider_key_to': '/idempotencyKey'");
}
END_TEST

START_TEST(odd_tools_and_schemas_harm_nothing)
{
	struct buf wide = {0}, deep = {0};
	char *policy;

	ck_assert_ptr_null(policy_of("3", "", NULL));
	ck_assert_ptr_null(policy_of("\"\"", "", NULL));
	ck_assert_ptr_null(policy_of("\"a\\u0000b\"", "", NULL));
	ck_assert_ptr_null(policy_of("\"a\\u001bb\"", "", NULL));
	expect("\"a\\\"},{\\\"b\"", "", NULL, "'name': 'a\\'},{\\'b'");
	expect("\"t\"", "\"inputSchema\":true", NULL, "'class'");
	expect("\"t\"", "\"inputSchema\":{\"properties\":[1],\"required\":3}", NULL, "'class'");
	expect("\"t\"",
	    "\"inputSchema\":{\"properties\":{\"id\":7,\"\":{},\"x\\u0000id\":{}},\"required\":[3]"
	    "}",
	    NULL, "'class'");
	buf_add_str(&wide, "\"inputSchema\":{\"properties\":{");
	for (int i = 0; i < 500; i++)
		buf_printf(&wide, "%s\"a%d_id\":{\"type\":\"string\"}", i ? "," : "", i);
	buf_add_str(&wide, "},\"required\":[");
	for (int i = 0; i < 500; i++)
		buf_printf(&wide, "%s\"a%d_id\"", i ? "," : "", i);
	buf_add_str(&wide, "]}");
	policy = policy_of("\"t\"", buf_str(&wide), NULL);
	ck_assert_uint_lt(strlen(policy), 4000);
	ck_assert_ptr_nonnull(strstr(policy, "there are more of them"));
	free(policy);
	buf_free(&wide);
	buf_add_str(&deep, "\"inputSchema\":{\"properties\":{");
	for (int i = 0; i < 20; i++)
		buf_add_str(&deep, "\"a\":{\"properties\":{");
	for (int i = 0; i < 20; i++)
		buf_add_str(&deep, "}}");
	buf_add_str(&deep, "}}");
	expect("\"t\"", buf_str(&deep), NULL, "'class'");
	buf_free(&deep);
}
END_TEST

START_TEST(a_file_has_a_safe_name_of_its_own)
{
	static const struct {
		const char *name, *file;
	} rows[] = {{"refund_order", "refund_order.json"},
	    {"../etc/passwd", "%2E.%2Fetc%2Fpasswd.json"}, {".", "%2E.json"}, {"a b", "a%20b.json"},
	    {"a%20b", "a%2520b.json"}, {"\xc3\xa9", "%C3%A9.json"}, {"-rf", "-rf.json"}};
	char long_name[129], other[129], *a, *b;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		a = skeleton_file(rows[i].name);
		ck_assert_str_eq(a, rows[i].file);
		free(a);
	}
	memset(long_name, '/', 128);
	long_name[128] = '\0';
	strcpy(other, long_name);
	other[127] = '!';
	a = skeleton_file(long_name);
	b = skeleton_file(other);
	ck_assert_uint_lt(strlen(a), 200);
	ck_assert_str_ne(a, b);
	free(a);
	free(b);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("skeleton");

	tcase_add_test(tc, classes_are_guessed_as_the_protocol_says_and_asked);
	tcase_add_test(tc, keys_are_of_ids_that_must_be_there);
	tcase_add_test(tc, secrets_are_no_part_of_anything);
	tcase_add_test(tc, odd_tools_and_schemas_harm_nothing);
	tcase_add_test(tc, a_file_has_a_safe_name_of_its_own);
	return tap_run("skeleton", tc);
}
