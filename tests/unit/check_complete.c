/*
 * complete against a ledger that the test plays: what leaves this process of a result, and that a
 * complete is kept when nobody can take it. Also the other messages of a holder.
 */
#include "fake_batch.h"
#include "fake_request.h"
#include "methods/ledger.h"
#include "tap.h"

#include <stdio.h>
#include <unistd.h>

#define EFFECT "00000000-0000-8000-8000-000000000001"
#define TOKEN "00000000-0000-4000-8000-000000000002"
#define IDS "\"effect\":\"" EFFECT "\",\"token\":\"" TOKEN "\""
#define KEPT_MAX 10000 /* as complete.c has it */

static struct tool_set *tools;

static void
setup(void)
{
	fake_start();
	tools = tool_set_empty();
	method_init(&fake_config, tools);
}

static void
teardown(void)
{
	method_free();
	tool_set_free(tools);
	loop_free();
}

static struct batch_item *
sent(const struct batch_statement *statement)
{
	struct batch_item *item = TAILQ_FIRST(&fake_items);

	ck_assert_msg(item != NULL, "nothing was sent, expected %s", statement->name);
	ck_assert_str_eq(item->statement->name, statement->name);
	return item;
}

static void
text_is(const struct pgvalue *v, const char *text)
{
	ck_assert(!v->null);
	ck_assert_uint_eq(v->text.n, strlen(text));
	ck_assert_int_eq(memcmp(v->text.p, text, v->text.n), 0);
}

static struct fake_row
row_of(const char *answer, const char *shape, const char *state, const char *outcome)
{
	struct fake_row row = {{{0}}};

	row.cells[LEDGER_ANSWER].text = answer;
	row.cells[COMPLETE_SHAPE].text = shape;
	row.cells[COMPLETE_STATE].text = state;
	row.cells[COMPLETE_OUTCOME].text = outcome;
	row.cells[COMPLETE_ALREADY] = (struct fake_cell){.text = "", .number = 0};
	row.cells[COMPLETE_ATTEMPT] = (struct fake_cell){.text = "", .number = 2};
	return row;
}

static void
answer_done(void)
{
	struct fake_row row = row_of("ok", "complete", "done", "succeeded");

	fake_end(sent(&ledger_complete), 0, &row);
}

static void
load(const char *policies)
{
	char dir[] = "/tmp/check_complete.XXXXXX", path[64];
	struct tool_set *set;
	char *error = NULL;
	bool missing;
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.json", dir);
	file = fopen(path, "w");
	fputs(policies, file);
	fclose(file);
	set = tool_set_load(dir, false, &missing, &error);
	ck_assert_msg(set != NULL, "%s", error);
	unlink(path);
	rmdir(dir);
	method_use(&fake_config, set);
	tool_set_free(tools);
	tools = set;
}

/* Case 25: the bytes as they came. */
START_TEST(result_leaves_as_its_raw_bytes)
{
	struct fake_request *f = fake_call("complete",
	    "{" IDS ",\"result\": {\"b\":1.0,\"a\":1e2, \"a\":\"\\u003c\\ud800\\u0000\"} }", 1);
	struct pgvalue *v = sent(&ledger_complete)->columns;

	text_is(&v[COMPLETE_P_RESULT], "{\"b\":1.0,\"a\":1e2, \"a\":\"\\u003c\\ud800\\u0000\"}");
	text_is(&v[COMPLETE_P_OUTCOME], "succeeded");
	text_is(&v[COMPLETE_P_SCOPE], "default");
	ck_assert(v[COMPLETE_P_RESULT_BYTES].null && v[COMPLETE_P_RESULT_SHA256].null);
	ck_assert(v[COMPLETE_P_POLICY].null && !v[COMPLETE_P_REDACTED].b);
	answer_done();
	fake_answered(f, "{\"state\":\"done\",\"outcome\":\"succeeded\",\"already\":false}}");
	fake_free(f);
}
END_TEST

