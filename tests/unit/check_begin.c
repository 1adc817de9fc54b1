/*
 * begin against a ledger that the test plays: who is told what when answers come late, twice or
 * never, and that every claim nobody was told of is given back. The decisions themselves are SQL's.
 */
#include "breaker.h"
#include "fake_batch.h"
#include "fake_request.h"
#include "methods/ledger.h"
#include "tap.h"
#include "waiting.h"

#include <stdio.h>
#include <unistd.h>

#define REQUEST "\"request\":\"11111111-2222-4333-8444-555555555555\""
#define TOOL "\"tool\":\"refund\",\"key\":\"k\""

static struct tool_set *tools;

static bool until_asked;

static void
asked_hook(void)
{
	if (until_asked && fake_n > 0)
		loop_stop();
}

/* Runs the loop until the ledger is asked something. */
static void
run_until_asked(void)
{
	until_asked = true;
	loop_run();
	until_asked = false;
}

static void
setup(void)
{
	fake_start();
	loop_add_pass_end(asked_hook);
	breaker_init(4); /* slots for probes */
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

static struct fake_row
row_of(const char *answer, const struct uuid *token, int64_t lease_ms)
{
	struct fake_row row = {{{0}}};

	row.cells[LEDGER_ANSWER].text = answer;
	row.cells[BEGIN_ATTEMPT] = (struct fake_cell){.text = "", .number = 1};
	if (token)
		row.cells[BEGIN_TOKEN] = (struct fake_cell){.text = "", .uuid = *token};
	row.cells[BEGIN_LEASE_UNTIL] = (struct fake_cell){.text = "", .number = 1800000000000000};
	row.cells[BEGIN_LEASE_MS] = (struct fake_cell){.text = "", .number = lease_ms};
	row.cells[BEGIN_PROTECTED_UNTIL] = row.cells[BEGIN_LEASE_UNTIL];
	row.cells[BEGIN_ON_ERROR].text = "unknown";
	row.cells[BEGIN_CLAIMED_AT] = row.cells[BEGIN_LEASE_UNTIL];
	return row;
}

/* The ledger grants what the begin in front asks for; the token it was told. */
static struct uuid
grant_it(int64_t lease_ms)
{
	struct batch_item *item = sent(&ledger_begin);
	struct uuid token = item->columns[BEGIN_P_TOKEN].uuid;
	struct fake_row row = row_of("run", &token, lease_ms);

	fake_end(item, 0, &row);
	return token;
}

static void
answer_it(const char *answer)
{
	struct fake_row row = row_of(answer, NULL, 0);

	fake_end(sent(&ledger_begin), 0, &row);
}

/* The claim with this token is given back, for as long as it takes. */
static void
given_back(const struct uuid *token)
{
	struct batch_item *item = sent(&ledger_release);
	struct fake_row row = {.cells = {[LEDGER_ANSWER] = {.text = "ok"}}};

	ck_assert(uuid_equal(&item->columns[HOLDER_P_TOKEN].uuid, token));
	ck_assert(item->columns[HOLDER_P_FLAG].b);
	ck_assert(item->columns[HOLDER_P_SCOPE].null);
	ck_assert_int_eq(item->deadline_ms, INT64_MAX);
	fake_end(item, 0, &row);
}

static void
nothing_left(void)
{
	ck_assert_uint_eq(fake_n, 0);
	ck_assert_uint_eq(waiting_n(), 0);
	ck_assert_uint_eq(method_n_owed(), 0);
}

START_TEST(run_is_told_in_the_order_of_the_page)
{
	struct fake_request *f = fake_call("begin", "{" TOOL "}", 1);
	struct uuid token = grant_it(60000);
	char text[UUID_TEXT_BYTES];
	const char *members[] = {"\"result\":{\"decision\":\"run\"", "\"next\":\"execute\"",
	    "\"advice\":\"", "\"effect\":\"", "\"key\":\"k\"", "\"attempt\":1", "\"token\":\"",
	    "\"lease_until\":\"2027-01-15T08:00:00.000Z\"", "\"lease_ms\":60000",
	    "\"provider_key\":\"", "\"protected_until\":\"", "\"on_error\":\"unknown\"}}"};
	const char *at;
	size_t i;

	for (i = 0, at = f->answer; i < sizeof(members) / sizeof(members[0]); i++) {
		at = strstr(at, members[i]);
		ck_assert_msg(at != NULL, "%s is missing in %s", members[i], f->answer);
	}
	uuid_text(&token, text);
	fake_answered(f, text);
	ck_assert_ptr_nonnull(f->grant);
	ck_assert(grant_told(f->grant));
	fake_free(f);
	nothing_left();
}
END_TEST

START_TEST(unknown_policy_is_registered_once_and_asked_again)
{
	struct fake_request *f = fake_call("begin", "{" TOOL "}", 1);
	struct fake_row row = {.cells = {[LEDGER_ANSWER] = {.text = "ok"}}};
	struct batch_item *item;

	answer_it("no_tool");
	item = sent(&ledger_register_tools);
	ck_assert_int_eq(strncmp(item->columns[REGISTER_P_NAME].text.p, "refund", 6), 0);
	fake_end(item, 0, &row);
	grant_it(60000);
	fake_answered(f, "\"run\"");
	fake_free(f);
	nothing_left();
}
END_TEST

START_TEST(ledger_that_never_knows_the_policy_is_an_internal_error)
{
	struct fake_request *f = fake_call("begin", "{" TOOL "}", 1);
	struct fake_row row = {.cells = {[LEDGER_ANSWER] = {.text = "ok"}}};

	while (!f->answer) {
		answer_it("no_tool");
		if (!f->answer)
			fake_end(sent(&ledger_register_tools), 0, &row);
	}
	fake_answered(f, "\"internal\"");
	fake_free(f);
	nothing_left();
}
END_TEST

START_TEST(claim_of_a_gone_peer_is_given_back)
{
	struct fake_request *f = fake_call("begin", "{" TOOL "," REQUEST "}", 1);
	struct uuid token;

	fake_fly();
	fake_gone(f);
	token = grant_it(60000);
	given_back(&token);
	nothing_left();
}
END_TEST

START_TEST(queued_begin_of_a_gone_peer_is_dropped)
{
	fake_gone(fake_call("begin", "{" TOOL "," REQUEST "}", 1));
	nothing_left();
}
END_TEST

START_TEST(late_claim_without_a_request_is_given_back)
{
	struct fake_request *f = fake_call("begin", "{" TOOL ",\"deadline_ms\":20}", 1);
	struct uuid token;

	fake_fly();
	fake_run_until_answered(f);
	fake_answered(f, "\"unavailable\"");
	fake_answered(f, "\"retry_after_ms\":");
	fake_free(f);
	token = grant_it(60000);
	given_back(&token);
	nothing_left();
}
END_TEST

START_TEST(late_claim_with_a_request_waits_to_be_asked_for)
{
	struct fake_request *f = fake_call("begin", "{" TOOL "," REQUEST ",\"deadline_ms\":20}", 1);
	struct uuid token, second;
	struct fake_row row;

	ck_assert(!sent(&ledger_begin)->columns[BEGIN_P_REGRANT].b);
	fake_fly();
	fake_run_until_answered(f);
	fake_answered(f, "\"unavailable\"");
	fake_free(f);
	token = grant_it(60000);
	nothing_left();
	/* the same request once more: the same grant */
	f = fake_call("begin", "{" TOOL "," REQUEST "}", 2);
	ck_assert(sent(&ledger_begin)->columns[BEGIN_P_REGRANT].b);
	second = sent(&ledger_begin)->columns[BEGIN_P_TOKEN].uuid;
	ck_assert(!uuid_equal(&token, &second));
	row = row_of("run", &token, 60000);
	fake_end(sent(&ledger_begin), 0, &row);
	fake_answered(f, "\"run\"");
	fake_free(f);
	/* and a third time: it was told */
	f = fake_call("begin", "{" TOOL "," REQUEST "}", 3);
	ck_assert(!sent(&ledger_begin)->columns[BEGIN_P_REGRANT].b);
	answer_it("busy");
	fake_answered(f, "\"busy\"");
	fake_free(f);
	nothing_left();
}
END_TEST

START_TEST(claim_lost_with_its_connection_is_given_back_by_its_token)
{
	struct fake_request *f = fake_call("begin", "{" TOOL "}", 1);
	struct batch_item *item = sent(&ledger_begin);
	struct uuid token = item->columns[BEGIN_P_TOKEN].uuid;

	item->resent = true;
	fake_end(item, ERR_UNAVAILABLE, NULL);
	fake_answered(f, "\"unavailable\"");
	fake_free(f);
	given_back(&token);
	nothing_left();
}
END_TEST

START_TEST(claim_that_was_never_sent_owes_nothing)
{
	struct fake_request *f = fake_call("begin", "{" TOOL "}", 1);

	fake_end(sent(&ledger_begin), ERR_UNAVAILABLE, NULL);
	fake_answered(f, "\"unavailable\"");
	fake_free(f);
	nothing_left();
}
END_TEST

START_TEST(lost_claim_with_a_request_may_be_asked_for)
{
	struct fake_request *f = fake_call("begin", "{" TOOL "," REQUEST "}", 1);
	struct batch_item *item = sent(&ledger_begin);

	item->resent = true;
	fake_end(item, ERR_UNAVAILABLE, NULL);
	fake_free(f);
	nothing_left();
	f = fake_call("begin", "{" TOOL "," REQUEST "}", 1);
	ck_assert(sent(&ledger_begin)->columns[BEGIN_P_REGRANT].b);
	grant_it(60000);
	fake_answered(f, "\"run\"");
	fake_free(f);
	nothing_left();
}
END_TEST

START_TEST(run_older_than_its_lease_is_withheld)
{
	struct fake_request *f = fake_call("begin", "{" TOOL "}", 1);
	struct uuid token;

	f->r.received_ms -= 2001;
	token = grant_it(2000);
	fake_answered(f, "\"decision\":\"unknown\"");
	ck_assert_ptr_null(strstr(f->answer, "token"));
	ck_assert_ptr_null(f->grant);
	fake_free(f);
	given_back(&token);
	nothing_left();
}
END_TEST

/* The second begin of a request must not be told busy against the first one of its own caller. */
START_TEST(second_begin_of_a_request_waits_for_the_first)
{
	struct fake_request *first =
	    fake_call("begin", "{" TOOL "," REQUEST ",\"deadline_ms\":20}", 1);
	struct batch_item *item = sent(&ledger_begin);
	struct fake_request *second;
	struct fake_row run, busy = row_of("busy", NULL, 0);
	struct uuid token = item->columns[BEGIN_P_TOKEN].uuid;

	fake_fly();
	fake_run_until_answered(first);
	fake_answered(first, "\"unavailable\"");
	fake_free(first);
	second = fake_call("begin", "{" TOOL "," REQUEST "}", 2);
	ck_assert(!TAILQ_NEXT(item, link)->columns[BEGIN_P_REGRANT].b);
	fake_end(TAILQ_NEXT(item, link), 0, &busy);
	ck_assert_ptr_null(second->answer);
	run = row_of("run", &token, 60000);
	fake_end(item, 0, &run);
	waiting_wake(&token); /* some other effect */
	ck_assert_uint_eq(fake_n, 0);
	waiting_end_all(); /* its time is over: it asks again */
	ck_assert(sent(&ledger_begin)->columns[BEGIN_P_REGRANT].b);
	fake_end(sent(&ledger_begin), 0, &run);
	fake_answered(second, "\"run\"");
	fake_free(second);
	nothing_left();
}
END_TEST

START_TEST(begin_of_a_request_waits_until_its_claim_is_given_back)
{
	struct fake_request *first = fake_call("begin", "{" TOOL "," REQUEST "}", 1);
	struct fake_request *second;
	struct fake_row busy = row_of("busy", NULL, 0);
	struct uuid token;

	fake_fly();
	fake_gone(first);
	token = grant_it(60000);
	second = fake_call("begin", "{" TOOL "," REQUEST "}", 2);
	/* on another connection: the ledger has it before the release */
	fake_end(TAILQ_NEXT(sent(&ledger_release), link), 0, &busy);
	ck_assert_ptr_null(second->answer);
	given_back(&token);
	grant_it(60000);
	fake_answered(second, "\"run\"");
	fake_free(second);
	nothing_left();
}
END_TEST

START_TEST(two_equal_requests_at_once_are_one_run_and_one_busy)
{
	struct fake_request *first = fake_call("begin", "{" TOOL "," REQUEST "}", 1);
	struct fake_request *second = fake_call("begin", "{" TOOL "," REQUEST "}", 1);

	grant_it(60000);
	answer_it("busy");
	fake_answered(first, "\"run\"");
	fake_answered(second, "\"busy\"");
	fake_free(first);
	fake_free(second);
	nothing_left();
}
END_TEST

static struct uuid
effect_k(void)
{
	return digest_effect_id("default", 7, "refund", 6, "k", 1);
}

START_TEST(waiter_asks_again_when_the_effect_changes)
{
	struct fake_request *f = fake_call("begin", "{" TOOL ",\"wait_ms\":60000}", 1);
	struct uuid effect = effect_k();

	answer_it("busy");
	ck_assert_ptr_null(f->answer);
	ck_assert_uint_eq(waiting_n(), 1);
	waiting_wake(&effect);
	answer_it("busy"); /* somebody else was faster */
	ck_assert_uint_eq(waiting_n(), 1);
	f->r.received_ms -= 5000; /* longer than the lease: a wait does not make a run stale */
	waiting_wake(&effect);
	grant_it(1000);
	fake_answered(f, "\"run\"");
	fake_answered(f, "\"waited_ms\":50");
	fake_free(f);
	nothing_left();
}
END_TEST

START_TEST(waiter_is_told_busy_at_its_time_and_at_the_stop)
{
	struct fake_request *f = fake_call("begin", "{" TOOL ",\"wait_ms\":30}", 1);

	answer_it("busy");
	fake_run_until_answered(f);
	fake_answered(f, "\"decision\":\"busy\"");
	fake_answered(f, "\"retry_after_ms\":");
	fake_free(f);
	f = fake_call("begin", "{" TOOL ",\"wait_ms\":60000}", 1);
	f->r.method->drain(&f->r);
	ck_assert_ptr_null(f->answer); /* in flight: it gets its answer */
	answer_it("busy");	       /* the stop came before this: it is not parked any more */
	fake_answered(f, "\"decision\":\"busy\"");
	fake_free(f);
	f = fake_call("begin", "{" TOOL ",\"wait_ms\":60000}", 1);
	answer_it("busy");
	fake_gone(f);
	nothing_left();
}
END_TEST

START_TEST(waiting_ends_with_what_is_decided)
{
	static const char *const answers[] = {"replay", "escalated", "exhausted", "mismatch"};
	struct uuid effect = effect_k();
	char expected[64];
	size_t i;

	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct fake_request *f = fake_call("begin", "{" TOOL ",\"wait_ms\":60000}", 1);

		answer_it("busy");
		waiting_wake(&effect);
		answer_it(answers[i]);
		snprintf(expected, sizeof(expected), "\"decision\":\"%s\"", answers[i]);
		fake_answered(f, expected);
		fake_free(f);
	}
	nothing_left();
}
END_TEST

