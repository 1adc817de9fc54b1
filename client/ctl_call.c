/*
 * call METHOD [JSON]: any method as it stands in the protocol. Asks once; the exit code is that of
 * the answer, a decision's too, so that `effectctl call begin ... && refund` is as safe as the
 * verb.
 */
#include "alloc.h"
#include "ask.h"
#include "ctl.h"
#include "member.h"
#include "show.h"
#include "usage.h"

#include <stdlib.h>
#include <string.h>

static int
tell(const struct ctl *ctl, const struct ask_answer *answer)
{
	struct buf out = {0};
	const char *raw;
	size_t len;

	raw = ask_raw(answer, answer->result, &len);
	if (ctl->json) {
		show_schema(ctl->verb, raw, len);
	} else {
		show_raw(&out, raw, len);
		buf_add_char(&out, '\n');
		show_out(&out);
		buf_free(&out);
	}
	return json_member(&answer->doc, answer->result, "decision")
	    ? (int)show_decision_exit(answer)
	    : CTL_OK;
}

int
ctl_call(struct ctl *ctl)
{
	struct flag_set set = {0};
	struct ask what = {.opaque = "/result/result", .again = ASK_ONCE};
	struct ask_answer answer = {0};
	struct buf params = {0};
	char *why = NULL;
	int code, err;

	usage_add_deadline(&set);
	if ((code = usage_read(ctl, &set, "METHOD [JSON]", 1, 2)) != USAGE_GO_ON)
		return code;
	if (!usage_deadline(ctl, &set, &what.deadline_ms))
		return CTL_USAGE;
	if (!json_utf8(set.args[0], strlen(set.args[0])))
		return show_failure(
		    ctl, CTL_INPUT, "bad_input", "call: the method's name is no UTF-8");
	if (!member_json("call", set.n_args > 1 ? set.args[1] : "{}", &params, &why)) {
		code = show_failure(ctl, CTL_INPUT, "bad_input", "%s", why);
		free(why);
		goto out;
	}
	what.method = set.args[0];
	what.params = params.data;
	what.params_len = params.len;
	err = ask(ctl, &what, &answer, NULL, &why);
	code = show_asked(ctl, err, why, &answer);
	if (code == CTL_OK)
		code = tell(ctl, &answer);
out:
	ask_answer_free(&answer);
	buf_free(&params);
	return code;
}
