/*
 * An http probe's policy and judgement, without a wire: what loads, what is sent, and which answer
 * means what. Every doubt is `inconclusive`.
 */
#include "alloc.h"
#include "probe_http_spec.h"
#include "probe_judge.h"
#include "tap.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define URL "\"url\":\"http://127.0.0.1:9/r?key={provider_key}\""
#define LANDED "\"landed\":{\"status\":200,\"body\":{\"/status\":\"succeeded\"}}"
#define ABSENT "\"absent\":{\"status\":404,\"body\":{\"/error\":\"no_such_refund\"}}"
#define WHOLE "{" URL "," LANDED "," ABSENT ",\"result\":\"/refund\"}"

static struct probe_ask ask = {.ns = "payments",
    .tool = "refund",
    .key = "refund:1042/3 \xc3\xa9",
    .attempt = 2,
    .claimed_at_us = INT64_C(1764460800500000), /* 2025-11-30T00:00:00.5Z */
    .kept = "{\"/a/b\":{\"c\":\"x y\",\"n\":1e2,\"o\":[]},\"/order\":1042,\"/line\":\"3\\n4\"}"};

static struct probe_http_spec *
parse(const char *text, char **ret_pointer, char **ret_why)
{
	cJSON *v = cJSON_Parse(text);
	struct probe_http_spec *spec;

	ck_assert_msg(v != NULL, "%s", text);
	spec = probe_http_spec_parse(v, ret_pointer, ret_why);
	cJSON_Delete(v);
	return spec;
}

static struct probe_http_spec *
good(const char *text)
{
	char *pointer = NULL, *why = NULL;
	struct probe_http_spec *spec = parse(text, &pointer, &why);

	ck_assert_msg(spec != NULL, "%s: %s %s", text, pointer, why);
	return spec;
}

static void
refused(const char *text, const char *want_pointer, const char *want_why)
{
	char *pointer = NULL, *why = NULL;
	struct probe_http_spec *spec = parse(text, &pointer, &why);

	ck_assert_msg(spec == NULL, "%s loads", text);
	ck_assert_str_eq(pointer, want_pointer);
	ck_assert_msg(strstr(why, want_why) != NULL, "%s: %s", text, why);
	free(pointer);
	free(why);
}

START_TEST(what_can_mean_nothing_does_not_load)
{
	refused("[]", "", "must be an object");
	refused("{" LANDED "}", "/url", "must be a string, an http:// or https:// URL");
	refused("{\"url\":\"ftp://h/\"," LANDED "}", "/url", "http://");
	refused("{\"url\":\"http://h/ x\"," LANDED "}", "/url", "http://");
	refused("{\"url\":\"http://{key}/\"," LANDED "}", "/url", "without placeholders");
	refused("{\"url\":\"http://u:p@h/\"," LANDED "}", "/url", "without a user");
	refused("{\"url\":\"http://h/{keys}\"," LANDED "}", "/url", "unknown placeholder '{keys}'");
	refused("{\"url\":\"http://h/{key\"," LANDED "}", "/url", "no other half");
	refused("{\"url\":\"http://h/}\"," LANDED "}", "/url", "no other half");
	refused("{\"url\":\"http://h/{/a~}\"," LANDED "}", "/url", "unknown placeholder");
	refused("{" URL "}", "", "'landed' is missing");
	refused("{" URL ",\"landed\":{}}", "/landed", "must have a 'status' or a 'body'");
	refused("{" URL ",\"landed\":{\"after\":\"/at\"}}", "/landed", "'status' or a 'body'");
	refused("{" URL ",\"landed\":{\"status\":\"200\"}}", "/landed", "a number from 200 to 599");
	refused("{" URL ",\"landed\":{\"status\":[]}}", "/landed", "1 to 16");
	refused("{" URL ",\"landed\":{\"status\":200.5}}", "/landed", "200 to 599");
	refused("{" URL ",\"landed\":{\"stats\":200}}", "/landed", "the nearest is 'status'");
	refused("{" URL ",\"landed\":{\"body\":{\"status\":1}}}", "/landed", "no JSON pointer");
	refused("{" URL ",\"landed\":{\"body\":{\"/s\":{}}}}", "/landed", "must be compared with");
	refused(
	    "{" URL ",\"landed\":{\"body\":{\"/s\":9007199254740993000}}}", "/landed", "compared");
	refused("{" URL "," LANDED ",\"resutl\":\"\"}", "", "the nearest is 'result'");
	refused("{" URL "," LANDED ",\"result\":\"x\"}", "/result", "must be a JSON pointer");
	refused("{" URL "," LANDED ",\"ca_file\":\"ca\"}", "/ca_file", "absolute path");
	refused("{" URL "," LANDED ",\"addresses\":[\"10.0.0.0/33\"]}", "/addresses", "such as");
	refused(
	    "{" URL "," LANDED ",\"headers\":{\"A B\":\"x\"}}", "/headers", "no name of a header");
	refused("{" URL "," LANDED ",\"headers\":{\"A\":\"x\\r\\nB: y\"}}", "/headers", "control");
	refused("{" URL "," LANDED ",\"headers\":{\"A\":\"{credential:k}\"}}", "/headers",
	    "unknown placeholder");
	refused("{\"credentials\":{\"k\":\"/k\"},\"url\":\"http://h/{credential:k}\"," LANDED "}",
	    "/url", "unknown placeholder");
	refused(
	    "{\"credentials\":{\"k\":\"../k\"}," URL "," LANDED "}", "/credentials", "absolute");
}
END_TEST