/* What the ledger says to a begin that met unknown and wants a probe. */
static void
demand_it(const char *answer, int64_t in_ms)
{
	struct fake_row row = {.cells = {[LEDGER_ANSWER] = {.text = answer}}};

	if (in_ms >= 0)
		row.cells[PROBE_IN_MS] = (struct fake_cell){.text = "", .number = in_ms};
	fake_end(sent(&ledger_probe_now), 0, &row);
}

START_TEST(unknown_without_time_is_told_at_once)
{
	struct fake_request *f = fake_call("begin", "{" TOOL "}", 1);

	answer_it("unknown");
	fake_answered(f, "\"decision\":\"unknown\"");
	fake_answered(f, "\"next_probe_at\":null,\"retry_after_ms\":");
	fake_free(f);
	nothing_left();
}
END_TEST

START_TEST(unknown_with_time_left_asks_for_a_probe)
{
	struct fake_request *f = fake_call("begin", "{" TOOL ",\"wait_ms\":60000}", 1);
	struct uuid effect = effect_k();

	answer_it("unknown");
	demand_it("wait", -1); /* another's is under way */
	ck_assert_uint_eq(waiting_n(), 1);
	waiting_wake(&effect); /* its word told nothing */
	answer_it("unknown");
	demand_it("wait", 1); /* and there is a pause */
	ck_assert_ptr_null(f->answer);
	run_until_asked();
	demand_it("moved", -1); /* then it has moved */
	grant_it(60000);
	fake_answered(f, "\"run\"");
	fake_free(f);
	nothing_left();
}
END_TEST

