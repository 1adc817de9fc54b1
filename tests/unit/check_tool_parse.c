/*
 * Every rule of a policy's members: what is taken, what fails to load and how it says so. Sets of
 * policies: check_tool.c.
 */
#include "alloc.h"
#include "tap.h"
#include "tool.h"
#include "tool_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

START_TEST(leases_are_never_over_at_birth) /* case 14 */
{
	static const char *const bad[] = {"-1", "0", "0.5", "\"30\"", "1e300", "30", "null", "true",
	    "\"-1s\"", "\"0s\"", "\"999ms\"", "\"0.5s\"", "\"3601s\"", "\"61m\"", "\"2h\"",
	    "\"1e300s\"", "\"\"", "\"s\"", "[]"};
	char members[64];

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(members, sizeof members, "\"lease\":%s", bad[i]);
		expect_error(members,
		    "/lease: must be a string, a whole number and its unit (ms, s, m, h, d), from "
		    "1s to 1h");
	}
	expect_good("\"lease\":\"1s\"");
	expect_good("\"lease\":\"1000ms\"");
	expect_good("\"lease\":\"1h\"");
}
END_TEST

START_TEST(long_durations_are_honoured_or_refused) /* case 133 */
{
	static const char *const members[] = {"hold_max", "settle", "probe_timeout",
	    "escalate_after", "keep_key", "keep_result", "business_window"};
	static const char *const bad[] = {"\"2147483648ms\"", "\"9007199254740992ms\"",
	    "\"9223372036854775808ms\"", "\"3651d\"", "\"999999999d\"", "31536000000"};
	char text[128], error[256];

	for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
		for (size_t j = 0; j < sizeof bad / sizeof bad[0]; j++) {
			snprintf(text, sizeof text, "\"%s\":%s", members[i], bad[j]);
			snprintf(error, sizeof error,
			    "/%s: must be a string, a whole number and its unit (ms, s, m, h, d), "
			    "from "
			    "0s to 3650d",
			    members[i]);
			expect_error(text, error);
		}
		snprintf(text, sizeof text, "\"keep_key\":\"3650d\",\"hold_max\":\"365d\"");
		expect_good(text);
	}
	expect_error("\"probe_backoff\":[\"2s\",8]",
	    "/probe_backoff: must be a string, a whole number and its unit (ms, s, m, h, d), from "
	    "0s to "
	    "3650d");
	expect_error(
	    "\"probe_backoff\":[]", "/probe_backoff: must be an array of 1 to 64 durations");
	expect_error(
	    "\"probe_backoff\":\"2s\"", "/probe_backoff: must be an array of 1 to 64 durations");
}
END_TEST

START_TEST(counts_are_whole_and_in_range)
{
	static const char *const members[] = {
	    "max_attempts", "absent_needed", "result_max", "turn_budget", "turn_asks"};
	static const char *const bad[] = {
	    "0", "-1", "1.5", "1000001", "1e300", "-1e300", "\"3\"", "null", "9223372036854775808"};
	char text[128], error[128];

	for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
		for (size_t j = 0; j < sizeof bad / sizeof bad[0]; j++) {
			snprintf(text, sizeof text, "\"%s\":%s", members[i], bad[j]);
			snprintf(error, sizeof error,
			    "/%s: must be a whole number from 1 to 1000000", members[i]);
			expect_error(text, error);
		}
		snprintf(text, sizeof text, "\"%s\":1000000", members[i]);
		expect_good(text);
	}
}
END_TEST

START_TEST(results_do_not_outlive_their_key)
{
	struct tool_set *set;

	expect_error("\"keep_result\":\"2h\",\"keep_key\":\"1h\"",
	    "/keep_result: must not be above 'keep_key'");
	expect_error("\"keep_result\":\"31d\"", "/keep_result: must not be above 'keep_key'");
	set = load("{\"name\":\"t\",\"keep_key\":\"1h\"}"); /* the default gives way */
	ck_assert_int_eq(tool_find(set, "n", "t")->keep_result_ms, 3600000);
	tool_set_free(set);
}
END_TEST

