/*
 * The reader of params: every type at the ends of its range, and the pointer and the rule of what
 * is refused. Case 14: a lease is an integer in its range or nothing at all.
 */
#include "limits.h"
#include "methods/params.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

struct values {
	char *text, *label, *ns, *tool, *key;
	const char *word;
	struct param_int lease_ms, at;
	bool flag;
	struct param_uuid uuid;
	struct param_sha256 sha256;
	uint32_t object, any;
};

static const char *const words[] = {"succeeded", "failed", NULL};

static const struct param table[] = {
    PARAM(struct values, text, PARAM_TEXT, .min = 1, .max = 5),
    PARAM(struct values, label, PARAM_LABEL, .min = 1, .max = LABEL_BYTES_MAX),
    {.name = "namespace", .type = PARAM_NAMESPACE, .offset = offsetof(struct values, ns)},
    PARAM(struct values, tool, PARAM_TOOL),
    PARAM(struct values, key, PARAM_KEY),
    PARAM(struct values, word, PARAM_WORD, .words = words),
    PARAM(struct values, lease_ms, PARAM_INT, .min = LEASE_MS_MIN, .max = LEASE_MS_MAX,
	.null_absent = true),
    PARAM(struct values, at, PARAM_INSTANT),
    PARAM(struct values, flag, PARAM_BOOL),
    PARAM(struct values, uuid, PARAM_UUID),
    PARAM(struct values, sha256, PARAM_SHA256),
    PARAM(struct values, object, PARAM_OBJECT),
    PARAM(struct values, any, PARAM_ANY),
};
#define N_TABLE (sizeof(table) / sizeof(table[0]))

static const struct param required_table[] = {
    PARAM(struct values, tool, PARAM_TOOL, .required = true),
    PARAM(struct values, lease_ms, PARAM_INT, .min = 1, .max = 9, .required = true,
	.null_absent = true),
};

static struct json_doc doc;
static struct values v;
static struct param_fault fault;

static void
setup(void)
{
	v = (struct values){0};
	fault = (struct param_fault){"", ""};
}

static void
teardown(void)
{
	params_clear(table, N_TABLE, &v);
	json_free(&doc);
}

static int
read_text(const char *json)
{
	params_clear(table, N_TABLE, &v);
	v = (struct values){0};
	ck_assert_int_eq(json_scan(&doc, json, strlen(json), NULL, NULL), 0);
	return params_read(&doc, 0, "", table, N_TABLE, &v, &fault);
}

/* Node 0 is the root, which params_read() would take for "absent": the params stand one deeper. */
static int
read_params(const char *json)
{
	char line[4096];
	uint32_t params;

	params_clear(table, N_TABLE, &v);
	v = (struct values){0};
	ck_assert_uint_lt(strlen(json) + 16, sizeof(line));
	strcpy(line, "{\"params\":");
	strcat(line, json);
	strcat(line, "}");
	ck_assert_int_eq(json_scan(&doc, line, strlen(line), NULL, NULL), 0);
	params = json_member(&doc, 0, "params");
	return params_read(&doc, params, "", table, N_TABLE, &v, &fault);
}

static void
refused(const char *json, const char *pointer, const char *why)
{
	ck_assert_msg(read_params(json) == ERR_INVALID_PARAMS, "%s was taken", json);
	ck_assert_str_eq(fault.pointer, pointer);
	ck_assert_msg(strstr(fault.why, why), "%s: '%s' does not say '%s'", json, fault.why, why);
}

static void
taken(const char *json)
{
	ck_assert_msg(read_params(json) == 0, "%s: %s %s", json, fault.pointer, fault.why);
}

START_TEST(absent_params_and_members_are_nothing)
{
	ck_assert_int_eq(read_text("{}"), 0);
	taken("{}");
	ck_assert_ptr_null(v.text);
	ck_assert(!v.lease_ms.set && !v.uuid.set && !v.flag && !v.object);
	refused("[]", "", "object");
	refused("7", "", "object");
}
END_TEST