START_TEST(null_omitted_and_bytes_that_are_no_text)
{
	struct fake_request *f = fake_call("complete", "{" IDS "}", 1);
	struct pgvalue *v = sent(&ledger_complete)->columns;

	ck_assert(v[COMPLETE_P_RESULT].null && v[COMPLETE_P_RESULT_BYTES].null);
	answer_done();
	fake_free(f);
	f = fake_call("complete", "{" IDS ",\"outcome\":\"failed\",\"result\":null}", 1);
	ck_assert(sent(&ledger_complete)->columns[COMPLETE_P_RESULT].null);
	text_is(&sent(&ledger_complete)->columns[COMPLETE_P_OUTCOME], "failed");
	answer_done();
	fake_free(f);
	f = fake_call("complete", "{" IDS ",\"result\":\"a\377b\"}", 1);
	v = sent(&ledger_complete)->columns;
	ck_assert(v[COMPLETE_P_RESULT].null);
	ck_assert_int_eq(v[COMPLETE_P_RESULT_BYTES].i8, 5);
	ck_assert_uint_eq(v[COMPLETE_P_RESULT_SHA256].text.n, SHA256_BYTES);
	answer_done();
	fake_free(f);
	f = fake_call("complete",
	    "{" IDS ",\"omitted\":{\"bytes\":70000,\"sha256\":"
	    "\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"}}",
	    1);
	v = sent(&ledger_complete)->columns;
	ck_assert_int_eq(v[COMPLETE_P_RESULT_BYTES].i8, 70000);
	ck_assert_uint_eq((unsigned char)v[COMPLETE_P_RESULT_SHA256].text.p[1], 0x11);
	answer_done();
	fake_free(f);
	f = fake_call(
	    "complete", "{" IDS ",\"result\":1,\"omitted\":{\"bytes\":1,\"sha256\":\"\"}}", 1);
	fake_answered(f, "\"pointer\":\"/omitted\"");
	fake_free(f);
	ck_assert_uint_eq(fake_n, 0);
}
END_TEST

#define SECRET_POLICY                                                    \
	"{\"name\":\"refund\",\"class\":\"irreversible\",\"key\":\"r:{/" \
	"id}\",\"result_secret\":[\"/t\"]}"

/* Case 141: redaction acts on what is stored. */
START_TEST(secret_of_a_claim_of_this_boot_never_leaves)
{
	struct uuid effect, token;
	struct tool_policy *policy;
	struct fake_request *f;
	struct pgvalue *v;

	load(SECRET_POLICY);
	ck_assert(uuid_parse(EFFECT, 36, &effect) && uuid_parse(TOKEN, 36, &token));
	policy = tool_find(tools, "default", "refund");
	(void)grant_add(&effect, &token, NULL, policy);
	f = fake_call("complete", "{" IDS ",\"result\":{\"t\":\"hush\",\"u\": 1.0}}", 1);
	v = sent(&ledger_complete)->columns;
	text_is(&v[COMPLETE_P_RESULT], "{\"t\":\"[secret]\",\"u\": 1.0}");
	ck_assert_int_eq(v[COMPLETE_P_POLICY].i8, policy->version);
	ck_assert(v[COMPLETE_P_REDACTED].b);
	answer_done();
	ck_assert_ptr_null(grant_policy(&effect, &token));
	fake_free(f);
}
END_TEST

START_TEST(policy_of_a_claim_of_another_boot_is_asked_for_first)
{
	struct fake_row row = {{{0}}};
	struct fake_request *f;
	struct pgvalue *v;

	load(SECRET_POLICY);
	f = fake_call("complete", "{" IDS ",\"result\":{\"x\":\"hush\"}}", 1);
	row.cells[LEDGER_ANSWER].text = "ok";
	row.cells[POLICY_OF_POLICY] = (struct fake_cell){.text = "", .number = 4711};
	row.cells[POLICY_OF_RESULT_SECRET].text = "[\"/x\"]";
	fake_end(sent(&ledger_policy_of), 0, &row);
	v = sent(&ledger_complete)->columns;
	text_is(&v[COMPLETE_P_RESULT], "{\"x\":\"[secret]\"}");
	ck_assert_int_eq(v[COMPLETE_P_POLICY].i8, 4711);
	answer_done();
	fake_free(f);
	/* a row that is gone: nobody knows what is secret, so only size and hash go */
	f = fake_call("complete", "{" IDS ",\"result\":{\"x\":\"hush\"}}", 1);
	row.cells[LEDGER_ANSWER].text = "not_found";
	fake_end(sent(&ledger_policy_of), 0, &row);
	v = sent(&ledger_complete)->columns;
	ck_assert(v[COMPLETE_P_RESULT].null);
	ck_assert_int_eq(v[COMPLETE_P_RESULT_BYTES].i8, 12);
	row = row_of("not_found", NULL, NULL, NULL);
	fake_end(sent(&ledger_complete), 0, &row);
	fake_answered(f, "\"not_found\"");
	fake_free(f);
}
END_TEST

