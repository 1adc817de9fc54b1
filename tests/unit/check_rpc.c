/*
 * The edge frames of JSON-RPC, told as transcripts: a line in, and the answer it gets before any
 * method is asked.
 */
#include "alloc.h"
#include "rpc.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

#define HEAD "{\"jsonrpc\":\"2.0\",\"id\":"
#define TAIL "}\n"

static struct rpc_line r;
static struct buf out;

static void
teardown(void)
{
	rpc_line_free(&r);
	buf_free(&out);
}

/* What the daemon says to a line: an error line, "" where it says nothing, "method id" where a
 * method is due. */
static const char *
answer(const char *line, size_t len)
{
	buf_clear(&out);
	rpc_parse(&r, line, len);
	if (r.blank || r.notification)
		return "";
	if (r.error) {
		struct rpc_error_data data = {
		    .pointer = r.error == ERR_INVALID_PARAMS ? r.pointer : NULL, .why = r.why};

		ck_assert_ptr_nonnull(r.why);
		rpc_error(&out, r.id, r.id_len, r.error, NULL, &data);
	} else {
		ck_assert_ptr_null(r.why);
		buf_printf(&out, "%s %.*s", r.method, (int)r.id_len, r.id);
	}
	return buf_str(&out);
}

static void
expect(const char *line, const char *expected)
{
	ck_assert_str_eq(answer(line, strlen(line)), expected);
}

/* An error: its code, the id as it must come back, and for invalid params the pointer. */
static void
expect_error(const char *line, int code, const char *id, const char *pointer)
{
	char head[512], where[300];
	const char *got = answer(line, strlen(line));

	snprintf(head, sizeof head, HEAD "%s,\"error\":{\"code\":%d,\"message\":\"", id, code);
	ck_assert_msg(strncmp(got, head, strlen(head)) == 0, "%s got %s", line, got);
	if (pointer) {
		snprintf(where, sizeof where,
		    "\"data\":{\"name\":\"invalid_params\",\"pointer\":\"%s\",\"why\":\"", pointer);
		ck_assert_msg(strstr(got, where) != NULL, "%s got %s", line, got);
	}
	/* one line, and itself JSON without a fault */
	ck_assert_ptr_eq(strchr(got, '\n'), got + strlen(got) - 1);
	struct json_doc doc = {0};

	ck_assert_int_eq(json_scan(&doc, got, strlen(got), NULL, NULL), 0);
	json_free(&doc);
}

START_TEST(a_request_comes_apart)
{
	static const char line[] =
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"begin\",\"params\":{\"tool\":\"refund_"
	    "order\",\"args\":{\"order_id\":1042}}}";
	uint32_t node;

	expect(line, "begin 1");
	ck_assert_int_eq(r.error, 0);
	ck_assert(json_pointer(&r.doc, r.params, "/args/order_id", &node));
	expect("{\"method\":\"info\",\"id\":\"x\",\"jsonrpc\":\"2.0\"}", "info \"x\"");
	ck_assert_uint_eq(r.params, 0);
	expect(" \t{\"id\" : 7 , "
	       "\"jsonrpc\":\"\\u0032.0\",\"m\\u0065thod\":\"inf\\u006f\",\"params\":{}} ",
	    "info 7");
	ck_assert_uint_ne(r.params, 0);
	/* members that JSON-RPC does not know are nobody's */
	expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"info\",\"meta\":{\"result\":[]},"
	       "\"Params\":[]}",
	    "info 1");
}
END_TEST

