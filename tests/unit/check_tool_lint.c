/*
 * Findings on policies: each code once where it is due, and a sound policy without any. The codes
 * are part of the interface; effectd-tools(5) must name them all. Mere advice is tested by itself.
 */
#include "tap.h"
#include "tool.h"
#include "tool_dir.h"

static bool wants_advice;
static size_t n_advice;
static const char *name = "t";

static void
code_cb(void *arg, const struct tool_finding *f)
{
	struct buf *b = arg;

	ck_assert_ptr_null(f->file);
	ck_assert_str_eq(f->tool, name);
	ck_assert_int_ne(f->text[0], '\0');
	ck_assert_ptr_null(strchr(f->text, '\n'));
	n_advice += f->level == TOOL_ADVICE;
	if ((f->level == TOOL_ADVICE) != wants_advice)
		return;
	buf_printf(b, "%s%s@%s", b->len > 0 ? " " : "", f->code, f->pointer);
}

/* The findings of {"name":"t",MEMBERS} as CODE@POINTER, in order. */
static void
expect(const char *members, const char *findings)
{
	char *text = xasprintf("{\"name\":\"t\",%s}", members);
	struct tool_set *set = load(text);
	struct buf b = {0};
	size_t n;

	n_advice = 0;
	n = tool_lint(tool_find(set, "n", "t"), code_cb, &b);
	ck_assert_str_eq(buf_str(&b), findings);
	ck_assert(wants_advice || (n == n_advice) == (b.len == 0));
	buf_free(&b);
	tool_set_free(set);
	free(text);
}

/* The same of what is advice only. */
static void
expect_advice(const char *members, const char *findings)
{
	wants_advice = true;
	expect(members, findings);
	wants_advice = false;
}

#define PROBE "\"probe\":{\"exec\":{\"argv\":[\"/bin/probe\"]}}"
#define SOUND "\"key\":\"refund:{/order_id}:{/line}\"," PROBE

#define HTTP(url, rules) \
	"\"key\":\"k:{/id}\",\"probe\":{\"http\":{\"url\":\"http://h/" url "\"," rules "}}"
#define BY_BODY "\"landed\":{\"status\":200},\"absent\":{\"status\":404,\"body\":{\"/e\":1}}"

START_TEST(a_sound_policy_has_no_findings)
{
	expect(SOUND, "");
	expect("\"class\":\"read\"", "");
	expect("\"class\":\"accumulate\",\"key\":\"k:{/id}\"", "");
}
END_TEST

START_TEST(open_outcomes_need_somebody_to_ask)
{
	expect("\"key\":\"k:{/id}\"", "irreversible_without_probe@/probe");
	expect("\"class\":\"accumulate\",\"on_unknown\":\"probe\",\"key\":\"k:{/id}\"",
	    "probe_missing@/on_unknown");
	expect(SOUND ",\"on_unknown\":\"human\"", "probe_unused@/on_unknown");
	expect(
	    SOUND ",\"settle\":\"5m\",\"absent_needed\":4", "settle_over_escalate@/escalate_after");
	expect(SOUND ",\"settle\":\"5m\",\"absent_needed\":3", "");
}
END_TEST

START_TEST(a_retry_leans_on_the_provider)
{
#define RETRY SOUND ",\"on_unknown\":\"retry\",\"retry_window\":\"15m\""
	expect(RETRY, "retry_unkeyed@/on_unknown");
	expect(RETRY ",\"escalate_after\":\"14m\"",
	    "retry_unkeyed@/on_unknown retry_over_escalate@/retry_window");
	expect(RETRY ",\"max_attempts\":1", "retry_unkeyed@/on_unknown retry_spent@/max_attempts");
	expect("\"key\":\"k:{/id}\",\"escalate_after\":\"1d\",\"on_unknown\":\"retry\","
	       "\"retry_window\":\"1d\"",
	    "irreversible_without_probe@/probe retry_unkeyed@/on_unknown");
	expect("\"class\":\"accumulate\",\"key\":\"k:{/id}\",\"escalate_after\":\"1d\","
	       "\"on_unknown\":\"retry\",\"retry_window\":\"1d\"",
	    "retry_unkeyed@/on_unknown");
	expect("\"class\":\"read\",\"on_unknown\":\"retry\",\"retry_window\":\"1d\"", "");
	/* the policy hands the key out itself */
	expect(RETRY ",\"provider_key_to\":\"/idempotency_key\"", "");
	/* asked by attempt, it would tell of one of several that are open */
#define RETRIED "\"key\":\"k:{/id}\",\"provider_key_to\":\"/k\",\"on_unknown\":\"retry\","
#define WINDOW ",\"retry_window\":\"15m\""
	expect(RETRIED "\"probe\":{\"http\":{\"url\":\"http://h/{provider_key}/{attempt}\"," BY_BODY
		       "}}" WINDOW,
	    "retry_by_attempt@/probe");
	expect(RETRIED "\"probe\":{\"sql\":{\"query\":\"select $1, $2\",\"params\":[\"{key}\","
		       "\"{attempt}\"]}}" WINDOW,
	    "retry_by_attempt@/probe");
	expect(HTTP("{provider_key}/{attempt}", BY_BODY), "");
#undef RETRY
}
END_TEST