START_TEST(ledger_that_knows_of_secrets_is_sent_the_redacted_form)
{
	struct fake_request *f = fake_call("complete", "{" IDS ",\"result\":{\"x\":1,\"y\":2}}", 1);
	struct fake_row row = row_of("policy", "complete", "pending", NULL);

	row.cells[COMPLETE_POLICY] = (struct fake_cell){.text = "", .number = 12};
	row.cells[COMPLETE_RESULT_SECRET].text = "[\"/y\", \"/z\"]";
	fake_end(sent(&ledger_complete), 0, &row);
	text_is(
	    &sent(&ledger_complete)->columns[COMPLETE_P_RESULT], "{\"x\":1,\"y\":\"[secret]\"}");
	ck_assert_int_eq(sent(&ledger_complete)->columns[COMPLETE_P_POLICY].i8, 12);
	answer_done();
	fake_answered(f, "\"done\"");
	fake_free(f);
}
END_TEST

START_TEST(tools_own_error_has_the_shape_of_what_it_means)
{
	struct fake_request *f = fake_call("complete", "{" IDS ",\"outcome\":\"error\"}", 1);
	struct fake_row row = row_of("ok", "unknown", "unknown", NULL);

	fake_end(sent(&ledger_complete), 0, &row);
	fake_answered(f, "\"result\":{\"state\":\"unknown\",\"next_probe_at\":null}}");
	fake_free(f);
	f = fake_call("complete", "{" IDS ",\"outcome\":\"error\"}", 1);
	row = row_of("ok", "release", "released", NULL);
	fake_end(sent(&ledger_complete), 0, &row);
	fake_answered(f, "\"result\":{\"state\":\"released\",\"already\":false}}");
	fake_free(f);
	f = fake_call("complete", "{" IDS ",\"outcome\":\"failed\"}", 1);
	row = row_of("ok", "complete", "unknown", "failed");
	fake_end(sent(&ledger_complete), 0, &row);
	fake_answered(
	    f, "\"result\":{\"state\":\"unknown\",\"outcome\":\"failed\",\"already\":false}}");
	fake_free(f);
}
END_TEST

START_TEST(refusals_carry_state_and_attempt)
{
	static const char *const answers[] = {"conflict", "not_owner"};
	size_t i;

	for (i = 0; i < 2; i++) {
		struct fake_request *f = fake_call("complete", "{" IDS "}", 1);
		struct fake_row row = row_of(answers[i], "complete", "escalated", NULL);

		fake_end(sent(&ledger_complete), 0, &row);
		fake_answered(f, answers[i]);
		fake_answered(f, "\"state\":\"escalated\",\"attempt\":2");
		fake_free(f);
	}
}
END_TEST

START_TEST(complete_that_nobody_can_take_is_kept)
{
	struct fake_request *f;

	fake_config.request_timeout_ms = 20;
	f = fake_call("complete", "{" IDS ",\"result\":\"long\"}", 1);
	fake_run_until_answered(f);
	fake_answered(f, "\"unavailable\"");
	fake_answered(f, "\"kept\":true");
	fake_free(f);
	ck_assert_uint_eq(method_n_owed(), 1);
	text_is(&sent(&ledger_complete)->columns[COMPLETE_P_RESULT], "\"long\"");
	ck_assert_int_eq(sent(&ledger_complete)->deadline_ms, INT64_MAX);
	answer_done();
	ck_assert_uint_eq(method_n_owed(), 0);
	ck_assert_uint_eq(fake_n, 0);
}
END_TEST

START_TEST(complete_of_a_gone_peer_is_carried_out)
{
	struct fake_request *f = fake_call("complete", "{" IDS "}", 1);

	fake_gone(f);
	ck_assert_uint_eq(method_n_owed(), 1);
	answer_done();
	ck_assert_uint_eq(method_n_owed(), 0);
}
END_TEST

START_TEST(keeping_is_bounded_and_says_so)
{
	static struct fake_request *f[KEPT_MAX + 5];
	unsigned i, n_kept = 0, n_not = 0;

	fake_config.request_timeout_ms = 20;
	for (i = 0; i < KEPT_MAX + 5; i++)
		f[i] = fake_call("complete", "{" IDS "}", 1);
	fake_run_until_answered(f[KEPT_MAX + 4]);
	for (i = 0; i < KEPT_MAX + 5; i++) {
		if (!f[i]->answer)
			fake_run_until_answered(f[i]);
		n_kept += strstr(f[i]->answer, "\"kept\":true") != NULL;
		n_not += strstr(f[i]->answer, "\"kept\":false") != NULL;
		fake_free(f[i]);
	}
	ck_assert_uint_eq(n_kept, KEPT_MAX);
	ck_assert_uint_eq(n_not, 5);
	ck_assert_uint_eq(fake_n, KEPT_MAX);
	while (fake_n > 0)
		answer_done();
	ck_assert_uint_eq(method_n_owed(), 0);
}
END_TEST