START_TEST(an_id_leaves_as_it_came)
{
	static const char *const ids[] = {"0", "-1", "1.0", "1e3", "12345678901234567890123",
	    "1E+02", "\"\"", "\"a\\u0062\\/\"", "\"\xc3\xa9\"", "\"\\ud83d\\ude00\"", "-0",
	    "\"null\""};
	static const char *const bad[] = {"null", "true", "false", "{}", "[]", "[1]", "{\"a\":1}",
	    "1e400", "\"\\ud800\"", "\"\xff\""};
	char line[1024], expected[600];

	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		snprintf(line, sizeof line, HEAD "%s,\"method\":\"info\"}", ids[i]);
		snprintf(expected, sizeof expected, "info %s", ids[i]);
		expect(line, expected);
		/* also on an error's way back */
		snprintf(line, sizeof line, HEAD "%s,\"method\":\"info\",\"params\":{\"a\":1e400}}",
		    ids[i]);
		expect_error(line, -32602, ids[i], "/a");
		snprintf(line, sizeof line, HEAD "%s,\"method\":7}", ids[i]);
		expect_error(line, -32600, ids[i], NULL);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(line, sizeof line, HEAD "%s,\"method\":\"info\"}", bad[i]);
		expect_error(line, -32600, "null", NULL);
		/* an earlier fault elsewhere does not let a broken one through */
		snprintf(line, sizeof line,
		    "{\"params\":{\"a\":1e400},\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"x\"}",
		    bad[i]);
		answer(line, strlen(line));
		ck_assert_ptr_null(r.id);
		ck_assert_int_ne(r.error, 0);
	}
	/* 255 bytes as spelt, escapes included; the quotes do not count */
	for (int n = 255; n <= 256; n++) {
		char id[300];

		memset(id, 'i', sizeof id);
		id[0] = id[n + 1] = '"';
		id[n + 2] = '\0';
		snprintf(line, sizeof line, HEAD "%s,\"method\":\"info\"}", id);
		snprintf(expected, sizeof expected, "info %s", id);
		if (n == 255)
			expect(line, expected);
		else
			expect_error(line, -32600, "null", NULL);
	}
}
END_TEST

/* case 140 */
START_TEST(edge_frames_get_one_error_or_none)
{
	static const char call[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"begin\"}";
	char batch[256];

	expect_error("[]", -32600, "null", NULL);
	snprintf(batch, sizeof batch, "[%s,%s]", call, call);
	expect_error(batch, -32600, "null", NULL);
	expect_error("[1]", -32600, "null", NULL);
	expect_error("1", -32600, "null", NULL);
	expect_error("\"begin\"", -32600, "null", NULL);
	expect_error("null", -32600, "null", NULL);
	expect_error("true", -32600, "null", NULL);
	expect_error("{}", -32600, "null", NULL);
	/* a notification does nothing */
	expect("{\"jsonrpc\":\"2.0\",\"method\":\"begin\",\"params\":{\"tool\":\"t\"}}", "");
	expect("{\"jsonrpc\":\"2.0\",\"method\":\"no_such_method\"}", "");
	expect("{\"jsonrpc\":\"2.0\",\"method\":\"begin\",\"params\":[1]}", "");
	expect("{\"jsonrpc\":\"2.0\",\"method\":\"begin\",\"params\":{\"a\":1,\"a\":1}}", "");
	/* but what is no request is no notification either */
	expect_error("{\"method\":\"begin\"}", -32600, "null", NULL);
	expect_error("{\"jsonrpc\":\"2.0\"}", -32600, "null", NULL);
	expect_error("{\"jsonrpc\":\"2.0\",\"method\":\"begin\",\"method\":\"begin\"}", -32600,
	    "null", NULL);
	/* id null is no notification */
	expect_error(
	    "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"begin\"}", -32600, "null", NULL);
	/* broken JSON */
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"begin\"", -32700, "null", NULL);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"begin\"}}", -32700, "null", NULL);
	expect_error("x", -32700, "null", NULL);
	/* 2.0 missing or other: the id is known all the same */
	expect_error("{\"id\":1,\"method\":\"begin\"}", -32600, "1", NULL);
	expect_error("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"begin\"}", -32600, "1", NULL);
	expect_error("{\"jsonrpc\":2.0,\"id\":1,\"method\":\"begin\"}", -32600, "1", NULL);
	expect_error(
	    "{\"jsonrpc\":\"2.0\\u0000\",\"id\":1,\"method\":\"begin\"}", -32600, "1", NULL);
	/* blank lines */
	expect("", "");
	expect(" \t ", "");
	ck_assert(r.blank);
	/* and the next line is as good as ever */
	expect(call, "begin 1");
}
END_TEST