static struct probe_answer
judged(const char *text, long status, const char *body, char **ret_reason)
{
	struct probe_http_spec *spec = good(text);
	struct probe_answer answer =
	    probe_judge_http(spec, &ask, status, body, strlen(body), ret_reason);

	probe_http_spec_unref(spec);
	return answer;
}

static void
verdict(const char *text, long status, const char *body, enum probe_verdict want)
{
	char *reason = NULL;
	struct probe_answer answer = judged(text, status, body, &reason);

	ck_assert_msg(answer.verdict == want, "%ld %s: %s, %s", status, body,
	    probe_verdict_name(answer.verdict), reason);
	free(reason);
}

/* Is it an answer of the provider's about what was asked, though no verdict? */
static bool
answered(const char *text, long status, const char *body)
{
	char *reason = NULL;
	struct probe_answer answer = judged(text, status, body, &reason);

	ck_assert_int_eq(answer.verdict, PROBE_INCONCLUSIVE);
	free(reason);
	return answer.answered;
}

START_TEST(an_answer_that_fits_no_rule_is_one_unless_it_is_about_us_or_its_own_troubles)
{
	static const long none[] = {401, 403, 407, 408, 429, 500, 502, 503, 504};

	ck_assert(answered(WHOLE, 200, "{\"status\":\"pending\"}"));
	ck_assert(answered(WHOLE, 404, "{\"error\":\"no_such_path\"}"));
	ck_assert(answered(WHOLE, 409, "{}"));
	ck_assert(
	    answered("{" URL ",\"landed\":{\"status\":200},\"failed\":{\"status\":200}}", 200, ""));
	ck_assert(!answered(WHOLE, 200, "<html>welcome to our hotspot</html>"));
	ck_assert(!answered(WHOLE, 404, ""));
	ck_assert(!answered(WHOLE, 302, ""));
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		ck_assert_msg(!answered(WHOLE, none[i], "{}"), "%ld", none[i]);
}
END_TEST

