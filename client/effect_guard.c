/*
 * A guarded call from begin to report, as client/README.md has it, for hosts without a loop.
 * Promise: fn is called at most once, and only on a fresh `run` or on `pass`; whatever it returns
 * is reported.
 */
#include "effect_block.h"

/* What fn came to, told to the daemon. */
static enum effect_kind
report_on(struct effect_ledger *ledger, struct effect_answer *grant, enum effect_kind came_to,
    struct effect_report *report)
{
	enum effect_kind kind;

	switch (came_to) {
	case EFFECT_OK:
		report->outcome = EFFECT_OUTCOME_SUCCEEDED;
		break;
	case EFFECT_FAILED:
		report->outcome = EFFECT_OUTCOME_FAILED;
		break;
	case EFFECT_TOOL_ERROR:
		report->outcome = EFFECT_OUTCOME_ERROR;
		break;
	case EFFECT_NOT_SENT:
		/* of these two the lease's end says the same, if the daemon does not hear it */
		effect_release(ledger, grant, report->reason, NULL);
		return came_to;
	default:
		effect_unknown(ledger, grant,
		    report->reason ? report->reason : effect_strerror(came_to), NULL);
		return came_to;
	}
	kind = effect_complete(ledger, grant, report, NULL);
	return kind == EFFECT_OK ? came_to : kind;
}

enum effect_kind
effect_guard(struct effect_ledger *ledger, const struct effect_params *params,
    enum effect_kind (*fn)(struct effect_ledger *ledger, struct effect_answer *grant,
	struct effect_report *report, void *arg),
    void *arg, bool *ret_ran, struct effect_answer **ret_answer)
{
	struct effect_report report = EFFECT_REPORT_INIT;
	struct effect_answer *answer = NULL;
	enum effect_kind kind, came_to;

	if (ret_ran)
		*ret_ran = false;
	if (ret_answer)
		*ret_answer = NULL;
	kind = effect_begin(ledger, params, &answer);
	if (kind == EFFECT_RUN || kind == EFFECT_PASS)
		kind = effect_start(ledger, answer);
	if (kind == EFFECT_RUN || kind == EFFECT_PASS) {
		if (ret_ran)
			*ret_ran = true;
		came_to = fn(ledger, answer, &report, arg);
		kind = report_on(ledger, answer, came_to, &report);
	} else if (answer && kind == EFFECT_LATE) {
		effect_block_give_back(ledger);
	}
	if (ret_answer)
		*ret_answer = answer;
	else
		effect_answer_free(answer);
	return kind;
}