START_TEST(an_unknown_member_is_named_with_the_nearest)
{
	expect_error("\"leese\":\"60s\"", "unknown member 'leese', the nearest is 'lease'");
	expect_error("\"Lease\":\"60s\"", "unknown member 'Lease', the nearest is 'lease'");
	expect_error("\"colour\":1", "unknown member 'colour'");
	expect_error("\"escalate-after\":\"1s\"",
	    "unknown member 'escalate-after', the nearest is 'escalate_after'");
	expect_error("\"ke\\ny\":\"x\"", "unknown member 'ke?y', the nearest is 'key'");
	ck_assert_str_eq(error_of("[{\"name\":\"a\"},{\"name\":\"b\",\"secrets\":[]}]"),
	    "a.json: 'b': /1: unknown member 'secrets', the nearest is 'secret'");
}
END_TEST

#define EXECUTE(more) "\"execute\":{\"query\":\"select f($1)\",\"user\":\"u\"" more "}"

START_TEST(what_a_probe_asks_with_is_kept)
{
	expect_error("\"probe\":{\"http\":{\"url\":1}}",
	    "/probe/http/url: must be a string, an http:// or https:// URL of at most 2048 bytes");
	expect_error("\"probe\":{\"http\":{\"url\":\"http://h/{/a}\","
		     "\"landed\":{\"status\":200}}}",
	    "/probe/http: '{/a}' is not among what 'keep' stores");
	expect_good("\"probe\":{\"http\":{\"url\":\"http://h/{/a}\",\"landed\":{\"status\":200}}},"
		    "\"keep\":[\"/a\"]");
	expect_error("\"probe\":{\"sql\":{}}", "/probe/sql: 'query' is missing");
	expect_error("\"probe\":{\"sql\":{\"query\":\"select $1\",\"params\":[\"{/a}\"]}}",
	    "/probe/sql: '{/a}' is not among what 'keep' stores");
	expect_good("\"probe\":{\"sql\":{\"query\":\"select $1\",\"params\":[\"{/a}\"]}},"
		    "\"keep\":[\"/a\"]");
}
END_TEST

START_TEST(an_execute_is_whole_or_none)
{
	static const struct {
		const char *members, *error;
	} bad[] = {
	    {"\"execute\":3", "/execute: must be an object"},
	    {"\"execute\":{\"query\":\"select 1\"}", "/execute: 'user' is missing"},
	    {"\"execute\":{\"user\":\"u\"}", "/execute: 'query' is missing"},
	    {"\"execute\":{\"query\":\"select 1;\",\"user\":\"u\"}", "/execute/query: must be one"},
	    {"\"execute\":{\"query\":\"select 1\",\"user\":\"u\"}",
		"/execute/query: does not name $1"},
	    {EXECUTE(",\"params\":[]"), "/execute/query: names $1, and there are 0"},
	    {EXECUTE(",\"params\":[\"{arg}\"]"), "/execute/params: unknown placeholder"},
	    {EXECUTE(",\"params\":[\"{key} {tool}\"]"), "/execute/params: unknown placeholder"},
	    {EXECUTE(",\"params\":[\"k{key}\"]"), "/execute/params: 'k{key}' must be one"},
	    {EXECUTE(",\"params\":[3]"), "/execute/params: must hold strings"},
	    {EXECUTE(",\"timeout\":\"0s\""), "/execute/timeout: must be"},
	    {EXECUTE(",\"timeout\":\"11m\""), "/execute/timeout: must be"},
	    {EXECUTE(",\"password_file\":\"../p\""), "/execute/password_file: must be"},
	    {EXECUTE(",\"database\":\"x\""), "/execute: unknown member 'database'"},
	    {EXECUTE("") ",\"class\":\"read\"", "/execute: needs the class"},
	    {EXECUTE("") ",\"on_unknown\":\"retry\",\"retry_window\":\"1h\"",
		"/on_unknown: \"retry\" is nothing with 'execute'"},
	    {EXECUTE("") ",\"provider_key_to\":\"/k\"", "/provider_key_to: is for wrappers"},
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		char text[512];

		snprintf(text, sizeof text, "{\"name\":\"t\",%s}", bad[i].members);
		ck_assert_msg(
		    strstr(error_of(text), bad[i].error) != NULL, "%s: %s", text, error_of(text));
	}
	expect_good(EXECUTE(""));
	expect_good(EXECUTE(",\"params\":[\"{/a~1b/0}\"],\"timeout\":\"10m\""));
}
END_TEST

#define COLUMNS "\"columns\":{\"provider_key\":\"k\",\"amount\":\"a\"}"
#define RECONCILE(more) "\"reconcile\":{" COLUMNS more "}"

