/*
 * The lines that libeffect sends: each is one request by the daemon's own scanner, says what the
 * caller said, and can become a release, or leave its result out, in the memory that it has.
 */
#include "alloc.h"
#include "digest.h"
#include "effect_line.h"
#include "effect_sha256.h"
#include "effect_text.h"
#include "rpc.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

#define REQUEST "0b0cb3a6-3f0e-4b3c-9a51-0c5d7e1f2a3b"

static const struct effect_json_span effect = {
    "\"6f0cb3a6-3f0e-8b3c-9a51-0c5d7e1f2a3b\"", 38, EFFECT_JSON_STRING};
static const struct effect_json_span token = {
    "\"9b1e6a52-7c1d-4a51-8f0b-2f7f0c3f9d11\"", 38, EFFECT_JSON_STRING};
static char why[EFFECT_LINE_WHY_BYTES];
static struct rpc_line rpc;

/* The line is one request of this method, and its params read so. */
static void
reads(const struct effect_line *line, const char *method, const char *params)
{
	const struct json_node *node;

	ck_assert(line->text.len > 0 && line->text.data[line->text.len - 1] == '\n');
	ck_assert_ptr_eq(
	    memchr(line->text.data, '\n', line->text.len), line->text.data + line->text.len - 1);
	rpc_parse(&rpc, line->text.data, line->text.len - 1);
	ck_assert_int_eq(rpc.error, 0);
	ck_assert_str_eq(rpc.method, method);
	node = &rpc.doc.nodes[rpc.params];
	ck_assert_uint_eq(node->end - node->start, strlen(params));
	ck_assert_msg(memcmp(line->text.data + node->start, params, strlen(params)) == 0,
	    "%.*s is not %s", (int)(node->end - node->start), line->text.data + node->start,
	    params);
}

static void
line_free(struct effect_line *line)
{
	free(line->text.data);
	*line = (struct effect_line){0};
	rpc_line_free(&rpc);
}

static enum effect_kind
begin(struct effect_line *line, const struct effect_params *params)
{
	return effect_line_begin(line, 7, REQUEST, params, 30000, why);
}

START_TEST(begin_says_what_its_caller_said)
{
	struct effect_params all = EFFECT_PARAMS(.tool = "t\n\"\\\x01\xc3\xa9", .key = "k",
	    .args = " {\"a\":\r\n1} ", .ns = "n", .run = "r", .step = "3", .turn = "u", .call = "c",
	    .owner = "o", .again = "meant", .lease_ms = 5000, .members = "{ \"later\": 1 }");
	struct effect_params least =
	    EFFECT_PARAMS(.tool = "t", .unbound = true, .members = " { } ");
	struct effect_line line = {0};

	ck_assert_int_eq(begin(&line, &all), EFFECT_OK);
	reads(&line, "begin",
	    "{\"tool\":\"t\\u000a\\\"\\\\\\u0001\xc3\xa9\",\"key\":\"k\",\"args\": {\"a\":  1} ,"
	    "\"namespace\":\"n\",\"run\":\"r\",\"step\":\"3\",\"turn\":\"u\",\"call\":\"c\","
	    "\"owner\":\"o\",\"again\":\"meant\",\"request\":\"" REQUEST "\",\"lease_ms\":5000,"
	    "\"wait_ms\":30000,\"bind\":true,\"later\": 1 }");
	line_free(&line);
	ck_assert_int_eq(begin(&line, &least), EFFECT_OK);
	reads(&line, "begin", "{\"tool\":\"t\",\"request\":\"" REQUEST "\",\"wait_ms\":30000}");
	line_free(&line);
}
END_TEST