START_TEST(unknown_that_no_probe_will_tell_is_told_at_once)
{
	struct fake_request *f = fake_call("begin", "{" TOOL ",\"wait_ms\":60000}", 1);

	answer_it("unknown");
	demand_it("none", -1);
	fake_answered(f, "\"decision\":\"unknown\"");
	fake_free(f);
	nothing_left();
}
END_TEST

START_TEST(wish_for_a_probe_ends_with_what_ends_its_begin)
{
	struct fake_request *f = fake_call("begin", "{" TOOL ",\"wait_ms\":60000}", 1);

	answer_it("unknown");
	fake_end(sent(&ledger_probe_now), ERR_UNAVAILABLE, NULL);
	fake_answered(f, "\"decision\":\"unknown\""); /* as the ledger said before */
	fake_free(f);

	f = fake_call("begin", "{" TOOL ",\"wait_ms\":60000}", 1);
	answer_it("unknown");
	fake_fly();
	f->r.method->drain(&f->r);
	ck_assert_ptr_null(f->answer); /* in flight: it gets its answer */
	demand_it("wait", -1);
	fake_answered(f, "\"decision\":\"unknown\"");
	fake_free(f);

	f = fake_call("begin", "{" TOOL ",\"wait_ms\":60000}", 1);
	answer_it("unknown");
	demand_it("wait", -1);
	f->r.method->drain(&f->r);
	fake_answered(f, "\"decision\":\"unknown\"");
	fake_free(f);

	f = fake_call("begin", "{" TOOL ",\"wait_ms\":30}", 1);
	answer_it("unknown");
	fake_fly(); /* the ledger is slow: its time is over first */
	fake_run_until_answered(f);
	fake_answered(f, "\"decision\":\"unknown\"");
	fake_free(f);
	demand_it("wait", -1);

	f = fake_call("begin", "{" TOOL ",\"wait_ms\":60000}", 1);
	answer_it("unknown");
	fake_fly();
	fake_gone(f);
	demand_it("wait", -1);
	nothing_left();
}
END_TEST