START_TEST(an_instant_is_one_of_utc)
{
	taken("{\"at\":\"1970-01-01T00:00:01.0000019Z\"}");
	ck_assert(v.at.set && v.at.value == 1000001);
	taken("{\"at\":\"1970-01-01T00:00:00\\u005a\"}");
	ck_assert(v.at.set && v.at.value == 0);
	taken("{}");
	ck_assert(!v.at.set);
	refused("{\"at\":\"1970-01-01T00:00:00+01:00\"}", "/at", "instant");
	refused("{\"at\":\"1970-01-01T00:00:00\"}", "/at", "instant");
	refused("{\"at\":\"1970-01-01T00:00:00Z\\u0000\"}", "/at", "instant");
	refused("{\"at\":\"now\"}", "/at", "instant");
	refused("{\"at\":0}", "/at", "instant");
	refused("{\"at\":null}", "/at", "instant");
	ck_assert(!v.at.set);
}
END_TEST

START_TEST(misspelt_member_is_refused_with_the_nearest_name)
{
	refused("{\"leese_ms\":1000}", "/leese_ms", "'lease_ms'");
	refused("{\"Text\":\"a\"}", "/Text", "no such member");
	refused("{\"zzzzzzzz\":1}", "/zzzzzzzz", "no such member");
	refused("{\"a/b~c\":1}", "/a~1b~0c", "no such member");
	refused("{\"\":1}", "/", "no such member");
	/* the escaped spelling is the same name */
	taken("{\"t\\u0065xt\":\"abc\"}");
	ck_assert_str_eq(v.text, "abc");
}
END_TEST

START_TEST(long_name_is_cut_at_a_characters_edge)
{
	char json[2000] = "{\"";
	int i;

	for (i = 0; i < 300; i++)
		strcat(json, "\303\244");
	strcat(json, "\":1}");
	ck_assert_int_eq(read_params(json), ERR_INVALID_PARAMS);
	ck_assert_uint_lt(strlen(fault.pointer), JSON_POINTER_BYTES);
	ck_assert(json_utf8(fault.pointer, strlen(fault.pointer)));
}
END_TEST

/* case 14; case 133: 2^31, a year, 2^53, 2^63 */
START_TEST(lease_is_an_integer_in_its_range_or_absent)
{
	static const char *const bad[] = {"-1", "0", "0.5", "\"30\"", "1e300", "999", "3600001",
	    "1e3", "1000.0", "true", "{}", "[]", "2147483648", "31536000000", "9007199254740992",
	    "9223372036854775808"};
	char json[64];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(json, sizeof(json), "{\"lease_ms\":%s}", bad[i]);
		refused(json, "/lease_ms", "integer from 1000 to 3600000");
	}
	taken("{\"lease_ms\":null}");
	ck_assert(!v.lease_ms.set);
	taken("{\"lease_ms\":1000}");
	ck_assert_int_eq(v.lease_ms.value, 1000);
	taken("{\"lease_ms\":3600000}");
	ck_assert_int_eq(v.lease_ms.value, 3600000);
}
END_TEST

START_TEST(null_is_absent_only_where_the_table_says_so)
{
	refused("{\"text\":null}", "/text", "string");
	refused("{\"flag\":null}", "/flag", "true or false");
	refused("{\"uuid\":null}", "/uuid", "UUID");
	refused("{\"object\":null}", "/object", "object");
	refused("{\"key\":null}", "/key", "string");
	taken("{\"any\":null}");
	ck_assert_uint_ne(v.any, 0);
}
END_TEST

START_TEST(text_counts_bytes_and_holds_no_nul)
{
	taken("{\"text\":\"\\u00e4bcd\"}");
	ck_assert_str_eq(v.text, "\303\244bcd");
	refused("{\"text\":\"\\u00e4bcde\"}", "/text", "1 to 5 bytes");
	refused("{\"text\":\"\"}", "/text", "1 to 5 bytes");
	refused("{\"text\":\"a\\u0000b\"}", "/text", "NUL");
	refused("{\"text\":1}", "/text", "string");
}
END_TEST

START_TEST(label_is_text_or_an_integer_in_canonical_spelling)
{
	taken("{\"label\":\"07\"}");
	ck_assert_str_eq(v.label, "07");
	taken("{\"label\":7}");
	ck_assert_str_eq(v.label, "7");
	taken("{\"label\":-0}");
	ck_assert_str_eq(v.label, "0");
	taken("{\"label\":9007199254740993}");
	ck_assert_str_eq(v.label, "9007199254740993");
	refused("{\"label\":1.0}", "/label", "string or an integer");
	refused("{\"label\":1e2}", "/label", "string or an integer");
	refused("{\"label\":true}", "/label", "string or an integer");
	refused("{\"label\":\"\"}", "/label", "1 to 255 bytes");
}
END_TEST