START_TEST(a_method_is_a_string)
{
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1}", -32600, "1", NULL);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}", -32600, "1", NULL);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":[\"begin\"]}", -32600, "1", NULL);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"Method\":\"begin\"}", -32600, "1", NULL);
	expect_error(
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"begin\\u0000\"}", -32600, "1", NULL);
	ck_assert_ptr_null(r.method);
	/* nor is there one where the envelope is not sound: it need not even be text */
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32600, "1", NULL);
	ck_assert_ptr_null(r.method);
	expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", " 1");
}
END_TEST

START_TEST(params_are_an_object)
{
	static const char *const bad[] = {"[]", "[{}]", "null", "1", "\"x\"", "true"};
	char line[128];

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(line, sizeof line, HEAD "1,\"method\":\"begin\",\"params\":%s}", bad[i]);
		expect_error(line, -32602, "1", "");
	}
}
END_TEST

/* cases 44, 46, 47: refused before any method, with the place */
START_TEST(faults_in_params_are_told_with_their_place)
{
	expect_error(HEAD
	    "1,\"method\":\"begin\",\"params\":{\"args\":{\"amount\":1,\"amount\":2}}}",
	    -32602, "1", "/args/amount");
	expect_error(HEAD "1,\"method\":\"begin\",\"params\":{\"args\":{\"a\":1,\"\\u0061\":2}}}",
	    -32602, "1", "/args/a");
	expect_error(HEAD "1,\"method\":\"begin\",\"params\":{\"args\":{\"k\":\"\\uD800\"}}}",
	    -32602, "1", "/args/k");
	expect_error(HEAD "1,\"method\":\"begin\",\"params\":{\"args\":{\"\\uDC00\":1}}}", -32602,
	    "1", "/args/\xef\xbf\xbd");
	expect_error(HEAD
	    "1,\"method\":\"begin\",\"params\":{\"args\":{\"k\":[\"\\uDC00\\uD800\"]}}}",
	    -32602, "1", "/args/k/0");
	expect_error(HEAD "1,\"method\":\"begin\",\"params\":{\"args\":{\"v\":-1e400}}}", -32602,
	    "1", "/args/v");
	expect_error(
	    HEAD "1,\"method\":\"begin\",\"params\":{\"key\":\"\xff\"}}", -32602, "1", "/key");
	expect_error("{\"p\\u0061rams\":{\"key\":\"\xff\"},\"method\":\"begin\",\"jsonrpc\":\"2."
		     "0\",\"id\":\"z\"}",
	    -32602, "\"z\"", "/key");
	expect_error(HEAD "1,\"method\":\"begin\",\"params\":1e400}", -32602, "1", "");
	expect(HEAD "1,\"method\":\"begin\",\"params\":{\"args\":{\"k\":\"\\uD83D\\uDE00\"}}}",
	    "begin 1");
}
END_TEST

START_TEST(faults_in_the_envelope_are_invalid_requests)
{
	expect_error(HEAD "1,\"id\":1,\"method\":\"begin\"}", -32600, "null", NULL);
	expect_error(HEAD "1,\"i\\u0064\":2,\"method\":\"begin\"}", -32600, "null", NULL);
	expect_error(HEAD "1,\"method\":\"begin\",\"method\":\"get\"}", -32600, "1", NULL);
	expect_error(HEAD "1,\"method\":\"begin\",\"params\":{},\"params\":{}}", -32600, "1", NULL);
	expect_error(HEAD "1,\"method\":\"begin\",\"jsonrpc\":\"2.0\"}", -32600, "1", NULL);
	expect_error(HEAD "1,\"method\":\"\\ud800\"}", -32600, "1", NULL);
	expect_error(HEAD "1,\"method\":\"begin\",\"x\":1e400}", -32600, "1", NULL);
	expect_error(HEAD "1,\"method\":\"begin\",\"x\":{\"a\":1,\"a\":1}}", -32600, "1", NULL);
	expect_error(HEAD "1,\"method\":\"begin\",\"\xff\":1}", -32600, "1", NULL);
	expect_error(HEAD "1,\"method\":\"begin\",\"result\":1e400}", -32600, "1", NULL);
	expect_error(HEAD "1,\"method\":\"begin\",\"x\\ud800\":1}", -32600, "1", NULL);
	/* ids that are two, told behind another fault */
	expect_error(
	    "{\"params\":{\"a\":1e400},\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"x\"}",
	    -32602, "null", "/a");
}
END_TEST