START_TEST(only_an_answer_that_fits_one_rule_is_a_verdict) /* case 79 */
{
	char *reason = NULL;
	struct probe_answer answer;

	verdict(WHOLE, 200, "{\"status\":\"succeeded\"}", PROBE_LANDED);
	verdict(WHOLE, 200, " { \"status\" : \"succ\\u0065eded\" } ", PROBE_LANDED);
	verdict(WHOLE, 404, "{\"error\":\"no_such_refund\"}", PROBE_ABSENT);
	verdict(WHOLE, 404, "<html>nginx</html>", PROBE_INCONCLUSIVE);
	verdict(WHOLE, 404, "", PROBE_INCONCLUSIVE);
	verdict(WHOLE, 404, "{\"error\":\"no_such_path\"}", PROBE_INCONCLUSIVE);
	verdict(WHOLE, 200, "{\"error\":\"no_such_refund\"}", PROBE_INCONCLUSIVE);
	verdict(WHOLE, 200, "{\"status\":\"succeeded\"", PROBE_INCONCLUSIVE);
	verdict(
	    WHOLE, 200, "{\"status\":\"succeeded\",\"status\":\"pending\"}", PROBE_INCONCLUSIVE);
	verdict(WHOLE, 200, "{\"status\":\"succeeded\\u0000\"}", PROBE_INCONCLUSIVE);
	verdict(WHOLE, 200, "{\"Status\":\"succeeded\"}", PROBE_INCONCLUSIVE);
	verdict(WHOLE, 500, "{\"status\":\"succeeded\"}", PROBE_INCONCLUSIVE);
	verdict(WHOLE, 302, "", PROBE_INCONCLUSIVE);
	verdict(WHOLE, 401, "{\"error\":\"no_such_refund\"}", PROBE_INCONCLUSIVE);
	verdict(WHOLE, 429, "{}", PROBE_INCONCLUSIVE);
	/* two rules that both hold contradict each other */
	verdict("{" URL ",\"landed\":{\"status\":[200,201]},\"absent\":{\"body\":{\"/n\":0}}}", 201,
	    "{\"n\":0}", PROBE_INCONCLUSIVE);
	verdict("{" URL ",\"landed\":{\"status\":[200,201]},\"absent\":{\"body\":{\"/n\":0}}}", 202,
	    "{\"n\":-0.0}", PROBE_ABSENT);
	verdict("{" URL ",\"landed\":{\"status\":200},\"failed\":{\"body\":{\"/ok\":false}}}", 402,
	    "{\"ok\":false}", PROBE_FAILED);
	verdict("{" URL ",\"landed\":{\"body\":{\"/id\":\"x-{/order}\"}}}", 200,
	    "{\"id\":\"x-1042\"}", PROBE_LANDED);
	verdict("{" URL ",\"landed\":{\"body\":{\"/id\":null}}}", 200, "{}", PROBE_INCONCLUSIVE);
	verdict("{" URL ",\"landed\":{\"body\":{\"/id\":\"1042\"}}}", 200, "{\"id\":1042}",
	    PROBE_INCONCLUSIVE);
	answer = judged(WHOLE, 503, "down", &reason);
	ck_assert_str_eq(answer.reason, "HTTP 503 without a JSON body fits no rule");
	free(reason);
}
END_TEST

START_TEST(landed_may_be_tied_to_a_time_after_the_claim)
{
#define AFTER "{" URL ",\"landed\":{\"status\":200,\"after\":\"/at\"}}"
	verdict(AFTER, 200, "{\"at\":\"2025-11-30T00:00:00.700Z\"}", PROBE_LANDED);
	verdict(AFTER, 200, "{\"at\":\"2025-11-30T00:00:00Z\"}", PROBE_LANDED);
	verdict(AFTER, 200, "{\"at\":\"2025-11-30T01:00:01+01:00\"}", PROBE_LANDED);
	verdict(AFTER, 200, "{\"at\":\"2025-11-29T23:59:59Z\"}", PROBE_INCONCLUSIVE);
	verdict(AFTER, 200, "{\"at\":\"2025-11-30T00:30:00+01:00\"}", PROBE_INCONCLUSIVE);
	verdict(AFTER, 200, "{\"at\":1764460801}", PROBE_LANDED);
	verdict(AFTER, 200, "{\"at\":1764460799}", PROBE_INCONCLUSIVE);
	verdict(AFTER, 200, "{\"at\":\"yesterday\"}", PROBE_INCONCLUSIVE);
	verdict(AFTER, 200, "{\"at\":\"2025-11-30T00:00:01\"}", PROBE_INCONCLUSIVE);
	verdict(AFTER, 200, "{}", PROBE_INCONCLUSIVE);
}
END_TEST