START_TEST(names_have_their_alphabets)
{
	taken("{\"namespace\":\"a-z_0.9\"}");
	ck_assert_str_eq(v.ns, "a-z_0.9");
	refused("{\"namespace\":\"A\"}", "/namespace", "a-z");
	refused("{\"namespace\":\"\"}", "/namespace", "a-z");
	refused("{\"namespace\":\"a\\u0000\"}", "/namespace", "a-z");
	refused(
	    "{\"namespace\":\"0123456789012345678901234567890123456789012345678901234567890123\"}",
	    "/namespace", "1 to 63");
	taken("{\"tool\":\"send mail \\u00fc\"}");
	refused("{\"tool\":\"a\\nb\"}", "/tool", "control");
	refused("{\"tool\":\"a\\u0085b\"}", "/tool", "control");
	refused("{\"tool\":\"a\\u007f\"}", "/tool", "control");
	refused("{\"tool\":\"\"}", "/tool", "1 to 128");
	taken("{\"key\":\"refund:1042:3\"}");
	refused("{\"key\":\"\"}", "/key", "");
	refused("{\"key\":\"a\\u0000b\"}", "/key", "");
}
END_TEST

START_TEST(words_flags_and_ids)
{
	taken("{\"word\":\"failed\",\"flag\":true}");
	ck_assert_ptr_eq(v.word, words[1]);
	ck_assert(v.flag);
	refused("{\"word\":\"Failed\"}", "/word", "'succeeded', 'failed'");
	refused("{\"word\":1}", "/word", "'succeeded', 'failed'");
	refused("{\"flag\":1}", "/flag", "true or false");
	taken("{\"uuid\":\"0123ABCD-4567-89ab-cdef-0123456789AB\"}");
	ck_assert_uint_eq(v.uuid.value.b[2], 0xab);
	refused("{\"uuid\":\"0123abcd456789abcdef0123456789ab\"}", "/uuid", "UUID");
	refused("{\"uuid\":\"\"}", "/uuid", "UUID");
	refused("{\"uuid\":7}", "/uuid", "UUID");
	taken("{\"sha256\":\"00112233445566778899aabbccddeeffFFEEDDCCBBAA99887766554433221100\"}");
	ck_assert_uint_eq(v.sha256.value[1], 0x11);
	ck_assert_uint_eq(v.sha256.value[16], 0xff);
	refused("{\"sha256\":\"0011\"}", "/sha256", "64 hex digits");
	refused("{\"object\":[]}", "/object", "object");
}
END_TEST

START_TEST(required_members_must_be_there)
{
	uint32_t params;

	ck_assert_int_eq(json_scan(&doc, "[{\"tool\":\"a\"}]", 14, NULL, NULL), 0);
	params = 1;
	ck_assert_int_eq(
	    params_read(&doc, params, "", required_table, 2, &v, &fault), ERR_INVALID_PARAMS);
	ck_assert_str_eq(fault.pointer, "/lease_ms");
	ck_assert_str_eq(fault.why, "is required");
	params_clear(required_table, 2, &v);
	ck_assert_int_eq(
	    params_read(&doc, 0, "/at", required_table, 2, &v, &fault), ERR_INVALID_PARAMS);
	ck_assert_str_eq(fault.pointer, "/at/tool");
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("params");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, absent_params_and_members_are_nothing);
	tcase_add_test(tc, an_instant_is_one_of_utc);
	tcase_add_test(tc, misspelt_member_is_refused_with_the_nearest_name);
	tcase_add_test(tc, long_name_is_cut_at_a_characters_edge);
	tcase_add_test(tc, lease_is_an_integer_in_its_range_or_absent);
	tcase_add_test(tc, null_is_absent_only_where_the_table_says_so);
	tcase_add_test(tc, text_counts_bytes_and_holds_no_nul);
	tcase_add_test(tc, label_is_text_or_an_integer_in_canonical_spelling);
	tcase_add_test(tc, names_have_their_alphabets);
	tcase_add_test(tc, words_flags_and_ids);
	tcase_add_test(tc, required_members_must_be_there);
	return tap_run("params", tc);
}