START_TEST(an_export_is_described_whole)
{
	static const struct {
		const char *members, *error;
	} bad[] = {
	    {"\"reconcile\":3", "/reconcile: must be an object"},
	    {"\"reconcile\":{}", "/reconcile/columns: must name 'provider_key'"},
	    {"\"reconcile\":{\"columns\":{\"time\":\"t\"}}", "/reconcile/columns: must name"},
	    {"\"reconcile\":{\"columns\":{\"provider_key\":[\"a\",\"b\"]}}",
		"/reconcile/columns: must give"},
	    {"\"reconcile\":{\"columns\":{\"Provider\":\"a\"}}", "/reconcile/columns: must give"},
	    {"\"reconcile\":{\"columns\":{\"business_key\":[\"a\",3]}}",
		"/reconcile/columns: must give"},
	    {RECONCILE(",\"exec\":[]"), "/reconcile/exec: must be an array"},
	    {RECONCILE(",\"exec\":[\"export\"]"), "/reconcile/exec/0: must be an absolute path"},
	    {RECONCILE(",\"format\":\"xml\""), "/reconcile/format: must be"},
	    {RECONCILE(",\"delimiter\":\"#\""), "/reconcile/delimiter: must be"},
	    {RECONCILE(",\"minor_units\":19"), "/reconcile/minor_units: must be"},
	    {RECONCILE(",\"minor_units\":0.5"), "/reconcile/minor_units: must be"},
	    {RECONCILE(",\"utc\":1"), "/reconcile/utc: must be"},
	    {RECONCILE(",\"where\":{\"s\":1}"), "/reconcile/where: must be"},
	    {RECONCILE(",\"compare\":{\"/a\":\"sum\"}"), "/reconcile/compare: there is no column"},
	    {RECONCILE(",\"compare\":{\"a\":\"amount\"}"), "/reconcile/compare: must be"},
	    {RECONCILE(",\"compare\":{\"/a\":\"amount\"}"), "/reconcile/compare: '/a' is compared"},
	    {RECONCILE(",\"colums\":{}"), "/reconcile: unknown member 'colums'"},
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		char text[512];

		snprintf(text, sizeof text, "{\"name\":\"t\",%s}", bad[i].members);
		ck_assert_msg(
		    strstr(error_of(text), bad[i].error) != NULL, "%s: %s", text, error_of(text));
	}
	expect_good(RECONCILE(""));
	expect_good(
	    RECONCILE(",\"exec\":[\"/bin/export\",\"-x\"],\"format\":\"jsonl\",\"delimiter\":"
		      "\"tab\",\"minor_units\":2,\"utc\":true,\"where\":{\"s\":\"\"},"
		      "\"compare\":{\"/a\":\"amount\"}") ",\"keep\":[\"/a\"]");
}
END_TEST

START_TEST(words_are_from_their_list)
{
	expect_error("\"on_unknown\":\"ask\"", "/on_unknown: must be probe, human or retry");
	expect_error("\"on_error\":\"retry\"", "/on_error: must be unknown, failed or released");
	expect_error("\"on_error\":false", "/on_error: must be unknown, failed or released");
}
END_TEST

START_TEST(a_retry_has_its_window)
{
	static const char retry[] = "\"on_unknown\":\"retry\"";
	char text[128];

	expect_good("\"on_unknown\":\"retry\",\"retry_window\":\"12h\"");
	expect_good("\"retry_window\":\"1ms\",\"on_unknown\":\"retry\"");
	expect_good("\"class\":\"read\",\"on_unknown\":\"retry\",\"retry_window\":\"1s\"");
	expect_error(retry,
	    "/on_unknown: \"retry\" needs a 'retry_window', shorter than the "
	    "provider remembers a key");
	expect_error(
	    "\"retry_window\":\"12h\"", "/retry_window: is nothing without 'on_unknown' \"retry\"");
	expect_error("\"retry_window\":\"12h\",\"on_unknown\":\"probe\"",
	    "/retry_window: is nothing without 'on_unknown' \"retry\"");
	snprintf(text, sizeof text, "%s,\"retry_window\":\"0s\"", retry);
	expect_error(text,
	    "/retry_window: must be a string, a whole number and its unit (ms, s, m, "
	    "h, d), from 1ms to 3650d");
	snprintf(text, sizeof text, "%s,\"retry_window\":3600", retry);
	expect_error(text,
	    "/retry_window: must be a string, a whole number and its unit (ms, s, m, "
	    "h, d), from 1ms to 3650d");
}
END_TEST