/* What a kept one takes up is counted as it was when it was kept. */
START_TEST(redacting_what_is_kept_leaves_room_for_the_next)
{
	struct fake_row row = {{{0}}};

	load(SECRET_POLICY);
	fake_gone(fake_call("complete", "{" IDS ",\"result\":{\"x\":\"hush\"}}", 1));
	ck_assert_uint_eq(method_n_owed(), 1);
	row.cells[LEDGER_ANSWER].text = "ok";
	row.cells[POLICY_OF_POLICY] = (struct fake_cell){.text = "", .number = 77};
	row.cells[POLICY_OF_RESULT_SECRET].text = "[\"/x\"]";
	fake_end(sent(&ledger_policy_of), 0, &row);
	answer_done();
	fake_gone(fake_call("complete", "{" IDS ",\"result\":1}", 1));
	ck_assert_uint_eq(method_n_owed(), 1);
	fake_end(sent(&ledger_policy_of), 0, &row);
	answer_done();
	ck_assert_uint_eq(method_n_owed(), 0);
}
END_TEST

START_TEST(words_of_a_holder_are_carried_out_too)
{
	static const char *const methods[] = {"release", "unknown", "extend"};
	static const char *const results[] = {"{\"state\":\"x\",\"already\":true}}",
	    "{\"state\":\"x\",\"next_probe_at\":\"1970-01-01T00:00:00.001Z\"}}",
	    "{\"state\":\"x\",\"lease_until\":\"1970-01-01T00:00:00.001Z\"}}"};
	struct fake_row row = {{{0}}};
	size_t i;

	row.cells[LEDGER_ANSWER].text = "ok";
	row.cells[HOLDER_STATE].text = "x";
	row.cells[HOLDER_VALUE] = (struct fake_cell){.text = "", .number = 1000};
	for (i = 0; i < 3; i++) {
		struct fake_request *f = fake_call(methods[i], "{" IDS "}", 1);

		fake_end(TAILQ_FIRST(&fake_items), 0, &row);
		fake_answered(f, results[i]);
		fake_free(f);
		f = fake_call(methods[i], "{" IDS "}", 1);
		fake_gone(f);
		ck_assert_uint_eq(fake_n, 1);
		fake_end(TAILQ_FIRST(&fake_items), 0, &row);
		f = fake_call(methods[i], "{" IDS "}", 1);
		fake_end(TAILQ_FIRST(&fake_items), ERR_UNAVAILABLE, NULL);
		fake_answered(f, "\"unavailable\"");
		fake_free(f);
	}
	ck_assert_uint_eq(fake_n, 0);
}
END_TEST

START_TEST(reads_of_a_gone_peer_are_dropped)
{
	struct fake_request *f = fake_call("get", "{\"effect\":\"" EFFECT "\"}", 1);
	struct fake_row row = {.cells = {[LEDGER_ANSWER] = {.text = "ok"}}};

	fake_gone(f);
	ck_assert_uint_eq(fake_n, 0);
	f = fake_call("list", "{}", 1);
	fake_fly();
	fake_gone(f);
	fake_end(sent(&ledger_list), 0, &row);
	ck_assert_uint_eq(fake_n, 0);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("complete");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, result_leaves_as_its_raw_bytes);
	tcase_add_test(tc, null_omitted_and_bytes_that_are_no_text);
	tcase_add_test(tc, secret_of_a_claim_of_this_boot_never_leaves);
	tcase_add_test(tc, policy_of_a_claim_of_another_boot_is_asked_for_first);
	tcase_add_test(tc, ledger_that_knows_of_secrets_is_sent_the_redacted_form);
	tcase_add_test(tc, tools_own_error_has_the_shape_of_what_it_means);
	tcase_add_test(tc, refusals_carry_state_and_attempt);
	tcase_add_test(tc, complete_that_nobody_can_take_is_kept);
	tcase_add_test(tc, complete_of_a_gone_peer_is_carried_out);
	tcase_add_test(tc, keeping_is_bounded_and_says_so);
	tcase_add_test(tc, redacting_what_is_kept_leaves_room_for_the_next);
	tcase_add_test(tc, words_of_a_holder_are_carried_out_too);
	tcase_add_test(tc, reads_of_a_gone_peer_are_dropped);
	return tap_run("complete", tc);
}
