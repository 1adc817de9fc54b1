/*
 * status: the daemon, its ledger, what is open, due, queued and probed, and your rights on one
 * screen, from the method info, and what to type where something is wrong. Exit 69 where a begin
 * would fail: no daemon, or no ledger behind it.
 */
#include "ask.h"
#include "buf.h"
#include "ctl.h"
#include "show.h"
#include "usage.h"
#include "vitals.h"

#include <stdio.h>

/* Where there is nobody to ask. */
static void
tell_down(const struct ctl *ctl)
{
	if (!ctl->json)
		fputs("# is it running, and if not, why?\n"
		      "systemctl status effectd.socket effectd.service\n"
		      "journalctl -u effectd -n 50\n",
		    stderr);
}

static int
tell(const struct ctl *ctl, const struct ask_answer *a)
{
	struct buf out = {0}, advice = {0};
	const char *raw;
	size_t len;

	if (ctl->json) {
		raw = ask_raw(a, a->result, &len);
		show_schema(ctl->verb, raw, len);
	} else {
		vitals_daemon(&out, a);
		vitals_ledger(&out, a);
		vitals_sweeper(&out, a);
		vitals_open(&out, a);
		vitals_numbers(&out, a, "queues", "queues");
		vitals_numbers(&out, a, "probes", "probes");
		vitals_numbers(&out, a, "limits", "limits");
		vitals_fleet(&out, a);
		vitals_rights(&out, a);
		vitals_advice(&advice, a);
		if (advice.len > 0)
			buf_add_char(&out, '\n');
		buf_add(&out, advice.data, advice.len);
		show_out(&out);
	}
	buf_free(&out);
	buf_free(&advice);
	return ask_true(a, a->result, "ready") ? CTL_OK : CTL_UNAVAILABLE;
}

int
ctl_status(struct ctl *ctl)
{
	struct flag_set set = {0};
	struct ask what = {.method = "info", .params = "{}", .params_len = 2, .again = ASK_ONCE};
	struct ask_answer answer = {0};
	char *why = NULL;
	int code, err;

	usage_add_deadline(&set);
	if ((code = usage_read(ctl, &set, "", 0, 0)) != USAGE_GO_ON)
		return code;
	if (!usage_deadline(ctl, &set, &what.deadline_ms))
		return CTL_USAGE;
	err = ask(ctl, &what, &answer, NULL, &why);
	code = show_asked(ctl, err, why, &answer);
	if (code == CTL_OK)
		code = tell(ctl, &answer);
	else if (err)
		tell_down(ctl);
	ask_answer_free(&answer);
	return code;
}