START_TEST(the_providers_key_goes_where_nothing_else_is_read)
{
	static const char rule[] = "/provider_key_to: must be a JSON pointer (RFC 6901, such as "
				   "\"/idempotency_key\") of 1 "
				   "to 255 bytes";
	static const char *const bad[] = {"\"\"", "\"key\"", "\"/a~2\"", "[\"/a\"]", "null", "3"};
	struct tool_set *set;
	char text[64];

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(text, sizeof text, "\"provider_key_to\":%s", bad[i]);
		expect_error(text, rule);
	}
	expect_good("\"provider_key_to\":\"/a\",\"key\":\"k:{/b}:{/ab}\"");
	expect_error("\"provider_key_to\":\"/a\",\"key\":\"k:{/b}:{/a}\"",
	    "/key: is made of '/a', where 'provider_key_to' puts the provider's key");
	expect_error("\"key\":\"k:{/a/b}\",\"provider_key_to\":\"/a\"",
	    "/key: is made of '/a', where 'provider_key_to' puts the provider's key");
	expect_error("\"business_key\":[\"/b\",\"/a\"],\"provider_key_to\":\"/a\"",
	    "/business_key: is made of '/a', where 'provider_key_to' puts the provider's key");
	set = load("{\"name\":\"t\",\"ignore\":[\"/i\"],\"provider_key_to\":\"/a/b\"}");
	ck_assert_str_eq(tool_find(set, "n", "t")->provider_key_to, "/a/b");
	ck_assert_ptr_nonnull(
	    strstr(tool_find(set, "n", "t")->json, ",\"provider_key_to\":\"/a/b\""));
	ck_assert_uint_eq(tool_find(set, "n", "t")->fingerprint_skip.n, 2);
	ck_assert_str_eq(tool_find(set, "n", "t")->fingerprint_skip.items[1], "/a/b");
	ck_assert_ptr_null(strstr(tool_default(set, "n", "u")->json, "provider_key_to"));
	tool_set_free(set);
}
END_TEST

START_TEST(names_and_namespaces_have_a_form)
{
	char name[160], text[256];

	ck_assert_str_eq(error_of("{}"), "a.json: 'name' is missing");
	ck_assert_str_eq(error_of("[{}]"), "a.json: /0: 'name' is missing");
	ck_assert_ptr_nonnull(
	    strstr(error_of("{\"name\":\"\"}"), "/name: must be a string of 1 to 128 bytes"));
	ck_assert_ptr_nonnull(strstr(error_of("{\"name\":\"a\\u0007\"}"), "'a?': /name: must be"));
	ck_assert_ptr_nonnull(strstr(error_of("{\"name\":\"a\\u0085\"}"), "/name: must be"));
	ck_assert_ptr_nonnull(strstr(error_of("{\"name\":7}"), "/name: must be"));
	memset(name, 'n', sizeof name);
	name[129] = '\0';
	snprintf(text, sizeof text, "{\"name\":\"%s\"}", name);
	ck_assert_ptr_nonnull(strstr(error_of(text), "/name: must be"));
	name[128] = '\0';
	snprintf(text, sizeof text, "{\"name\":\"%s\"}", name);
	tool_set_free(load(text));
	expect_error(
	    "\"namespace\":\"\"", "/namespace: must be 1 to 63 of a-z, 0-9, '_', '.', '-'");
	expect_error(
	    "\"namespace\":\"A\"", "/namespace: must be 1 to 63 of a-z, 0-9, '_', '.', '-'");
	expect_error(
	    "\"namespace\":null", "/namespace: must be 1 to 63 of a-z, 0-9, '_', '.', '-'");
	name[64] = '\0';
	snprintf(text, sizeof text, "\"namespace\":\"%s\"", name);
	expect_error(text, "/namespace: must be 1 to 63 of a-z, 0-9, '_', '.', '-'");
	name[63] = '\0';
	snprintf(text, sizeof text, "\"namespace\":\"%s\"", name);
	expect_good(text);
}
END_TEST