/* case 111: nothing in a result is a fault, for any method */
START_TEST(a_result_is_never_judged)
{
	static const char *const methods[] = {"complete", "resolve", "begin"};
	static const char *const results[] = {"{\"out\":\"a\\u0000b\"}", "{\"out\":\"\\ud800\"}",
	    "{\"a\":1,\"a\":2}", "[1e400]", "\"\xff\"", "null"};
	char line[256], expected[32];

	for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
		for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
			uint32_t node;

			snprintf(line, sizeof line,
			    HEAD "9,\"method\":\"%s\",\"params\":{\"effect\":\"e\",\"result\":%s}}",
			    methods[m], results[i]);
			snprintf(expected, sizeof expected, "%s 9", methods[m]);
			expect(line, expected);
			node = json_member(&r.doc, r.params, "result");
			ck_assert_int_eq(r.doc.nodes[node].type, JSON_OPAQUE);
			ck_assert_uint_eq(
			    r.doc.nodes[node].end - r.doc.nodes[node].start, strlen(results[i]));
		}
	}
	expect_error(HEAD "9,\"method\":\"complete\",\"params\":{\"result\":1,\"result\":2}}",
	    -32602, "9", "/result");
	expect_error(HEAD "9,\"method\":\"complete\",\"params\":{\"result\":{\"a\":}}}", -32700,
	    "null", NULL);
}
END_TEST

/* case 115 */
START_TEST(a_hundred_thousand_brackets_are_a_parse_error)
{
	enum { N = 100000 };
	char *line = xmalloc(N);

	memset(line, '[', N);
	ck_assert_ptr_nonnull(strstr(answer(line, N), "\"code\":-32700"));
	ck_assert_ptr_null(r.id);
	free(line);
	expect(HEAD "1,\"method\":\"info\"}", "info 1");
}
END_TEST

START_TEST(answers_are_compact_and_ordered)
{
	struct rpc_error_data data = {.pointer = "/a\"b",
	    .why = "because",
	    .state = "done",
	    .sqlstate = "23505",
	    .retry_after_ms = 1500,
	    .attempt = 3,
	    .has_kept = true,
	    .kept = true};

	rpc_result_begin(&out, "\"x\"", 3);
	buf_add_str(&out, "{\"state\":\"done\"}");
	rpc_result_end(&out);
	ck_assert_str_eq(buf_str(&out), HEAD "\"x\",\"result\":{\"state\":\"done\"}" TAIL);
	buf_clear(&out);
	rpc_error(&out, NULL, 0, ERR_UNAVAILABLE, "the ledger is away", &data);
	ck_assert_str_eq(buf_str(&out),
	    HEAD
	    "null,\"error\":{\"code\":-32001,\"message\":\"the ledger is "
	    "away\",\"data\":{\"name\":\"unavailable\","
	    "\"pointer\":\"/"
	    "a\\\"b\",\"why\":\"because\",\"retry_after_ms\":1500,\"state\":\"done\",\"attempt\":3,"
	    "\"kept\":true,\"sqlstate\":\"23505\"}}" TAIL);
	buf_clear(&out);
	rpc_error(&out, "1", 1, ERR_UNKNOWN_METHOD, NULL, NULL);
	ck_assert_str_eq(buf_str(&out),
	    HEAD "1,\"error\":{\"code\":-32601,\"message\":\"no such "
		 "method\",\"data\":{\"name\":\"unknown_method\"}}" TAIL);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("rpc");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, a_request_comes_apart);
	tcase_add_test(tc, an_id_leaves_as_it_came);
	tcase_add_test(tc, edge_frames_get_one_error_or_none);
	tcase_add_test(tc, a_method_is_a_string);
	tcase_add_test(tc, params_are_an_object);
	tcase_add_test(tc, faults_in_params_are_told_with_their_place);
	tcase_add_test(tc, faults_in_the_envelope_are_invalid_requests);
	tcase_add_test(tc, a_result_is_never_judged);
	tcase_add_test(tc, a_hundred_thousand_brackets_are_a_parse_error);
	tcase_add_test(tc, answers_are_compact_and_ordered);
	return tap_run("rpc", tc);
}