START_TEST(what_would_be_no_request_is_refused_before_it_is_sent)
{
	static const char *const bad[] = {"", "[]", "1", "{", "{}x", "{\"a\":}", "{\"a\":1}{}"};
	struct effect_params params = EFFECT_PARAMS(.tool = "t");
	struct effect_line line = {0};
	char deep[300];

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		params.args = bad[i];
		ck_assert_int_eq(begin(&line, &params), EFFECT_INVALID_PARAMS);
		params.args = NULL;
		params.members = bad[i];
		ck_assert_int_eq(begin(&line, &params), EFFECT_INVALID_PARAMS);
		params.members = NULL;
		line_free(&line);
		ck_assert_int_eq(
		    effect_line_other(&line, 7, "get", bad[i], why), EFFECT_INVALID_PARAMS);
		line_free(&line);
	}
	/* the deepest that the daemon reads, and one more */
	for (int depth = EFFECT_LINE_DEPTH_MAX - 1; depth <= EFFECT_LINE_DEPTH_MAX; depth++) {
		snprintf(deep, sizeof deep, "{\"a\":%.*s%.*s}", depth,
		    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
		    depth,
		    "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
		params.args = deep;
		if (depth < EFFECT_LINE_DEPTH_MAX) {
			ck_assert_int_eq(begin(&line, &params), EFFECT_OK);
			rpc_parse(&rpc, line.text.data, line.text.len - 1);
			ck_assert_int_eq(rpc.error, 0);
		} else {
			ck_assert_int_eq(begin(&line, &params), EFFECT_INVALID_PARAMS);
		}
		line_free(&line);
	}
	params.tool = NULL;
	ck_assert_int_eq(begin(&line, &params), EFFECT_MISUSE);
	line_free(&line);
}
END_TEST

#define IDS                                                     \
	"{\"effect\":\"6f0cb3a6-3f0e-8b3c-9a51-0c5d7e1f2a3b\"," \
	"\"token\":\"9b1e6a52-7c1d-4a51-8f0b-2f7f0c3f9d11\""

static void
complete(struct effect_line *line, const struct effect_report *report, size_t max_line)
{
	ck_assert_int_eq(
	    effect_line_complete(line, 7, &effect, &token, report, max_line, why), EFFECT_OK);
}

START_TEST(a_result_goes_as_its_own_bytes)
{
	struct effect_report report =
	    EFFECT_REPORT(.result = "{ \"b\":1.0,\n\"a\":1e2 }x", .result_len = 20);
	struct effect_line line = {0};

	complete(&line, &report, 4096);
	reads(&line, "complete",
	    IDS ",\"outcome\":\"succeeded\",\"result\":{ \"b\":1.0, \"a\":1e2 }}");
	line_free(&line);
	report = (struct effect_report)EFFECT_REPORT(.outcome = EFFECT_OUTCOME_ERROR);
	complete(&line, &report, 4096);
	reads(&line, "complete", IDS ",\"outcome\":\"error\"}");
	line_free(&line);
}
END_TEST

/* The params of a complete whose result of `len` bytes is left out. */
static char *
without(const char *result, size_t len)
{
	unsigned char sum[EFFECT_SHA256_BYTES];
	char hex[EFFECT_SHA256_HEX_BYTES];

	effect_sha256(result, len, sum);
	effect_sha256_hex(sum, hex);
	return xasprintf(IDS
	    ",\"outcome\":\"succeeded\",\"omitted\":{\"bytes\":%zu,\"sha256\":\"%s\"}}",
	    len, hex);
}

START_TEST(a_result_goes_by_its_hash_from_the_first_byte_that_is_too_many)
{
	static const size_t max_line = 4096;
	char result[5000], *expected;
	struct effect_line line = {0};

	memset(result, 'x', sizeof result);
	result[0] = '"';
	for (size_t len = 3800; len < sizeof result; len++) {
		struct effect_report report = EFFECT_REPORT(.result = result, .result_len = len);

		result[len - 1] = '"';
		complete(&line, &report, max_line);
		ck_assert_uint_le(line.text.len - 1, max_line);
		if (line.result_at == 0) {
			ck_assert_uint_gt(len + 200, max_line);
			expected = without(result, len);
			reads(&line, "complete", expected);
			free(expected);
		}
		result[len - 1] = 'x';
		line_free(&line);
	}
}
END_TEST

START_TEST(what_is_no_json_goes_by_its_hash)
{
	static const char *const results[] = {"", "no JSON", "{\"a\":1", "\"\xff\n\"", "[1] [2]"};
	struct effect_line line = {0};

	for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
		struct effect_report report =
		    EFFECT_REPORT(.result = results[i], .result_len = strlen(results[i]));
		char *expected = without(results[i], strlen(results[i]));

		complete(&line, &report, 4096);
		reads(&line, "complete", expected);
		free(expected);
		line_free(&line);
	}
}
END_TEST