START_TEST(pointers_follow_rfc_6901)
{
	static const char *const lists[] = {
	    "ignore", "secret", "result_secret", "keep", "business_key"};
	static const char *const bad[] = {
	    "[\"memo\"]", "[\"/a~2\"]", "[\"/a~\"]", "[\"#/a\"]", "[3]", "[null]"};
	char text[2048], error[256];
	size_t i, j, n;

	for (i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		for (j = 0; j < sizeof bad / sizeof bad[0]; j++) {
			snprintf(text, sizeof text, "\"%s\":%s", lists[i], bad[j]);
			snprintf(error, sizeof error,
			    "/%s: must hold JSON pointers (RFC 6901, such as \"/order_id\") of at "
			    "most 255 "
			    "bytes",
			    lists[i]);
			expect_error(text, error);
		}
		snprintf(text, sizeof text, "\"%s\":\"/a\"", lists[i]);
		snprintf(error, sizeof error, "/%s: must be an array of at most 64 JSON pointers",
		    lists[i]);
		expect_error(text, error);
		n = (size_t)snprintf(text, sizeof text, "\"%s\":[\"/0\"", lists[i]);
		for (j = 1; j < 64; j++)
			n += (size_t)snprintf(text + n, sizeof text - n, ",\"/%zu\"", j);
		strcpy(text + n, "]");
		expect_good(text);
		strcpy(text + n, ",\"/64\"]");
		expect_error(text, error);
	}
	n = (size_t)snprintf(text, sizeof text, "\"ignore\":[\"/");
	memset(text + n, 'a', 255);
	strcpy(text + n + 255, "\"]"); /* 256 bytes with its slash */
	ck_assert_uint_eq(strlen(text), n + 257);
	expect_error(text,
	    "/ignore: must hold JSON pointers (RFC 6901, such as \"/order_id\") of at most 255 "
	    "bytes");
	strcpy(text + n + 254, "\"]");
	expect_good(text);
	expect_good("\"ignore\":[\"\",\"/a~0b~1c\",\"/items/0/note\"]");
}
END_TEST

START_TEST(what_is_secret_is_neither_kept_nor_part_of_a_key) /* case 141 */
{
	expect_error("\"secret\":[\"/card\"],\"keep\":[\"/order\",\"/card\"]",
	    "/keep: '/card' stands at or under the secret '/card'");
	expect_error("\"keep\":[\"/card/number\"],\"secret\":[\"/card\"]",
	    "/keep: '/card/number' stands at or under the secret '/card'");
	expect_error("\"keep\":[\"/pay\"],\"secret\":[\"/pay/card\"]",
	    "/keep: '/pay' holds the secret '/pay/card'");
	expect_error(
	    "\"keep\":[\"\"],\"secret\":[\"/card\"]", "/keep: '' holds the secret '/card'");
	expect_good("\"keep\":[\"/cards\"],\"secret\":[\"/card\"]");
	ck_assert_ptr_nonnull(
	    strstr(error_of("{\"name\":\"t\",\"key\":\"k:{/card}\",\"secret\":[\"/card\"]}"),
		"'t': /key: "));
	ck_assert_ptr_nonnull(
	    strstr(error_of("{\"name\":\"t\",\"key\":\"k:{/card/n}\",\"secret\":[\"/card\"]}"),
		"'t': /key: "));
	ck_assert_ptr_nonnull(
	    strstr(error_of("{\"name\":\"t\",\"key\":\"k:{nothing}\"}"), "'t': /key: "));
	ck_assert_ptr_nonnull(
	    strstr(error_of("{\"name\":\"t\",\"key\":\"k%{/a}\"}"), "'t': /key: "));
	expect_error("\"key\":7", "/key: must be a string");
}
END_TEST