START_TEST(an_http_probe_knows_whose_answer_it_is)
{
	expect(HTTP("{provider_key}", BY_BODY), "");
	expect(HTTP("{key}", BY_BODY), "");
	expect(HTTP("", BY_BODY), "landed_untied@/probe/http/landed");
	expect(HTTP("", "\"landed\":{\"body\":{\"/k\":\"{effect}\"}}"), "");
	expect(HTTP("", "\"landed\":{\"status\":200,\"after\":\"/at\"}"), "");
	expect(HTTP("{effect}", "\"landed\":{\"status\":200},\"absent\":{\"status\":404}"),
	    "absent_by_status@/probe/http/absent");
}
END_TEST

#define SQL(members) "\"key\":\"k:{/id}\",\"probe\":{\"sql\":{\"query\":\"select $1\"," members "}}"

START_TEST(an_sql_probe_asks_for_this_effect_and_whoever_knows)
{
	expect(SQL("\"params\":[\"{provider_key}\"]"), "");
	expect(SQL("\"params\":[\"{claimed_at}\"]"), "");
	expect(SQL("\"params\":[\"{tool}\"]"), "landed_untied@/probe/sql/params");
	expect(SQL("\"params\":[\"{key}\"],\"database\":\"host=a target_session_attrs=any\""),
	    "absent_on_standby@/probe/sql/database");
}
END_TEST

START_TEST(an_exec_probe_that_others_could_change_is_named)
{
	expect("\"key\":\"k:{/id}\",\"probe\":{\"exec\":{\"argv\":[\"/dev/null\"]}}",
	    "probe_unsafe@/probe/exec/argv/0");
	expect("\"key\":\"k:{/id}\",\"probe\":{\"exec\":{\"argv\":[\"/bin/sh\",\"x\"]}}", "");
}
END_TEST

START_TEST(keys_should_outlast_a_rewording)
{
	expect("\"lease\":\"5s\"," PROBE, "no_key@/key");
	expect(PROBE ",\"key\":\"nightly:{tool}\"", "key_constant@/key");
	expect(PROBE ",\"key\":\"k:{turn}:{/id}\"", "key_per_turn@/key");
	expect(PROBE ",\"key\":\"k:{/id}:{/memo}\"", "key_free_text@/key");
	expect(PROBE ",\"key\":\"k:{/id}:{/mail/Body}\"", "key_free_text@/key");
	expect(PROBE ",\"key\":\"k:{/id}:{/call_id}\"", "key_call_id@/key");
	expect(PROBE ",\"key\":\"k:{/requestId}\"", "key_call_id@/key");
	expect(PROBE ",\"key\":\"k:{/idempotency-key}\"", "key_call_id@/key");
	expect(PROBE ",\"key\":\"k:{/timestamp}:{/now}\"", "key_clock@/key key_clock@/key");
	expect(PROBE ",\"key\":\"k:{/id}:{/line}\",\"ignore\":[\"/line\"]", "key_ignored@/key");
	expect(PROBE ",\"key\":\"k:{/messages}:{/timezone}:{/memory}:{/note/id}\"", "");
	/* by their last word, however it is written; what only holds such a word is another thing
	 */
	expect(PROBE ",\"key\":\"k:{/payment_token}\"", "key_token@/key");
	expect(PROBE ",\"key\":\"k:{/paymentToken}:{/x/session-id}\"",
	    "key_token@/key key_token@/key");
	expect(PROBE ",\"key\":\"k:{/gift_message}:{/giftMessage}\"",
	    "key_free_text@/key key_free_text@/key");
	expect(PROBE ",\"key\":\"k:{/model_call_id}:{/toolUseId}\"",
	    "key_call_id@/key key_call_id@/key");
	expect(PROBE ",\"key\":\"k:{/event-timestamp}:{/date}:{/minute}\"",
	    "key_clock@/key key_clock@/key key_clock@/key");
	expect(PROBE
	    ",\"key\":\"k:{/tokens}:{/context}:{/due_date}:{/delivery_time}:{/token_name}\"",
	    "");
	expect(PROBE ",\"key\":\"k:{/order_id}:{/line}:{/customer}:{/amount}\"", "");
}
END_TEST