START_TEST(a_line_leaves_its_result_out_in_the_memory_that_it_has)
{
	struct effect_report report = EFFECT_REPORT(.result = "1", .result_len = 1);
	char *expected = without("1", 1), *data;
	struct effect_line line = {0};

	complete(&line, &report, 4096);
	data = line.text.data;
	effect_line_omit(&line);
	ck_assert_ptr_eq(line.text.data, data);
	reads(&line, "complete", expected);
	free(expected);
	line_free(&line);
}
END_TEST

START_TEST(a_begin_becomes_the_release_of_its_grant_in_the_memory_that_it_has)
{
	struct effect_params params = EFFECT_PARAMS(.tool = "t");
	struct effect_line line = {0};
	char *data;

	ck_assert_int_eq(begin(&line, &params), EFFECT_OK);
	data = line.text.data;
	effect_line_give_back(&line, UINT64_MAX, &effect, &token, "nobody waits for it any more");
	ck_assert_ptr_eq(line.text.data, data);
	reads(&line, "release", IDS ",\"reason\":\"nobody waits for it any more\"}");
	line_free(&line);
}
END_TEST

START_TEST(no_reason_is_refused_for_its_text)
{
	struct effect_line line = {0};
	char long_text[2000];

	ck_assert_int_eq(effect_line_report(&line, 7, "unknown", &effect, &token,
			     "a\x01\xff\xc3(\xed\xa0\x80\xf0\x9f\x98\x80"),
	    EFFECT_OK);
	reads(&line, "unknown",
	    IDS ",\"reason\":\"a\\u0001?"
		"?(??"
		"?\xf0\x9f\x98\x80\"}");
	line_free(&line);
	memset(long_text, 'x', sizeof long_text);
	memcpy(long_text + 999, "\xe2\x82\xac", 3); /* the cut goes through a character */
	long_text[sizeof long_text - 1] = '\0';
	ck_assert_int_eq(
	    effect_line_report(&line, 7, "release", &effect, &token, long_text), EFFECT_OK);
	rpc_parse(&rpc, line.text.data, line.text.len - 1);
	ck_assert_int_eq(rpc.error, 0);
	line_free(&line);
	ck_assert_int_eq(effect_line_report(&line, 7, "release", &effect, &token, ""), EFFECT_OK);
	reads(&line, "release", IDS "}");
	line_free(&line);
}
END_TEST

START_TEST(sums_are_those_of_the_daemon)
{
	unsigned char data[300] = {0}, sum[EFFECT_SHA256_BYTES];
	char hex[EFFECT_SHA256_HEX_BYTES];

	effect_sha256("abc", 3, sum);
	effect_sha256_hex(sum, hex);
	ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	for (size_t len = 0; len <= sizeof data; len++) {
		uint8_t theirs[SHA256_BYTES];

		digest_sha256(data, len, theirs);
		effect_sha256(data, len, sum);
		ck_assert_mem_eq(sum, theirs, sizeof sum);
		if (len < sizeof data)
			data[len] = (unsigned char)(len * 7);
	}
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("effect_line");

	tcase_add_test(tc, begin_says_what_its_caller_said);
	tcase_add_test(tc, what_would_be_no_request_is_refused_before_it_is_sent);
	tcase_add_test(tc, a_result_goes_as_its_own_bytes);
	tcase_add_test(tc, a_result_goes_by_its_hash_from_the_first_byte_that_is_too_many);
	tcase_add_test(tc, what_is_no_json_goes_by_its_hash);
	tcase_add_test(tc, a_line_leaves_its_result_out_in_the_memory_that_it_has);
	tcase_add_test(tc, a_begin_becomes_the_release_of_its_grant_in_the_memory_that_it_has);
	tcase_add_test(tc, no_reason_is_refused_for_its_text);
	tcase_add_test(tc, sums_are_those_of_the_daemon);
	return tap_run("effect_line", tc);
}