START_TEST(the_result_is_cut_out_raw)
{
#define RESULT "{\"n\":1.50,\"n\":1e400,\"s\":\"\\ud800\"}"
	static const char result[] = RESULT;
	static const char body[] = "{\"status\":\"succeeded\", \"refund\": " RESULT " }";
	char *reason = NULL;
	struct probe_answer answer = judged(WHOLE, 200, body, &reason);

	ck_assert_int_eq(answer.verdict, PROBE_LANDED);
	ck_assert_uint_eq(answer.result_len, sizeof result - 1);
	ck_assert_int_eq(memcmp(answer.result, result, sizeof result - 1), 0);
	free(reason);
	answer = judged(WHOLE, 200, "{\"status\":\"succeeded\"}", &reason);
	ck_assert_ptr_null(answer.result);
	free(reason);
}
END_TEST

START_TEST(what_is_asked_with_must_be_kept)
{
	struct probe_http_spec *spec =
	    good("{\"url\":\"http://h/{/order}\",\"landed\":{\"body\":{\"/l\":\"{/a/b/c}\"}}}");
	char *keep[] = {"/order", "/a"}, *why = NULL;

	ck_assert(probe_http_spec_keeps(spec, keep, 2, &why));
	ck_assert(!probe_http_spec_keeps(spec, keep, 1, &why));
	ck_assert_str_eq(why, "'{/a/b/c}' is not among what 'keep' stores");
	free(why);
	ck_assert(!probe_http_spec_tied(spec));
	probe_http_spec_unref(spec);
	spec = good(WHOLE);
	ck_assert(probe_http_spec_tied(spec));
	ck_assert(!probe_http_spec_absent_by_status(spec));
	probe_http_spec_unref(spec);
	spec = good("{\"url\":\"http://h/\",\"landed\":{\"body\":{\"/id\":\"{effect}\"}},"
		    "\"absent\":{\"status\":404}}");
	ck_assert(probe_http_spec_tied(spec));
	ck_assert(probe_http_spec_absent_by_status(spec));
	probe_http_spec_unref(spec);
}
END_TEST

static bool
holds(const char *net, const char *address)
{
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6};
	struct sockaddr_in a4 = {.sin_family = AF_INET};
	struct http_net n;

	ck_assert_msg(http_net_parse(net, &n), "%s", net);
	if (inet_pton(AF_INET, address, &a4.sin_addr) == 1)
		return http_net_holds(&n, (struct sockaddr *)(void *)&a4);
	ck_assert_int_eq(inet_pton(AF_INET6, address, &a6.sin6_addr), 1);
	return http_net_holds(&n, (struct sockaddr *)(void *)&a6);
}

START_TEST(networks_hold_their_addresses)
{
	struct http_net n;

	ck_assert(holds("10.0.0.0/8", "10.255.0.1"));
	ck_assert(!holds("10.0.0.0/8", "11.0.0.1"));
	ck_assert(holds("192.168.64.0/18", "192.168.127.9"));
	ck_assert(!holds("192.168.64.0/18", "192.168.128.1"));
	ck_assert(holds("127.0.0.1", "127.0.0.1"));
	ck_assert(!holds("127.0.0.1", "127.0.0.2"));
	ck_assert(holds("0.0.0.0/0", "8.8.8.8"));
	ck_assert(!holds("0.0.0.0/0", "::1"));
	ck_assert(holds("fd00::/8", "fdff::1"));
	ck_assert(!holds("fd00::/8", "fe80::1"));
	ck_assert(!http_net_parse("10.0.0.0/", &n));
	ck_assert(!http_net_parse("10.0.0.0/-1", &n));
	ck_assert(!http_net_parse("10.0.0/8", &n));
	ck_assert(!http_net_parse("::1/129", &n));
	ck_assert(!http_net_parse("localhost", &n));
	ck_assert(!http_net_parse("", &n));
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("probe_http");

	tcase_add_test(tc, what_can_mean_nothing_does_not_load);
	tcase_add_test(tc, only_an_answer_that_fits_one_rule_is_a_verdict);
	tcase_add_test(
	    tc, an_answer_that_fits_no_rule_is_one_unless_it_is_about_us_or_its_own_troubles);
	tcase_add_test(tc, landed_may_be_tied_to_a_time_after_the_claim);
	tcase_add_test(tc, the_result_is_cut_out_raw);
	tcase_add_test(tc, what_is_asked_with_must_be_kept);
	tcase_add_test(tc, networks_hold_their_addresses);
	return tap_run("probe_http", tc);
}