START_TEST(deadline_bounds_the_wait)
{
	struct fake_request *f =
	    fake_call("begin", "{" TOOL ",\"wait_ms\":60000,\"deadline_ms\":30}", 1);

	answer_it("busy");
	fake_run_until_answered(f);
	fake_answered(f, "\"decision\":\"busy\"");
	fake_free(f);
	nothing_left();
}
END_TEST

START_TEST(bound_claim_belongs_to_its_connection)
{
	struct fake_request *f = fake_call("begin", "{" TOOL ",\"bind\":true}", 5);
	struct fake_row row = {.cells = {[LEDGER_ANSWER] = {.text = "ok"}}};
	struct uuid token = grant_it(60000);
	struct batch_item *item;

	ck_assert(grant_has_bound(5));
	grant_each_bound(5, method_bound_closed, NULL);
	item = sent(&ledger_unknown);
	ck_assert(uuid_equal(&item->columns[HOLDER_P_TOKEN].uuid, &token));
	ck_assert(item->columns[HOLDER_P_FLAG].b);
	fake_end(item, 0, &row);
	fake_free(f);
	nothing_left();
}
END_TEST

/* Case 37: the answer names what differs, where the policy keeps it. */
/* The policy that is in force from now on. */
static void
use_policy(const char *text)
{
	char dir[] = "/tmp/check_begin.XXXXXX", path[64];
	struct tool_set *set;
	char *error = NULL;
	bool missing;
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.json", dir);
	file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
	set = tool_set_load(dir, false, &missing, &error);
	ck_assert_msg(set != NULL, "%s", error);
	method_use(&fake_config, set);
	tool_set_free(tools);
	tools = set;
	unlink(path);
	rmdir(dir);
}

