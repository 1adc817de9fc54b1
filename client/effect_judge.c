/*
 * Answers judged. Promises: nothing but a whole `run`, fresh and awaited, becomes a grant; a `run`
 * that is anything less is given back, whatever else fails; a complete is refused by no error that
 * may pass. Owns nothing: a call leaves here ended, resting, or queued again.
 */
#include "effect_judge.h"

#include "effect_grant.h"
#include "effect_kind.h"
#include "effect_sys.h"

#include <stdio.h>
#include <string.h>

#define MAX_LINE_MIN 4096 /* no daemon's max_line is less */

/* Ends the call with a copy of its answer. Without memory for one, a report is no less done. */
static void
end(struct effect_call *call, enum effect_kind kind, const struct effect_wire *wire)
{
	struct effect_answer *answer = NULL;

	effect_call_take(call);
	if (call->cb && !call->background) {
		answer = effect_answer_new(wire, kind);
		if (!answer &&
		    (call->method == EFFECT_CALL_BEGIN || call->method == EFFECT_CALL_OTHER))
			kind = EFFECT_ENOMEM;
	}
	effect_call_end(call, kind, answer);
}

/* The claim goes back by the call itself; then its caller is told why he has none. */
static void
refuse_run(struct effect_call *call, const struct effect_wire *wire, enum effect_kind kind)
{
	struct effect_json_span effect, token;
	struct effect_answer *told = NULL;
	const char *reason = "nobody waits for it any more";

	if (call->cb && kind == EFFECT_LATE) {
		reason = "it came too late to start";
		told = effect_answer_new(wire, kind); /* without one it is no less late */
	} else if (call->cb) {
		reason = "out of memory";
	}
	/* both are there, or it were no EFFECT_RUN */
	if (effect_answer_find(&wire->body, "effect", &effect) &&
	    effect_answer_find(&wire->body, "token", &token))
		effect_call_give_back(call, &effect, &token, reason, kind, told);
}

static void
judge_run(struct effect_call *call, const struct effect_wire *wire)
{
	int64_t until_ms = call->sent_ms + effect_grant_span_ms(&wire->body);
	void (*cb)(enum effect_kind, struct effect_answer *, void *) = call->cb;
	struct effect_answer *answer;
	void *arg = call->arg;

	if (!cb || effect_sys_now_ms() >= until_ms) {
		refuse_run(call, wire, EFFECT_LATE);
		return;
	}
	answer = effect_answer_new(wire, EFFECT_RUN);
	if (!answer || !effect_grant_init(answer, call)) {
		effect_answer_free(answer);
		refuse_run(call, wire, EFFECT_ENOMEM);
		return;
	}
	cb(EFFECT_RUN, answer, arg);
}

static void
judge_extend(struct effect_call *call, const struct effect_wire *wire)
{
	struct effect_json_span state;

	if (effect_answer_find(&wire->body, "state", &state) && effect_json_is(&state, "pending"))
		effect_grant_extended(call->ledger, call->serial, call->sent_ms, call->lease_ms);
	end(call, EFFECT_OK, wire);
}

static void
judge_result(struct effect_call *call, const struct effect_wire *wire)
{
	enum effect_kind kind = EFFECT_OK;

	if (call->method == EFFECT_CALL_EXTEND) {
		judge_extend(call, wire);
		return;
	}
	if (call->method == EFFECT_CALL_BEGIN)
		kind = effect_answer_of_begin(&wire->body);
	if (kind == EFFECT_RUN)
		judge_run(call, wire);
	else
		end(call, kind, wire);
}

/* What an error that will not pass means to who reported. */
static enum effect_kind
kind_of_refusal(const struct effect_call *call, enum effect_kind kind)
{
	bool not_his =
	    kind == EFFECT_NOT_OWNER || kind == EFFECT_NOT_FOUND || kind == EFFECT_CONFLICT;

	if (call->method == EFFECT_CALL_COMPLETE)
		return not_his ? EFFECT_CONFLICT : EFFECT_NOT_RECORDED;
	if (not_his && call->method == EFFECT_CALL_EXTEND)
		return EFFECT_LOST;
	return kind;
}

static int64_t
retry_after_ms(const struct effect_wire *wire)
{
	struct effect_json_span data;
	int64_t ms = 0;

	if (!effect_answer_find(&wire->body, "data", &data) || data.type != EFFECT_JSON_OBJECT ||
	    !effect_answer_find_int(&data, "retry_after_ms", &ms))
		return 0;
	return ms;
}

static void
judge_error(struct effect_call *call, const struct effect_wire *wire)
{
	enum effect_kind kind = effect_answer_of_error(&wire->body);

	effect_answer_why(&wire->body, call->why, sizeof call->why);
	if (effect_kind_again(kind) && !call->orphan)
		effect_call_rest(call, retry_after_ms(wire));
	else
		end(call, kind_of_refusal(call, kind), wire);
}

void
effect_judge(struct effect_call *call, const struct effect_wire *wire)
{
	if (wire->is_error)
		judge_error(call, wire);
	else
		judge_result(call, wire);
}

void
effect_judge_nameless(struct effect_ledger *ledger, const struct effect_wire *wire)
{
	struct effect_call *call, *longest = NULL;
	size_t len = MAX_LINE_MIN;

	TAILQ_FOREACH (call, &ledger->sent, link) {
		if (call->line.text.len - 1 > len) {
			longest = call;
			len = call->line.text.len - 1;
		}
	}
	if (!longest || effect_answer_of_error(&wire->body) != EFFECT_INVALID_REQUEST)
		return;
	if (longest->line.result_at == 0) {
		if (longest == ledger->out)
			return; /* it has to be sent to its end; its time will be over */
		effect_answer_why(&wire->body, longest->why, sizeof longest->why);
		end(longest, kind_of_refusal(longest, EFFECT_INVALID_REQUEST), wire);
		return;
	}
	if (len - 1 < ledger->max_line)
		ledger->max_line = len - 1;
	if (longest == ledger->out) {
		longest->omit_when_sent = true;
	} else if (longest->orphan) {
		effect_call_free(longest);
	} else {
		effect_line_omit(&longest->line);
		effect_call_again(longest);
	}
}