START_TEST(a_business_guard_is_whole_or_none)
{
	static const char none[] = "guards nothing without a 'business_key'";
	const struct tool_policy *policy;
	struct tool_set *set;
	char text[128];

	snprintf(text, sizeof text, "/business_window: %s", none);
	expect_error("\"business_window\":\"1h\"", text);
	expect_error("\"business_window\":\"1h\",\"business_key\":[]", text);
	snprintf(text, sizeof text, "/on_business_duplicate: %s", none);
	expect_error("\"on_business_duplicate\":\"hold\"", text);
	expect_error("\"business_key\":[\"/a\"],\"on_business_duplicate\":\"refuse\"",
	    "/on_business_duplicate: must be report or hold");
	expect_error("\"business_key\":[\"/a\"],\"keep_key\":\"59m\"",
	    "/business_window: must not be above 'keep_key'");
	expect_error("\"business_key\":[\"/a\"],\"business_window\":\"31d\"",
	    "/business_window: must not be above 'keep_key'");
	expect_good("\"business_key\":[\"/a\"],\"business_window\":\"30d\"");
	expect_good("\"business_key\":[]");
	expect_error("\"business_key\":[\"/a\",\"/card/n\"],\"secret\":[\"/card\"]",
	    "/business_key: \"/card/n\" is secret, and a key is stored and shown");
	set = load("{\"name\":\"t\",\"turn_asks\":9,\"business_key\":[\"/b\",\"/a\"]}");
	policy = tool_find(set, "n", "t");
	ck_assert_str_eq(key_template_text(policy->business), "{/b}:{/a}");
	ck_assert_int_eq(policy->turn_budget, 0);
	ck_assert_int_eq(policy->turn_asks, 9);
	ck_assert_ptr_nonnull(
	    strstr(policy->json, "\"business_key\":[\"/b\",\"/a\"],\"business_window\":\"1h\","));
	ck_assert_ptr_nonnull(strstr(policy->json, "\"on_business_duplicate\":\"report\","));
	ck_assert_ptr_nonnull(strstr(policy->json, "\"turn_asks\":9"));
	ck_assert_ptr_null(strstr(policy->json, "turn_budget"));
	tool_set_free(set);
	set = load("{\"name\":\"t\"}"); /* what is not there is not told */
	ck_assert_ptr_null(strstr(tool_find(set, "n", "t")->json, "business"));
	ck_assert_ptr_null(strstr(tool_find(set, "n", "t")->json, "turn"));
	tool_set_free(set);
}
END_TEST

START_TEST(exec_probes_are_absolute_and_bounded)
{
	static const char *const bad[][2] = {
	    {"null", "/probe: must be an object with one member, the kind of the probe"},
	    {"{}", "/probe: must be an object with one member, the kind of the probe"},
	    {"{\"exec\":{\"argv\":[\"/p\"]},\"sql\":{}}",
		"/probe: must be an object with one member, the kind of the probe"},
	    {"{\"exce\":{}}", "/probe: unknown member 'exce', the nearest is 'exec'"},
	    {"{\"exec\":[\"/p\"]}", "/probe/exec: must be an object with the member 'argv'"},
	    {"{\"exec\":{}}", "/probe/exec: must be an object with the member 'argv'"},
	    {"{\"exec\":{\"argv\":[\"/p\"],\"args\":[]}}",
		"/probe/exec: unknown member 'args', the nearest is 'argv'"},
	    {"{\"exec\":{\"argv\":\"/p\"}}",
		"/probe/exec/argv: must be an array of 1 to 64 strings"},
	    {"{\"exec\":{\"argv\":[]}}", "/probe/exec/argv: must be an array of 1 to 64 strings"},
	    {"{\"exec\":{\"argv\":[\"/p\",1]}}",
		"/probe/exec/argv: must be an array of 1 to 64 strings"},
	    {"{\"exec\":{\"argv\":[\"p\"]}}", "/probe/exec/argv/0: must be an absolute path"},
	    {"{\"exec\":{\"argv\":[\"\"]}}", "/probe/exec/argv/0: must be an absolute path"},
	};
	char text[2048];
	size_t i, n;

	for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(text, sizeof text, "\"probe\":%s", bad[i][0]);
		expect_error(text, bad[i][1]);
	}
	n = (size_t)snprintf(text, sizeof text, "\"probe\":{\"exec\":{\"argv\":[\"/p\"");
	for (i = 1; i < 64; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, ",\"x\"");
	strcpy(text + n, "]}}");
	expect_good(text);
	strcpy(text + n, ",\"x\"]}}");
	expect_error(text, "/probe/exec/argv: must be an array of 1 to 64 strings");
}
END_TEST