START_TEST(keys_should_tell_effects_apart_and_nothing_else)
{
	expect(PROBE ",\"key\":\"k:{step}:{/id}\"", "key_step_without_run@/key");
	expect(PROBE ",\"key\":\"{run}/{step}\"", "");
	expect(PROBE ",\"key\":\"{run}/{tool}\"", "key_per_run@/key");
	expect(PROBE ",\"key\":\"{run}/{/id}\"", "");
	expect(PROBE ",\"key\":\"{run}/{turn}\"", "key_per_turn@/key");
	expect(PROBE ",\"key\":\"{run}/{args}\"", "key_all_args@/key");
	expect(PROBE ",\"key\":\"{run}/{args}\",\"ignore\":[\"/memo\"]", "");
}
END_TEST

START_TEST(times_should_fit_each_other)
{
	expect(SOUND ",\"lease\":\"1h\",\"hold_max\":\"30m\"", "lease_over_hold_max@/hold_max");
	expect(SOUND ",\"lease\":\"1h\",\"hold_max\":\"1h\"", "");
	expect(SOUND ",\"keep_key\":\"23h\"", "keep_key_short@/keep_key");
	expect(SOUND ",\"keep_key\":\"24h\"", "");
}
END_TEST

START_TEST(lists_should_not_contradict_each_other)
{
	expect(
	    SOUND ",\"keep\":[\"/a\",\"/memo/x\"],\"ignore\":[\"/memo\"]", "keep_ignored@/keep/1");
	expect(SOUND ",\"keep\":[\"/memo\"],\"ignore\":[\"/memo/x\"]", "");
	expect(SOUND ",\"keep\":[\"/a\"],\"provider_key_to\":\"/a\"", "keep_ignored@/keep/0");
	expect(SOUND ",\"keep\":[\"/ab\"],\"provider_key_to\":\"/a\"", "");
	expect(SOUND ",\"on_error\":\"released\"", "error_releases@/on_error");
	expect(SOUND ",\"on_error\":\"failed\"", "");
}
END_TEST

START_TEST(guards_that_are_let_pass_are_named)
{
	expect("\"class\":\"overwrite\",\"key\":\"k:{/memo}\"", "guard_unused@/key");
	expect("\"class\":\"natural\"," PROBE, "guard_unused@/probe");
	expect("\"class\":\"read\",\"business_key\":[\"/a\"]", "guard_unused@/business_key");
	expect("\"class\":\"read\",\"turn_budget\":1", "guard_unused@/turn_budget");
	expect("\"class\":\"read\",\"turn_asks\":1", "guard_unused@/turn_asks");
}
END_TEST

START_TEST(guards_should_be_able_to_guard)
{
	expect(SOUND ",\"turn_budget\":3,\"turn_asks\":2", "asks_below_budget@/turn_asks");
	expect(SOUND ",\"turn_budget\":3,\"turn_asks\":3", "");
	expect(SOUND ",\"business_key\":[\"/order_id\",\"/memo\",\"/timestamp\"]",
	    "business_volatile@/business_key/1 business_volatile@/business_key/2");
	expect(SOUND ",\"business_key\":[\"/order_id\",\"/amount\"]", "");
}
END_TEST

START_TEST(a_probe_should_have_time_to_be_believed)
{
	expect(SOUND ",\"settle\":\"4999ms\"", "settle_short@/settle");
	expect(SOUND ",\"settle\":\"5s\"", "");
	expect(SOUND ",\"on_unknown\":\"human\",\"settle\":\"0s\"", "probe_unused@/on_unknown");
	expect(SOUND ",\"escalate_after\":\"90s\",\"probe_backoff\":[\"2m\"]",
	    "backoff_over_escalate@/probe_backoff");
	expect(SOUND ",\"escalate_after\":\"2m\",\"probe_backoff\":[\"2m\"]", "");
	expect(SOUND
	    ",\"escalate_after\":\"6m\",\"probe_backoff\":[\"1m\",\"3m\"],\"absent_needed\":4",
	    "backoff_over_escalate@/probe_backoff");
	expect(SOUND ",\"escalate_after\":\"1m\",\"probe_timeout\":\"1m\"",
	    "probe_over_escalate@/probe_timeout");
	expect(SOUND ",\"escalate_after\":\"25h\"", "escalate_late@/escalate_after");
	expect(SOUND ",\"escalate_after\":\"1d\"", "");
}
END_TEST

START_TEST(what_is_compared_and_stored_should_be_what_counts)
{
	expect(
	    SOUND ",\"ignore\":[\"\"]", "key_ignored@/key key_ignored@/key ignore_all@/ignore/0");
	expect(SOUND ",\"ignore\":[\"/memo\",\"/total_amount\"]", "ignore_amount@/ignore/1");
	expect(SOUND ",\"ignore\":[\"/amount_text\"]", "");
	expect(SOUND ",\"keep\":[\"/order_id\",\"/apiKey\",\"/payment_token\"]",
	    "keep_credential@/keep/1 keep_credential@/keep/2");
	expect(SOUND ",\"keep\":[\"/tokens\",\"/card_last4\"]", "");
}
END_TEST