START_TEST(mismatch_names_the_pointers_that_differ)
{
	struct fake_request *f;
	struct fake_row row = row_of("mismatch", NULL, 0);

	use_policy("{\"name\":\"refund\",\"class\":\"irreversible\",\"key\":\"r:{/id}\","
		   "\"secret\":[\"/card\"],"
		   "\"keep\":[\"/id\",\"/amount\",\"/line\",\"/note\"]}");
	f = fake_call("begin",
	    "{\"tool\":\"refund\",\"args\":{\"id\":7,\"amount\":\"1.0\",\"line\":2,\"card\":"
	    "\"4111\"}}",
	    1);
	ck_assert_int_eq(strncmp(sent(&ledger_begin)->columns[BEGIN_P_KEPT].text.p,
			     "{\"/amount\":\"1.0\",\"/id\":7,\"/line\":2}",
			     sent(&ledger_begin)->columns[BEGIN_P_KEPT].text.n),
	    0);
	row.cells[BEGIN_STATE].text = "done";
	row.cells[BEGIN_KEPT].text = "{\"/amount\":\"1.00\",\"/id\":7,\"/note\":null}";
	fake_end(sent(&ledger_begin), 0, &row);
	fake_answered(f, "\"state\":\"done\",\"claimed_at\":\"");
	fake_answered(f, "\"differs\":[\"/amount\",\"/line\",\"/note\"]}");
	fake_free(f);
	nothing_left();
}
END_TEST

