/*
 * begin: claim before the call. Makes the `request` of this one call, asks again with it where no
 * answer came, and tells `run` only while the grant is fresh by our own clock: whoever sees it may
 * start the call at once. execute, for tools whose call is the daemon's own statement, asks the
 * same way; what it gives is the result, fresh or replayed.
 */
#include "alloc.h"
#include "ask.h"
#include "conn.h"
#include "ctl.h"
#include "digest.h"
#include "member.h"
#include "show.h"
#include "text.h"
#include "usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXECUTE_DEADLINE_MS 120000 /* a statement takes its time */
#define CLOCK_SLACK_MS 2	   /* both ends of the measure are cut to whole milliseconds */

/* A holder may start within lease_ms of sending begin, plus its wait for another's outcome. */
static bool
fresh(const struct ask_answer *answer)
{
	int64_t lease_ms = 0, waited_ms = 0;

	/* absent = 0: then nothing is fresh, or nothing was waited for */
	(void)!ask_int(answer, answer->result, "lease_ms", &lease_ms);
	(void)!ask_int(answer, answer->result, "waited_ms", &waited_ms);
	return conn_now_ms() - answer->sent_ms + CLOCK_SLACK_MS < lease_ms + waited_ms;
}

static void
copy_member(struct buf *out, const struct ask_answer *answer, const char *name)
{
	uint32_t node = json_member(&answer->doc, answer->result, name);
	const char *raw;
	size_t len;

	if (node) {
		raw = ask_raw(answer, node, &len);
		buf_json_member_raw(out, name, raw, len);
	}
}

/* Nothing was sent, and we know it: give the claim back, once, so that the next begin need not wait
 * for a probe. */
static void
give_back(const struct ctl *ctl, const struct ask_answer *answer)
{
	struct ask_answer released = {0};
	struct buf params = {0};
	struct ask what = {.method = "release", .again = ASK_ONCE, .deadline_ms = ASK_DEADLINE_MS};
	char *why = NULL;

	buf_add_char(&params, '{');
	copy_member(&params, answer, "effect");
	copy_member(&params, answer, "token");
	buf_json_member_str(
	    &params, "reason", "the grant came later than its lease allows, and was not used");
	buf_add_char(&params, '}');
	what.params = params.data;
	what.params_len = params.len;
	/* whatever comes of it, the answer to our caller is the same */
	if (ask(ctl, &what, &released, NULL, &why))
		free(why);
	ask_answer_free(&released);
	buf_free(&params);
}

/* What the daemon answers where it sees a stale grant itself. */
static void
withhold(struct ask_answer *answer)
{
	struct buf line = {0};

	buf_add_str(&line,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"decision\":\"unknown\",\"next\":\"wait\"");
	buf_json_member_str(&line, "advice",
	    "The claim was granted too late to be used and was given back; do not run the call "
	    "now, ask again.");
	copy_member(&line, answer, "effect");
	copy_member(&line, answer, "key");
	copy_member(&line, answer, "attempt");
	buf_add_str(&line, "}}");
	ask_answer_free(answer);
	answer->line = line;
	if (json_scan(&answer->doc, line.data, line.len, NULL, NULL))
		abort(); /* made by ourselves from what was scanned before */
	answer->result = json_member(&answer->doc, 0, "result");
}

static void
say_replay(const struct ask_answer *answer, struct buf *out)
{
	char *outcome = ask_text(answer, answer->result, "outcome");
	char *done_at = ask_text(answer, answer->result, "done_at");
	char *by = ask_text(answer, answer->result, "by");
	int64_t attempt = 0;

	(void)!ask_int(answer, answer->result, "attempt", &attempt);
	show_replay(out, attempt, outcome, done_at, by);
	free(outcome);
	free(done_at);
	free(by);
}

/* Of execute the result is all that a script wants; else it wants to know why there is none. */
static const char *
only_result(const struct ctl *ctl, int code)
{
	return !strcmp(ctl->verb, "execute") && (code == CTL_OK || code == CTL_REPLAY) ? "result"
										       : NULL;
}