START_TEST(a_class_that_is_let_pass_should_look_like_it)
{
	struct tool_set *set;
	struct buf b = {0};
	static const struct {
		const char *name, *class, *findings;
	} rows[] = {{"send_mail", "read", "class_unlikely@/class"},
	    {"github/createIssue", "read", "class_unlikely@/class"},
	    {"delete_user", "read", "class_unlikely@/class"}, {"delete_user", "overwrite", ""},
	    {"refund", "overwrite", "class_unlikely@/class"}, {"send_mail", "natural", ""},
	    {"sender_of", "read", ""}, {"get_order", "read", ""}, {"set_price", "overwrite", ""}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *text =
		    xasprintf("{\"name\":\"%s\",\"class\":\"%s\"}", rows[i].name, rows[i].class);

		set = load(text);
		name = rows[i].name;
		tool_lint(tool_find(set, "n", name), code_cb, &b);
		ck_assert_msg(!strcmp(buf_str(&b), rows[i].findings), "%s: %s", text, buf_str(&b));
		name = "t";
		buf_clear(&b);
		tool_set_free(set);
		free(text);
	}
	buf_free(&b);
}
END_TEST

START_TEST(advice_is_told_besides)
{
#define BUDGET ",\"turn_budget\":3"
	expect_advice("\"class\":\"read\"", "");
	expect_advice(SOUND, "no_turn_budget@/turn_budget");
	expect_advice(
	    "\"class\":\"accumulate\",\"key\":\"k:{/id}\"", "no_turn_budget@/turn_budget");
	expect_advice(SOUND BUDGET, "");
	expect_advice(SOUND ",\"turn_asks\":9", "");
	expect_advice(PROBE BUDGET, "no_business_key@/business_key");
	expect_advice(PROBE BUDGET ",\"business_key\":[\"/order_id\"]", "");
	expect_advice(PROBE BUDGET ",\"class\":\"accumulate\"", "");
	expect_advice(PROBE BUDGET ",\"key\":\"{run}/{step}\"", "no_business_key@/business_key");
	expect_advice(PROBE BUDGET ",\"key\":\"{run}/{/id}\"", "");
	expect_advice(SOUND BUDGET ",\"keep_result\":\"0s\"", "keep_result_short@/keep_result");
	expect_advice(SOUND BUDGET ",\"keep_result\":\"20m\"", "");
	expect_advice(SOUND BUDGET ",\"absent_needed\":1", "absent_once@/absent_needed");
	expect_advice(SOUND BUDGET ",\"lease\":\"4s\"", "lease_short@/lease");
	expect_advice(SOUND BUDGET ",\"max_attempts\":11", "max_attempts_high@/max_attempts");
}
END_TEST

START_TEST(each_code_has_its_level)
{
	enum tool_level level = TOOL_ADVICE;
	const char *code;
	size_t n = 0;

	for (; (code = tool_finding_code(n)); n++) {
		ck_assert(tool_finding_level(code, &level));
		ck_assert_str_ne(tool_finding_word(level), "");
	}
	ck_assert_uint_gt(n, 40);
	ck_assert(!tool_finding_level("key", &level));
	ck_assert(tool_finding_level("key_clock", &level) && level == TOOL_ERROR);
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("tool_lint");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_sound_policy_has_no_findings);
	tcase_add_test(tc, open_outcomes_need_somebody_to_ask);
	tcase_add_test(tc, a_retry_leans_on_the_provider);
	tcase_add_test(tc, an_http_probe_knows_whose_answer_it_is);
	tcase_add_test(tc, an_sql_probe_asks_for_this_effect_and_whoever_knows);
	tcase_add_test(tc, an_exec_probe_that_others_could_change_is_named);
	tcase_add_test(tc, keys_should_outlast_a_rewording);
	tcase_add_test(tc, keys_should_tell_effects_apart_and_nothing_else);
	tcase_add_test(tc, times_should_fit_each_other);
	tcase_add_test(tc, lists_should_not_contradict_each_other);
	tcase_add_test(tc, guards_that_are_let_pass_are_named);
	tcase_add_test(tc, guards_should_be_able_to_guard);
	tcase_add_test(tc, a_probe_should_have_time_to_be_believed);
	tcase_add_test(tc, what_is_compared_and_stored_should_be_what_counts);
	tcase_add_test(tc, a_class_that_is_let_pass_should_look_like_it);
	tcase_add_test(tc, advice_is_told_besides);
	tcase_add_test(tc, each_code_has_its_level);
	return tap_run("tool_lint", tc);
}