#define GUARDED                                                                            \
	"{\"name\":\"refund\",\"turn_budget\":3,\"business_key\":[\"/id\",\"/line\"]," \
	"\"on_business_duplicate\":\"hold\"}"
#define TURN TOOL ",\"run\":\"r\",\"turn\":1"
#define ARGS ",\"args\":{\"id\":7,\"line\":\"b:c\"}"

START_TEST(guards_have_a_statement_of_their_own)
{
	struct uuid business = digest_business("default", "refund", "7:b%3Ac", 7);
	struct fake_request *f;
	struct batch_item *item;
	struct fake_row row = row_of("held", NULL, 0);

	/* no budget and no guard: the turn changes nothing */
	f = fake_call("begin", "{" TURN "}", 1);
	answer_it("busy");
	fake_free(f);
	use_policy("{\"name\":\"refund\",\"turn_asks\":3}");
	f = fake_call("begin", "{" TOOL "}", 1); /* no turn, no budget */
	answer_it("busy");
	fake_free(f);
	f = fake_call("begin", "{" TURN "}", 1);
	item = sent(&ledger_begin_guarded);
	ck_assert(item->columns[BEGIN_P_BUSINESS].null && item->columns[BEGIN_P_AGAIN].null);
	fake_end(item, 0, &row);
	fake_free(f);
	use_policy(GUARDED);
	f = fake_call("begin", "{" TOOL ARGS ",\"again\":\"two were ordered\"}", 1);
	item = sent(&ledger_begin_guarded);
	ck_assert(uuid_equal(&item->columns[BEGIN_P_BUSINESS].uuid, &business));
	ck_assert_int_eq(strncmp(item->columns[BEGIN_P_AGAIN].text.p, "two were ordered", 16), 0);
	row.cells[BEGIN_ATTEMPT].text = NULL;
	row.cells[BEGIN_TWIN] = (struct fake_cell){.text = "", .uuid = business};
	row.cells[BEGIN_TWIN_KEY].text = "k2";
	row.cells[BEGIN_WINDOW_MS] = (struct fake_cell){.text = "", .number = 3600000};
	fake_end(item, 0, &row);
	fake_answered(f, "\"decision\":\"held\",\"next\":\"confirm\",\"advice\":\"");
	fake_answered(f, "\"key\":\"k\",\"twin\":\"");
	fake_answered(f, "\",\"twin_key\":\"k2\",\"window_ms\":3600000}}");
	fake_free(f);
	nothing_left();
}
END_TEST

START_TEST(guard_without_what_it_goes_by_is_refused)
{
	static const char *const bad[][2] = {
	    {"{" TOOL ",\"turn\":1" ARGS "}", "\"pointer\":\"/run\""},
	    {"{" TURN "}", "\"pointer\":\"/args/id\""},
	    {"{" TURN ",\"args\":{\"id\":1}}", "\"pointer\":\"/args/line\""},
	    {"{" TURN ",\"args\":{\"id\":1,\"line\":null}}",
		"the business key derives from it, and it is null"},
	    {"{" TURN ",\"args\":{\"id\":1,\"line\":{}}}", "\"pointer\":\"/args/line\""},
	};
	struct fake_request *f;

	use_policy(GUARDED);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f = fake_call("begin", bad[i][0], 1);
		fake_answered(f, bad[i][1]);
		fake_free(f);
	}
	nothing_left();
}
END_TEST