static void
show_people(const struct ask_answer *answer, bool replay, const char *only)
{
	static const char *const skip[] = {"advice", NULL};
	char *advice = ask_text(answer, answer->result, "advice");
	struct buf out = {0}, err = {0};

	if (only)
		show_member(answer, answer->result, only);
	else
		show_members(&out, answer, answer->result, skip);
	show_out(&out);
	if (replay)
		say_replay(answer, &err);
	if (advice) {
		show_text(&err, advice, strlen(advice));
		buf_add_char(&err, '\n');
	}
	/* data first, also where both go to one terminal */
	fflush(stdout);
	fwrite(err.data, 1, err.len, stderr);
	buf_free(&out);
	buf_free(&err);
	free(advice);
}

static int
tell(const struct ctl *ctl, struct ask_answer *answer, const char *only)
{
	int code = show_decision_exit(answer);
	char *decision = ask_text(answer, answer->result, "decision");
	bool run = decision && !strcmp(decision, "run");
	const char *raw;
	size_t len;

	free(decision);
	if (run && !fresh(answer)) {
		give_back(ctl, answer);
		withhold(answer);
		code = CTL_UNKNOWN;
	}
	if (ctl->json) {
		raw = ask_raw(answer, answer->result, &len);
		show_schema(ctl->verb, raw, len);
	} else {
		show_people(answer, code == CTL_REPLAY || code == CTL_REPLAY_FAILED,
		    only ? only : only_result(ctl, code));
	}
	return code;
}

/* The daemon is not to think longer than we listen; its own limit does for longer deadlines. Keeps
 * the text in `text`. */
static void
tell_deadline(struct flag_set *set, int64_t deadline_ms, char text[32])
{
	if (usage_given(set, "deadline_ms") || deadline_ms >= ASK_DEADLINE_MS || deadline_ms < 1)
		return;
	snprintf(text, 32, "%lld", (long long)deadline_ms);
	flag_find(set, "deadline_ms")->value = text;
}

/* The daemon may take its own deadline, or the wait that was asked for, before it answers. */
static int64_t
patience_ms(struct flag_set *set)
{
	int64_t wait_ms = 0, deadline_ms = 0;
	const char *wait = usage_value(set, "wait_ms"), *deadline = usage_value(set, "deadline_ms");

	if (wait)
		(void)!text_int(wait, 0, INT32_MAX, &wait_ms);
	if (deadline)
		(void)!text_int(deadline, 0, INT32_MAX, &deadline_ms);
	return wait_ms > deadline_ms ? wait_ms : deadline_ms;
}

int
ctl_begin(struct ctl *ctl)
{
	struct flag_set set = {0};
	struct buf params = {0};
	struct ask_answer answer = {0};
	struct ask what = {.method = ctl->verb, .opaque = "/result/result", .again = ASK_SENT};
	struct uuid uuid = uuid_random();
	char request[UUID_TEXT_BYTES], deadline[32], *why = NULL;
	bool sent = false, execute = !strcmp(ctl->verb, "execute");
	int code, err;

	member_flags(&set, MEMBER_BEGIN);
	usage_add_deadline(&set);
	flag_add(&set, "print", 0, "MEMBER", "print this member of the answer alone");
	if ((code = usage_read(ctl, &set, "", 0, 0)) != USAGE_GO_ON)
		return code;
	if (!usage_deadline(ctl, &set, &what.deadline_ms))
		return CTL_USAGE;
	if (execute && !usage_given(&set, "deadline"))
		what.deadline_ms = EXECUTE_DEADLINE_MS;
	what.deadline_ms += patience_ms(&set);
	tell_deadline(&set, what.deadline_ms, deadline);
	uuid_text(&uuid, request);
	if (!usage_given(&set, "request"))
		flag_find(&set, "request")->value = request;
	code = member_params(&set, MEMBER_BEGIN, &params, &why);
	if (code) {
		show_failure(
		    ctl, code, code == CTL_USAGE ? "usage" : "bad_input", "%s: %s", ctl->verb, why);
		free(why);
		goto out;
	}
	what.params = params.data;
	what.params_len = params.len;
	err = ask(ctl, &what, &answer, &sent, &why);
	code = show_asked(ctl, err, why, &answer);
	if (code == CTL_OK)
		code = tell(ctl, &answer, usage_value(&set, "print"));
	if (sent && (err || answer.error) && code == CTL_UNAVAILABLE && !ctl->json)
		fputs(execute
			? "effectctl: it may have been executed: the same again tells\n"
			: "effectctl: no grant was told, though a claim may stand: do not run "
			  "the call, begin again later\n",
		    stderr);
out:
	ask_answer_free(&answer);
	buf_free(&params);
	return code;
}