START_TEST(mcp_definitions_are_taken_as_they_are)
{
	static const char mcp[] =
	    "{\"name\":\"t\",\"title\":\"T\",\"description\":\"d\",\"inputSchema\":{\"type\":"
	    "\"object\"},"
	    "\"outputSchema\":{},\"annotations\":{\"readOnlyHint\":true,\"other\":1},\"icons\":[],"
	    "\"execution\":{},\"_meta\":{}%s}";
	char text[512];
	struct tool_set *set;

	snprintf(text, sizeof text, mcp, "");
	set = load(text);
	ck_assert_int_eq(tool_find(set, "n", "t")->class, TOOL_IRREVERSIBLE); /* not trusted */
	tool_set_free(set);
	set = load_dir(true);
	ck_assert_int_eq(tool_find(set, "n", "t")->class, TOOL_READ);
	tool_set_free(set);
	snprintf(text, sizeof text, mcp, ",\"class\":\"accumulate\""); /* its own class wins */
	write_file("a.json", text);
	set = load_dir(true);
	ck_assert_int_eq(tool_find(set, "n", "t")->class, TOOL_ACCUMULATE);
	tool_set_free(set);
	snprintf(text, sizeof text, mcp, ",\"titel\":1");
	ck_assert_str_eq(
	    error_of(text), "a.json: 't': unknown member 'titel', the nearest is 'title'");
	expect_error(
	    "\"title\":\"T\"", "unknown member 'title', which may only stand beside 'inputSchema'");
	expect_error("\"annotations\":{}",
	    "unknown member 'annotations', which may only stand beside 'inputSchema'");
}
END_TEST

START_TEST(trusted_annotations_make_the_class)
{
	static const struct {
		const char *annotations;
		enum tool_class class;
	} rows[] = {
	    {"{}", TOOL_IRREVERSIBLE},
	    {"{\"readOnlyHint\":true}", TOOL_READ},
	    {"{\"readOnlyHint\":true,\"destructiveHint\":true}", TOOL_READ},
	    {"{\"readOnlyHint\":false}", TOOL_IRREVERSIBLE},
	    {"{\"idempotentHint\":true}",
		TOOL_IRREVERSIBLE}, /* destructive unless said otherwise */
	    {"{\"idempotentHint\":true,\"destructiveHint\":true}", TOOL_IRREVERSIBLE},
	    {"{\"idempotentHint\":true,\"destructiveHint\":false}", TOOL_OVERWRITE},
	    {"{\"idempotentHint\":false,\"destructiveHint\":false}", TOOL_ACCUMULATE},
	    {"{\"destructiveHint\":false}", TOOL_ACCUMULATE},
	    {"{\"destructiveHint\":true}", TOOL_IRREVERSIBLE},
	    {"{\"openWorldHint\":false}", TOOL_IRREVERSIBLE},
	};
	char text[256];

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct tool_set *set;

		snprintf(text, sizeof text,
		    "{\"name\":\"t\",\"inputSchema\":{},\"annotations\":%s}", rows[i].annotations);
		write_file("a.json", text);
		set = load_dir(true);
		ck_assert_msg(tool_find(set, "n", "t")->class == rows[i].class, "%s", text);
		tool_set_free(set);
	}
	write_file("a.json",
	    "{\"name\":\"t\",\"inputSchema\":{},\"annotations\":{\"readOnlyHint\":\"yes\"}}");
	ck_assert_str_eq(
	    dir_error(true), "a.json: 't': /annotations/readOnlyHint: must be true or false");
	write_file("a.json", "{\"name\":\"t\",\"inputSchema\":{},\"annotations\":[]}");
	ck_assert_str_eq(dir_error(true), "a.json: 't': /annotations: must be an object");
	write_file("a.json", "{\"name\":\"t\",\"inputSchema\":{}}");
	tool_set_free(load_dir(true));
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("tool_parse");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, leases_are_never_over_at_birth);
	tcase_add_test(tc, long_durations_are_honoured_or_refused);
	tcase_add_test(tc, counts_are_whole_and_in_range);
	tcase_add_test(tc, results_do_not_outlive_their_key);
	tcase_add_test(tc, an_unknown_member_is_named_with_the_nearest);
	tcase_add_test(tc, what_a_probe_asks_with_is_kept);
	tcase_add_test(tc, an_execute_is_whole_or_none);
	tcase_add_test(tc, an_export_is_described_whole);
	tcase_add_test(tc, words_are_from_their_list);
	tcase_add_test(tc, a_retry_has_its_window);
	tcase_add_test(tc, the_providers_key_goes_where_nothing_else_is_read);
	tcase_add_test(tc, names_and_namespaces_have_a_form);
	tcase_add_test(tc, pointers_follow_rfc_6901);
	tcase_add_test(tc, what_is_secret_is_neither_kept_nor_part_of_a_key);
	tcase_add_test(tc, a_business_guard_is_whole_or_none);
	tcase_add_test(tc, exec_probes_are_absolute_and_bounded);
	tcase_add_test(tc, mcp_definitions_are_taken_as_they_are);
	tcase_add_test(tc, trusted_annotations_make_the_class);
	return tap_run("tool_parse", tc);
}