START_TEST(one_begin_is_one_ask_however_often_the_ledger_is_asked)
{
	struct fake_row ok = {.cells = {[LEDGER_ANSWER] = {.text = "ok"}}};
	struct fake_row row = row_of("no_tool", NULL, 0), busy = row_of("busy", NULL, 0);
	struct fake_request *f;
	struct uuid effect;

	use_policy("{\"name\":\"refund\",\"turn_asks\":3}");
	f = fake_call("begin", "{" TURN ",\"wait_ms\":60000}", 1);
	ck_assert(!sent(&ledger_begin_guarded)->columns[BEGIN_P_COUNTED].b);
	fake_end(sent(&ledger_begin_guarded), 0, &row);
	fake_end(sent(&ledger_register_tools), 0, &ok);
	ck_assert(!sent(&ledger_begin_guarded)->columns[BEGIN_P_COUNTED].b);
	effect = sent(&ledger_begin_guarded)->columns[BEGIN_P_ID].uuid;
	fake_end(sent(&ledger_begin_guarded), 0, &busy);
	ck_assert_uint_eq(waiting_n(), 1);
	waiting_wake(&effect);
	ck_assert(sent(&ledger_begin_guarded)->columns[BEGIN_P_COUNTED].b);
	row = row_of("exhausted", NULL, 0);
	row.cells[BEGIN_BUDGET].text = "asks";
	row.cells[BEGIN_BUDGET_MAX] = (struct fake_cell){.text = "", .number = 3};
	fake_end(sent(&ledger_begin_guarded), 0, &row);
	fake_answered(f, "\"decision\":\"exhausted\",\"next\":\"stop\"");
	fake_answered(f, "\"budget\":\"asks\",\"max\":3}");
	fake_free(f);
	nothing_left();
}
END_TEST

START_TEST(refused_params_ask_no_ledger)
{
	struct fake_request *f = fake_call("begin", "{" TOOL ",\"leese_ms\":1000}", 1);

	fake_answered(f, "\"pointer\":\"/leese_ms\"");
	fake_free(f);
	f = fake_call("begin", "{" TOOL ",\"namespace\":\"other\"}", 1);
	fake_answered(f, "\"denied\"");
	fake_free(f);
	f = fake_call("begin", "{\"tool\":\"refund\"}", 1);
	fake_answered(f, "\"pointer\":\"/run\"");
	fake_free(f);
	fake_config.unknown_tools = CONFIG_REFUSE;
	f = fake_call("begin", "{" TOOL "}", 1);
	fake_answered(f, "\"pointer\":\"/tool\"");
	fake_free(f);
	nothing_left();
}
END_TEST

int
main(void)
{
	TCase *tc = tap_case("begin");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, run_is_told_in_the_order_of_the_page);
	tcase_add_test(tc, unknown_policy_is_registered_once_and_asked_again);
	tcase_add_test(tc, ledger_that_never_knows_the_policy_is_an_internal_error);
	tcase_add_test(tc, claim_of_a_gone_peer_is_given_back);
	tcase_add_test(tc, queued_begin_of_a_gone_peer_is_dropped);
	tcase_add_test(tc, late_claim_without_a_request_is_given_back);
	tcase_add_test(tc, late_claim_with_a_request_waits_to_be_asked_for);
	tcase_add_test(tc, claim_lost_with_its_connection_is_given_back_by_its_token);
	tcase_add_test(tc, claim_that_was_never_sent_owes_nothing);
	tcase_add_test(tc, lost_claim_with_a_request_may_be_asked_for);
	tcase_add_test(tc, run_older_than_its_lease_is_withheld);
	tcase_add_test(tc, second_begin_of_a_request_waits_for_the_first);
	tcase_add_test(tc, begin_of_a_request_waits_until_its_claim_is_given_back);
	tcase_add_test(tc, two_equal_requests_at_once_are_one_run_and_one_busy);
	tcase_add_test(tc, waiter_asks_again_when_the_effect_changes);
	tcase_add_test(tc, waiter_is_told_busy_at_its_time_and_at_the_stop);
	tcase_add_test(tc, waiting_ends_with_what_is_decided);
	tcase_add_test(tc, unknown_without_time_is_told_at_once);
	tcase_add_test(tc, unknown_with_time_left_asks_for_a_probe);
	tcase_add_test(tc, unknown_that_no_probe_will_tell_is_told_at_once);
	tcase_add_test(tc, wish_for_a_probe_ends_with_what_ends_its_begin);
	tcase_add_test(tc, deadline_bounds_the_wait);
	tcase_add_test(tc, bound_claim_belongs_to_its_connection);
	tcase_add_test(tc, mismatch_names_the_pointers_that_differ);
	tcase_add_test(tc, guards_have_a_statement_of_their_own);
	tcase_add_test(tc, guard_without_what_it_goes_by_is_refused);
	tcase_add_test(tc, one_begin_is_one_ask_however_often_the_ledger_is_asked);
	tcase_add_test(tc, refused_params_ask_no_ledger);
	return tap_run("begin", tc);
}
